"""Two texts side by side, their differing words marked."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

from markupsafe import Markup

from evaluand.report.visible import visible_markup

# A page holds many samples and a model may write without end: what is shown of one
# text, and what is compared word by word (its cost grows with the square).
SHOWN_CHARACTERS = 4000
COMPARED_WORDS = 400

_CUT_NOTE = Markup(' <span class="aside">… {} more characters, not shown</span>')
_MARKS = {"ins": Markup("<ins>{}</ins>"), "del": Markup("<del>{}</del>")}
_WORD = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """Two texts as HTML.

    Args:
        before: The clean text, what the other lacks in ``<del>``.
        after: The tampered text, what the clean one lacks in ``<ins>``.
    """

    before: Markup
    after: Markup


def sides(before: str, after: str) -> Sides:
    """Return two texts with the words that differ marked on each side.

    Args:
        before: The text of the clean deployment.
        after: The text of the tampered one.

    >>> print(sides("DECISION: DENY", "DECISION: ALLOW").after)
    DECISION: <ins>ALLOW</ins>
    """
    old, new = _WORD.findall(_cut(before)), _WORD.findall(_cut(after))
    spans = list(_changes(old, new))
    return Sides(
        before=_marked(old, [(a, b) for a, b, _, _ in spans], "del") + _rest(before),
        after=_marked(new, [(c, d) for _, _, c, d in spans], "ins") + _rest(after),
    )


def shown(text: str) -> Markup:
    """Return one text as HTML, cut where it grows too long, and saying so."""
    return visible_markup(_cut(text)) + _rest(text)


def _cut(text: str) -> str:
    return text[:SHOWN_CHARACTERS]


def _rest(text: str) -> Markup:
    if not text:
        return Markup('<span class="aside">(empty)</span>')
    hidden = len(text) - SHOWN_CHARACTERS
    if hidden <= 0:
        return Markup()
    return _CUT_NOTE.format(f"{hidden:,}")


def _changes(old: list[str], new: list[str]) -> Iterator[tuple[int, int, int, int]]:
    """Yield the changed spans, those parted by white space alone joined."""
    head, tail = _common(old, new)
    inner_old, inner_new = old[head : len(old) - tail], new[head : len(new) - tail]
    if max(len(inner_old), len(inner_new)) > COMPARED_WORDS:
        yield head, len(old) - tail, head, len(new) - tail
        return
    pending: tuple[int, int, int, int] | None = None
    for tag, a, b, c, d in SequenceMatcher(
        None, inner_old, inner_new, autojunk=False
    ).get_opcodes():
        if tag == "equal":
            continue
        span = (a + head, b + head, c + head, d + head)
        if pending and not "".join(old[pending[1] : span[0]]).strip():
            pending = (pending[0], span[1], pending[2], span[3])
            continue
        if pending:
            yield pending
        pending = span
    if pending:
        yield pending


def _common(old: list[str], new: list[str]) -> tuple[int, int]:
    shorter = min(len(old), len(new))
    head = 0
    while head < shorter and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < shorter - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return head, tail


def _marked(words: list[str], spans: list[tuple[int, int]], tag: str) -> Markup:
    parts, at = [], 0
    for start, stop in spans:
        parts.append(visible_markup("".join(words[at:start])))
        changed = visible_markup("".join(words[start:stop]))
        if changed:
            parts.append(_MARKS[tag].format(changed))
        at = stop
    parts.append(visible_markup("".join(words[at:])))
    return Markup().join(parts)
