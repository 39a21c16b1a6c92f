"""Theorem 1 of arXiv 2605.30521, exactly on finite alphabets."""

import math
from collections.abc import Hashable
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluand.errors import InputError, UndefinedEstimateError
from evaluand.stats.bounds import (
    advantage_bound,
    advantage_bound_linear,
    midpoint_test_errors,
    optimal_advantage,
    samples_needed,
)
from evaluand.stats.variation import separating_event, total_variation

HALF = Fraction(1, 2)


@st.composite
def laws(draw: st.DrawFn, size: int = 3) -> list[Fraction]:
    weights = draw(st.lists(st.integers(0, 9), min_size=size, max_size=size))
    total = sum(weights)
    if total == 0:
        return [Fraction(1), *[Fraction(0)] * (size - 1)]
    return [Fraction(weight, total) for weight in weights]


@settings(deadline=None)  # a busy machine isn't a fault
@given(laws(), laws(), st.integers(0, 5))
def test_advantage_is_bounded(p: list[Fraction], q: list[Fraction], n: int) -> None:
    """The best test's advantage is at most 1 - (1 - eps)^N, and that at most N eps."""
    epsilon = total_variation(p, q)
    exact = optimal_advantage(p, q, n)
    assert exact <= advantage_bound(epsilon, n) <= advantage_bound_linear(epsilon, n)


@settings(deadline=None)  # a busy machine isn't a fault
@given(laws(), laws())
def test_one_sample_reaches_the_bound(p: list[Fraction], q: list[Fraction]) -> None:
    """With one sample advantage, bound and epsilon are one number."""
    epsilon = total_variation(p, q)
    assert optimal_advantage(p, q, 1) == advantage_bound(epsilon, 1) == epsilon


@settings(deadline=None)  # a busy machine isn't a fault
@given(laws(), st.integers(0, 6))
def test_no_shift_no_advantage(p: list[Fraction], n: int) -> None:
    """Where epsilon is 0, no number of samples helps."""
    assert optimal_advantage(p, p, n) == 0
    assert advantage_bound(0, n) == advantage_bound_linear(0, n) == 0


@settings(deadline=None)  # a busy machine isn't a fault
@given(laws(), laws(), st.integers(1, 4))
def test_more_samples_never_hurt(p: list[Fraction], q: list[Fraction], n: int) -> None:
    """The advantage grows with the number of samples."""
    assert optimal_advantage(p, q, n - 1) <= optimal_advantage(p, q, n)


@settings(deadline=None)  # a busy machine isn't a fault
@given(laws(), laws(), st.integers(1, 3))
def test_types_equal_sequences(p: list[Fraction], q: list[Fraction], n: int) -> None:
    """The sum over counts equals the total variation between laws of sequences."""
    sequences = list(product(range(3), repeat=n))
    left = [math.prod((p[o] for o in s), start=Fraction(1)) for s in sequences]
    right = [math.prod((q[o] for o in s), start=Fraction(1)) for s in sequences]
    assert optimal_advantage(p, q, n) == total_variation(left, right)


@settings(deadline=None)  # a busy machine isn't a fault
@given(
    st.fractions(0, 1, max_denominator=12),
    st.fractions(0, 1, max_denominator=12),
    st.sampled_from([0.5, 0.2, 0.05, 0.01]),
)
def test_midpoint_test_keeps_its_promise(
    a: Fraction, b: Fraction, delta: float
) -> None:
    """With the theorem's sample size both exact errors are at most delta."""
    if abs(a - b) < Fraction(1, 12):
        return
    n = samples_needed(a, b, delta=delta)
    false_alarm, miss = midpoint_test_errors(a, b, n)
    assert max(false_alarm, miss) <= delta


@settings(deadline=None)  # a busy machine isn't a fault
@given(
    st.fractions(0, 1, max_denominator=20),
    st.fractions(0, 1, max_denominator=20),
    st.integers(1, 30),
)
def test_no_test_beats_the_best(a: Fraction, b: Fraction, n: int) -> None:
    """The midpoint test gains no more than the best test, nor than the bound."""
    if a == b:
        return
    false_alarm, miss = midpoint_test_errors(a, b, n)
    gained = 1 - miss - false_alarm
    assert gained <= optimal_advantage([a, 1 - a], [b, 1 - b], n)
    assert gained <= advantage_bound(abs(a - b), n)


def test_midpoint_errors_by_hand() -> None:
    """Three fair flips against a coin of three quarters: counted by hand."""
    false_alarm, miss = midpoint_test_errors(HALF, Fraction(3, 4), 3)
    # The cut is at 1.875 hits: two or three say tampered.
    assert false_alarm == Fraction(3 + 1, 8)
    assert miss == Fraction(1 + 9, 64)


def test_midpoint_errors_mirror() -> None:
    """An event that tampering makes rarer tells as much as its complement."""
    assert midpoint_test_errors(0.9, 0.7, 25) == midpoint_test_errors(0.1, 0.3, 25)


@pytest.mark.parametrize(
    ("epsilon", "delta", "expected"), [(0.1, 0.05, 738), (0.5, 0.1, 24), (1, 0.05, 8)]
)
def test_sample_size(epsilon: float, delta: float, expected: int) -> None:
    """2 / eps^2 ln(2 / delta), rounded up."""
    assert samples_needed(0, epsilon, delta=delta) == expected


def test_a_weak_evaluator_needs_more() -> None:
    """What your evaluator needs follows from its own pass rates, not from epsilon."""
    assert samples_needed(0.90, 0.85, delta=0.05) == 2952
    assert samples_needed(0, 0.4, delta=0.05) < 50


def test_equal_rates_need_no_finite_sample() -> None:
    """Equal probabilities have no sample size and no midpoint."""
    with pytest.raises(UndefinedEstimateError, match="no number of samples"):
        samples_needed(0.5, 0.5, delta=0.05)
    with pytest.raises(UndefinedEstimateError, match="no midpoint"):
        midpoint_test_errors(0.5, 0.5, 3)


def test_named_outcomes_and_missing_ones() -> None:
    """An outcome that only one deployment shows counts in full."""
    clean: dict[Hashable, float] = {"DENY": 0.9, "ALLOW": 0.1}
    tampered: dict[Hashable, float] = {"DENY": 0.9, "LEAK": 0.1}
    assert total_variation(clean, tampered) == Fraction(1, 10)
    assert separating_event(clean, tampered) == {"LEAK"}
    assert optimal_advantage(clean, tampered, 2) == 1 - Fraction(9, 10) ** 2


def test_arguments_outside_are_refused() -> None:
    """Shifts above 1, errors of 0 and negative sample sizes are refused."""
    with pytest.raises(InputError, match="expected epsilon from 0 to 1"):
        advantage_bound(1.5, 3)
    with pytest.raises(InputError, match="expected a delta between 0 and 1"):
        samples_needed(0.1, 0.2, delta=0)
    for count in (-1, -5):
        with pytest.raises(InputError, match="expected a number of samples"):
            optimal_advantage([1], [1], count)
    with pytest.raises(InputError, match="expected a number of samples"):
        midpoint_test_errors(0.1, 0.2, 0)
