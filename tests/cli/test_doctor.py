"""Claims about ``evaluand doctor``: what it prints and how it exits."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from evaluand.cli.main import main


class _Handler(BaseHTTPRequestHandler):
    """Counts the words of the messages, and of the tools if it keeps them."""

    keeps_tools = True
    tells_usage = True

    def do_POST(self) -> None:
        value = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/v1/chat/completions":
            self.send_error(404)
            return
        seen = json.dumps([value["messages"], self.keeps_tools and value.get("tools")])
        choice = {"message": {"content": "A"}, "finish_reason": "length"}
        body: dict[str, Any] = {"model": "m", "choices": [choice]}
        if self.tells_usage:
            body["usage"] = {"prompt_tokens": len(seen.split())}
        content = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def handler() -> type[_Handler]:
    return type("Handler", (_Handler,), {})


@pytest.fixture
def model(handler: type[_Handler]) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://user:secret@127.0.0.1:{server.server_port}/v1#m"
        server.shutdown()
        thread.join()


def told(model: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, Any]:
    code = main(["doctor", model, "--words", "256", "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_an_honest_endpoint_exits_with_0(
    model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What can be told is fine; the model's name comes without its password."""
    code, value = told(model, capsys)
    assert (code, value["exit_code"], value["findings"]) == (0, 0, {})
    assert value["tool_layouts"] == "applicable"
    assert value["facts"]["system"]["how"] == "token_delta"
    assert value["facts"]["double_bos"]["answer"] == "unknown"
    assert "secret" not in json.dumps(value)


def test_dropped_tools_exit_with_1(
    model: str, handler: type[_Handler], capsys: pytest.CaptureFixture[str]
) -> None:
    """The finding is named for people too, on lines of at most 80 columns."""
    handler.keeps_tools = False
    code, value = told(model, capsys)
    assert code == 1
    assert value["findings"] == {"tool_schema": "tools_not_rendered"}
    assert main(["doctor", model, "--words", "256", "--timeout", "9"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "Tool layouts: not applicable" in lines
    assert "Findings: tools_not_rendered" in lines
    assert max(map(len, lines)) <= 80


def test_an_endpoint_that_tells_nothing_exits_with_3(
    model: str, handler: type[_Handler], capsys: pytest.CaptureFixture[str]
) -> None:
    """Without counts and other routes all is unknown, which is not fine."""
    handler.tells_usage = False
    code, value = told(model, capsys)
    assert code == 3
    assert {fact["answer"] for fact in value["facts"].values()} == {"unknown"}


def test_a_script_exits_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    """There is nothing to probe, and the message says what would be."""
    assert main(["doctor", "scripted"]) == 2
    assert "no endpoint to probe" in capsys.readouterr().err
