"""Run units of work in this process, a bounded number at a time, in order of arrival."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

Unit = TypeVar("Unit")


async def run(
    units: Sequence[Unit],
    work: Callable[[Unit], Awaitable[None]],
    *,
    concurrency: int,
) -> None:
    """Do the work of every unit; the first error stops the rest and is raised.

    Args:
        units: What is to be done, started in this order.
        work: Does one unit.
        concurrency: How many may be under way at once, at least 1.
    """
    waiting = iter(units)

    async def worker() -> None:
        for unit in waiting:
            await work(unit)

    tasks = [
        asyncio.ensure_future(worker()) for _ in range(min(concurrency, len(units)))
    ]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
