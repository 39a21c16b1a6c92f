"""One unit of a bench: one task in one cell under one seed, and how its sample comes."""

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from evaluand.bench import agent as agent_module
from evaluand.bench.plan import Cell
from evaluand.bench.task import Task
from evaluand.chat.message import Request
from evaluand.digest import value_digest
from evaluand.engine.ask import Asker
from evaluand.errors import InputError
from evaluand.store import Store, json_text, json_value

CONTROL = "control/"
"""What the name of a control begins with where a failure to get it is noted."""


def place(pair: str, condition: str, seed: int, task: str) -> str:
    """Return the name of a planned sample, whatever its stack turns out to be."""
    return f"{pair}/{condition}/{seed}/{task}"


@dataclass(frozen=True, kw_only=True)
class Unit:
    """One task in one cell under one seed."""

    cell: Cell
    seed: int
    task: Task

    @property
    def draw(self) -> str:
        """What tells a fresh draw of the same request apart.

        At temperature 0 conditions share replies, but for the A/A one; above it each
        condition draws its own (seed and all else being equal).
        """
        condition = self.cell.condition
        greedy = self.cell.agent.sampling.temperature == 0
        return condition.draw if greedy else condition.name

    def request(self) -> Request:
        """Return what the model is asked.

        Above temperature 0 the seed that is sent is drawn from the stack's own, the
        condition, the suite's seed and the task: an endpoint that honours it would
        otherwise answer the repeat with the very reply of clean.
        """
        request = self.cell.agent.request(self.task.prompt)
        sampling = request.sampling
        if sampling.temperature == 0 or sampling.seed is None:
            return request
        drawn = value_digest([sampling.seed, self.draw, self.seed, self.task.digest])
        seed = int(drawn[:8], 16) >> 1  # 31 bits: what every endpoint takes
        return replace(request, sampling=replace(sampling, seed=seed))

    @property
    def place(self) -> str:
        """The name under which a failure to get this sample is noted."""
        return place(self.cell.pair, self.cell.condition.name, self.seed, self.task.id)

    @cached_property
    def key(self) -> str:
        """SHA-256 of all that can change this sample."""
        cell = self.cell
        return value_digest(
            {
                "deployment": cell.observed.identity_digest,
                "model": dict(cell.model.identity) if cell.model else None,
                "agent": agent_module.VERSION,
                "pair": cell.pair,
                "condition": cell.condition.name,
                "draw": self.draw,
                "seed": self.seed,
                "task": self.task.digest,
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """Why something has no result this time; it is tried again when the run is resumed.

    Args:
        reason: Under which its rows are unassessed.
        message: What happened.
        by_code: Whether it was the stack's own code that failed.
    """

    reason: str
    message: str
    by_code: bool = False


async def sample_row(unit: Unit, asker: Asker) -> dict[str, Any] | Missing:
    """Return a sample's row, or why there is none this time.

    Raises:
        InputError: If the stack has neither a model nor code that answers.
        ModelError: As `Asker.ask`.
    """
    cell, task = unit.cell, unit.task
    row: dict[str, Any] = {
        "pair": cell.pair,
        "seed": unit.seed,
        "condition": cell.condition.name,
        "task": task.id,
        "exchange": None,
        "output": None,
        "reason": "",
        "truncated": 0,
    }
    if cell.model is None:
        output = await _own_agent(unit)
        return (
            output
            if isinstance(output, Missing)
            else row | {"output": json_text(output)}
        )
    answer = await asker.ask(cell.model, unit.request(), draw=unit.draw)
    if answer.may_come:
        return Missing(reason=answer.reason, message=answer.error)
    row["exchange"] = answer.key
    if answer.reason:
        return row | {"reason": answer.reason}
    output = _own_code(
        "postprocessor", unit, lambda: cell.agent.output(task.prompt, answer.text)
    )
    if isinstance(output, Missing):
        return output
    cut = int(answer.finish_reason == "length")
    return row | {"output": json_text(output), "truncated": cut}


async def _own_agent(unit: Unit) -> str | Missing:
    respond = unit.cell.respond
    if respond is None:
        msg = f"stack {unit.cell.stack.name} has neither a model nor respond"
        raise InputError(msg)
    stack = unit.cell.stack
    return await asyncio.to_thread(
        _own_code, "respond", unit, lambda: respond(unit.task, stack)
    )


_LONGEST_S = 60.0


@contextmanager
def _limited() -> Iterator[None]:
    """End code that doesn't come to an end; only where signals arrive, in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def late(*_: object) -> None:
        msg = f"it took more than {_LONGEST_S:.0f} s"
        raise TimeoutError(msg)

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, _LONGEST_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _own_code(role: str, unit: Unit, call: Callable[[], Any]) -> str | Missing:
    """Return the text that the stack's own code gives, or how it failed."""
    try:
        with _limited():
            output = call()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the user's own code may raise anything
        fault = f"raised {type(error).__name__}: {error}"
    else:
        if isinstance(output, str):
            return output
        fault = f"must return text, got {type(output).__name__}"
    return Missing(
        reason=f"{role}_error",
        message=f"{role}, on {unit.task.id}: {fault}",
        by_code=True,
    )


def stored_output(store: Store, unit: Unit) -> str | None:
    """Return what the store holds of a unit's output; None without one."""
    sample = store.get("sample", {"key": unit.key})
    if sample is None or sample["output"] is None:
        return None
    output: str = json_value(sample["output"], path=store.path)
    return output
