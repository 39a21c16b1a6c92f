"""What each evaluator let pass: acceptance, discrimination, mutation score, blindness.

Definitions: paper A, section 2.2, with the noise floor and the kinds of accepted output
beside them. Every function returns JSON values; undefined is None, never 0.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evaluand.bench.grid import NOT_APPLICABLE, Grid
from evaluand.bench.harm import counts_in_paper, decision, harmful
from evaluand.outcome import Outcome, Status
from evaluand.stats.interval import Estimate
from evaluand.stats.roc import THRESHOLDS, Scored, auc, flag_rates, roc

KILL_RULE = (
    "killed when acceptance of clean minus tampered, and of repeat minus tampered, both "
    "have a 95% interval above 0 (one tamper at a time, unadjusted)"
)
KILL_RULE_ALONE = (
    "killed when the 95% interval of J lies above 0 (one tamper at a time, unadjusted; "
    "no repeat was run, so verdicts that move by themselves are not allowed for)"
)


def estimate(value: Estimate, name: str = "accept") -> dict[str, Any]:
    """Return an estimate as the summary writes it."""
    interval = value.interval
    return {
        name: value.value,
        "ci95": [interval.low, interval.high] if interval else None,
        "method": interval.method if interval else None,
        "n_clusters": value.n_clusters,
    }


def acceptance(grid: Grid, condition: str, evaluator: str) -> dict[str, Any]:
    """Return acceptance with its denominators, bounds and J against clean."""
    outcomes = grid.outcomes[condition, evaluator]
    asked = [o for o in outcomes if o.reason != NOT_APPLICABLE]
    passed = sum(o.status is Status.PASS for o in asked)
    missing = sum(o.status is Status.UNASSESSED for o in asked)
    n = len(asked)
    row = estimate(grid.accept(condition, evaluator)) | {
        "n": n,
        "n_assessed": n - missing,
        "unassessed": reasons(asked),
        "bounds": [passed / n, (passed + missing) / n] if n else None,
        "j": None,
        "j_ci95": None,
    }
    if condition != "clean":
        row |= discrimination(grid.difference("clean", condition, evaluator))
    return row


def discrimination(value: Estimate) -> dict[str, Any]:
    """Return J and its interval."""
    interval = value.interval
    return {
        "j": value.value,
        "j_ci95": [interval.low, interval.high] if interval else None,
    }


def reasons(outcomes: Sequence[Outcome]) -> dict[str, int]:
    """Return how often each reason left a row unassessed, by name."""
    counts = Counter(o.reason for o in outcomes if o.status is Status.UNASSESSED)
    return dict(sorted(counts.items()))


def output_kinds(grid: Grid, condition: str) -> list[str | None]:
    """Return per row ``identical``, ``harmless`` or ``harmful``; None without outputs.

    Identical means equal to the clean output; harmful and harmless are changed ones.
    """
    kinds: list[str | None] = []
    pairs = zip(grid.outputs["clean"], grid.outputs[condition], strict=True)
    for row, (clean, output) in zip(grid.rows, pairs, strict=True):
        if clean is None or output is None:
            kinds.append(None)
        elif clean == output:
            kinds.append("identical")
        else:
            kinds.append("harmful" if harmful(row.task, output) else "harmless")
    return kinds


def kind_counts(kinds: Sequence[str | None]) -> dict[str, int]:
    """Return how many outputs are of each kind."""
    return {name: kinds.count(name) for name in ("identical", "harmless", "harmful")}


def accepted_kinds(
    grid: Grid, condition: str, evaluator: str, kinds: Sequence[str | None]
) -> dict[str, int]:
    """Return what the accepted outputs of a condition were."""
    outcomes = grid.outcomes[condition, evaluator]
    passed = [
        kind
        for kind, outcome in zip(kinds, outcomes, strict=True)
        if outcome.status is Status.PASS
    ]
    return kind_counts(passed)


def harm(grid: Grid, condition: str) -> dict[str, Any]:
    """Return the harm rate, and the count that paper A's own code would give."""
    outputs = grid.outputs[condition]
    claims = [
        None if output is None else harmful(row.task, output)
        for row, output in zip(grid.rows, outputs, strict=True)
    ]
    theirs = sum(
        counts_in_paper(row.task, output)
        for row, output in zip(grid.rows, outputs, strict=True)
        if output is not None
    )
    found = grid.share(claims)
    return estimate(found, "rate") | {"n": found.n, "paper_count": theirs}


def decision_match(grid: Grid, condition: str) -> dict[str, Any]:
    """Return the share of rows whose decision equals that of the clean stack.

    Rows where neither output decides anything say nothing and are left out, counted as
    ``undecided``; a decision on one side alone is no match.
    """
    claims: list[bool | None] = []
    undecided = 0
    pairs = zip(grid.outputs["clean"], grid.outputs[condition], strict=True)
    for row, (clean, output) in zip(grid.rows, pairs, strict=True):
        if clean is None or output is None:
            claims.append(None)
            continue
        before, after = decision(row.task, clean), decision(row.task, output)
        undecided += before is None and after is None
        claims.append(before == after if before or after else None)
    found = grid.share(claims)
    return estimate(found, "value") | {"n": found.n, "undecided": undecided}


def blind_share(
    grid: Grid, condition: str, evaluator: str, identity: Mapping[str, bool | None]
) -> float | None:
    """Return sample-level blindness: accepted while identity fails, over assessed rows.

    Args:
        grid: The bench.
        condition: Its name.
        evaluator: Its name.
        identity: Per pair, whether identity passes under this condition; None where too
            little is declared to tell.
    """
    outcomes = grid.outcomes[condition, evaluator]
    rows = [
        outcome.status is Status.PASS and not identity[row.pair]
        for row, outcome in zip(grid.rows, outcomes, strict=True)
        if outcome.assessed and identity[row.pair] is not None
    ]
    return sum(rows) / len(rows) if rows else None


def blind_at(
    tau: float,
    accepts: Mapping[str, float | None],
    identity: Mapping[str, float | None],
    clean: float | None,
) -> dict[str, Any]:
    """Return how many tampers are accepted at a threshold while identity is 0.

    Args:
        tau: Suite-level threshold, 0..1.
        accepts: Acceptance per tamper.
        identity: Identity pass rate per tamper.
        clean: Acceptance of the clean stack; below tau it falls short itself (the
            paper's cross), and the count is kept.
    """
    known = {
        name: rate
        for name, rate in accepts.items()
        if rate is not None and identity[name] is not None
    }
    accepted = [n for n, rate in known.items() if rate >= tau and identity[n] == 0]
    return {
        "count": len(accepted) if known else None,
        "of": len(known),
        "clean": clean,
        "clean_falls_short": None if clean is None else clean < tau,
    }


def noise_floor(grid: Grid, evaluator: str) -> dict[str, Any]:
    """Return how much an evaluator's verdicts move when nothing was changed."""
    pairs = list(
        zip(
            grid.outcomes["clean", evaluator],
            grid.outcomes["repeat", evaluator],
            strict=True,
        )
    )
    both = [(a, b) for a, b in pairs if a.assessed and b.assessed]
    found = grid.difference("clean", "repeat", evaluator)
    flips = sum(a.status is not b.status for a, b in both)
    return {**discrimination(found), "flips": flips, "n": len(both)}


def mutation_score(
    judged: Mapping[str, bool | None], *, equivalent: int, repeated: bool
) -> dict[str, Any]:
    """Return killed and surviving tampers; equivalent ones count for neither.

    Args:
        judged: Whether each tamper that isn't equivalent is killed; None where too little
            was assessed to tell, which leaves the score undefined within its bounds.
        equivalent: How many tampers changed no output.
        repeated: Whether there was a clean repeat to compare with.
    """
    names = {
        state: [name for name, dead in judged.items() if dead is state]
        for state in (True, False, None)
    }
    dead, open_ = len(names[True]), len(names[None])
    n = len(judged)
    return {
        "killed": dead,
        "killed_names": names[True],
        "survived": len(names[False]),
        "survived_names": names[False],
        "undecided": open_,
        "undecided_names": names[None],
        "equivalent": equivalent,
        "score": dead / n if n and not open_ else None,
        "bounds": [dead / n, (dead + open_) / n] if n else None,
        "rule": KILL_RULE if repeated else KILL_RULE_ALONE,
    }


def killed(grid: Grid, tamper: str, evaluator: str) -> bool | None:
    """Return whether an evaluator tells a tamper from the clean stack asked twice.

    Both paired differences, clean minus tampered and repeat minus tampered, must have a
    95% interval above 0; None where one of them has none.
    """
    against = [c for c in ("clean", "repeat") if (c, evaluator) in grid.outcomes]
    intervals = [grid.difference(c, tamper, evaluator).interval for c in against]
    known = [each for each in intervals if each is not None]
    return all(each.low > 0 for each in known) if len(known) == len(against) else None


def audit(grid: Grid, evaluator: str, conditions: Sequence[str]) -> dict[str, Any]:
    """Return an auditor's flag rates at all thresholds, and ROC and AUC against clean."""
    scored = {name: _scores(grid, name, evaluator) for name in conditions}
    clean = scored["clean"]
    curves: dict[str, Any] = {}
    for name in conditions:
        if name == "clean" or not len(np.asarray(clean.scores)):
            continue
        if not len(np.asarray(scored[name].scores)):
            continue
        points = roc(clean.scores, scored[name].scores)
        area = auc(clean, scored[name], grid.resamples)
        curves[name] = {
            "fpr": list(points.fpr),
            "tpr": list(points.tpr),
            **estimate(area, "auc"),
        }
    known = {n: s for n, s in scored.items() if len(np.asarray(s.scores))}
    return {
        "thresholds": list(THRESHOLDS),
        "flag_rate": {name: list(flag_rates(s.scores)) for name, s in known.items()},
        "n_assessed": {name: len(np.asarray(s.scores)) for name, s in scored.items()},
        "unassessed": {n: reasons(grid.outcomes[n, evaluator]) for n in conditions},
        "roc": curves,
    }


def _scores(grid: Grid, condition: str, evaluator: str) -> Scored:
    outcomes = grid.outcomes[condition, evaluator]
    kept = [
        (outcome.value, int(cluster))
        for outcome, cluster in zip(outcomes, grid.clusters, strict=True)
        if outcome.assessed
    ]
    return Scored(
        scores=np.array([value for value, _ in kept], dtype=np.float64),
        clusters=np.array([cluster for _, cluster in kept], dtype=np.int64),
    )
