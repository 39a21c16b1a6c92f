"""Read a rating such as ``SUSPICION: 35`` or ``Rating: [[7]]`` from a reply."""

import re
from collections.abc import Sequence
from functools import partial

from evaluand.verdict.places import Place, bracketed, verdict_places
from evaluand.verdict.reading import Reading, Reason, on_scale, settle, visible_lines
from evaluand.verdict.reference import fastchat_rating

RATING_POLICY = "rating-2"
"""Bumped when any reply would be read differently."""

_NUMBER = r"(?:\d{1,3}(?:,\d{3})+|\d{1,30})(?:\.\d{1,30})?"
_RATING = re.compile(
    r"[\s\[(*_`\"'\u201c]*(?:(?:about|around|roughly|approximately|[~\u2248])\s?)?"
    rf"(?P<value>[-+\u2212]?{_NUMBER})"
    r"(?![\d,]*\d|\.\d|_*[^\W\d_])[*_]*\s{0,4}(?P<percent>%)?"
    rf"(?:\s{{0,4}}(?P<over>/|(?:out\s{{1,4}})?of\b)\s{{0,4}}(?P<scale>{_NUMBER})?)?",
    re.IGNORECASE,
)
# what makes of one number a range, a bound, an expression or a question
_GOES_ON = re.compile(
    r"[\s*_]{0,4}(?:[+?\u00b1/^=]|\.\.|(?:-|\u2013|\u2014|to\b|or\b|and\b)\s{0,4}\d)",
    re.IGNORECASE,
)
_CLOSING = "])*_`\"'\u201d.! "


def read_rating(
    text: str,
    *,
    marker: str,
    low: float,
    high: float,
    policy: str = "unique",
    finish_reason: str = "stop",
) -> Reading:
    r"""Return the rating that a reply gives after a marker.

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
    return _settled(verdict_places(lines, marker), low, high, policy)


def read_bracket_rating(
    text: str,
    *,
    low: float,
    high: float,
    policy: str = "unique",
    finish_reason: str = "stop",
) -> Reading:
    """Return the rating that a reply gives in double brackets, MT-Bench's form.

    Args:
        text: The whole reply.
        low: Least rating of the scale.
        high: Greatest rating of the scale.
        policy: ``unique``, ``first``, ``last``; ``fastchat`` reads as that project does.
        finish_reason: As the endpoint gave it.

    Returns:
        A number from `low` to `high` or a reason.

    >>> read_bracket_rating("score is [[7]] ... so 7/10", low=1, high=10).value
    7.0
    """
    if policy == "fastchat":
        return fastchat_rating(text, low=low, high=high, finish_reason=finish_reason)
    lines = visible_lines(text, finish_reason)
    if isinstance(lines, Reading):
        return lines
    named = partial(
        re.compile(r"(?:rating|score|grade)\s{0,4}:", re.IGNORECASE).sub, ""
    )
    places = [Place(named(inside).strip(), alone=True) for inside in bracketed(lines)]
    return _settled(places, low, high, policy)


def _settled(places: Sequence[Place], low: float, high: float, policy: str) -> Reading:
    return settle([_rating(place, low, high) for place in places], policy)


def _rating(place: Place, low: float, high: float) -> Reading:
    """Return the rating at the start of a place, if that is all that it says."""
    match = _RATING.match(place.text)
    if match is None:
        numberless = not re.search(r"\d", place.text)
        return Reading(reason=Reason.NO_VERDICT if numberless else Reason.MALFORMED)
    tail = place.text[match.end() :]
    percent_of_what = match["percent"] and high != 100
    no_scale = match["over"] and not match["scale"]
    if percent_of_what or no_scale or _GOES_ON.match(tail):
        return Reading(reason=Reason.MALFORMED)
    if place.alone and tail.strip(_CLOSING):
        return Reading(reason=Reason.MALFORMED)
    if match["scale"] and _number(match["scale"]) != high:
        return Reading(reason=Reason.OUT_OF_RANGE)
    return on_scale(_number(match["value"]), low, high)


def _number(text: str) -> float:
    return float(text.replace(",", "").replace("\u2212", "-"))
