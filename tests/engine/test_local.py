"""The default engine: bounded, in order, and stopped by the first error."""

import asyncio
import random
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluand.engine import local


@given(n=st.integers(0, 30), concurrency=st.integers(1, 8), rng=st.randoms())
def test_every_unit_is_done_once_in_order_and_within_bounds(
    n: int, concurrency: int, rng: random.Random
) -> None:
    """Units start in order, each exactly once, never more at a time than allowed."""
    started: list[int] = []
    finished: list[int] = []
    most = 0
    pauses = [rng.randrange(4) for _ in range(n)]

    async def work(unit: int) -> None:
        nonlocal most
        started.append(unit)
        most = max(most, len(started) - len(finished))
        for _ in range(pauses[unit]):
            await asyncio.sleep(0)
        finished.append(unit)

    asyncio.run(local.run(range(n), work, concurrency=concurrency))
    assert started == list(range(n))
    assert sorted(finished) == started
    assert most <= concurrency


def test_all_places_are_used() -> None:
    """As many units as are allowed really are under way at once."""
    barrier_size = 4

    async def main() -> None:
        barrier = asyncio.Barrier(barrier_size)

        async def work(_: int) -> None:
            await barrier.wait()

        units = range(2 * barrier_size)
        await asyncio.wait_for(local.run(units, work, concurrency=barrier_size), 5)

    asyncio.run(main())


def stuck(
    fails: int, seen: list[int], ended: list[int]
) -> Callable[[int], Awaitable[None]]:
    """Return work that fails on one unit and never ends on the others."""

    async def work(unit: int) -> None:
        seen.append(unit)
        if unit == fails:
            msg = f"unit {unit}"
            raise ValueError(msg)
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(unit)

    return work


def test_the_first_error_stops_the_rest() -> None:
    """The error is raised as it is; what was under way has ended, nothing new begins."""
    seen: list[int] = []
    ended: list[int] = []
    with pytest.raises(ValueError, match="unit 2"):
        asyncio.run(local.run(range(9), stuck(2, seen, ended), concurrency=3))
    assert seen == [0, 1, 2]
    assert sorted(ended) == [0, 1]


def test_cancellation_reaches_the_units() -> None:
    """Whoever cancels the run cancels what is under way, and waits for it to end."""
    seen: list[int] = []
    ended: list[int] = []

    async def main() -> None:
        work = stuck(-1, seen, ended)
        running = asyncio.ensure_future(local.run(range(5), work, concurrency=2))
        while len(seen) < 2:
            await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert sorted(ended) == [0, 1]

    asyncio.run(main())
    assert seen == [0, 1]


def test_an_error_while_stopping_does_not_hide_the_first() -> None:
    """A unit that breaks on being cancelled leaves the first error to be raised."""

    async def work(unit: int) -> None:
        if unit == 1:
            msg = "first"
            raise ValueError(msg)
        try:
            await asyncio.Event().wait()
        finally:
            msg = "second"
            raise KeyError(msg)

    with pytest.raises(ValueError, match="first"):
        asyncio.run(local.run(range(2), work, concurrency=2))


def test_no_units_are_no_work() -> None:
    """An empty sequence is done at once."""

    async def work(_: int) -> None:
        raise AssertionError

    asyncio.run(local.run([], work, concurrency=4))
