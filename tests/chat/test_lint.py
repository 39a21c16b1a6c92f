"""What providers refuse is found beforehand, by the index of its message."""

import json
import string
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluand.chat.address import Address
from evaluand.chat.lint import (
    ANTHROPIC,
    DIALECTS,
    MISTRAL,
    OPENAI,
    Dialect,
    call_id,
    check_sendable,
    dialect_of,
    lint,
)
from evaluand.chat.message import Message, Request, Sampling, ToolCall
from evaluand.digest import sha256_hex
from evaluand.errors import ModelError

EVERY = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=list(DIALECTS))


def user(text: str = "Hi") -> Message:
    return Message(role="user", content=text)


def calling(*ids: str, text: str = "", arguments: str = "{}") -> Message:
    calls = tuple(ToolCall(id=i, name="look", arguments=arguments) for i in ids)
    return Message(role="assistant", content=text, tool_calls=calls)


def result(call: str, text: str = "found") -> Message:
    return Message(role="tool", content=text, tool_call_id=call)


def valid(dialect: Dialect) -> list[Message]:
    """Return a chat with two calls and their results that every provider takes."""
    first, second = (call_id(dialect, sha256_hex(x)) for x in (b"1", b"2"))
    return [
        Message(role="system", content="Be brief."),
        user(),
        calling(first, second),
        result(first),
        result(second),
        Message(role="assistant", content="Done."),
        user("Thanks"),
    ]


def faults(messages: list[Message], dialect: Dialect = OPENAI) -> list[tuple[int, str]]:
    return [(finding.index, finding.rule) for finding in lint(messages, dialect)]


@EVERY
def test_a_whole_tool_chat_passes(dialect: Dialect) -> None:
    """Two calls, two results, the reply and the next turn: nothing to refuse."""
    assert faults(valid(dialect), dialect) == []


@EVERY
@pytest.mark.parametrize("dropped", [2, 3, 4])
def test_a_split_pair_is_found_wherever_it_is_split(
    dialect: Dialect, dropped: int
) -> None:
    """Dropping the call or one of its results leaves a chat that is refused (D2)."""
    messages = valid(dialect)
    del messages[dropped]
    rules = {rule for _, rule in faults(messages, dialect)}
    assert rules & {"result_without_call", "unanswered_call"}


def test_a_result_without_a_call_is_named_by_index() -> None:
    """User, then a tool's result: the second message is at fault (D1)."""
    assert faults([user(), result("call_1")]) == [(1, "result_without_call")]


def test_a_result_after_another_turn_is_a_split_pair() -> None:
    """A result has to follow its call at once, and once."""
    late = [user(), calling("a"), user(), result("a")]
    assert faults(late) == [(1, "unanswered_call"), (3, "split_pair")]
    twice = [user(), calling("a"), result("a"), result("a")]
    assert faults(twice) == [(3, "split_pair")]


def test_an_id_stands_for_one_call() -> None:
    """The same id twice in a chat leaves open whose result it is."""
    again = [user(), calling("a"), result("a"), calling("a"), result("a")]
    assert (3, "id_twice") in faults(again)
    assert (1, "id_twice") in faults([user(), calling("a", "a")])


@pytest.mark.parametrize(
    ("dialect", "identifier", "ok"),
    [
        (MISTRAL, "AbC123xyz", True),
        (MISTRAL, "call_abcdefghijkl", False),
        (MISTRAL, "toolu_01", False),
        (MISTRAL, "AbC123xyz\n", False),
        (ANTHROPIC, "toolu_01", True),
        (ANTHROPIC, "a:b", False),
        (OPENAI, "call_abc", True),
        (OPENAI, "", False),
    ],
)
def test_ids_have_the_providers_form(
    dialect: Dialect, identifier: str, ok: bool
) -> None:
    """Mistral's nine alphanumerics, Anthropic's letters, digits, _ and - (D4)."""
    messages = [user(), calling(identifier), result(identifier)]
    named = {rule for _, rule in faults(messages, dialect)}
    assert ("id_form" not in named) == ok


@EVERY
@given(seed=st.binary(max_size=20))
def test_made_ids_fit_their_provider(dialect: Dialect, seed: bytes) -> None:
    """An id is made from what it belongs to: the same again, and of the right form."""
    made = call_id(dialect, sha256_hex(seed))
    assert made == call_id(dialect, sha256_hex(seed))
    assert made != call_id(dialect, sha256_hex(seed + b"x"))
    assert faults([user(), calling(made), result(made)], dialect) == []
    assert set(made) <= set(string.ascii_letters + string.digits + "_")


@pytest.mark.parametrize("text", ["", " ", "\n\t"])
def test_empty_blocks_are_refused_where_the_provider_does(text: str) -> None:
    """Anthropic refuses empty and blank texts, but an empty tool result can be sent (D5)."""
    assert faults([user(text)], ANTHROPIC) == [(0, "empty_block")]
    assert faults([user(text)], OPENAI) == []
    answered = [user(), calling("a"), result("a", text)]
    assert faults(answered, ANTHROPIC) == []


@pytest.mark.parametrize("dialect", [ANTHROPIC, MISTRAL], ids=lambda d: d.name)
def test_turns_alternate(dialect: Dialect) -> None:
    """Two users or two assistants in a row, or an assistant first, are refused."""
    said = Message(role="assistant", content="Yes")
    assert faults([user(), user()], dialect) == [(1, "alternation")]
    assert faults([user(), said, said], dialect) == [(2, "alternation")]
    assert faults([said, user()], dialect) == [(0, "alternation")]
    system = Message(role="system", content="x")
    assert (0, "alternation") in faults([system], dialect)
    assert (2, "system_first") in faults([user(), said, system], dialect)
    assert faults([user(), user(), said, system], OPENAI) == []


def test_mistral_takes_no_user_after_a_tool() -> None:
    """After a result the assistant speaks; others let the user go on."""
    messages = [user(), calling("a" * 9), result("a" * 9), user()]
    assert faults(messages, MISTRAL) == [(3, "alternation")]
    assert faults(messages, ANTHROPIC) == []


@pytest.mark.parametrize(
    ("message", "rule"),
    [
        (Message(role="developer", content="x"), "role"),
        (Message(role="user", content="x", tool_call_id="a"), "role"),
        (Message(role="tool", content="x"), "role"),
        (replace(calling("a"), role="user"), "role"),
        (user("a\udc00"), "surrogate"),
        (calling("a", arguments='"\ud800'), "surrogate"),
        (
            Message(
                role="assistant",
                content="",
                tool_calls=(ToolCall(id="a", name="no name", arguments="{}"),),
            ),
            "name_form",
        ),
    ],
)
def test_malformed_messages_are_named(message: Message, rule: str) -> None:
    """Each message is looked at by itself too."""
    assert (1, rule) in faults([user(), message])


def test_arguments_are_an_object_where_they_must_be() -> None:
    """OpenAI takes the arguments as text, the others read them."""
    for arguments in ("[]", "{", ""):
        messages = [user(), calling("a", arguments=arguments), result("a")]
        assert faults(messages, OPENAI) == []
        assert faults(messages, ANTHROPIC) == [(1, "arguments")]


def test_an_assistants_last_turn_ends_in_text() -> None:
    """Anthropic refuses a prefill that ends in white space."""
    last = Message(role="assistant", content="So ")
    assert faults([user(), last], ANTHROPIC) == [(1, "trailing_space")]
    assert faults([user(), last], OPENAI) == []


def test_no_messages_are_refused() -> None:
    """An empty chat is named as such."""
    assert faults([]) == [(0, "no_messages")]


def test_the_dialect_goes_by_the_models_id() -> None:
    """Mistral's models are known wherever they are served."""
    for model in ("mistralai/Mixtral-8x7B", "codestral-latest", "TheBloke/mistral-7b"):
        assert dialect_of(model) is MISTRAL
    for model in ("gpt-5", "qwen2.5", "my-minstrel"):
        assert dialect_of(model) is OPENAI


def test_all_faults_stand_in_the_error() -> None:
    """A refused request names every fault with its index, and is unsendable."""
    request = Request(messages=(user("\ud800"), result("x")), sampling=Sampling())
    with pytest.raises(ModelError, match=r"message 0: .*U\+D800.*message 1: ") as error:
        check_sendable(request, OPENAI)
    assert (error.value.reason, error.value.retryable) == ("unsendable", False)


def test_surrogates_hide_nowhere() -> None:
    """A tool's specification is looked at as well, and JSON escapes are no disguise."""
    tool = json.loads('{"type": "function", "function": {"name": "\\ud800"}}')
    request = Request(messages=(user(),), sampling=Sampling(), tools=(tool,))
    address = Address(base_urls=("http://h/v1",), model="m")
    with pytest.raises(ModelError, match="tools or the stop texts") as error:
        address.body(request)
    assert error.value.reason == "unsendable"
