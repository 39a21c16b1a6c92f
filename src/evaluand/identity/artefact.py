"""Files that a stack names, read once and only from where they may lie."""

import ast
import os
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import TypeVar

from evaluand.digest import files_of, name_fault
from evaluand.document import read_bytes
from evaluand.errors import InputError
from evaluand.identity.part import Blob, Code

T = TypeVar("T")


class Reading:
    """Files read out of a stack's folder, with every fault kept until all was tried.

    Args:
        root: The stack's folder.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._faults: list[str] = []

    def blob(self, key: str, name: str | None) -> Blob | None:
        """Return a file, None when none is named or it can't be read.

        Args:
            key: The key of the stack that names it.
            name: Its path relative to the stack's folder. An absolute or climbing one is
                a fault before anything is opened; so is a link out of the folder.
        """
        return None if name is None else self._kept(lambda: self._blob(key, name))

    def code(self, key: str, text: str | None) -> Code | None:
        """Return the function that ``file.py:function`` names, None as `blob`."""
        name, _, function = (text or "").rpartition(":")
        source = self.blob(key, name) if text is not None else None
        if source is not None:
            beside = _imported_beside(source.content, (self.root / name).parent)
            if beside:
                self._faults.append(
                    f"{key}: {name} imports {beside}, a file beside it, which isn't hashed; put it into {name}, or into a package that is installed"
                )
        return Code(source=source, function=function) if source is not None else None

    def folder(self, key: str, name: str | None) -> tuple[Blob, ...]:
        """Return all files of a folder named relative to it, none as `blob`."""
        if name is None:
            return ()
        return self._kept(lambda: self._folder(key, name)) or ()

    def elsewhere(self, key: str, name: str | None) -> Path | None:
        """Return a path that may lie outside the stack's folder, None as `blob`."""
        return None if name is None else self._kept(lambda: self._elsewhere(key, name))

    def finish(self) -> None:
        """Refuse the stack if anything was at fault.

        Raises:
            InputError: With every fault.
        """
        if self._faults:
            raise InputError("\n  ".join(self._faults))

    def _kept(self, read: Callable[[], T]) -> T | None:
        try:
            return read()
        except InputError as error:
            self._faults.append(str(error))
            return None

    def _blob(self, key: str, name: str) -> Blob:
        path = inside(self.root, name, key=key)
        if _kind(key, path) == "other":
            msg = f"{key}: expected a file, {name} is a folder or no regular file"
            raise InputError(msg)
        return Blob(name=plain(name), content=_bytes(key, path))

    def _folder(self, key: str, name: str) -> tuple[Blob, ...]:
        folder = inside(self.root, name, key=key)
        if not folder.is_dir():
            msg = f"{key}: expected a folder, {folder} is none"
            raise InputError(msg)
        return tuple(
            Blob(name=each, content=read_bytes(path)) for each, path in files_of(folder)
        )

    def _elsewhere(self, key: str, name: str) -> Path:
        path = self.root / name
        if "\0" in name or _kind(key, path) == "none":
            msg = f"{key}: expected a file or a folder, there is none at {path}"
            raise InputError(msg)
        if path.is_dir():
            files_of(path)
        else:
            _refuse_unreadable(key, path)
        return path


def _kind(key: str, path: Path) -> str:
    """Return ``file``, ``other`` or ``none``, by what is there."""
    try:
        if not path.exists():
            return "none"
        return "file" if path.is_file() else "other"
    except OSError as error:  # a name that is too long for the file system
        msg = f"{key}: {str(path)[:60]}…: can't be read: {error.strerror}"
        raise InputError(msg) from error


def _imported_beside(content: bytes, folder: Path) -> str:
    """Return a module that code imports from its own folder, empty if there is none."""
    try:
        nodes = list(ast.walk(ast.parse(content)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""  # said where it is compiled
    for node in nodes:
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or "." if not node.level else f".{node.module or ''}"]
        for name in names:
            if (
                name.startswith(".")
                or (folder / f"{name.partition('.')[0]}.py").exists()
            ):
                return name
    return ""


def _refuse_unreadable(key: str, path: Path) -> None:
    if not path.is_file():  # opening a pipe would wait for ever
        msg = f"{key}: expected a regular file, {path} is none"
        raise InputError(msg)
    try:
        path.open("rb").close()
    except OSError as error:
        msg = f"{key}: {path}: can't be read: {error.strerror}"
        raise InputError(msg) from error


def _bytes(key: str, path: Path) -> bytes:
    try:
        return read_bytes(path)
    except InputError as error:
        near = [each.name for each in path.parent.glob("*")]
        close = get_close_matches(path.name, near, n=1)
        hint = f"; did you mean {close[0]}?" if close and not path.exists() else ""
        msg = f"{key}: {error}{hint}"
        raise InputError(msg) from error


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
