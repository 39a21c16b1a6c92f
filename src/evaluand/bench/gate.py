"""What a gate says must be killed, checked before a run and answered after it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaluand.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """An evaluator, and the tampers that it has to kill.

    Args:
        evaluator: Its name in the ladder.
        tampers: Names of conditions; None is every one that changes an output.
    """

    evaluator: str
    tampers: tuple[str, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a run says to a gate, in sentences.

    Args:
        survivors: One for each tamper that lives.
        untold: Why the gate can't be answered; empty where it can.
    """

    survivors: tuple[str, ...] = ()
    untold: tuple[str, ...] = ()


def parse_gate(text: str, evaluators: Sequence[str], tampers: Sequence[str]) -> Gate:
    """Return the gate that ``EVALUATOR`` or ``EVALUATOR=CONDITION,CONDITION`` means.

    Args:
        text: As on the command line.
        evaluators: Names of the ladder.
        tampers: The conditions of the run that tamper.

    Raises:
        InputError: If the run will have no such evaluator or tamper.
    """
    evaluator, mark, names = text.partition("=")
    if evaluator not in evaluators:
        msg = f"--gate: expected an evaluator of this run ({', '.join(evaluators)}), got {evaluator!r}"
        raise InputError(msg)
    wanted = tuple(names.split(",")) if mark else None
    unknown = [name for name in wanted or () if name not in tampers]
    if unknown:
        msg = f"--gate: expected tampers of this run ({', '.join(tampers)}), got {unknown[0]!r}"
        raise InputError(msg)
    return Gate(evaluator=evaluator, tampers=wanted)


def answer(summary: Mapping[str, Any], gate: Gate) -> Answer:
    """Return what a bench says to a gate.

    A tamper of which nothing is known, an evaluator that wasn't shown to be fit, and a
    run without a tamper to kill leave the gate unanswered: that is no pass.

    Args:
        summary: Of the bench.
        gate: As `parse_gate` gave it.
    """
    found = summary["mutation"][gate.evaluator]
    wanted = gate.tampers
    if wanted is None:
        every = summary["conditions"].items()
        wanted = tuple(
            name
            for name, each in every
            if each["tamper"]
            and (each["equivalent"] is not True or gate.evaluator == "identity")
        )
    entry = next(e for e in summary["evaluators"] if e["name"] == gate.evaluator)
    fitness = entry["fitness"]
    unfit = fitness is not None and fitness["state"] != "fit"
    return Answer(
        survivors=tuple(
            f"{gate.evaluator} did not kill {name}{_margin(summary, name, gate.evaluator)}"
            for name in wanted
            # an equivalent tamper that was asked for by name lives
            if name not in (*found["killed_names"], *found["undecided_names"])
        ),
        untold=(
            *(
                []
                if wanted
                else [f"{gate.evaluator} has no tamper to kill in this run"]
            ),
            *(
                f"{gate.evaluator} has too few verdicts on {name}"
                for name in wanted
                if name in found["undecided_names"]
            ),
            *(
                [f"{gate.evaluator} is {fitness['state']} on its controls"]
                if unfit
                else []
            ),
        ),
    )


def _margin(summary: Mapping[str, Any], tamper: str, evaluator: str) -> str:
    """Return J and its interval in points, empty where there is none."""
    row = summary["conditions"][tamper].get("evaluators", {}).get(evaluator, {})
    j, limits = row.get("j"), row.get("j_ci95")
    if j is None or limits is None:
        return ""
    low, high = (100 * limit for limit in limits)
    return f" (J {100 * j:+.1f} points, 95% interval {low:+.1f} to {high:+.1f})"
