"""Units run in order, so many at a time, and the first error stops the rest."""

import asyncio

import pytest

from evaluand.engine import local


def test_units_start_in_order_within_the_bound() -> None:
    """Ten units at three at a time: started in order, never more than three under way."""
    started: list[int] = []
    under_way = 0
    most = 0

    async def work(unit: int) -> None:
        nonlocal under_way, most
        started.append(unit)
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0)
        under_way -= 1

    asyncio.run(local.run(range(10), work, concurrency=3))
    assert started == list(range(10))
    assert most == 3


def test_the_first_error_stops_the_rest_and_is_raised() -> None:
    """No further unit starts once one has failed, and those under way are cancelled."""
    started: list[int] = []
    cancelled: list[int] = []

    async def work(unit: int) -> None:
        started.append(unit)
        if unit == 1:
            raise ValueError("unit 1")  # noqa: EM101, TRY003 - the test's own error
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            cancelled.append(unit)
            raise

    with pytest.raises(ValueError, match="unit 1"):
        asyncio.run(local.run(range(100), work, concurrency=2))
    assert started == [0, 1]
    assert cancelled == [0]


def test_no_units_are_no_work() -> None:
    """An empty sequence is done at once."""

    async def work(_: int) -> None:
        raise AssertionError

    asyncio.run(local.run([], work, concurrency=4))
