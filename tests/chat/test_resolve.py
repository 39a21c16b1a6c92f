"""Claims about the names of models."""

import asyncio
import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaluand.canonical import canonical
from evaluand.chat import local
from evaluand.chat.client import Endpoint
from evaluand.chat.message import Message, Request, Sampling
from evaluand.chat.resolve import Pace, resolve
from evaluand.errors import InputError

HELLO = Request(
    messages=(Message(role="user", content="hello"),), sampling=Sampling(max_tokens=3)
)
FINE = {"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}


def yes(_: Request) -> str:
    return "yes"


SCRIPTS: dict[str, Callable[[Request], str]] = {"perfect": yes, "other": yes}


def endpoint(name: str) -> Endpoint:
    model = resolve(name, scripts={})
    assert isinstance(model, Endpoint)
    return model


def test_scripted_is_perfect_unless_it_says_otherwise() -> None:
    """Without a profile the perfect one answers; the profile and its version are the identity."""
    plain = resolve("scripted", scripts=SCRIPTS)
    named = resolve("scripted:other", scripts=SCRIPTS)
    assert plain.identity == {"kind": "scripted", "profile": "perfect", "version": 1}
    assert (named.name, named.identity["profile"]) == ("scripted:other", "other")
    assert asyncio.run(plain.ask(HELLO)).text == "yes"


@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("scripted:nobody", "there are: perfect, other"),
        ("local:nobody", "evaluand models pull nobody"),
        ("gpt-4o", "expected local:NAME"),
        ("openai/", "expected local:NAME"),
        ("http://a/v1,http://a/v1#m", "one URL stands twice"),
        ("http://u:p@a/v1,http://b/v1#m", "opened alike"),
        ("http://a..b/v1#m", "expected http"),
        ("http://" + "a" * 100 + "/v1#m", "expected http"),
        ("http://[::1/v1#m", "expected http"),
        ("http://host/v1", "id after #"),
        ("http:///v1#m", "id after #"),
        ("http://host:port/v1#m", "id after #"),
        ("https://host/v1?key=abc#m", "no query"),
    ],
)
def test_a_name_that_nothing_answers_to_is_refused(name: str, match: str) -> None:
    """The message lists what there is or shows the form that was expected."""
    with pytest.raises(InputError, match=match):
        resolve(name, scripts=SCRIPTS)


@pytest.mark.parametrize("name", ["http://u:hunter2@host/v1", "ftp://u:hunter2@h/v1#m"])
def test_a_refused_address_shows_no_password(name: str) -> None:
    """Userinfo stays out of the message about a malformed address."""
    with pytest.raises(InputError, match="expected") as caught:
        resolve(name, scripts={})
    assert "hunter2" not in str(caught.value)


def test_providers_take_their_own_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each provider's key comes from its own variable, and no message or repr shows it."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-openai")
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-router")
    first = endpoint("openai/gpt-x")
    second = endpoint("openrouter/org/model:free")
    assert first.address.headers["Authorization"] == "Bearer sk-openai"
    assert second.address.headers["Authorization"] == "Bearer sk-router"
    assert second.address.model == "org/model:free"
    assert "sk-" not in repr((first, second))
    assert b"sk-" not in canonical([first.identity, second.identity])
    assert first.address.key_hint.startswith("OPENAI_API_KEY holds a wrong key")


@pytest.mark.parametrize("key", [None, "", " \n"])
def test_a_missing_key_is_named(
    key: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the variable nothing is asked: the message says which one to set."""
    if key is not None:
        monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(InputError, match="OPENAI_API_KEY is not set; set it to a key"):
        resolve("openai/gpt-x", scripts={})


@pytest.mark.parametrize("key", ["sk a", "sk\nb", "sk\x7f", "sk\udcff", "ключ"])
def test_a_key_that_no_header_can_hold_is_named(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """White space around a key is no part of it; what is inside must be printable ASCII."""
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(InputError, match="OPENAI_API_KEY: expected a key of printable"):
        resolve("openai/gpt-x", scripts={})
    monkeypatch.setenv("OPENAI_API_KEY", " sk-1\n")
    assert endpoint("openai/gpt-x").address.headers["Authorization"] == "Bearer sk-1"


def test_an_address_is_asked_for_its_model(
    serving: Any, says: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What stands after # is the model's id; userinfo is sent, and shown nowhere."""
    assert endpoint("https://host/v1#m").address.headers == {}

    async def scenario() -> None:
        async with serving(says(FINE)) as server:
            url = server.url.replace("http://", "http://me:hunter%402@")
            model = endpoint(f"{url}/#org/m%23")
            assert model.name == f"{server.url}#org/m%23"
            assert model.identity == {
                "kind": "endpoint",
                "base_url": server.url,
                "model": "org/m#",
            }
            assert "hunter" not in repr(model)
            assert (await model.ask(HELLO)).text == "hi"
            await model.close()
            assert server.headers[0]["Authorization"] == "Basic bWU6aHVudGVyQDI="

            monkeypatch.setenv("EVALUAND_API_KEY", "k")
            model = endpoint(f"{server.url}#m")
            await model.ask(HELLO)
            await model.close()
            assert server.headers[1]["Authorization"] == "Bearer k"

    asyncio.run(scenario())


def test_a_local_model_may_bring_its_own_weights(tmp_path: Path) -> None:
    """Weights beside the catalogue are hashed for the identity, unless their digest is given."""
    weights = tmp_path / "w.gguf"
    weights.write_bytes(b"GGUF")
    model = resolve("local:mine", scripts={}, weights=weights, template="{{ x }}")
    assert model.identity["weights"] == hashlib.sha256(b"GGUF").hexdigest()
    assert model.identity["template"] == hashlib.sha256(b"{{ x }}").hexdigest()
    assert str(tmp_path).encode() not in canonical(model.identity)
    given = resolve("local:mine", scripts={}, weights=weights, weights_sha256="ab")
    assert given.identity["weights"] == "ab"


def test_missing_weights_say_how_to_get_them(tmp_path: Path) -> None:
    """A model without weights, a missing file and a missing name each say what to do."""
    with pytest.raises(
        InputError, match="fetch them with: evaluand models pull smollm2-135m"
    ):
        resolve("local:smollm2-135m", scripts={})
    with pytest.raises(InputError, match="can't be read: No such file"):
        resolve("local:mine", scripts={}, weights=tmp_path / "none.gguf")
    with pytest.raises(InputError, match="got no name"):
        resolve("local:", scripts={}, weights=tmp_path / "none.gguf")


def test_without_the_extra_the_message_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where llama.cpp isn't installed, a local model says how to install it."""
    weights = tmp_path / "w.gguf"
    weights.write_bytes(b"GGUF")
    # an installation without the extra: nothing but the standard library is found
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(InputError, match=r"pip install 'evaluand\[local\]'"):
        local.open_local("local:x", weights=weights, template=None, alias="x")


def test_anthropic_is_asked_in_its_own_format(
    serving: Any, says: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key and the version stand in its headers, the path is its own."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-anthropic")
    model = endpoint("anthropic/claude-x")
    said = {"content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn"}

    async def scenario() -> None:
        async with serving(says(said)) as server:
            object.__setattr__(model.address, "base_urls", (server.url,))
            assert (await model.ask(HELLO)).text == "hi"
            assert server.headers[0]["x-api-key"] == "sk-anthropic"
            assert server.headers[0]["anthropic-version"] == "2023-06-01"
            await model.close()

    asyncio.run(scenario())
    assert model.identity["wire"] == "anthropic"
    assert "sk-" not in repr(model)


def test_a_router_is_pinned_to_a_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    """@PROVIDER allows that one alone; without it the identity says unpinned."""
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-router")
    pinned = endpoint("openrouter/org/model@deepinfra/fp8")
    free = endpoint("openrouter/org/model")
    body = json.loads(pinned.address.body(HELLO))
    assert body["model"] == "org/model"
    assert body["provider"] == {"order": ["deepinfra/fp8"], "allow_fallbacks": False}
    assert pinned.identity["router"] == body["provider"]
    assert free.identity["router"] == "unpinned"
    assert "provider" not in json.loads(free.address.body(HELLO))


def test_urls_that_answer_alike_are_one_model() -> None:
    """A comma parts replicas; the order in which they stand means nothing."""
    one = endpoint("http://a:1/v1,http://b:2/v1#m")
    assert one.address.base_urls == ("http://a:1/v1", "http://b:2/v1")
    assert one.identity["replicas"] == ["http://a:1/v1", "http://b:2/v1"]
    assert one.concurrency == 2 * endpoint("http://a:1/v1#m").concurrency
    assert one.name == "http://a:1/v1,http://b:2/v1#m"


def test_the_pace_is_no_part_of_the_identity() -> None:
    """Workers and timeouts change how a model is asked, never which."""
    slow = resolve("http://a/v1#m", scripts={}, pace=Pace(concurrency=1, timeout_s=5.0))
    assert isinstance(slow, Endpoint)
    assert (slow.concurrency, slow.timeout_s) == (1, 5.0)
    assert slow.identity == endpoint("http://a/v1#m").identity
