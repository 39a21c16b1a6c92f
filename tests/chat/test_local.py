"""Claims about llama.cpp in a child process, with the smallest real model."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from evaluand.assets.catalog import CATALOG
from evaluand.assets.fetch import path_of
from evaluand.chat import local
from evaluand.chat.local import LocalModel, open_local
from evaluand.chat.message import Message, Request, Sampling, ToolCall, message_value
from evaluand.chat.resolve import resolve
from evaluand.chat.template import render
from evaluand.errors import InputError, ModelError

pytestmark = pytest.mark.slow

CHATS = (
    (Message(role="user", content="Hi"),),
    (
        Message(role="system", content="Be brief. "),
        Message(role="user", content="naïve ☃ \U0001f600 {{ x }} {% y %} <|im_end|>"),
        Message(role="assistant", content="  spaced\n"),
        Message(role="user", content=""),
    ),
    (
        Message(role="user", content="Call it."),
        Message(
            role="assistant",
            content="",
            tool_calls=(ToolCall(id="c1", name="look", arguments='{"key": "é"}'),),
        ),
        Message(role="tool", content='{"found": 1}', tool_call_id="c1"),
    ),
)

HELLO = Request(
    messages=(Message(role="user", content="Name the capital of France."),),
    sampling=Sampling(max_tokens=5),
)


@pytest.fixture(scope="session")
def weights() -> Path:
    try:
        return path_of("smollm2-135m")
    except InputError as error:
        pytest.skip(f"needs real weights: {error}")


def model_of(weights: Path, *, template: str | None = None) -> LocalModel:
    return open_local(
        "local:smollm2-135m", weights=weights, template=template, alias="smollm2-135m"
    )


async def ask_once(model: LocalModel, request: Request = HELLO) -> str:
    try:
        return (await model.ask(request)).text
    finally:
        await model.close()


def http(
    url: str, value: Any = None, headers: dict[str, str] | None = None
) -> tuple[Any, Any]:
    """Return the JSON value and the headers that our own loopback server gives."""
    body = None if value is None else json.dumps(value).encode()
    headers = {"Content-Type": "application/json"} | (headers or {})
    request = urllib.request.Request(url, body, headers)  # noqa: S310 - loopback
    with urllib.request.urlopen(request) as response:  # noqa: S310 - loopback
        return json.load(response), response.headers


def server_of(model: LocalModel) -> str:
    assert model._endpoint is not None
    url: str = model._endpoint.address.base_urls[0]
    return url.removesuffix("/v1")


def test_a_real_model_answers_under_its_alias(weights: Path) -> None:
    """A reply carries text, counts and the alias, and no path; asking works in one event loop after another."""
    model = model_of(weights)
    assert model._child is None, "nothing starts before the first request"
    first = asyncio.run(model.ask(HELLO))
    second = asyncio.run(model.ask(HELLO))
    asyncio.run(model.close())
    assert first.text
    assert first.text == second.text
    assert first.served_model == "smollm2-135m"
    assert (first.finish_reason, first.completion_tokens) == ("length", 5)
    assert "/" not in repr(model.identity)


def test_a_closed_model_may_be_asked_again(weights: Path) -> None:
    """Closing ends the child; the next request starts another."""

    async def scenario() -> None:
        model = model_of(weights)
        await model.ask(HELLO)
        child = model._child
        assert child is not None
        await model.close()
        assert child.process.poll() is not None
        await model.close()
        assert await ask_once(model)

    asyncio.run(scenario())


def test_sampling_that_a_request_leaves_out_is_sent(weights: Path) -> None:
    """llama.cpp draws by our values alone: none of its own defaults is in force."""

    async def scenario() -> None:
        model = model_of(weights)
        await model.ask(HELLO)
        slots = http(f"{server_of(model)}/slots")[0]
        await model.close()
        used = slots[0]["params"]
        assert used["temperature"] == 0
        assert used["top_p"] == 1
        assert used["top_k"] == 0
        assert used["min_p"] == 0
        assert used["seed"] == 1

    asyncio.run(scenario())


def test_templates_render_as_the_server_does(weights: Path) -> None:
    """Our rendering of the embedded template equals llama.cpp's, byte for byte."""

    async def scenario() -> None:
        model = model_of(weights)
        await model.ask(HELLO)
        url = server_of(model)
        props = http(f"{url}/props")[0]
        for chat in CHATS:
            value = {"messages": [message_value(message) for message in chat]}
            ours = render(props["chat_template"], chat, bos=props["bos_token"])
            assert ours == http(f"{url}/apply-template", value)[0]["prompt"]
        await model.close()

    asyncio.run(scenario())


def test_a_start_up_template_is_what_runs(weights: Path) -> None:
    """A template given at the start replaces the embedded one and is part of the identity."""
    template = "{% for m in messages %}[{{ m.role }}] {{ m.content }}{% endfor %}"

    async def scenario() -> None:
        model = model_of(weights, template=template)
        await model.ask(HELLO)
        value = {"messages": [message_value(message) for message in HELLO.messages]}
        prompt = http(f"{server_of(model)}/apply-template", value)[0]["prompt"]
        await model.close()
        assert prompt == "[user] Name the capital of France."
        assert model.identity["template"] != model_of(weights).identity["template"]

    asyncio.run(scenario())


def test_the_server_is_loopback_without_pages_for_browsers(weights: Path) -> None:
    """No web page is served and no foreign origin is allowed in."""

    async def scenario() -> None:
        model = model_of(weights)
        await model.ask(HELLO)
        url = server_of(model)
        assert url.startswith("http://127.0.0.1:")
        _, headers = http(f"{url}/props", headers={"Origin": "http://evil.example"})
        allowed = headers.get("Access-Control-Allow-Origin")
        with pytest.raises(urllib.error.HTTPError, match="404"):
            http(f"{url}/")
        await model.close()
        assert allowed in (None, "http://127.0.0.1:1")

    asyncio.run(scenario())


def test_a_prompt_that_is_too_long_is_named_so(weights: Path) -> None:
    """Nothing is cut silently: the row's reason is input_too_long."""
    long = Request(
        messages=(Message(role="user", content="word " * 600),), sampling=Sampling()
    )
    model = open_local(
        "local:x", weights=weights, template=None, alias="x", context=256
    )
    with pytest.raises(ModelError, match="HTTP 400") as caught:
        asyncio.run(ask_once(model, long))
    assert caught.value.reason == "input_too_long"


def test_a_child_that_dies_is_named_and_replaced(weights: Path) -> None:
    """After kill -9 of the child the request fails as retryable, and the next one is answered."""

    async def scenario() -> None:
        model = model_of(weights)
        await model.ask(HELLO)
        assert model._child is not None
        assert model._endpoint is not None
        model._endpoint.pause_s = 0.02
        story = Message(role="user", content="Tell a very long story of a fox.")
        long = Request(messages=(story,), sampling=Sampling(max_tokens=3000))
        asked = asyncio.create_task(model.ask(long))
        await asyncio.sleep(0.2)
        model._child.process.kill()
        with pytest.raises(ModelError, match="exit code -9") as caught:
            await asked
        assert caught.value.retryable
        assert await ask_once(model)

    asyncio.run(scenario())


@pytest.mark.parametrize("size", [100, 30_000_000])
def test_damaged_weights_are_named(weights: Path, tmp_path: Path, size: int) -> None:
    """A truncated file is an InputError with the file's name, llama.cpp's words and the next step."""
    damaged = tmp_path / "damaged.gguf"
    with weights.open("rb") as file:
        damaged.write_bytes(file.read(size))
    model = model_of(damaged)
    with pytest.raises(InputError, match="evaluand models pull smollm2-135m") as caught:
        asyncio.run(ask_once(model))
    assert "damaged.gguf" in str(caught.value)
    assert "load" in str(caught.value)


def test_a_child_that_is_killed_while_it_loads_is_named(weights: Path) -> None:
    """Without a word from llama.cpp the message says how the child ended."""
    model = model_of(weights)

    async def scenario() -> None:
        asked = asyncio.create_task(ask_once(model))
        while model._child is None:
            await asyncio.sleep(0)
        model._child.process.kill()
        await asked

    with pytest.raises(InputError, match="ended with exit code -9 and said nothing"):
        asyncio.run(scenario())


def test_a_malformed_template_is_named(weights: Path) -> None:
    """A template that llama.cpp can't parse is an InputError about the template."""
    with pytest.raises(InputError, match="correct the chat template"):
        asyncio.run(ask_once(model_of(weights, template="{% if %}")))


def test_weights_that_load_too_slowly_are_given_up(weights: Path) -> None:
    """Past the time limit the child is ended and the error is retryable."""
    model = model_of(weights)
    model.ready_s = 0.0
    with pytest.raises(ModelError, match="wasn't loaded within 0 s") as caught:
        asyncio.run(ask_once(model))
    assert caught.value.retryable
    assert model._child is None


def test_a_child_that_hangs_is_killed(
    weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A child that doesn't end with its stdin is killed after a while."""
    monkeypatch.setattr(local, "_STOPPING_S", 0.1)

    async def scenario() -> int | None:
        model = model_of(weights)
        await model.ask(HELLO)
        child = model._child
        assert child is not None
        child.process.send_signal(signal.SIGSTOP)
        await model.close()
        return child.process.poll()

    assert asyncio.run(scenario()) == -signal.SIGKILL


def test_the_catalogues_weights_are_known_by_their_digest(weights: Path) -> None:
    """The file that the catalogue verified is served, and its digest is the identity."""
    model = resolve("local:smollm2-135m", scripts={}, weights=weights)
    assert isinstance(model, LocalModel)
    assert model.weights == weights
    assert model.identity["weights"] == CATALOG["smollm2-135m"].sha256


def test_threads_are_those_that_may_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as this process may run on, at least one; all where that can't be known."""
    assert local._threads() == len(os.sched_getaffinity(0))
    monkeypatch.delattr(os, "sched_getaffinity")
    assert local._threads() == os.cpu_count()


PARENT = """
import asyncio, sys
from pathlib import Path
from evaluand.chat.local import open_local
from evaluand.chat.message import Message, Request, Sampling

async def main():
    model = open_local("local:x", weights=Path(sys.argv[1]), template=None, alias="x")
    hello = Message(role="user", content="hi")
    await model.ask(Request(messages=(hello,), sampling=Sampling(max_tokens=1)))
    print(model._child.process.pid, flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


def test_a_killed_parent_leaves_no_child(weights: Path) -> None:
    """After kill -9 of the parent the child is gone within two seconds."""
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, str(weights)], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert Path(f"/proc/{pid}").exists()
        parent.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 2
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not is_running(pid)


def is_running(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] != "Z"
