"""`evaluand.outcome`: a failure to assess never becomes a number."""

import pytest

from evaluand.outcome import Outcome, Status


def test_three_ends() -> None:
    """Pass and fail are assessed and have no reason; unassessed has one."""
    assert Outcome.of(True, "CORRECT") == Outcome(Status.PASS, value="CORRECT")
    assert Outcome.of(False).status is Status.FAIL
    assert Outcome.of(False).assessed
    cut = Outcome.unassessed("truncated", 7.0)
    assert (cut.assessed, cut.reason, cut.value) == (False, "truncated", 7.0)


def test_an_outcome_has_no_truth_value() -> None:
    """Using an outcome as a boolean is an error, in each of its states."""
    for outcome in (Outcome.of(True), Outcome.of(False), Outcome.unassessed("empty")):
        with pytest.raises(TypeError, match="compare its status"):
            bool(outcome)


@pytest.mark.parametrize(
    ("status", "reason"),
    [(Status.PASS, "why"), (Status.FAIL, "why"), (Status.UNASSESSED, "")],
)
def test_reason_belongs_to_unassessed_alone(status: Status, reason: str) -> None:
    """A verdict with an excuse, and none without a reason, can't be made."""
    with pytest.raises(ValueError, match="a reason belongs to unassessed alone"):
        Outcome(status, reason)
