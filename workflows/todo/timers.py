"""A todo's timers: its own, that of the auditor's question, that of another try. What follows is `domain`'s to say.

Source: DESIGN 3 "Timers".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from domain.acts import system
    from domain.acts.step import Step
    from domain.life import FollowUpAnswer
    from domain.status import SessionStatus
    from domain.todo import Todo
    from workflows.todo.keeper import Keeper
    from workflows.todo.rounds import Rounds

Name = Literal["the todo's time", "the auditor's question", "another try"]
ACTS: dict[Name, Callable[[Todo, datetime], Step]] = {
    "the todo's time": system.clock_over,
    "the auditor's question": system.give_up,
    "another try": system.audit,
}


@dataclass(frozen=True)
class Due:
    """What happens, and when, unless something else happens before."""

    at: datetime
    name: Name


def next_due(todo: Todo) -> Due | None:
    """The next of them; None while every clock stands still."""
    due = []
    if todo.clock.deadline is not None:
        due.append(Due(todo.clock.deadline, "the todo's time"))
    if todo.question is not None and todo.question.deadline is not None:
        due.append(Due(todo.question.deadline, "the auditor's question"))
    if todo.retry_at is not None and todo.gate.status is SessionStatus.RUNNING:
        due.append(Due(todo.retry_at, "another try"))
    return min(due, key=lambda one: (one.at, one.name), default=None)


class Timers:
    """One timer at a time: the next that is due."""

    def __init__(self, keeper: Keeper, rounds: Rounds) -> None:
        self._keeper = keeper
        self._rounds = rounds

    async def mind(self) -> None:
        """Wait for what is due next, for ever."""
        while True:
            await workflow.wait_condition(lambda: self._next() is not None)
            due = self._next()
            if due is not None and await self._is_over(due):
                await self._happens(due)

    def _next(self) -> Due | None:
        return next_due(self._keeper.todo)

    async def _is_over(self, due: Due) -> bool:
        """Wait until then; False where something else is due before."""
        left = (due.at - workflow.now()).total_seconds()
        if left <= 0:
            return True
        try:
            await workflow.wait_condition(lambda: self._next() != due, timeout=left, timeout_summary=due.name)
        except TimeoutError:
            return True
        return False

    async def _happens(self, due: Due) -> None:
        """Let it happen, if it still is what is due once nobody else changes the todo."""
        asked = 0

        def act(todo: Todo, now: datetime) -> Step:
            nonlocal asked
            if next_due(todo) != due:
                return Step(todo=todo)
            asked = todo.question.round if todo.question and due.name == "the auditor's question" else 0
            return ACTS[due.name](todo, now)

        await self._keeper.happen(act)
        if asked:
            await self._rounds.answer(FollowUpAnswer(round=asked))
        if self._next() == due:  # a clock that counts in fractions may have a little left
            await workflow.sleep(1.0)
