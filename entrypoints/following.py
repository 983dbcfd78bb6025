"""Follows one workflow of `countersign verify`, a round or its fix loop, to its end. It starts and prints nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from temporalio.client import (
    WorkflowExecutionDescription,
    WorkflowExecutionStatus,
    WorkflowFailureError,
    WorkflowHandle,
)
from temporalio.exceptions import ApplicationError, CancelledError
from temporalio.service import RPCError, RPCStatusCode

from domain.errors import Cause, Unavailable
from domain.fix_messages import FixLoopResult, FixProgress
from domain.messages import Progress
from entrypoints.client import SOON, RoundHandle
from workflows.fix_loop import FixLoopWorkflow

POLL_SECONDS = 0.2
POLL_SHARE = 4
"""A question costs server, worker and asker: so many times as long passes before the next, or they do little else."""

LONGEST_POLL_SECONDS = 2.0
SILENCE_SECONDS = 120.0
NODES_OF_ACTIVITIES = {"snapshot.freeze": "snapshot", "sandbox.prepare": "environment", "sandbox.setup": "setup"}
"""Whose heartbeats tell how far a node has come."""

WAITED_FOR = frozenset({"trail.append", "report.file", "fix.file"})
"""Activities that are tried until they succeed: nothing of the round goes on before."""

WAIT_SECONDS = 150.0
"""How long a command watches a round wait for its database or disk."""

LOST = frozenset({RPCStatusCode.UNAVAILABLE, RPCStatusCode.DEADLINE_EXCEEDED, RPCStatusCode.CANCELLED})

LoopHandle = WorkflowHandle[FixLoopWorkflow, FixLoopResult]
Silent = Callable[[], Awaitable[None]]
T = TypeVar("T")


@dataclass(frozen=True)
class LoopSeen:
    """A fix loop as it stands; `waits`: why its last try of what it cannot go on without failed."""

    progress: FixProgress
    waits: str = ""


async def follow(handle: RoundHandle, silent: Silent) -> AsyncIterator[Progress]:
    """The round's progress several times a second, and how it stood at its end if a worker is there to tell.

    Raises `RPCError` when the server is gone, `Unavailable` (no_worker) when no worker has answered for long, and what
    the round has waited for that long. `silent` is called whenever no worker has answered.
    """
    async for description, progress, waits in _followed(handle, Progress, silent):
        yield await _with_heartbeats(description, progress.model_copy(update={"waits": waits}))


async def follow_loop(handle: LoopHandle, silent: Silent) -> AsyncIterator[LoopSeen]:
    """The same of a fix loop. What its rounds come to is theirs to tell: `LoopSeen.progress.round` names one."""
    async for _, progress, waits in _followed(handle, FixProgress, silent):
        yield LoopSeen(progress, waits)


async def _followed(
    handle: WorkflowHandle[Any, Any], kind: type[T], silent: Silent
) -> AsyncIterator[tuple[WorkflowExecutionDescription, T, str]]:
    ending = asyncio.create_task(_end(handle))
    try:
        async for seen in _seen(handle, kind, silent, ending):
            yield seen
    finally:
        ending.cancel()


async def _end(handle: WorkflowHandle[Any, Any]) -> None:
    """Return when the workflow has ended, which the server tells at once, or cannot be asked."""
    with suppress(WorkflowFailureError, RPCError):
        await handle.result()


async def _seen(
    handle: WorkflowHandle[Any, Any], kind: type[T], silent: Silent, ending: asyncio.Task[None]
) -> AsyncIterator[tuple[WorkflowExecutionDescription, T, str]]:
    answered = moved = time.monotonic()
    while True:
        began = time.monotonic()
        asked_last = ending.done()
        description = await handle.describe(rpc_timeout=SOON)
        ended = description.status is not WorkflowExecutionStatus.RUNNING
        waits = await _waits_for(description)
        moved = moved if waits else time.monotonic()
        if waits and time.monotonic() - moved > WAIT_SECONDS:
            kept = "the round is kept, and goes on by itself once that is mended"
            raise Unavailable(waits.cause, waits.reason, f"{waits.next_step}; {kept}") from waits
        try:
            progress: T = await handle.query("progress", result_type=kind, rpc_timeout=SOON)
            answered = time.monotonic()
            yield description, progress, str(waits) if waits else ""
        except RPCError as error:
            if ended:
                return
            if error.status not in LOST:  # a worker that is away cannot answer; the server still can
                raise
            await silent()
            if time.monotonic() - answered > SILENCE_SECONDS:
                raise Unavailable(
                    Cause.NO_WORKER,
                    f"no worker has answered for {SILENCE_SECONDS:g} s",
                    "the round is kept and goes on with the next worker: countersign status says what runs",
                ) from error
        if ended:
            return
        if asked_last:  # nobody could be asked for the end
            await asyncio.sleep(POLL_SECONDS)
        else:
            await asyncio.wait([ending], timeout=pause_after(time.monotonic() - began))


def pause_after(took: float) -> float:
    """Seconds until a round is asked again that took so many to answer. Its end interrupts them."""
    return min(max(POLL_SECONDS, POLL_SHARE * took), LONGEST_POLL_SECONDS)


async def _with_heartbeats(description: WorkflowExecutionDescription, progress: Progress) -> Progress:
    """Progress with what long activities last said of themselves, which the workflow does not hear."""
    said: dict[str, str] = {}
    for pending in description.raw_description.pending_activities:
        node = NODES_OF_ACTIVITIES.get(pending.activity_type.name)
        if node and pending.heartbeat_details.payloads:
            heard = pending.heartbeat_details.payloads
            (said[node],) = await description.data_converter.decode(heard, [str])
    steps = (
        step.model_copy(update={"detail": said[step.id]}) if step.id in said and step.status == "running" else step
        for step in progress.steps
    )
    return progress.model_copy(update={"steps": tuple(steps)})


async def _waits_for(description: WorkflowExecutionDescription) -> Unavailable | None:
    """Why the last try of what the workflow cannot go on without failed."""
    for pending in description.raw_description.pending_activities:
        failure = pending.last_failure
        if pending.activity_type.name not in WAITED_FOR or not pending.HasField("last_failure"):
            continue
        error = await description.data_converter.decode_failure(failure)
        if isinstance(error, ApplicationError) and error.type == "unavailable":
            name, reason, next_step = error.details
            return Unavailable(Cause(name), reason, next_step)
        return Unavailable(
            Cause.SYSTEM_ERROR,
            f"{pending.activity_type.name} fails: {error}",
            "see the worker's log",
        )
    return None


async def result_of(handle: WorkflowHandle[Any, T]) -> T:
    """The result of a workflow that has ended.

    Raises `Unavailable` for what it could not do and for one that was cancelled, `asyncio.CancelledError` where who
    asks was.
    """
    try:
        return await handle.result(rpc_timeout=SOON)
    except WorkflowFailureError as error:
        raise _failure(error) from error


def was_cancelled(error: BaseException) -> bool:
    """Whether a workflow ended so because somebody cancelled it."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, CancelledError):
            return True
        cause = cause.__cause__
    return False


def _failure(error: BaseException) -> Exception:
    """The innermost thing that the workflow failed with."""
    if was_cancelled(error):
        return Unavailable(Cause.SYSTEM_ERROR, "the round was cancelled", "run it again")
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ApplicationError) and cause.type == "unavailable":
            name, reason, next_step = cause.details
            return Unavailable(Cause(name), reason, next_step)
        last, cause = cause, cause.__cause__
    return Unavailable(Cause.SYSTEM_ERROR, f"the round broke: {last}", "see it in the Web UI, then run it again")
