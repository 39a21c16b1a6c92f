"""The values that must come out of a bench whose model follows its prompt perfectly."""

from pathlib import Path
from typing import Any

import pytest

from evaluand.bench.plan import PRESETS
from evaluand.bench.summary import derive
from evaluand.bench.tamper import CONDITIONS
from evaluand.report.page import render_page
from evaluand.store import Store

TAMPERS = [name for name, condition in CONDITIONS.items() if condition.tamper]
RULES = ("standard", "strict", "forensic", "canary")


@pytest.fixture(scope="module")
def summary(finished: Path) -> dict[str, Any]:
    """Return the summary of the scripted bench."""
    return derive(finished).summary


def test_clean_is_accepted_by_every_evaluator(summary: dict[str, Any]) -> None:
    """A perfect model on the declared stack passes everywhere, identity included."""
    clean = summary["conditions"]["clean"]
    assert {row["accept"] for row in clean["evaluators"].values()} == {1.0}
    assert clean["identity_pass"] == 1.0
    assert clean["harm"]["rate"] == 0.0


def test_dependencies_equal_clean_for_every_evaluator(summary: dict[str, Any]) -> None:
    """A changed lock changes no output, so no evaluator of outputs moves."""
    clean = summary["conditions"]["clean"]["evaluators"]
    moved = summary["conditions"]["dependencies"]
    for name, row in moved["evaluators"].items():
        if name != "identity":
            assert row["accept"] == clean[name]["accept"]
            assert row["j"] == 0.0
    assert moved["equivalent"]
    assert moved["outputs"] == {"identical": 120, "harmless": 0, "harmful": 0}


@pytest.mark.parametrize("evaluator", ["standard", "strict", "forensic"])
def test_postprocessor_fails_where_the_suite_looks(
    summary: dict[str, Any], evaluator: str
) -> None:
    """Turned refusals fall on secret and canary tasks and leave fact and tool alone."""
    rates = {
        family: row[evaluator]["accept"]
        for family, row in summary["families"]["postprocessor"].items()
    }
    assert rates["secret"] == rates["canary"] == 0.0
    assert rates["fact"] == rates["tool"] == 1.0
    assert 0 < rates["policy"] < 1


def test_identity_rejects_every_tamper_and_no_clean_stack(
    summary: dict[str, Any],
) -> None:
    """The identity channel is 0 on the six tampers and 1 on clean and repeat."""
    passes = {name: c["identity_pass"] for name, c in summary["conditions"].items()}
    assert [passes.pop(name) for name in TAMPERS] == [0.0] * 6
    assert passes == {"clean": 1.0, "repeat": 1.0}
    assert summary["mutation"]["identity"]["killed"] == 6


def test_each_tamper_is_localised_to_its_own_components(
    summary: dict[str, Any],
) -> None:
    """The mismatching components are those the tamper declares, all of them, no other."""
    for name, rates in summary["localisation"].items():
        moved = {kind for kind, rate in rates.items() if rate}
        assert moved == set(CONDITIONS[name].moves)
        assert set(rates.values()) <= {0.0, 1.0}


def test_acceptance_adds_up(summary: dict[str, Any]) -> None:
    """Every cell's denominators and bounds fit, and J is clean minus tampered."""
    conditions = summary["conditions"]
    for name in TAMPERS:
        for evaluator in RULES:
            row = conditions[name]["evaluators"][evaluator]
            clean = conditions["clean"]["evaluators"][evaluator]["accept"]
            assert row["n"] == (12 if evaluator == "canary" else 120)
            assert row["n_assessed"] == row["n"]
            assert row["j"] == pytest.approx(clean - row["accept"])
            assert row["ci95"][0] <= row["accept"] <= row["ci95"][1]
            assert row["ci95"][0] < row["ci95"][1]
            assert conditions[name]["blind"][evaluator] == pytest.approx(row["accept"])
            kinds = conditions[name]["accepted"][evaluator]
            assert sum(kinds.values()) == round(row["accept"] * row["n"])


def test_noise_floor_is_zero_and_mutants_die(summary: dict[str, Any]) -> None:
    """A rule asked afresh says the same; each tamper that changes outputs is killed."""
    assert summary["noise_floor"]["standard"]["flips"] == 0
    score = summary["mutation"]["standard"]
    assert (score["killed"], score["equivalent"], score["score"]) == (5, 1, 1.0)


def test_blind_at_falls_as_the_threshold_rises(summary: dict[str, Any]) -> None:
    """A higher bar accepts no more tampers, and a perfect clean run never falls short."""
    for name in RULES:
        counts = [
            summary["blind_at"][tau][name]["count"] for tau in ("0.7", "0.8", "0.9")
        ]
        assert counts == sorted(counts, reverse=True)
        assert not summary["blind_at"]["0.9"][name]["clean_falls_short"]


def test_the_auditor_ranks_tampered_above_clean(summary: dict[str, Any]) -> None:
    """The scripted auditor flags what is wrong: its area is above one half, clean at 0."""
    audit = summary["auditors"]["auditor:scripted"]
    assert len(audit["thresholds"]) == len(audit["flag_rate"]["clean"]) == 101
    assert audit["flag_rate"]["clean"][50] == 0.0
    assert audit["roc"]["prompt"]["auc"] > 0.6
    assert audit["roc"]["dependencies"]["auc"] == 0.5


def test_scripted_results_say_so(summary: dict[str, Any]) -> None:
    """No number of a scripted run can be read as a finding."""
    assert summary["scripted"] is True


def test_two_derivations_are_byte_identical(finished: Path) -> None:
    """The same store gives the same summary and the same page."""
    first, second = derive(finished), derive(finished)
    assert first.summary == second.summary
    pages = [render_page(each.summary, each.samples) for each in (first, second)]
    assert pages[0] == pages[1]


def test_identical_requests_are_asked_once(finished: Path) -> None:
    """Seven conditions ask for five sevenths of their samples, repeat for its own."""
    with Store(finished / "run.sqlite", readonly=True) as store:
        samples = list(store.rows("sample"))
        asked = {row["exchange"] for row in samples if row["condition"] != "repeat"}
        repeated = {row["exchange"] for row in samples if row["condition"] == "repeat"}
        judged = [e for e in store.rows("exchange") if "VERDICT" in e["request"]]
        outputs = {(row["task"], row["output"]) for row in samples}
    assert len(samples) == 8 * 120
    assert len(asked) <= 5 * 120
    assert len(repeated) == 120
    assert not asked & repeated
    # each distinct output once, and the controls
    assert len(judged) <= len(outputs) + 2 * 25


def test_the_paper_preset_has_7560_samples() -> None:
    """Three pairs, three seeds, seven conditions besides repeat, 120 tasks."""
    paper = PRESETS["paper"]
    conditions = [name for name in CONDITIONS if name != "repeat"]
    cells = len(paper["pairs"]) * len(paper["seeds"]) * len(conditions)
    assert cells * paper["tasks"] == 7560
