"""Clean beside tampered: what differs is marked, and nothing is lost."""

import html
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluand.report.difference import COMPARED_WORDS, SHOWN_CHARACTERS, shown, sides

WORDS = st.lists(
    st.sampled_from(["a", "b", "ALLOW", "DENY", ".", " ", "\n"]), max_size=30
)


def _text(markup: str, without: str = "") -> str:
    kept = (
        re.sub(f"<{without}>.*?</{without}>", "", markup, flags=re.DOTALL)
        if without
        else markup
    )
    return html.unescape(re.sub(r"<[^>]+>", "", kept))


@given(WORDS, WORDS)
def test_both_sides_keep_their_text(old: list[str], new: list[str]) -> None:
    """Marks stripped, each side is its text; unmarked, both sides are one text."""
    before, after = "".join(old) or "x", "".join(new) or "x"
    found = sides(before, after)
    assert _text(found.before) == before
    assert _text(found.after) == after
    assert _text(found.before, "del") == _text(found.after, "ins")


def test_changed_words_are_marked_and_neighbours_joined() -> None:
    """Only the words that differ are marked; a space between two changes is too."""
    found = sides("please DENY now today.", "please ALLOW it soon today.")
    assert found.before == "please <del>DENY now</del> today."
    assert found.after == "please <ins>ALLOW it soon</ins> today."


def test_equal_texts_have_no_mark() -> None:
    """Where nothing differs, nothing is marked."""
    found = sides("same <b>", "same <b>")
    assert found.before == found.after == "same &lt;b&gt;"


def test_two_changes_apart_are_two_marks() -> None:
    """Changes parted by a word that stayed are marked apart."""
    assert sides("a x b", "c x d").after == "<ins>c</ins> x <ins>d</ins>"


def test_an_empty_text_says_so() -> None:
    """An empty output is shown as empty, not as nothing."""
    assert "(empty)" in sides("a", "").after
    assert "(empty)" in shown("")


def test_a_long_text_is_cut_and_says_by_how_much() -> None:
    """What isn't shown is counted."""
    text = "y" * (SHOWN_CHARACTERS + 1234)
    assert "1,234 more characters, not shown" in sides("a", text).after
    assert "1,234 more characters, not shown" in shown(text)


@pytest.mark.parametrize("unit", [("a ", "b "), ("a b ", "b a "), (". ", ". . a ")])
def test_a_hostile_text_costs_bounded_time(unit: tuple[str, str]) -> None:
    """Texts made to be slow to compare are marked within a second."""
    start = time.process_time()
    found = sides(*(text * 5000 for text in unit))
    assert time.process_time() - start < 1
    assert "<ins>" in found.after


def test_texts_with_too_many_words_are_marked_as_a_whole() -> None:
    """Past the bound, the text between common ends is one change."""
    words = COMPARED_WORDS + 10
    found = sides("head " + "a b " * words + "tail", "head " + "c d " * words + "tail")
    assert found.after.count("<ins>") == 1
