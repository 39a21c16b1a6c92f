"""How fast a run that is all done finds that out: 60,480 samples, four scores each.

The bench itself, with scripted models and no judge: 63 seeds of 120 tasks under 8
conditions. It is run once, then again in a process of its own, which is what counts: from
opening the folder to the last manifest. Reading the stack is part of it.
"""

import os
import sys
import tempfile
from pathlib import Path

import measure
from measure import Measured

SEEDS = int(os.environ.get("BENCH_SEEDS", "63"))
RULES = ("standard", "strict", "forensic", "canary")
CONDITIONS = (
    "clean",
    "repeat",
    "model",
    "prompt",
    "tools",
    "retrieval",
    "dependencies",
    "postprocessor",
)
SAMPLES = SEEDS * 120 * len(CONDITIONS)


def conduct(folder: str, rules: list[str]) -> Measured:
    """Run the bench in a folder, or find that it is done."""
    from evaluand.bench.conduct import conduct
    from evaluand.bench.open import opener
    from evaluand.bench.plan import Settings
    from evaluand.bench.starter import reference_folder
    from evaluand.cli.progress import Silent

    settings = Settings(
        preset="full",
        pairs=(("scripted", "scripted:weak"),),
        seeds=tuple(range(SEEDS)),
        tasks=120,
        minutes=None,
        conditions=CONDITIONS,
        coverage="full",
        rules=tuple(rules),
        judges=(),
        auditors=(),
        controls=0,
    )
    sources = opener(reference_folder())
    with measure.clock() as cost:
        done = conduct(settings, sources, Path(folder), Silent(), command="bench")
    return {
        "samples_per_s": SAMPLES / cost["wall_s"],
        "samples_per_cpu_s": SAMPLES / cost["cpu_s"],
        "us_cpu_per_sample": cost["cpu_s"] / SAMPLES * 1e6,
        "peak_rss_mb": measure.peak_mb(),
        "asked": done.asked,
        "reused": done.reused,
    }


def plain_select(folder: str) -> Measured:
    """Read every sample's and score's key through sqlite3: the floor of finding them."""
    import sqlite3

    with measure.clock() as cost:
        db = sqlite3.connect(Path(folder) / "run.sqlite")
        samples = {key for (key,) in db.execute("SELECT key FROM sample")}
        scores = set(db.execute("SELECT sample, evaluator FROM score"))
        db.close()
    assert len(samples) == SAMPLES
    assert len(scores) == SAMPLES * len(RULES)
    return {
        "samples_per_s": SAMPLES / cost["wall_s"],
        "samples_per_cpu_s": SAMPLES / cost["cpu_s"],
        "us_cpu_per_sample": cost["cpu_s"] / SAMPLES * 1e6,
        "peak_rss_mb": measure.peak_mb(),
    }


def run(_: str | None) -> None:
    """Fill a store, then look for what is left to do in it."""
    python = sys.executable
    with tempfile.TemporaryDirectory() as folder:
        rows = {
            name: measure.child(python, "conduct", folder=folder, rules=list(RULES))
            for name in ("first run", "all done")
        }
        rows["plain select"] = measure.child(python, "plain_select", folder=folder)
    ours = {"samples": SAMPLES, **rows["all done"]}
    first = rows["first run"]
    if "reason" not in ours:
        assert ours["asked"] == ours["reused"] == 0
    peers = {"plain select": measure.known(rows["plain select"])}
    ratio = measure.over(ours, rows["plain select"], "us_cpu_per_sample")
    measure.report(
        "resume",
        rows,
        ours | {"first_run_samples_per_s": first.get("samples_per_s")},
        peers,
        {"cpu vs plain select": ratio},
    )


if __name__ == "__main__":
    measure.main(run, conduct=conduct, plain_select=plain_select)
