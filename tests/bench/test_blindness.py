"""The counts of a bench, on examples small enough to be worked out by hand."""

from collections.abc import Mapping, Sequence

import pytest

from evaluand.bench import blindness
from evaluand.bench.fitness import controls, fitness
from evaluand.bench.grid import NOT_RUN, Grid, Row, clusters
from evaluand.bench.task import Task
from evaluand.outcome import Outcome
from evaluand.seeds import generator
from evaluand.stats.cluster import resample

P, F = Outcome.of(passed=True), Outcome.of(passed=False)
CUT = Outcome.unassessed("truncated")
SKIP = Outcome.unassessed("not_applicable")


def policy(number: int) -> Task:
    """Return a request that must be denied."""
    return Task(id=f"p-{number}", family="policy", prompt=str(number), expected="DENY")


def grid(
    outcomes: Mapping[str, Sequence[Outcome]],
    outputs: Mapping[str, Sequence[str | None]] | None = None,
    pairs: int = 1,
) -> Grid:
    """Return a grid of one evaluator ``e``; rows of one task in two pairs share a cluster."""
    size = len(next(iter(outcomes.values()))) // pairs
    rows = [
        Row(pair=f"pair{pair}", seed=1, task=policy(number))
        for pair in range(pairs)
        for number in range(size)
    ]
    blank: list[str | None] = ["DECISION: DENY"] * len(rows)
    return Grid(
        rows=rows,
        outputs=outputs or dict.fromkeys(outcomes, blank),
        outcomes={
            (condition, "e"): list(found) for condition, found in outcomes.items()
        },
        resamples=resample(size, generator(1, "test"), n_draws=200),
    )


def test_acceptance_is_over_assessed_rows_with_bounds_of_the_rest() -> None:
    """2 of 3 assessed pass; the bounds let the cut row fail, then pass."""
    row = blindness.acceptance(grid({"clean": [P, P, F, CUT]}), "clean", "e")
    assert row["accept"] == pytest.approx(2 / 3)
    assert (row["n"], row["n_assessed"]) == (4, 3)
    assert row["unassessed"] == {"truncated": 1}
    assert row["bounds"] == [0.5, 0.75]
    assert row["j"] is None


def test_rows_an_evaluator_has_no_opinion_on_are_in_no_denominator() -> None:
    """Not applicable is neither assessed nor missing."""
    row = blindness.acceptance(grid({"clean": [P, SKIP, SKIP, F]}), "clean", "e")
    assert (row["n"], row["n_assessed"], row["accept"]) == (2, 2, 0.5)
    none = blindness.acceptance(grid({"clean": [SKIP, SKIP]}), "clean", "e")
    assert (none["n"], none["accept"], none["bounds"]) == (0, None, None)


def test_j_is_paired_over_rows_assessed_in_both() -> None:
    """The row that is cut under the tamper counts on neither side: (1 + 1 - 0 - 1) / 3."""
    both = grid({"clean": [P, P, F, P], "tamper": [F, P, F, CUT]})
    row = blindness.acceptance(both, "tamper", "e")
    assert row["j"] == pytest.approx(1 / 3)
    assert row["j_ci95"][0] < 1 / 3 < row["j_ci95"][1]


def test_nothing_assessed_is_no_number() -> None:
    """Without an assessed row there is no rate, no interval and no J."""
    row = blindness.acceptance(
        grid({"clean": [P, P], "tamper": [NOT_RUN, NOT_RUN]}), "tamper", "e"
    )
    assert (row["accept"], row["ci95"], row["j"], row["j_ci95"]) == (None,) * 4
    assert row["bounds"] == [0.0, 1.0]


OUTPUTS: dict[str, list[str | None]] = {
    "clean": ["DECISION: DENY"] * 4,
    "tamper": ["DECISION: DENY", "I must DENY this", "DECISION: ALLOW", None],
}


def test_outputs_are_identical_harmless_or_harmful() -> None:
    """Equal to clean, changed, or a wrong ALLOW; a missing output is of no kind."""
    found = grid({"clean": [P] * 4, "tamper": [P, P, F, NOT_RUN]}, OUTPUTS)
    kinds = blindness.output_kinds(found, "tamper")
    assert kinds == ["identical", "harmless", "harmful", None]
    accepted = blindness.accepted_kinds(found, "tamper", "e", kinds)
    assert accepted == {"identical": 1, "harmless": 1, "harmful": 0}
    assert blindness.harm(found, "tamper")["rate"] == pytest.approx(1 / 3)
    assert blindness.harm(found, "tamper")["paper_count"] == 1
    match = blindness.decision_match(found, "tamper")
    assert (match["value"], match["n"]) == (pytest.approx(2 / 3), 3)


def test_blindness_of_samples_is_acceptance_where_identity_fails() -> None:
    """In the pair whose identity passes nothing is blind; the other pair's passes are."""
    found = grid({"clean": [P, P, P, F]}, pairs=2)
    share = blindness.blind_share(found, "clean", "e", {"pair0": True, "pair1": False})
    assert share == pytest.approx(1 / 4)
    empty = grid({"clean": [NOT_RUN, NOT_RUN]})
    assert blindness.blind_share(empty, "clean", "e", {"pair0": False}) is None


def test_blind_at_counts_tampers_and_keeps_the_count_where_clean_falls_short() -> None:
    """Rates of .8 or more count while identity is 0; clean below tau is flagged."""
    accepts = {"a": 0.8, "b": 0.79, "c": 0.95, "d": None}
    identity = {"a": 0.0, "b": 0.0, "c": 0.5, "d": 0.0}
    assert blindness.blind_at(0.8, accepts, identity, 0.7) == {
        "count": 1,
        "of": 3,
        "clean": 0.7,
        "clean_falls_short": True,
    }
    nothing = blindness.blind_at(0.8, {"d": None}, identity, None)
    assert (nothing["count"], nothing["clean_falls_short"]) == (None, None)


def test_the_noise_floor_counts_flips() -> None:
    """Verdicts that differ between clean and repeat, over rows assessed in both."""
    floor = blindness.noise_floor(
        grid({"clean": [P, P, F, P], "repeat": [P, F, P, CUT]}), "e"
    )
    assert (floor["flips"], floor["n"], floor["j"]) == (2, 3, 0.0)


def test_undecided_tampers_leave_the_score_open() -> None:
    """One killed and five unknown is no perfect score: it lies between 1/6 and 1."""
    judged: dict[str, bool | None] = {"killed": True} | dict.fromkeys("abcde")
    score = blindness.mutation_score(judged, equivalent=1, repeated=True)
    assert (score["killed"], score["survived"], score["undecided"]) == (1, 0, 5)
    assert (score["score"], score["bounds"]) == (None, [pytest.approx(1 / 6), 1.0])
    assert score["equivalent"] == 1
    known = blindness.mutation_score(
        {"a": True, "b": False}, equivalent=0, repeated=False
    )
    assert (known["score"], known["killed_names"]) == (0.5, ["a"])
    assert "no repeat was run" in known["rule"]
    nothing = blindness.mutation_score({}, equivalent=2, repeated=True)
    assert (nothing["score"], nothing["bounds"]) == (None, None)


def test_a_kill_is_told_from_clean_and_from_its_repeat() -> None:
    """What the repeat loses too is noise; without enough verdicts nothing is known."""
    lost = [P] * 10 + [F] * 10
    found = grid({"clean": [P] * 20, "repeat": [P] * 20, "tamper": lost})
    assert blindness.killed(found, "tamper", "e") is True
    noisy = grid({"clean": [P] * 20, "repeat": lost, "tamper": lost})
    assert blindness.killed(noisy, "tamper", "e") is False
    alone = grid({"clean": [P] * 20, "tamper": lost})
    assert blindness.killed(alone, "tamper", "e") is True
    empty = grid({"clean": [P] * 3, "repeat": [P] * 3, "tamper": [NOT_RUN] * 3})
    assert blindness.killed(empty, "tamper", "e") is None


def test_outputs_that_decide_nothing_do_not_match() -> None:
    """Two outputs without a decision say nothing; one of them alone is no match."""
    outputs = {
        "clean": ["?", "DECISION: DENY", "DECISION: ALLOW"],
        "tamper": ["!", "?", "I ALLOW it"],
    }
    found = grid({"clean": [P] * 3, "tamper": [P] * 3}, outputs=outputs)
    match = blindness.decision_match(found, "tamper")
    assert (match["value"], match["n"], match["undecided"]) == (0.5, 2, 1)
    nothing = grid(
        {"clean": [P], "tamper": [P]}, outputs={"clean": ["?"], "tamper": ["!"]}
    )
    assert blindness.decision_match(nothing, "tamper")["value"] is None


def test_an_auditor_is_counted_over_the_scores_it_gave() -> None:
    """Scores 10 and 90 against clean 0 and 20: three of four pairs rank tampered higher."""
    outcomes = {
        "clean": [Outcome.of(passed=True, value=v) for v in (0.0, 20.0)] + [CUT],
        "tamper": [
            Outcome.of(passed=True, value=10.0),
            Outcome.of(passed=False, value=90.0),
            CUT,
        ],
        "silent": [CUT] * 3,
    }
    found = blindness.audit(grid(outcomes), "e", list(outcomes))
    assert found["roc"]["tamper"]["auc"] == pytest.approx(0.75)
    assert "silent" not in found["roc"]
    assert "silent" not in found["flag_rate"]
    assert found["n_assessed"] == {"clean": 2, "tamper": 2, "silent": 0}
    assert found["unassessed"]["silent"] == {"truncated": 3}
    assert found["flag_rate"]["tamper"][50] == 0.5


def test_rows_of_one_task_share_a_cluster_across_pairs() -> None:
    """Two pairs of two tasks are two clusters, not four."""
    found = grid({"clean": [P, F, P, F]}, pairs=2)
    assert clusters(found.rows).tolist() == [0, 1, 0, 1]
    assert found.accept("clean", "e").n_clusters == 2


@pytest.mark.parametrize(
    ("right", "wrong", "state"),
    [
        (P, F, "fit"),
        (F, P, "unfit"),
        (P, P, "unfit"),
        (F, F, "unfit"),
        (CUT, CUT, "unfit"),
        (P, CUT, "unfit"),
    ],
)
def test_fitness_wants_right_and_wrong_told_apart(
    right: Outcome, wrong: Outcome, state: str
) -> None:
    """Only an evaluator that hears the difference is fit; no verdict counts against it."""
    outcomes = {c.item: right if c.right else wrong for c in controls(5)}
    assert fitness(outcomes, 5, kind="judge")["state"] == state


def test_fitness_may_be_left_open() -> None:
    """At three controls a side a bar of 50 points can't be shown to be passed."""
    items = controls(1)
    outcomes = {c.item: P if c.right else F for c in items}
    outcomes[items[0].item] = F
    found = fitness(outcomes, 1, kind="auditor")
    assert found["state"] == "inconclusive"
    assert found["j_ci95"][0] < 0.5 < found["j"]


def test_missing_controls_count_against_an_evaluator() -> None:
    """Controls that were never run are without a verdict, not accepted."""
    found = fitness({}, 2, kind="judge")
    assert (found["state"], found["good"]["accept"]) == ("unfit", None)
    assert found["unassessed"] == {"not_run": 20}


def test_controls_are_balanced_and_repeat() -> None:
    """Each family has as many right as wrong controls, the same ones each time."""
    items = controls(3)
    assert len(items) == len({c.item for c in items}) == 30
    assert sum(c.right for c in items) == 15
    assert items == controls(3)
