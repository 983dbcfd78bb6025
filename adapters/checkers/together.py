"""Several things at once, of which none goes on behind the caller's back."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def together(*work: Coroutine[Any, Any, T]) -> list[T]:
    """All of it; where one fails, the others are cancelled and have ended when it is told."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        await ended(*tasks)
        raise


async def ended(*tasks: asyncio.Task[Any]) -> None:
    """End what still runs, and wait until it has."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
