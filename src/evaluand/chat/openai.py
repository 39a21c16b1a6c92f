"""The OpenAI chat-completions format: a request's bytes, a reply's meaning."""

import json
from collections.abc import Mapping
from typing import Any

from evaluand.chat.failure import malformed, quote
from evaluand.chat.message import Reply, Request, ToolCall, request_value
from evaluand.chat.thinking import leading_thinking
from evaluand.errors import ModelError

PATH = "/chat/completions"

_REASONING_FIELDS = ("reasoning_content", "reasoning")


def body(
    request: Request,
    *,
    model: str,
    fields: Mapping[str, Any] | None = None,
    limit_field: str = "max_tokens",
) -> bytes:
    """Return the bytes of a chat-completions request.

    Args:
        request: What is asked; `lint.check_sendable` says whether it can be.
        model: The endpoint's id of the model.
        fields: Fields that are sent unless the request has its own: what the endpoint
            would otherwise fill by itself, and which provider a router has to use.
        limit_field: The endpoint's name for the token limit.
    """
    value = {"model": model, **(fields or {}), **request_value(request)}
    value[limit_field] = value.pop("max_tokens")
    return json.dumps(value, ensure_ascii=False).encode()


def parse_reply(content: bytes, *, where: str, latency_s: float) -> Reply:
    """Return what a 200 response says.

    Args:
        content: The response's bytes.
        where: The endpoint, for error messages.
        latency_s: Seconds that the response took.

    Raises:
        ModelError: If it isn't a completion (``malformed_reply``, retryable), was
            withheld (``filtered``, ``refused``) or holds no text (``empty``).
    """
    value = json_object(content, where)
    choice = _choice(value, content, where)
    message = choice.get("message")
    if not isinstance(message, dict):
        raise malformed(where, "the first choice has no message", content)
    finish = text_or_none(choice.get("finish_reason")) or "unknown"
    calls = _tool_calls(message)
    text = _text(message, finish, calls, content=content, where=where)
    reasoning, visible = leading_thinking(text)
    usage = value.get("usage")
    return Reply(
        text=visible,
        finish_reason=finish,
        served_model=text_or_none(value.get("model")),
        fingerprint=text_or_none(value.get("system_fingerprint")),
        prompt_tokens=count_or_none(usage, "prompt_tokens"),
        completion_tokens=count_or_none(usage, "completion_tokens"),
        latency_s=latency_s,
        tool_calls=calls,
        reasoning=_reasoning(message) or reasoning,
        provider=text_or_none(value.get("provider")),
    )


def json_object(content: bytes, where: str) -> dict[str, Any]:
    """Return the JSON object of a response.

    Raises:
        ModelError: If it holds something else (``malformed_reply``, retryable).
    """
    try:
        value = json.loads(content.decode())
    except (ValueError, RecursionError) as error:
        raise malformed(where, f"not JSON in UTF-8 ({error})", content) from error
    if not isinstance(value, dict):
        raise malformed(where, "not a JSON object", content)
    return value


def encodable(text: str) -> bool:
    """Whether a text has a UTF-8 form: no lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def text_or_none(value: Any) -> str | None:
    """Return a text that can be stored, None for everything else."""
    return value if isinstance(value, str) and encodable(value) else None


def count_or_none(usage: Any, field: str) -> int | None:
    """Return a number of tokens, None where none is told."""
    value = usage.get(field) if isinstance(usage, dict) else None
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value < 2**53 else None


def _choice(value: dict[str, Any], content: bytes, where: str) -> dict[str, Any]:
    choices = value.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise malformed(where, "no choices", content)
    return choices[0]


def _text(
    message: dict[str, Any],
    finish: str,
    calls: tuple[ToolCall, ...],
    *,
    content: bytes,
    where: str,
) -> str:
    """Return the reply's text, or raise when there is none that means something."""
    text = message.get("content")
    if finish == "content_filter":
        msg = f"{where}: the reply was withheld by a content filter"
        raise ModelError(msg, retryable=False, reason="filtered")
    if text is None and message.get("refusal"):
        msg = f"{where}: the model refused: {quote(str(message['refusal']))}"
        raise ModelError(msg, retryable=False, reason="refused")
    if text is None and (calls or finish == "length"):
        return ""
    if text is None:
        msg = f"{where}: the reply's content is null (finish reason {finish})"
        raise ModelError(msg, retryable=False, reason="empty")
    if not isinstance(text, str) or not encodable(text):
        raise malformed(where, "the content is no Unicode text", content)
    return text


def _reasoning(message: dict[str, Any]) -> str | None:
    found = (text_or_none(message.get(name)) for name in _REASONING_FIELDS)
    return next((text for text in found if text), None)


def _tool_calls(message: dict[str, Any]) -> tuple[ToolCall, ...]:
    calls = message.get("tool_calls")
    found = []
    for call in calls if isinstance(calls, list) else []:
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            found.append(
                ToolCall(
                    id=str(call.get("id") or ""),
                    name=str(function.get("name") or ""),
                    arguments=str(function.get("arguments") or ""),
                )
            )
    return tuple(found)
