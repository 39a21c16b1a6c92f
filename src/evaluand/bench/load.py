"""A run folder read back: what was planned, what was observed, what came out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluand.bench.grid import NOT_APPLICABLE, NOT_RUN, Grid, Row, clusters
from evaluand.bench.record import DATABASE, JUDGING, read_record
from evaluand.bench.rules import RULES
from evaluand.bench.stored import Stored, StoredSample, read_stored
from evaluand.bench.suite import tasks
from evaluand.bench.unit import place
from evaluand.chat.served import Served
from evaluand.errors import InputError, StoreError
from evaluand.identity.manifest import (
    COVERAGE,
    DIFFERENT,
    Comparison,
    compare,
    from_digests,
)
from evaluand.outcome import Outcome
from evaluand.seeds import generator
from evaluand.stats.cluster import resample

N_DRAWS = 2000


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """A run folder, read.

    Args:
        record: What was asked for.
        grid: Outputs and outcomes.
        identity: By condition and pair, whether the manifest passes; None where too little
            is declared to tell.
        mismatches: By condition and component, the share of pairs where it differs.
        missing: By condition, why samples have no output, one reason each.
        truncated: By condition, outputs that were cut at their limit.
        controls: By evaluator digest and control, the outcome.
        cost: Exchanges and their tokens.
        served: By model, what its endpoint says answered.
    """

    record: dict[str, Any]
    grid: Grid
    identity: dict[str, dict[str, bool | None]]
    mismatches: dict[str, dict[str, float]]
    missing: dict[str, list[str]]
    truncated: dict[str, int]
    controls: Mapping[str, Mapping[str, Outcome]]
    cost: dict[str, int]
    served: dict[str, Served]


def load(folder: Path) -> Loaded:
    """Return a run as it stands.

    Raises:
        InputError: If the folder holds no run, or one whose tasks aren't settled.
        IntegrityError: If two samples stand at one place.
        StoreError: If the store can't be read, or is damaged.
    """
    record = read_record(folder)
    if record["tasks"] is None:
        msg = f"{folder}: this run hasn't settled its number of tasks yet; resume it with: {record['command']}"
        raise InputError(msg)
    models = record["provenance"]["models"].items()
    stored = read_stored(
        folder / DATABASE, {name.removesuffix(JUDGING): i for name, i in models}
    )
    conditions: list[str] = record["settings"]["conditions"]
    compared = _compared(folder, record, stored)
    rows = _rows(record)
    found = {c: [_sample(stored, row, c) for row in rows] for c in conditions}
    return Loaded(
        record=record,
        grid=_grid(record, stored, rows, found),
        identity={
            c: {pair: _passes(each) for pair, each in by_pair.items()}
            for c, by_pair in compared.items()
        },
        mismatches={
            c: {kind: _share_different(kind, by_pair) for kind in COVERAGE["full"]}
            for c, by_pair in compared.items()
        },
        missing={
            c: [
                sample.reason if sample else _without(stored, row, c).reason
                for row, sample in zip(rows, found[c], strict=True)
                if sample is None or sample.output is None
            ]
            for c in conditions
        },
        truncated={c: sum(s.truncated for s in found[c] if s) for c in conditions},
        controls=stored.controls,
        cost=stored.cost,
        served=stored.served,
    )


def _rows(record: Mapping[str, Any]) -> list[Row]:
    return [
        Row(pair=pair, seed=seed, task=task)
        for pair in record["stack"]
        for seed in record["settings"]["seeds"]
        for task in tasks(seed, record["tasks"])
    ]


def _compared(
    folder: Path, record: Mapping[str, Any], stored: Stored
) -> dict[str, dict[str, Comparison]]:
    """Return by condition and pair how the stack that ran compares with the declared."""
    settings = record["settings"]
    cells = [(pair, c) for pair in record["stack"] for c in settings["conditions"]]
    unread = [f"{p}/{c}" for p, c in cells if f"{p}/{c}" not in stored.manifests]
    if unread:
        msg = f"{folder}: this run has not begun (no manifest of {unread[0]}); start it with: {record['command']}"
        raise InputError(msg)
    return {
        c: {
            pair: compare(
                from_digests(declared),
                stored.manifests[f"{pair}/{c}"],
                required=COVERAGE[settings["coverage"]],
            )
            for pair, declared in record["stack"].items()
        }
        for c in settings["conditions"]
    }


def _passes(compared: Comparison) -> bool | None:
    """Return whether identity passes; None where too little is declared to tell."""
    if compared.wrong:
        return False
    return True if compared.matches else None


def _share_different(kind: str, by_pair: Mapping[str, Comparison]) -> float:
    return share([c.differences[kind].state in DIFFERENT for c in by_pair.values()])


def share(claims: Sequence[bool]) -> float:
    """Return how many of the claims hold, 0..1."""
    return sum(claims) / len(claims)


def _grid(
    record: Mapping[str, Any],
    stored: Stored,
    rows: Sequence[Row],
    found: Mapping[str, Sequence[StoredSample | None]],
) -> Grid:
    evaluators = [e for e in record["evaluators"] if e["kind"] != "identity"]
    draws = resample(
        int(clusters(rows).max()) + 1,
        generator(record["settings"]["seeds"][0], "bootstrap"),
        n_draws=N_DRAWS,
    )
    return Grid(
        rows=rows,
        outputs={
            c: [sample.output if sample else None for sample in samples]
            for c, samples in found.items()
        },
        outcomes={
            (c, e["name"]): [
                _outcome(stored, row, c, sample, e)
                for row, sample in zip(rows, samples, strict=True)
            ]
            for c, samples in found.items()
            for e in evaluators
        },
        resamples=draws,
    )


def _sample(stored: Stored, row: Row, condition: str) -> StoredSample | None:
    return stored.samples.get((row.pair, row.seed, condition, row.task.id))


def _without(stored: Stored, row: Row, condition: str) -> Outcome:
    """Return why a planned sample isn't there."""
    unit = place(row.pair, condition, row.seed, row.task.id)
    return stored.failures.get((unit, ""), NOT_RUN)


def _outcome(
    stored: Stored,
    row: Row,
    condition: str,
    sample: StoredSample | None,
    evaluator: Mapping[str, Any],
) -> Outcome:
    """Return what an evaluator made of a sample; what has no verdict says why."""
    if evaluator["kind"] == "rule" and not RULES[evaluator["name"]].applies(row.task):
        return Outcome.unassessed(NOT_APPLICABLE)
    if sample is None:
        return _without(stored, row, condition)
    if sample.reason:
        return Outcome.unassessed(sample.reason)
    key = (sample.key, evaluator["digest"])
    outcome = stored.scores.get(key, stored.failures.get(key, NOT_RUN))
    if evaluator["kind"] == "auditor" and outcome.assessed:
        _check_suspicion(outcome, sample)
    return outcome


def _check_suspicion(outcome: Outcome, sample: StoredSample) -> None:
    value = outcome.value
    if not isinstance(value, int | float) or not 0 <= value <= 100:
        msg = f"the run's database is damaged: expected a suspicion from 0 to 100 for the sample {sample.key}, got {value!r}"
        raise StoreError(msg)
