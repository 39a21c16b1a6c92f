"""Which tampers a gate says must be killed, and were not."""

from collections.abc import Mapping
from typing import Any

from evaluand.errors import InputError


def survivors(summary: Mapping[str, Any], gate: str) -> list[str]:
    """Return a sentence for every tamper that a gate wants killed and that lives.

    Args:
        summary: Of a bench.
        gate: ``EVALUATOR`` for all tampers but equivalent ones, or
            ``EVALUATOR=CONDITION,CONDITION``.

    Raises:
        InputError: If the run has no such evaluator or tamper.
    """
    evaluator, mark, names = gate.partition("=")
    known = [entry["name"] for entry in summary["evaluators"]]
    tampers = {n: c for n, c in summary["conditions"].items() if c["tamper"]}
    if evaluator not in known:
        msg = f"--gate: expected an evaluator of this run ({', '.join(known)}), got {evaluator!r}"
        raise InputError(msg)
    wanted = (
        names.split(",")
        if mark
        else [n for n, c in tampers.items() if not c["equivalent"]]
    )
    unknown = [name for name in wanted if name not in tampers]
    if unknown:
        msg = f"--gate: expected tampers of this run ({', '.join(tampers)}), got {unknown[0]!r}"
        raise InputError(msg)
    dead = summary["mutation"][evaluator]["killed_names"]
    return [f"{evaluator} did not kill {name}" for name in wanted if name not in dead]
