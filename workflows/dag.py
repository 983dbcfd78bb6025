"""A directed acyclic graph of named nodes, run as far as needs are met. It knows nothing of verification."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Any


@dataclass(frozen=True)
class Node:
    """One step: its name, the nodes whose end it waits for, and what it does in a few words."""

    name: str
    needs: tuple[str, ...]
    title: str


def in_order(nodes: Iterable[Node]) -> tuple[Node, ...]:
    """The nodes, each after those it needs. Raises `graphlib.CycleError`, and `KeyError` for a need that is no node."""
    by_name = {node.name: node for node in nodes}
    order = TopologicalSorter({name: node.needs for name, node in by_name.items()}).static_order()
    return tuple(by_name[name] for name in order)


async def run(nodes: Iterable[Node], work: Callable[[Node], Awaitable[None]]) -> None:
    """Do `work` for every node, each as soon as the ones it needs have ended; the first exception ends them all."""
    ended = {node.name: asyncio.Event() for node in nodes}

    async def one(node: Node) -> None:
        for need in node.needs:
            await ended[need].wait()
        await work(node)
        ended[node.name].set()

    await together(one(node) for node in nodes)


async def together(work: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Do all of it at once; after an exception, or when cancelled, nothing of it goes on behind the caller's back."""
    tasks = [asyncio.create_task(part) for part in work]
    try:
        await asyncio.gather(*tasks)
    except (Exception, asyncio.CancelledError):  # not `finally`: an evicted workflow's coroutines are closed
        for task in tasks:
            if not task.cancelling():
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
