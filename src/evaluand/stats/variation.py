"""How far apart two deployments are on a finite alphabet, in fractions."""

import math
from collections.abc import Hashable, Mapping, Sequence, Set
from fractions import Fraction

from evaluand.errors import InputError

Number = Fraction | int | float
"""A float is read as the decimal that it prints as: 0.1 is one tenth."""

Distribution = Mapping[Hashable, Number] | Sequence[Number]
"""Outcome to probability, or the probabilities of outcomes 0, 1, 2, ..."""


def total_variation(p: Distribution, q: Distribution) -> Fraction:
    """Return the largest difference between the probabilities of one event.

    Args:
        p: Probabilities that sum to exactly 1.
        q: The same; an outcome that only one names has probability 0 in the other.

    Raises:
        InputError: A probability is negative or the sum isn't 1.

    >>> total_variation({"ALLOW": 0.9, "DENY": 0.1}, {"ALLOW": 0.7, "DENY": 0.3})
    Fraction(1, 5)
    """
    left, right = exact_law(p), exact_law(q)
    outcomes = left.keys() | right.keys()
    zero = Fraction(0)
    return (
        sum((abs(left.get(o, zero) - right.get(o, zero)) for o in outcomes), zero) / 2
    )


def joint(
    inputs: Distribution, outputs: Mapping[Hashable, Distribution]
) -> dict[Hashable, Fraction]:
    """Return the law of (input, output) pairs.

    Args:
        inputs: The evaluation distribution.
        outputs: Each input's distribution of outputs.

    Raises:
        InputError: A distribution is malformed, or an input has none.
    """
    law: dict[Hashable, Fraction] = {}
    for x, weight in exact_law(inputs).items():
        if x not in outputs:
            msg = f"expected a distribution of outputs for every input, none for {x!r}"
            raise InputError(msg)
        law |= {(x, o): weight * share for o, share in exact_law(outputs[x]).items()}
    return law


def shift(
    inputs: Distribution,
    a: Mapping[Hashable, Distribution],
    b: Mapping[Hashable, Distribution],
) -> Fraction:
    """Return epsilon: the mean over inputs of the total variation between outputs.

    Law: it equals ``total_variation(joint(inputs, a), joint(inputs, b))``.

    Args:
        inputs: The evaluation distribution.
        a: Each input's distribution of outputs from one deployment.
        b: The same from the other.

    Raises:
        InputError: A distribution is malformed, or an input has none.

    Source:
        arXiv 2605.30521, theorem 1.
    """
    return total_variation(joint(inputs, a), joint(inputs, b))


def separating_event(p: Distribution, q: Distribution) -> frozenset[Hashable]:
    """Return the outcomes more probable under q; their probabilities differ by the TV.

    Args:
        p: Law of one sample from the clean deployment.
        q: Law of one sample from the tampered deployment.

    Raises:
        InputError: A distribution is malformed.
    """
    left, right = exact_law(p), exact_law(q)
    return frozenset(o for o in right if right[o] > left.get(o, 0))


def event_gap(p: Distribution, q: Distribution, event: Set[Hashable]) -> Fraction:
    """Return how far the probabilities of one event lie apart.

    Law: it is at most the total variation, so data on one event chosen beforehand bound
    epsilon from below.

    Args:
        p: Law of one sample from the clean deployment.
        q: Law of one sample from the tampered deployment.
        event: Outcomes; one that a law doesn't name has probability 0 in it.

    Raises:
        InputError: A distribution is malformed.
    """
    left, right = exact_law(p), exact_law(q)
    gaps = (right.get(o, Fraction(0)) - left.get(o, Fraction(0)) for o in event)
    return abs(sum(gaps, Fraction(0)))


def disagreement(p: Distribution, q: Distribution) -> Fraction:
    """Return the probability that independent draws from the two laws differ.

    Law: it is at least the total variation, so the share of differing outputs bounds
    epsilon from above. It isn't 0 for equal laws that are random.

    Args:
        p: Law of one sample from the clean deployment.
        q: Law of one sample from the tampered deployment.

    Raises:
        InputError: A distribution is malformed.

    >>> disagreement([0.5, 0.5], [0.5, 0.5])
    Fraction(1, 2)
    """
    left, right = exact_law(p), exact_law(q)
    same = (share * right.get(o, Fraction(0)) for o, share in left.items())
    return 1 - sum(same, Fraction(0))


def exact_law(distribution: Distribution) -> dict[Hashable, Fraction]:
    """Return a distribution in fractions.

    Args:
        distribution: Probabilities that sum to exactly 1.

    Raises:
        InputError: A probability is negative or the sum isn't 1.
    """
    pairs = (
        distribution.items()
        if isinstance(distribution, Mapping)
        else enumerate(distribution)
    )
    exact = {outcome: _fraction(share) for outcome, share in pairs}
    total = sum(exact.values(), Fraction(0))
    if total != 1 or min(exact.values()) < 0:
        msg = (
            f"expected probabilities of at least 0 with the sum 1, got the sum {total} of "
            f"{len(exact)}; give thirds and the like as fractions.Fraction"
        )
        raise InputError(msg)
    return exact


def probability(number: Number, name: str) -> Fraction:
    """Return a probability exactly.

    Args:
        number: From 0 to 1.
        name: What an error message calls it.

    Raises:
        InputError: It is outside its range.
    """
    exact = _fraction(number)
    if not 0 <= exact <= 1:
        msg = f"expected {name} from 0 to 1, got {number}"
        raise InputError(msg)
    return exact


def _fraction(number: Number) -> Fraction:
    if isinstance(number, Fraction | int):
        return Fraction(number)
    if not math.isfinite(number):
        msg = f"expected a finite probability, got {number}"
        raise InputError(msg)
    return Fraction(str(float(number)))
