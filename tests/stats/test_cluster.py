"""Rates over clustered rows: what they count, their edges, their coverage."""

import time
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from evaluand.errors import InputError
from evaluand.seeds import generator
from evaluand.stats.cluster import (
    Resamples,
    mean_difference,
    mean_rate,
    percentile_interval,
    rate,
    rate_difference,
    resample,
)
from evaluand.stats.interval import Estimate, Interval, newcombe_paired, wilson

Rows = NDArray[np.float64]


def draws(n_clusters: int, n_draws: int = 1_000) -> Resamples:
    return resample(n_clusters, generator(42, "bootstrap", n_clusters), n_draws=n_draws)


def interval_of(estimate: Estimate) -> Interval:
    assert estimate.interval is not None
    return estimate.interval


def test_resample_is_deterministic() -> None:
    """One generator gives one set of draws, each as large as the task set."""
    first, second = draws(30), draws(30)
    assert np.array_equal(first.counts, second.counts)
    assert set(first.counts.sum(axis=1).tolist()) == {30.0}
    assert first.n_clusters == 30


@pytest.mark.parametrize(("n_clusters", "n_draws"), [(0, 500), (5, 99)])
def test_resample_refuses_too_few(n_clusters: int, n_draws: int) -> None:
    """No cluster or too few draws can't be resampled."""
    with pytest.raises(InputError, match="at least 1 cluster and 100 draws"):
        resample(n_clusters, generator(1), n_draws=n_draws)


def test_identical_repeats_add_nothing() -> None:
    """20 items with 10 identical repeats have the interval of the 20 items."""
    items = np.array([1.0] * 10 + [0.0] * 10)
    once = rate(items, np.ones(20), draws(20))
    often = rate(items * 10, np.full(20, 10), draws(20))
    assert often.value == once.value == 0.5
    assert interval_of(often) == interval_of(once)
    assert (often.n, often.n_clusters, once.n) == (200, 20, 20)
    # Rows taken as independent would give about 0.14.
    assert interval_of(often).high - interval_of(often).low > 0.38


@pytest.mark.parametrize("passes", [0, 20])
def test_edges_are_wilson_on_clusters(passes: int) -> None:
    """At 0 and 1 repeats don't shorten Wilson's interval of the items."""
    passed = np.full(20, 10.0 if passes else 0.0)
    estimate = rate(passed, np.full(20, 10), draws(20))
    assert interval_of(estimate) == wilson(passes, 20)
    assert estimate.value == (1.0 if passes else 0.0)


def test_unassessed_clusters_leave_the_denominator() -> None:
    """Clusters without an assessed row count neither as pass nor as failure."""
    assessed = np.array([1.0] * 25 + [0.0] * 95)
    estimate = rate(np.zeros(120), assessed, draws(120))
    assert (estimate.n, estimate.n_clusters) == (25, 25)
    assert interval_of(estimate) == wilson(0, 25)


def test_empty_draws_are_conditioned_away() -> None:
    """Draws that hold no assessed row leave the rate alone instead of being 0."""
    passed, assessed = np.zeros(200), np.zeros(200)
    assessed[:6], passed[:3] = 1, 1
    resamples = draws(200)
    empty = (resamples.counts @ assessed) == 0
    estimate = rate(passed, assessed, resamples)
    kept = Resamples(counts=resamples.counts[~empty])
    assert empty.any()
    assert estimate == rate(passed, assessed, kept)
    assert interval_of(estimate).method == "cluster-bootstrap"


def test_no_assessed_row_has_no_value() -> None:
    """Nothing assessed is no rate, rather than 0."""
    nothing = rate(np.zeros(8), np.zeros(8), draws(8))
    assert nothing == Estimate(value=None, interval=None, n=0, n_clusters=0)


def test_equal_clusters_keep_width() -> None:
    """Where each cluster passes half its rows the bootstrap has no width, Wilson has."""
    estimate = rate(np.full(20, 2), np.full(20, 4), draws(20))
    assert estimate.value == 0.5
    assert interval_of(estimate) == wilson(10, 20)


def test_few_clusters_are_wilson() -> None:
    """Four clusters can't show by resampling what they leave open."""
    estimate = rate([3, 1, 2, 3], [4, 4, 4, 4], draws(4))
    assert interval_of(estimate) == wilson(2.25, 4)


def test_one_failing_cluster_is_wilson() -> None:
    """One failure among 200 rows doesn't give an interval that ends at .985."""
    passed = np.full(20, 10.0)
    passed[0] = 9
    estimate = rate(passed, np.full(20, 10), draws(20))
    assert interval_of(estimate) == wilson(19.9, 20)


def test_no_defined_draw_has_no_percentiles() -> None:
    """Draws that all leave the statistic undefined give no interval."""
    assert percentile_interval(0.5, np.full(100, np.nan), 9, 0.95) is None


@settings(deadline=None)  # a busy machine isn't a fault
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=9)
)
def test_rate_laws(rows: list[tuple[int, int]]) -> None:
    """The point is rows over rows, within an interval that has width and stays in 0..1."""
    passed = np.array([min(row) for row in rows])
    assessed = np.array([row[1] for row in rows])
    estimate = rate(passed, assessed, draws(len(rows), 100))
    if estimate.value is None:
        assert assessed.sum() == 0
        return
    interval = interval_of(estimate)
    assert estimate.value == pytest.approx(passed.sum() / assessed.sum())
    assert -1e-12 <= interval.low <= estimate.value + 1e-12
    assert estimate.value - 1e-12 <= interval.high <= 1 + 1e-12
    assert interval.low < interval.high


@pytest.mark.parametrize(
    ("passed", "assessed", "message"),
    [
        ([1, 1], [1, 1, 1], "of shape"),
        ([[1, 1, 1]], [1, 1, 1], "of shape"),
        ([2, 1, 1], [1, 1, 1], "0 <= passed <= assessed"),
        ([-1, 1, 1], [1, 1, 1], "0 <= passed <= assessed"),
        ([0, 0, 0], [1, 1, np.inf], "0 <= passed <= assessed"),
        ([np.nan, 0, 0], [1, 1, 1], "0 <= passed <= assessed"),
    ],
)
def test_wrong_arrays_are_refused(
    passed: list[float], assessed: list[float], message: str
) -> None:
    """Arrays that don't fit the clusters or each other are refused."""
    with pytest.raises(InputError, match=message):
        rate(passed, assessed, draws(3))


def test_difference_of_single_rows_is_newcombe() -> None:
    """With a row a cluster the paired table decides, over clusters assessed on both."""
    a = np.array([1] * 30 + [0] * 20 + [1] * 5)
    b = np.array([1] * 18 + [0] * 12 + [1] * 2 + [0] * 18 + [0] * 5)
    b_assessed = np.array([1] * 50 + [0] * 5)
    estimate = rate_difference(a, np.ones(55), b, b_assessed, draws(55))
    assert estimate.value == pytest.approx(0.2)
    assert interval_of(estimate) == newcombe_paired(18, 12, 2, 18)
    assert (estimate.n, estimate.n_clusters) == (50, 50)


@pytest.mark.parametrize("repeats", [1, 3])
def test_agreement_everywhere(repeats: int) -> None:
    """Runs that agree on every item differ by 0 with an interval on both sides of it."""
    rows = np.array([1] * 20 + [0] * 4) * repeats
    assessed = np.full(24, repeats)
    estimate = rate_difference(rows, assessed, rows, assessed, draws(24))
    interval = interval_of(estimate)
    assert estimate.value == 0
    assert interval.method == "newcombe-paired"
    assert interval.low == pytest.approx(newcombe_paired(20, 0, 0, 4).low)
    assert interval.high == pytest.approx(newcombe_paired(20, 0, 0, 4).high)


@pytest.mark.parametrize("repeats", [1, 3])
def test_all_passing_on_both_sides(repeats: int) -> None:
    """Two perfect runs leave open what Wilson's limits leave open."""
    rows = np.full(24, repeats)
    interval = interval_of(rate_difference(rows, rows, rows, rows, draws(24)))
    assert interval.low < -0.1
    assert interval.high > 0.1


@pytest.mark.parametrize("repeats", [1, 3])
def test_complete_separation(repeats: int) -> None:
    """A difference of 1 has an interval below it."""
    rows = np.full(24, repeats)
    estimate = rate_difference(rows, rows, np.zeros(24), rows, draws(24))
    assert estimate.value == 1
    assert interval_of(estimate) == newcombe_paired(0, 24, 0, 0)


def test_difference_with_repeats_is_bootstrapped() -> None:
    """Several rows a cluster give the percentile interval of the paired clusters."""
    rng = generator(7, "rows")
    assessed = np.full(40, 3)
    a, b = rng.binomial(3, 0.8, 40), rng.binomial(3, 0.5, 40)
    estimate = rate_difference(a, assessed, b, assessed, draws(40))
    interval = interval_of(estimate)
    assert interval.method == "cluster-bootstrap"
    assert estimate.value == pytest.approx(a.sum() / 120 - b.sum() / 120)
    assert interval.low < 0.3 < interval.high
    assert (estimate.n, estimate.n_clusters) == (120, 40)


def test_pairing_shortens() -> None:
    """Sides that go together by task differ with less noise than shuffled ones."""
    rng = generator(7, "tasks")
    a = np.where(rng.random(60) < 0.5, 3, 0).astype(float)
    b = np.where(rng.random(60) < 0.15, np.maximum(a - 1, 0), a)
    rows = np.full(60, 3)
    paired = interval_of(rate_difference(a, rows, b, rows, draws(60)))
    loose = interval_of(rate_difference(a, rows, rng.permutation(b), rows, draws(60)))
    assert paired.high - paired.low < 0.5 * (loose.high - loose.low)


def test_difference_without_shared_clusters() -> None:
    """Sides assessed on different tasks have no paired difference."""
    left, right = np.array([1, 0] * 5), np.array([0, 1] * 5)
    estimate = rate_difference(left, left, right, right, draws(10))
    assert estimate == Estimate(value=None, interval=None, n=0, n_clusters=0)


@settings(deadline=None)  # a busy machine isn't a fault
@given(
    st.lists(
        st.tuples(*[st.integers(0, 2)] * 4),
        min_size=1,
        max_size=8,
    )
)
def test_difference_laws(rows: list[tuple[int, int, int, int]]) -> None:
    """The interval holds the point, has width, and swapping the sides turns the sign."""
    table = np.array(rows, dtype=float)
    a, b = np.minimum(table[:, 0], table[:, 1]), np.minimum(table[:, 2], table[:, 3])
    resamples = draws(len(rows), 100)
    estimate = rate_difference(a, table[:, 1], b, table[:, 3], resamples)
    swapped = rate_difference(b, table[:, 3], a, table[:, 1], resamples)
    if estimate.value is None:
        assert swapped.value is None
        return
    interval = interval_of(estimate)
    assert swapped.value == pytest.approx(-estimate.value)
    assert interval.low - 1e-12 <= estimate.value <= interval.high + 1e-12
    assert interval.low < interval.high


def test_mean_is_unweighted() -> None:
    """Each tamper weighs the same, however many of its rows were assessed."""
    full = np.ones(30), np.ones(30)
    few = np.zeros(30), np.array([1] * 6 + [0] * 24)
    estimate = mean_rate([full, few], draws(30))
    assert estimate.value == 0.5
    assert (estimate.n, estimate.n_clusters) == (36, 6)
    assert interval_of(estimate) == wilson(3, 6)


@pytest.mark.parametrize("passes", [0, 1])
def test_mean_at_the_edges(passes: int) -> None:
    """Six tampers all accepted, or none, leave open what 24 tasks leave open."""
    cell = np.full(24, passes), np.ones(24)
    estimate = mean_rate([cell] * 6, draws(24))
    assert estimate.value == passes
    assert interval_of(estimate) == wilson(24 * passes, 24)


def test_mean_resamples_jointly() -> None:
    """Six copies of one cell have its interval, not one shorter by the root of six."""
    cell = np.array([1, 0, 1] * 10), np.ones(30)
    one, six = mean_rate([cell], draws(30)), mean_rate([cell] * 6, draws(30))
    assert interval_of(six).low == pytest.approx(interval_of(one).low)
    assert interval_of(six).high == pytest.approx(interval_of(one).high)


def test_mean_with_an_empty_cell_has_no_value() -> None:
    """A mean in which one tamper wasn't assessed isn't the mean of the others."""
    cell, empty = (np.ones(9), np.ones(9)), (np.zeros(9), np.zeros(9))
    estimate = mean_rate([cell, empty], draws(9))
    assert estimate == Estimate(value=None, interval=None, n=9, n_clusters=0)


def test_no_cell_is_refused() -> None:
    """A mean over no cell is a wrong call."""
    with pytest.raises(InputError, match="at least one cell"):
        mean_rate([], draws(3))


def test_mean_difference_of_clean_and_tampers() -> None:
    """The mean of J over tampers is the mean of the paired differences."""
    clean = np.array([1] * 28 + [0] * 2), np.ones(30)
    tampers = [
        (np.array([1] * (20 - 4 * i) + [0] * (10 + 4 * i)), np.ones(30))
        for i in range(3)
    ]
    estimate = mean_difference([clean] * 3, tampers, draws(30))
    each = [rate_difference(*clean, *tamper, draws(30)).value for tamper in tampers]
    assert estimate.value == pytest.approx(np.mean([value or 0.0 for value in each]))
    assert interval_of(estimate).method == "cluster-bootstrap"
    assert (estimate.n, estimate.n_clusters) == (90, 30)


def test_mean_difference_without_discordance() -> None:
    """Tampers that change no verdict differ by 0 with width on both sides."""
    clean = np.array([1] * 28 + [0] * 2), np.ones(30)
    estimate = mean_difference([clean] * 3, [clean] * 3, draws(30))
    interval = interval_of(estimate)
    assert estimate.value == 0
    assert interval.method == "newcombe-paired"
    assert interval.low == pytest.approx(newcombe_paired(28, 0, 0, 2).low)


def test_mean_difference_of_unequal_sides() -> None:
    """Sides that differ in number of cells can't be paired."""
    cell = np.ones(3), np.ones(3)
    with pytest.raises(InputError, match="as many cells on both sides, got 2 and 1"):
        mean_difference([cell, cell], [cell], draws(3))


def test_a_whole_bench_is_cheap() -> None:
    """8 conditions x 8 evaluators x 5 families of 120 tasks take under a CPU second."""
    rng = generator(3, "bench")
    resamples = resample(120, rng)
    rows = np.full(120, 3)
    start = time.process_time()
    for _ in range(8 * 8 * 5):
        rate(rng.binomial(3, 0.7, 120), rows, resamples)
    # Half a second on an idle core; the rest is room for a busy machine.
    assert time.process_time() - start < 3


def coverage(
    truth: float, simulate: Callable[[np.random.Generator], Estimate], times: int
) -> float:
    rng = generator(11, "coverage")
    hits = 0
    for _ in range(times):
        interval = interval_of(simulate(rng))
        hits += interval.low <= truth <= interval.high
    return hits / times


def tasks(rng: np.random.Generator, n: int, p: float) -> Rows:
    """Rates of tasks that agree within themselves: a beta law of mean p."""
    return rng.beta(2 * p, 2 * (1 - p), n)


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 60])
@pytest.mark.parametrize("p", [0.5, 0.8, 0.95])
def test_rate_covers(n: int, p: float) -> None:
    """A nominal 95 % holds the true rate of clustered repeats 93 % of the time."""
    resamples, rows = draws(n), np.full(n, 3)

    def simulate(rng: np.random.Generator) -> Estimate:
        return rate(rng.binomial(3, tasks(rng, n, p)), rows, resamples)

    assert coverage(p, simulate, 1_000) >= 0.93


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 60])
@pytest.mark.parametrize("repeats", [1, 3])
def test_difference_covers(n: int, repeats: int) -> None:
    """The paired difference holds its true value 93 % of the time."""
    resamples, rows = draws(n), np.full(n, repeats)

    def simulate(rng: np.random.Generator) -> Estimate:
        easy = tasks(rng, n, 0.8)
        a, b = rng.binomial(repeats, easy), rng.binomial(repeats, 0.75 * easy)
        return rate_difference(a, rows, b, rows, resamples)

    assert coverage(0.2, simulate, 1_000) >= 0.93


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 60])
def test_mean_covers(n: int) -> None:
    """The mean over tampers that share their tasks holds its true value."""
    resamples, rows = draws(n), np.ones(n)

    def simulate(rng: np.random.Generator) -> Estimate:
        easy = tasks(rng, n, 0.8)
        cells = [(rng.binomial(1, factor * easy), rows) for factor in (1, 1, 0.75, 0.5)]
        return mean_rate(cells, resamples)

    assert coverage(0.8 * 3.25 / 4, simulate, 1_000) >= 0.93
