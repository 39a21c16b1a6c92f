"""Claims about the model that replies by rule."""

import asyncio

import pytest

from evaluand.chat.message import Message, Request, Sampling
from evaluand.chat.scripted import Scripted
from evaluand.errors import ModelError

HELLO = Request(messages=(Message(role="user", content="hello"),), sampling=Sampling())


def test_the_rule_is_the_reply() -> None:
    """The text is what the function returns; nothing is claimed that wasn't measured."""
    model = Scripted("scripted", lambda request: request.messages[0].content, {})
    reply = asyncio.run(model.ask(HELLO))
    asyncio.run(model.close())
    assert (reply.text, reply.finish_reason) == ("hello", "stop")
    assert (reply.served_model, reply.prompt_tokens) == (None, None)


def test_a_rule_may_fail_like_an_endpoint() -> None:
    """An error that the function raises reaches the asker as it is."""

    def respond(_: Request) -> str:
        msg = "down"
        raise ModelError(msg, retryable=True)

    with pytest.raises(ModelError, match="down"):
        asyncio.run(Scripted("scripted", respond, {}).ask(HELLO))
