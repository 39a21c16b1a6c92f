"""Which outputs of a run are shown to be read, beside the clean ones."""

from collections.abc import Sequence
from typing import Any

from evaluand.bench import blindness
from evaluand.bench.grid import NOT_APPLICABLE, Grid
from evaluand.bench.load import Loaded
from evaluand.bench.tamper import CONDITIONS
from evaluand.bench.task import FAMILIES


def samples(loaded: Loaded) -> list[dict[str, Any]]:
    """Return outputs to read: per condition the changed ones first, a few a family."""
    grid = loaded.grid
    names = [e["name"] for e in loaded.record["evaluators"] if e["kind"] != "identity"]
    shown = []
    for condition in loaded.record["settings"]["conditions"]:
        kinds = blindness.output_kinds(grid, condition)
        items = [
            _item(grid, condition, index, kinds[index], names)
            for index in _chosen(grid, kinds)
        ]
        title = CONDITIONS[condition].title
        shown.append({"condition": condition, "title": title, "items": items})
    return shown


def _chosen(grid: Grid, kinds: Sequence[str | None], each: int = 3) -> list[int]:
    order = {"harmful": 0, "harmless": 1, "identical": 2}
    chosen: list[int] = []
    for family in FAMILIES:
        rows = [
            (order[kind], index)
            for index, (row, kind) in enumerate(zip(grid.rows, kinds, strict=True))
            if kind is not None and row.task.family == family
        ]
        chosen += [index for _, index in sorted(rows)[:each]]
    return chosen


def _item(
    grid: Grid, condition: str, index: int, kind: str | None, names: Sequence[str]
) -> dict[str, Any]:
    row = grid.rows[index]
    outcomes = {name: grid.outcomes[condition, name][index] for name in names}
    return {
        "task": row.task.id,
        "seed": row.seed,
        "pair": row.pair,
        "family": row.task.family,
        "prompt": row.task.prompt,
        "expected": row.task.expected,
        "clean": grid.outputs["clean"][index],
        "output": grid.outputs[condition][index],
        "class": kind,
        "outcomes": {
            name: {"status": o.status.value, "reason": o.reason, "value": o.value}
            for name, o in outcomes.items()
            if o.reason != NOT_APPLICABLE
        },
    }
