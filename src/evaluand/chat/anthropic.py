"""The Anthropic messages format: a request's bytes, a reply's meaning."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from evaluand.chat.failure import malformed
from evaluand.chat.message import Message, Reply, Request, ToolCall
from evaluand.chat.openai import (
    count_or_none,
    encodable,
    json_object,
    text_or_none,
)
from evaluand.errors import ModelError

PATH = "/messages"
VERSION = "2023-06-01"

NOT_SENT = ("seed", "min_p")
"""What of a request this format has no word for."""

_FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
}
_CHOICES = {"auto": "auto", "required": "any", "none": "none"}


def body(
    request: Request,
    *,
    model: str,
    fields: Mapping[str, Any] | None = None,
    limit_field: str = "max_tokens",
) -> bytes:
    """Return the bytes of a messages request.

    A system message goes into its own field, a tool's results and the user's words after
    them into one turn, as the format asks; every text is written as it is. An empty tool
    result is one without content, since an empty block is refused. ``top_p`` 1 is off and
    not sent: some models refuse it beside a temperature. `NOT_SENT` names what is left out.

    Args:
        request: What is asked; `lint.check_sendable` says whether it can be.
        model: The provider's id of the model.
        fields: Fields that are sent unless the request has its own.
        limit_field: The endpoint's name for the token limit.
    """
    sampling = request.sampling
    messages = request.messages
    system = messages[0].content if messages and messages[0].role == "system" else None
    optional = {
        "system": system,
        "top_p": None if sampling.top_p == 1 else sampling.top_p,
        "top_k": sampling.top_k,
        "stop_sequences": list(sampling.stop) or None,
        "tools": [_tool(tool) for tool in request.tools] or None,
        "tool_choice": _choice(request.tool_choice),
    }
    value = {
        "model": model,
        **(fields or {}),
        limit_field: sampling.max_tokens,
        "temperature": sampling.temperature,
        "messages": list(_turns(messages if system is None else messages[1:])),
    } | {key: item for key, item in optional.items() if item is not None}
    return json.dumps(value, ensure_ascii=False).encode()


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    function = tool["function"]
    described = {"description": function.get("description")}
    return {
        "name": function["name"],
        **{key: text for key, text in described.items() if text is not None},
        "input_schema": function.get("parameters", {"type": "object"}),
    }


def _choice(tool_choice: str | None) -> dict[str, str] | None:
    return None if tool_choice is None else {"type": _CHOICES[tool_choice]}


def _turns(messages: tuple[Message, ...]) -> Iterator[dict[str, Any]]:
    """Yield turns; results of tools and what the user says after them are one."""
    results: list[dict[str, Any]] = []
    for message in messages:
        if message.role == "tool":
            results.append(_result(message))
        elif message.role == "user" and results:
            text = {"type": "text", "text": message.content}
            yield {"role": "user", "content": [*results, text]}
            results = []
        else:
            if results:
                yield {"role": "user", "content": results}
                results = []
            yield {"role": message.role, "content": _content(message)}
    if results:
        yield {"role": "user", "content": results}


def _result(message: Message) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": message.tool_call_id}
    return {**block, "content": message.content} if message.content else block


def _content(message: Message) -> str | list[dict[str, Any]]:
    if not message.tool_calls:
        return message.content
    text = [{"type": "text", "text": message.content}] if message.content else []
    calls = [
        {
            "type": "tool_use",
            "id": call.id,
            "name": call.name,
            "input": json.loads(call.arguments),
        }
        for call in message.tool_calls
    ]
    return [*text, *calls]


def parse_reply(content: bytes, *, where: str, latency_s: float) -> Reply:
    """Return what a 200 response says.

    Args:
        content: The response's bytes.
        where: The endpoint, for error messages.
        latency_s: Seconds that the response took.

    Raises:
        ModelError: If it isn't a message (``malformed_reply``, retryable), was refused
            (``refused``) or holds no text (``empty``).
    """
    value = json_object(content, where)
    blocks = value.get("content")
    if not isinstance(blocks, list) or not all(isinstance(b, dict) for b in blocks):
        raise malformed(where, "no content blocks", content)
    stop = text_or_none(value.get("stop_reason")) or "unknown"
    finish = _FINISH.get(stop, stop)
    if finish == "refusal":
        msg = f"{where}: the model refused"
        raise ModelError(msg, retryable=False, reason="refused")
    texts = [block.get("text") for block in blocks if block.get("type") == "text"]
    if not all(isinstance(text, str) and encodable(text) for text in texts):
        raise malformed(where, "the content is no Unicode text", content)
    calls = _calls(blocks)
    if not texts and not calls and finish != "length":
        msg = f"{where}: the reply holds no text (stop reason {stop})"
        raise ModelError(msg, retryable=False, reason="empty")
    usage = value.get("usage")
    return Reply(
        text="".join(texts),
        finish_reason=finish,
        served_model=text_or_none(value.get("model")),
        fingerprint=None,
        prompt_tokens=_prompt_tokens(usage),
        completion_tokens=count_or_none(usage, "output_tokens"),
        latency_s=latency_s,
        tool_calls=calls,
        reasoning=_thinking(blocks),
    )


def _calls(blocks: list[dict[str, Any]]) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(
            id=str(block.get("id") or ""),
            name=str(block.get("name") or ""),
            arguments=json.dumps(block.get("input"), ensure_ascii=False),
        )
        for block in blocks
        if block.get("type") == "tool_use"
    )


def _thinking(blocks: list[dict[str, Any]]) -> str | None:
    found = [
        text_or_none(block.get("thinking"))
        for block in blocks
        if block.get("type") == "thinking"
    ]
    return "".join(text for text in found if text) or None


def _prompt_tokens(usage: Any) -> int | None:
    """Return the tokens of the prompt, those read from a cache and put there included."""
    fresh = count_or_none(usage, "input_tokens")
    if fresh is None:
        return None
    cached = ("cache_creation_input_tokens", "cache_read_input_tokens")
    return fresh + sum(count_or_none(usage, name) or 0 for name in cached)
