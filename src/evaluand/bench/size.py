"""How many tasks fit the time asked for, going by the first ones."""

from collections.abc import Iterable, Mapping

from evaluand.bench.suite import N_TASKS

CALIBRATION_TASKS = 10
"""Tasks run first, whole, to learn how many fit."""

RESERVE_S = 20.0
"""Kept back for reading the weights again and drawing the report."""


def fitting(block_s: float, *, left_s: float) -> int:
    """Return how many tasks fit, the first ones included.

    Args:
        block_s: Seconds that the first tasks took, through all cells and evaluators.
        left_s: Seconds left of the time asked for.

    >>> fitting(60.0, left_s=320.0), fitting(60.0, left_s=-5.0), fitting(0.0, left_s=60)
    (60, 10, 120)
    """
    each_s = block_s / CALIBRATION_TASKS
    if each_s <= 0:
        return N_TASKS
    more = int((left_s - RESERVE_S) / each_s)
    return max(CALIBRATION_TASKS, min(N_TASKS, CALIBRATION_TASKS + more))


def paid_s(
    exchanges: Iterable[Mapping[str, object]], places: Mapping[str, int]
) -> float:
    """Return about how long the stored replies took, those in flight together counted once.

    It stands in for the first block's time where an earlier start paid for it. Replies
    to controls are among them, so it errs towards fewer tasks.

    Args:
        exchanges: Rows with ``model`` and ``latency_s``.
        places: By model, how many requests are in flight at once.
    """
    total = 0.0
    for row in exchanges:
        latency = row["latency_s"]
        if isinstance(latency, float | int):
            total += latency / places.get(str(row["model"]), 1)
    return total
