"""RFC 8785 bytes of JSON values, and a JSON reader that drops nothing silently."""

import json
import math
import re
from typing import Any, NoReturn

import rfc8785

from evaluand.errors import InputError

# Beyond these, JSON readers that hold numbers as doubles don't agree (RFC 8785, 3.2.2.3).
MAX_INTEGER = 2**53 - 1

_SURROGATE = re.compile("[\ud800-\udfff]")


def canonical(value: Any) -> bytes:
    """Return the RFC 8785 (JCS) form of a JSON value.

    Raises:
        InputError: For NaN, infinities, integers beyond 2**53 - 1, lone surrogates, types
            that JSON doesn't have, and values nested too deeply.

    >>> canonical({"b": 1, "a": [1e-7, "é"]}).decode()
    '{"a":[1e-7,"é"],"b":1}'
    """
    try:
        return _ENCODER.encode(_plain(value)).encode()
    except (_NotPlainError, UnicodeEncodeError, RecursionError):
        pass  # the whole rule, which also says what is wrong
    try:
        return rfc8785.dumps(value)
    except (
        rfc8785.CanonicalizationError,
        UnicodeEncodeError,
        RecursionError,
    ) as error:
        # the error's own text may quote a lone surrogate, which can't be printed
        fault = ascii(str(error))[1:-1]
        msg = f"this value has no canonical JSON form (RFC 8785): {fault}"
        raise InputError(msg) from error


class _NotPlainError(Exception):
    """A value whose canonical form Python's encoder may not give."""


_ENCODER = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
)


def _plain(value: Any) -> Any:
    """Return a value that Python's encoder writes as RFC 8785 does: three times as fast.

    Keys in ASCII sort alike in code points and in UTF-16; whole floats are written as
    integers, all others are left to the full rule.
    """
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return value
    if kind is dict:
        if not all(type(key) is str and key.isascii() for key in value):
            raise _NotPlainError
        return {key: _plain(item) for key, item in value.items()}
    if kind is list or kind is tuple:
        return [_plain(item) for item in value]
    if (kind is int or kind is float) and -MAX_INTEGER <= value <= MAX_INTEGER:
        whole = int(value)
        if whole == value:
            return whole
    raise _NotPlainError


def parse_json(text: str | bytes, *, source: str) -> Any:
    """Return the JSON value in a text, refusing what a lenient reader would hide.

    Args:
        text: One JSON document.
        source: Where it came from, for the error message.

    Raises:
        InputError: For malformed JSON, duplicate keys, NaN, infinities, numbers too big
            for a double, integers beyond 2**53 - 1, lone surrogates, and bytes that are
            not UTF-8 or begin with a byte order mark.
    """
    try:
        value = json.loads(
            # json.loads would guess at UTF-16 and UTF-32
            text if isinstance(text, str) else text.decode("utf-8"),
            object_pairs_hook=_distinct,
            parse_constant=_constant,
            parse_int=_integer,
            parse_float=_real,
        )
        _refuse_surrogates(value)
    except (ValueError, RecursionError) as error:
        msg = f"{source}: expected one JSON document: {error}"
        raise InputError(msg) from error
    return value


def _distinct(items: list[tuple[str, Any]]) -> dict[str, Any]:
    seen = dict(items)
    if len(seen) != len(items):
        keys = [key for key, _ in items]
        twice = sorted({key for key in keys if keys.count(key) > 1})
        msg = f"duplicate key {', '.join(map(ascii, twice))}; keep one"
        raise ValueError(msg)
    return seen


def _constant(name: str) -> NoReturn:
    msg = f"{name} is not a JSON number"
    raise ValueError(msg)


def _integer(digits: str) -> int:
    number = int(digits)
    if abs(number) > MAX_INTEGER:
        msg = f"{digits} is beyond 2**53 - 1, where readers disagree; write it as text"
        raise ValueError(msg)
    return number


def _real(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        msg = f"{digits} is too big for a JSON number"
        raise ValueError(msg)
    return number


def _refuse_surrogates(value: Any) -> None:
    todo = [value]
    while todo:
        each = todo.pop()
        if isinstance(each, dict):
            todo += [*each, *each.values()]
        elif isinstance(each, list):
            todo += each
        elif isinstance(each, str) and _SURROGATE.search(each):
            msg = f"{each[:80]!a} holds a lone surrogate, which is no character"
            raise ValueError(msg)
