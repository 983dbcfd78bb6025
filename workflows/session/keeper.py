"""Keeps a session: one lock, its rows before its new value, and who is owed its word. It has no rules.

Todos are told in batches, one at a time, so that ten thousand of them are some twenty activities.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from datetime import datetime

from temporalio import workflow
from temporalio.exceptions import ActivityError

with workflow.unsafe.imports_passed_through():
    from activities.boundary import outside_error
    from activities.todos import TodoActivities
    from domain.events import TrailRef
    from domain.life import TellInput
    from domain.session import Session
    from domain.sessions import SessionStep
    from domain.standing import said
    from domain.todo import Gate
    from workflows import options
    from workflows.session.board import Board
    from workflows.trail import Writer

TOLD_AT_ONCE = 500
AGAIN_SECONDS = 15.0
"""Until what happens by itself is tried again, when the worker that took it writes to another trail."""


class Keeper:
    """A session as it stands. `lock` is held by whoever reads it to change it; `resting`: nobody is told any more."""

    def __init__(self, session: Session, ordinal: int, owed: Iterable[str]) -> None:
        self.session = session
        self.lock = asyncio.Lock()
        self.resting = False
        self._trail = Writer(session.workflow_id, session.id, "", session.store, ordinal)
        self._board = Board()
        self._owed = dict.fromkeys(owed)
        self._asked: set[str] = set()
        self._starting: set[str] = set()
        self._telling: frozenset[str] = frozenset()
        self._waiting: list[set[str]] = []

    @property
    def quiet(self) -> bool:
        """Whether nobody changes it and no word is under way."""
        return not (self.lock.locked() or self._telling or self._starting)

    @property
    def owed(self) -> tuple[str, ...]:
        """The todos that have not been told how it stands."""
        return tuple(self._owed)

    @property
    def ordinal(self) -> int:
        """The number of the last row."""
        return self._trail.ordinal

    async def take(self, step: SessionStep, first: Iterable[str] = ()) -> TrailRef | None:
        """Store the rows, then let the session be what they say; the last row. For whoever holds the lock.

        `first`: who is told before all others, as somebody waits for it there. Raises `ActivityError` where no row
        could be stored; the session stays as it was.
        """
        ref: TrailRef | None = None
        for event in step.events:
            ref = await self._trail.write(event, caused_by=ref.event_id if ref else "")
        self.session = step.session
        urgent = dict.fromkeys(todo for todo in first if todo in step.told)
        self._owed = {**urgent, **self._owed, **dict.fromkeys(sorted(step.told))}
        self.show()
        return ref

    async def happen(self, act: Callable[[Session, datetime], SessionStep], first: Iterable[str] = ()) -> None:
        """What happens by itself, whatever it takes: it cannot be refused, and nobody is there to ask again."""
        while True:
            try:
                async with self.lock:
                    await self.take(act(self.session, workflow.now()), first)
                return
            except ActivityError as error:
                workflow.logger.warning("not in the trail yet: %s", outside_error(error))
            await workflow.sleep(AGAIN_SECONDS)

    def show(self) -> None:
        """Let it be found and read as it stands now."""
        self._board.show(self.session)

    def starts(self, todos: Iterable[str]) -> dict[str, Gate]:
        """The gates of todos that are started now, without those that are open; nobody is told before it has begun."""
        self._starting |= set(todos)
        session, gates = said(self.session, todos)
        closed = {todo: gate for todo, gate in gates.items() if gate != Gate(number=gate.number)}
        entries = {todo: session.todos[todo] for todo in closed}
        self.session = self.session.model_copy(update={"todos": {**self.session.todos, **entries}})
        return closed

    def started(self, todos: Iterable[str]) -> None:
        """They have begun, and can be told."""
        self._starting -= set(todos)

    async def told(self, todos: Iterable[str]) -> None:
        """Wait until all of them have been told how it stands now."""
        waiting = {todo for todo in todos if todo in self._owed}
        self._waiting.append(waiting)
        try:
            await workflow.wait_condition(lambda: not waiting)
        finally:
            self._waiting.remove(waiting)

    async def ask(self, todos: Iterable[str]) -> None:
        """Wait until they have said once more where they stand, or `options.ASKED_SECONDS` have passed."""
        asked = {todo for todo in todos if todo not in self._starting}
        self._asked |= asked
        self._owed = {**dict.fromkeys(sorted(asked)), **self._owed}
        numbers = {todo: self.session.todos[todo].gate + 1 for todo in asked}
        try:
            await workflow.wait_condition(
                lambda: all(self.session.todos[todo].word >= number for todo, number in numbers.items()),
                timeout=options.ASKED_SECONDS,
                timeout_summary="todos that hold another back",
            )
        except TimeoutError:
            workflow.logger.warning("not heard of in time: %s", sorted(asked))

    async def tell(self) -> None:
        """Tell those who are owed it, for ever."""
        while True:
            await workflow.wait_condition(self._can_tell)
            async with self.lock:
                batch = self._batch()
                self._owed = {todo: None for todo in self._owed if todo not in batch}
                self._telling = frozenset(batch)
                self.session, gates = said(self.session, batch, self._asked)
                self._asked.difference_update(batch)
            try:
                await workflow.execute_activity_method(
                    TodoActivities.tell,
                    TellInput(session=self.session.id, gates=gates),
                    summary=f"tell {len(gates)} todos" if len(gates) > 1 else f"tell {batch[0]}",
                    **options.TODOS,
                )
            except ActivityError as error:
                workflow.logger.warning("todos were not told yet: %s", outside_error(error))
                self._owed = {**dict.fromkeys(batch), **self._owed}
                await workflow.sleep(AGAIN_SECONDS)
            self._telling = frozenset()
            for waiting in self._waiting:
                waiting.difference_update(todo for todo in batch if todo not in self._owed)

    def _can_tell(self) -> bool:
        if self.resting and not (self._waiting or self._asked):
            return False
        return any(todo not in self._starting for todo in self._owed)

    def _batch(self) -> list[str]:
        ready = (todo for todo in self._owed if todo not in self._starting)
        return [todo for _, todo in zip(range(TOLD_AT_ONCE), ready, strict=False)]
