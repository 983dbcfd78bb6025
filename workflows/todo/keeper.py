"""Keeps a todo: one lock, its rows before its new value, its session's word. It has no rules and starts nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime

from temporalio import workflow
from temporalio.exceptions import ActivityError

with workflow.unsafe.imports_passed_through():
    from activities.boundary import outside_error
    from domain.acts.step import Event, Step, cut, shown
    from domain.events import TrailRef
    from domain.life import TodoInput
    from domain.requests import Answer
    from domain.todo import Todo
    from workflows import options
    from workflows.todo.board import Board
    from workflows.todo.notifying import Notifying
    from workflows.todo.reports import Reports
    from workflows.trail import Writer

AGAIN_SECONDS = 15.0
"""Until what happens by itself is tried again, when the worker that took its row writes to another trail."""


class Keeper:
    """A todo as it stands. `lock` is held by whoever reads it to change it; `busy`: its worker command runs."""

    def __init__(self, request: TodoInput) -> None:
        todo = request.todo
        self._todo = todo
        self._trail = Writer(todo.workflow_id, todo.session, todo.id, todo.store, request.ordinal)
        self._reports = Reports(todo)
        self._board = Board()
        self.notifying = Notifying(todo)
        self._created = request.created
        self._why = {"reason": cut(request.reason), "established": request.established or ""}
        self.lock = asyncio.Lock()
        self.busy = False

    @property
    def todo(self) -> Todo:
        """The todo, all of whose rows are stored."""
        return self._todo

    @property
    def idle(self) -> bool:
        """Whether nobody changes it and everything was said."""
        return self._created and not self.lock.locked() and self._reports.idle and self.notifying.idle

    def carried(self, answers: dict[str, str]) -> TodoInput:
        """What the next run begins with."""
        told = {"notifications": self.notifying.number, "waiting_since": self.notifying.since}
        todo = self._todo.model_copy(update={"reports": self._reports.number, **told})
        return TodoInput(todo=todo, created=True, answers=answers, ordinal=self._trail.ordinal)

    async def begin(self) -> None:
        """The first row, unless an earlier run stored it; nothing else happens before."""
        if not self._created:
            await self.happen(lambda todo, _now: Step(todo=todo, events=(_created(todo, self._why),)))
            self._created = True
        self._board.show(self._todo)

    async def begun(self) -> None:
        """Wait until it has begun."""
        await workflow.wait_condition(lambda: self._created)

    async def mind(self) -> None:
        """Say to the session what it has to know, for ever."""
        await self._reports.mind()

    async def take(self, step: Step, attempt: int | None = None) -> TrailRef | None:
        """Store the rows, then let the todo be what they say; the last row. For whoever holds the lock.

        `attempt`: the round that they are about, where that is not the last one.
        Raises `ActivityError` where no row could be stored; the todo stays as it was.
        """
        ref: TrailRef | None = None
        about = step.todo.attempt if attempt is None else attempt
        for event in step.events:
            ref = await self._trail.write(event, about, ref.event_id if ref else "")
        before, self._todo = self._todo, step.todo
        recorded = self._trail.recorded_at if step.events else None
        self.notifying.saw(before, step.todo, step.events, recorded or workflow.now())
        self.tell()
        self._board.show(self._todo)
        return ref

    async def happen(self, act: Callable[[Todo, datetime], Step], attempt: int | None = None) -> None:
        """What happens by itself, whatever it takes: it cannot be refused, and nobody is there to ask again."""
        while True:
            try:
                async with self.lock:
                    await self.take(act(self._todo, workflow.now()), attempt)
                return
            except ActivityError as error:
                workflow.logger.warning("not in the trail yet: %s", outside_error(error))
            await workflow.sleep(AGAIN_SECONDS)

    def tell(self, asks: bool = False, again: bool = False) -> int:
        """The number of the report that tells the session how things stand now, as in `Reports.tell`."""
        return self._reports.tell(self._todo, self.busy, asks, again)

    async def hear(self, number: int) -> None:
        """Wait until the session's word takes that report into account, or `options.HEARD_SECONDS` have passed."""
        try:
            await workflow.wait_condition(
                lambda: self._todo.gate.heard >= number,
                timeout=options.HEARD_SECONDS,
                timeout_summary="the session's word",
            )
        except TimeoutError:
            workflow.logger.warning("the session has not heard report %d", number)

    async def ask_session(self) -> None:
        """Have the session's word on how things stand now."""
        await self.hear(self.tell(asks=True))

    def answer(self, ref: TrailRef | None, would: Todo | None = None) -> Answer:
        """Where the todo stands, or `would` stand, for whoever asked; `ref` is the row that says so."""
        todo = would or self._todo
        return Answer(
            status=todo.status,
            review_status=todo.review_status,
            version=todo.version,
            attempt=todo.attempt,
            sequence=ref.sequence if ref else 0,
        )


def _created(todo: Todo, why: dict[str, str]) -> Event:
    order = todo.order
    return Event(
        action="todo_created",
        actor=todo.created_by,
        after=shown(todo),
        payload={
            "content": order.content,
            "title": order.title,
            "domain": order.domain,
            "order": todo.order_digest,
            "parent": todo.parent,
            "depends_on": list(order.depends_on),
            "criteria": [criterion.id for criterion in order.acceptance_criteria],
            **{name: value for name, value in why.items() if value},
        },
    )
