"""The edge between activities and Temporal: heartbeats out, domain errors as typed failures, and back again."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import ParamSpec, TypeVar

from temporalio import activity
from temporalio.exceptions import ActivityError, ApplicationError, CancelledError, TimeoutError, TimeoutType

from domain.errors import Cause, Unavailable, WorkspaceRefused

P = ParamSpec("P")
T = TypeVar("T")

HEARTBEAT_SECONDS = 3.0

_UNAVAILABLE = "unavailable"
_REFUSED = "workspace_refused"


def speaks_temporal(function: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
    """Turn the domain's errors into failures that carry cause, reason and next step.

    What may pass by itself stays retryable; the rest is final at once (DESIGN 6).
    """

    @functools.wraps(function)
    async def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await function(*args, **kwargs)
        except Unavailable as error:
            details = (error.cause.value, error.reason, error.next_step)
            raise ApplicationError(
                str(error), *details, type=_UNAVAILABLE, non_retryable=not error.retryable
            ) from None  # with a library's whole stack the server finds it too large, and drops these details
        except WorkspaceRefused as error:
            raise ApplicationError(
                str(error), error.reason, error.next_step, type=_REFUSED, non_retryable=True
            ) from error

    return wrapped


def domain_error(error: ActivityError) -> Unavailable | WorkspaceRefused:
    """What the failed activity meant, in the domain's words. A cancellation is raised again as itself."""
    cause = error.cause
    if isinstance(cause, CancelledError):
        raise error
    if isinstance(cause, ApplicationError) and cause.type == _REFUSED:
        reason, next_step = cause.details
        return WorkspaceRefused(reason, next_step)
    if isinstance(cause, ApplicationError) and cause.type == _UNAVAILABLE:
        name, reason, next_step = cause.details
        return Unavailable(Cause(name), reason, next_step)
    if isinstance(cause, TimeoutError) and cause.type is TimeoutType.SCHEDULE_TO_START:
        return Unavailable(
            Cause.NO_WORKER,
            f"no worker took {error.activity_type!r}",
            "start a worker for its queue: countersign up, or python worker.py",
        )
    if isinstance(cause, TimeoutError):
        return Unavailable(
            Cause.SYSTEM_ERROR, f"{error.activity_type!r} did not end in time or its worker died", "run the round again"
        )
    return Unavailable(
        Cause.SYSTEM_ERROR, f"{error.activity_type!r} broke: {cause}", "report it with the worker's log, then run again"
    )


def cause_of(error: ApplicationError) -> Cause | None:
    """Why an activity could not tell, None where it failed otherwise."""
    return Cause(error.details[0]) if error.type == _UNAVAILABLE else None


def outside_error(error: ActivityError) -> Unavailable:
    """`domain_error` of anything but freezing: only that may refuse the worker's tree; elsewhere it is our defect."""
    meant = domain_error(error)
    if isinstance(meant, Unavailable):
        return meant
    return Unavailable(Cause.SYSTEM_ERROR, meant.reason, meant.next_step)


@asynccontextmanager
async def beating() -> AsyncIterator[Callable[[str], None]]:
    """Heartbeat every few seconds while the body runs, with the last word it was given as the detail."""
    said = [""]

    def say(text: str) -> None:
        said[0] = text

    async def beat() -> None:
        while True:
            activity.heartbeat(said[0])
            await asyncio.sleep(HEARTBEAT_SECONDS)

    task = asyncio.create_task(beat())
    try:
        yield say
    finally:
        task.cancel()
