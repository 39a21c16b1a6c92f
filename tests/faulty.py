"""An OpenAI-compatible endpoint that answers by rule and fails on purpose.

Run as a program of its own: ``python tests/faulty.py --faults 0.05``. It prints its URL,
serves until its standard input closes, and then prints what it did as one JSON object.
Which request meets which fault is decided by the request's bytes alone, so two runs meet
the same ones.
"""

import argparse
import asyncio
import hashlib
import json
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from aiohttp import web

from evaluand.bench.script import perfect
from evaluand.chat.message import Message, Request, Sampling

MOST_FAULTS = 2
"""Attempts of one request that fail at most: fewer than a client makes."""


@dataclass
class Faulty:
    """The endpoint.

    Args:
        share: Attempts that meet a fault, 0..1.
        delay_s: Seconds before each reply.
        attempts: How often each request came.
        faults: How often each fault was met.
        whole: How many whole replies went out.
    """

    share: float
    delay_s: float = 0.0
    attempts: Counter[bytes] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    whole: int = 0

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer a request, or fail in one of the ways."""
        body = await request.read()
        digest = hashlib.sha256(body).digest()
        self.attempts[digest] += 1
        tried = self.attempts[digest]
        chance = hashlib.sha256(digest + bytes([tried])).digest()
        await asyncio.sleep(self.delay_s)
        if tried <= MOST_FAULTS and int.from_bytes(chance[:4]) < self.share * 2**32:
            name = sorted(FAULTS)[chance[4] % len(FAULTS)]
            self.faults[name] += 1
            return await FAULTS[name](request, reply_to(body))
        self.whole += 1
        return web.Response(body=reply_to(body), content_type="application/json")

    async def count(self, _: web.Request) -> web.StreamResponse:
        """Tell how many whole replies went out so far."""
        return web.json_response(self.whole)


def reply_to(body: bytes) -> bytes:
    """Return the one right reply to a request."""
    value = json.loads(body)
    messages = tuple(
        Message(role=m["role"], content=m["content"]) for m in value["messages"]
    )
    text = perfect(Request(messages=messages, sampling=Sampling()))
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return json.dumps({"model": value["model"], "choices": [choice]}).encode()


async def _too_many(_: web.Request, __: bytes) -> web.StreamResponse:
    return web.Response(status=429, headers={"Retry-After": "1"}, body=b"{}")


async def _server_error(_: web.Request, __: bytes) -> web.StreamResponse:
    return web.Response(status=500, body=b"oops")


async def _overloaded(_: web.Request, __: bytes) -> web.StreamResponse:
    return web.Response(status=503, headers={"Retry-After": "0"}, body=b"<html>")


async def _started(request: web.Request, reply: bytes) -> web.StreamResponse:
    response = web.StreamResponse()
    response.content_length = len(reply)
    await response.prepare(request)
    await response.write(reply[: len(reply) // 2])
    return response


async def _reset(request: web.Request, reply: bytes) -> web.StreamResponse:
    response = await _started(request, reply)
    if request.transport is not None:
        request.transport.abort()
    return response


async def _drip(request: web.Request, reply: bytes) -> web.StreamResponse:
    """Send the reply whole, but slowly."""
    response = await _started(request, reply)
    for byte in reply[len(reply) // 2 :]:
        await asyncio.sleep(0.002)
        await response.write(bytes([byte]))
    return response


async def _late(_: web.Request, reply: bytes) -> web.StreamResponse:
    await asyncio.sleep(1.5)
    return web.Response(body=reply, content_type="application/json")


async def _cut_json(_: web.Request, reply: bytes) -> web.StreamResponse:
    return web.Response(body=reply[:-9], content_type="application/json")


async def _no_choices(_: web.Request, __: bytes) -> web.StreamResponse:
    return web.json_response({"model": "m", "choices": []})


async def _wrong_encoding(_: web.Request, reply: bytes) -> web.StreamResponse:
    return web.Response(body=reply.decode().encode("utf-16"))


async def _wrong_compression(_: web.Request, reply: bytes) -> web.StreamResponse:
    return web.Response(body=reply, headers={"Content-Encoding": "gzip"})


async def _page(_: web.Request, __: bytes) -> web.StreamResponse:
    return web.Response(body=b"<html>Bad gateway</html>", content_type="text/html")


Fault = Callable[[web.Request, bytes], Awaitable[web.StreamResponse]]
FAULTS: dict[str, Fault] = {
    "too_many": _too_many,
    "server_error": _server_error,
    "overloaded": _overloaded,
    "reset": _reset,
    "drip": _drip,
    "late": _late,
    "cut_json": _cut_json,
    "no_choices": _no_choices,
    "wrong_encoding": _wrong_encoding,
    "wrong_compression": _wrong_compression,
    "page": _page,
}
"""Faults that pass: asked again, the request is answered."""

ANSWERED = ("drip", "late")
"""Those that bring the reply after all."""


async def serve(faulty: Faulty) -> None:
    """Serve until the standard input closes."""
    app = web.Application(client_max_size=2**24)
    app.router.add_post("/v1/chat/completions", faulty.answer)
    app.router.add_get("/v1/count", faulty.count)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, backlog=1024)
    await site.start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}/v1", flush=True)  # noqa: T201 - how the address is told
    await asyncio.to_thread(sys.stdin.read)
    await runner.cleanup()


def main() -> None:
    """Run as a program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", type=float, default=0.05)
    parser.add_argument("--delay", type=float, default=0.0)
    given = parser.parse_args()
    faulty = Faulty(share=given.faults, delay_s=given.delay)
    asyncio.run(serve(faulty))
    told = {
        "requests": len(faulty.attempts),
        "attempts": faulty.attempts.total(),
        "whole": faulty.whole + sum(faulty.faults[name] for name in ANSWERED),
        "faults": dict(faulty.faults),
    }
    print(json.dumps(told), flush=True)  # noqa: T201 - what this program is for


if __name__ == "__main__":
    main()
