"""A run folder read back: what was planned, what was observed, what came out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluand.bench.grid import NOT_APPLICABLE, NOT_RUN, Grid, Row, clusters
from evaluand.bench.record import DATABASE, JUDGING, read_record
from evaluand.bench.rules import RULES
from evaluand.bench.suite import tasks
from evaluand.bench.task import Task
from evaluand.bench.unit import CONTROL, place
from evaluand.chat.served import Served, served
from evaluand.errors import InputError, IntegrityError, StoreError
from evaluand.identity.manifest import (
    COVERAGE,
    DIFFERENT,
    Comparison,
    compare,
    from_digests,
)
from evaluand.outcome import Outcome, Status
from evaluand.seeds import generator
from evaluand.stats.cluster import resample
from evaluand.store import Store, json_value

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
    controls: dict[str, dict[str, Outcome]]
    cost: dict[str, int]
    served: dict[str, Served]


def load(folder: Path) -> Loaded:
    """Return a run as it stands.

    Raises:
        InputError: If the folder holds no run, or one whose tasks aren't settled.
        IntegrityError: If two samples stand at one place.
        StoreError: If the store can't be read.
    """
    record = read_record(folder)
    count = record["tasks"]
    if count is None:
        msg = f"{folder}: this run hasn't settled its number of tasks yet; resume it with: {record['command']}"
        raise InputError(msg)
    settings = record["settings"]
    rows = [
        Row(pair=pair, seed=seed, task=task)
        for pair in record["stack"]
        for seed in settings["seeds"]
        for task in tasks(seed, count)
    ]
    with Store(folder / DATABASE, readonly=True) as store:
        samples = _sample_rows(store)
        scores = _score_rows(store)
        manifests = {
            row["cell"]: json_value(row["document"], path=store.path)
            for row in store.rows("manifest")
            if row["moment"] == "before"
        }
        failures = _failure_rows(store)
        controls = _control_rows(store, failures)
        cost = _cost(store)
        served = _served(store, record["provenance"]["models"])
    unread = [
        f"{pair}/{condition}"
        for pair in record["stack"]
        for condition in settings["conditions"]
        if f"{pair}/{condition}" not in manifests
    ]
    if unread:
        msg = f"{folder}: this run has not begun (no manifest of {unread[0]}); start it with: {record['command']}"
        raise InputError(msg)
    evaluators = [e for e in record["evaluators"] if e["kind"] != "identity"]
    conditions = settings["conditions"]
    found = {
        c: [samples.get((r.pair, r.seed, c, r.task.id)) for r in rows]
        for c in conditions
    }
    draws = resample(
        int(clusters(rows).max()) + 1,
        generator(settings["seeds"][0], "bootstrap"),
        n_draws=N_DRAWS,
    )
    missing = {
        c: [
            failures.get((place(r.pair, c, r.seed, r.task.id), ""), NOT_RUN)
            for r in rows
        ]
        for c in conditions
    }
    grid = Grid(
        rows=rows,
        outputs={c: [s["output"] if s else None for s in found[c]] for c in conditions},
        outcomes={
            (c, e["name"]): [
                _outcome(row.task, s, without, e, scores, failures)
                for row, s, without in zip(rows, found[c], missing[c], strict=True)
            ]
            for c in conditions
            for e in evaluators
        },
        resamples=draws,
    )
    compared = {
        c: {
            pair: compare(
                from_digests(declared),
                from_digests(manifests[f"{pair}/{c}"]),
                required=COVERAGE[settings["coverage"]],
            )
            for pair, declared in record["stack"].items()
        }
        for c in conditions
    }
    return Loaded(
        record=record,
        grid=grid,
        identity={
            c: {pair: _passes(each) for pair, each in by_pair.items()}
            for c, by_pair in compared.items()
        },
        mismatches={
            c: {
                kind: share(
                    [
                        each.differences[kind].state in DIFFERENT
                        for each in by_pair.values()
                    ]
                )
                for kind in COVERAGE["full"]
            }
            for c, by_pair in compared.items()
        },
        missing={
            c: [
                s["reason"] if s else without.reason
                for s, without in zip(found[c], missing[c], strict=True)
                if s is None or s["output"] is None
            ]
            for c in conditions
        },
        truncated={c: sum(s["truncated"] for s in found[c] if s) for c in conditions},
        controls=controls,
        cost=cost,
        served=served,
    )


_Key = tuple[str, int, str, str]


def _sample_rows(store: Store) -> dict[_Key, dict[str, Any]]:
    """Return samples by where they stand; two at one place are an error."""
    samples: dict[_Key, dict[str, Any]] = {}
    for row in store.rows("sample"):
        key = (row["pair"], row["seed"], row["condition"], row["task"])
        if key in samples:
            msg = f"{store.path}: two samples stand at {key}; the stack or the agent changed between resumes, so run afresh in a new folder"
            raise IntegrityError(msg)
        samples[key] = {**dict(row), "output": _value(row["output"], store)}
    return samples


def _score_rows(store: Store) -> dict[tuple[str, str], Outcome]:
    return {
        (row["sample"], row["evaluator"]): _read_outcome(row, store)
        for row in store.rows("score")
    }


def _failure_rows(store: Store) -> dict[tuple[str, str], Outcome]:
    """Return why units have no result, by unit and evaluator."""
    return {
        (row["unit"], row["evaluator"]): Outcome.unassessed(row["reason"])
        for row in store.rows("failure")
    }


def _control_rows(
    store: Store, failures: Mapping[tuple[str, str], Outcome]
) -> dict[str, dict[str, Outcome]]:
    controls: dict[str, dict[str, Outcome]] = {}
    for (unit, evaluator), outcome in failures.items():
        if unit.startswith(CONTROL):
            item = unit.removeprefix(CONTROL)
            controls.setdefault(evaluator, {})[item] = outcome
    for row in store.rows("control"):
        controls.setdefault(row["evaluator"], {})[row["item"]] = _read_outcome(
            row, store
        )
    return controls


def _read_outcome(row: Any, store: Store) -> Outcome:
    value = _value(row["value"], store)
    try:
        return Outcome(Status(row["outcome"]), row["reason"], value)
    except ValueError as error:
        msg = f"{store.path}: the run's database is damaged: {error}"
        raise StoreError(msg) from error


def _value(column: str | None, store: Store) -> Any:
    return None if column is None else json_value(column, path=store.path)


def _outcome(
    task: Task,
    sample: Mapping[str, Any] | None,
    without: Outcome,
    evaluator: Mapping[str, Any],
    scores: Mapping[tuple[str, str], Outcome],
    failures: Mapping[tuple[str, str], Outcome],
) -> Outcome:
    """Return what an evaluator made of a sample; what has no verdict says why."""
    if evaluator["kind"] == "rule" and not RULES[evaluator["name"]].applies(task):
        return Outcome.unassessed(NOT_APPLICABLE)
    if sample is None:
        return without
    if sample["reason"]:
        return Outcome.unassessed(sample["reason"])
    key = (sample["key"], evaluator["digest"])
    found = scores.get(key, failures.get(key, NOT_RUN))
    if evaluator["kind"] == "auditor" and found.assessed:
        _check_suspicion(found, sample)
    return found


def _check_suspicion(found: Outcome, sample: Mapping[str, Any]) -> None:
    value = found.value
    if not isinstance(value, int | float) or not 0 <= value <= 100:
        msg = f"the run's database is damaged: expected a suspicion from 0 to 100 for the sample {sample['key']}, got {value!r}"
        raise StoreError(msg)


def _passes(compared: Comparison) -> bool | None:
    """Return whether identity passes; None where too little is declared to tell."""
    if compared.wrong:
        return False
    return True if compared.matches else None


def share(claims: Sequence[bool]) -> float:
    """Return how many of the claims hold, 0..1."""
    return sum(claims) / len(claims)


def _served(store: Store, models: Mapping[str, Any]) -> dict[str, Served]:
    """Return what each model that was asked over HTTP says answered."""
    identities = {name.removesuffix(JUDGING): i for name, i in models.items()}
    asked = {name: i for name, i in identities.items() if i["kind"] != "scripted"}
    replies: dict[str, list[Any]] = {name: [] for name in asked}
    for row in store.rows("exchange"):
        if row["model"] in replies and row["reply"] != "null":
            replies[row["model"]].append(row)
    return {
        name: served(
            identity["model"],
            replies[name],
            own=identity["kind"] == "local",
            unpinned=identity.get("router") == "unpinned",
        )
        for name, identity in asked.items()
    }


def _cost(store: Store) -> dict[str, int]:
    exchanges = list(store.rows("exchange"))
    return {
        "asked": len(exchanges),
        "prompt_tokens": sum(row["prompt_tokens"] or 0 for row in exchanges),
        "completion_tokens": sum(row["completion_tokens"] or 0 for row in exchanges),
    }
