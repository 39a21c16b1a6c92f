"""YAML documents read strictly: what a reader would have guessed at is refused."""

import datetime
import math
import os
import re
import stat
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import AliasEvent, DocumentStartEvent, Event, ScalarEvent

from evaluand.errors import InputError

# What some reader takes for a number: octal, hex, binary, grouped by _, sexagesimal.
_NUMBER = re.compile(
    r"[-+]?(0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+"
    r"|[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?"
    r"|([0-9][0-9_]*(\.[0-9_]*)?|\.[0-9][0-9_]*)([eE][-+]?[0-9]+)?)"
)
_LONGEST = 1_000_000
_DEEPEST = 100
# What JSON readers agree on (RFC 8785, 3.2.2.3), and characters that are none.
_MAX_INTEGER = 2**53 - 1
_SURROGATE = re.compile("[\ud800-\udfff]")
# What every reader takes for the same number.
_PLAIN_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")


def read_text(path: Path) -> str:
    """Return a UTF-8 file's text, its line ends as they are.

    Raises:
        InputError: If the file is missing, unreadable or not UTF-8.
    """
    return decode(read_bytes(path), source=str(path))


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a regular file: a pipe might never end, nor a device.

    Raises:
        InputError: If the file is missing, unreadable or no regular file.
    """
    try:
        # a pipe without a writer would be waited for
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return file.read()
        msg = f"{path}: can't be read: expected a regular file"
        raise InputError(msg)
    except (OSError, ValueError) as error:
        error = error if isinstance(error, OSError) else OSError(0, str(error))
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
        InputError: For malformed YAML, duplicate keys, aliases, merge keys, tags,
            directives, dates, ``.nan``, ``.inf``, numbers in forms that readers don't
            agree on, integers beyond 2**53 - 1, lone surrogates, and keys that are not
            text.

    >>> parse_yaml("retrieval: none\nk: 2", source="x.yaml")
    {'retrieval': 'none', 'k': 2}
    """
    yaml = YAML(typ="safe", pure=True)
    try:
        _refuse_size(text)
        for event in yaml.parse(text):
            _refuse_event(event, source)
        value = yaml.load(text)
    except YAMLError as error:
        msg = f"{source}: not a valid YAML document: {_one_line(error)}"
        raise InputError(msg) from error
    except RecursionError as error:
        msg = f"{source}: nested too deeply"
        raise InputError(msg) from error
    except (ValueError, OverflowError) as error:
        # dates, escapes and numbers that the reader takes apart and can't put together
        msg = f"{source}: not a valid YAML document: {str(error)[:100]}"
        raise InputError(msg) from error
    _refuse_guesses(value, f"{source}: ")
    return value


def _refuse_size(text: str) -> None:
    """Refuse what would take the reader, whose time grows with the square, for ever."""
    if len(text) > _LONGEST:
        msg = f"longer than {_LONGEST} characters"
        raise ValueError(msg)
    depth = deepest = 0
    for bracket in re.findall(r"[\[\]{}]", text):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    if deepest > _DEEPEST:
        msg = f"nested deeper than {_DEEPEST} brackets"
        raise ValueError(msg)


def _refuse_event(event: Event, source: str) -> None:
    fault = _fault(event)
    if fault:
        msg = f"{source}, line {event.start_mark.line + 1}: {fault}"
        raise InputError(msg)


def _fault(event: Event) -> str:
    """Return what is wrong with one event, empty if nothing is."""
    if isinstance(event, AliasEvent):
        return "aliases are refused; write the value out"
    if isinstance(event, DocumentStartEvent) and (event.version or event.tags):
        return "% directives are refused; YAML 1.2 is what is read"
    tag = getattr(event, "tag", None)
    if tag is not None:
        return f"tags such as {tag} are refused; write the value alone"
    if isinstance(event, ScalarEvent) and event.style is None:
        return _plain_fault(event.value)
    return ""


def _plain_fault(text: str) -> str:
    if text == "<<":
        return "merge keys are refused; write the keys out"
    if _NUMBER.fullmatch(text) and not _PLAIN_NUMBER.fullmatch(text):
        return (
            f"{text} reads differently from tool to tool; quote it or write it plainly"
        )
    return ""


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
            _refuse_guesses(key, f"{where}key: ")
            _refuse_guesses(item, f"{where}{key}: ")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _refuse_guesses(item, f"{where}[{index}]: ")
    elif fault := _value_fault(value):
        msg = f"{where}{value!a} {fault}"
        raise InputError(msg)


def _value_fault(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "is not a number that JSON can hold"
    if isinstance(value, int) and abs(value) > _MAX_INTEGER:
        return "is beyond 2**53 - 1, where readers disagree; quote it"
    if isinstance(value, datetime.date):
        return "was read as a date; quote it"
    if isinstance(value, str) and _SURROGATE.search(value):
        return "holds a lone surrogate, which is no character"
    return ""
