"""Runs of the whole program against endpoints that fail, and kills in the middle.

The short form is part of every test run; ``make proof`` runs the long one.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

LONG = os.environ.get("EVALUAND_PROOF") == "long"
FAULTY = Path(__file__).parent.parent / "faulty.py"


class Served:
    """A faulty endpoint: its MODEL, and once it is closed what it did."""

    def __init__(self, model: str) -> None:
        self.model = model
        self.told: dict[str, Any] = {}


@contextmanager
def _serving(*, faults: float, delay: float = 0.0) -> Iterator[Served]:
    command = [sys.executable, str(FAULTY), f"--faults={faults}", f"--delay={delay}"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        served = Served(f"{process.stdout.readline().strip()}#desk")
        try:
            yield served
        finally:
            process.stdin.close()
            served.told = json.loads(process.stdout.readline())


@pytest.fixture
def long() -> bool:
    """Return whether the long form was asked for."""
    return LONG


@pytest.fixture
def faulty() -> Any:
    """Return a context manager over a faulty endpoint in a process of its own."""
    return _serving


def start(folder: Path, *arguments: str) -> "subprocess.Popen[bytes]":
    """Start ``evaluand`` in a folder, with a clock that stands still."""
    return subprocess.Popen(
        [sys.executable, "-m", "evaluand", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"},
    )


@pytest.fixture
def starting() -> Any:
    """Return a starter of the program."""
    return start
