"""Closed-form intervals against published values and their laws."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluand.errors import InputError, UndefinedEstimateError
from evaluand.stats.interval import (
    Estimate,
    Interval,
    correlation,
    newcombe,
    newcombe_correlated,
    newcombe_paired,
    wilson,
)


def limits(interval: Interval) -> tuple[float, float]:
    return round(interval.low, 4), round(interval.high, 4)


@pytest.mark.parametrize(
    ("successes", "n", "expected"),
    [
        # Newcombe, Statistics in Medicine 17 (1998) 857-872, method 3.
        (81, 263, (0.2553, 0.3662)),
        (15, 148, (0.0624, 0.1605)),
        (0, 20, (0.0, 0.1611)),
        (1, 29, (0.0061, 0.1718)),
        (0, 25, (0.0, 0.1332)),
        (0, 50, (0.0, 0.0713)),
        (10, 10, (0.7225, 1.0)),
        (0, 5000, (0.0, 0.0008)),
    ],
)
def test_wilson_published(
    successes: int, n: int, expected: tuple[float, float]
) -> None:
    """Wilson's limits equal the published ones, the edges included."""
    interval = wilson(successes, n)
    assert limits(interval) == expected
    assert interval.method == "wilson"


@settings(deadline=None)  # a busy machine isn't a fault
@given(st.integers(1, 3000), st.data())
def test_wilson_laws(n: int, data: st.DataObject) -> None:
    """Limits hold the rate, stay in 0..1, have width and mirror with failures."""
    successes = data.draw(st.integers(0, n))
    interval = wilson(successes, n)
    mirrored = wilson(n - successes, n)
    assert 0 <= interval.low <= successes / n <= interval.high <= 1
    assert interval.low < interval.high
    assert interval.low == pytest.approx(1 - mirrored.high, abs=1e-12)


def test_wilson_confidence() -> None:
    """More confidence takes a longer interval."""
    assert wilson(5, 10, confidence=0.99).high > wilson(5, 10).high


def test_wilson_without_trials() -> None:
    """A rate of nothing is undefined, not 0."""
    with pytest.raises(UndefinedEstimateError, match="at least one assessed trial"):
        wilson(0, 0)


@pytest.mark.parametrize(("successes", "n"), [(3, 2), (-1, 2), (0, -1)])
def test_wilson_counts_outside(successes: int, n: int) -> None:
    """More successes than trials, or fewer than none, are refused."""
    with pytest.raises(InputError, match="expected successes from 0 to n"):
        wilson(successes, n)


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        # Newcombe, Statistics in Medicine 17 (1998) 873-890, table II, method 10.
        ((56, 70, 48, 80), (0.0524, 0.3339)),
        ((9, 10, 3, 10), (0.1705, 0.8090)),
        ((10, 10, 0, 20), (0.6791, 1.0)),
    ],
)
def test_newcombe_published(
    table: tuple[int, int, int, int], expected: tuple[float, float]
) -> None:
    """The difference of independent rates has the published limits."""
    interval = newcombe(*table)
    assert limits(interval) == expected
    assert interval.method == "newcombe"


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        # Newcombe, Statistics in Medicine 17 (1998) 2635-2650, method 10.
        ((36, 12, 2, 0), (0.0569, 0.3404)),
        ((18, 12, 2, 18), (0.0562, 0.3290)),
        ((53, 0, 0, 1), (-0.0729, 0.0729)),
        ((0, 30, 0, 0), (0.8395, 1.0)),
    ],
)
def test_newcombe_paired_published(
    table: tuple[int, int, int, int], expected: tuple[float, float]
) -> None:
    """The difference of paired rates has the published limits."""
    interval = newcombe_paired(*table)
    assert limits(interval) == expected
    assert interval.method == "newcombe-paired"


@settings(deadline=None)  # a busy machine isn't a fault
@given(st.tuples(*[st.integers(0, 60)] * 4).filter(lambda table: sum(table) > 0))
def test_newcombe_paired_laws(table: tuple[int, int, int, int]) -> None:
    """Limits hold the difference, stay in -1..1 and swap with the sides."""
    both, only_a, only_b, neither = table
    interval = newcombe_paired(*table)
    swapped = newcombe_paired(both, only_b, only_a, neither)
    delta = (only_a - only_b) / sum(table)
    assert -1 <= interval.low <= delta + 1e-12
    assert delta - 1e-12 <= interval.high <= 1
    assert interval.low == pytest.approx(-swapped.high, abs=1e-12)


@settings(deadline=None)  # a busy machine isn't a fault
@given(st.integers(0, 60), st.integers(0, 60))
def test_no_discordance_is_no_certainty(both: int, neither: int) -> None:
    """Runs that agree on every pair leave an open difference on both sides."""
    if both + neither == 0:
        return
    interval = newcombe_paired(both, 0, 0, neither)
    assert interval.low < 0 < interval.high
    assert interval.high > 0.5 / (both + neither)


def test_pairs_are_needed() -> None:
    """No pair has no difference."""
    with pytest.raises(UndefinedEstimateError, match="at least one assessed trial"):
        newcombe_paired(0, 0, 0, 0)


def test_negative_pairs_are_refused() -> None:
    """A count below 0 is refused."""
    with pytest.raises(InputError, match="counts of pairs of at least 0"):
        newcombe_paired(3, -1, 0, 2)


def test_correlation_narrows() -> None:
    """Pairs that go together make the interval shorter, opposed ones longer."""
    widths = []
    for phi in (0.8, 0.0, -0.8):
        interval = newcombe_correlated(0.6, 0.5, 40, phi)
        widths.append(interval.high - interval.low)
    assert widths == sorted(widths)
    assert widths[0] < widths[-1]


def test_correlation_of_an_empty_margin_is_0() -> None:
    """Where one side never fails there is no correlation to use."""
    assert correlation(5, 0, 3, 0) == 0
    assert correlation(0, 3, 3, 0) == -1


def test_zero_width_is_no_interval() -> None:
    """An interval without width can't be made."""
    with pytest.raises(ValueError, match="an interval has width"):
        Interval(low=1.0, high=1.0, method="wilson")


def test_value_needs_interval() -> None:
    """A value without an interval can't be made."""
    with pytest.raises(ValueError, match="a value comes with its interval"):
        Estimate(value=0.5, interval=None, n=1, n_clusters=1)
