"""Planted keys get into no file, no page and no message."""

import os
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import quote

import pytest

KEY = "sk-PLANTED/in+the=environment"
PASSWORD = "pw/PLANTED in the URL"  # noqa: S105 - planted
QUERY = "PLANTEDquery"


class Echo(BaseHTTPRequestHandler):
    """Repeats the headers that opened it, in a reply or in an error."""

    status = 200

    def do_POST(self) -> None:
        """Answer with what was sent."""
        self.rfile.read(int(self.headers["Content-Length"]))
        opened = self.headers.get("Authorization", "").replace("/", "\\/")
        text = f'{{"model": "{opened}", "choices": [{{"finish_reason": "stop", "message": {{"content": "ANSWER: {opened} {PASSWORD}"}}}}]}}'
        body = text.encode()
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(params=[200, 400, 401, 500], ids=lambda status: f"HTTP {status}")
def place(request: pytest.FixtureRequest) -> Iterator[str]:
    """Serve what echoes; give its host and port."""
    handler = type("Echoing", (Echo,), {"status": request.param})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


def forms(secret: str) -> set[bytes]:
    """Return a secret as it may be written."""
    texts = {secret, secret.replace("/", "\\/"), quote(secret, safe="")}
    return {text.encode() for text in texts}


@pytest.mark.parametrize("planted", ["environment", "URL"])
def test_no_planted_key_is_kept(tmp_path: Path, place: str, planted: str) -> None:
    """Whatever an endpoint echoes, keys and passwords stay out of run, page and messages."""
    user = f"me:{quote(PASSWORD, safe='')}@" if planted == "URL" else ""
    keys = {"EVALUAND_API_KEY": KEY} if planted == "environment" else {}
    ended = subprocess.run(
        [
            *(sys.executable, "-m", "evaluand", "--debug", "bench", "-o", "run"),
            *("--model", f"http://{user}{place}/v1#m", "--substitute", "scripted:weak"),
            *("--tasks", "2", "--conditions", "clean,prompt", "--timeout", "5"),
        ],
        cwd=tmp_path,
        env={**os.environ, **keys, "OPENAI_API_KEY": QUERY},
        capture_output=True,
        check=False,
        timeout=120,
    )
    held = [ended.stdout, ended.stderr]
    held += [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert (tmp_path / "run" / "run.json").exists()
    secret = PASSWORD if planted == "URL" else KEY
    for form in forms(secret) | {QUERY.encode()}:
        assert not [content for content in held if form in content]
