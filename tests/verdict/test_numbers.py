"""Numbers are read by a named rule, exactly, and never from a piece of one."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluand.errors import InputError
from evaluand.verdict.numbers import RULES, decimal, misread_golds, read_number
from evaluand.verdict.reading import Reading

BUILT = st.decimals(allow_nan=False, allow_infinity=False, places=3)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("The total is 72 clips, altogether.", "72"),
        ("so $200,000.", "200000"),
        ("It costs $29.00", "29"),
        ("It costs 29.01 dollars", "29.01"),
        ("Rs. 1,00,000 in all", "100000"),
        ("USD18", "18"),
        ("x = -3", "-3"),
        ("x = - 3", "-3"),
        ("a loss: -$3.50", "-3.5"),
        ("a loss: $-3.50", "-3.5"),
        ("it is \u22123", "-3"),
        ("it is \u20133", "-3"),
        ("5-3 = 2", "2"),
        ("10\u201320", "20"),
        ("we get...42", "42"),
        ("probability .50", "0.5"),
        ("20/5=4", "4"),
        ("5 litres of H2O", "5"),
        ("18 on the 3rd", "18"),
        ("\\boxed{18}", "18"),
        ("1{,}450", "1450"),
        ("1\u202f000", "1000"),
        ("_18_ **per cent**", "18"),
        ("\u516118\u4e2a", "18"),
        ("\uff11\uff18", "18"),
        ("<think>so 7</think>18", "18"),
    ],
)
def test_the_last_number_is_read(text: str, value: str) -> None:
    """Commas, signs, currencies, units, scripts and marks don't hide or split it (B1)."""
    assert read_number(text, rule="last_number") == Reading(value=value)


@pytest.mark.parametrize(
    "text",
    [
        "1e5",
        "1/2",
        "1 / 2",
        "\\frac{1}{2}",
        "2^{10}",
        "10_000",
        "200 000",
        "1.234,56",
        "12:30",
        "--3",
        "1,2,3",
    ],
)
def test_a_piece_of_a_number_is_never_read(text: str) -> None:
    """What isn't one plain number isn't cut down to one that it contains."""
    assert read_number(f"It is {text}", rule="last_number").reason == "malformed"


@pytest.mark.parametrize(
    ("text", "value", "note"),
    [
        ("#### 18\n\nQuestion: more? #### 7", "18", "run_on"),
        ("#### 18\nQ: more?", "18", "run_on"),
        ("#### 18\n####", "18", "run_on"),
        ("#### 18\n\nThat is 2 times 9.", "18", ""),
        ("Question: what?\n#### 18", "18", ""),
        ("#### -3", "-3", ""),
        ("#### **1,450** dollars.", "1450", ""),
        ("so #### $\\boxed{18}$", "18", ""),
        ("#### 1. Add\n#### 2) Take\n#### 18.", "18", ""),
    ],
)
def test_the_first_marker_is_read(text: str, value: str, note: str) -> None:
    """A reply that runs on into a new question is read before it, and flagged (B3)."""
    found = read_number(text, rule="first_marker")
    assert found == Reading(value=value, note=note)


def test_the_other_rule_reads_the_same_run_on_otherwise() -> None:
    """The rule decides, so it has a name; the flag stands under both."""
    found = read_number("#### 18\n\nQuestion: more? #### 7", rule="last_number")
    assert found == Reading(value="7", note="run_on")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("18", "no_verdict"),
        ("##### 18", "no_verdict"),
        ("#### eighteen", "no_verdict"),
        ("#### 18/20", "malformed"),
        ("<think>#### 18", "unclosed_thinking"),
        ("", "empty"),
    ],
)
def test_no_answer_behind_a_marker_is_never_a_number(text: str, reason: str) -> None:
    """Where no number follows a marker there is a reason."""
    assert read_number(text, rule="first_marker").reason == reason


def test_a_cut_reply_holds_no_number() -> None:
    """Its last number may be a step on the way."""
    found = read_number("#### 18", rule="first_marker", finish_reason="length")
    assert found == Reading(reason="truncated")


def test_unknown_rules_are_refused() -> None:
    """There is no default rule to fall back to."""
    with pytest.raises(
        InputError, match="expected a rule of first_marker, last_number"
    ):
        read_number("18", rule="best")


@given(BUILT, BUILT)
def test_equal_forms_are_equal_values(a: Decimal, b: Decimal) -> None:
    """decimal(x) == decimal(y) exactly when x == y (B2)."""
    assert (decimal(f"{a:f}") == decimal(f"{b:f}")) == (a == b)


@given(BUILT)
def test_written_forms_of_one_value_agree(value: Decimal) -> None:
    """Thousands, a currency sign and trailing zeros change no value, nor lose a sign."""
    form = decimal(f"{value:f}")
    assert form is not None
    assert Decimal(form) == value
    assert decimal(f"{value:,f}") == decimal(f"${value:f}0") == form
    assert read_number(f"It is {value:,f}.", rule="last_number").value == form


def test_29_is_29_00_and_not_29_01() -> None:
    """Numbers are compared by value (B2)."""
    assert decimal("$29.00") == decimal("29") != decimal("29.01")
    assert decimal("-0.0") == decimal("0")


@given(st.text(), st.sampled_from(RULES))
def test_reading_is_total(text: str, rule: str) -> None:
    """Any text gives a canonical number or a reason; a value holds a digit."""
    found = read_number(text, rule=rule)
    if isinstance(found.value, str):
        assert decimal(found.value) == found.value
    else:
        assert found.reason


def test_misread_golds_are_named() -> None:
    """A gold that loses its sign, is no number or is missing names its row (B4)."""
    texts = {"a": "#### -3", "b": "#### 3", "c": "#### 4", "d": "#### 5"}
    golds = {"a": "3", "b": "3.0", "c": "four"}
    assert misread_golds(texts, golds, rule="first_marker") == ("a", "c", "d")


@pytest.mark.timeout(20)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    "unit",
    ["1", "1 / ", "1,", "####1", "#### ", "\\frac{", "-", "1e", "1 111", ".", "$ "],
)
def test_hostile_length_is_read_in_linear_time(unit: str, rule: str) -> None:
    """200 kB of one piece of a number don't stall the reader."""
    text = unit * (200_000 // len(unit)) + "st"
    found = read_number(text, rule=rule)
    assert (found.value is None) == bool(found.reason)
