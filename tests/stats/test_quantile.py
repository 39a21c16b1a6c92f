"""Quantiles against printed tables."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluand.errors import InputError
from evaluand.stats.quantile import (
    expanded_tail,
    normal_quantile,
    t_central,
    t_quantile,
    two_sided_z,
)


@pytest.mark.parametrize(
    ("df", "expected"),
    [
        (1, 12.7062),
        (2, 4.3027),
        (3, 3.1824),
        (4, 2.7764),
        (5, 2.5706),
        (10, 2.2281),
        (30, 2.0423),
        (120, 1.9799),
    ],
)
def test_t_table(df: int, expected: float) -> None:
    """The 97.5 % column of the usual table of Student's t comes out."""
    assert t_quantile(0.975, df) == pytest.approx(expected, abs=6e-5)


@pytest.mark.parametrize(("df", "expected"), [(1, 31.8205), (9, 2.8214), (29, 2.4620)])
def test_t_table_99(df: int, expected: float) -> None:
    """The 99 % column comes out too."""
    assert t_quantile(0.99, df) == pytest.approx(expected, abs=6e-5)


@settings(deadline=None)  # a busy machine isn't a fault
@given(st.floats(0.5, 0.9999), st.integers(1, 200))
def test_t_quantile_inverts(probability: float, df: int) -> None:
    """The probability within the quantile is the one asked for."""
    t = t_quantile(probability, df)
    assert t_central(t, df) == pytest.approx(2 * probability - 1, abs=1e-9)


def test_t_nears_normal() -> None:
    """With many degrees of freedom t is the normal."""
    assert t_quantile(0.975, 20_000) == pytest.approx(normal_quantile(0.975), abs=2e-4)


def test_two_sided_z() -> None:
    """95 % of the normal lies within 1.96."""
    assert two_sided_z(0.95) == pytest.approx(1.959964, abs=1e-6)


def test_expanded_tail_widens() -> None:
    """Fewer units move the tails out; many leave the plain 2.5 %."""
    tails = [expanded_tail(0.95, n) for n in (2, 5, 20, 100, 100_000)]
    assert tails == sorted(tails)
    assert tails[-1] == pytest.approx(0.025, abs=1e-5)


def test_expanded_tail_gives_t_length() -> None:
    """A normal bootstrap cut there is as long as the t interval."""
    n = 12
    standard_error = 1 / math.sqrt(n)
    bootstrap = standard_error * math.sqrt((n - 1) / n)
    half = -normal_quantile(expanded_tail(0.95, n)) * bootstrap
    assert half == pytest.approx(t_quantile(0.975, n - 1) * standard_error)


@pytest.mark.parametrize("bad", [0.0, 1.0, -0.1, math.nan])
def test_levels_outside_are_refused(bad: float) -> None:
    """A probability or confidence of 0, 1 or beyond is refused by name."""
    with pytest.raises(InputError, match="expected a probability between 0 and 1"):
        normal_quantile(bad)
    with pytest.raises(InputError, match="expected a confidence between 0 and 1"):
        two_sided_z(bad)
    with pytest.raises(InputError, match="expected a confidence between 0 and 1"):
        expanded_tail(bad, 10)


@pytest.mark.parametrize(("probability", "df"), [(0.4, 3), (1.0, 3), (0.9, 0)])
def test_t_arguments_outside_are_refused(probability: float, df: int) -> None:
    """Student's t has no quantile at 1 or below a half, nor without degrees of freedom."""
    with pytest.raises(InputError, match="at least 1 degree of freedom"):
        t_quantile(probability, df)
