"""The reference stack: files inside the package, run from there or written out to edit."""

import shutil
from importlib.resources import as_file, files
from pathlib import Path
from tempfile import TemporaryDirectory

from evaluand.errors import InputError

STACK_FILE = "stack.yaml"


def reference_folder() -> Path:
    """Return the folder of the built-in reference stack."""
    with as_file(files("evaluand.bench") / "reference") as folder:
        return folder


def write_reference(target: Path) -> Path:
    """Copy the reference stack to a folder that is new or empty; return its stack file.

    Raises:
        InputError: If the folder holds something, or can't be written.
    """
    try:
        if target.exists() and any(target.iterdir()):
            msg = f"{target}: expected a new or an empty folder; nothing was written"
            raise InputError(msg)
        # whole or not at all: a half-written stack would be refused the next time
        with TemporaryDirectory(dir=target.absolute().parent, prefix=".init") as made:
            whole = Path(made) / "stack"
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(reference_folder(), whole, ignore=ignored)
            whole.replace(target)
    except (OSError, shutil.Error) as error:
        why = getattr(error, "strerror", None) or "not all of it could be copied"
        msg = f"{target}: can't be written: {why}"
        raise InputError(msg) from error
    return target / STACK_FILE
