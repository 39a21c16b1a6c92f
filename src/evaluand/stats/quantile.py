"""Quantiles of the normal and of Student's t, without scipy."""

import math
from functools import cache
from statistics import NormalDist

from evaluand.errors import InputError


def normal_quantile(probability: float) -> float:
    """Return the standard normal quantile.

    Args:
        probability: Between 0 and 1, both excluded.

    Raises:
        InputError: The probability isn't strictly between 0 and 1.

    >>> round(normal_quantile(0.975), 6)
    1.959964
    """
    _require_open_unit(probability, "probability")
    return NormalDist().inv_cdf(probability)


def two_sided_z(confidence: float) -> float:
    """Return z with `confidence` of the normal between -z and z.

    Args:
        confidence: Between 0 and 1, both excluded.

    Raises:
        InputError: The confidence isn't strictly between 0 and 1.
    """
    _require_open_unit(confidence, "confidence")
    return NormalDist().inv_cdf(0.5 + confidence / 2)


def t_central(t: float, df: int) -> float:
    """Return the probability that Student's t lies between -t and t.

    Args:
        t: At least 0.
        df: Degrees of freedom, a whole number of at least 1.

    Returns:
        A probability, by the finite series that whole degrees of freedom allow.

    Source:
        Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4.

    >>> round(t_central(2.570582, 5), 6)
    0.95
    """
    theta = math.atan(t / math.sqrt(df))
    sine, cosine = math.sin(theta), math.cos(theta)
    odd = df % 2
    term = cosine if odd else 1.0
    total = term if df > 1 else 0.0
    for k in range(2 + odd, df, 2):
        term *= cosine * cosine * (k - 1) / k
        total += term
    return 2 / math.pi * (theta + sine * total) if odd else sine * total


@cache
def t_quantile(probability: float, df: int) -> float:
    """Return the quantile of Student's t, by bisection to the last float.

    Args:
        probability: At least 0.5 and under 1.
        df: Degrees of freedom, a whole number of at least 1.

    Raises:
        InputError: An argument is outside its range.

    >>> round(t_quantile(0.975, 23), 4)
    2.0687
    """
    if df < 1 or not 0.5 <= probability < 1:
        msg = (
            "expected a probability from 0.5 to under 1 and at least 1 degree of "
            f"freedom, got {probability} and {df}"
        )
        raise InputError(msg)
    central = 2 * probability - 1
    low, high = 0.0, 1.0
    while t_central(high, df) < central:
        high *= 2
    for _ in range(64):
        middle = (low + high) / 2
        low, high = (middle, high) if t_central(middle, df) < central else (low, middle)
    return (low + high) / 2


@cache
def expanded_tail(confidence: float, n: int) -> float:
    """Return the tail to cut from a percentile bootstrap of n units.

    The plain percentile interval is too short for few units: it lacks the factor
    n / (n - 1) of the variance and the t quantile. The expanded one moves its tails out
    so that it has the length of a t interval where the bootstrap is normal.

    Args:
        confidence: Nominal coverage, between 0 and 1, both excluded.
        n: Units resampled (clusters, not rows), at least 2.

    Returns:
        The share of draws below the lower limit, and above the upper one.

    Raises:
        InputError: An argument is outside its range.

    Source:
        Hesterberg, What Teachers Should Know About the Bootstrap, The American
        Statistician 69 (2015), section on expanded percentile intervals.

    >>> round(expanded_tail(0.95, 24), 4)
    0.0173
    """
    _require_open_unit(confidence, "confidence")
    t = t_quantile(0.5 + confidence / 2, n - 1)
    return NormalDist().cdf(-math.sqrt(n / (n - 1)) * t)


def _require_open_unit(value: float, name: str) -> None:
    if not 0 < value < 1:
        msg = f"expected a {name} between 0 and 1, got {value}"
        raise InputError(msg)
