r"""A run's rows for other tools, one row a planned sample and evaluator.

Every planned sample is there, run or not, under every evaluator but identity, which
looks at manifests and not at samples. Rows are in the plan's order: pair, seed,
condition, task, evaluator. What each format does with text:

- JSON lines (``jsonl``): ASCII alone, everything else escaped, so that a line ends at
  ``\n`` and nowhere else. A lone surrogate is its ``\uXXXX``, which some readers of
  other languages replace or refuse.
- CSV: RFC 4180 in UTF-8, lines ended by CR LF, and `escape` for what it can't hold. An
  empty cell is null, but for the two reasons, which are never null: there it is the
  empty text. ``value`` is JSON, since it may be text or a number.
  Python's own reader takes longer cells than 131,072 characters once
  ``csv.field_size_limit`` is raised.
- Parquet: UTF-8 text with `escape` for lone surrogates alone; ``value`` is JSON.

No data are altered for the sake of spreadsheets: a cell that begins with ``=``, ``+``,
``-`` or ``@`` is a formula to them, and a model may have written it. Import such columns
as text.
"""

import codecs
import csv
import json
import math
import os
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO, NamedTuple

from evaluand.bench.grid import NOT_APPLICABLE, NOT_RUN
from evaluand.bench.record import DATABASE, RECORD, read_record
from evaluand.bench.rules import RULES
from evaluand.bench.suite import tasks
from evaluand.bench.task import Task
from evaluand.bench.unit import place
from evaluand.errors import InputError, IntegrityError, StoreError
from evaluand.outcome import Outcome, Status
from evaluand.store import Store, json_text, json_value

Row = dict[str, Any]

COLUMNS: dict[str, type] = {
    "pair": str,
    "condition": str,
    "seed": int,
    "task": str,
    "family": str,
    "prompt": str,
    "output": str,
    "sample_reason": str,
    "truncated": bool,
    "evaluator": str,
    "outcome": str,
    "reason": str,
    "value": object,
    "exchange": str,
    "served_model": str,
    "provider": str,
    "fingerprint": str,
    "finish_reason": str,
    "prompt_tokens": int,
    "completion_tokens": int,
}
"""The columns in their order, and what each holds where it is not null.

``output`` is null where there is none, and then ``sample_reason`` says why; it is empty
else. ``value`` is the verdict as it was read, text or a number. ``exchange`` is the key
of the stored reply, and what follows is what its endpoint said.
"""

ESCAPE = "\N{SYMBOL FOR ESCAPE}"
"""What an escape begins with: U+241B, a character that texts hardly ever hold."""
EMPTY = f"{ESCAPE}e"
"""The CSV cell of an empty text where an empty cell is null."""

_NEVER_NULL = ("sample_reason", "reason")
_REPLY = (
    "served_model",
    "provider",
    "fingerprint",
    "finish_reason",
    "prompt_tokens",
    "completion_tokens",
)
_NOT_CSV = re.compile(f"[{ESCAPE}\0\ud800-\udfff]")
_NOT_UTF8 = re.compile(f"[{ESCAPE}\ud800-\udfff]")
_ESCAPED = re.compile(f"{ESCAPE}({ESCAPE}|0000|d[89a-f][0-9a-f]{{2}}|e\\Z)")
# Rows and characters that Parquet holds back for one row group.
_GROUP_ROWS = 4096
_GROUP_CHARACTERS = 2**23


def escape(text: str, *, nul: bool = True) -> str:
    r"""Return a text that has a UTF-8 form, with ``unescape(escape(t)) == t``.

    NUL and lone surrogates become `ESCAPE` and four hexadecimal digits, and `ESCAPE` is
    doubled. All other texts stay as they are.

    Args:
        text: Any text.
        nul: Whether NUL has to go too.

    >>> escape("a\0b\ud800")
    'a␛0000b␛d800'
    >>> escape("\\ ␛")
    '\\ ␛␛'
    """
    return (_NOT_CSV if nul else _NOT_UTF8).sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    return ESCAPE + (ESCAPE if found[0] == ESCAPE else f"{ord(found[0]):04x}")


def unescape(cell: str) -> str:
    r"""Return the text that `escape` was given; that of `EMPTY` is empty.

    >>> unescape("a␛0000b␛d800␛␛0000")
    'a\x00b\ud800␛0000'
    """
    return _ESCAPED.sub(_unescaped, cell)


def _unescaped(found: re.Match[str]) -> str:
    code = found[1]
    if code == ESCAPE:
        return ESCAPE
    return "" if code == "e" else chr(int(code, 16))


class Exported(NamedTuple):
    """A written file and how many rows it holds."""

    path: Path
    rows: int


def export(folder: Path, to: str, path: Path | None = None) -> Exported:
    """Write a run's rows to a file, which is there whole or not at all.

    Rows are streamed: no more is held than the names of samples, and a row group of
    Parquet.

    Args:
        folder: The run.
        to: One of `WRITERS`.
        path: The file; ``export.TO`` in the run's folder when None.

    Raises:
        InputError: If there is no run to export, the file can't be written, or the
            format needs a package that isn't installed.
        IntegrityError: If two samples stand at one place.
        StoreError: If the store can't be read.
    """
    write = WRITERS[to]
    if to == "parquet":
        _pyarrow()
    record = read_record(folder)
    target = path or folder / f"export.{to}"
    _refuse_target(target, folder)
    with Store(folder / DATABASE, readonly=True) as store:
        _refuse_unbegun(record, folder, store)
        found = rows(record, store)
        with _whole(target) as file:
            count = write(file, found)
    return Exported(target, count)


def rows(record: Mapping[str, Any], store: Store) -> Generator[Row]:
    """Yield a run's rows, each with all of `COLUMNS` in their order.

    Args:
        record: What was asked for, with its number of tasks.
        store: The run's database.

    Raises:
        IntegrityError: If two samples stand at one place.
        StoreError: If the store can't be read.
    """
    settings = record["settings"]
    evaluators = [e for e in record["evaluators"] if e["kind"] != "identity"]
    keys = _sample_keys(store)
    for pair in record["stack"]:
        for seed in settings["seeds"]:
            suite = tasks(seed, record["tasks"])
            for condition in settings["conditions"]:
                for task in suite:
                    key = keys.get((pair, seed, condition, task.id))
                    sample = _sample(store, key, place(pair, condition, seed, task.id))
                    planned = _planned(pair, condition, seed, task)
                    for evaluator in evaluators:
                        outcome = _outcome(store, task, sample, evaluator)
                        yield _row(store, planned, sample, evaluator["name"], outcome)


def _planned(pair: str, condition: str, seed: int, task: Task) -> Row:
    return {
        "pair": pair,
        "condition": condition,
        "seed": seed,
        "task": task.id,
        "family": task.family,
        "prompt": task.prompt,
    }


def _sample_keys(store: Store) -> dict[tuple[Any, ...], Any]:
    """Return the keys of samples by where they stand; two at one place are an error."""
    keys: dict[tuple[Any, ...], Any] = {}
    names: dict[Any, Any] = {}  # one object a name, not one a row
    for row in store.rows("sample"):
        columns = (row["pair"], row["seed"], row["condition"], row["task"])
        where = tuple(names.setdefault(column, column) for column in columns)
        if where in keys:
            msg = f"{store.path}: two samples stand at {where}; the stack or the agent changed between resumes, so run afresh in a new folder"
            raise IntegrityError(msg)
        keys[where] = row["key"]
    return keys


def _sample(store: Store, key: Any, name: str) -> Row:
    """Return what came of a planned sample; without one, why there is none."""
    if key is None:
        failure = store.get("failure", {"unit": name, "evaluator": ""})
        return {"sample_reason": failure["reason"] if failure else NOT_RUN.reason}
    sample = store.get("sample", {"key": key})
    if sample is None:
        msg = f"{store.path}: the run's database is damaged: its sample {key!r} is gone"
        raise StoreError(msg)
    output, cut = sample["output"], sample["truncated"]
    return {
        "key": key,
        "output": None if output is None else json_value(output, path=store.path),
        "sample_reason": sample["reason"],
        # SQLite has no booleans; what is neither is damage, and found below
        "truncated": {0: False, 1: True}.get(cut, cut),
        "exchange": sample["exchange"],
        **_reply(store, sample["exchange"]),
    }


def _reply(store: Store, key: Any) -> Row:
    """Return what an endpoint said of its reply; nothing where none was asked."""
    if key is None:
        return {}
    exchange = store.get("exchange", {"key": key})
    if exchange is None:
        msg = f"{store.path}: the run's database is damaged: it lacks the exchange {key!r} of a sample"
        raise StoreError(msg)
    return {name: exchange[name] for name in _REPLY}


def _outcome(
    store: Store, task: Task, sample: Row, evaluator: Mapping[str, Any]
) -> Outcome:
    """Return an evaluator's outcome; what has no verdict says why, as in the report."""
    if evaluator["kind"] == "rule" and not RULES[evaluator["name"]].applies(task):
        return Outcome.unassessed(NOT_APPLICABLE)
    if sample["sample_reason"]:
        return Outcome.unassessed(sample["sample_reason"])
    key, digest = sample["key"], evaluator["digest"]
    score = store.get("score", {"sample": key, "evaluator": digest})
    if score is None:
        failure = store.get("failure", {"unit": key, "evaluator": digest})
        return Outcome.unassessed(failure["reason"]) if failure else NOT_RUN
    value = score["value"]
    read = None if value is None else json_value(value, path=store.path)
    try:
        return Outcome(Status(score["outcome"]), score["reason"], read)
    except ValueError as error:
        msg = f"{store.path}: the run's database is damaged: {error}"
        raise StoreError(msg) from error


def _row(
    store: Store, planned: Row, sample: Row, evaluator: str, outcome: Outcome
) -> Row:
    found = {
        **planned,
        **sample,
        "evaluator": evaluator,
        "outcome": outcome.status.value,
        "reason": outcome.reason,
        "value": outcome.value,
    }
    row = {name: found.get(name) for name in COLUMNS}
    for name, value in row.items():
        if not _fits(name, value):
            msg = f"{store.path}: the run's database is damaged: expected {_said(name)} as {name}, got {value!r:.40}"
            raise StoreError(msg)
    return row


def _fits(name: str, value: Any) -> bool:
    if value is None:
        return name not in _NEVER_NULL
    if name == "value":
        finite = isinstance(value, float) and math.isfinite(value)
        return finite or isinstance(value, str | int)
    return isinstance(value, COLUMNS[name])


def _said(name: str) -> str:
    return "text or a number" if name == "value" else COLUMNS[name].__name__


def _refuse_unbegun(record: Mapping[str, Any], folder: Path, store: Store) -> None:
    """Refuse what has no report either."""
    if record["tasks"] is None:
        msg = f"{folder}: this run hasn't settled its number of tasks yet; resume it with: {record['command']}"
        raise InputError(msg)
    read = {row["cell"] for row in store.rows("manifest") if row["moment"] == "before"}
    for pair in record["stack"]:
        for condition in record["settings"]["conditions"]:
            if f"{pair}/{condition}" not in read:
                msg = f"{folder}: this run has not begun (no manifest of {pair}/{condition}); start it with: {record['command']}"
                raise InputError(msg)


def _refuse_target(path: Path, folder: Path) -> None:
    """Refuse to put a file in the place of what isn't one, or of the run itself."""
    names = (RECORD, DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", ".lock")
    own = [folder / name for name in names]
    if any(os.path.realpath(path) == os.path.realpath(each) for each in own):
        msg = f"{path}: belongs to the run; choose another file with -o"
        raise InputError(msg)
    if path.exists() and not path.is_file():
        msg = f"{path}: expected a path for a file, and this is none; choose another with -o"
        raise InputError(msg)


@contextmanager
def _whole(path: Path) -> Iterator[BinaryIO]:
    """Open a file that takes its place once all of it is written, and goes otherwise."""
    # a link stays one: what it points to is replaced
    target = Path(os.path.realpath(path))
    partial = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        try:
            with partial.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        msg = f"{path}: can't be written: {error.strerror or error}"
        raise InputError(msg) from error


def write_jsonl(file: BinaryIO, found: Iterable[Row]) -> int:
    """Write rows as JSON lines; return how many."""
    count = 0
    for count, row in enumerate(found, start=1):  # noqa: B007 - the last one is the sum
        file.write(json.dumps(row, allow_nan=False).encode("ascii") + b"\n")
    return count


def write_csv(file: BinaryIO, found: Iterable[Row]) -> int:
    """Write rows as CSV under a line of names; return how many."""
    writer = csv.writer(codecs.getwriter("utf-8")(file), lineterminator="\r\n")
    writer.writerow(COLUMNS)
    count = 0
    for count, row in enumerate(found, start=1):  # noqa: B007 - as above
        writer.writerow([_cell(name, row[name]) for name in COLUMNS])
    return count


def _cell(name: str, value: Any) -> str:
    if value is None:
        return ""
    if COLUMNS[name] is not str:
        return json_text(value)  # ASCII, and 1 or true for what isn't text
    return escape(value) or ("" if name in _NEVER_NULL else EMPTY)


def write_parquet(file: BinaryIO, found: Iterable[Row]) -> int:
    """Write rows as Parquet; return how many.

    Raises:
        InputError: If pyarrow isn't installed.
    """
    pyarrow = _pyarrow()
    types = {int: pyarrow.int64(), bool: pyarrow.bool_()}
    schema = pyarrow.schema(
        [(name, types.get(kind, pyarrow.string())) for name, kind in COLUMNS.items()]
    )
    count = 0
    with import_module("pyarrow.parquet").ParquetWriter(file, schema) as writer:
        for group in _groups(found):
            count += len(group)
            held = [
                {name: _held(name, value) for name, value in row.items()}
                for row in group
            ]
            writer.write_table(pyarrow.Table.from_pylist(held, schema=schema))
    return count


def _pyarrow() -> ModuleType:
    try:
        return import_module("pyarrow")
    except ImportError as error:
        msg = f"--to parquet needs pyarrow ({error}); install it with: pip install 'evaluand[parquet]'"
        raise InputError(msg) from error


def _groups(found: Iterable[Row]) -> Generator[list[Row]]:
    """Yield rows in lists that are small, however long their texts are."""
    group: list[Row] = []
    characters = 0
    for row in found:
        group.append(row)
        characters += sum(len(value) for value in row.values() if type(value) is str)
        if len(group) >= _GROUP_ROWS or characters >= _GROUP_CHARACTERS:
            yield group
            group, characters = [], 0
    if group:
        yield group


def _held(name: str, value: Any) -> Any:
    if value is None or COLUMNS[name] in (int, bool):
        return value
    return escape(value, nul=False) if COLUMNS[name] is str else json_text(value)


WRITERS: dict[str, Callable[[BinaryIO, Iterable[Row]], int]] = {
    "jsonl": write_jsonl,
    "csv": write_csv,
    "parquet": write_parquet,
}
