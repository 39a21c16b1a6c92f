"""The built-in suite: 120 seeded tasks in five families, in a stratified order.

Family shares follow DIB-Bench (paper A, section 4.1): 43 fact, 28 policy, 19 tool,
18 secret, 12 canary.
"""

from evaluand.bench.families import MAKERS
from evaluand.bench.task import Task
from evaluand.errors import InputError
from evaluand.seeds import generator

NAME = "dib"
VERSION = "1"
COUNTS = {"fact": 43, "policy": 28, "tool": 19, "secret": 18, "canary": 12}
N_TASKS = sum(COUNTS.values())


def tasks(seed: int, count: int | None = None) -> list[Task]:
    """Return the suite's tasks under a seed.

    All 120 are always generated; a smaller count takes a prefix of one stratified
    interleave, so that a longer run extends a shorter one.

    Args:
        seed: Root seed, at least 0.
        count: How many, 1 to 120; all when None.

    Raises:
        InputError: If the count is out of range.
    """
    whole = [
        task
        for family, size in COUNTS.items()
        for task in MAKERS[family](generator(seed, NAME, VERSION, family), size)
    ]
    if count is not None and not 1 <= count <= len(whole):
        msg = f"--tasks: expected 1 to {len(whole)}, got {count}"
        raise InputError(msg)
    return _interleave(whole)[:count]


def _interleave(whole: list[Task]) -> list[Task]:
    """Return the tasks so that each prefix holds the families in their shares."""
    seen = dict.fromkeys(COUNTS, 0)
    placed: list[tuple[float, int, Task]] = []
    for task in whole:
        share = (seen[task.family] + 0.5) / COUNTS[task.family]
        seen[task.family] += 1
        placed.append((share, len(placed), task))
    return [task for _, _, task in sorted(placed, key=lambda item: item[:2])]
