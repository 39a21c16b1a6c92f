"""A model is asked once for each distinct request, and a failure never becomes a reply."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from evaluand.chat.message import Message, Reply, Request, Sampling
from evaluand.engine.ask import Asker
from evaluand.errors import ModelError, RequestRefusedError
from evaluand.store import Store

REQUEST = Request(
    messages=(Message(role="user", content="Hello"),), sampling=Sampling(seed=1)
)


@dataclass
class Desk:
    """A model that answers, or raises, what it is told."""

    answers: list[str | ModelError]
    identity: dict[str, Any] = field(default_factory=lambda: {"model": "desk"})
    name: str = "desk"
    concurrency: int = 4
    asked: int = 0

    async def ask(self, request: Request) -> Reply:  # noqa: ARG002 - a model's signature
        """Give the next answer, the last one again and again."""
        self.asked += 1
        await asyncio.sleep(0)
        answer = self.answers[0] if len(self.answers) == 1 else self.answers.pop(0)
        if isinstance(answer, ModelError):
            raise answer
        return Reply(
            text=answer,
            finish_reason="stop",
            served_model=None,
            fingerprint=None,
            prompt_tokens=None,
            completion_tokens=None,
            latency_s=0.0,
        )

    async def close(self) -> None:
        """Hold nothing."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Return a new store."""
    with Store(tmp_path / "s.sqlite") as opened:
        yield opened


def test_equal_requests_in_flight_are_asked_once(store: Store) -> None:
    """Both who wait get the one reply, and a later one gets it from the store."""
    desk, asker = Desk(["hi", "ho"]), Asker(store)

    async def scenario() -> list[str]:
        pair = await asyncio.gather(asker.ask(desk, REQUEST), asker.ask(desk, REQUEST))
        later = await asker.ask(desk, REQUEST)
        return [answer.text for answer in (*pair, later)]

    assert asyncio.run(scenario()) == ["hi"] * 3
    assert desk.asked == 1
    assert asker.counts == {"asked": 1, "reused": 2}


def test_a_fresh_draw_is_asked_for(store: Store) -> None:
    """The A/A condition gets a reply of its own."""
    desk, asker = Desk(["hi", "ho"]), Asker(store)
    assert asyncio.run(asker.ask(desk, REQUEST)).text == "hi"
    assert asyncio.run(asker.ask(desk, REQUEST, draw="repeat")).text == "ho"


@pytest.mark.parametrize(
    "change",
    [
        {"temperature": 0.5},
        {"top_p": 0.9},
        {"max_tokens": 10},
        {"seed": 2},
        {"seed": None},
        {"top_k": 1},
        {"min_p": 0.1},
        {"stop": ("x",)},
    ],
)
def test_every_sampling_setting_is_in_the_key(
    store: Store, change: dict[str, Any]
) -> None:
    """A reply drawn otherwise is never reused."""
    desk, asker = Desk(["hi", "ho"]), Asker(store)
    other = replace(REQUEST, sampling=replace(REQUEST.sampling, **change))
    assert asyncio.run(asker.ask(desk, REQUEST)).text == "hi"
    assert asyncio.run(asker.ask(desk, other)).text == "ho"


def test_message_and_model_are_in_the_key(store: Store) -> None:
    """Another text, role or model is another question; another name of one model isn't."""
    asker = Asker(store)
    desk = Desk(["a", "b", "c"])
    keys = {
        asyncio.run(asker.ask(model, request)).key
        for model, request in (
            (desk, REQUEST),
            (desk, replace(REQUEST, messages=(Message(role="user", content="Hell"),))),
            (
                desk,
                replace(REQUEST, messages=(Message(role="system", content="Hello"),)),
            ),
            (Desk(["d"], identity={"model": "other"}), REQUEST),
            (Desk(["e"], name="alias"), REQUEST),
        )
    }
    assert len(keys) == 4


def test_a_reply_that_can_never_come_is_kept_with_its_reason(store: Store) -> None:
    """A filtered request is an answer without text, asked for once."""
    desk, asker = (
        Desk([ModelError("no", retryable=False, reason="filtered")]),
        Asker(store),
    )
    for _ in range(2):
        answer = asyncio.run(asker.ask(desk, REQUEST))
        assert (answer.text, answer.reason) == ("", "filtered")
        assert answer.key
    assert (desk.asked, asker.failures) == (1, [])


def test_a_reply_that_may_come_later_is_not_kept(store: Store) -> None:
    """A time-out leaves nothing in the store, is counted, and is asked for again."""
    desk, asker = Desk([ModelError("slow", retryable=True), "hi"]), Asker(store)
    missing = asyncio.run(asker.ask(desk, REQUEST))
    assert (missing.key, missing.reason) == ("", "endpoint_error")
    assert asker.failures == ["slow"]
    assert asyncio.run(asker.ask(desk, REQUEST)).text == "hi"


def test_three_failures_in_a_row_stop_the_run(store: Store) -> None:
    """A dead endpoint isn't asked a thousand times."""
    desk, asker = Desk([ModelError("down", retryable=True)]), Asker(store)
    for _ in range(2):
        asyncio.run(asker.ask(desk, REQUEST))
    with pytest.raises(ModelError, match=r"down.*3 requests in a row"):
        asyncio.run(asker.ask(desk, REQUEST))
    assert list(store.rows("exchange")) == []


def test_a_refusal_stops_the_run_at_once(store: Store) -> None:
    """A wrong key fails every request alike; both who wait are told."""
    desk, asker = Desk([RequestRefusedError("wrong key")]), Asker(store)

    async def scenario() -> list[object]:
        pair = (asker.ask(desk, REQUEST), asker.ask(desk, REQUEST))
        return list(await asyncio.gather(*pair, return_exceptions=True))

    found = asyncio.run(scenario())
    assert [type(each) for each in found] == [RequestRefusedError] * 2
    assert desk.asked == 1
