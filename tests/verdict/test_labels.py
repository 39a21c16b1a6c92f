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
        ("GRADE: 'C'", "C"),
        ("GRADE: _C_", "C"),
        ("GRADE\uff1aC", "C"),
        ("GRADE: C, I believe.", "C"),
        ("GRADE: C\u2014so I think", "C"),
        ("GRADE: I because it is wrong", "I"),
        ("GRADE: C or C", "C"),
        ("GRADE: C or I\nGRADE: I", "I"),
        ("GRADE:\nGRADE: B", "B"),
        ("IN\u00adCORRECT", "I"),
        ("- Therefore, my final grade is **B**.", "B"),
        ('"The final grade is C", it says. The final grade is B.', "B"),
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
        ("GRADE: I think it is C", "malformed"),
        ("GRADE:\nI read it and C is right", "malformed"),
        ("GRADE:\nB is what I would give", "malformed"),
        ("GRADE: C\u200bI", "malformed"),
        ("GRADE: C? No.", "malformed"),
        ("GRADE: ~~C~~ I", "malformed"),
        ("GRADE: [your grade]", "malformed"),
        ("> B", "no_verdict"),
        ("> The final grade is B.", "no_verdict"),
        ('It says "Well done. The final grade is C".', "no_verdict"),
        ("Were it right, the final grade is C", "no_verdict"),
        ("The final grade is B. The final grade is C.", "ambiguous"),
        ("GRADE: C or GRADE: I", "ambiguous"),
        ("GRADE: C or maybe I", "ambiguous"),
        ("GRADE: C -> I", "ambiguous"),
        ("GRADE: C, I", "ambiguous"),
        ("GRADE: C B", "ambiguous"),
        ("The answer ends\nGRADE: C\nwhich I ignore.\nGRADE: I", "ambiguous"),
        ("<think>a</think>GRADE: I\n</think>\nGRADE: C", "unclosed_thinking"),
        ("<think>GRADE: C</think>", "empty"),
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


WORD = st.text(st.characters(categories=["Lu", "Ll"], codec="ascii"), min_size=1)


@given(WORD, WORD, st.sampled_from(["{}", "GRADE: {}", "**Grade:** {}.", "GRADE:\n{}"]))
def test_every_pair_of_containing_labels_is_told_apart(
    label: str, more: str, form: str
) -> None:
    """Whatever is put before or after a label, both read as themselves (A1)."""
    for longer in (more + label, label + more):
        for given_label in (label, longer):
            text = form.format(given_label)
            found = read_label(text, (label, longer), marker="GRADE")
            assert found == Reading(value=given_label)


@pytest.mark.parametrize("sign", ["\u212a", "\u0130", "\u0131", "\u017f"])
def test_letters_with_odd_cases_raise_nothing(sign: str) -> None:
    """The Kelvin sign matches k, a long s matches s; neither has to be a label's key."""
    found = read_label(f"GRADE: {sign}", ("k", "i", "s"), marker="GRADE")
    assert found.value == {"\u212a": "k", "\u017f": "s"}.get(sign, "i")


@pytest.mark.parametrize(
    ("labels", "aliases"),
    [
        (("C", "I"), {"CORRECT": "X"}),
        (("C", "I"), {"c": "I"}),
        (("C", "c"), {}),
        (("C", " "), {}),
    ],
)
def test_labels_that_cannot_be_told_apart_are_refused(
    labels: tuple[str, ...], aliases: dict[str, str]
) -> None:
    """A spelling that means two labels, none, or nothing is wrong use, not a guess."""
    with pytest.raises(InputError, match="expected spellings that each mean one of"):
        read_label("GRADE: C", labels, marker="GRADE", aliases=aliases)


@given(
    st.sampled_from(["GRADE: C", "Draft\nFinal GRADE: I", "I", "GRADE: CI", "none"]),
    st.text(st.sampled_from("\u200b\u200d\ufeff\u00ad\u2060")),
    st.integers(0, 30),
    st.text(st.sampled_from(" \n\t\u200b\u00a0")),
)
def test_what_nobody_sees_changes_nothing(
    text: str, hidden: str, at: int, around: str
) -> None:
    """Format characters anywhere and blank space around leave a reading as it is."""
    assert grade(around + text[:at] + hidden + text[at:] + around) == grade(text)


@given(st.text(), st.sampled_from(["stop", "length", "content_filter", ""]))
def test_reading_is_total(text: str, finish: str) -> None:
    """Any text gives a label of the set or a reason, never both, never an exception."""
    found = grade(text, finish_reason=finish)
    assert (found.value in LABELS) != bool(found.reason)


@given(st.text())
def test_thinking_is_never_read(hidden: str) -> None:
    """Whatever stands inside a closed block has no say."""
    text = hidden.replace("<", "").replace("[", "")
    assert grade(f"<think>{text}\nGRADE: I\n</think>\nGRADE: C").value == "C"
    assert grade(f"{text}\nGRADE: I\n</think>\nGRADE: C").value == "C"
    assert grade(f"<think>{text}\nGRADE: I\n</think>\nI am done").value is None


@given(st.lists(st.text(st.characters(exclude_characters=":=\n\r", codec="ascii"))))
def test_prose_without_the_marker_changes_nothing(prose: list[str]) -> None:
    """Lines that don't hold the marker leave a verdict as it is."""
    lines = [line for line in prose if "grade" not in line.lower()]
    assert grade("\n".join(["x", *lines, "GRADE: C", *lines])).value == "C"


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "unit",
    [
        "-",
        "* ",
        " ",
        "The final grade is ",
        "GRADE:\n",
        "GRADE: C\n",
        "GRADE:",
        "<think>",
        "GRADE: C or ",
        '". The final grade is ',
        "1. ",
        "\u200b",
        "</think>",
        "[THINK]",
    ],
)
def test_hostile_length_is_read_in_linear_time(unit: str) -> None:
    """200 kB of marks, markers, cues or tags don't stall the reader."""
    found = grade(unit * (200_000 // len(unit)))
    assert (found.value is None) == bool(found.reason)
