"""Read replies exactly as two reference systems do, their quirks included.

They look at the raw text: hidden reasoning, quotations and fallback brackets count.
What they would give as a score stands in `Reading.stated`; a value off the scale is no
verdict here all the same. A cut reply is unassessed under every policy.
"""

import math
import re
from collections.abc import Sequence

from evaluand.verdict.reading import Reading, Reason, cut_short, on_scale

REFERENCE_POLICY = "reference-1"
"""Bumped when any reply would be read differently."""

FIVE = ("A>>B", "A>B", "A=B", "B>A", "B>>A")
"""Arena-Hard's verdicts, from A much better to B much better."""

# the same language as the reference's, without its quadratic time on long digit runs
_RATINGS = (
    re.compile(r"\[\[(\d+(?:\.\d*)?)\]\]"),
    re.compile(r"\[(\d+(?:\.\d*)?)\]"),
)
_PAIRS = (re.compile(r"\[\[([AB<>=]+)\]\]"), re.compile(r"\[([AB<>=]+)\]"))


def fastchat_rating(
    text: str, *, low: float, high: float, finish_reason: str = "stop"
) -> Reading:
    """Return the first number in double brackets, else the first in single ones.

    Args:
        text: The whole reply.
        low: Least rating of the scale.
        high: Greatest rating of the scale.
        finish_reason: As the endpoint gave it.

    Returns:
        The rating. Where the reference can't read its own match (``[[08]]`` is no Python
        literal) it is ``malformed``; where it records -1, ``no_verdict``.

    Source:
        FastChat 0e6d3e4, llm_judge, single-answer grading.

    >>> fastchat_rating("as in x[3], so [[85]]", low=1, high=10).stated
    85.0
    """
    if stopped := cut_short(finish_reason):
        return stopped
    match = next((found for one in _RATINGS if (found := one.search(text))), None)
    if match is None:
        return _nothing(text)
    digits = match[1]
    leading_zero = re.fullmatch(r"0+[1-9]\d*", digits)
    value = float(digits)
    if leading_zero or not digits.isascii() or not math.isfinite(value):
        return Reading(reason=Reason.MALFORMED)
    return on_scale(value, low, high)


def fastchat_pair(text: str, *, finish_reason: str = "stop") -> Reading:
    """Return A, B or C (a tie), looked for in this order anywhere in the reply.

    Source:
        FastChat 0e6d3e4, llm_judge, pairwise comparison.

    >>> fastchat_pair("not [[B]] but [[A]]").value
    'A'
    """
    if stopped := cut_short(finish_reason):
        return stopped
    found = next((label for label in "ABC" if f"[[{label}]]" in text), None)
    return _nothing(text) if found is None else Reading(value=found)


def arena_hard_pair(text: str, *, finish_reason: str = "stop") -> Reading:
    """Return the last verdict in double brackets, else the last in single ones.

    Returns:
        One of `FIVE`; what else its pattern lets through is off the scale.

    Source:
        Arena-Hard-Auto 196f6b8, the judgment's score.

    >>> arena_hard_pair("[[A>B]] no, [[b>>a]]").value
    'B>>A'
    """
    if stopped := cut_short(finish_reason):
        return stopped
    raised = text.upper()
    found: Sequence[str] = next((x for one in _PAIRS if (x := one.findall(raised))), ())
    if not found:
        return _nothing(text)
    if found[-1] not in FIVE:
        return Reading(reason=Reason.OUT_OF_RANGE, off_scale=found[-1])
    return Reading(value=found[-1])


def _nothing(text: str) -> Reading:
    return Reading(reason=Reason.NO_VERDICT if text.strip() else Reason.EMPTY)
