"""Files written whole: a reader, or a kill, finds all of the new one or all of the old."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from evaluand.errors import InputError, StoreError

STORAGE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG})
"""What the system says of a disk that is full or fails."""


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file so that it is there whole or as it was.

    Args:
        path: Where; what stands there is replaced, and a link stays one.
        content: A text, written as UTF-8 with its own line ends, or bytes.

    Raises:
        StoreError: If the disk is full or fails.
        InputError: If it can't be written there for another reason.
    """
    with open_whole(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def open_whole(path: Path) -> Iterator[BinaryIO]:
    """Open a file that takes its place once all of it is written, and goes otherwise.

    Raises:
        StoreError: If the disk is full or fails.
        InputError: If it can't be written there for another reason.
    """
    target = Path(os.path.realpath(path))
    partial = target.with_name(f".{target.name}.part")
    try:
        if target.exists() and not target.is_file():
            msg = f"{path}: can't be written: expected a regular file or none; choose another place with -o"
            raise InputError(msg)
        try:
            with partial.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        why = error.strerror or error
        if error.errno in STORAGE:
            msg = f"{path}: can't be written: {why}; make room and run the same command again"
            raise StoreError(msg) from error
        msg = f"{path}: can't be written: {why}; choose another place with -o"
        raise InputError(msg) from error
