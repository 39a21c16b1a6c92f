"""Files that a stack names, read once and only from where they may lie."""

import os
from pathlib import Path

from evaluand.digest import files_of, name_fault
from evaluand.document import read_bytes
from evaluand.errors import InputError
from evaluand.identity.part import Blob, Code


def read_blob(root: Path, name: str, *, key: str) -> Blob:
    """Return a file of the stack's folder.

    Args:
        root: The stack's folder.
        name: A relative path, as the stack names it.
        key: The key that names it, for error messages.

    Raises:
        InputError: If the path is absolute or climbs (nothing is opened then), is a
            link out of the folder, or can't be read.
    """
    path = inside(root, name, key=key)
    if path.is_dir():
        msg = f"{key}: expected a file, {name} is a folder"
        raise InputError(msg)
    return Blob(name=plain(name), content=read_bytes(path))


def read_code(root: Path, text: str, *, key: str) -> Code:
    """Return the function that ``file.py:function`` names.

    Raises:
        InputError: As `read_blob`.
    """
    name, _, function = text.rpartition(":")
    return Code(source=read_blob(root, name, key=key), function=function)


def read_folder(root: Path, name: str, *, key: str) -> tuple[Blob, ...]:
    """Return all files of a folder of the stack, named relative to that folder.

    Raises:
        InputError: As `read_blob`, and as `evaluand.digest.tree_digest`.
    """
    folder = inside(root, name, key=key)
    if not folder.is_dir():
        msg = f"{key}: expected a folder, {folder} is none"
        raise InputError(msg)
    return tuple(
        Blob(name=each, content=read_bytes(path)) for each, path in files_of(folder)
    )


def elsewhere(root: Path, name: str, *, key: str) -> Path:
    """Return a path that may lie outside the stack's folder, being too big to copy.

    Raises:
        InputError: If nothing is there.
    """
    path = root / name
    if "\0" in name or not path.exists():
        msg = f"{key}: expected a file or a folder, there is none at {path}"
        raise InputError(msg)
    return path


def inside(root: Path, name: str, *, key: str) -> Path:
    """Return a path that must lie in the stack's folder; nothing is opened.

    Raises:
        InputError: If it doesn't.
    """
    fault = name_fault(plain(name))
    if fault:
        msg = f"{key}: expected a path relative to the stack's folder and inside it, {name!r} {fault}"
        raise InputError(msg)
    path = root / name
    real = Path(os.path.realpath(path))
    if not real.is_relative_to(os.path.realpath(root)):
        msg = f"{key}: {name} is a link out of the stack's folder, to {real}; copy the file in"
        raise InputError(msg)
    return path


def plain(name: str) -> str:
    """Return a relative path without what doesn't change its meaning.

    >>> plain("./prompts/system.md"), plain("corpus/")
    ('prompts/system.md', 'corpus')
    """
    parts = [part for part in name.split("/") if part != "."]
    middle = [part for part in parts[1:-1] if part]
    return "/".join([*parts[:1], *middle, *parts[1:][-1:]]).removesuffix("/")
