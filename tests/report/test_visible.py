"""What would not show, or would reorder a line, is named."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluand.report.visible import breakable, visible, visible_markup

ANY = st.text(st.characters(codec=None))  # lone surrogates among them
OBEYED = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


@given(ANY)
def test_nothing_hidden_remains(text: str) -> None:
    """No control, format, surrogate or separator character survives but LF and TAB."""
    left = [c for c in visible(text) if unicodedata.category(c) in OBEYED]
    assert set(left) <= {"\n", "\t"}


@given(ANY)
def test_the_page_can_always_be_encoded(text: str) -> None:
    """Whatever a model wrote, its shown form encodes as UTF-8 and holds no tag of it."""
    markup = visible_markup(text)
    markup.encode("utf-8")
    bare = markup.replace('<span class="hidden-char">', "").replace("</span>", "")
    assert "<" not in bare
    assert ">" not in bare


@pytest.mark.parametrize(
    "character", ["\u3164", "\u2800", "\ufe0f", "\U000e0101", "\u00a0"]
)
def test_blank_letters_and_selectors_are_named(character: str) -> None:
    """A letter that draws nothing and a selector that can carry data are named."""
    assert visible(f"a{character}b") == f"a⟨U+{ord(character):04X}⟩b"


def test_a_text_that_spells_a_name_is_told_from_the_character() -> None:
    """On the page, a hidden character is a marked name; a spelt name is plain text."""
    assert "<span" not in visible_markup("U+202E")
    assert "<span" in visible_markup("\u202e")


def test_a_breakable_name_keeps_its_text() -> None:
    """Break opportunities add no character, and the name stays escaped."""
    assert breakable("a<b:c").replace("<wbr>", "") == "a&lt;b:c"
