"""An update or a query as a client sends it: again and again while the server has no room for it or gave it up."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from typing import Any, TypeVar

from temporalio.client import WorkflowHandle
from temporalio.service import RPCError

from entrypoints.lives import AGAIN

A = TypeVar("A")


async def answer_of(
    handle: WorkflowHandle[Any, Any], name: str, *arguments: Any, result_type: type[A], update_id: str | None = None
) -> A:
    """What the workflow answers. A server with much to do takes a workflow from its memory with the updates that
    were being sent to it, and says `UNAVAILABLE`: nothing was refused, and nothing is done twice under one id."""
    update_id = update_id or uuid.uuid4().hex
    while True:
        try:
            answer: A = await handle.execute_update(name, args=arguments, id=update_id, result_type=result_type)
        except RPCError as error:
            if error.status not in AGAIN:
                raise
            await asyncio.sleep(0.05)
        else:
            return answer


async def told_by(handle: WorkflowHandle[Any, Any], query: Callable[..., A]) -> A:
    """What the workflow says of itself. Nothing is asked of one whose tasks ran out of time, as they do while their
    worker stands still."""
    while True:
        try:
            answer: A = await handle.query(query)
        except RPCError as error:
            if error.status not in AGAIN:
                raise
            await asyncio.sleep(0.05)
        else:
            return answer
