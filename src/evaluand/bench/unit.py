"""One unit of a bench: one task in one cell under one seed, and how its sample comes."""

import asyncio
from dataclasses import dataclass
from typing import Any

from evaluand.bench import agent as agent_module
from evaluand.bench.plan import Cell
from evaluand.bench.task import Task
from evaluand.digest import value_digest
from evaluand.engine.ask import Answer, Asker
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

    @property
    def place(self) -> str:
        """The name under which a failure to get this sample is noted."""
        return place(self.cell.pair, self.cell.condition.name, self.seed, self.task.id)

    @property
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


async def sample_row(unit: Unit, asker: Asker) -> dict[str, Any] | Answer:
    """Return a sample's row, or the answer that says why no reply came this time.

    Raises:
        InputError: If the stack's own code fails or returns something else than text.
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
        return row | {"output": json_text(await _own_agent(unit))}
    request = cell.agent.request(task.prompt)
    answer = await asker.ask(cell.model, request, draw=unit.draw)
    if answer.may_come:
        return answer
    row["exchange"] = answer.key
    if answer.reason:
        return row | {"reason": answer.reason}
    output = cell.agent.output(task.prompt, answer.text)
    cut = int(answer.finish_reason == "length")
    return row | {"output": json_text(output), "truncated": cut}


async def _own_agent(unit: Unit) -> str:
    respond = unit.cell.respond
    if respond is None:
        msg = f"stack {unit.cell.stack.name} has neither a model nor respond"
        raise InputError(msg)
    try:
        output = await asyncio.to_thread(respond, unit.task, unit.cell.stack)
    except (Exception, SystemExit) as error:
        msg = f"respond raised {type(error).__name__} on {unit.task.id}: {error}"
        raise InputError(msg) from error
    if not isinstance(output, str):
        msg = f"respond must return text, got {type(output).__name__} on {unit.task.id}"
        raise InputError(msg)
    return output


def stored_output(store: Store, unit: Unit) -> str | None:
    """Return what the store holds of a unit's output; None without one."""
    sample = store.get("sample", {"key": unit.key})
    if sample is None or sample["output"] is None:
        return None
    output: str = json_value(sample["output"], path=store.path)
    return output
