"""Claims about what is asked."""

from evaluand.canonical import canonical
from evaluand.chat.message import (
    Message,
    Request,
    Sampling,
    ToolCall,
    request_value,
)

USER = Message(role="user", content="hi")


def test_every_setting_that_is_given_is_part_of_the_value() -> None:
    """Changing any one field of a request changes its canonical bytes."""
    tool = {"type": "function", "function": {"name": "look"}}
    call = ToolCall(id="c1", name="look", arguments="{}")
    requests = [
        Request(messages=(USER,), sampling=Sampling()),
        Request(messages=(USER, USER), sampling=Sampling()),
        Request(messages=(USER,), sampling=Sampling(), tools=(tool,)),
        Request(messages=(USER,), sampling=Sampling(), tool_choice="none"),
        Request(
            messages=(Message(role="assistant", content="hi", tool_calls=(call,)),),
            sampling=Sampling(),
        ),
        Request(
            messages=(Message(role="tool", content="hi", tool_call_id="c1"),),
            sampling=Sampling(),
        ),
        *(
            Request(messages=(USER,), sampling=sampling)
            for sampling in (
                Sampling(temperature=0.5),
                Sampling(top_p=0.9),
                Sampling(max_tokens=161),
                Sampling(seed=2),
                Sampling(seed=None),
                Sampling(top_k=40),
                Sampling(min_p=0.05),
                Sampling(stop=("x",)),
            )
        ),
    ]
    assert len({canonical(request_value(request)) for request in requests}) == 14


def test_calls_and_results_have_the_chat_format() -> None:
    """A call keeps its arguments as text; a result names its call."""
    call = ToolCall(id="c1", name="look", arguments='{"key":  1}')
    request = Request(
        messages=(
            Message(role="assistant", content="", tool_calls=(call,)),
            Message(role="tool", content="found", tool_call_id="c1"),
        ),
        sampling=Sampling(),
    )
    assert request_value(request)["messages"] == [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "look", "arguments": '{"key":  1}'},
                }
            ],
        },
        {"role": "tool", "content": "found", "tool_call_id": "c1"},
    ]
