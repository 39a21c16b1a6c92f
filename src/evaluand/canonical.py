"""RFC 8785 bytes of JSON values, and a JSON reader that drops nothing silently."""

import json
from typing import Any, NoReturn

import rfc8785

from evaluand.errors import InputError


def canonical(value: Any) -> bytes:
    """Return the RFC 8785 (JCS) form of a JSON value.

    Raises:
        InputError: For NaN, infinities, integers beyond 2**53, lone surrogates and
            types that JSON doesn't have.

    >>> canonical({"b": 1, "a": [1e-7, "é"]}).decode()
    '{"a":[1e-7,"é"],"b":1}'
    """
    try:
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError) as error:
        msg = f"this value has no canonical JSON form (RFC 8785): {error}"
        raise InputError(msg) from error


def parse_json(text: str | bytes, *, source: str) -> Any:
    """Return the JSON value in a text, refusing what a lenient reader would hide.

    Args:
        text: One JSON document.
        source: Where it came from, for the error message.

    Raises:
        InputError: For malformed JSON, duplicate keys, NaN, infinities and bytes
            that are not UTF-8.
    """

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        seen = dict(items)
        if len(seen) != len(items):
            keys = [key for key, _ in items]
            twice = sorted({key for key in keys if keys.count(key) > 1})
            msg = f"{source}: duplicate key {', '.join(map(repr, twice))}; keep one"
            raise InputError(msg)
        return seen

    def constant(name: str) -> NoReturn:
        msg = f"{source}: {name} is not a JSON number"
        raise InputError(msg)

    try:
        return json.loads(text, object_pairs_hook=pairs, parse_constant=constant)
    except (ValueError, RecursionError) as error:
        msg = f"{source}: expected one JSON document: {error}"
        raise InputError(msg) from error
