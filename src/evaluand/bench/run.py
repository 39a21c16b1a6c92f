"""Drive a bench through the store: manifests, controls, samples, scores, manifests again.

Every unit is keyed by all that can change its result; a finished one is never done
again. Requests with a common prefix are asked together, one model at a time, so that a
local engine keeps its prefix warm.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from evaluand.bench.fitness import Control, controls
from evaluand.bench.forecast import Forecast
from evaluand.bench.judges import Judge, short_name
from evaluand.bench.plan import Cell, Settings, observed_again
from evaluand.bench.rules import RULES
from evaluand.bench.size import CALIBRATION_TASKS, fitting, paid_s
from evaluand.bench.suite import tasks as suite_tasks
from evaluand.bench.task import Task
from evaluand.bench.unit import CONTROL, Missing, Unit, sample_row, stored_output
from evaluand.chat.client import Model
from evaluand.engine import local
from evaluand.engine.ask import FAILURES_IN_A_ROW, Asker
from evaluand.errors import InputError, IntegrityError, StoreError
from evaluand.identity.manifest import (
    DIFFERENT,
    Manifest,
    compare,
    digests,
    from_digests,
)
from evaluand.outcome import Outcome
from evaluand.store import COMMIT_INTERVAL_S, Store, json_text, json_value

Item = TypeVar("Item")


class Progress(Protocol):
    """Who is told how a run gets on: a terminal, or nobody."""

    def phase(self, title: str, units: int) -> None:
        """A stretch of equal work begins."""

    def advance(self, left_s: float | None) -> None:
        """One unit is done; the whole run has about so many seconds left."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """A bench under way.

    Args:
        settings: What was asked for.
        cells: Pairs under conditions.
        judges: Judges and auditors, in ladder order.
        store: The run's database.
        progress: Who is told.
        forecast: How long is left.
    """

    settings: Settings
    cells: Sequence[Cell]
    judges: Sequence[Judge]
    store: Store
    progress: Progress
    forecast: Forecast

    def phase(self, title: str, units: int) -> None:
        """Begin a stretch of equal work."""
        self.forecast.begin(title, units)
        self.progress.phase(title, units)

    def advance(self) -> None:
        """Count one unit as done."""
        self.progress.advance(self.forecast.advance())


async def run(work: Run, decide: Callable[[int], None]) -> Asker:
    """Do all that isn't done yet.

    Args:
        work: The bench.
        decide: Told the number of tasks per seed once the time asked for has settled it.

    Returns:
        What was asked and reused, and the requests that got no reply.

    Raises:
        IntegrityError: If a stack changed since the run began, or while it ran.
        ModelError: If an endpoint is down or refuses.
        StoreError: If the store can't be written.
    """
    asker = Asker(work.store)
    resumed = next(work.store.rows("exchange"), None) is not None
    record_manifests(work.store, work.cells, "before", [c.observed for c in work.cells])
    ticking = asyncio.create_task(_commit_often(work.store))
    try:
        await _controls(work, asker)
        count = work.settings.tasks
        if count is None:
            began = work.forecast.elapsed_s
            await _block(work, asker, CALIBRATION_TASKS)
            took_s = work.forecast.elapsed_s - began
            count = _sized(work, took_s, resumed=resumed)
            decide(count)
        await _block(work, asker, count)
    finally:
        ticking.cancel()
        work.store.commit()
        await _close(work)
    record_manifests(work.store, work.cells, "after", observed_again(work.cells))
    work.store.commit()
    return asker


async def _commit_often(store: Store) -> None:
    """Make what was written survive a kill, also while nothing more comes in."""
    while True:
        await asyncio.sleep(COMMIT_INTERVAL_S)
        try:
            store.commit()
        except StoreError:
            return  # the next write meets it again, and says so


def record_manifests(
    store: Store, cells: Sequence[Cell], moment: str, manifests: Sequence[Manifest]
) -> None:
    """Keep each cell's manifest; one that differs from an earlier reading is an error.

    Raises:
        IntegrityError: Naming the cell and the components that moved.
    """
    for cell, manifest in zip(cells, manifests, strict=True):
        first = store.get("manifest", {"cell": cell.name, "moment": "before"})
        if first is not None:
            began = from_digests(json_value(first["document"], path=store.path))
            found = compare(began, manifest)
            moved = [k for k, d in found.differences.items() if d.state in DIFFERENT]
            if moved:
                msg = f"{cell.name}: {', '.join(moved)} changed since this run began, so its rows would mix two stacks; restore it, or start afresh in another folder"
                raise IntegrityError(msg)
        key = {"cell": cell.name, "moment": moment}
        store.put("manifest", key, {"document": json_text(digests(manifest))})


async def _controls(work: Run, asker: Asker) -> None:
    items = controls(work.settings.controls)
    for judge in work.judges:
        waiting = [
            item
            for item in items
            if work.store.get("control", {"evaluator": judge.digest, "item": item.item})
            is None
        ]

        async def one(item: Control, judge: Judge = judge) -> None:
            got = await verdict(asker, judge, item.task, item.output)
            if isinstance(got, Outcome):
                key = {"evaluator": judge.digest, "item": item.item}
                row = {"kind": "right" if item.right else "wrong", **_row(got)}
                work.store.put("control", key, row)
            _note(work.store, CONTROL + item.item, judge.digest, got)
            work.advance()

        if waiting:
            work.phase(f"{judge.name}: controls", len(waiting))
            await _each(work, judge.model, waiting, one)


async def _block(work: Run, asker: Asker, count: int) -> None:
    """Run the first `count` tasks of every seed through all cells and evaluators."""
    suites = {seed: suite_tasks(seed, count) for seed in work.settings.seeds}
    units = [
        Unit(cell=cell, seed=seed, task=task)
        for cell in work.cells
        for seed, tasks in suites.items()
        for task in tasks
    ]
    _expect(work, len(units))
    await _samples(work, asker, units)
    _rules(work, units)
    for judge in work.judges:
        await _judged(work, asker, judge, units)


def _expect(work: Run, units: int) -> None:
    """Tell the forecast what a block can bring at the most."""
    for cells in _by_model(work.cells):
        share = units * len(cells) // len(work.cells)
        work.forecast.plan(_answers(cells), share)
    for judge in work.judges:
        work.forecast.plan(_verdicts(judge), units)


def _answers(cells: Sequence[Cell]) -> str:
    cell = cells[0]
    return f"{short_name(cell.model.name) if cell.model else cell.stack.name}: answers"


def _verdicts(judge: Judge) -> str:
    return f"{judge.name}: verdicts"


async def _samples(work: Run, asker: Asker, units: Sequence[Unit]) -> None:
    done = {key for (key,) in work.store.keys("sample")}
    waiting = [unit for unit in units if unit.key not in done]
    for cells in _by_model(work.cells):
        names = {cell.name for cell in cells}
        mine = [unit for unit in waiting if unit.cell.name in names]
        work.forecast.skip(_answers(cells))
        if mine:
            work.phase(_answers(cells), len(mine))
            model = cells[0].model
            await _each(work, model, _warm(mine), _sampler(work, asker))


def _sampler(work: Run, asker: Asker) -> Callable[[Unit], Awaitable[None]]:
    broken = 0

    async def one(unit: Unit) -> None:
        nonlocal broken
        got = await sample_row(unit, asker)
        if isinstance(got, dict):
            work.store.put("sample", {"key": unit.key}, got)
        _note(work.store, unit.place, "", got)
        broken = broken + 1 if isinstance(got, Missing) and got.by_code else 0
        if broken >= FAILURES_IN_A_ROW and isinstance(got, Missing):
            msg = f"{got.message} ({broken} times in a row); correct it and run in a new folder"
            raise InputError(msg)
        work.advance()

    return one


def _rules(work: Run, units: Sequence[Unit]) -> None:
    rules = [RULES[name] for name in work.settings.rules]
    bits = {rule.digest: 1 << place for place, rule in enumerate(rules)}
    given: dict[str, int] = {}  # by sample, a bit for each rule that has scored it
    for sample, evaluator in work.store.keys("score"):
        given[sample] = given.get(sample, 0) | bits.get(evaluator, 0)
    for unit in units:
        scored = given.get(unit.key, 0)
        missing = [rule for rule in rules if not scored & bits[rule.digest]]
        output = stored_output(work.store, unit) if missing else None
        for rule in missing if output is not None else ():
            key = {"sample": unit.key, "evaluator": rule.digest}
            work.store.put("score", key, _row(rule.assess(unit.task, str(output))))


async def _judged(work: Run, asker: Asker, judge: Judge, units: Sequence[Unit]) -> None:
    waiting: dict[tuple[str, str], list[Unit]] = {}
    done = {s for s, evaluator in work.store.keys("score") if evaluator == judge.digest}
    for unit in units:
        output = None if unit.key in done else stored_output(work.store, unit)
        if output is not None:
            waiting.setdefault((unit.task.digest, output), []).append(unit)

    async def one(item: tuple[str, list[Unit]]) -> None:
        output, alike = item
        got = await verdict(asker, judge, alike[0].task, output)
        for unit in alike:
            if isinstance(got, Outcome):
                key = {"sample": unit.key, "evaluator": judge.digest}
                work.store.put("score", key, _row(got))
            _note(work.store, unit.key, judge.digest, got)
        work.advance()

    items = sorted(
        ((output, alike) for (_, output), alike in waiting.items()),
        key=lambda item: (item[1][0].seed, item[1][0].task.id),
    )
    work.forecast.skip(_verdicts(judge))
    if items:
        work.phase(_verdicts(judge), len(items))
        await _each(work, judge.model, items, one)


def _note(store: Store, unit: str, evaluator: str, got: object) -> None:
    """Keep why a unit has no result this time, or forget that it once had none."""
    if isinstance(got, Missing):
        store.fail(unit, evaluator, reason=got.reason, message=got.message)
    else:
        store.mend(unit, evaluator)


async def verdict(
    asker: Asker, judge: Judge, task: Task, output: str
) -> Outcome | Missing:
    """Return a judge's outcome, or why there is none this time."""
    answer = await asker.ask(judge.model, judge.request(task, output))
    if answer.may_come:
        return Missing(reason=answer.reason, message=answer.error)
    if answer.reason:
        return Outcome.unassessed(answer.reason)
    return judge.read(answer.text, answer.finish_reason)


async def _each(
    work: Run,
    model: Model | None,
    items: Iterable[Item],
    one: Callable[[Item], Awaitable[None]],
) -> None:
    """Do every item against one model, after letting go of the others."""
    await _close(work, keep=model)
    concurrency = model.concurrency if model else 1
    await local.run(list(items), one, concurrency=concurrency)


async def _close(work: Run, *, keep: Model | None = None) -> None:
    for model in _models(work):
        if model is not keep:
            await model.close()


def _models(work: Run) -> list[Model]:
    """Return every model of a bench once."""
    asked = [*(cell.model for cell in work.cells), *(j.model for j in work.judges)]
    return list({id(model): model for model in asked if model is not None}.values())


def _sized(work: Run, block_s: float, *, resumed: bool) -> int:
    """Return how many tasks fit the minutes asked for, once the first ones are done."""
    minutes = work.settings.minutes
    if minutes is None:
        msg = "neither a number of tasks nor a time is given; add --tasks or --minutes"
        raise InputError(msg)
    if resumed:
        places = {model.name: model.concurrency for model in _models(work)}
        block_s = max(block_s, paid_s(map(dict, work.store.rows("exchange")), places))
    return fitting(block_s, left_s=minutes * 60 - work.forecast.elapsed_s)


def _by_model(cells: Sequence[Cell]) -> list[list[Cell]]:
    groups: dict[int, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(id(cell.model), []).append(cell)
    return list(groups.values())


def _warm(units: Sequence[Unit]) -> list[Unit]:
    """Return units so that those with a common prefix follow each other."""

    def prefix(unit: Unit) -> tuple[str, str]:
        messages = unit.cell.agent.request(unit.task.prompt).messages
        return (messages[0].content, messages[-1].content)

    return sorted(units, key=prefix)


def _row(outcome: Outcome) -> dict[str, Any]:
    value = None if outcome.value is None else json_text(outcome.value)
    return {"outcome": outcome.status.value, "reason": outcome.reason, "value": value}
