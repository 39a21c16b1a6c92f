"""What every benchmark shares: the machine, costs, children, peers, the last line.

Standard library alone, since a script here also runs in a python that has the peers and
not evaluand.
"""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Measured = dict[str, Any]
"""Numbers by name with their unit in it, or ``reason`` where there are none."""

WAIT_S = 900
CHILD = "--child"


def main(
    run: Callable[[str | None], None], **children: Callable[..., Measured]
) -> None:
    """Run a benchmark, or be one of its children.

    Args:
        run: The benchmark; it is given the python that has the peers, if there is one.
        children: What a process of its own may be started for, by name; each takes
            keyword arguments that JSON can hold and returns what it measured.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--peers", metavar="PYTHON", help="a python with the peers")
    parser.add_argument(
        CHILD, nargs=2, metavar=("NAME", "JSON"), help=argparse.SUPPRESS
    )
    given = parser.parse_args()
    if given.child is None:
        run(given.peers)
        return
    name, arguments = given.child
    print(json.dumps(children[name](**json.loads(arguments))))


def child(python: str | None, name: str, /, **arguments: Any) -> Measured:
    """Return what this script's child measured in a process; None means no peers."""
    if python is None:
        return {"reason": "no --peers PYTHON given"}
    command = [python, str(Path(sys.argv[0]).resolve()), CHILD, name]
    done = subprocess.run(
        [*command, json.dumps(arguments)],
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        return {"reason": lines[-1][:200]}
    found: Measured = json.loads(done.stdout.strip().splitlines()[-1])
    return found


@contextmanager
def clock() -> Iterator[Measured]:
    """Yield a record that holds wall and CPU seconds of this process afterwards."""
    cost: Measured = {}
    wall, cpu = time.perf_counter(), time.process_time()
    yield cost
    cost["wall_s"] = time.perf_counter() - wall
    cost["cpu_s"] = time.process_time() - cpu


def peak_mb() -> float:
    """Return the most memory this process ever held, in MB of 10**6 bytes.

    Not `getrusage`, whose peak a child inherits from the process that forked it.
    """
    found = re.search(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text("ascii"))
    return int(found[1]) * 1024 / 1e6 if found else 0.0


def report(
    name: str,
    rows: Mapping[str, Measured],
    ours: Measured,
    peers: Mapping[str, Measured | None],
    ratio: Mapping[str, float | None],
) -> None:
    """Print the machine, a table of the rows and, as the last line, one JSON object.

    Args:
        name: Of the benchmark.
        rows: What the table shows, by the name of the thing measured.
        ours: Our numbers.
        peers: Each peer's numbers; None with its reason in the table.
        ratio: Ours over the peer's.
    """
    print(f"{name}: {machine()}\n")
    every = dict.fromkeys(key for row in rows.values() for key in row)
    columns = [column for column in every if column != "reason"]
    width = max(map(len, rows)) + 2
    print(" " * width + "".join(f"{column:>{len(column) + 3}}" for column in columns))
    for label, row in rows.items():
        cells = (f"{_shown(row.get(c)):>{len(c) + 3}}" for c in columns)
        why = f"   not measured: {row['reason']}" if "reason" in row else ""
        print(label.ljust(width) + (why or "".join(cells)))
    whole = {"name": name, "ours": ours, "peers": peers, "ratio": ratio}
    print("\n" + json.dumps(_rounded(whole)))


def known(row: Measured) -> Measured | None:
    """Return a peer's numbers for the JSON: null where it was not measured."""
    return None if "reason" in row else row


def over(ours: Measured, peer: Measured, key: str) -> float | None:
    """Return ours over the peer's; None where one was not measured."""
    if key not in ours or not peer.get(key):
        return None
    return float(ours[key] / peer[key])


def machine() -> str:
    """Return the CPU's model, the cores this process may use, and the interpreter."""
    info = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    found = re.search(r"model name\s*: (.*)", info)
    model = found[1] if found else platform.machine()
    cores = len(os.sched_getaffinity(0))
    return f"{model}, {cores} cores, Python {platform.python_version()}"


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return "-" if value is None else f"{value:,}" if isinstance(value, int) else value


def _rounded(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _rounded(item) for key, item in value.items()}
    return float(f"{value:.4g}") if isinstance(value, float) else value
