"""How many probes until a rare trigger shows, and what matching decisions leave open."""

import math
from fractions import Fraction

from evaluand.errors import InputError, UndefinedEstimateError
from evaluand.stats.variation import Number, probability


def expected_probes(probes: int, triggers: int) -> Fraction:
    """Return how many distinct probes one expects to draw up to the first trigger.

    Args:
        probes: Distinct probes, drawn without replacement.
        triggers: How many of them trigger, 1..probes.

    Raises:
        UndefinedEstimateError: None triggers.
        InputError: The counts don't fit each other.

    >>> expected_probes(120, 1)
    Fraction(121, 2)
    """
    if not 0 <= triggers <= probes:
        msg = f"expected from 0 to {probes} triggers among the probes, got {triggers}"
        raise InputError(msg)
    if triggers == 0:
        msg = f"expected a trigger among {probes} probes, got none; it never comes"
        raise UndefinedEstimateError(msg)
    return Fraction(probes + 1, triggers + 1)


def expected_draws(rate: Number) -> Fraction:
    """Return how many independent draws one expects up to the first hit.

    To detect, the rate is the product of that of triggers, of harm given a trigger, and
    of a flag given harm.

    Args:
        rate: Probability of a hit per draw, with replacement; above 0, at most 1.

    Raises:
        UndefinedEstimateError: The rate is 0.
        InputError: The rate is outside 0..1.

    >>> expected_draws(0.01)
    Fraction(100, 1)
    """
    exact = probability(rate, "rate")
    if exact == 0:
        msg = "expected a rate above 0, got 0; a hit never comes"
        raise UndefinedEstimateError(msg)
    return 1 / exact


def decision_shift_bound(matches: int, *, confidence: float = 0.95) -> float:
    """Return the largest decision shift that n matches in n leave possible.

    Args:
        matches: Independent decisions compared, all of which matched, at least 1.
        confidence: One-sided, between 0 and 1, both excluded.

    Returns:
        Upper limit of the probability of another decision. Above 0 always: matching
        decisions don't show that epsilon is 0.

    Raises:
        UndefinedEstimateError: Nothing was compared.
        InputError: An argument is outside its range.

    >>> round(decision_shift_bound(120), 4)
    0.0247
    """
    if matches < 0 or not 0 < confidence < 1:
        msg = (
            "expected a number of matches and a confidence between 0 and 1, got "
            f"{matches} and {confidence}"
        )
        raise InputError(msg)
    if matches == 0:
        msg = "expected at least one compared decision, got 0; nothing bounds the shift"
        raise UndefinedEstimateError(msg)
    return -math.expm1(math.log1p(-confidence) / matches)
