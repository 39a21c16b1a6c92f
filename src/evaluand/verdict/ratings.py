"""Read a rating such as ``SUSPICION: 35`` from a reply."""

import re

from evaluand.verdict.places import after_cue, after_marker
from evaluand.verdict.reading import Reading, Reason, settle, visible_lines

RATING_POLICY = "rating-1"
"""Bumped when any reply would be read differently."""

_NUMBER = r"[-+\u2212]?\d[\d,]{0,15}(?:\.\d{1,10})?"
_RATING = re.compile(
    rf"[\s\[(*_`\"'~]*(?P<value>{_NUMBER})(?P<bad>[\d,.]*\w)?"
    rf"(?:\s*(?:/|out\s+of)\s*(?P<scale>{_NUMBER}))?",
    re.IGNORECASE,
)
_RANGE = re.compile(
    rf"\s*%?\s*(?:-|\u2013|\u2014|to\b|or\b)\s*{_NUMBER}", re.IGNORECASE
)


def read_rating(
    text: str,
    *,
    marker: str,
    low: float,
    high: float,
    policy: str = "unique",
    finish_reason: str = "stop",
) -> Reading:
    r"""Return the rating that a reply gives.

    Args:
        text: The whole reply.
        marker: The word before it; it counts at the start of a line.
        low: Least rating of the scale.
        high: Greatest rating of the scale.
        policy: ``unique``, ``first`` or ``last``.
        finish_reason: As the endpoint gave it.

    Returns:
        A number from `low` to `high`; off the scale is ``out_of_range``, never clamped,
        and a denominator is never the score.

    >>> read_rating("SCORE: 2.5/10.0", marker="SCORE", low=0, high=10).value
    2.5
    >>> read_rating("SCORE: 85", marker="SCORE", low=1, high=10).reason.value
    'out_of_range'
    """
    lines = visible_lines(text, finish_reason)
    if isinstance(lines, Reading):
        return lines
    places = list(after_marker(lines, marker)) or list(after_cue(lines, marker))
    return settle([_rating(place, low, high) for place in places], policy)


def _rating(place: str, low: float, high: float) -> Reading:
    match = _RATING.match(place)
    if match is None or match["bad"] or _RANGE.match(place, match.end()):
        return Reading(reason=Reason.MALFORMED)
    value = _number(match["value"])
    if match["scale"] and _number(match["scale"]) != high:
        return Reading(reason=Reason.OUT_OF_RANGE)
    if not low <= value <= high:
        return Reading(reason=Reason.OUT_OF_RANGE)
    return Reading(value=value)


def _number(text: str) -> float:
    return float(text.replace(",", "").replace("\u2212", "-"))
