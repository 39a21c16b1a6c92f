"""Wall and CPU time of short commands: `evaluand --help`, `evaluand verify` of a stack.

The stack is the reference one with a scripted model: a dozen small files. Beside it: an
empty python, and model-signing hashing the same folder and verifying its signature.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import measure
from measure import Measured

TIMES = 10
EVALUAND = (sys.executable, "-m", "evaluand")
HASH = "import sys; from pathlib import Path; from model_signing import hashing; print(hashing.hash(Path(sys.argv[1])))"
SIGNING = ("-m", "model_signing")


def timed(*command: str) -> Measured:
    """Return the median wall and CPU milliseconds of a command that must succeed."""
    walls, cpus = [], []
    for _ in range(TIMES):
        started = time.perf_counter()
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stderr is not None
            said = process.stderr.read()
            # wait4 tells this child's own cost; Popen would only reap it
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        walls.append((time.perf_counter() - started) * 1e3)
        cpus.append((usage.ru_utime + usage.ru_stime) * 1e3)
        if process.returncode != 0:
            return {"reason": (said.strip().splitlines() or ["failed"])[-1][:200]}
    return {"wall_ms": median(walls), "cpu_ms": median(cpus)}


def scripted_stack(folder: Path) -> Path:
    """Write the reference stack with a scripted model; return its folder."""
    stack = folder / "stack"
    _do(*EVALUAND, "bench", "--init", str(stack))
    declared = stack / "stack.yaml"
    lines = declared.read_text(encoding="utf-8").splitlines(keepends=True)
    (place,) = (n for n, line in enumerate(lines) if line.startswith("  endpoint:"))
    lines[place] = "  endpoint: scripted\n"
    declared.write_text("".join(lines), encoding="utf-8")
    _do(*EVALUAND, "capture", str(stack), "-o", str(folder / "D.json"))
    return stack


def signing(python: str | None, folder: Path, stack: Path) -> dict[str, Measured]:
    """Measure model-signing on the same folder, if it is there."""
    names = ("model-signing hash", "model-signing verify", "model-signing --help")
    if python is None:
        return {name: {"reason": "no --peers PYTHON given"} for name in names}
    private, public, signature = (str(folder / n) for n in ("k.pem", "p.pem", "s.sig"))
    found = {
        names[0]: timed(python, "-c", HASH, str(stack)),
        names[2]: timed(python, *SIGNING, "--help"),
    }
    try:
        _do("openssl", "ecparam", "-name", "prime256v1", "-genkey", "-out", private)
        _do("openssl", "ec", "-in", private, "-pubout", "-out", public)
        given = ("--signature", signature)
        sign = (*SIGNING, "sign", "key", str(stack), *given, "--private_key", private)
        _do(python, *sign)
    except (OSError, subprocess.CalledProcessError) as error:
        return found | {names[1]: {"reason": str(error)[:200]}}
    verify = (*SIGNING, "verify", "key", str(stack), *given, "--public_key", public)
    return found | {names[1]: timed(python, *verify)}


def _do(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


def run(peers: str | None) -> None:
    """Measure each command ten times."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        stack = scripted_stack(folder)
        verify = ("verify", str(folder / "D.json"), "--stack", str(stack))
        own = {
            "evaluand --help": timed(*EVALUAND, "--help"),
            "evaluand verify": timed(*EVALUAND, *verify),
        }
        others = {
            "python -c pass": timed(sys.executable, "-c", "pass"),
            **signing(peers, folder, stack),
        }
    beside = {
        "evaluand --help": ("python -c pass", "model-signing --help"),
        "evaluand verify": ("model-signing verify", "model-signing hash"),
    }
    measure.report(
        "startup",
        own | others,
        own,
        {name: measure.known(row) for name, row in others.items()},
        {
            f"cpu {mine} vs {peer}": measure.over(own[mine], others[peer], "cpu_ms")
            for mine, peers_of in beside.items()
            for peer in peers_of
        },
    )


if __name__ == "__main__":
    measure.main(run)
