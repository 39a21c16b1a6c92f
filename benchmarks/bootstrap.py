"""The intervals of a paper-sized bench, beside `scipy.stats.bootstrap` on the same data.

7,560 outcomes an evaluator: 360 clusters (3 seeds, 120 tasks) of 3 pairs under 7
conditions, for 4 evaluators: 28 rates and 24 differences from clean, each with 2,000
resamples of the clusters. Both get passed and assessed rows per cluster.

Ours multiplies matrices, and on a busy machine OpenBLAS's threads spin for each other: so
it is measured as installed, which is what counts, and with one thread.
"""

import os
import sys

import numpy as np
from numpy.typing import NDArray

import measure
from measure import Measured

CLUSTERS, PAIRS, CONDITIONS, EVALUATORS = 360, 3, 7, 4
DRAWS = 2_000
Counts = NDArray[np.float64]


def passed_rows() -> Counts:
    """Return passed rows, array (evaluators, conditions, clusters), 0..3."""
    generator = np.random.default_rng(20240817)
    # tasks differ in difficulty, so rows of one cluster go together
    rates = generator.beta(2, 1, size=(EVALUATORS, CONDITIONS, CLUSTERS))
    return generator.binomial(PAIRS, rates).astype(np.float64)


def evaluand() -> Measured:
    """Draw the clusters once and read every interval off the same draws."""
    from evaluand.seeds import generator
    from evaluand.stats.cluster import rate, rate_difference, resample

    every, rows = passed_rows(), np.full(CLUSTERS, float(PAIRS))
    rate(every[0, 0], rows, resample(CLUSTERS, generator(1, "warm")))
    with measure.clock() as cost:
        resamples = resample(CLUSTERS, generator(42, "bootstrap"), n_draws=DRAWS)
        found = []
        for conditions in every:
            clean = conditions[0]
            found += [rate(passed, rows, resamples) for passed in conditions]
            found += [
                rate_difference(clean, rows, passed, rows, resamples)
                for passed in conditions[1:]
            ]
    intervals = [each.interval for each in found]
    return _figures(cost, [(i.low, i.high) for i in intervals if i is not None])


def scipy(method: str) -> Measured:
    """Bootstrap each statistic by itself, vectorized, which is how it is called."""
    from scipy.stats import bootstrap  # type: ignore[import-untyped, unused-ignore]

    every, rows = passed_rows(), np.full(CLUSTERS, float(PAIRS))

    def share(passed: Counts, n: Counts, axis: int = -1) -> Counts:
        shares: Counts = passed.sum(axis=axis) / n.sum(axis=axis)
        return shares

    def difference(a: Counts, b: Counts, n: Counts, axis: int = -1) -> Counts:
        return share(a, n, axis) - share(b, n, axis)

    def interval(*data: Counts, of: object) -> tuple[float, float]:
        found = bootstrap(
            data,
            of,
            n_resamples=DRAWS,
            paired=True,
            vectorized=True,
            method=method,
            random_state=np.random.default_rng(42),
        ).confidence_interval
        return float(found.low), float(found.high)

    interval(every[0, 0], rows, of=share)
    with measure.clock() as cost:
        found = []
        for conditions in every:
            clean = conditions[0]
            found += [interval(passed, rows, of=share) for passed in conditions]
            found += [
                interval(clean, passed, rows, of=difference)
                for passed in conditions[1:]
            ]
    return _figures(cost, found)


def _figures(cost: Measured, intervals: list[tuple[float, float]]) -> Measured:
    assert len(intervals) == EVALUATORS * (2 * CONDITIONS - 1)
    return {
        "cpu_s": cost["cpu_s"],
        "wall_s": cost["wall_s"],
        "ms_cpu_per_interval": cost["cpu_s"] / len(intervals) * 1e3,
        "peak_rss_mb": measure.peak_mb(),
        "mean_width": sum(high - low for low, high in intervals) / len(intervals),
    }


def run(peers: str | None) -> None:
    """Measure both, each in its own process."""
    own = measure.child(sys.executable, "evaluand")
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    single = measure.child(sys.executable, "evaluand")
    del os.environ["OPENBLAS_NUM_THREADS"]
    others = {
        f"scipy {method}": measure.child(peers, "scipy", method=method)
        for method in ("percentile", "BCa")
    }
    measure.report(
        "bootstrap",
        {"evaluand": own, "evaluand, 1 thread": single, **others},
        own | {"one_thread": single},
        {name: measure.known(row) for name, row in others.items()},
        {
            f"{key} vs {name}": measure.over(own, row, key)
            for name, row in others.items()
            for key in ("cpu_s", "mean_width")
        },
    )


if __name__ == "__main__":
    measure.main(run, evaluand=evaluand, scipy=scipy)
