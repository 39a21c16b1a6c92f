"""Flag rates, ROC and the area under it."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluand.errors import InputError, UndefinedEstimateError
from evaluand.seeds import generator
from evaluand.stats.cluster import Resamples, resample
from evaluand.stats.interval import Estimate, Interval
from evaluand.stats.roc import Scored, auc, flag_rates, newcombe_auc, roc

scores = st.lists(st.integers(0, 100), min_size=1, max_size=12)


def draws(n_clusters: int, n_draws: int = 1_000) -> Resamples:
    return resample(n_clusters, generator(42, "bootstrap", n_clusters), n_draws=n_draws)


def each(values: list[int]) -> Scored:
    return Scored(scores=values, clusters=range(len(values)))


def interval_of(estimate: Estimate) -> Interval:
    assert estimate.interval is not None
    return estimate.interval


@settings(deadline=None)  # a busy machine isn't a fault
@given(scores)
def test_flag_rates_count(values: list[int]) -> None:
    """A row is flagged exactly where its score reaches the threshold."""
    rates = flag_rates(values)
    expected = [np.mean([value >= t for value in values]) for t in range(101)]
    assert len(rates) == 101
    assert rates == pytest.approx(expected)
    assert rates[0] == 1


@settings(deadline=None)  # a busy machine isn't a fault
@given(scores, scores)
def test_area_under_the_points(negative: list[int], positive: list[int]) -> None:
    """The trapezoids under the ROC points are the area with ties at a half."""
    curve = roc(negative, positive)
    area = sum(
        (curve.fpr[i] - curve.fpr[i + 1]) * (curve.tpr[i] + curve.tpr[i + 1]) / 2
        for i in range(101)
    )
    size = max(len(negative), len(positive))
    estimate = auc(each(negative), each(positive), draws(size, 100))
    assert estimate.value == pytest.approx(area)
    assert (curve.fpr[-1], curve.tpr[-1], curve.thresholds[-1]) == (0, 0, math.inf)


@settings(deadline=None)  # a busy machine isn't a fault
@given(scores, scores)
def test_auc_laws(negative: list[int], positive: list[int]) -> None:
    """Swapping the sides mirrors the area; the interval holds it and has width."""
    resamples = draws(12, 100)
    estimate = auc(each(negative), each(positive), resamples)
    swapped = auc(each(positive), each(negative), resamples)
    interval = interval_of(estimate)
    assert estimate.value is not None
    assert swapped.value == pytest.approx(1 - estimate.value)
    assert 0 <= interval.low <= estimate.value <= interval.high <= 1
    assert interval.low < interval.high


@pytest.mark.parametrize(("low", "high", "area"), [(10, 90, 1.0), (90, 10, 0.0)])
def test_perfect_scores_keep_width(low: int, high: int, area: float) -> None:
    """Complete separation of 24 tasks leaves an open area on one side."""
    estimate = auc(each([low] * 24), each([high] * 24), draws(24))
    interval = interval_of(estimate)
    assert estimate.value == area
    assert interval == newcombe_auc(area, 24, 24)
    assert interval.method == "newcombe-auc"
    assert 0.05 < interval.high - interval.low < 0.2


def test_a_constant_score_says_nothing() -> None:
    """An auditor that answers 50 throughout has area .5, with a wide interval."""
    estimate = auc(each([50] * 24), each([50] * 24), draws(24))
    assert estimate.value == 0.5
    assert interval_of(estimate) == newcombe_auc(0.5, 24, 24)


def test_few_clusters_are_not_bootstrapped() -> None:
    """Rows of few tasks can't show by resampling what these tasks leave open."""
    rng = generator(5, "few")
    clusters = [i % 4 for i in range(40)]
    low = Scored(scores=rng.integers(0, 80, 40), clusters=clusters)
    high = Scored(scores=rng.integers(20, 100, 40), clusters=clusters)
    assert interval_of(auc(low, high, draws(9))).method == "newcombe-auc"


def test_equal_clusters_are_not_bootstrapped() -> None:
    """Tasks that all score alike give draws of one area, so no width of their own."""
    clusters = [i // 2 for i in range(40)]
    low = Scored(scores=[10, 60] * 20, clusters=clusters)
    high = Scored(scores=[40, 90] * 20, clusters=clusters)
    estimate = auc(low, high, draws(20))
    assert estimate.value == 0.75
    assert interval_of(estimate) == newcombe_auc(0.75, 20, 20)


def test_one_loser_is_not_bootstrapped() -> None:
    """With a single clean row above the rest the percentiles would hang on it."""
    estimate = auc(each([95] + [5] * 23), each([90] * 24), draws(24))
    assert interval_of(estimate).method == "newcombe-auc"


def test_repeats_add_nothing() -> None:
    """Rows repeated within their task leave area and interval as they were."""
    rng = generator(5, "scores")
    low = rng.integers(0, 80, 30).tolist()
    high = rng.integers(20, 100, 30).tolist()
    once = auc(each(low), each(high), draws(30))
    often = auc(
        Scored(scores=low * 4, clusters=list(range(30)) * 4),
        Scored(scores=high * 4, clusters=list(range(30)) * 4),
        draws(30),
    )
    assert interval_of(once).method == "cluster-bootstrap-logit"
    assert often.value == once.value
    assert interval_of(often).low == pytest.approx(interval_of(once).low)
    assert interval_of(often).high == pytest.approx(interval_of(once).high)
    assert (once.n, often.n, often.n_clusters) == (60, 240, 30)


def test_draws_without_a_side_are_left_out() -> None:
    """Draws that hold no positive row don't count as an area of 0."""
    rng = generator(5, "sparse")
    low = Scored(scores=rng.integers(0, 80, 150), clusters=range(150))
    high = Scored(scores=[20, 30, 40, 55, 60, 70], clusters=range(6))
    resamples = draws(150)
    empty = resamples.counts[:, :6].sum(axis=1) == 0
    kept = Resamples(counts=resamples.counts[~empty])
    assert empty.any()
    assert auc(low, high, resamples) == auc(low, high, kept)


def test_a_missing_side_has_no_area() -> None:
    """Without a scored tampered row there is no area and no curve."""
    estimate = auc(each([1, 2]), each([]), draws(2))
    assert estimate == Estimate(value=None, interval=None, n=2, n_clusters=0)
    with pytest.raises(UndefinedEstimateError, match="at least one assessed row"):
        roc([1, 2], [])


@pytest.mark.parametrize("bad", [[-1], [101], [math.nan], [[1, 2]]])
def test_scores_outside_are_refused(bad: list[float]) -> None:
    """A score outside 0..100 is refused, so that an unread one can't slip in."""
    with pytest.raises(InputError, match="from 0 to 100"):
        flag_rates(bad)


@pytest.mark.parametrize("clusters", [[0], [0, 2], [-1, 0]])
def test_clusters_outside_are_refused(clusters: list[int]) -> None:
    """Each score needs a cluster that is among those resampled."""
    with pytest.raises(InputError, match="expected a cluster from 0 to 1 for each"):
        auc(Scored(scores=[1, 2], clusters=clusters), each([3]), draws(2))


@settings(deadline=None)  # a busy machine isn't a fault
@given(st.floats(0.01, 0.99), st.integers(1, 80), st.integers(1, 80))
def test_newcombe_auc_limits_solve_its_equation(area: float, m: int, n: int) -> None:
    """A limit lies z of its own standard errors from the area, mirrored for 1 - area."""
    interval = newcombe_auc(area, m, n)
    for limit in (interval.low, interval.high):
        first, second = limit / (2 - limit), 2 * limit**2 / (1 + limit)
        mean = (m + n) / 2
        # Hanley and McNeil (1982) as printed, with the mean of both sizes inside.
        variance = (
            limit * (1 - limit)
            + (mean - 1) * (first - limit**2)
            + (mean - 1) * (second - limit**2)
        ) / (m * n)
        assert abs(area - limit) == pytest.approx(1.959964 * math.sqrt(variance), 1e-4)
    mirrored = newcombe_auc(1 - area, m, n)
    assert mirrored.low == pytest.approx(1 - interval.high, abs=1e-9)


@pytest.mark.parametrize(("area", "m", "n"), [(1.1, 3, 3), (0.5, 0, 3), (0.5, 3, 0)])
def test_newcombe_auc_arguments_outside(area: float, m: int, n: int) -> None:
    """An area outside 0..1 or an empty side is refused."""
    with pytest.raises(InputError, match="expected an area from 0 to 1"):
        newcombe_auc(area, m, n)


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 60])
@pytest.mark.parametrize("distance", [0.5, 2.5])
def test_auc_covers(n: int, distance: float) -> None:
    """A nominal 95 % holds the true area of normal scores 93 % of the time."""
    rng = generator(11, "auc", n)
    resamples = draws(n)
    # Scores share a part by task; the area compares different tasks almost always.
    within = 0.5
    truth = 0.5 * (1 + math.erf(distance / 2))
    own = 0.5 * (1 + math.erf(distance / (2 * math.sqrt(1 - within))))
    truth += (own - truth) / n
    hits = 0
    for _ in range(400):
        task = rng.normal(0, math.sqrt(within), n)
        noise = rng.normal(0, math.sqrt(1 - within), (2, n))
        clean, tampered = 50 + 8 * (task + noise + [[0], [distance]])
        estimate = auc(
            Scored(scores=np.clip(clean, 0, 100), clusters=range(n)),
            Scored(scores=np.clip(tampered, 0, 100), clusters=range(n)),
            resamples,
        )
        interval = interval_of(estimate)
        hits += interval.low <= truth <= interval.high
    assert hits / 400 >= 0.93
