"""A run folder: ``run.json`` says what was asked for, ``run.sqlite`` what came of it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evaluand.canonical import parse_json
from evaluand.document import read_text
from evaluand.errors import InputError, IntegrityError, StoreError
from evaluand.whole import write_whole

SCHEMA = 2
DATABASE = "run.sqlite"
RECORD = "run.json"
JUDGING = ", judging"
"""What follows a model's name in the record where it judges."""
# what a resumed run may find changed without being another run
_CHANGING = {"started", "command", "versions", "tasks"}


def read_record(folder: Path) -> dict[str, Any]:
    """Return what a run folder says it holds.

    Raises:
        InputError: If it is not a run folder, or of another schema.
        StoreError: If the record is damaged.
    """
    path = folder / RECORD
    if not path.is_file():
        msg = f"{folder}: not a run folder (no {RECORD}); make one with: evaluand bench -o {folder}"
        raise InputError(msg)
    value = parse_json(read_text(path), source=str(path))
    schema = value.get("schema") if isinstance(value, dict) else None
    if not isinstance(value, dict) or schema != SCHEMA or isinstance(schema, bool):
        msg = f"{path}: expected a bench record of schema {SCHEMA}; this one needs another version of evaluand"
        raise InputError(msg)
    _check(value, path)
    return value


def _check(value: Mapping[str, Any], path: Path) -> None:
    from pydantic import ValidationError  # noqa: PLC0415 - pydantic is slow

    from evaluand.bench.record_schema import RecordDocument  # noqa: PLC0415 - as above

    try:
        RecordDocument.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        msg = f"{path}: the run's record is damaged: {where}: {first['msg']}, got {first['input']!r:.60}"
        raise StoreError(msg) from error


def begin(folder: Path, record: Mapping[str, Any]) -> dict[str, Any]:
    """Write the record of a new run, or return that of the run being resumed.

    Raises:
        InputError: If the folder holds a run with other settings.
        IntegrityError: If the stack changed since the run began.
    """
    if not (folder / RECORD).exists():
        if (folder / DATABASE).exists():
            msg = f"{folder}: holds a database but no {RECORD}; choose another folder"
            raise InputError(msg)
        write_record(folder, record)
        return dict(record)
    there = read_record(folder)
    asked = json.loads(json.dumps(record))
    differing = sorted(
        key
        for key in there.keys() | asked.keys()
        if key not in _CHANGING and there.get(key) != asked.get(key)
    )
    stacks = there.get("stack"), asked.get("stack")
    if "stack" in differing and "settings" not in differing:
        moved = ", ".join(_moved(*stacks))
        msg = f"{folder}: {moved} changed since this run began, so its rows would mix two stacks; restore it, or start afresh in another folder"
        raise IntegrityError(msg)
    if differing:
        what = "; ".join(
            _difference(key, there.get(key), asked.get(key)) for key in differing
        )
        msg = f"{folder}: holds a run that differs in {what}; choose another folder with -o"
        raise InputError(msg)
    return there


def write_record(folder: Path, record: Mapping[str, Any]) -> None:
    """Write the record so that a kill leaves the old one or the new one."""
    write_whole(folder / RECORD, json.dumps(record, indent=1, sort_keys=True) + "\n")


def _moved(there: Any, asked: Any) -> list[str]:
    """Return the components that differ, or the stacks that do where none does."""
    moved: dict[str, None] = {}
    for pair in there.keys() | asked.keys():
        one, other = there.get(pair, {}), asked.get(pair, {})
        before, after = one.get("components", {}), other.get("components", {})
        kinds = [*before, *(kind for kind in after if kind not in before)]
        moved |= dict.fromkeys(k for k in kinds if before.get(k) != after.get(k))
    return list(moved) or ["the stack"]


def _difference(key: str, there: Any, asked: Any) -> str:
    if isinstance(there, dict) and isinstance(asked, dict):
        names = [n for n in there.keys() | asked.keys() if there.get(n) != asked.get(n)]
        inner = (_difference(n, there.get(n), asked.get(n)) for n in sorted(names))
        return f"{key} ({', '.join(inner)})"
    return f"{key}: {there!r:.60} there, {asked!r:.60} asked for"
