"""The Anthropic messages format, written and read."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluand.chat import anthropic
from evaluand.chat.message import Message, Request, Sampling, ToolCall
from evaluand.errors import ModelError

ENCODABLE = st.text(st.characters(exclude_categories=["Cs"]))
TOOL = {
    "type": "function",
    "function": {
        "name": "look",
        "description": "Looks.",
        "parameters": {"type": "object", "properties": {}},
    },
}


def sent(*messages: Message, tool_choice: str | None = None, **sampling: Any) -> Any:
    request = Request(
        messages=messages,
        sampling=Sampling(**sampling),
        tools=(TOOL,) if tool_choice else (),
        tool_choice=tool_choice,
    )
    return json.loads(anthropic.body(request, model="m"))


def user(text: str) -> Message:
    return Message(role="user", content=text)


CALLING = Message(
    role="assistant",
    content="",
    tool_calls=(
        ToolCall(id="a", name="look", arguments='{"q": 1.0}'),
        ToolCall(id="b", name="look", arguments="{}"),
    ),
)


@given(ENCODABLE, ENCODABLE)
def test_texts_go_out_as_they_came_in(system: str, text: str) -> None:
    """The system message has its own field; no text is trimmed or escaped."""
    value = sent(Message(role="system", content=system), user(text))
    assert value["system"] == system
    assert value["messages"] == [{"role": "user", "content": text}]


def test_what_the_format_has_no_word_for_is_left_out() -> None:
    """No seed and no min_p; top_p only where it cuts something off."""
    value = sent(user("x"), seed=7, min_p=0.1, top_k=3, stop=("END",))
    assert not value.keys() & {*anthropic.NOT_SENT, "top_p", "system", "tools"}
    assert (value["top_k"], value["stop_sequences"]) == (3, ["END"])
    assert (value["temperature"], value["max_tokens"]) == (0.0, 160)
    assert sent(user("x"), top_p=0.9)["top_p"] == 0.9


def test_results_and_the_words_after_them_are_one_turn() -> None:
    """Two results and the user's next words form one user turn, results first."""
    value = sent(
        user("x"),
        CALLING,
        Message(role="tool", content="<r>", tool_call_id="a"),
        Message(role="tool", content="", tool_call_id="b"),
        user("Go on"),
        tool_choice="none",
    )
    asked, answered = value["messages"][1:]
    assert asked["content"] == [
        {"type": "tool_use", "id": "a", "name": "look", "input": {"q": 1.0}},
        {"type": "tool_use", "id": "b", "name": "look", "input": {}},
    ]
    assert answered["content"] == [
        {"type": "tool_result", "tool_use_id": "a", "content": "<r>"},
        {"type": "tool_result", "tool_use_id": "b"},
        {"type": "text", "text": "Go on"},
    ]
    assert value["tools"] == [
        {
            "name": "look",
            "description": "Looks.",
            "input_schema": {"type": "object", "properties": {}},
        }
    ]
    assert value["tool_choice"] == {"type": "none"}


def test_results_before_the_assistants_turn_are_a_turn_of_their_own() -> None:
    """A result may end a chat, or stand before the assistant's reply."""
    result = Message(role="tool", content="r", tool_call_id="a")
    said = Message(role="assistant", content="Done")
    roles = [m["role"] for m in sent(user("x"), CALLING, result, said)["messages"]]
    assert roles == ["user", "assistant", "user", "assistant"]
    assert sent(user("x"), CALLING, result)["messages"][-1]["role"] == "user"


def parse(*blocks: Any, stop: Any = "end_turn", **more: Any) -> Any:
    value = {"content": list(blocks), "stop_reason": stop, "model": "m-1", **more}
    return anthropic.parse_reply(
        json.dumps(value).encode(), where="here", latency_s=0.5
    )


def test_a_reply_keeps_thinking_and_calls_apart_from_the_text() -> None:
    """Text blocks are joined, thinking and calls have their own place."""
    reply = parse(
        {"type": "thinking", "thinking": "Hm.", "signature": "s"},
        {"type": "text", "text": "A"},
        {"type": "text", "text": "B"},
        {"type": "tool_use", "id": "t", "name": "look", "input": {"q": "é"}},
        stop="tool_use",
        usage={"input_tokens": 3, "cache_read_input_tokens": 4, "output_tokens": 5},
    )
    assert (reply.text, reply.reasoning, reply.finish_reason) == (
        "AB",
        "Hm.",
        "tool_calls",
    )
    assert reply.tool_calls == (ToolCall(id="t", name="look", arguments='{"q": "é"}'),)
    assert (reply.prompt_tokens, reply.completion_tokens) == (7, 5)
    assert reply.served_model == "m-1"


@pytest.mark.parametrize(
    ("stop", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("pause_turn", "pause_turn"),
        (None, "unknown"),
    ],
)
def test_stop_reasons_have_one_vocabulary(stop: Any, finish: str) -> None:
    """A cut reply is told by the same word whichever format brought it."""
    assert parse({"type": "text", "text": "x"}, stop=stop).finish_reason == finish


@pytest.mark.parametrize(
    ("blocks", "stop", "reason"),
    [
        ([], "end_turn", "empty"),
        ([{"type": "thinking", "thinking": "x"}], "end_turn", "empty"),
        ([{"type": "text", "text": "x"}], "refusal", "refused"),
        ([{"type": "text", "text": None}], "end_turn", "malformed_reply"),
        ([{"type": "text", "text": "\ud800"}], "end_turn", "malformed_reply"),
        (["x"], "end_turn", "malformed_reply"),
    ],
)
def test_a_reply_without_text_is_an_error_with_a_reason(
    blocks: list[Any], stop: str, reason: str
) -> None:
    """Nothing to read is never an empty text."""
    with pytest.raises(ModelError, match="here") as error:
        parse(*blocks, stop=stop)
    assert error.value.reason == reason


def test_a_reply_that_thinking_ate_is_cut() -> None:
    """No text at the limit is an empty text with finish reason length."""
    reply = parse({"type": "thinking", "thinking": "x"}, stop="max_tokens")
    assert (reply.text, reply.finish_reason) == ("", "length")
