"""A run that is killed again and again ends as if it had never been."""

import random
import time
from pathlib import Path
from typing import Any

SEED = 7


def arguments(model: str, *, long: bool) -> tuple[str, ...]:
    seeds = "1,2,3,4,5,6,7,8" if long else "1,2"
    return (
        *("bench", "-o", "run", "--preset", "full", "--seeds", seeds),
        *("--model", model, "--substitute", "scripted:weak"),
        *("--judge", "scripted", "--auditor", "scripted"),
    )


def whole(starting: Any, folder: Path, model: str, *, long: bool) -> float:
    """Run to the end; return the seconds that it took."""
    began = time.monotonic()
    with starting(folder, *arguments(model, long=long)) as process:
        _, said = process.communicate()
        assert process.returncode == 0, said.decode()
    return time.monotonic() - began


def test_kills_leave_no_trace(
    tmp_path: Path, faulty: Any, starting: Any, long: bool
) -> None:
    """Kill -9 at random moments, resumed each time: summary and page are byte-identical."""
    kills = 50 if long else 6
    chance = random.Random(SEED)  # noqa: S311 - when to kill
    once = tmp_path / "once"
    once.mkdir()
    with faulty(faults=0.0, delay=0.01) as endpoint:
        takes_s = whole(starting, once, endpoint.model, long=long)
        done = runs = 0
        while done < kills:  # a run that came to its end is followed by a new one
            runs += 1
            often = tmp_path / f"often-{runs}"
            often.mkdir()
            ended = False
            while done < kills and not ended:
                with starting(often, *arguments(endpoint.model, long=long)) as process:
                    time.sleep(chance.uniform(0.3, 1.5 + takes_s / kills))
                    ended = process.poll() is not None
                    process.kill()
                    process.communicate()
                done += not ended
            whole(starting, often, endpoint.model, long=long)
            for name in ("summary.json", "report.html"):
                killed = (often / "run" / name).read_bytes()
                assert killed == (once / "run" / name).read_bytes()
    print(f"{done} kills in {runs} runs of {takes_s:.1f} s")
