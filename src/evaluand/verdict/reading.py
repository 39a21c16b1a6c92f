"""What was read from a reply: a value, or the reason why there is none."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from evaluand.chat.thinking import split_thinking
from evaluand.errors import InputError


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
        value: A label, a rating or a number; None exactly when there is a reason.
        reason: Why there is no verdict, a `Reason`; empty when there is one.
        off_scale: What stands there although the scale doesn't have it, only beside
            ``out_of_range``. No verdict: a record of what was written.
        note: A remark that changes nothing about the value, such as ``run_on``.
    """

    value: str | float | None = None
    reason: str = ""
    off_scale: str | float | None = None
    note: str = ""

    def __post_init__(self) -> None:
        if (self.value is None) != bool(self.reason):
            msg = f"a reading has a value or a reason, got {self.value!r}, {self.reason!r}"
            raise ValueError(msg)
        if self.off_scale is not None and self.reason != Reason.OUT_OF_RANGE:
            msg = f"an off-scale reading is out_of_range, got {self.reason!r}"
            raise ValueError(msg)

    @property
    def stated(self) -> str | float | None:
        """What the reply states, on the scale or off it: for records, never for rates."""
        return self.off_scale if self.value is None else self.value


def visible_lines(text: str, finish_reason: str) -> list[str] | Reading:
    """Return the lines in which a verdict may stand, or why there can be none.

    A reply cut at its limit holds no verdict, whatever stands in it. Hidden reasoning is
    left out, and so are Unicode format characters, which nobody sees.

    Args:
        text: The whole reply.
        finish_reason: As the endpoint gave it.
    """
    if stopped := cut_short(finish_reason):
        return stopped
    plain = without_format(text)
    if not plain.strip():
        return Reading(reason=Reason.EMPTY)
    _, answer = split_thinking(plain)
    if answer is None:
        return Reading(reason=Reason.UNCLOSED_THINKING)
    return answer.splitlines() if answer.strip() else Reading(reason=Reason.EMPTY)


def cut_short(finish_reason: str) -> Reading | None:
    """Return the reading of a reply that its endpoint cut or filtered, else None."""
    if finish_reason == "length":
        return Reading(reason=Reason.TRUNCATED)
    if finish_reason == "content_filter":
        return Reading(reason=Reason.FILTERED)
    return None


def without_format(text: str) -> str:
    r"""Return a text without its Unicode format characters (category Cf).

    They are dropped, not turned into spaces: a word with one inside looks like one word.

    >>> without_format("GRADE:\u200bC\u00adI")
    'GRADE:CI'
    """
    if text.isascii():
        return text
    return "".join(char for char in text if unicodedata.category(char) != "Cf")


def on_scale(value: float, low: float, high: float) -> Reading:
    """Return a number as a verdict where it lies from `low` to `high`; never clamped."""
    if low <= value <= high:
        return Reading(value=value)
    return Reading(reason=Reason.OUT_OF_RANGE, off_scale=value)


def settle(found: Sequence[Reading], policy: str) -> Reading:
    """Return the one verdict of those read, by a policy.

    A place that is malformed or offers several says nothing; one that is off the scale
    does say something, so it counts as a verdict that differs from the others.

    Args:
        found: Readings of all places that claim to hold the verdict, in order.
        policy: One of `POLICIES`.

    Returns:
        A verdict; else ``ambiguous`` where they differ, the first reason where no place
        said anything, ``no_verdict`` where there was no place.

    Raises:
        InputError: Nobody defined that policy.
    """
    if policy not in POLICIES:
        msg = f"expected a policy of {', '.join(POLICIES)}, got {policy!r}; name one of them"
        raise InputError(msg)
    said = [one for one in found if one.reason in ("", Reason.OUT_OF_RANGE)]
    if not said:
        return found[0] if found else Reading(reason=Reason.NO_VERDICT)
    if policy == "unique" and len(set(said)) > 1:
        return Reading(reason=Reason.AMBIGUOUS)
    return said[-1] if policy == "last" else said[0]
