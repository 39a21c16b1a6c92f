"""What a reader of a bench has to know beside its numbers, in sentences."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evaluand.bench.grid import NOT_RUN
from evaluand.bench.load import Loaded
from evaluand.identity.manifest import COVERAGE
from evaluand.stats.probe import decision_shift_bound


def notes(
    loaded: Loaded, described: Mapping[str, Any], tampers: Sequence[str]
) -> list[str]:
    """Return the notes of a run.

    Args:
        loaded: The run.
        described: The summary of each condition.
        tampers: Names of the conditions that tamper.
    """
    return [
        *_sharing(loaded),
        *_missing(loaded),
        *_undeclared(loaded),
        *_served(loaded),
        *_matches(described, tampers),
    ]


def hollow(evaluators: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield which rules accept an output without an answer in it."""
    for each in evaluators:
        taken = each.get("foolable", {}).items()
        what = " and ".join(f"{name} ({', '.join(where)})" for name, where in taken)
        if what:
            yield f"{each['name']} is trivially foolable: it accepts {what}."


def _sharing(loaded: Loaded) -> Iterator[str]:
    if loaded.record["shares_replies"]:
        yield (
            "At temperature 0 conditions with an identical request share one reply "
            "(dependencies and postprocessor share all of theirs with clean); repeat asks afresh."
        )


def _missing(loaded: Loaded) -> Iterator[str]:
    outcomes = [each for row in loaded.grid.outcomes.values() for each in row]
    missing = outcomes.count(NOT_RUN)
    if missing:
        yield f"{missing} verdicts are missing (not_run): the run is not finished, or an endpoint gave no reply."


def _undeclared(loaded: Loaded) -> Iterator[str]:
    if None in loaded.identity["clean"].values():
        covered = COVERAGE[loaded.record["settings"]["coverage"]]
        kinds = {
            kind
            for stack in loaded.record["stack"].values()
            for kind in stack["undeclared"]
        }
        names = ", ".join(kind for kind in covered if kind in kinds)
        yield f"Identity can't be told: the stack says nothing of {names}; declare each, or state it as none."


def _served(loaded: Loaded) -> Iterator[str]:
    """Yield what endpoints said of themselves where that isn't what was asked for."""
    for name, served in loaded.served.items():
        if served.state in ("mismatch", "mixed"):
            said = ", ".join(sorted(str(each) for each in served.models))
            providers = sorted(each for each in served.providers if each is not None)
            by = f", served by {', '.join(providers)}" if providers else ""
            yield f"{name}: {served.requested} was asked for, {said} answered{by} ({served.state})."
        if served.unpinned:
            yield f"{name}: a router chose the provider of each request; pin one with openrouter/ID@PROVIDER."


def _matches(described: Mapping[str, Any], tampers: Sequence[str]) -> Iterator[str]:
    """Yield what it means that a tamper's decisions all equal the clean ones."""
    for name in tampers:
        match = described[name]["decision_match"]
        if match["value"] == 1.0 and not described[name]["equivalent"]:
            bound = decision_shift_bound(match["n_clusters"])
            yield f"All {match['n']} decisions under the {name} tamper equal the clean ones: that bounds the shift at {bound:.1%} (one-sided 95%), it doesn't show that there is none."
