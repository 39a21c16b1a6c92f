"""A loopback server that answers, and misbehaves, as it is told."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Server:
    """What it answers next, and what it was asked."""

    url: str
    answers: list[Answer]
    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Note the request and give the next answer, the last one again and again."""
        self.bodies.append(await request.read())
        self.headers.append(dict(request.headers))
        last = len(self.answers) == 1
        return await (self.answers[0] if last else self.answers.pop(0))(request)


@asynccontextmanager
async def _serving(*answers: Answer) -> AsyncIterator[Server]:
    server = Server("", list(answers))
    app = web.Application()
    app.router.add_post("/v1/chat/completions", server.answer)
    app.router.add_post("/v1/messages", server.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        server.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        yield server
    finally:
        await runner.cleanup()


def _says(
    body: Any, *, status: int = 200, headers: dict[str, str] | None = None
) -> Answer:
    async def answer(_: web.Request) -> web.StreamResponse:
        if isinstance(body, bytes):
            return web.Response(body=body, status=status, headers=headers)
        return web.json_response(body, status=status, headers=headers)

    return answer


@pytest.fixture
def serving() -> Any:
    """Return a context manager over a server that gives answers in turn."""
    return _serving


@pytest.fixture
def says() -> Any:
    """Return a maker of answers: a JSON value or bytes, a status, headers."""
    return _says


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "OPENROUTER_API_KEY",
        "EVALUAND_API_KEY",
    ):
        monkeypatch.delenv(name, raising=False)
