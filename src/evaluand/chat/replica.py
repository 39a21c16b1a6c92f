"""Which of several equal places to ask: the one with the fewest calls out, dead ones last."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

_DEAD_AFTER = 2
_DEAD_S = 30.0


@dataclass(slots=True)
class Replica:
    """One place, and how it does.

    Args:
        base_url: Where it is.
        outstanding: Calls that it hasn't answered yet.
        unreachable: Attempts in a row that found nothing there.
        left_out_until: When it is tried again, by the monotonic clock.
    """

    base_url: str
    outstanding: int = 0
    unreachable: int = 0
    left_out_until: float = 0.0


@dataclass(slots=True)
class Balance:
    """Places that answer alike."""

    replicas: list[Replica] = field(default_factory=list)

    @classmethod
    def over(cls, base_urls: Sequence[str]) -> "Balance":
        """Return a balance over places that are all thought alive."""
        return cls([Replica(url) for url in base_urls])

    def choose(self) -> Replica:
        """Return the place to ask next; where all seem dead, the one due first."""
        now = time.monotonic()
        alive = [each for each in self.replicas if each.left_out_until <= now]
        if alive:
            return min(alive, key=lambda each: each.outstanding)
        return min(self.replicas, key=lambda each: each.left_out_until)

    def told(self, replica: Replica, *, unreachable: bool) -> None:
        """Learn how an attempt went: a place where nothing answers is left out a while."""
        replica.unreachable = replica.unreachable + 1 if unreachable else 0
        dead = replica.unreachable >= _DEAD_AFTER
        replica.left_out_until = time.monotonic() + _DEAD_S if dead else 0.0
