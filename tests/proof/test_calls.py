"""Thousands of calls at an endpoint that fails: nothing lost, nothing twice, memory flat."""

import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

ASKED_PER_SEED = 6 * 120
"""Five conditions that ask, and the repeat."""


def resident_mib(pid: int) -> float:
    """Return the memory that a process holds."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


def bench(starting: Any, folder: Path, model: str, seeds: int) -> list[float]:
    """Run a bench of that many seeds; return its memory over time, in MiB."""
    folder.mkdir()
    process = starting(
        folder,
        *("bench", "-o", "run", "--preset", "full", "--workers", "256"),
        *("--model", model, "--substitute", model, "--judge", "none"),
        *("--auditor", "none", "--seeds", ",".join(map(str, range(1, seeds + 1)))),
    )
    memory = []
    while process.poll() is None:
        memory.append(resident_mib(process.pid))
        time.sleep(0.2)
    assert process.returncode == 0, process.stderr.read().decode()
    return memory


def same(summary: Path) -> dict[str, Any]:
    """Return a summary without the address and what follows from it."""
    text = summary.read_text()
    value: dict[str, Any] = json.loads(text)
    return {
        key: value[key]
        for key in ("conditions", "mean_tampered", "mutation", "families", "cost")
    }


def test_faults_change_no_number(
    tmp_path: Path, faulty: Any, starting: Any, long: bool
) -> None:
    """With one attempt in twenty failing, every number is that of a run without faults."""
    seeds = 340 if long else 34
    calls = seeds * ASKED_PER_SEED
    began = time.monotonic()
    with faulty(faults=0.05) as bad:
        memory = bench(starting, tmp_path / "bad", bad.model, seeds)
    took = time.monotonic() - began
    with faulty(faults=0.0) as good:
        bench(starting, tmp_path / "good", good.model, seeds)
    print(f"{calls} calls in {took:.0f} s, peak {max(memory):.0f} MiB, {bad.told}")  # noqa: T201 - the figures of docs/reliability.md, shown with -s
    assert sum(bad.told["faults"].values()) > calls / 40
    with closing(sqlite3.connect(tmp_path / "bad/run/run.sqlite")) as db:
        stored = db.execute("SELECT COUNT(*) FROM exchange").fetchone()[0]
        assert db.execute("SELECT COUNT(*) FROM failure").fetchone()[0] == 0
        rows = db.execute("SELECT COUNT(*) FROM sample").fetchone()[0]
    assert stored == bad.told["whole"] == good.told["whole"] == calls
    assert rows == seeds * 8 * 120
    assert same(tmp_path / "bad/run/summary.json") == same(
        tmp_path / "good/run/summary.json"
    )
