"""Score outputs that exist already with the same evaluators as a bench."""

import asyncio
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluand.bench.judges import Judge, auditor, judge
from evaluand.bench.open import open_judge
from evaluand.bench.rules import RULES
from evaluand.bench.run import verdict
from evaluand.bench.suite import NAME, tasks
from evaluand.bench.task import Task
from evaluand.bench.unit import Missing
from evaluand.canonical import parse_json
from evaluand.document import read_text
from evaluand.engine import local
from evaluand.engine.ask import Asker
from evaluand.errors import InputError
from evaluand.outcome import Outcome
from evaluand.store import Store

_DEFAULT_SEED = 42


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """What evaluators made of stored outputs.

    Args:
        rows: One an output and evaluator.
        failures: Messages of the requests that got no reply.
    """

    rows: list[dict[str, Any]]
    failures: tuple[str, ...]


def read_outputs(suite: str, path: Path) -> list[tuple[Task, str]]:
    """Return stored outputs with the tasks that they answer.

    Args:
        suite: ``dib`` or ``dib:SEED``.
        path: JSON lines ``{"task": ID, "output": TEXT}``; further keys are let be.

    Raises:
        InputError: Naming the line, for an unknown suite or task, a second output for
            one task, or an output that is not text.
    """
    known = {task.id: task for task in suite_tasks(suite)}
    found: dict[str, tuple[Task, str]] = {}
    # Text may hold U+2028 and the like, so lines end at \n alone.
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        row = parse_json(line, source=where)
        task, output = _fields(row, where)
        if task not in known:
            msg = f"{where}: {suite} has no task {task!r}; it has {', '.join(list(known)[:3])} and so on"
            raise InputError(msg)
        if task in found:
            msg = f"{where}: a second output for {task}; keep one"
            raise InputError(msg)
        found[task] = (known[task], output)
    if not found:
        msg = f"{path}: holds no output"
        raise InputError(msg)
    return list(found.values())


def _fields(row: Any, where: str) -> tuple[str, str]:
    task = row.get("task") if isinstance(row, dict) else None
    output = row.get("output") if isinstance(row, dict) else None
    if not isinstance(task, str) or not isinstance(output, str):
        msg = f'{where}: expected {{"task": ID, "output": TEXT}}, got {row!r:.80}'
        raise InputError(msg)
    return task, output


def suite_tasks(suite: str) -> Sequence[Task]:
    """Return the tasks of ``dib`` or ``dib:SEED``.

    Raises:
        InputError: For an unknown suite.
    """
    return tasks(_seed(suite))


def _seed(suite: str) -> int:
    name, mark, seed = suite.partition(":")
    if name != NAME or (mark and not re.fullmatch("[0-9]{1,15}", seed)):
        msg = f"SUITE: expected {NAME} or {NAME}:SEED, got {suite!r}"
        raise InputError(msg)
    return int(seed) if mark else _DEFAULT_SEED


def score_outputs(
    outputs: Sequence[tuple[Task, str]],
    rules: Sequence[str],
    judges: Sequence[str],
    auditors: Sequence[str],
) -> Scored:
    """Return one row an output and evaluator.

    Raises:
        InputError: For an unknown evaluator or model.
        ModelError: If a judge's endpoint is down.
    """
    for option, names in (
        ("evaluators", rules),
        ("judge", judges),
        ("auditor", auditors),
    ):
        if len(set(names)) != len(names):
            msg = f"--{option}: expected distinct names, got {', '.join(names)}"
            raise InputError(msg)
    if not (rules or judges or auditors):
        msg = "nothing would evaluate: name a rule with --evaluators, or a --judge"
        raise InputError(msg)
    unknown = [name for name in rules if name not in RULES]
    if unknown:
        msg = f"--evaluators: expected names of {', '.join(RULES)}, got {unknown[0]!r}"
        raise InputError(msg)
    asking = [
        *(judge(open_judge(name)) for name in judges),
        *(auditor(open_judge(name)) for name in auditors),
    ]
    rows = [
        _row(task, RULES[name].name, RULES[name].assess(task, output))
        for task, output in outputs
        for name in rules
    ]
    if not asking:
        return Scored(rows=rows, failures=())
    asked = asyncio.run(_asked(outputs, asking))
    return Scored(rows=rows + asked.rows, failures=asked.failures)


async def _asked(
    outputs: Sequence[tuple[Task, str]], judges: Sequence[Judge]
) -> Scored:
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "s") as store:
        asker = Asker(store)
        for one in judges:
            try:
                rows += await _verdicts(asker, one, outputs)
            finally:
                await one.model.close()
    return Scored(rows=rows, failures=tuple(asker.failures))


async def _verdicts(
    asker: Asker, judge: Judge, outputs: Sequence[tuple[Task, str]]
) -> list[dict[str, Any]]:
    found: dict[int, Outcome] = {}

    async def one(item: tuple[int, tuple[Task, str]]) -> None:
        index, (task, output) = item
        got = await verdict(asker, judge, task, output)
        if isinstance(got, Missing):
            got = Outcome.unassessed(got.reason)
        found[index] = got

    items = list(enumerate(outputs))
    await local.run(items, one, concurrency=judge.model.concurrency)
    return [_row(task, judge.name, found[i]) for i, (task, _) in items]


def _row(task: Task, evaluator: str, outcome: Outcome) -> dict[str, Any]:
    return {
        "task": task.id,
        "family": task.family,
        "evaluator": evaluator,
        "outcome": outcome.status.value,
        "reason": outcome.reason or None,
        "value": outcome.value,
    }


def tallies(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield one line an evaluator: passed, failed, unassessed and why."""
    for name in dict.fromkeys(row["evaluator"] for row in rows):
        mine = [
            r
            for r in rows
            if r["evaluator"] == name and r["reason"] != "not_applicable"
        ]
        counts = {s: sum(r["outcome"] == s for r in mine) for s in ("pass", "fail")}
        reasons = sorted({r["reason"] for r in mine if r["reason"]})
        missing = len(mine) - sum(counts.values())
        why = f" ({', '.join(reasons)})" if reasons else ""
        yield (
            f"{name}: {counts['pass']} pass, {counts['fail']} fail, "
            f"{missing} unassessed{why}, of {len(mine)}"
        )
