"""How a fix loop waits for what must not be lost when it is cancelled meanwhile, its rows first of all."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from pydantic import JsonValue

    from domain.events import Action, Actor
    from domain.fix_messages import FixLoopInput
    from workflows.trail import AttemptTrail

T = TypeVar("T")


async def to_its_end(work: Coroutine[Any, Any, T]) -> T:
    """What comes of it, though the workflow is cancelled meanwhile: `unless_cancelled` then says that it was."""
    task = asyncio.create_task(work)
    while not task.done():
        with suppress(asyncio.CancelledError):
            await workflow.wait([task])
    return task.result()


def unless_cancelled() -> None:
    """Raise `asyncio.CancelledError` where the workflow was cancelled: what it waited for then may have ended well."""
    if workflow.cancellation_reason() is not None:
        raise asyncio.CancelledError


async def called_off(activity: workflow.ActivityHandle[T]) -> T:
    """What comes of the activity, which ends where the workflow is cancelled and it can still be called off.

    Awaited by itself, an activity that ends in the moment of the cancellation is one whose result nobody learns.
    """
    try:
        await workflow.wait([activity])
    except asyncio.CancelledError:
        await workflow.wait_condition(lambda: True)  # by now it has heard whatever has come for it
        activity.cancel()
    return await activity


class FixTrail(AttemptTrail):
    """The events of one fix loop. Its `attempt` is that of the last round whose work is known."""

    def __init__(self, request: FixLoopInput) -> None:
        super().__init__(request.workflow_id, request.round)

    async def record(
        self,
        action: Action,
        actor: Actor,
        payload: dict[str, JsonValue],
        before: dict[str, JsonValue] | None = None,
        after: dict[str, JsonValue] | None = None,
    ) -> None:
        """As any workflow's, but never given up: a row that says what was done is not lost with what was not."""
        await to_its_end(super().record(action, actor, payload, before, after))
