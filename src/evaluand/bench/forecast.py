"""How long a run has left, going by what its units have taken so far."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(kw_only=True)
class Forecast:
    """Seconds a unit takes in each phase, and the units still to come.

    Args:
        deadline_s: Seconds after the start at which the run is to end; None without one.
        clock: Seconds, monotonic.
    """

    deadline_s: float | None = None
    clock: Callable[[], float] = time.monotonic
    _start: float = field(init=False)
    _phase: str = ""
    _since: float = 0.0
    _waiting: dict[str, int] = field(default_factory=dict)
    _done: dict[str, tuple[int, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._start = self._since = self.clock()

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start."""
        return self.clock() - self._start

    def plan(self, title: str, units: int) -> None:
        """Expect at most so many units in a phase that has not begun."""
        self._waiting[title] = units

    def begin(self, title: str, units: int) -> None:
        """Enter a phase, whose units are known now."""
        self._phase, self._since = title, self.clock()
        self._waiting[title] = units

    def skip(self, title: str) -> None:
        """Drop a phase that turned out to have nothing to do."""
        self._waiting.pop(title, None)

    def advance(self) -> float | None:
        """Count one unit of the present phase and return the seconds left."""
        now = self.clock()
        count, seconds = self._done.get(self._phase, (0, 0.0))
        self._done[self._phase] = (count + 1, seconds + now - self._since)
        self._since = now
        self._waiting[self._phase] = max(0, self._waiting.get(self._phase, 0) - 1)
        return self.left_s()

    def left_s(self) -> float | None:
        """Return seconds left: to the deadline, else by rates; None before any unit."""
        if self.deadline_s is not None:
            return max(0.0, self.deadline_s - self.elapsed_s)
        count = sum(count for count, _ in self._done.values())
        if not count:
            return None
        mean = sum(seconds for _, seconds in self._done.values()) / count
        left = 0.0
        for title, units in self._waiting.items():
            done, seconds = self._done.get(title, (0, 0.0))
            left += units * (seconds / done if done else mean)
        return left
