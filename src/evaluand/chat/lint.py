"""What providers refuse in a list of messages, found before anything is sent."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from evaluand.chat.message import Message, Request
from evaluand.errors import ModelError

_ROLES = ("system", "user", "assistant", "tool")
_SURROGATE = re.compile("[\ud800-\udfff]")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """What one provider's chat accepts beyond what all of them do.

    Args:
        name: As in messages.
        id_form: Regular expression that a tool call's id has to match in full.
        id_prefix: What the provider's own ids begin with.
        id_length: Letters and digits after the prefix.
        system_first: Whether a system message may stand at the beginning alone.
        alternates: Whether user (or tool results) and assistant take turns.
        empty_text: Whether a text may be empty or blank.
        user_after_tool: Whether a user may speak right after a tool's result.
        object_arguments: Whether a call's arguments have to be a JSON object.
    """

    name: str
    id_form: str = r"[\x21-\x7e]{1,256}"
    id_prefix: str = "call_"
    id_length: int = 24
    system_first: bool = False
    alternates: bool = False
    empty_text: bool = True
    user_after_tool: bool = True
    object_arguments: bool = False


OPENAI = Dialect(name="openai")
ANTHROPIC = Dialect(
    name="anthropic",
    id_form="[A-Za-z0-9_-]{1,256}",
    id_prefix="toolu_",
    system_first=True,
    alternates=True,
    empty_text=False,
    object_arguments=True,
)
MISTRAL = Dialect(
    name="mistral",
    id_form="[A-Za-z0-9]{9}",
    id_prefix="",
    id_length=9,
    system_first=True,
    alternates=True,
    user_after_tool=False,
    object_arguments=True,
)
DIALECTS = {dialect.name: dialect for dialect in (OPENAI, ANTHROPIC, MISTRAL)}

_MISTRAL = re.compile(
    r"(^|[/:._-])(mistral|mixtral|ministral|codestral|devstral|magistral|pixtral)"
)


def dialect_of(model: str) -> Dialect:
    """Return the dialect of a model behind the OpenAI format, by its id.

    >>> dialect_of("mistralai/Mistral-Small-3.2").name, dialect_of("gpt-5").name
    ('mistral', 'openai')
    """
    return MISTRAL if _MISTRAL.search(model.lower()) else OPENAI


def call_id(dialect: Dialect, digest: str) -> str:
    """Return a tool call's id in a provider's own form, the same for the same digest.

    Args:
        dialect: Whose form.
        digest: A SHA-256 in hex, of whatever the call is part of.

    >>> call_id(MISTRAL, "00" * 31 + "2a"), call_id(OPENAI, "ff" * 32)
    ('00000000g', 'call_ZWm8LLG7HjnuCA2j5rOw8Xp1')
    """
    number = int(digest, 16)
    letters = []
    for _ in range(dialect.id_length):
        number, rest = divmod(number, len(_ALPHABET))
        letters.append(_ALPHABET[rest])
    return dialect.id_prefix + "".join(reversed(letters))


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Why a provider would refuse a message.

    Args:
        index: Of the message, from 0.
        rule: The rule's short name.
        message: What was expected and what came.
    """

    index: int
    rule: str
    message: str


def lint(messages: Sequence[Message], dialect: Dialect = OPENAI) -> list[Finding]:
    """Return what a provider would refuse, in the order of the messages.

    >>> ask = Message(role="user", content="Hi")
    >>> result = Message(role="tool", content="4", tool_call_id="call_1")
    >>> [(f.index, f.rule) for f in lint([ask, result])]
    [(1, 'result_without_call')]
    """
    found = [*_shape(messages, dialect), *_calls(messages), *_order(messages, dialect)]
    return sorted(found, key=lambda finding: finding.index)


def check_sendable(request: Request, dialect: Dialect) -> None:
    """Refuse messages that can't be sent, or that the provider would refuse.

    Raises:
        ModelError: ``unsendable``, naming each fault and the index of its message.
    """
    found = lint(request.messages, dialect)
    if found:
        faults = "; ".join(f"message {each.index}: {each.message}" for each in found)
        raise unsendable(dialect, faults)


def unsendable(dialect: Dialect, faults: str) -> ModelError:
    """Return the error of a request that is never sent."""
    msg = f"the request can't be sent to {dialect.name}: {faults}"
    return ModelError(msg, retryable=False, reason="unsendable")


def _shape(messages: Sequence[Message], dialect: Dialect) -> Iterator[Finding]:
    """Yield what is wrong with single messages."""
    if not messages:
        yield Finding(index=0, rule="no_messages", message="expected a message")
    for index, message in enumerate(messages):
        for rule, fault in (
            *_role_faults(message),
            *_text_faults(message, dialect),
            *_call_faults(message, dialect),
        ):
            yield Finding(index=index, rule=rule, message=fault)
    if not dialect.empty_text and messages and messages[-1].role == "assistant":
        text = messages[-1].content
        if text != text.rstrip():
            yield Finding(
                index=len(messages) - 1,
                rule="trailing_space",
                message="an assistant's last turn must not end in white space",
            )


def _role_faults(message: Message) -> Iterator[tuple[str, str]]:
    if message.role not in _ROLES:
        yield "role", f"expected a role of {', '.join(_ROLES)}, got {message.role!r}"
    if message.tool_calls and message.role != "assistant":
        yield "role", f"only an assistant makes tool calls, got {message.role!r}"
    if (message.tool_call_id is not None) != (message.role == "tool"):
        yield "role", "a tool's turn, and no other, names the call that it answers"


def _text_faults(message: Message, dialect: Dialect) -> Iterator[tuple[str, str]]:
    text = message.content
    lone = _SURROGATE.search(text)
    if lone:
        yield (
            "surrogate",
            f"no UTF-8 form: lone surrogate U+{ord(lone[0]):04X} at {lone.start()}",
        )
    # an empty tool result is written without a block, so it can be sent
    may_be_empty = dialect.empty_text or message.role == "tool"
    if not text.strip() and not (may_be_empty or (message.tool_calls and not text)):
        yield "empty_block", f"an empty or blank text, which {dialect.name} refuses"


def _call_faults(message: Message, dialect: Dialect) -> Iterator[tuple[str, str]]:
    ids = [call.id for call in message.tool_calls]
    if message.tool_call_id is not None:
        ids.append(message.tool_call_id)
    for each in ids:
        if not re.fullmatch(dialect.id_form, each):
            yield (
                "id_form",
                f"{dialect.name} expects tool call ids of the form {dialect.id_form}, got {each!r}",
            )
    for call in message.tool_calls:
        if not _NAME.fullmatch(call.name):
            yield (
                "name_form",
                f"expected a function name of 1 to 64 letters, digits, _ and -, got {call.name!r}",
            )
        if _SURROGATE.search(call.arguments):
            yield "surrogate", "a call's arguments hold a lone surrogate"
        elif dialect.object_arguments and not _is_object(call.arguments):
            yield (
                "arguments",
                f"expected a JSON object as arguments of {call.name}, got {call.arguments!r:.60}",
            )


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except ValueError:
        return False


def _calls(messages: Sequence[Message]) -> Iterator[Finding]:
    """Yield calls without their results and results without their calls."""
    open_ids: list[str] = []
    asked = 0
    every: set[str] = set()
    for index, message in enumerate(messages):
        if message.role == "tool":
            answered = message.tool_call_id or ""
            if answered in open_ids:
                open_ids.remove(answered)
            elif answered in every:
                yield Finding(
                    index=index,
                    rule="split_pair",
                    message=f"the result of {answered!r} doesn't follow its call, or comes twice",
                )
            else:
                yield Finding(
                    index=index,
                    rule="result_without_call",
                    message=f"no call {answered!r} precedes this result",
                )
            continue
        yield from _unanswered(open_ids, asked)
        open_ids, asked = [call.id for call in message.tool_calls], index
        twice = [each for each in open_ids if open_ids.count(each) > 1 or each in every]
        if twice:
            yield Finding(
                index=index,
                rule="id_twice",
                message=f"the call id {twice[0]!r} stands twice",
            )
        every.update(open_ids)
    yield from _unanswered(open_ids, asked)


def _unanswered(open_ids: Sequence[str], asked: int) -> Iterator[Finding]:
    if open_ids:
        yield Finding(
            index=asked,
            rule="unanswered_call",
            message=f"the call {open_ids[0]!r} has no result right after it",
        )


def _order(messages: Sequence[Message], dialect: Dialect) -> Iterator[Finding]:
    """Yield turns that stand where a provider takes none."""
    for index, message in enumerate(messages):
        if dialect.system_first and index and message.role == "system":
            yield Finding(
                index=index,
                rule="system_first",
                message=f"{dialect.name} takes one system message, at the beginning",
            )
    if dialect.alternates:
        turns = [(i, m.role) for i, m in enumerate(messages) if m.role != "system"]
        yield from _alternation(turns, dialect)


def _alternation(
    turns: Sequence[tuple[int, str]], dialect: Dialect
) -> Iterator[Finding]:
    if not turns or turns[0][1] == "assistant":
        yield Finding(
            index=turns[0][0] if turns else 0,
            rule="alternation",
            message=f"{dialect.name} expects a user's turn first",
        )
    for (_, before), (index, role) in pairwise(turns):
        if (before, role) == ("tool", "user") and not dialect.user_after_tool:
            fault = f"{dialect.name} expects the assistant after a tool's result"
        elif before == role and role in ("user", "assistant"):
            fault = f"{dialect.name} expects user and assistant to take turns, got two of {role}"
        else:
            continue
        yield Finding(index=index, rule="alternation", message=fault)
