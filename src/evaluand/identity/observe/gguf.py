"""The metadata of a GGUF file, read without trusting the file.

Only the header is read, at its own pace: sizes that the file claims are checked against
what it holds before anything is taken, and the tensors are never touched.

Source: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md (versions 2 and 3).
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NoReturn

from evaluand.digest import Leaf, sha256_hex
from evaluand.errors import InputError

MAGIC = b"GGUF"
TEMPLATE_KEY = "tokenizer.chat_template"
# Far above the largest vocabularies in use (256,000 tokens take about 10 MB).
MAX_HEADER = 256 * 2**20
MAX_KEYS = 65_536
MAX_ITEMS = 8_000_000
MAX_DEPTH = 4

_CHUNK = 2**20
_STRING, _ARRAY = 8, 9
# bytes of each fixed type: (u)int8 to 64, float32 and 64, bool
_SIZES: Mapping[int, int] = {
    0: 1,
    1: 1,
    2: 2,
    3: 2,
    4: 4,
    5: 4,
    6: 4,
    7: 1,
    10: 8,
    11: 8,
    12: 8,
}


@dataclass(frozen=True, slots=True)
class Value:
    """One metadata value as the file holds it.

    Args:
        type: GGUF's number for it; 8 is text.
        raw: Its bytes, for text without the length before it.
    """

    type: int
    raw: bytes


def is_gguf(path: Path) -> bool:
    """Return whether a file begins as a GGUF does, whatever it is called.

    Raises:
        InputError: If it can't be read.
    """
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError as error:
        msg = f"{path}: can't be read: {error.strerror}"
        raise InputError(msg) from error


def read_metadata(path: Path) -> dict[str, Value]:
    """Return the metadata by key, in file order.

    Raises:
        InputError: If it can't be read or isn't a whole, sound GGUF header.
    """
    try:
        with path.open("rb") as file:
            size = path.stat().st_size
            return _Header(file, size, str(path)).metadata()
    except OSError as error:
        msg = f"{path}: can't be read: {error.strerror}"
        raise InputError(msg) from error


def tokenizer_leaves(metadata: Mapping[str, Value]) -> tuple[Leaf, ...]:
    """Return one leaf per ``tokenizer.*`` value, without the chat template."""
    return tuple(
        Leaf(
            name=key,
            type=f"gguf-{value.type}",
            digest=sha256_hex(value.raw),
            size=len(value.raw),
        )
        for key, value in metadata.items()
        if key.startswith("tokenizer.") and key != TEMPLATE_KEY
    )


def chat_template(metadata: Mapping[str, Value]) -> bytes | None:
    """Return the chat template, None if there is none."""
    value = metadata.get(TEMPLATE_KEY)
    return value.raw if value is not None and value.type == _STRING else None


class _Header:
    """A reader that never takes more than the file holds.

    Args:
        file: Open for reading, at its start.
        size: Its bytes.
        source: Its name, for error messages.
    """

    def __init__(self, file: BinaryIO, size: int, source: str) -> None:
        self._file = file
        self._size = size
        self._source = source
        self._data = bytearray()
        self._at = 0
        self._items = 0

    def metadata(self) -> dict[str, Value]:
        if self._take(4) != MAGIC:
            self._refuse("expected a file that begins with GGUF")
        version = self._number("<I")
        if version not in (2, 3):
            self._refuse(f"expected little-endian GGUF version 2 or 3, got {version}")
        self._number("<Q")  # tensors
        count = self._number("<Q")
        if count > MAX_KEYS:
            self._refuse(f"{count} metadata keys, at most {MAX_KEYS} are read")
        found: dict[str, Value] = {}
        for _ in range(count):
            key = self._key()
            if key in found:
                self._refuse(f"metadata key {key!r} stands there twice")
            found[key] = self._value()
        return found

    def _key(self) -> str:
        raw = bytes(self._take(self._number("<Q")))
        try:
            return raw.decode("ascii")
        except UnicodeDecodeError:
            self._refuse(f"metadata key {raw[:40]!r} is not ASCII")

    def _value(self) -> Value:
        kind = self._number("<I")
        if kind == _STRING:
            return Value(kind, bytes(self._take(self._number("<Q"))))
        start = self._at
        self._skip(kind, 0)
        return Value(kind, bytes(self._data[start : self._at]))

    def _skip(self, kind: int, depth: int) -> None:
        if kind in _SIZES:
            self._take(_SIZES[kind])
        elif kind == _ARRAY and depth < MAX_DEPTH:
            self._skip_array(self._number("<I"), self._number("<Q"), depth + 1)
        else:
            self._refuse(f"value of unknown type {kind}, or arrays nested too deep")

    def _skip_array(self, kind: int, count: int, depth: int) -> None:
        if kind in _SIZES:
            self._take(count * _SIZES[kind])
            return
        self._items += count
        if self._items > MAX_ITEMS:
            self._refuse(f"arrays of more than {MAX_ITEMS} texts")
        if kind != _STRING:
            for _ in range(count):
                self._skip(kind, depth)
            return
        for _ in range(count):
            self._take(self._number("<Q"))

    def _number(self, form: str) -> int:
        start, size = self._at, struct.calcsize(form)
        self._need(size)
        return int(struct.unpack_from(form, self._data, start)[0])

    def _take(self, count: int) -> bytearray:
        start = self._at
        self._need(count)
        return self._data[start : self._at]

    def _need(self, count: int) -> None:
        """Move forward over bytes that are then in memory."""
        end = self._at + count
        if end > min(self._size, MAX_HEADER):
            self._refuse(
                f"the header goes on to byte {end} and beyond, of {self._size}"
            )
        while len(self._data) < end:
            chunk = self._file.read(max(_CHUNK, end - len(self._data)))
            if not chunk:
                self._refuse(f"ends at byte {len(self._data)}, within its header")
            self._data += chunk
        self._at = end

    def _refuse(self, fault: str) -> NoReturn:
        msg = f"{self._source}: not a sound GGUF file: {fault}"
        raise InputError(msg)
