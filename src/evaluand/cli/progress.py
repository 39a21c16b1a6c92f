"""How long work gets on, told on stderr; nothing when stderr is not a terminal."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich import progress as rich_progress

    from evaluand.bench.run import Progress


class Silent:
    """Tells nobody."""

    def phase(self, title: str, units: int) -> None:
        """Say nothing."""

    def advance(self, left_s: float | None) -> None:
        """Say nothing."""


@contextmanager
def progress() -> Iterator["Progress"]:
    """Yield who is to be told."""
    if not sys.stderr.isatty():
        yield Silent()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=14),
        MofNCompleteColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Bars(*columns, console=Console(stderr=True)) as bars:
        yield _Told(bars)


class _Told:
    def __init__(self, bars: "rich_progress.Progress") -> None:
        self._bars = bars
        self._task = bars.add_task("reading the stack", total=None, left="")

    def phase(self, title: str, units: int) -> None:
        self._bars.reset(self._task, total=units, description=title)

    def advance(self, left_s: float | None) -> None:
        left = "" if left_s is None else f"about {clock(left_s)} left"
        self._bars.update(self._task, advance=1, left=left)


def clock(seconds: float) -> str:
    """Return a time as precisely as a forecast deserves.

    >>> clock(41.7), clock(750), clock(7500)
    ('42 s', '12 min', '2 h 05 min')
    """
    if seconds < 99.5:
        return f"{round(seconds)} s"
    minutes = round(seconds / 60)
    return (
        f"{minutes} min"
        if minutes < 100
        else f"{minutes // 60} h {minutes % 60:02d} min"
    )
