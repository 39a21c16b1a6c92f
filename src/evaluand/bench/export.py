"""A run's rows for other tools, one row a planned sample and evaluator.

Every planned sample is there, run or not, under every evaluator but identity, which
looks at manifests and not at samples. Rows are in the plan's order: pair, seed,
condition, task, evaluator.
"""

import math
import os
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from evaluand.bench.grid import NOT_APPLICABLE, NOT_RUN
from evaluand.bench.record import DATABASE, RECORD, read_record
from evaluand.bench.rules import RULES
from evaluand.bench.suite import tasks
from evaluand.bench.table import COLUMNS, NEVER_NULL, WRITERS, Row, pyarrow_module
from evaluand.bench.task import Task
from evaluand.bench.unit import place
from evaluand.errors import InputError, IntegrityError, StoreError
from evaluand.outcome import Outcome, Status
from evaluand.store import Store, json_value
from evaluand.whole import open_whole

_REPLY = (
    "served_model",
    "provider",
    "fingerprint",
    "finish_reason",
    "prompt_tokens",
    "completion_tokens",
)


class Exported(NamedTuple):
    """A written file and how many rows it holds."""

    path: Path
    rows: int


def export(folder: Path, to: str, path: Path | None = None) -> Exported:
    """Write a run's rows to a file, which is there whole or not at all.

    Rows are streamed: no more is held than the names of samples, and a row group of
    Parquet.

    Args:
        folder: The run.
        to: One of `WRITERS`.
        path: The file; ``export.TO`` in the run's folder when None.

    Raises:
        InputError: If there is no run to export, the file can't be written, or the
            format needs a package that isn't installed.
        IntegrityError: If two samples stand at one place.
        StoreError: If the store can't be read.
    """
    write = WRITERS[to]
    if to == "parquet":
        pyarrow_module()
    record = read_record(folder)
    target = path or folder / f"export.{to}"
    _refuse_target(target, folder)
    with Store(folder / DATABASE, readonly=True) as store:
        _refuse_unbegun(record, folder, store)
        found = rows(record, store)
        with open_whole(target) as file:
            count = write(file, found)
    return Exported(target, count)


def rows(record: Mapping[str, Any], store: Store) -> Generator[Row]:
    """Yield a run's rows, each with all of `COLUMNS` in their order.

    Args:
        record: What was asked for, with its number of tasks.
        store: The run's database.

    Raises:
        IntegrityError: If two samples stand at one place.
        StoreError: If the store can't be read.
    """
    settings = record["settings"]
    evaluators = [e for e in record["evaluators"] if e["kind"] != "identity"]
    keys = _sample_keys(store)
    for pair in record["stack"]:
        for seed in settings["seeds"]:
            suite = tasks(seed, record["tasks"])
            for condition in settings["conditions"]:
                for task in suite:
                    key = keys.get((pair, seed, condition, task.id))
                    sample = _sample(store, key, place(pair, condition, seed, task.id))
                    planned = _planned(pair, condition, seed, task)
                    for evaluator in evaluators:
                        outcome = _outcome(store, task, sample, evaluator)
                        yield _row(store, planned, sample, evaluator["name"], outcome)


def _planned(pair: str, condition: str, seed: int, task: Task) -> Row:
    return {
        "pair": pair,
        "condition": condition,
        "seed": seed,
        "task": task.id,
        "family": task.family,
        "prompt": task.prompt,
    }


def _sample_keys(store: Store) -> dict[tuple[Any, ...], Any]:
    """Return the keys of samples by where they stand; two at one place are an error."""
    keys: dict[tuple[Any, ...], Any] = {}
    names: dict[Any, Any] = {}  # one object a name, not one a row
    for row in store.rows("sample"):
        columns = (row["pair"], row["seed"], row["condition"], row["task"])
        where = tuple(names.setdefault(column, column) for column in columns)
        if where in keys:
            msg = f"{store.path}: two samples stand at {where}; the stack or the agent changed between resumes, so run afresh in a new folder"
            raise IntegrityError(msg)
        keys[where] = row["key"]
    return keys


def _sample(store: Store, key: Any, name: str) -> Row:
    """Return what came of a planned sample; without one, why there is none."""
    if key is None:
        failure = store.get("failure", {"unit": name, "evaluator": ""})
        return {"sample_reason": failure["reason"] if failure else NOT_RUN.reason}
    sample = store.get("sample", {"key": key})
    if sample is None:
        msg = f"{store.path}: the run's database is damaged: its sample {key!r} is gone"
        raise StoreError(msg)
    output, cut = sample["output"], sample["truncated"]
    return {
        "key": key,
        "output": None if output is None else json_value(output, path=store.path),
        "sample_reason": sample["reason"],
        # SQLite has no booleans; what is neither is damage, and found below
        "truncated": {0: False, 1: True}.get(cut, cut),
        "exchange": sample["exchange"],
        **_reply(store, sample["exchange"]),
    }


def _reply(store: Store, key: Any) -> Row:
    """Return what an endpoint said of its reply; nothing where none was asked."""
    if key is None:
        return {}
    exchange = store.get("exchange", {"key": key})
    if exchange is None:
        msg = f"{store.path}: the run's database is damaged: it lacks the exchange {key!r} of a sample"
        raise StoreError(msg)
    return {name: exchange[name] for name in _REPLY}


def _outcome(
    store: Store, task: Task, sample: Row, evaluator: Mapping[str, Any]
) -> Outcome:
    """Return an evaluator's outcome; what has no verdict says why, as in the report."""
    if evaluator["kind"] == "rule" and not RULES[evaluator["name"]].applies(task):
        return Outcome.unassessed(NOT_APPLICABLE)
    if sample["sample_reason"]:
        return Outcome.unassessed(sample["sample_reason"])
    key, digest = sample["key"], evaluator["digest"]
    score = store.get("score", {"sample": key, "evaluator": digest})
    if score is None:
        failure = store.get("failure", {"unit": key, "evaluator": digest})
        return Outcome.unassessed(failure["reason"]) if failure else NOT_RUN
    value = score["value"]
    read = None if value is None else json_value(value, path=store.path)
    try:
        return Outcome(Status(score["outcome"]), score["reason"], read)
    except ValueError as error:
        msg = f"{store.path}: the run's database is damaged: {error}"
        raise StoreError(msg) from error


def _row(
    store: Store, planned: Row, sample: Row, evaluator: str, outcome: Outcome
) -> Row:
    found = {
        **planned,
        **sample,
        "evaluator": evaluator,
        "outcome": outcome.status.value,
        "reason": outcome.reason,
        "value": outcome.value,
    }
    row = {name: found.get(name) for name in COLUMNS}
    for name, value in row.items():
        if not _fits(name, value):
            msg = f"{store.path}: the run's database is damaged: expected {_said(name)} as {name}, got {value!r:.40}"
            raise StoreError(msg)
    return row


def _fits(name: str, value: Any) -> bool:
    if value is None:
        return name not in NEVER_NULL
    if name == "value":
        finite = isinstance(value, float) and math.isfinite(value)
        return finite or isinstance(value, str | int)
    return isinstance(value, COLUMNS[name])


def _said(name: str) -> str:
    return "text or a number" if name == "value" else COLUMNS[name].__name__


def _refuse_unbegun(record: Mapping[str, Any], folder: Path, store: Store) -> None:
    """Refuse what has no report either."""
    if record["tasks"] is None:
        msg = f"{folder}: this run hasn't settled its number of tasks yet; resume it with: {record['command']}"
        raise InputError(msg)
    read = {row["cell"] for row in store.rows("manifest") if row["moment"] == "before"}
    for pair in record["stack"]:
        for condition in record["settings"]["conditions"]:
            if f"{pair}/{condition}" not in read:
                msg = f"{folder}: this run has not begun (no manifest of {pair}/{condition}); start it with: {record['command']}"
                raise InputError(msg)


def _refuse_target(path: Path, folder: Path) -> None:
    """Refuse to put a file in the place of what isn't one, or of the run itself."""
    names = (RECORD, DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", ".lock")
    own = [folder / name for name in names]
    if any(os.path.realpath(path) == os.path.realpath(each) for each in own):
        msg = f"{path}: belongs to the run; choose another file with -o"
        raise InputError(msg)
    if path.exists() and not path.is_file():
        msg = f"{path}: expected a path for a file, and this is none; choose another with -o"
        raise InputError(msg)
