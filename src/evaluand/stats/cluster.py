"""Rates and their differences when rows come in clusters.

Repeats of one task aren't independent, so tasks are resampled, not rows, and one set of
draws serves every statistic of a report: conditions, pairs and evaluators stay paired.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evaluand.errors import InputError
from evaluand.stats.interval import (
    Estimate,
    Interval,
    correlation,
    newcombe_correlated,
    wilson,
)
from evaluand.stats.quantile import expanded_tail

Array = NDArray[np.float64]
Cell = tuple[ArrayLike, ArrayLike]
"""Passed and assessed rows per cluster."""

# Resamples of fewer clusters can't show what these leave open: all draws lie between the
# lowest and the highest of them.
FEWEST_CLUSTERS = 5

# With fewer clusters off an edge, what the percentiles give hangs on one or two of them;
# simulated coverage at a rate of .98 falls to 88 % at a nominal 95 %.
FEWEST_OFF_EDGE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Resamples:
    """How often each draw of a bootstrap takes each cluster.

    Args:
        counts: Float array (n_draws, n_clusters) of whole numbers.
    """

    counts: Array

    @property
    def n_clusters(self) -> int:
        """How many clusters are resampled."""
        return int(self.counts.shape[1])


def resample(
    n_clusters: int, generator: np.random.Generator, *, n_draws: int = 2_000
) -> Resamples:
    """Draw clusters with replacement, once for all statistics of a report.

    Args:
        n_clusters: Clusters of the task set, at least 1.
        generator: Where the draws come from.
        n_draws: Draws, at least 100.

    Raises:
        InputError: Too few clusters or draws.

    >>> from evaluand.seeds import generator
    >>> resamples = resample(3, generator(42, "bootstrap"), n_draws=100)
    >>> resamples.counts.shape, set(resamples.counts.sum(axis=1).tolist())
    ((100, 3), {3.0})
    """
    if n_clusters < 1 or n_draws < 100:
        msg = (
            "expected at least 1 cluster and 100 draws to resample, got "
            f"{n_clusters} and {n_draws}"
        )
        raise InputError(msg)
    shares = np.full(n_clusters, 1 / n_clusters)
    counts = generator.multinomial(n_clusters, shares, size=n_draws)
    return Resamples(counts=counts.astype(np.float64))


def rate(
    passed: ArrayLike,
    assessed: ArrayLike,
    resamples: Resamples,
    *,
    confidence: float = 0.95,
) -> Estimate:
    """Return the share of assessed rows that passed.

    Args:
        passed: Passed rows per cluster, array (n_clusters,), 0..assessed.
        assessed: Assessed rows per cluster, array (n_clusters,), at least 0.
        resamples: The report's draws of these clusters.
        confidence: Nominal coverage, between 0 and 1, both excluded.

    Returns:
        Rows over rows. The interval is the cluster bootstrap's expanded percentile;
        Wilson's with clusters as trials where fewer than 3 clusters have a pass or
        fewer than 3 a failure (rates of 0 and 1 among these), where fewer than 5
        clusters have an assessed row, or where every resample gives one value. Rates of
        clusters vary at most as much as such trials do, so it isn't too short. Draws
        without an assessed row are left out. No value without an assessed row.

    Raises:
        InputError: The arrays don't fit each other or the resamples.

    >>> from evaluand.seeds import generator
    >>> twenty = resample(20, generator(42, "bootstrap"))
    >>> rate([10] * 20, [10] * 20, twenty).interval == wilson(20, 20)
    True
    """
    return mean_rate([(passed, assessed)], resamples, confidence=confidence)


def mean_rate(
    cells: Sequence[Cell], resamples: Resamples, *, confidence: float = 0.95
) -> Estimate:
    """Return the unweighted mean of the cells' rates, such as a mean over tampers.

    Args:
        cells: Passed and assessed rows per cluster, for each cell over the same clusters.
        resamples: The report's draws of these clusters, taken for all cells at once.
        confidence: Nominal coverage, between 0 and 1, both excluded.

    Returns:
        As `rate`; `n` rows of all cells, `n_clusters` the fewest that a cell has. No
        value where a cell has no assessed row: a mean over the others would be another
        quantity.

    Raises:
        InputError: No cell, or arrays that don't fit each other or the resamples.
    """
    arrays = _cells(cells, resamples)
    n = int(sum(assessed.sum() for _, assessed in arrays))
    n_clusters = min(int(np.count_nonzero(assessed)) for _, assessed in arrays)
    if n_clusters == 0:
        return Estimate(value=None, interval=None, n=n, n_clusters=0)
    ones = np.ones((1, resamples.n_clusters))
    value = float(_mean(arrays, ones)[0])
    draws = _mean(arrays, resamples.counts)
    interval = None
    passing = _clusters_where([passed > 0 for passed, _ in arrays])
    failing = _clusters_where([passed < assessed for passed, assessed in arrays])
    if min(passing, failing) >= FEWEST_OFF_EDGE:
        interval = percentile_interval(value, draws, n_clusters, confidence)
    if interval is None:
        interval = wilson(value * n_clusters, n_clusters, confidence=confidence)
    return Estimate(value=value, interval=interval, n=n, n_clusters=n_clusters)


def rate_difference(
    a_passed: ArrayLike,
    a_assessed: ArrayLike,
    b_passed: ArrayLike,
    b_assessed: ArrayLike,
    resamples: Resamples,
    *,
    confidence: float = 0.95,
) -> Estimate:
    """Return rate a minus rate b, paired by cluster.

    Only clusters with an assessed row on both sides count, so that the difference isn't
    one of task sets; it may differ from the difference of the two rates over all rows.

    Args:
        a_passed: Passed rows per cluster, array (n_clusters,).
        a_assessed: Assessed rows per cluster, array (n_clusters,).
        b_passed: As `a_passed`.
        b_assessed: As `a_assessed`.
        resamples: The report's draws of these clusters.
        confidence: Nominal coverage, between 0 and 1, both excluded.

    Returns:
        With at most one row a cluster and side, Newcombe's paired interval; else the
        cluster bootstrap's expanded percentile, and Newcombe's paired interval with
        clusters as pairs where fewer than 3 clusters differ between the sides (none
        among these), fewer than 3 are off a difference of 1 or of -1, fewer than 5 are
        shared, or every resample gives one value. `n` counts pairs of rows. No value
        without a shared cluster.

    Raises:
        InputError: The arrays don't fit each other or the resamples.
    """
    a, b = (a_passed, a_assessed), (b_passed, b_assessed)
    return mean_difference([a], [b], resamples, confidence=confidence)


def mean_difference(
    a: Sequence[Cell],
    b: Sequence[Cell],
    resamples: Resamples,
    *,
    confidence: float = 0.95,
) -> Estimate:
    """Return the unweighted mean of `rate_difference` over pairs of cells.

    Args:
        a: Cells of one side, for each tamper one (clean may stand in each).
        b: Cells of the other side, as many.
        resamples: The report's draws of these clusters, taken for all cells at once.
        confidence: Nominal coverage, between 0 and 1, both excluded.

    Returns:
        As `rate_difference`; Newcombe's paired interval of single rows is for one pair
        of cells only. `n_clusters` is the fewest that a pair of cells shares; no value
        where a pair shares none.

    Raises:
        InputError: The sides differ in number, or arrays don't fit.
    """
    if len(a) != len(b):
        msg = f"expected as many cells on both sides, got {len(a)} and {len(b)}"
        raise InputError(msg)
    pairs = _shared(_cells(a, resamples), _cells(b, resamples))
    n = int(sum(np.minimum(x[1], y[1]).sum() for x, y in pairs))
    n_clusters = min(int(np.count_nonzero(x[1])) for x, _ in pairs)
    if n_clusters == 0:
        return Estimate(value=None, interval=None, n=n, n_clusters=0)
    side_a, side_b = [x for x, _ in pairs], [y for _, y in pairs]
    ones = np.ones((1, resamples.n_clusters))
    value = float(_mean(side_a, ones)[0] - _mean(side_b, ones)[0])
    interval = None
    single = len(pairs) == 1 and max(side_a[0][1].max(), side_b[0][1].max()) <= 1
    if not single and _off_edge(pairs) >= FEWEST_OFF_EDGE:
        draws = _mean(side_a, resamples.counts) - _mean(side_b, resamples.counts)
        interval = percentile_interval(value, draws, n_clusters, confidence)
    if interval is None:
        interval = _paired(side_a, side_b, n_clusters, confidence)
    return Estimate(value=value, interval=interval, n=n, n_clusters=n_clusters)


def percentile_interval(
    value: float, draws: Array, n_clusters: int, confidence: float
) -> Interval | None:
    """Return the expanded percentile interval, None where it can't be honest.

    Args:
        value: The point, which the interval always holds.
        draws: The statistic per draw, array (n_draws,), NaN where a draw leaves it
            undefined; these draws are left out.
        n_clusters: Clusters that the point rests on.
        confidence: Nominal coverage, between 0 and 1, both excluded.

    Returns:
        None with fewer than 5 clusters, without a defined draw or without width.
    """
    defined = draws[~np.isnan(draws)]
    if n_clusters < FEWEST_CLUSTERS or not defined.size:
        return None
    tail = expanded_tail(confidence, n_clusters)
    low, high = np.quantile(defined, [tail, 1 - tail]).tolist()
    # Rounding in sums of equal clusters isn't width.
    if high - low < 1e-9:
        return None
    return Interval(
        low=min(low, value), high=max(high, value), method="cluster-bootstrap"
    )


def _cells(cells: Sequence[Cell], resamples: Resamples) -> list[tuple[Array, Array]]:
    if not cells:
        msg = "expected at least one cell of passed and assessed rows, got none"
        raise InputError(msg)
    return [_cell(cell, resamples.n_clusters) for cell in cells]


def _cell(cell: Cell, n_clusters: int) -> tuple[Array, Array]:
    passed, assessed = (np.asarray(part, dtype=np.float64) for part in cell)
    if passed.shape != (n_clusters,) or assessed.shape != (n_clusters,):
        msg = (
            f"expected passed and assessed of shape ({n_clusters},), one entry a "
            f"resampled cluster, got {passed.shape} and {assessed.shape}"
        )
        raise InputError(msg)
    if not np.all((passed >= 0) & (passed <= assessed) & np.isfinite(assessed)):
        msg = (
            "expected 0 <= passed <= assessed in every cluster; count rows, not shares"
        )
        raise InputError(msg)
    return passed, assessed


def _shared(
    a: list[tuple[Array, Array]], b: list[tuple[Array, Array]]
) -> list[tuple[tuple[Array, Array], tuple[Array, Array]]]:
    pairs = []
    for (a_passed, a_assessed), (b_passed, b_assessed) in zip(a, b, strict=True):
        keep = (a_assessed > 0) & (b_assessed > 0)
        left = a_passed * keep, a_assessed * keep
        pairs.append((left, (b_passed * keep, b_assessed * keep)))
    return pairs


def _clusters_where(claims: list[NDArray[np.bool_]]) -> int:
    return int(np.count_nonzero(np.any(claims, axis=0)))


def _off_edge(pairs: list[tuple[tuple[Array, Array], tuple[Array, Array]]]) -> int:
    """Return how many clusters are off the difference -1, 0 or 1 nearest to all."""
    differences = [
        np.divide(a[0], a[1], out=np.zeros_like(a[0]), where=a[1] > 0)
        - np.divide(b[0], b[1], out=np.zeros_like(b[0]), where=b[1] > 0)
        for a, b in pairs
    ]
    shared = [a[1] > 0 for a, _ in pairs]
    return min(
        _clusters_where(
            [known & (d != edge) for known, d in zip(shared, differences, strict=True)]
        )
        for edge in (-1, 0, 1)
    )


def _mean(cells: list[tuple[Array, Array]], counts: Array) -> Array:
    """Return the mean of the cells' rates per draw, NaN where one has no row."""
    # not `@`: for so few columns BLAS wakes threads that cost more than the product
    passed = np.einsum("dc,ck->dk", counts, np.stack([c[0] for c in cells], axis=1))
    assessed = np.einsum("dc,ck->dk", counts, np.stack([c[1] for c in cells], axis=1))
    empty = np.full_like(passed, np.nan)
    rates = np.divide(passed, assessed, out=empty, where=assessed > 0)
    # (n_draws, n_cells) -> (n_draws,)
    mean: Array = rates.mean(axis=1)
    return mean


def _paired(
    a: list[tuple[Array, Array]],
    b: list[tuple[Array, Array]],
    n_clusters: int,
    confidence: float,
) -> Interval:
    """Return Newcombe's paired interval with clusters as pairs."""
    ones = np.ones((1, a[0][0].size))
    p, q = (min(1.0, float(_mean(side, ones)[0])) for side in (a, b))
    phi = min(_phi(x, y) for x, y in zip(a, b, strict=True))
    return newcombe_correlated(p, q, n_clusters, phi, confidence=confidence)


def _phi(a: tuple[Array, Array], b: tuple[Array, Array]) -> float:
    keep = a[1] > 0
    p, q = a[0][keep] / a[1][keep], b[0][keep] / b[1][keep]
    both = np.minimum(p, q)
    table = (both, p - both, q - both, 1 - np.maximum(p, q))
    return correlation(*(float(cell.sum()) for cell in table))
