"""YAML documents read strictly: what a reader would have guessed at is refused."""

import datetime
import math
import re
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import AliasEvent, Event, ScalarEvent

from evaluand.errors import InputError

# 012 is ten or twelve, 1_000 a number or a word, 0o14 and 0x0c newer forms
_GUESSED = re.compile(r"[-+]?0[0-9box_]+$|[-+]?[0-9][0-9]*(_[0-9]+)+$")


def read_text(path: Path) -> str:
    """Return a UTF-8 file's text, its line ends as they are.

    Raises:
        InputError: If the file is missing, unreadable or not UTF-8.
    """
    return decode(read_bytes(path), source=str(path))


def read_bytes(path: Path) -> bytes:
    """Return a file's bytes.

    Raises:
        InputError: If the file is missing or unreadable.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        msg = f"{path}: can't be read: {error.strerror or error}"
        raise InputError(msg) from error


def decode(content: bytes, *, source: str) -> str:
    """Return bytes as text.

    Raises:
        InputError: If they are not UTF-8.
    """
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        msg = f"{source}: expected UTF-8 text, got byte {content[error.start]:#04x} at offset {error.start}"
        raise InputError(msg) from error


def parse_yaml(text: str, *, source: str) -> Any:
    r"""Return the value of one YAML 1.2 document.

    Args:
        text: The document.
        source: Where it came from, for the error message.

    Raises:
        InputError: For malformed YAML, duplicate keys, aliases, dates, ``.nan``,
            ``.inf``, numbers with leading zeros, and keys that are not text.

    >>> parse_yaml("retrieval: none\nk: 2", source="x.yaml")
    {'retrieval': 'none', 'k': 2}
    """
    yaml = YAML(typ="safe", pure=True)
    try:
        for event in yaml.parse(text):
            _refuse_event(event, source)
        value = yaml.load(text)
    except YAMLError as error:
        msg = f"{source}: not a valid YAML document: {_one_line(error)}"
        raise InputError(msg) from error
    except RecursionError as error:
        msg = f"{source}: nested too deeply"
        raise InputError(msg) from error
    _refuse_guesses(value, f"{source}: ")
    return value


def _refuse_event(event: Event, source: str) -> None:
    if isinstance(event, AliasEvent):
        line = event.start_mark.line + 1
        msg = f"{source}, line {line}: aliases are refused; write the value out"
        raise InputError(msg)
    if (
        isinstance(event, ScalarEvent)
        and event.style is None
        and _GUESSED.match(event.value)
    ):
        line = event.start_mark.line + 1
        msg = f"{source}, line {line}: {event.value} reads differently from tool to tool; quote it or write it plainly"
        raise InputError(msg)


def _one_line(error: YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    where = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
    return f"{problem}{where}"


def _refuse_guesses(value: Any, where: str) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                msg = f"{where}key {key!r} is not text; quote it"
                raise InputError(msg)
            _refuse_guesses(item, f"{where}{key}: ")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _refuse_guesses(item, f"{where}[{index}]: ")
    elif isinstance(value, float) and not math.isfinite(value):
        msg = f"{where}{value} is not a number that JSON can hold"
        raise InputError(msg)
    elif isinstance(value, datetime.date):
        msg = f"{where}{value} was read as a date; quote it"
        raise InputError(msg)
