"""Has people told when a todo begins to wait for them, and when it does no more. The todo never waits for that.

What they are told is `domain.notifications`' to say; telling them is a workflow of its own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from datetime import datetime

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from domain.acts.step import Event
    from domain.notifications import Notice, NotificationInput, begun, ended, same_wait, waits
    from domain.todo import Todo
    from workflows.telling import end_telling, start_telling


class Notifying:
    """What is still to be told, in its order. `number` counts what was; that of a wait which goes on is the last.

    `since` is when that wait began, None where none goes on.
    """

    def __init__(self, todo: Todo) -> None:
        self._session, self._todo, self._store = todo.session, todo.id, todo.store
        self.number = todo.notifications
        self._open = todo.notifications if waits(todo) else 0
        self.since = todo.waiting_since
        self._due: deque[NotificationInput | str] = deque()
        self._busy = False

    @property
    def idle(self) -> bool:
        """Whether everything that is to be told has a workflow that tells it."""
        return not self._due and not self._busy

    def saw(self, before: Todo, after: Todo, events: Sequence[Event], at: datetime) -> None:
        """The todo has changed, by these rows, at that time."""
        told, since = self._open, self.since
        if told and not same_wait(before, after):
            self._due.append(self._id(told))
            self._open, self.since = 0, None
        if told and (over := ended(before, after, events, at)):
            waited = (at - since).total_seconds() if since else 0.0
            self._tell(over.model_copy(update={"waited": waited}), after)
        if new := begun(before, after, events, at):
            self._tell(new, after)
            self._open, self.since = self.number, at

    async def mind(self) -> None:
        """Start, and end, what is due, for ever."""
        while True:
            await workflow.wait_condition(lambda: bool(self._due))
            due, self._busy = self._due.popleft(), True
            if isinstance(due, str):
                await end_telling(due)
            else:
                await start_telling(due)
            self._busy = False

    def _tell(self, notice: Notice, todo: Todo) -> None:
        self.number += 1
        self._due.append(
            NotificationInput(
                workflow_id=self._id(self.number),
                store=self._store,
                notice=notice,
                reminds=notice.kind != "resolved",
                secrets=tuple(todo.order.environment.secrets),
            )
        )

    def _id(self, number: int) -> str:
        return f"notification/{self._session}/{self._todo}/{number}"
