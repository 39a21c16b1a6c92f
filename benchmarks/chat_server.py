"""The questions of `chat_overhead.py`, the server that answers them, and how to time them."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from typing import Any

import measure
from measure import Measured

CALLS = 5_000
WARM_UP = 200
MAX_TOKENS = 64
REPLY = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "stub",
    "system_fingerprint": "fp_stub",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "DECISION: DENY"},
            "finish_reason": "stop",
        }
    ],
    "usage": {"prompt_tokens": 310, "completion_tokens": 5, "total_tokens": 315},
}


def prompt(number: int) -> str:
    """Return the user text of one call, different from every other."""
    return f"Request for approval: Customer {number} asks for a refund of {number % 700} euros. May this be approved? Reply in the form DECISION: <ALLOW or DENY>"


def messages(system: str, number: int) -> list[dict[str, str]]:
    """Return one call's messages as the OpenAI format has them."""
    user = f"Request:\n{prompt(number)}"
    return [
        {"role": "system", "content": system},
        {"role": "user", "content": user},
    ]


def pin(core: int) -> None:
    """Stay on one core, so that client and server don't share one."""
    if (os.cpu_count() or 1) > core:
        os.sched_setaffinity(0, {core})


def serve() -> Measured:
    """Serve until killed; the port is the first line."""
    from aiohttp import web

    pin(1)
    body = json.dumps(REPLY).encode()

    async def answer(request: web.Request) -> web.Response:
        await request.read()
        await asyncio.sleep(0.005)
        return web.Response(body=body, content_type="application/json")

    async def forever() -> None:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
        print(runner.addresses[0][1], flush=True)
        await asyncio.Event().wait()

    asyncio.run(forever())
    return {}


async def timed(ask: Callable[[int], Awaitable[Any]], in_flight: int) -> Measured:
    """Ask all questions, after some that don't count, so many at once at most."""

    async def run(numbers: range) -> None:
        waiting = iter(numbers)

        async def worker() -> None:
            for number in waiting:
                await ask(number)

        await asyncio.gather(*(worker() for _ in range(in_flight)))

    await run(range(CALLS, CALLS + WARM_UP))
    with measure.clock() as cost:
        await run(range(CALLS))
    return cost


def per_call(cost: Measured) -> Measured:
    """Return what a client reports of its calls."""
    return {
        "cpu_ms_per_call": cost["cpu_s"] * 1e3 / CALLS,
        "calls_per_s": CALLS / cost["wall_s"],
        "peak_rss_mb": measure.peak_mb(),
    }
