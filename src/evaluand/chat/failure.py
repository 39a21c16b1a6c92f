"""What a response without a reply stands for: which error, whether it may pass, its reason."""

import re

from evaluand.errors import ModelError, RequestRefusedError

_QUOTED = 300
_RETRYABLE = frozenset({408, 409, 429})
_FILTERED = re.compile(r"content_filter|content_policy|content management policy")
# llama.cpp, OpenAI, vLLM and Anthropic each have their own words for it
_TOO_LONG = re.compile(
    r"exceed_context_size|context_length_exceeded|maximum context length|context size|prompt is too long"
)


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


def malformed(where: str, what: str, content: bytes) -> ModelError:
    """Return the error of a 200 response that holds no reply; asking again may help."""
    said = quote(content[: 4 * _QUOTED].decode("utf-8", "replace"))
    msg = f"{where}: expected a chat completion, got {what}: {said!r}"
    return ModelError(msg, retryable=True, reason="malformed_reply")


def quote(text: str) -> str:
    r"""Return at most 300 characters of a text on one printable line.

    >>> quote("a\n\x1b[31m b")
    'a [31m b'
    """
    printable = "".join(c if c.isprintable() else " " for c in text[: 4 * _QUOTED])
    line = " ".join(printable.split())
    return line if len(line) <= _QUOTED else line[: _QUOTED - 1] + "…"
