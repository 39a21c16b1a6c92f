"""Claims about the wire format that need no server."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from evaluand.chat import openai
from evaluand.chat.message import Message, Request, Sampling, ToolCall

ENCODABLE = st.text(st.characters(exclude_categories=["Cs"]))


@given(ENCODABLE)
def test_text_goes_out_as_it_came_in(text: str) -> None:
    """Whatever text a message holds, the request holds the same."""
    request = Request(
        messages=(Message(role="user", content=text),), sampling=Sampling()
    )
    sent = json.loads(openai.body(request, model="m"))
    assert sent["messages"][0]["content"] == text


def test_fields_that_a_request_leaves_out_may_be_filled() -> None:
    """A default is sent when the request is silent, and only then."""
    fields = {"top_k": 0, "seed": -1}
    request = Request(messages=(), sampling=Sampling(top_k=5, seed=None))
    sent = json.loads(openai.body(request, model="m", fields=fields))
    assert (sent["top_k"], sent["seed"]) == (5, -1)


def test_the_token_limit_takes_the_endpoints_name() -> None:
    """The limit is sent once, under the name that is asked for."""
    request = Request(messages=(), sampling=Sampling(max_tokens=9))
    sent = json.loads(openai.body(request, model="m", limit_field="other"))
    assert sent["other"] == 9
    assert "max_tokens" not in sent


def parse(message: Any, finish: Any = "stop", **more: Any) -> Any:
    value = {"choices": [{"message": message, "finish_reason": finish}], **more}
    return openai.parse_reply(json.dumps(value).encode(), where="here", latency_s=0.5)


def test_a_reply_that_only_calls_tools_has_empty_text_and_the_calls() -> None:
    """Null content beside calls is no fault; what is no call is left out."""
    call = {"id": "c1", "function": {"name": "look", "arguments": "{}"}}
    reply = parse({"content": None, "tool_calls": [call, 7, {}]}, "tool_calls")
    assert reply.text == ""
    assert reply.tool_calls == (ToolCall(id="c1", name="look", arguments="{}"),)


def test_a_reply_cut_before_its_text_is_empty_and_says_length() -> None:
    """Hidden thinking that ate the budget leaves an empty text with finish reason length."""
    reply = parse({"content": None}, "length")
    assert (reply.text, reply.finish_reason) == ("", "length")


def test_what_an_endpoint_does_not_say_is_none() -> None:
    """No model, fingerprint or usage, or nonsense there, gives None; never a number."""
    reply = parse({"content": "x"}, None, usage={"prompt_tokens": -1}, model=7)
    assert (reply.served_model, reply.fingerprint) == (None, None)
    assert (reply.prompt_tokens, reply.completion_tokens) == (None, None)
    assert reply.finish_reason == "unknown"
