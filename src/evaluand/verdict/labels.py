"""Read a label such as ``GRADE: GOOD`` from a reply."""

import re
from collections.abc import Mapping, Sequence

from evaluand.verdict.places import after_cue, after_marker
from evaluand.verdict.reading import Reading, Reason, settle, visible_lines

LABEL_POLICY = "label-1"
"""Bumped when any reply would be read differently."""

_MARKS = "*_`\"'()[]{}<>.!  "
_OPENING = "*_`\"'([{<"


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

    >>> read_label("Draft GRADE: I\nFinal GRADE: C", ("C", "I"), marker="GRADE").value
    'C'
    >>> read_label("GRADE: CI", ("C", "I"), marker="GRADE").reason.value
    'malformed'
    """
    lines = visible_lines(text, finish_reason)
    if isinstance(lines, Reading):
        return lines
    means = {label.upper(): label for label in labels}
    means |= {name.upper(): label for name, label in (aliases or {}).items()}
    places = list(after_marker(lines, marker)) or list(after_cue(lines, marker))
    if not places and (bare := " ".join(lines).strip(_MARKS).upper()) in means:
        return Reading(value=means[bare])
    return settle([_label(place, means) for place in places], policy)


def _label(place: str, means: Mapping[str, str]) -> Reading:
    """Return the label at the start of a place, standing alone as a word."""
    names = "|".join(re.escape(name) for name in sorted(means, key=len, reverse=True))
    word = re.compile(rf"({names})(?![\w+&'\u2019-])", re.IGNORECASE)
    match = word.match(place.lstrip(_OPENING))
    if match is None:
        return Reading(reason=Reason.MALFORMED)
    rest = place.lstrip(_OPENING)[match.end() :]
    other = re.match(
        rf"\W{{0,4}}(?:or|and|/|\||,)\W{{0,4}}({names})\b", rest, re.IGNORECASE
    )
    value = means[match[1].upper()]
    if other and means[other[1].upper()] != value:
        return Reading(reason=Reason.AMBIGUOUS)
    return Reading(value=value)
