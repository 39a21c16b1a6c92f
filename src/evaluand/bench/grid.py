"""A finished or half-finished bench as arrays: one row a pair, seed and task."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluand.bench.task import Task
from evaluand.outcome import Outcome, Status
from evaluand.stats.cluster import (
    Array,
    Cell,
    Resamples,
    mean_difference,
    mean_rate,
    rate,
    rate_difference,
)
from evaluand.stats.interval import Estimate

NOT_APPLICABLE = "not_applicable"
NOT_RUN = Outcome.unassessed("not_run")

Mask = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Row:
    """One task of one seed under one pair; rows of one seed and task share a cluster."""

    pair: str
    seed: int
    task: Task


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Outputs and outcomes of all conditions over the same rows.

    Args:
        rows: What was planned, in order.
        outputs: Per condition one output a row; None where there is none.
        outcomes: Per condition and evaluator one outcome a row.
        resamples: Draws of the clusters, taken once for every estimate.
    """

    rows: Sequence[Row]
    outputs: Mapping[str, Sequence[str | None]]
    outcomes: Mapping[tuple[str, str], Sequence[Outcome]]
    resamples: Resamples

    @property
    def clusters(self) -> NDArray[np.int64]:
        """Cluster of each row, int array (n_rows,)."""
        return clusters(self.rows)

    def mask(self, *, pair: str | None = None, family: str | None = None) -> Mask:
        """Return which rows belong to a pair and a family, bool array (n_rows,)."""
        return np.array(
            [
                pair in (None, row.pair) and family in (None, row.task.family)
                for row in self.rows
            ],
            dtype=bool,
        )

    def status(self, condition: str, evaluator: str) -> Array:
        """Return 1 for pass, 0 for fail, NaN for unassessed; float array (n_rows,)."""
        codes = {Status.PASS: 1.0, Status.FAIL: 0.0, Status.UNASSESSED: np.nan}
        return np.array([codes[o.status] for o in self.outcomes[condition, evaluator]])

    def applicable(self, condition: str, evaluator: str) -> Mask:
        """Return the rows on which an evaluator has an opinion at all."""
        return np.array(
            [o.reason != NOT_APPLICABLE for o in self.outcomes[condition, evaluator]],
            dtype=bool,
        )

    def cell(self, codes: Array, mask: Mask | None = None) -> Cell:
        """Return passed and assessed rows per cluster of an array of statuses."""
        kept = ~np.isnan(codes) if mask is None else ~np.isnan(codes) & mask
        size = self.resamples.n_clusters
        where = self.clusters[kept]
        passed = np.bincount(where, weights=codes[kept], minlength=size)
        return passed, np.bincount(where, minlength=size).astype(np.float64)

    def accept(
        self, condition: str, evaluator: str, mask: Mask | None = None
    ) -> Estimate:
        """Return the share of assessed rows that an evaluator accepts."""
        cell = self.cell(self.status(condition, evaluator), mask)
        return rate(*cell, self.resamples)

    def difference(self, a: str, b: str, evaluator: str) -> Estimate:
        """Return acceptance under a minus under b, over rows assessed in both."""
        left, right = self._both(a, b, evaluator)
        return rate_difference(*left, *right, self.resamples)

    def mean_accept(self, conditions: Iterable[str], evaluator: str) -> Estimate:
        """Return the unweighted mean of acceptance over conditions."""
        cells = [self.cell(self.status(c, evaluator)) for c in conditions]
        return mean_rate(cells, self.resamples)

    def mean_discrimination(
        self, conditions: Iterable[str], evaluator: str
    ) -> Estimate:
        """Return the unweighted mean of J over conditions."""
        both = [self._both("clean", c, evaluator) for c in conditions]
        return mean_difference(
            [left for left, _ in both], [right for _, right in both], self.resamples
        )

    def share(self, claims: Sequence[bool | None]) -> Estimate:
        """Return the share of rows for which a claim holds; None rows are left out."""
        codes = np.array([np.nan if c is None else float(c) for c in claims])
        return rate(*self.cell(codes), self.resamples)

    def _both(self, a: str, b: str, evaluator: str) -> tuple[Cell, Cell]:
        left, right = self.status(a, evaluator), self.status(b, evaluator)
        both = ~np.isnan(left) & ~np.isnan(right)
        return self.cell(left, both), self.cell(right, both)


def clusters(rows: Sequence[Row]) -> NDArray[np.int64]:
    """Return each row's cluster, numbered by first occurrence; int array (n_rows,)."""
    numbers: dict[tuple[int, str], int] = {}
    return np.array(
        [numbers.setdefault((row.seed, row.task.id), len(numbers)) for row in rows],
        dtype=np.int64,
    )
