"""SHA-256 of values, files and trees, each over bytes that were read just now.

A tree's digest is SHA-256 over RFC 8785 of the list of its leaves, sorted by name. Nothing
is ignored: what can't be hashed is an error that names every such path.
"""

import hashlib
import os
import re
import stat
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluand.canonical import canonical
from evaluand.errors import InputError

# links may multiply a small tree without end
MAX_LEAVES = 1_000_000

_DRIVE = re.compile(r"[A-Za-z]:")
_CONTROL = re.compile("[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """One named part of a tree or a component.

    Args:
        name: Relative, with ``/`` between its parts; see `name_fault`.
        type: ``file``, ``directory`` (an empty one), or what else was digested.
        digest: SHA-256 in hex.
        size: Bytes that were digested.
        exec: Whether a file's owner may run it.
    """

    name: str
    type: str = "file"
    digest: str
    size: int
    exec: bool = False

    def document(self) -> dict[str, Any]:
        """Return the leaf as a JSON value."""
        return {
            "name": self.name,
            "type": self.type,
            "digest": self.digest,
            "size": self.size,
            "exec": self.exec,
        }


def sha256_hex(content: bytes) -> str:
    """Return SHA-256 in hex.

    >>> sha256_hex(b"")[:16]
    'e3b0c44298fc1c14'
    """
    return hashlib.sha256(content).hexdigest()


def value_digest(value: Any) -> str:
    """Return SHA-256 of a JSON value's RFC 8785 form.

    Raises:
        InputError: If it has no such form.

    >>> value_digest({"b": 1.0, "a": 0}) == value_digest({"a": 0, "b": 1})
    True
    """
    return sha256_hex(canonical(value))


def file_digest(path: Path) -> str:
    """Return SHA-256 of a regular file, streamed through one buffer.

    Raises:
        InputError: If it is unreadable, is no regular file, or changed while it was
            being read.
    """
    try:
        return _steady_digest(path)
    except OSError as error:
        msg = f"{path}: can't be read: {error.strerror or error}"
        raise InputError(msg) from error


def _steady_digest(path: Path) -> str:
    if not stat.S_ISREG(path.stat().st_mode):  # opening a pipe would wait for ever
        msg = f"{path}: expected a regular file"
        raise InputError(msg)
    with path.open("rb", buffering=0) as file:
        before = _stamp(os.fstat(file.fileno()))
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        after = _stamp(os.fstat(file.fileno()))
    if not before == after == _stamp(path.stat()):
        msg = f"{path}: changed while it was being hashed; hash it when nothing writes to it"
        raise InputError(msg)
    return digest


def _stamp(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def tree_digest(
    root: Path, *, hash_file: Callable[[Path], str] = file_digest
) -> tuple[str, tuple[Leaf, ...]]:
    """Return the digest of a folder, and its leaves sorted by name.

    Links are followed while they stay in the folder; the snapshot of a Hugging Face
    cache and the blobs beside it count as one folder. An empty sub-folder is a leaf.

    Args:
        root: The folder.
        hash_file: From a file to its digest, for a caller that remembers digests.

    Raises:
        InputError: For links that loop or leave the folder, unreadable and special
            files, names that another machine can't hold or that are equal after NFC,
            and a folder without any file. It lists every such path.
    """
    found = _whole(root)
    leaves: list[Leaf] = []
    faults: list[str] = []
    for name, path, status in found.files:
        try:
            digest = hash_file(path)
        except InputError as error:
            faults.append(str(error))
            continue
        runs = bool(status.st_mode & stat.S_IXUSR)
        leaves.append(Leaf(name=name, digest=digest, size=status.st_size, exec=runs))
    _refuse(root, faults)
    nothing = sha256_hex(b"")
    leaves += [
        Leaf(name=name, type="directory", digest=nothing, size=0)
        for name in found.empty
    ]
    ordered = tuple(sorted(leaves, key=lambda leaf: leaf.name))
    return leaves_digest(ordered), ordered


def files_of(root: Path) -> tuple[tuple[str, Path], ...]:
    """Return name and path of every file of a folder, sorted by name.

    Raises:
        InputError: As `tree_digest`.
    """
    return tuple(sorted((name, path) for name, path, _ in _whole(root).files))


def _whole(root: Path) -> "_Walk":
    found = _Walk(root)
    _refuse(root, [*found.faults, *found.unreadable()])
    if not found.files:
        msg = f"{root}: expected a folder with files, it holds none"
        raise InputError(msg)
    return found


def leaves_digest(leaves: Iterable[Leaf]) -> str:
    """Return the digest of leaves held in memory, in whatever order they come.

    Raises:
        InputError: For names that are refused (`name_fault`) or that are equal after NFC.
    """
    ordered = sorted(leaves, key=lambda leaf: leaf.name)
    faults = list(_name_faults([leaf.name for leaf in ordered]))
    if faults:
        msg = f"these names can't be hashed together: {'; '.join(faults)}"
        raise InputError(msg)
    return value_digest([leaf.document() for leaf in ordered])


def name_fault(name: str) -> str:
    r"""Return why a name is refused; empty when it isn't.

    A name is a relative path that means the same on every platform and never leaves
    its root.

    >>> name_fault("corpus/a.md"), name_fault("../secret"), name_fault("C:\\x")
    ('', 'climbs out with ..', 'holds a backslash')
    """
    faults = {
        "is empty": not name,
        "holds a control character": bool(_CONTROL.search(name)),
        "is not valid Unicode": any("\ud800" <= each <= "\udfff" for each in name),
        "holds a backslash": "\\" in name,
        "is absolute": name.startswith("/") or bool(_DRIVE.match(name)),
        "climbs out with ..": ".." in name.split("/"),
        "has an empty or dot part": bool({"", "."} & set(name.split("/"))),
    }
    return next((fault for fault, holds in faults.items() if holds), "")


def _name_faults(names: list[str]) -> Iterator[str]:
    for name in names:
        fault = name_fault(name)
        if fault:
            yield f"{name!r} {fault}"
    folded = [unicodedata.normalize("NFC", name) for name in names]
    counts = Counter(folded)
    for name, same in zip(names, folded, strict=True):
        if counts[same] > 1:
            yield f"{name!a} equals another name after Unicode NFC"


def _refuse(root: Path, faults: list[str]) -> None:
    if faults:
        lines = "\n  ".join(faults)
        msg = f"{root} can't be hashed whole, {len(faults)} found:\n  {lines}"
        raise InputError(msg)


class _Walk:
    """Every file under a folder, and all that forbids hashing it.

    Args:
        root: The folder.
    """

    def __init__(self, root: Path) -> None:
        self.files: list[tuple[str, Path, os.stat_result]] = []
        self.empty: list[str] = []
        self.faults: list[str] = []
        real = Path(os.path.realpath(root))
        self._allowed = (real, *_blobs_beside(root), *_blobs_beside(real))
        todo: list[tuple[Path, str, tuple[Path, ...]]] = [(root, "", (real,))]
        while todo and len(self.files) <= MAX_LEAVES:
            todo.extend(self._folder(*todo.pop()))
        if len(self.files) > MAX_LEAVES:
            self.faults.append(f"{root}: more than {MAX_LEAVES} files")
        names = [name for name, _, _ in self.files] + self.empty
        self.faults += _name_faults(names)

    def _folder(
        self, folder: Path, prefix: str, above: tuple[Path, ...]
    ) -> Iterator[tuple[Path, str, tuple[Path, ...]]]:
        try:
            names = sorted(entry.name for entry in folder.iterdir())
        except OSError as error:
            self.faults.append(f"{folder}: can't be listed: {error.strerror}")
            return
        if prefix and not names:
            self.empty.append(prefix.removesuffix("/"))
        for name in names:
            below = self._entry(folder / name, f"{prefix}{name}", above)
            if below is not None:
                yield folder / name, f"{prefix}{name}/", (*above, below)

    def _entry(self, path: Path, name: str, above: tuple[Path, ...]) -> Path | None:
        """Keep a file, note a fault, or return a folder's real path to go into."""
        linked = path.is_symlink()
        real = Path(os.path.realpath(path)) if linked else above[-1] / path.name
        if linked and not any(map(real.is_relative_to, self._allowed)):
            self.faults.append(f"{path}: a link out of the folder, to {real}")
            return None
        try:
            status = path.stat()
        except OSError as error:
            target = f" (a link to {path.readlink()})" if linked else ""
            self.faults.append(f"{path}: can't be read: {error.strerror}{target}")
            return None
        if stat.S_ISDIR(status.st_mode):
            if real not in above:
                return real
            self.faults.append(f"{path}: a link that loops, to {real}")
        elif stat.S_ISREG(status.st_mode):
            self.files.append((name, path, status))
        else:
            self.faults.append(f"{path}: neither a file nor a folder")
        return None

    def unreadable(self) -> Iterator[str]:
        """Yield the files that can't be opened."""
        for _, path, _ in self.files:
            try:
                path.open("rb").close()
            except OSError as error:
                yield f"{path}: can't be read: {error.strerror}"


def _blobs_beside(root: Path) -> Iterator[Path]:
    """Yield the blobs of a Hugging Face cache whose snapshot this folder is."""
    blobs = root.absolute().parent.parent / "blobs"
    if root.absolute().parent.name == "snapshots" and blobs.is_dir():
        yield Path(os.path.realpath(blobs))
