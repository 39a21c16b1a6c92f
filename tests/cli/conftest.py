"""A loopback endpoint that follows its prompt, or answers with a status of its own."""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from evaluand.bench.script import perfect
from evaluand.chat.message import Message, Request, Sampling


@dataclass
class Desk:
    """An OpenAI-compatible server.

    Args:
        url: Its MODEL name for the command line.
        status: What it answers with; 200 is the scripted reply.
        fails_after: Requests after which it answers 500; None for never.
        fails_for: A text; requests that hold it are answered with 503.
        asked: How many requests it got.
    """

    url: str
    status: int = 200
    fails_after: int | None = None
    fails_for: str | None = None
    asked: int = 0
    finish_reason: str = "stop"
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, body: bytes) -> tuple[int, dict[str, object]]:
        """Return a status and a JSON body."""
        with self.lock:
            self.asked += 1
            asked = self.asked
        if self.fails_after is not None and asked > self.fails_after:
            return 500, {"error": {"message": "out of order"}}
        if self.fails_for is not None and self.fails_for.encode() in body:
            return 503, {"error": {"message": "overloaded"}}
        if self.status != 200:
            return self.status, {"error": {"message": "no"}}
        value = json.loads(body)
        messages = tuple(
            Message(role=m["role"], content=m["content"]) for m in value["messages"]
        )
        text = perfect(Request(messages=messages, sampling=Sampling()))
        choice = {
            "index": 0,
            "finish_reason": self.finish_reason,
            "message": {"role": "assistant", "content": text},
        }
        return 200, {"id": "x", "model": "desk", "choices": [choice]}


@pytest.fixture
def desk() -> Iterator[Desk]:
    """Serve until the test is done."""
    served = Desk("")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status, value = served.answer(body)
            content = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    served.url = f"http://127.0.0.1:{server.server_address[1]}/v1#desk"
    yield served
    server.shutdown()
    server.server_close()
    thread.join()
