"""Labels are read where a judge gives them, and nowhere else."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluand.errors import InputError
from evaluand.verdict.labels import read_label
from evaluand.verdict.reading import Reading, settle

LABELS = ("C", "I", "B")
WORDS = {"CORRECT": "C", "INCORRECT": "I"}


def grade(text: str, **options: str) -> Reading:
    """Read a one-letter grade."""
    return read_label(text, LABELS, marker="GRADE", aliases=WORDS, **options)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("GRADE: C", "C"),
        ("grade: c", "C"),
        ("GRADE: C. No reason to downgrade: insufficient.", "C"),
        ("Draft GRADE: I\nFinal GRADE:\u200bC", "C"),
        ("GRADE: Correct", "C"),
        ("GRADE: CORRECT", "C"),
        ("GRADE: INCORRECT", "I"),
        ("**GRADE:** C", "C"),
        ("- **Grade**: I", "I"),
        ("1. GRADE: B", "B"),
        ("GRADE:\n\nB", "B"),
        ("GRADE: [[B]]", "B"),
        ("I think so.\n\n## GRADE = C", "C"),
        ("As a judge, I read it with care. The final grade is B.", "B"),
        ("<think>GRADE: I</think>\nGRADE: C", "C"),
        ("it began before</think>GRADE: C", "C"),
        ("> GRADE: I\nGRADE: C", "C"),
        ("GRADE: C\nso, again,\nGRADE: C", "C"),
        ("B", "B"),
        ("**Incorrect.**", "I"),
    ],
)
def test_a_verdict_is_read(text: str, label: str) -> None:
    """Marks, case, invisible characters and prose around it don't hide a verdict."""
    assert grade(text) == Reading(value=label)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        (" \n\u200b", "empty"),
        ("GRADE: CI", "malformed"),
        ("GRADE: C+", "malformed"),
        ("GRADE: perhaps", "malformed"),
        ("GRADE:", "malformed"),
        ("**Answer: C**", "no_verdict"),
        ("GRID: C", "no_verdict"),
        ("As a judge, I read it with care. It is B.", "no_verdict"),
        ("UPGRADE: C", "no_verdict"),
        ("> GRADE: C", "no_verdict"),
        ("GRADE: C or I", "ambiguous"),
        ("GRADE: C/I", "ambiguous"),
        ("GRADE: I\nGRADE: C", "ambiguous"),
        ("<think>maybe GRADE: C", "unclosed_thinking"),
    ],
)
def test_no_verdict_is_never_a_label(text: str, reason: str) -> None:
    """What is unclear, quoted or elsewhere gives its reason."""
    assert grade(text) == Reading(reason=reason)


@pytest.mark.parametrize(
    ("finish", "reason"), [("length", "truncated"), ("content_filter", "filtered")]
)
def test_a_cut_reply_holds_no_verdict(finish: str, reason: str) -> None:
    """Even a verdict-like line counts for nothing when the reply was cut."""
    assert grade("GRADE: C", finish_reason=finish) == Reading(reason=reason)


@pytest.mark.parametrize(("policy", "label"), [("first", "I"), ("last", "C")])
def test_other_policies_are_named(policy: str, label: str) -> None:
    """Two verdicts are settled by first or last only where that is asked for."""
    assert grade("GRADE: I\nGRADE: C", policy=policy).value == label


def test_unknown_policies_are_refused() -> None:
    """A policy that nobody defined settles nothing."""
    with pytest.raises(InputError, match="expected a policy of unique, first, last"):
        settle([], "best")


@pytest.mark.parametrize(
    "labels",
    [
        ("CORRECT", "INCORRECT"),
        ("SAFE", "UNSAFE"),
        ("A", "AB", "B"),
        ("YES", "YESTERDAY"),
        ("PASS", "PASS WITH NOTES"),
    ],
)
def test_labels_that_contain_others_are_told_apart(labels: tuple[str, ...]) -> None:
    """Each label reads as itself, alone and after the marker, in every order of the set."""
    for order in permutations(labels):
        for label in labels:
            assert read_label(label, order, marker="GRADE").value == label
            assert read_label(f"GRADE: {label}", order, marker="GRADE").value == label


@given(st.text(), st.sampled_from(["stop", "length", "content_filter", ""]))
def test_reading_is_total(text: str, finish: str) -> None:
    """Any text gives a label of the set or a reason, never both, never an exception."""
    found = grade(text, finish_reason=finish)
    assert (found.value in LABELS) != bool(found.reason)


@given(st.text())
def test_thinking_is_never_read(hidden: str) -> None:
    """Whatever stands inside a closed block has no say."""
    text = hidden.replace("<", "")
    assert grade(f"<think>{text}\nGRADE: I\n</think>\nGRADE: C").value == "C"


@given(st.lists(st.text(st.characters(exclude_characters=":=\n\r", codec="ascii"))))
def test_prose_without_the_marker_changes_nothing(prose: list[str]) -> None:
    """Lines that don't hold the marker leave a verdict as it is."""
    lines = [line for line in prose if "grade" not in line.lower()]
    assert grade("\n".join(["x", *lines, "GRADE: C", *lines])).value == "C"


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "text", ["-" * 200_000, "* " * 100_000, " " * 200_000, "final grade is " * 15_000]
)
def test_hostile_length_is_read_in_linear_time(text: str) -> None:
    """Long runs of marks and spaces don't stall the reader."""
    assert grade(text).value is None
