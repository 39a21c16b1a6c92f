"""What was read from a reply: a value, or the reason why there is none."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from evaluand.verdict.thinking import without_thinking


class Reason(StrEnum):
    """Why a reply holds no verdict."""

    TRUNCATED = "truncated"
    FILTERED = "filtered"
    EMPTY = "empty"
    UNCLOSED_THINKING = "unclosed_thinking"
    NO_VERDICT = "no_verdict"
    MALFORMED = "malformed"
    AMBIGUOUS = "ambiguous"
    OUT_OF_RANGE = "out_of_range"


POLICIES = ("unique", "first", "last")
"""Which of several verdicts counts: ``unique`` wants all to agree."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A verdict as it was read.

    Args:
        value: A label or a rating; None exactly when there is a reason.
        reason: Why there is no verdict, a `Reason`; empty when there is one.
    """

    value: str | float | None = None
    reason: str = ""

    def __post_init__(self) -> None:
        if (self.value is None) != bool(self.reason):
            msg = f"a reading has a value or a reason, got {self.value!r}, {self.reason!r}"
            raise ValueError(msg)


def visible_lines(text: str, finish_reason: str) -> list[str] | Reading:
    """Return the lines in which a verdict may stand, or why there can be none.

    A reply cut at its limit holds no verdict, whatever stands in it. Hidden reasoning is
    left out. Unicode format characters count as spaces.

    Args:
        text: The whole reply.
        finish_reason: As the endpoint gave it.
    """
    if finish_reason == "length":
        return Reading(reason=Reason.TRUNCATED)
    if finish_reason == "content_filter":
        return Reading(reason=Reason.FILTERED)
    answer = without_thinking(text)
    if answer is None:
        return Reading(reason=Reason.UNCLOSED_THINKING)
    plain = "".join(" " if unicodedata.category(c) == "Cf" else c for c in answer)
    if not plain.strip():
        return Reading(reason=Reason.EMPTY)
    return plain.splitlines()


def settle(found: Sequence[Reading], policy: str) -> Reading:
    """Return the one verdict of those read, by a policy.

    Args:
        found: Readings of all places that claim to hold the verdict, in order.
        policy: One of `POLICIES`.

    Returns:
        A value; else ``ambiguous`` where values differ, the first reason where no place
        gave a value, ``no_verdict`` where there was no place.
    """
    if policy not in POLICIES:
        msg = f"expected a policy of {', '.join(POLICIES)}, got {policy!r}"
        raise ValueError(msg)
    values = [reading for reading in found if reading.value is not None]
    if not values:
        return found[0] if found else Reading(reason=Reason.NO_VERDICT)
    if policy == "unique" and len({reading.value for reading in values}) > 1:
        return Reading(reason=Reason.AMBIGUOUS)
    return values[-1] if policy == "last" else values[0]
