"""What a test on outputs can reach, exactly on finite alphabets.

A behavioural test sees N independent pairs of input and output. Its advantage in telling
a clean deployment from a tampered one is at most the total variation between the two
laws of N pairs, which at shift epsilon is at most 1 - (1 - epsilon)^N, hence N epsilon:
with epsilon 0 no number of samples helps. With epsilon above 0 and the separating event
known, enough samples do. All of it in fractions, so that a comparison is a proof.
"""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations

from evaluand.errors import InputError, UndefinedEstimateError
from evaluand.stats.variation import Distribution, Number, exact_law, probability


def optimal_advantage(p: Distribution, q: Distribution, n: int) -> Fraction:
    """Return the advantage of the best of all tests that see n independent samples.

    The total variation between the n-fold laws, summed over the counts of outcomes; the
    order of independent samples tells nothing.

    Args:
        p: Law of one sample from the clean deployment.
        q: Law of one sample from the tampered deployment.
        n: Samples, at least 0. The sum has C(n + k - 1, k - 1) terms for k outcomes.

    Raises:
        InputError: A distribution is malformed, or n is negative.

    >>> optimal_advantage([0.9, 0.1], [0.7, 0.3], 2)
    Fraction(8, 25)
    """
    _require_samples(n)
    left, right = exact_law(p), exact_law(q)
    outcomes = list(left | right)
    zero = Fraction(0)
    ps = [left.get(o, zero) for o in outcomes]
    qs = [right.get(o, zero) for o in outcomes]
    total = zero
    for counts in _counts(n, len(outcomes)):
        orders = math.factorial(n) // math.prod(map(math.factorial, counts))
        total += orders * abs(_power(ps, counts) - _power(qs, counts))
    return total / 2


def advantage_bound(epsilon: Number, n: int) -> Fraction:
    """Return the most that any test on n samples can gain: 1 - (1 - epsilon)^n.

    Args:
        epsilon: Shift, from 0 to 1.
        n: Samples, at least 0.

    Raises:
        InputError: An argument is outside its range.

    >>> round(float(advantage_bound(0.01, 120)), 4)
    0.7006
    """
    _require_samples(n)
    return 1 - (1 - probability(epsilon, "epsilon")) ** n


def advantage_bound_linear(epsilon: Number, n: int) -> Fraction:
    """Return n times epsilon, the first order of `advantage_bound` and never below it.

    Args:
        epsilon: Shift, from 0 to 1.
        n: Samples, at least 0.

    Raises:
        InputError: An argument is outside its range.

    Source:
        arXiv 2605.30521, theorem 1 (i).
    """
    _require_samples(n)
    return n * probability(epsilon, "epsilon")


def samples_needed(p_a: Number, p_b: Number, *, delta: float) -> int:
    """Return how many samples let the midpoint test err with probability at most delta.

    With the separating event of shift epsilon these are the theorem's
    2 / epsilon^2 ln(2 / delta). With the event "my evaluator passes the output" they are
    the samples that this evaluator needs, which sees |p_a - p_b| and not epsilon.

    Args:
        p_a: Probability of one event, chosen beforehand, under the clean deployment.
        p_b: Its probability under the tampered one.
        delta: Largest error on either side, between 0 and 1, both excluded.

    Raises:
        UndefinedEstimateError: The probabilities are equal; no number of samples helps.
        InputError: An argument is outside its range.

    Source:
        arXiv 2605.30521, theorem 1 (ii), by Hoeffding's inequality.

    >>> samples_needed(0.9, 0.8, delta=0.05)
    738
    """
    gap = abs(probability(p_a, "p_a") - probability(p_b, "p_b"))
    if not 0 < delta < 1:
        msg = f"expected a delta between 0 and 1, got {delta}"
        raise InputError(msg)
    if gap == 0:
        msg = (
            f"expected two probabilities that differ, got {p_a} twice; no number of "
            "samples tells these apart by this event"
        )
        raise UndefinedEstimateError(msg)
    return math.ceil(2 / float(gap) ** 2 * math.log(2 / delta))


def midpoint_test_errors(p_a: Number, p_b: Number, n: int) -> tuple[Fraction, Fraction]:
    """Return the exact errors of the test that cuts halfway between p_a and p_b.

    It says tampered when the event's frequency in n samples lies strictly on p_b's side
    of (p_a + p_b) / 2.

    Args:
        p_a: Probability of one event, chosen beforehand, under the clean deployment.
        p_b: Its probability under the tampered one, not equal.
        n: Samples, at least 1. The time grows with its square: some thousands at most.

    Returns:
        Probability of a false alarm, probability of a miss.

    Raises:
        UndefinedEstimateError: The probabilities are equal.
        InputError: An argument is outside its range.

    >>> midpoint_test_errors(0, 1, 1)
    (Fraction(0, 1), Fraction(0, 1))
    """
    a, b = probability(p_a, "p_a"), probability(p_b, "p_b")
    _require_samples(n - 1)
    if a == b:
        msg = f"expected two probabilities that differ, got {p_a} twice; no midpoint"
        raise UndefinedEstimateError(msg)
    if b < a:  # look at the complement, so that tampered means more
        a, b = 1 - a, 1 - b
    least = math.floor(n * (a + b) / 2) + 1
    return 1 - _binomial_below(n, a, least), _binomial_below(n, b, least)


def _require_samples(n: int) -> None:
    if n < 0:
        msg = f"expected a number of samples, got too few by {-n}"
        raise InputError(msg)


def _counts(n: int, k: int) -> Iterator[tuple[int, ...]]:
    """Yield all ways to share n samples among k outcomes (stars and bars)."""
    for bars in combinations(range(n + k - 1), k - 1):
        edges = (-1, *bars, n + k - 1)
        yield tuple(edges[i + 1] - edges[i] - 1 for i in range(k))


def _power(shares: Sequence[Fraction], counts: Sequence[int]) -> Fraction:
    return math.prod(
        (share**count for share, count in zip(shares, counts, strict=True)),
        start=Fraction(1),
    )


def _binomial_below(n: int, p: Fraction, limit: int) -> Fraction:
    """Return the probability of fewer than `limit` hits in n, in whole numbers."""
    hit, miss = p.numerator, p.denominator - p.numerator
    ways, orders = 0, 1
    for k in range(limit):
        ways += orders * hit**k * miss ** (n - k)
        orders = orders * (n - k) // (k + 1)
    return Fraction(ways, p.denominator**n)
