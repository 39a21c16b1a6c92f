"""A full disk and a cut database: named, what is whole stays readable, exit code 5."""

import random
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

SCRIPTED = ("bench", "-o", "run", "--model", "scripted", "--preset", "full")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Return a file system of 600 KiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=600k", "none", str(disk)],  # noqa: S607 - the system's own
        check=False,
        capture_output=True,
    )
    if mounted.returncode:
        pytest.skip("no right to mount a tmpfs here")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)  # noqa: S607 - as above


def test_a_full_disk_is_named_and_resumed_from(
    small_disk: Path, tmp_path: Path, starting: Any
) -> None:
    """The run stops with 5; its rows are readable, and with room it comes to its end."""
    with starting(small_disk, *SCRIPTED) as process:
        _, said = process.communicate()
    assert process.returncode == 5, said.decode()
    assert b"run.sqlite" in said
    assert b"Traceback" not in said
    kept = samples(small_disk / "run")
    roomy = shutil.copytree(small_disk / "run", tmp_path / "roomy" / "run").parent
    with starting(roomy, *SCRIPTED) as process:
        _, said = process.communicate()
    assert process.returncode == 0, said.decode()
    assert kept.items() <= samples(roomy / "run").items()
    assert len(samples(roomy / "run")) == 8 * 120


def samples(run: Path) -> dict[str, str]:
    """Return a database's outputs by key."""
    with closing(sqlite3.connect(run / "run.sqlite")) as db:
        return dict(db.execute("SELECT key, output FROM sample"))


def test_a_cut_database_is_named(tmp_path: Path, starting: Any, long: bool) -> None:
    """Cut at any offset, a report is refused with 5, or is that of a shorter run."""
    few = (*SCRIPTED, "--tasks", "10")
    with starting(tmp_path, *few) as process:
        _, said = process.communicate()
    assert process.returncode == 0, said.decode()
    whole = (tmp_path / "run" / "run.sqlite").read_bytes()
    chance = random.Random(11)  # noqa: S311 - where to cut
    codes = []
    for _ in range(60 if long else 6):
        cut = tmp_path / "cut"
        shutil.copytree(tmp_path / "run", cut, dirs_exist_ok=True)
        (cut / "run.sqlite").write_bytes(whole[: chance.randrange(len(whole))])
        with starting(tmp_path, "report", "cut") as process:
            _, said = process.communicate()
        codes.append(process.returncode)
        assert b"Traceback" not in said
        assert b"run.sqlite" in said, said.decode()
        shutil.rmtree(cut)
    assert set(codes) == {5}
