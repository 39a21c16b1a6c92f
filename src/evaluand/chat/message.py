"""What is asked of a model and what comes back."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """An assistant's call of a function.

    Args:
        id: The name by which the tool's result refers to this call.
        name: The function.
        arguments: Its arguments as JSON text, as the model wrote them.
    """

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One turn of a chat.

    Args:
        role: ``system``, ``user``, ``assistant`` or ``tool``.
        content: The text, sent byte for byte; empty where a turn is nothing but calls.
        tool_calls: The calls that an assistant's turn makes.
        tool_call_id: For a tool's turn, the call that it answers.
    """

    role: str
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How tokens are drawn.

    Args:
        temperature: At least 0; 0 is greedy.
        top_p: 0..1, 1 is off.
        max_tokens: Tokens of the reply, at least 1.
        seed: Of the endpoint's generator; None leaves it to the endpoint.
        top_k: Only these most likely tokens; None is not sent, or off where it must be.
        min_p: Least probability relative to the likeliest, 0..1; None as above.
        stop: Texts that end the reply.
    """

    temperature: float = 0.0
    top_p: float = 1.0
    max_tokens: int = 160
    seed: int | None = 1
    top_k: int | None = None
    min_p: float | None = None
    stop: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One question to a model, without saying which model.

    Args:
        messages: The chat so far.
        sampling: How the reply is drawn.
        tools: Function specifications in the OpenAI format.
        tool_choice: ``auto``, ``none``, ``required``; None is not sent.
    """

    messages: tuple[Message, ...]
    sampling: Sampling
    tools: tuple[Mapping[str, Any], ...] = ()
    tool_choice: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer, with what the endpoint says of itself.

    Args:
        text: The visible text; empty when only tools were called or the limit was met.
        finish_reason: ``stop``, ``length``, ``tool_calls`` or the endpoint's own word.
        served_model: The model that the endpoint says answered.
        fingerprint: The endpoint's ``system_fingerprint``.
        prompt_tokens: Tokens of the request, as counted by the endpoint.
        completion_tokens: Tokens of the reply, hidden ones included.
        latency_s: Seconds from the last attempt's start to its last byte.
        tool_calls: Calls that the endpoint read out of the reply.
        reasoning: Hidden reasoning, from its own field or a leading block of the text.
        provider: Who a router says served the request.
    """

    text: str
    finish_reason: str
    served_model: str | None
    fingerprint: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    latency_s: float
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str | None = None
    provider: str | None = None


def request_value(request: Request) -> dict[str, Any]:
    """Return a request as a JSON value: exactly what is asked.

    A request's digest is taken over this; which model it goes to is not part of it.
    What is None or empty is left out.

    >>> hello = Message(role="user", content="Hello")
    >>> request_value(Request(messages=(hello,), sampling=Sampling(seed=None)))
    {'messages': [{'role': 'user', 'content': 'Hello'}], 'temperature': 0.0, 'top_p': 1.0, 'max_tokens': 160}
    """
    sampling = request.sampling
    optional = {
        "seed": sampling.seed,
        "top_k": sampling.top_k,
        "min_p": sampling.min_p,
        "stop": list(sampling.stop) or None,
        "tools": [dict(tool) for tool in request.tools] or None,
        "tool_choice": request.tool_choice,
    }
    return {
        "messages": [message_value(message) for message in request.messages],
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "max_tokens": sampling.max_tokens,
    } | {key: value for key, value in optional.items() if value is not None}


def message_value(message: Message) -> dict[str, Any]:
    """Return one turn in the OpenAI chat format."""
    value: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        value["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        value["tool_call_id"] = message.tool_call_id
    return value
