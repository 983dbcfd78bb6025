"""`domain.ports.Todos` by a Temporal client: starts a todo's workflow once, and signals it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from temporalio.client import Client
from temporalio.common import Priority, TypedSearchAttributes, WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from domain.errors import Cause, Unavailable
from domain.life import TodoInput
from domain.todo import Gate, Todo, workflow_id_of

WORKFLOW = "TodoWorkflow"
SIGNAL = "gate"
RPC = timedelta(seconds=10)


class TemporalTodos:
    """Todos on one server.

    `attributes`: what a todo is found by, `summary`: the line that lists show of it, `priority`: its turn.
    """

    def __init__(
        self,
        client: Client,
        queue: str,
        attributes: Callable[[Todo], TypedSearchAttributes],
        summary: Callable[[Todo], str],
        priority: Callable[[TodoInput], Priority],
    ) -> None:
        self._client = client
        self._queue = queue
        self._attributes = attributes
        self._summary = summary
        self._priority = priority

    async def start(self, todo: TodoInput) -> bool:
        """Start it, with an id that no workflow ever has twice. Raises `Unavailable` (server_unavailable)."""
        try:
            await self._client.start_workflow(
                WORKFLOW,
                todo,
                id=todo.todo.workflow_id,
                task_queue=self._queue,
                id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                search_attributes=self._attributes(todo.todo),
                static_summary=self._summary(todo.todo),
                priority=self._priority(todo),
                rpc_timeout=RPC,
            )
        except WorkflowAlreadyStartedError:
            return False
        except RPCError as error:
            raise _gone(error) from error
        return True

    async def tell(self, session: str, todo: str, gate: Gate) -> None:
        """Signal it; one that has ended, or never was, hears nothing. Raises `Unavailable` (server_unavailable)."""
        handle = self._client.get_workflow_handle(workflow_id_of(session, todo))
        try:
            await handle.signal(SIGNAL, gate, rpc_timeout=RPC)
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise _gone(error) from error


def _gone(error: RPCError) -> Unavailable:
    return Unavailable(
        Cause.SERVER_UNAVAILABLE,
        f"the Temporal server does not take it: {error.message}",
        "see that it runs: countersign status",
    )
