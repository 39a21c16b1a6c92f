"""`evaluand.canonical`: one value has one form, and no reader's leniency gets in (G6)."""

import json
import struct
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from evaluand.canonical import canonical, parse_json
from evaluand.errors import InputError

SAFE = 2**53 - 1
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-SAFE, SAFE)
    # between the two, a float is written as digits that are no safe integer
    | st.floats(-SAFE, SAFE)
    | st.floats(1e21, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("bits", "text"),
    [
        ("0000000000000000", "0"),
        ("8000000000000000", "0"),
        ("0000000000000001", "5e-324"),
        ("8000000000000001", "-5e-324"),
        ("7fefffffffffffff", "1.7976931348623157e+308"),
        ("ffefffffffffffff", "-1.7976931348623157e+308"),
        ("4340000000000000", "9007199254740992"),
        ("c340000000000000", "-9007199254740992"),
        ("4430000000000000", "295147905179352830000"),
        ("44b52d02c7e14af5", "9.999999999999997e+22"),
        ("44b52d02c7e14af6", "1e+23"),
        ("44b52d02c7e14af7", "1.0000000000000001e+23"),
        ("444b1ae4d6e2ef4e", "999999999999999700000"),
        ("444b1ae4d6e2ef4f", "999999999999999900000"),
        ("444b1ae4d6e2ef50", "1e+21"),
        ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
        ("3eb0c6f7a0b5ed8d", "0.000001"),
        ("41b3de4355555553", "333333333.3333332"),
        ("41b3de4355555554", "333333333.33333325"),
        ("41b3de4355555555", "333333333.3333333"),
        ("41b3de4355555556", "333333333.3333334"),
        ("41b3de4355555557", "333333333.33333343"),
        ("becbf647612f3696", "-0.0000033333333333333333"),
        ("43143ff3c1cb0959", "1424953923781206.2"),
    ],
)
def test_number_vectors_of_the_rfc(bits: str, text: str) -> None:
    """The number samples of RFC 8785, appendix B."""
    (number,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical(number).decode() == text


def test_document_vector_of_the_rfc() -> None:
    """The sample of RFC 8785, section 3.2.2: numbers, escapes, literals, order."""
    sample = rb"""{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3,
                  0.000000000000000000000000001],
      "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
      "literals": [null, true, false]
    }"""
    assert canonical(parse_json(sample, source="sample")) == (
        b'{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,'
        b'0.002,1e-27],"string":"\xe2\x82\xac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )


def test_keys_sort_by_utf_16_units() -> None:
    """A key beyond the basic plane stands before U+E000, as RFC 8785, 3.2.3 has it."""
    keys = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6", "\ue000"]
    found = json.loads(canonical(dict.fromkeys(keys, 0)))
    assert list(found) == [
        "\r",
        "1",
        "\u0080",
        "\u00f6",
        "\u20ac",
        "\U0001f600",
        "\ue000",
        "\ufb33",
    ]


def test_small_float() -> None:
    """1e-7 is written as ECMAScript does, not as 1e-07."""
    assert canonical(1e-7) == b"1e-7"


@given(VALUES)
def test_canonical_form_is_a_fixed_point(value: object) -> None:
    """canonical(parse(canonical(v))) == canonical(v), whatever the order of keys."""
    form = canonical(value)
    again = parse_json(form, source="form")
    assert canonical(again) == form
    assert parse_json(form.decode(), source="text") == again


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        2**53,
        -(2**53),
        "\udc00",
        {"\ud800": 1},
        {1: 2},
        b"bytes",
        {1, 2},
    ],
)
def test_what_json_does_not_have_is_refused(value: object) -> None:
    """NaN, infinity, big integers, lone surrogates and other types have no form."""
    with pytest.raises(InputError, match="no canonical JSON form"):
        canonical(value)


def test_endless_nesting_is_refused() -> None:
    """A value nested beyond the stack is an input error, written or read."""
    value: list[object] = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(InputError, match="no canonical JSON form"):
        canonical(value)
    with pytest.raises(InputError, match=r"deep\.json: expected one JSON document"):
        parse_json("[" * 100_000, source="deep.json")
    while value:  # taken apart by hand, since freeing it would recurse as deep
        value = value.pop()  # type: ignore[assignment] # lists all the way


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('{"k":1,"k":2}', "duplicate key 'k'; keep one"),
        ('{"a":{"k":1,"k":1}}', "duplicate key 'k'"),
        ("[NaN]", "NaN is not a JSON number"),
        ("-Infinity", "-Infinity is not a JSON number"),
        ("1e999", "1e999 is too big"),
        ("-1e999", "-1e999 is too big"),
        ("9007199254740992", r"beyond 2\*\*53 - 1"),
        ("-9007199254740992", r"beyond 2\*\*53 - 1"),
        (r'"\ud800"', "lone surrogate"),
        (r'[{"\udfff": 1}]', "lone surrogate"),
        ('"\ud800"', "lone surrogate"),
        ("", "expected one JSON document"),
        ("{} {}", "Extra data"),
        ('{"a":1,}', "x.json: expected one JSON document"),
        ("\ufeff{}", "BOM"),
        (b"\xef\xbb\xbf{}", "BOM"),
        (b"\xff\xfe1\x00", "expected one JSON document"),
        ('"a"'.encode("utf-16"), "expected one JSON document"),
        (b'"\xff"', "can't decode"),
    ],
)
def test_lenient_readings_are_refused(text: str | bytes, fault: str) -> None:
    """What another reader would guess at or drop is an error that names the source."""
    with pytest.raises(InputError, match=fault) as caught:
        parse_json(text, source="x.json")
    assert str(caught.value).startswith("x.json: ")
    assert str(caught.value).isprintable()


def test_safe_integers_and_paired_surrogates_are_read() -> None:
    """The limits themselves, and an escaped character beyond the basic plane, are fine."""
    text = r'[9007199254740991, -9007199254740991, "\ud83d\ude00", 1.5, 0]'
    assert parse_json(text, source="x") == [SAFE, -SAFE, "\U0001f600", 1.5, 0]


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(-SAFE, SAFE)
    | st.floats(1e21, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(st.characters(exclude_categories=["Cs"]), max_size=4), inner
        )
    ),
)


@given(PLAIN)
def test_the_quick_way_gives_the_bytes_of_the_whole_rule(value: Any) -> None:
    """Whatever JSON value, the bytes are those of the RFC 8785 library."""
    assert canonical(value) == rfc8785.dumps(value)
