"""Thousands of calls at an endpoint that fails: nothing lost, nothing twice, memory flat."""

import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.request import urlopen

CALLS = 20_000
CALLS_LONG = 200_000
CALLS_PER_SEED = 560
"""Distinct requests: four conditions that ask and the repeat, less what seeds share."""

ASKED = "SELECT COUNT(*) FROM exchange WHERE model LIKE 'http%'"


def resident_mib(pid: int) -> float:
    """Return the memory that a process holds."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


def bench(
    starting: Any, folder: Path, model: str, seeds: int
) -> list[tuple[int, float]]:
    """Run a bench of that many seeds; return replies so far and memory in MiB, over time."""
    folder.mkdir()
    arguments = (
        *("bench", "-o", "run", "--preset", "full", "--workers", "256"),
        *("--model", model, "--substitute", "scripted:weak", "--judge", "none"),
        *("--auditor", "none", "--seeds", ",".join(map(str, range(1, seeds + 1)))),
    )
    count = model.partition("#")[0] + "/count"
    watched = []
    with starting(folder, *arguments) as process:
        while process.poll() is None:
            with urlopen(count) as answer:  # noqa: S310 - our own loopback server
                watched.append((json.load(answer), resident_mib(process.pid)))
            time.sleep(0.2)
        assert process.returncode == 0, process.stderr.read().decode()
    return watched


def same(summary: Path) -> dict[str, Any]:
    """Return a summary without the address and what follows from it."""
    value: dict[str, Any] = json.loads(summary.read_text())
    return {
        key: value[key]
        for key in ("conditions", "mean_tampered", "mutation", "families", "cost")
    }


def test_faults_change_no_number(
    tmp_path: Path, faulty: Any, starting: Any, long: bool
) -> None:
    """With one attempt in twenty failing, every number is that of a run without faults."""
    calls = CALLS_LONG if long else CALLS
    seeds = calls // CALLS_PER_SEED + 1
    began = time.monotonic()
    with faulty(faults=0.05) as bad:
        watched = bench(starting, tmp_path / "bad", bad.model, seeds)
    took = time.monotonic() - began
    with faulty(faults=0.0) as good:
        bench(starting, tmp_path / "good", good.model, seeds)
    whole = bad.told["whole"]
    # from the first tenth of the calls, when all is warm, to the last
    during = [mib for count, mib in watched if whole / 10 < count < whole * 9 / 10]
    span = f"{min(during):.0f} to {max(during):.0f} MiB while asking"
    peak = f"{max(mib for _, mib in watched):.0f} MiB with the report"
    print(f"{whole} calls in {took:.0f} s, {span}, {peak}, {bad.told}")
    assert sum(bad.told["faults"].values()) > calls / 40
    with closing(sqlite3.connect(tmp_path / "bad/run/run.sqlite")) as db:
        stored = db.execute(ASKED).fetchone()[0]
        assert db.execute("SELECT COUNT(*) FROM failure").fetchone()[0] == 0
        rows = db.execute("SELECT COUNT(*) FROM sample").fetchone()[0]
    assert stored == whole == good.told["whole"] >= calls
    assert rows == seeds * 8 * 120
    assert max(during) - min(during) < 32
    assert same(tmp_path / "bad/run/summary.json") == same(
        tmp_path / "good/run/summary.json"
    )
