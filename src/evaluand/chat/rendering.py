"""Which parts of a chat reach the model."""

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from evaluand.chat.counting import LONG, NONCE, SHORT, SLACK, filler, user
from evaluand.chat.fact import Fact
from evaluand.chat.lint import Dialect, call_id
from evaluand.chat.message import Message, ToolCall
from evaluand.chat.observe import Observer
from evaluand.errors import ModelError


class Chat(NamedTuple):
    """What one look is taken at."""

    messages: tuple[Message, ...]
    tools: tuple[Mapping[str, Any], ...] = ()


def part_chats(dialect: Dialect) -> dict[str, Callable[[str], Chat]]:
    """Return by part the chats that differ in nothing but a text inside that part."""
    ask = user("Look it up.")
    identifier = call_id(dialect, hashlib.sha256(b"probe").hexdigest())

    def called(arguments: str, result: str) -> Chat:
        call = ToolCall(
            id=identifier, name="look_up", arguments=f'{{"key": "{arguments}"}}'
        )
        return Chat(
            (
                ask,
                Message(role="assistant", content="", tool_calls=(call,)),
                Message(role="tool", content=result, tool_call_id=identifier),
            ),
            (_tool("Looks up."),),
        )

    return {
        "system": lambda text: Chat((Message(role="system", content=text), ask)),
        "tool_schema": lambda text: Chat((ask,), (_tool(text),)),
        "tool_call": lambda text: called(text, "found"),
        "tool_result": lambda text: called("name", text),
    }


def _tool(description: str) -> dict[str, Any]:
    key = {"type": "string", "description": description}
    parameters = {"type": "object", "properties": {"key": key}, "required": ["key"]}
    function = {
        "name": "look_up",
        "description": description,
        "parameters": parameters,
    }
    return {"type": "function", "function": function}


async def has_true_rendering(observer: Observer, chat: Chat) -> bool:
    """Whether a server tells the text of a prompt, and its count is that text's.

    A proxy may take tools out of a chat and still pass ``/apply-template`` on as it is:
    where the chat's own count is told, it has to be that of the rendered text.

    Raises:
        ModelError: If counts are told, and none of this chat.
    """
    text = await observer.rendered(*chat)
    if text is None:
        return False
    if observer.fault is not None:
        return True
    ids = await observer.tokens(text, add_special=True, parse_special=True)
    counted = await observer.count(*chat)
    return ids is None or counted == len(ids)


async def part_in_text(observer: Observer, build: Callable[[str], Chat]) -> Fact:
    """Return whether a part's nonce stands in the rendered prompt."""
    text = await observer.rendered(*build(NONCE))
    if text is None:
        return Fact.unknown("not_rendered", "/apply-template refused this chat")
    words = f"the nonce is{'' if NONCE in text else ' not'} in the rendered prompt"
    return Fact.of(NONCE in text, "apply_template", words)


async def system_folded(observer: Observer) -> Fact:
    """Return whether a system message is put into the user's turn.

    It is if a user alone, saying both texts with what the template puts between them,
    makes the same prompt. llama.cpp does so where a template knows no system role.
    """
    ask = "Look it up."
    text = await observer.rendered([Message(role="system", content=NONCE), user(ask)])
    if text is None:
        return Fact.unknown("no_rendering", "no route tells the text of a prompt")
    _, found, after = text.partition(NONCE)
    between, follows, _ = after.partition(ask)
    if not found or not follows:
        detail = "the system's and the user's text don't follow each other"
        return Fact.of(False, "apply_template", detail)
    folded = text == await observer.rendered([user(NONCE + between + ask)])
    detail = f"a user saying both makes {'the same' if folded else 'another'} prompt"
    return Fact.of(folded, "apply_template", detail)


async def part_in_count(
    observer: Observer, build: Callable[[str], Chat], rate: float
) -> Fact:
    """Return whether a part's text adds its tokens to the count.

    Two lengths of the part are compared, since a template may put a default where the
    part is missing. Without growth, the chat without the part must count alike too,
    where there is such a chat: else something of the part arrives.
    """
    short, long = build(filler(SHORT)), build(filler(LONG))
    least, most = await observer.count(*short), await observer.count(*long)
    grown, expected = most - least, rate * (LONG - SHORT)
    detail = f"{LONG - SHORT} words, about {expected:.0f} tokens, added {grown}"
    if grown >= expected * (1 - SLACK):
        return Fact.of(True, "token_delta", detail)
    bare = least
    if any(message.role == "user" for message in short.messages[-1:]):
        bare = await observer.count(short.messages[-1:])
        detail = f"{detail}; without the part {bare}, with it {least}"
    if grown == 0 and bare == least:
        return Fact.of(False, "token_delta", detail)
    return Fact.unknown("unexpected_delta", detail)


async def settled(fact: Awaitable[Fact]) -> Fact:
    """Return a fact, unknown where the endpoint gave no reply to tell it by."""
    try:
        return await fact
    except ModelError as error:
        return Fact.unknown(error.reason, str(error))
