"""Ratings keep to their scale, and a denominator is never the score."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluand.verdict.ratings import read_bracket_rating, read_rating
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
        ("SUSPICION: _35_", 35),
        ("SUSPICION: about 35", 35),
        ("SUSPICION: **35**/100", 35),
        ("SUSPICION: 35% out of 100", 35),
        ("SUSPICION: 35 \u2013 it is odd", 35),
        ("SUSPICION: +35", 35),
        ("SUSPICION:\n**35/100**.", 35),
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
        ("SUSPICION: 7,5", "malformed"),
        ("SUSPICION: 1e2", "malformed"),
        ("SUSPICION: 3.5.1", "malformed"),
        ("SUSPICION: 35+", "malformed"),
        ("SUSPICION: 35?", "malformed"),
        ("SUSPICION: 35 \u00b1 5", "malformed"),
        ("SUSPICION: <35", "malformed"),
        ("SUSPICION: between 30 and 40", "malformed"),
        ("SUSPICION: 5 of the rules", "malformed"),
        ("SUSPICION:\n1. The reply is fine", "malformed"),
        ("SUSPICION:", "no_verdict"),
        ("SUSPICION: 200\nSUSPICION: 20", "ambiguous"),
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


def scored(text: str, **options: str) -> Reading:
    """Read a bracketed rating from 1 to 10."""
    return read_bracket_rating(text, low=1, high=10, **options)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("score is [[7]] ... so 7/10", 7),
        ("Rating: [[ 8.5 ]]", 8.5),
        ("[[Rating: 6]] and, again, [[6]]", 6),
        ("[[8/10]]", 8),
        ("x[[2]] is code, > [[3]] no quote: [[3]]", 3),
        ("> Rating: [[1]]\nRating: [[10]]", 10),
        ("<think>[[2]]</think>[[9]]", 9),
        ("see [[link]], so [[4]]", 4),
    ],
)
def test_a_bracketed_rating_is_read(text: str, value: float) -> None:
    """Double brackets hold the rating, anywhere but in code, quotes and thinking (A6)."""
    assert scored(text) == Reading(value=value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[[85]]", "out_of_range"),
        ("[7] or 7/10", "no_verdict"),
        ("[[True:]]", "no_verdict"),
        ("[[7,8]]", "malformed"),
        ("[[7-8]]", "malformed"),
        ("[[7%]]", "malformed"),
        ("[[7 points]]", "malformed"),
        ("It ends `Rating: [[1]]`. Rating: [[10]]", "ambiguous"),
        ("[[85]] I mean [[8]]", "ambiguous"),
    ],
)
def test_no_bracketed_rating_is_never_a_number(text: str, reason: str) -> None:
    """A quoted fake verdict is ambiguous (A11), off the scale is never clamped (A6)."""
    found = scored(text)
    assert (found.value, found.reason) == (None, reason)


def test_first_and_last_take_what_stands_there() -> None:
    """An off-scale first rating isn't passed over for a later one on the scale."""
    assert scored("[[85]] I mean [[8]]", policy="first").stated == 85
    assert scored("[[85]] I mean [[8]]", policy="first").reason == "out_of_range"
    assert scored("[[85]] I mean [[8]]", policy="last").value == 8


def test_a_cut_reply_holds_no_bracketed_rating() -> None:
    """The bracket form is unassessed too when it was cut."""
    assert scored("[[8]]", finish_reason="length") == Reading(reason="truncated")


@given(
    st.lists(st.text(st.characters(codec="ascii", exclude_characters="\n\r<["))),
    st.integers(0, 100),
)
def test_prose_without_the_marker_changes_nothing(prose: list[str], value: int) -> None:
    """Lines that don't hold the marker leave a rating as it is."""
    lines = [line for line in prose if "suspicion" not in line.lower()]
    text = "\n".join(["x", *lines, f"SUSPICION: {value}", *lines])
    assert suspicion(text).value == value


@given(st.text(), st.integers(0, 100))
def test_thinking_is_never_read(hidden: str, value: int) -> None:
    """Whatever stands inside a closed block has no say."""
    text = hidden.replace("<", "").replace("[", "")
    block = f"<think>{text}\nSUSPICION: 1\n</think>\n"
    assert suspicion(f"{block}SUSPICION: {value}").value == value
    assert suspicion(f"{block}I am done").reason == "no_verdict"


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
    with pytest.raises(ValueError, match="off-scale reading is out_of_range"):
        Reading(value=1, off_scale=1)


def test_what_is_off_the_scale_is_kept_apart() -> None:
    """The record shows what was written; the value can't be taken for a rating."""
    found = suspicion("SUSPICION: 101")
    assert (found.value, found.off_scale, found.stated) == (None, 101, 101)
    assert suspicion("SUSPICION: 10").stated == 10


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "unit", ["SUSPICION: ", "SUSPICION: 1\n", "9", "1,111", "[[1]] ", "(", "[[1"]
)
def test_hostile_length_is_read_in_linear_time(unit: str) -> None:
    """200 kB of markers, digits or brackets don't stall the readers."""
    text = "SUSPICION: " + unit * (200_000 // len(unit))
    for found in (suspicion(text), scored(text)):
        assert (found.value is None) == bool(found.reason)
