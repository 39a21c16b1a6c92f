"""Intervals that name their method, and the closed forms for yes/no rates."""

import math
from dataclasses import dataclass

from evaluand.errors import InputError, UndefinedEstimateError
from evaluand.stats.quantile import two_sided_z


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A confidence interval.

    Args:
        low: Lower limit.
        high: Upper limit, above `low`.
        method: How it was made: ``wilson``, ``newcombe-paired``, ``newcombe``,
            ``cluster-bootstrap``, ``cluster-bootstrap-logit``, ``newcombe-auc``.
    """

    low: float
    high: float
    method: str

    def __post_init__(self) -> None:
        if not self.low < self.high:
            msg = (
                f"an interval has width, got [{self.low}, {self.high}] ({self.method})"
            )
            raise ValueError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A number with its interval and what it rests on.

    Args:
        value: The point, None where the data give none.
        interval: None exactly when `value` is.
        n: Rows that it rests on.
        n_clusters: Clusters of rows (tasks) that it rests on.
    """

    value: float | None
    interval: Interval | None
    n: int
    n_clusters: int

    def __post_init__(self) -> None:
        if (self.value is None) != (self.interval is None):
            msg = f"a value comes with its interval, got {self.value}, {self.interval}"
            raise ValueError(msg)


def wilson(successes: float, n: int, *, confidence: float = 0.95) -> Interval:
    """Return Wilson's score interval for a rate.

    Args:
        successes: From 0 to `n`; fractional where a mean over n clusters stands for it.
        n: Trials.
        confidence: Nominal coverage, between 0 and 1, both excluded.

    Returns:
        Limits from 0 to 1, never of zero width.

    Raises:
        UndefinedEstimateError: `n` is 0.
        InputError: The counts don't fit each other.

    Source:
        Wilson, Probable Inference, JASA 22 (1927).

    >>> interval = wilson(0, 25)
    >>> interval.low, round(interval.high, 4)
    (0.0, 0.1332)
    """
    if n == 0:
        msg = "expected at least one assessed trial for a rate, got 0; nothing to estimate"
        raise UndefinedEstimateError(msg)
    if not 0 <= successes <= n:
        msg = f"expected successes from 0 to n = {n}, got {successes}"
        raise InputError(msg)
    low, high = _wilson_limits(successes / n, n, two_sided_z(confidence))
    return Interval(low=low, high=high, method="wilson")


def newcombe(
    a_successes: int, a_n: int, b_successes: int, b_n: int, *, confidence: float = 0.95
) -> Interval:
    """Return Newcombe's hybrid score interval for a difference of independent rates.

    Args:
        a_successes: From 0 to `a_n`.
        a_n: Trials of the first sample.
        b_successes: From 0 to `b_n`.
        b_n: Trials of the second sample.
        confidence: Nominal coverage, between 0 and 1, both excluded.

    Returns:
        Limits from -1 to 1 of rate a minus rate b.

    Raises:
        UndefinedEstimateError: A sample is empty.
        InputError: The counts don't fit each other.

    Source:
        Newcombe, Statistics in Medicine 17 (1998) 873-890, method 10.

    >>> interval = newcombe(56, 70, 48, 80)
    >>> round(interval.low, 4), round(interval.high, 4)
    (0.0524, 0.3339)
    """
    a = wilson(a_successes, a_n, confidence=confidence)
    b = wilson(b_successes, b_n, confidence=confidence)
    return _square_and_add(
        (a_successes / a_n, a), (b_successes / b_n, b), 0, "newcombe"
    )


def newcombe_paired(
    both: float,
    only_a: float,
    only_b: float,
    neither: float,
    *,
    confidence: float = 0.95,
) -> Interval:
    """Return Newcombe's interval for a difference of paired rates.

    Args:
        both: Pairs that pass in a and in b.
        only_a: Pairs that pass in a alone.
        only_b: Pairs that pass in b alone.
        neither: Pairs that pass in neither. The four may be fractional where means over
            clusters stand for pairs; their sum is whole.
        confidence: Nominal coverage, between 0 and 1, both excluded.

    Returns:
        Limits from -1 to 1 of rate a minus rate b; wide also without discordant pairs.

    Raises:
        UndefinedEstimateError: There is no pair.
        InputError: A count is negative.

    Source:
        Newcombe, Statistics in Medicine 17 (1998) 2635-2650, method 10.

    >>> interval = newcombe_paired(18, 12, 2, 18)
    >>> round(interval.low, 4), round(interval.high, 4)
    (0.0562, 0.329)
    """
    cells = (both, only_a, only_b, neither)
    if min(cells) < 0:
        msg = f"expected counts of pairs of at least 0, got {cells}"
        raise InputError(msg)
    n = round(sum(cells))
    # Sums of fractions may pass n by a rounding error.
    rates = min(1.0, (both + only_a) / max(n, 1)), min(1.0, (both + only_b) / max(n, 1))
    return newcombe_correlated(*rates, n, correlation(*cells), confidence=confidence)


def newcombe_correlated(
    a: float, b: float, n: int, phi: float, *, confidence: float = 0.95
) -> Interval:
    """Return Newcombe's paired interval from two rates and their correlation.

    Args:
        a: Rate, from 0 to 1.
        b: Rate, from 0 to 1.
        n: Pairs.
        phi: Correlation within pairs, from -1 to 1.
        confidence: Nominal coverage, between 0 and 1, both excluded.

    Returns:
        Limits from -1 to 1 of a minus b.

    Raises:
        UndefinedEstimateError: There is no pair.
        InputError: A rate is outside 0..1.
    """
    limits_a = wilson(a * n, n, confidence=confidence)
    limits_b = wilson(b * n, n, confidence=confidence)
    return _square_and_add((a, limits_a), (b, limits_b), phi, "newcombe-paired")


def correlation(both: float, only_a: float, only_b: float, neither: float) -> float:
    """Return the correlation of paired outcomes as Newcombe's method 10 corrects it.

    A positive one is pulled towards 0 (by n / 2 in the numerator), which keeps the
    interval from collapsing where pairs agree everywhere; 0 where a margin is empty.

    Args:
        both: Pairs that pass in a and in b.
        only_a: Pairs that pass in a alone.
        only_b: Pairs that pass in b alone.
        neither: Pairs that pass in neither.
    """
    margins = (both + only_a, only_b + neither, both + only_b, only_a + neither)
    if min(margins) <= 0:
        return 0.0
    numerator = both * neither - only_a * only_b
    if numerator > 0:
        numerator = max(numerator - (both + only_a + only_b + neither) / 2, 0.0)
    return numerator / math.sqrt(math.prod(margins))


def _wilson_limits(p: float, n: int, z: float) -> tuple[float, float]:
    denominator = 1 + z * z / n
    centre = (p + z * z / (2 * n)) / denominator
    half = z * math.sqrt(p * (1 - p) / n + (z / (2 * n)) ** 2) / denominator
    # Exact at the edges, where the difference leaves a rounding error.
    low = 0.0 if p == 0 else min(p, max(0.0, centre - half))
    high = 1.0 if p == 1 else max(p, min(1.0, centre + half))
    return low, high


def _square_and_add(
    a: tuple[float, Interval], b: tuple[float, Interval], phi: float, method: str
) -> Interval:
    (p, p_limits), (q, q_limits) = a, b
    below = _correlated(p - p_limits.low, q_limits.high - q, phi)
    above = _correlated(p_limits.high - p, q - q_limits.low, phi)
    low, high = max(-1.0, p - q - below), min(1.0, p - q + above)
    return Interval(low=low, high=high, method=method)


def _correlated(x: float, y: float, phi: float) -> float:
    return math.sqrt(max(0.0, x * x - 2 * phi * x * y + y * y))
