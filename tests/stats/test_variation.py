"""Distances between laws on finite alphabets, exactly."""

import math
from collections.abc import Hashable
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluand.errors import InputError
from evaluand.stats.variation import (
    disagreement,
    event_gap,
    joint,
    probability,
    separating_event,
    shift,
    total_variation,
)


@st.composite
def laws(draw: st.DrawFn, size: int = 3) -> list[Fraction]:
    weights = draw(st.lists(st.integers(0, 9), min_size=size, max_size=size))
    total = sum(weights)
    if total == 0:
        return [Fraction(1), *[Fraction(0)] * (size - 1)]
    return [Fraction(weight, total) for weight in weights]


@settings(deadline=None)  # a busy machine isn't a fault
@given(laws(), laws(), laws())
def test_total_variation_is_a_distance(
    p: list[Fraction], q: list[Fraction], r: list[Fraction]
) -> None:
    """It is symmetric, 0 only for equal laws, at most 1, and keeps the triangle."""
    assert total_variation(p, q) == total_variation(q, p) <= 1
    assert (total_variation(p, q) == 0) == (p == q)
    assert total_variation(p, r) <= total_variation(p, q) + total_variation(q, r)


@settings(deadline=None)  # a busy machine isn't a fault
@given(laws(), laws(), st.sets(st.integers(0, 2)))
def test_epsilon_lies_between_its_bounds(
    p: list[Fraction], q: list[Fraction], event: set[Hashable]
) -> None:
    """One event bounds epsilon from below, differing draws from above."""
    assert event_gap(p, q, event) <= total_variation(p, q) <= disagreement(p, q)


def test_equal_random_laws_still_differ_by_draw() -> None:
    """Differing outputs don't show a shift: equal laws that are random give them too."""
    coin = [0.5, 0.5]
    assert total_variation(coin, coin) == 0
    assert disagreement(coin, coin) == Fraction(1, 2)


@pytest.mark.parametrize("bad", [-0.1, 1.1])
def test_probabilities_outside_are_refused(bad: float) -> None:
    """A probability outside 0..1 is refused by its name."""
    with pytest.raises(InputError, match="expected rate from 0 to 1"):
        probability(bad, "rate")


@settings(deadline=None)  # a busy machine isn't a fault
@given(laws(), st.lists(laws(), min_size=3, max_size=3), st.data())
def test_shift_is_the_mean_over_inputs(
    inputs: list[Fraction], a: list[list[Fraction]], data: st.DataObject
) -> None:
    """TV of the joint laws equals the mean over inputs of the TV of outputs."""
    b = data.draw(st.lists(laws(), min_size=3, max_size=3))
    left: dict[Hashable, list[Fraction]] = dict(enumerate(a))
    right: dict[Hashable, list[Fraction]] = dict(enumerate(b))
    expected = sum(
        inputs[x] * total_variation(left[x], right[x]) for x in range(len(inputs))
    )
    assert shift(inputs, left, right) == expected


@settings(deadline=None)  # a busy machine isn't a fault
@given(laws(), laws())
def test_separating_event_separates_by_epsilon(
    p: list[Fraction], q: list[Fraction]
) -> None:
    """The event's probabilities differ by exactly the total variation."""
    event = separating_event(p, q)
    gap = sum((q[o] - p[o] for o in range(3) if o in event), Fraction(0))
    assert gap == total_variation(p, q)


def test_joint_sums_to_one() -> None:
    """The law of pairs is a distribution over (input, output)."""
    law = joint({"x": 0.25, "y": 0.75}, {"x": [1], "y": [0.5, 0.5]})
    assert law == {
        ("x", 0): Fraction(1, 4),
        ("y", 0): Fraction(3, 8),
        ("y", 1): Fraction(3, 8),
    }


def test_joint_needs_every_input() -> None:
    """An input without outputs is refused by name."""
    with pytest.raises(InputError, match="none for 'y'"):
        joint({"x": 0.25, "y": 0.75}, {"x": [1]})


@pytest.mark.parametrize(
    "bad", [[], [0.5, 0.4], [1.5, -0.5], [1 / 3, 1 / 3, 1 / 3], {"x": 2}]
)
def test_malformed_distributions_are_refused(bad: list[float]) -> None:
    """Probabilities that don't sum to exactly 1, or are negative, are refused."""
    with pytest.raises(InputError, match="the sum 1"):
        total_variation(bad, [1])


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_non_numbers_are_refused(bad: float) -> None:
    """A probability that isn't finite is refused."""
    with pytest.raises(InputError, match="a finite probability"):
        total_variation([bad, 0], [1])
