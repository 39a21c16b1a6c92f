"""A finished scripted run, and what it takes to make others."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evaluand.bench.conduct import Conducted, Sources, conduct
from evaluand.bench.open import opener
from evaluand.bench.plan import Settings
from evaluand.cli.progress import Silent

Bench = Callable[..., Conducted]


def settings(**changes: Any) -> Settings:
    """Return the settings of a scripted bench of all conditions."""
    plain = Settings(
        preset="full",
        pairs=(("scripted", "scripted:weak"),),
        seeds=(42,),
        tasks=120,
        minutes=None,
        conditions=(
            "clean",
            "repeat",
            "model",
            "prompt",
            "tools",
            "retrieval",
            "dependencies",
            "postprocessor",
        ),
        coverage="full",
        rules=("standard", "strict", "forensic", "canary"),
        judges=("scripted",),
        auditors=("scripted",),
        controls=5,
    )
    return replace(plain, **changes)


@pytest.fixture(scope="session")
def bench() -> Bench:
    """Return a function that runs a bench in a folder."""

    def run(
        folder: Path,
        *,
        sources: Sources | None = None,
        stack: Path | None = None,
        **changes: Any,
    ) -> Conducted:
        return conduct(
            settings(**changes),
            sources or opener(stack),
            folder,
            Silent(),
            command="evaluand bench -o RUN",
        )

    return run


@pytest.fixture(scope="session")
def finished(bench: Bench, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a whole scripted bench."""
    folder = tmp_path_factory.mktemp("finished")
    bench(folder)
    return folder
