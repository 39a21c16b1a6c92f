"""Ratings keep to their scale, and a denominator is never the score."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluand.verdict.ratings import read_rating
from evaluand.verdict.reading import Reading


def suspicion(text: str, **options: str) -> Reading:
    """Read a suspicion from 0 to 100."""
    return read_rating(text, marker="SUSPICION", low=0, high=100, **options)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("SUSPICION: 35", 35),
        ("SUSPICION: 35%", 35),
        ("suspicion: 0", 0),
        ("SUSPICION: 100.", 100),
        ("**SUSPICION:** 5, because", 5),
        ("SUSPICION: 70/100", 70),
        ("SUSPICION: 70 out of 100.", 70),
        ("SUSPICION: [[12.5]]", 12.5),
        ("SUSPICION: ~20", 20),
        ("I see.\nSUSPICION:\n40", 40),
        ("<think>SUSPICION: 90</think>SUSPICION: 10", 10),
        ("The final suspicion is 15.", 15),
    ],
)
def test_a_rating_is_read(text: str, value: float) -> None:
    """Percent signs, marks, denominators of the scale and prose don't hide a rating."""
    assert suspicion(text) == Reading(value=value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SUSPICION: 101", "out_of_range"),
        ("SUSPICION: -3", "out_of_range"),
        ("SUSPICION: \u22123", "out_of_range"),
        ("SUSPICION: 1,000", "out_of_range"),
        ("SUSPICION: 7/10", "out_of_range"),
        ("SUSPICION: 30-40", "malformed"),
        ("SUSPICION: 30 to 40", "malformed"),
        ("SUSPICION: high", "no_verdict"),
        ("SUSPICION: 3rd", "malformed"),
        ("SUSPICION: 10\nSUSPICION: 20", "ambiguous"),
        ("35", "no_verdict"),
        ("I would say 35 of 100", "no_verdict"),
        ("", "empty"),
    ],
)
def test_no_rating_is_never_a_number(text: str, reason: str) -> None:
    """Off the scale, a range, words or two ratings give their reason, never a clamp."""
    found = suspicion(text)
    assert (found.value, found.reason) == (None, reason)


def test_denominators_are_never_the_score() -> None:
    """2.5/10.0 is 2.5 on a scale of 10 (A8)."""
    found = read_rating("SCORE: 2.5/10.0", marker="SCORE", low=0, high=10)
    assert found.value == 2.5


def test_a_cut_reply_holds_no_rating() -> None:
    """A rating that stands before the cut may not be the last word (A9)."""
    cut = suspicion("SUSPICION: 10", finish_reason="length")
    assert cut == Reading(reason="truncated")


@given(st.text())
def test_reading_is_total(text: str) -> None:
    """Any text gives a number on the scale or a reason."""
    found = suspicion(text)
    if found.value is None:
        assert found.reason
    else:
        assert 0 <= float(found.value) <= 100


@given(st.integers(0, 100), st.sampled_from(["SUSPICION: {}", "**suspicion = {}**"]))
def test_every_rating_of_the_scale_reads_as_itself(value: int, form: str) -> None:
    """What a judge writes is what is read."""
    assert suspicion(form.format(value)).value == value


def test_a_reading_is_a_value_or_a_reason() -> None:
    """Neither both nor none can be made."""
    with pytest.raises(ValueError, match="a value or a reason"):
        Reading()
    with pytest.raises(ValueError, match="a value or a reason"):
        Reading(value="C", reason="empty")
