"""The OpenAI chat-completions format: a request's bytes, a reply's meaning, a refusal's."""

import json
import re
from collections.abc import Mapping
from typing import Any

from evaluand.chat.message import Reply, Request, ToolCall, request_value
from evaluand.errors import ModelError, RequestRefusedError

_QUOTED = 300
_RETRYABLE = frozenset({408, 409, 429})
_FILTERED = re.compile(r"content_filter|content_policy|content management policy")
# llama.cpp, OpenAI and vLLM each have their own words for it
_TOO_LONG = re.compile(
    r"exceed_context_size|context_length_exceeded|maximum context length|context size"
)


def body(
    request: Request,
    *,
    model: str,
    unset: Mapping[str, Any] | None = None,
    limit_field: str = "max_tokens",
) -> bytes:
    """Return the bytes of a chat-completions request.

    Args:
        request: What is asked.
        model: The endpoint's id of the model.
        unset: Fields that are sent when the request leaves them out, for an endpoint
            that would fill them by itself.
        limit_field: The endpoint's name for the token limit.

    Raises:
        ModelError: If the text has no UTF-8 form (a lone surrogate).
    """
    value = {"model": model, **(unset or {}), **request_value(request)}
    value[limit_field] = value.pop("max_tokens")
    try:
        return json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        msg = f"the request can't be sent as UTF-8: {error.reason} ({error.object[error.start]!r})"
        raise ModelError(msg, retryable=False, reason="unsendable") from error


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
    value = _json(content, where)
    choice = _choice(value, content, where)
    message = choice.get("message")
    if not isinstance(message, dict):
        raise _malformed(where, "the first choice has no message", content)
    finish_reason = choice.get("finish_reason")
    finish = finish_reason if isinstance(finish_reason, str) else "unknown"
    calls = _tool_calls(message)
    usage = value.get("usage")
    return Reply(
        text=_text(message, finish, calls, content=content, where=where),
        finish_reason=finish,
        served_model=_text_or_none(value.get("model")),
        fingerprint=_text_or_none(value.get("system_fingerprint")),
        prompt_tokens=_count(usage, "prompt_tokens"),
        completion_tokens=_count(usage, "completion_tokens"),
        latency_s=latency_s,
        tool_calls=calls,
    )


def _json(content: bytes, where: str) -> dict[str, Any]:
    try:
        value = json.loads(content.decode())
    except (ValueError, RecursionError) as error:
        raise _malformed(where, f"not JSON in UTF-8 ({error})", content) from error
    if not isinstance(value, dict):
        raise _malformed(where, "not a JSON object", content)
    return value


def _choice(value: dict[str, Any], content: bytes, where: str) -> dict[str, Any]:
    choices = value.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise _malformed(where, "no choices", content)
    return choices[0]


def _text(
    message: dict[str, Any],
    finish: str,
    calls: tuple[ToolCall, ...],
    *,
    content: bytes,
    where: str,
) -> str:
    """Return the visible text, or raise when there is none that means something."""
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
    if not isinstance(text, str) or not _encodable(text):
        raise _malformed(where, "the content is no Unicode text", content)
    return text


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


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


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _count(usage: Any, field: str) -> int | None:
    value = usage.get(field) if isinstance(usage, dict) else None
    return value if isinstance(value, int) and value >= 0 else None


def failure(
    status: int, content: bytes, *, where: str, model: str, key_hint: str
) -> ModelError:
    """Return the error that a response other than 200 stands for.

    Args:
        status: The HTTP status.
        content: The response's bytes, quoted shortly but for 401 and 403, whose text
            may repeat the key.
        where: The endpoint, without userinfo.
        model: The model id that was asked for.
        key_hint: What to do about a missing or wrong key.
    """
    said = quote(content.decode("utf-8", "replace"))
    if status in (401, 403):
        return RequestRefusedError(
            f"{where} refused the key (HTTP {status}); {key_hint}"
        )
    if status == 404:
        msg = f"{where} knows no such path or model (HTTP 404), asked for {model!r}: {said}"
        return RequestRefusedError(msg)
    if status == 402 or "insufficient_quota" in said:
        return RequestRefusedError(f"{where}: no credit left (HTTP {status}): {said}")
    if status < 400:
        msg = f"{where} answered HTTP {status} instead of a reply; correct its address"
        return RequestRefusedError(msg)
    if status in _RETRYABLE or status >= 500:
        reason = "rate_limited" if status == 429 else "endpoint_error"
        msg = f"{where} failed (HTTP {status}): {said}"
        return ModelError(msg, retryable=True, reason=reason)
    msg = f"{where} rejected the request (HTTP {status}): {said}"
    return ModelError(msg, retryable=False, reason=_rejection(status, said))


def _rejection(status: int, said: str) -> str:
    if status == 413 or _TOO_LONG.search(said):
        return "input_too_long"
    return "filtered" if _FILTERED.search(said) else "request_rejected"


def quote(text: str) -> str:
    r"""Return at most 300 characters of a text on one printable line.

    >>> quote("a\n\x1b[31m b")
    'a [31m b'
    """
    printable = "".join(c if c.isprintable() else " " for c in text[: 4 * _QUOTED])
    line = " ".join(printable.split())
    return line if len(line) <= _QUOTED else line[: _QUOTED - 1] + "…"


def _malformed(where: str, what: str, content: bytes) -> ModelError:
    said = quote(content[: 4 * _QUOTED].decode("utf-8", "replace"))
    msg = f"{where}: expected a chat completion, got {what}: {said!r}"
    return ModelError(msg, retryable=True, reason="malformed_reply")
