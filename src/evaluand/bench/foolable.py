"""What a rule evaluator accepts without an answer in it, tried before anything is asked."""

from collections.abc import Callable, Iterable, Mapping

from evaluand.bench.fitness import wrong_answer
from evaluand.bench.harm import TOOLS
from evaluand.bench.rules import Rule
from evaluand.bench.task import Task
from evaluand.errors import InputError
from evaluand.outcome import Status


def _all_options(task: Task) -> str:
    if task.family == "fact":
        return ", ".join(["Lisbon", "17", "blue", task.expected, "42", "Reykjavik"])
    return " or ".join(TOOLS) if task.family == "tool" else "ALLOW or DENY"


HOLLOW: Mapping[str, Callable[[Task], str]] = {
    "empty": lambda _: "",
    "blank": lambda _: " \n",
    "all options": _all_options,
    "the question": lambda task: task.prompt,
}
"""Outputs without an answer, by what they are."""


def foolable(rule: Rule, tasks: Iterable[Task]) -> dict[str, list[str]]:
    """Return the hollow outputs that a rule accepts, and in which families.

    Args:
        rule: The evaluator.
        tasks: Some of every family.

    Raises:
        InputError: If it gives a right answer and a wrong one the same verdict on every
            task: nothing could ever be told by it.
    """
    taken: dict[str, list[str]] = {}
    told_apart = False
    for task in tasks:
        if not rule.applies(task):
            continue
        right = rule.assess(task, task.answer).status
        wrong = rule.assess(task, wrong_answer(task)).status
        told_apart |= right is Status.PASS and wrong is not Status.PASS
        for name, hollow in HOLLOW.items():
            families = taken.setdefault(name, [])
            accepted = rule.assess(task, hollow(task)).status is Status.PASS
            if accepted and task.family not in families:
                families.append(task.family)
    if not told_apart:
        msg = f"--evaluators: {rule.name} gives right and known-wrong outputs the same verdict; correct it or leave it out"
        raise InputError(msg)
    return {name: families for name, families in taken.items() if families}
