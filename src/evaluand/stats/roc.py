"""What a score from 0 to 100 tells apart: flag rates, ROC, area under it.

A row is flagged when its score reaches the threshold. Negatives are clean rows, positives
tampered ones; rows of one task share a cluster on both sides.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evaluand.errors import InputError, UndefinedEstimateError
from evaluand.stats.cluster import FEWEST_CLUSTERS, FEWEST_OFF_EDGE, Array, Resamples
from evaluand.stats.interval import Estimate, Interval
from evaluand.stats.quantile import t_quantile, two_sided_z

THRESHOLDS = tuple(range(101))


@dataclass(frozen=True, slots=True, kw_only=True)
class Roc:
    """The points of a ROC curve, from flagging everything to flagging nothing.

    Args:
        thresholds: 0..100, then infinity, which flags nothing.
        fpr: Share of negatives flagged, one per threshold, 1 down to 0.
        tpr: Share of positives flagged, one per threshold, 1 down to 0.
    """

    thresholds: tuple[float, ...]
    fpr: tuple[float, ...]
    tpr: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """Scores of assessed rows and the clusters that these belong to.

    Args:
        scores: Array (n_rows,), 0..100.
        clusters: Whole numbers (n_rows,), positions in the resampled clusters.
    """

    scores: ArrayLike
    clusters: Sequence[int] | NDArray[np.int_]


def flag_rates(scores: ArrayLike) -> tuple[float, ...]:
    """Return the share of rows flagged at each threshold from 0 to 100.

    Args:
        scores: Scores of the assessed rows, array (n_rows,), 0..100.

    Raises:
        UndefinedEstimateError: There is no row.
        InputError: A score is outside 0..100.

    >>> rates = flag_rates([0, 50, 100, 100])
    >>> rates[0], rates[1], rates[50], rates[51], rates[100]
    (1.0, 0.75, 0.75, 0.5, 0.5)
    """
    ordered = np.sort(_scores(scores))
    if not ordered.size:
        msg = "expected at least one assessed row for a flag rate, got 0"
        raise UndefinedEstimateError(msg)
    below = np.searchsorted(ordered, THRESHOLDS, side="left")
    return tuple((1 - below / ordered.size).tolist())


def roc(negative: ArrayLike, positive: ArrayLike) -> Roc:
    """Return the ROC points at all thresholds.

    Args:
        negative: Scores of clean rows, array (n_negative,), 0..100.
        positive: Scores of tampered rows, array (n_positive,), 0..100.

    Raises:
        UndefinedEstimateError: A side has no row.
        InputError: A score is outside 0..100.
    """
    return Roc(
        thresholds=(*map(float, THRESHOLDS), math.inf),
        fpr=(*flag_rates(negative), 0.0),
        tpr=(*flag_rates(positive), 0.0),
    )


def auc(
    negative: Scored,
    positive: Scored,
    resamples: Resamples,
    *,
    confidence: float = 0.95,
) -> Estimate:
    """Return the probability that a positive outscores a negative, ties counting half.

    Args:
        negative: Clean rows.
        positive: Tampered rows.
        resamples: The report's draws of the clusters, taken for both sides at once.
        confidence: Nominal coverage, between 0 and 1, both excluded.

    Returns:
        Area from 0 to 1 over all assessed rows. The interval is the t interval on the
        logit scale with the cluster bootstrap's standard error (near 1 percentiles fall
        short: simulated, 92 % at a nominal 95 %); Newcombe's score interval with clusters as rows where on a
        side fewer than 3 clusters ever win or ever lose (areas of 0 and 1 among these)
        or fewer than 5 have a row, or where every resample gives one value. `n` counts
        the rows of both sides, `n_clusters` the clusters of the side with fewer. No
        value where a side has no row.

    Raises:
        InputError: A score is outside 0..100, or a cluster isn't among those resampled.
    """
    sides = [_side(side, resamples.n_clusters) for side in (negative, positive)]
    (low, low_rows), (high, high_rows) = sides
    n = low.size + high.size
    sizes = [np.unique(rows).size for _, rows in sides]
    if min(sizes) == 0:
        return Estimate(value=None, interval=None, n=n, n_clusters=0)
    wins = _wins(low, low_rows, high, high_rows, resamples.n_clusters)
    value = float(wins.sum()) / (low.size * high.size)
    counts = [np.bincount(rows, minlength=resamples.n_clusters) for _, rows in sides]
    interval = None
    if _off_edge(wins, np.outer(*counts)) >= FEWEST_OFF_EDGE:
        draws = _areas(wins, counts[0], counts[1], resamples)
        interval = _logit_interval(value, draws, min(sizes), confidence)
    if interval is None:
        interval = newcombe_auc(value, sizes[0], sizes[1], confidence=confidence)
    return Estimate(value=value, interval=interval, n=n, n_clusters=min(sizes))


def newcombe_auc(
    area: float, n_negative: int, n_positive: int, *, confidence: float = 0.95
) -> Interval:
    """Return Newcombe's score interval for the area under a ROC curve.

    All areas within z standard errors, these taken at the candidate area by Hanley and
    McNeil's formula with both sizes in its inner terms replaced by their mean.

    Args:
        area: From 0 to 1.
        n_negative: Independent negatives, at least 1.
        n_positive: Independent positives, at least 1.
        confidence: Nominal coverage, between 0 and 1, both excluded.

    Returns:
        Limits from 0 to 1, never of zero width.

    Raises:
        InputError: An argument is outside its range.

    Source:
        Newcombe, Statistics in Medicine 25 (2006) 559-573, method 5.
    """
    if not 0 <= area <= 1 or min(n_negative, n_positive) < 1:
        msg = (
            "expected an area from 0 to 1 and a row on both sides, got "
            f"{area} with {n_negative} and {n_positive}"
        )
        raise InputError(msg)
    z = two_sided_z(confidence)
    low = _limit(area, 0.0, (n_negative, n_positive), z)
    high = _limit(area, 1.0, (n_negative, n_positive), z)
    return Interval(low=low, high=high, method="newcombe-auc")


def _limit(area: float, end: float, sizes: tuple[int, int], z: float) -> float:
    """Return the area furthest towards `end` that the data don't refuse."""
    m, n = sizes
    star = (m + n) / 2 - 1
    inside, outside = area, end
    if inside == outside:
        return end
    for _ in range(80):
        t = (inside + outside) / 2
        spread = 1 + star * (1 - t) / (2 - t) + star * t / (1 + t)
        fits = (area - t) ** 2 <= z * z * t * (1 - t) * spread / (m * n)
        inside, outside = (t, outside) if fits else (inside, t)
    return inside


def _scores(scores: ArrayLike) -> Array:
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 1 or not np.all((values >= 0) & (values <= 100)):
        msg = "expected scores (n_rows,) from 0 to 100; leave unassessed rows out"
        raise InputError(msg)
    return values


def _side(side: Scored, n_clusters: int) -> tuple[Array, NDArray[np.int64]]:
    scores = _scores(side.scores)
    clusters = np.asarray(side.clusters, dtype=np.int64)
    fits = np.all((clusters >= 0) & (clusters < n_clusters))
    if clusters.shape != scores.shape or not fits:
        msg = (
            f"expected a cluster from 0 to {n_clusters - 1} for each of {scores.size} "
            f"scores, got {clusters.size}"
        )
        raise InputError(msg)
    return scores, clusters


def _wins(
    low: Array,
    low_clusters: NDArray[np.int64],
    high: Array,
    high_clusters: NDArray[np.int64],
    n_clusters: int,
) -> Array:
    """Return how often positives of one cluster outscore negatives of another.

    Array (n_clusters, n_clusters), negatives' cluster by positives' cluster.
    """
    above = (high[None, :] > low[:, None]) + 0.5 * (high[None, :] == low[:, None])
    # Sum the rows of each cluster: (n_negative, n_positive) -> (clusters, clusters).
    left = np.eye(n_clusters)[low_clusters]
    right = np.eye(n_clusters)[high_clusters]
    wins: Array = left.T @ above @ right
    return wins


def _logit_interval(
    value: float, draws: Array, n_clusters: int, confidence: float
) -> Interval | None:
    """Return the interval from the draws' spread, None where it can't be honest."""
    defined = draws[~np.isnan(draws)]
    if n_clusters < FEWEST_CLUSTERS or not defined.size:
        return None
    # The variance of a bootstrap is short by (n - 1) / n.
    error = float(defined.std()) * math.sqrt(n_clusters / (n_clusters - 1))
    if error < 1e-9:  # rounding in sums of equal clusters isn't width
        return None
    half = t_quantile(0.5 + confidence / 2, n_clusters - 1) * error
    # d logit(v) / dv = 1 / (v (1 - v)); past 300 both limits are 0 and 1 to any digit.
    factor = math.exp(min(half / (value * (1 - value)), 300.0))
    odds = value / (1 - value)
    low, high = odds / factor / (1 + odds / factor), odds * factor / (1 + odds * factor)
    return Interval(low=low, high=high, method="cluster-bootstrap-logit")


def _off_edge(wins: Array, compared: NDArray[np.int64]) -> int:
    """Return how many clusters of the poorer side ever win, or ever lose, if fewer."""
    return min(
        int(np.count_nonzero(np.any(ever, axis=axis)))
        for ever in (wins > 0, wins < compared)
        for axis in (0, 1)
    )


def _areas(
    wins: Array,
    negatives: NDArray[np.int64],
    positives: NDArray[np.int64],
    resamples: Resamples,
) -> Array:
    """Return the area per draw, NaN where a draw has no row on a side."""
    counts = resamples.counts
    won = ((counts @ wins) * counts).sum(axis=1)
    compared = (counts @ negatives) * (counts @ positives)
    empty = np.full_like(won, np.nan)
    areas: Array = np.divide(won, compared, out=empty, where=compared > 0)
    return areas
