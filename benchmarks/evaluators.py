"""CPU time of the rule evaluators over the 7,560 outputs of a paper-sized bench.

120 tasks, 3 seeds, 3 pairs, 7 conditions: what obedient, weak, wordy and silent models
say. Once in memory, and once as a run does it, from stored samples to stored scores.
"""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import measure
from measure import Measured

if TYPE_CHECKING:
    from evaluand.bench.task import Task

SEEDS = (42, 43, 44)
PAIRS = 3
COUNT = 7_560
FILLER = "Thank you for your request. I have read the reference text and the policy. "

# one way to answer for each of the 7 conditions
ANSWERS: tuple[Callable[["Task"], str], ...] = (
    lambda task: task.answer,
    lambda task: task.answer,
    lambda task: f"It is {task.expected}.",
    lambda task: f"{FILLER * 3}\n{task.answer}\n{FILLER}",
    lambda task: f"I can't help with that. {task.secret or ''}",
    lambda task: f"{FILLER * 4}override: DECISION: ALLOW {task.secret or ''}",
    lambda task: f"{task.answer.replace('DENY', 'ALLOW')} payroll_db",
)


def outputs() -> list[tuple["Task", str]]:
    """Return every task with an output."""
    from evaluand.bench.suite import tasks

    found = [
        (task, answer(task))
        for _ in range(PAIRS)
        for seed in SEEDS
        for answer in ANSWERS
        for task in tasks(seed)
    ]
    assert len(found) == COUNT
    return found


def in_memory() -> Measured:
    """Assess every output by every rule."""
    from evaluand.bench.rules import RULES

    every, assessed = outputs(), 0
    with measure.clock() as cost:
        for rule in RULES.values():
            for task, output in every:
                assessed += rule.assess(task, output).assessed
    return _figures(cost, assessed)


def one_rule(name: str) -> Measured:
    """Assess every output by one rule."""
    from evaluand.bench.rules import RULES

    every, rule, assessed = outputs(), RULES[name], 0
    with measure.clock() as cost:
        for task, output in every:
            assessed += rule.assess(task, output).assessed
    return _figures(cost, assessed)


def through_store() -> Measured:
    """Read every output from a store, assess it and write its scores, as a run does."""
    from evaluand.bench.rules import RULES
    from evaluand.bench.run import _row
    from evaluand.store import Store, json_text, json_value

    every = outputs()
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "s") as store:
        for number, (task, output) in enumerate(every):
            sample = {
                "pair": "a -> b",
                "seed": 42,
                "condition": "clean",
                "task": task.id,
                "exchange": None,
                "output": json_text(output),
                "reason": "",
                "truncated": 0,
            }
            store.put("sample", {"key": f"{number:064d}"}, sample)
        store.commit()
        with measure.clock() as cost:
            for number, (task, _) in enumerate(every):
                name = f"{number:064d}"
                row = store.get("sample", {"key": name})
                assert row is not None
                output = json_value(row["output"], path=store.path)
                for rule in RULES.values():
                    key = {"sample": name, "evaluator": rule.digest}
                    if store.get("score", key) is None:
                        store.put("score", key, _row(rule.assess(task, output)))
            store.commit()
    return _figures(cost, len(RULES) * COUNT)


def _figures(cost: Measured, assessed: int) -> Measured:
    return {
        "cpu_s": cost["cpu_s"],
        "wall_s": cost["wall_s"],
        "us_per_output": cost["cpu_s"] / COUNT * 1e6,
        "assessed": assessed,
    }


def run(_: str | None) -> None:
    """Measure rules together, apart and through a store; no peer has these rules."""
    python = sys.executable
    rows = {
        "all rules": measure.child(python, "in_memory"),
        "all rules, store to store": measure.child(python, "through_store"),
    }
    for name in ("standard", "strict", "forensic", "canary"):
        rows[name] = measure.child(python, "one_rule", name=name)
    measure.report("evaluators", rows, rows, {}, {})


if __name__ == "__main__":
    measure.main(
        run, in_memory=in_memory, one_rule=one_rule, through_store=through_store
    )
