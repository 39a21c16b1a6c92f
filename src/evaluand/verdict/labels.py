"""Read a label such as ``GRADE: GOOD`` from a reply."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evaluand.errors import InputError
from evaluand.verdict.places import Place, unquoted, verdict_places
from evaluand.verdict.reading import Reading, Reason, settle, visible_lines

LABEL_POLICY = "label-2"
"""Bumped when any reply would be read differently."""

_MARKS = "*_`\"'()[]{}.! \u00a0\u201c\u201d\u2018\u2019"
_OPENING = "*_`\"'([{<\u201c\u2018"
# a label is no word of its own before these, and none is given where it is questioned
_WORD_GOES_ON = r"(?!_*[^\W_]|[+&-]|['\u2019][^\W_]|[*_`\"'\u201d\u2019]*\s*\?)"
_OR = r"or|and|to|vs\.?|/|\||-+>|=+>|\u2192"
_ARTICLES = frozenset({"A", "I"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Names:
    """Spellings, each with its label, and the pattern that finds one (a group each)."""

    labels: tuple[str, ...]
    pattern: str
    marker: str


def read_label(
    text: str,
    labels: Sequence[str],
    *,
    marker: str,
    aliases: Mapping[str, str] | None = None,
    policy: str = "unique",
    finish_reason: str = "stop",
) -> Reading:
    r"""Return the label that a reply gives.

    Args:
        text: The whole reply.
        labels: What may be given; one may contain another, as INCORRECT does CORRECT.
        marker: The word before it, such as ``GRADE``; it counts at the start of a line.
        aliases: Further spellings and the label that each means.
        policy: ``unique``, ``first`` or ``last``.
        finish_reason: As the endpoint gave it.

    Returns:
        One of `labels`, or the reason why none was read. A reply that is nothing but
        one label gives it without a marker.

    Raises:
        InputError: A spelling is empty, means two labels, or one that isn't there.

    >>> read_label("Draft GRADE: I\nFinal GRADE: C", ("C", "I"), marker="GRADE").value
    'C'
    >>> read_label("GRADE: CI", ("C", "I"), marker="GRADE").reason.value
    'malformed'
    """
    names = _names(labels, aliases or {}, marker)
    lines = visible_lines(text, finish_reason)
    if isinstance(lines, Reading):
        return lines
    places = verdict_places(lines, marker)
    if not places and len(list(unquoted(lines))) == len(lines):
        whole = _whole("\n".join(lines), names)
        places = [] if whole is None else [Place(whole, alone=True)]
    return settle([_label(place, names) for place in places], policy)


def _names(labels: Sequence[str], aliases: Mapping[str, str], marker: str) -> _Names:
    spelt = [*((label, label) for label in labels), *aliases.items()]
    means: dict[str, str] = {}
    for name, label in spelt:
        known = name.strip() and label in labels
        if not known or means.setdefault(name.casefold(), label) != label:
            msg = (
                f"expected spellings that each mean one of {list(labels)}, "
                f"got {name!r} for {label!r}; correct the labels or aliases"
            )
            raise InputError(msg)
    # the longest first, so that a label is never taken for one that it contains
    spelt.sort(key=lambda one: len(one[0]), reverse=True)
    return _Names(
        labels=tuple(label for _, label in spelt),
        pattern="|".join(f"({re.escape(name)})" for name, _ in spelt),
        marker=re.escape(marker),
    )


def _whole(text: str, names: _Names) -> str | None:
    """Return a text without its marks when it is nothing but one label."""
    bare = " ".join(text.strip(_MARKS + "\n").split()) if len(text) < 500 else ""
    return bare if re.fullmatch(names.pattern, bare, re.IGNORECASE) else None


def _label(place: Place, names: _Names) -> Reading:
    """Return the label at the start of a place, standing alone as a word."""
    text = place.text.lstrip(_OPENING)
    match = re.match(f"(?:{names.pattern}){_WORD_GOES_ON}", text, re.IGNORECASE)
    if match is None:
        return Reading(reason=Reason.MALFORMED)
    value = names.labels[(match.lastindex or 1) - 1]
    rest = text[match.end() :]
    if _other(rest, names) not in (None, value):
        return Reading(reason=Reason.AMBIGUOUS)
    if place.alone and rest.strip(_MARKS):
        return Reading(reason=Reason.MALFORMED)
    if match[0].upper() in _ARTICLES and re.match(r"\s+(?!because\b)\w", rest):
        # "GRADE: I think" and "GRADE: A good answer" give no grade
        return Reading(reason=Reason.MALFORMED)
    return Reading(value=value)


def _other(rest: str, names: _Names) -> str | None:
    """Return the label that stands beside the first one as another choice."""
    again = rf"(?:{names.marker}\W{{1,4}})?(?:{names.pattern})"
    match = re.match(
        rf"\W{{0,4}}(?:{_OR})\W{{0,4}}(?:(?:maybe|perhaps|possibly)\s)?{again}(?!\w)"
        rf"|[\s,;]{{1,4}}{again}\W*\Z",
        rest,
        re.IGNORECASE,
    )
    if match is None:
        return None
    return names.labels[((match.lastindex or 1) - 1) % len(names.labels)]
