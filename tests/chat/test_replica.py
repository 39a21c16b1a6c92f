"""Calls go where the fewest are out, and not where nothing answers."""

import asyncio
from typing import Any

from evaluand.chat.address import Address
from evaluand.chat.client import Endpoint
from evaluand.chat.message import Message, Request, Sampling
from evaluand.chat.replica import Balance

HELLO = Request(messages=(Message(role="user", content="hi"),), sampling=Sampling())
FINE = {"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}


def test_the_least_busy_is_chosen() -> None:
    """A place with fewer calls out comes first, the first named among equals."""
    balance = Balance.over(["a", "b"])
    first = balance.choose()
    assert first.base_url == "a"
    first.outstanding += 1
    assert balance.choose().base_url == "b"


def test_a_dead_place_is_left_out_and_comes_back() -> None:
    """Twice unreachable in a row is dead for a while; an answer makes it whole."""
    balance = Balance.over(["a", "b"])
    dead, alive = balance.replicas
    balance.told(dead, unreachable=True)
    assert balance.choose() is dead
    balance.told(dead, unreachable=True)
    alive.outstanding = 9
    assert balance.choose() is alive
    balance.told(dead, unreachable=False)
    assert balance.choose() is dead


def test_where_all_are_dead_the_first_due_is_tried() -> None:
    """There is always a place to ask, or a down endpoint would never be told as such."""
    balance = Balance.over(["a", "b"])
    for replica in balance.replicas:
        for _ in range(2):
            balance.told(replica, unreachable=True)
    assert balance.choose() is balance.replicas[0]


def test_every_call_is_answered_while_one_place_lives(serving: Any, says: Any) -> None:
    """With one of three places dead, calls spread over the others and none is lost."""

    async def scenario() -> None:
        async with serving(says(FINE)) as one, serving(says(FINE)) as two:
            urls = ("http://127.0.0.1:9/v1", one.url, two.url)
            model = Endpoint(
                name="m",
                address=Address(base_urls=urls, model="m"),
                identity={},
                concurrency=6,
                pause_s=0.001,
            )
            replies = await asyncio.gather(*(model.ask(HELLO) for _ in range(60)))
            await model.close()
            assert [reply.text for reply in replies] == ["hi"] * 60
            assert len(one.bodies) + len(two.bodies) == 60
            assert min(len(one.bodies), len(two.bodies)) >= 15

    asyncio.run(scenario())
