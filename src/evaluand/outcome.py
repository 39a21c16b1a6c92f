"""The three ways an evaluation of one output can end: pass, fail, unassessed.

A failure to assess never becomes a number: an `Outcome` has no truth value, and an
unassessed one can't be made without its reason.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import NoReturn, Self


class Status(StrEnum):
    """How an assessment ended."""

    PASS = "pass"  # noqa: S105 - a verdict, not a password
    FAIL = "fail"
    UNASSESSED = "unassessed"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One assessment.

    Args:
        status: Pass, fail or unassessed.
        reason: Why there is no verdict, a short name such as ``truncated``; empty
            exactly when there is one.
        value: The verdict as it was read (a label, a rating), None when there was none.

    >>> Outcome.unassessed("truncated")
    Outcome(status=<Status.UNASSESSED: 'unassessed'>, reason='truncated', value=None)
    """

    status: Status
    reason: str = ""
    value: str | float | None = None

    def __post_init__(self) -> None:
        if (self.status is Status.UNASSESSED) != bool(self.reason):
            msg = f"a reason belongs to unassessed alone, got {self.status}, {self.reason!r}"
            raise ValueError(msg)

    def __bool__(self) -> NoReturn:
        """Refuse: two truth values can't hold three outcomes."""
        msg = "an outcome has three states; compare its status"
        raise TypeError(msg)

    @classmethod
    def of(cls, passed: bool, value: str | float | None = None) -> Self:
        """Return pass or fail."""
        return cls(Status.PASS if passed else Status.FAIL, value=value)

    @classmethod
    def unassessed(cls, reason: str, value: str | float | None = None) -> Self:
        """Return an outcome without a verdict, and why."""
        return cls(Status.UNASSESSED, reason, value)

    @property
    def assessed(self) -> bool:
        """Whether there is a verdict."""
        return self.status is not Status.UNASSESSED
