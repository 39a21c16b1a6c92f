r"""Rows as JSON lines, CSV or Parquet, exact for every text that Python can hold.

What each format does with text:

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
import re
from collections.abc import Callable, Generator, Iterable
from importlib import import_module
from types import ModuleType
from typing import Any, BinaryIO

from evaluand.errors import InputError
from evaluand.store import json_text

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

NEVER_NULL = ("sample_reason", "reason")
"""The texts that are never null, so that an empty cell is the empty text."""

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
    return escape(value) or ("" if name in NEVER_NULL else EMPTY)


def write_parquet(file: BinaryIO, found: Iterable[Row]) -> int:
    """Write rows as Parquet; return how many.

    Raises:
        InputError: If pyarrow isn't installed.
    """
    pyarrow = pyarrow_module()
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


def pyarrow_module() -> ModuleType:
    """Return pyarrow.

    Raises:
        InputError: If it isn't installed.
    """
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
