"""What a run's database holds, read whole and checked: damage is named, never guessed at."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluand.bench.unit import CONTROL
from evaluand.chat.served import Served, served
from evaluand.errors import IntegrityError, StoreError
from evaluand.identity.manifest import Manifest, from_digests
from evaluand.outcome import Outcome, Status
from evaluand.store import Store, json_value

Place = tuple[str, int, str, str]
"""Pair, seed, condition and task of a sample."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSample:
    """One sample: its key, its output, or the reason why it has none."""

    key: str
    output: str | None
    reason: str
    truncated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A run's database in memory.

    Args:
        samples: By where they stand.
        scores: Outcomes by sample key and evaluator digest.
        failures: Why units have no result, by unit and evaluator digest.
        controls: By evaluator digest and control item, the outcome.
        manifests: By cell, as first observed.
        cost: Exchanges and their tokens.
        served: By model, what its endpoint says answered.
    """

    samples: Mapping[Place, StoredSample]
    scores: Mapping[tuple[str, str], Outcome]
    failures: Mapping[tuple[str, str], Outcome]
    controls: Mapping[str, Mapping[str, Outcome]]
    manifests: Mapping[str, Manifest]
    cost: dict[str, int]
    served: dict[str, Served]


def read_stored(path: Path, models: Mapping[str, Mapping[str, Any]]) -> Stored:
    """Return what a database holds.

    Args:
        path: The database.
        models: By name, what is known of each model that was asked.

    Raises:
        IntegrityError: If two samples stand at one place.
        StoreError: If it can't be read, or holds what was never written.
    """
    with Store(path, readonly=True) as store, _damage_named(path):
        failures = {
            (row["unit"], row["evaluator"]): Outcome.unassessed(_text(row["reason"]))
            for row in store.rows("failure")
        }
        return Stored(
            samples=_samples(store),
            scores={
                (row["sample"], row["evaluator"]): _outcome(row, store)
                for row in store.rows("score")
            },
            failures=failures,
            controls=_controls(store, failures),
            manifests={
                row["cell"]: from_digests(json_value(row["document"], path=path))
                for row in store.rows("manifest")
                if row["moment"] == "before"
            },
            cost=_cost(store),
            served=_served(store, models),
        )


@contextmanager
def _damage_named(path: Path) -> Iterator[None]:
    """Turn what only a damaged row can cause into an error that names the database."""
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        msg = f"{path}: the run's database is damaged: {type(error).__name__}: {error}"
        raise StoreError(msg) from error


def _samples(store: Store) -> dict[Place, StoredSample]:
    samples: dict[Place, StoredSample] = {}
    for row in store.rows("sample"):
        key = (
            _text(row["pair"]),
            _count(row["seed"]),
            _text(row["condition"]),
            _text(row["task"]),
        )
        if key in samples:
            msg = f"{store.path}: two samples stand at {key}; the stack or the agent changed between resumes, so run afresh in a new folder"
            raise IntegrityError(msg)
        output = _value(row["output"], store)
        samples[key] = StoredSample(
            key=row["key"],
            output=None if output is None else _text(output),
            reason=_text(row["reason"]),
            truncated=bool(_count(row["truncated"])),
        )
    return samples


def _controls(
    store: Store, failures: Mapping[tuple[str, str], Outcome]
) -> dict[str, dict[str, Outcome]]:
    controls: dict[str, dict[str, Outcome]] = {}
    for (unit, evaluator), outcome in failures.items():
        if unit.startswith(CONTROL):
            item = unit.removeprefix(CONTROL)
            controls.setdefault(evaluator, {})[item] = outcome
    for row in store.rows("control"):
        found = _outcome(row, store)
        controls.setdefault(row["evaluator"], {})[row["item"]] = found
    return controls


def _served(store: Store, models: Mapping[str, Mapping[str, Any]]) -> dict[str, Served]:
    """Return what each model says of itself; a script says nothing."""
    asked = {name: i for name, i in models.items() if i["kind"] != "scripted"}
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
    cost = {"asked": 0, "prompt_tokens": 0, "completion_tokens": 0}
    for row in store.rows("exchange"):
        cost["asked"] += 1
        cost["prompt_tokens"] += _count(row["prompt_tokens"] or 0)
        cost["completion_tokens"] += _count(row["completion_tokens"] or 0)
    return cost


def _outcome(row: Any, store: Store) -> Outcome:
    return Outcome(
        Status(row["outcome"]), _text(row["reason"]), _value(row["value"], store)
    )


def _value(column: str | None, store: Store) -> Any:
    return None if column is None else json_value(column, path=store.path)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        msg = f"expected text, got {value!r:.40}"
        raise TypeError(msg)
    return value


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        msg = f"expected a whole number, got {value!r:.40}"
        raise TypeError(msg)
    return value
