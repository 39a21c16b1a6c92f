"""Hostile text made visible: what would not show, or would reorder a line, is named.

Model output may hold control characters, bidirectional overrides, zero-width marks,
Unicode tags, lone surrogates. A reader has to see them, and a browser or a terminal
must not obey them.
"""

import re
import unicodedata

from markupsafe import Markup, escape

# Letters and symbols that draw nothing, and selectors that can carry hidden data.
_BLANK = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef\u180b-\u180d\u180f"
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
_ALWAYS = re.compile(f"[{_BLANK}{_SELECTORS}]")
_PLAIN = re.compile(r"[\n\t\x20-\x7e]*")


def _hidden(character: str) -> bool:
    if character in "\n\t ":
        return False
    if unicodedata.category(character) in _HIDDEN_CATEGORIES:
        return True
    return _ALWAYS.match(character) is not None


def _name(character: str) -> str:
    return f"U+{ord(character):04X}"


def visible(text: str) -> str:
    r"""Return the text with each hidden character replaced by its name.

    Line feeds, tabs and spaces stay.

    >>> visible("a\x00b\u202ec")
    'a⟨U+0000⟩b⟨U+202E⟩c'
    """
    if _PLAIN.fullmatch(text):
        return text
    return "".join(_bracketed(c) if _hidden(c) else c for c in text)


def _bracketed(character: str) -> str:
    return f"⟨{_name(character)}⟩"


def visible_markup(text: str) -> Markup:
    r"""Return the text as HTML in which each hidden character is a marked name.

    The mark tells a character that was there from a text that spells its name.

    >>> print(visible_markup("<\u202e"))
    &lt;<span class="hidden-char">U+202E</span>
    """
    if _PLAIN.fullmatch(text):
        return escape(text)
    return Markup().join(_marked(c) if _hidden(c) else c for c in text)


def _marked(character: str) -> Markup:
    return Markup('<span class="hidden-char">{}</span>').format(_name(character))


def breakable(name: str) -> Markup:
    """Return a name as HTML that may break after its separators.

    >>> print(breakable("judge:qwen-0.5b"))
    judge:<wbr>qwen-<wbr>0.5b
    """
    parts = re.findall(r"[^-:/_]*[-:/_]+|[^-:/_]+", visible(name))
    return Markup("<wbr>").join(parts)
