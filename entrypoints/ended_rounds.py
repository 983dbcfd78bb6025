"""Removes from one engine what is sealed there for rounds that have ended. It never touches a round that runs.

A round is released once, on the engine of whichever worker takes that up; what it sealed on others would wait for its
deadline.
"""

from __future__ import annotations

from typing import Protocol

import structlog
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

log = structlog.get_logger("entrypoints.ended_rounds")


class Seals(Protocol):
    """What is sealed on one engine. Raises `Unavailable`."""

    async def rounds(self) -> frozenset[str]:
        """The rounds, by workflow id, that have something there."""
        ...

    async def release(self, round: str) -> None:
        """Remove what the round has there."""
        ...


async def release_ended(client: Client, seals: Seals) -> tuple[str, ...]:
    """The rounds that were released. What the server does not know, or cannot tell of now, is left alone.

    Raises `Unavailable` when the engine does not answer.
    """
    released = []
    for round in sorted(await seals.rounds()):
        try:
            described = await client.get_workflow_handle(round).describe()
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                continue
            log.info("not known which rounds have ended", reason=error.message)
            break
        if described.status not in (None, WorkflowExecutionStatus.RUNNING):
            await seals.release(round)
            released.append(round)
    return tuple(released)
