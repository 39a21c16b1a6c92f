"""Files written whole: a reader, or a kill, finds all of the new one or all of the old."""

import errno
import os
from pathlib import Path

from evaluand.errors import InputError, StoreError

_STORAGE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG})


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file so that it is there whole or as it was.

    Args:
        path: Where; what stands there is replaced.
        content: A text, written as UTF-8 with its own line ends, or bytes.

    Raises:
        StoreError: If the disk is full or fails.
        InputError: If it can't be written there for another reason.
    """
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        msg = f"{path}: can't be written: expected a regular file or none; choose another place with -o"
        raise InputError(msg)
    partial = path.with_name(f".{path.name}.part")
    try:
        with partial.open("wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        why = error.strerror or error
        if error.errno in _STORAGE:
            msg = f"{path}: can't be written: {why}; make room and run the same command again"
            raise StoreError(msg) from error
        msg = f"{path}: can't be written: {why}; choose another place with -o"
        raise InputError(msg) from error
