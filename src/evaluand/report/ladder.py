"""Facts read off a bench summary: the order of things, one cell, who is fit."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Summary = Mapping[str, Any]

_NOTHING: Mapping[str, Any] = {
    "accept": None,
    "ci95": None,
    "method": None,
    "n": 0,
    "n_assessed": 0,
    "n_clusters": 0,
    "unassessed": {},
    "bounds": None,
    "j": None,
    "j_ci95": None,
}


def in_order(present: Iterable[str], wanted: Sequence[str]) -> tuple[str, ...]:
    """Return the names present, in the wanted order, unmentioned ones last.

    A summary that went through sorted JSON has lost the order of its keys.

    >>> in_order({"a": 1, "b": 2, "c": 3}, ["c", "a", "x"])
    ('c', 'a', 'b')
    """
    names = list(present)
    first = [name for name in wanted if name in names]
    return (*first, *(name for name in names if name not in first))


def conditions(summary: Summary) -> tuple[str, ...]:
    """Return the names of the conditions in the order of the run's settings."""
    return in_order(summary["conditions"], summary["settings"].get("conditions", ()))


def tampers(summary: Summary) -> tuple[str, ...]:
    """Return the names of the conditions that tamper with a component."""
    every = summary["conditions"]
    return tuple(name for name in conditions(summary) if every[name]["tamper"])


def evaluators(summary: Summary) -> tuple[str, ...]:
    """Return the names of the evaluators, weakest first, identity last."""
    return tuple(each["name"] for each in summary["evaluators"])


def state(evaluator: Mapping[str, Any]) -> str:
    """Return ``fit``, ``unfit`` or ``inconclusive``; a rule needs no control."""
    fitness = evaluator["fitness"]
    return "fit" if fitness is None else str(fitness["state"])


def states(summary: Summary) -> dict[str, str]:
    """Return the fitness state of each evaluator."""
    return {each["name"]: state(each) for each in summary["evaluators"]}


def kinds(summary: Summary) -> dict[str, str]:
    """Return the kind of each evaluator: rule, judge, auditor or identity."""
    return {each["name"]: each["kind"] for each in summary["evaluators"]}


def cell(summary: Summary, condition: str, evaluator: str) -> dict[str, Any]:
    """Return what one evaluator made of one condition.

    Returns:
        The summary's own cell with every key present; for the identity channel,
        where the summary has no cell, the share of manifests that matched.
    """
    under = summary["conditions"][condition]
    found = under["evaluators"].get(evaluator)
    if found is None and kinds(summary).get(evaluator) == "identity":
        found = {"accept": under["identity_pass"]}
    return {**_NOTHING, **(found or {})}


def mean_cell(summary: Summary, evaluator: str) -> dict[str, Any]:
    """Return an evaluator's mean over tampers, undefined where the summary has none."""
    return {**_NOTHING, **summary["mean_tampered"].get(evaluator, {})}


def taus(summary: Summary) -> tuple[str, ...]:
    """Return the thresholds of ``blind@tau``, rising, as the summary spells them."""
    return tuple(sorted(summary["blind_at"], key=float))


def headline_tau(summary: Summary) -> str | None:
    """Return the threshold that the headline uses: .80 where it was asked for."""
    every = taus(summary)
    return next(
        (tau for tau in every if float(tau) == 0.8), every[0] if every else None
    )


def families(summary: Summary) -> tuple[str, ...]:
    """Return the task families in the order of their first mention."""
    rows = (summary["families"].get(name, {}) for name in conditions(summary))
    return tuple(dict.fromkeys(family for row in rows for family in row))


def components(summary: Summary) -> tuple[str, ...]:
    """Return the components of the localisation matrix, in order of first mention."""
    rows = (summary["localisation"].get(name, {}) for name in conditions(summary))
    return tuple(dict.fromkeys(component for row in rows for component in row))
