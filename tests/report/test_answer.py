"""The headline is computed, and claims no more than the run shows."""

from typing import Any

from evaluand.report import answer

Summary = dict[str, Any]


def _count(summary: Summary, **counts: int) -> None:
    for name, count in counts.items():
        summary["blind_at"]["0.8"][name.replace("_", "-").replace("1-5b", "1.5b")][
            "count"
        ] = count


def test_the_range_names_both_ends(summary: Summary) -> None:
    """The least and the most accepting fit evaluators are named with their counts."""
    _count(summary, standard=5, canary=2)
    summary["blind_at"]["0.8"]["strict"]["count"] = 3
    summary["blind_at"]["0.8"]["forensic"]["count"] = 3
    summary["blind_at"]["0.8"]["judge-1.5b"]["count"] = 4
    assert answer.sentence(summary) == (
        "Evaluators of outputs accepted between 2 (canary) and 5 (standard) of 6 tampers "
        "at τ .80; the identity check caught 6 of 6 with no sample."
    )


def test_an_unfit_evaluator_carries_no_claim(summary: Summary) -> None:
    """Unfit and inconclusive evaluators never enter the headline, whatever they count."""
    before = answer.sentence(summary)
    summary["blind_at"]["0.8"]["judge-0.5b"] |= {"count": 6, "clean_falls_short": False}
    assert answer.sentence(summary) == before
    assert answer.left_out(summary) == (
        "judge-0.5b",
        "auditor:local:qwen2.5-coder-1.5b",
    )


def test_an_evaluator_that_refuses_clean_carries_no_claim(summary: Summary) -> None:
    """Where clean falls short of tau, a low count is no merit."""
    summary["blind_at"]["0.8"]["standard"]["clean_falls_short"] = True
    assert "standard" not in answer.claimants(summary)


def test_one_evaluator_alone_is_named(summary: Summary) -> None:
    """A ladder of one says so."""
    for name, found in summary["blind_at"]["0.8"].items():
        found["clean_falls_short"] = name not in {"forensic", "identity"}
    assert answer.sentence(summary).startswith(
        "The one evaluator of outputs that counts, forensic,"
    )


def test_no_claim_without_an_evaluator_to_rest_on(summary: Summary) -> None:
    """With no fit evaluator at ease with clean, the headline makes no claim."""
    summary["blind_at"] = {}
    assert answer.sentence(summary).startswith("No evaluator of outputs was both fit")


def test_a_run_without_tampers_answers_nothing(summary: Summary) -> None:
    """A clean-only run isn't reported as a success."""
    for each in summary["conditions"].values():
        each["tamper"] = False
    assert "says nothing" in answer.sentence(summary)
    assert answer.equivalent_words(summary) == ""


def test_identity_that_refuses_clean_is_said(summary: Summary) -> None:
    """Catching everything, clean too, is no merit and is said."""
    summary["conditions"]["clean"]["identity_pass"] = 0.0
    assert answer.identity_words(summary).endswith(
        "but it refused the clean deployment too"
    )


def test_a_tamper_identity_was_not_run_on_is_not_caught(summary: Summary) -> None:
    """An undefined check counts as not checked, never as caught."""
    summary["conditions"]["model"]["identity_pass"] = None
    assert answer.identity_words(summary) == (
        "the identity check caught 5 of 6 with no sample (1 not checked)"
    )
    for each in summary["conditions"].values():
        each["identity_pass"] = None
    assert "was not run" in answer.identity_words(summary)


def test_equivalent_tampers_are_named(summary: Summary) -> None:
    """A tamper that changes no output is named, one or several."""
    assert (
        "1 of the 6 tampers changes no output here (dependencies)"
        in answer.equivalent_words(summary)
    )
    summary["conditions"]["model"]["equivalent"] = True
    assert (
        "tampers change no output here (model, dependencies)"
        in answer.equivalent_words(summary)
    )
