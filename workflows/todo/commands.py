"""What is asked of a todo, settled in the order in which it comes: done or refused, and recorded. No rules here.

Source: DESIGN 2 "A message handler", DESIGN 6 "Updates carry a stable id".
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TypeVar

from temporalio import workflow
from temporalio.exceptions import ActivityError

with workflow.unsafe.imports_passed_through():
    from activities.boundary import domain_error
    from domain.acts.step import GATE_CODES, Declined, Outcome, Step, refused
    from domain.requests import Answer, Refusal, Request
    from domain.todo import Todo
    from workflows.answers import Answers, outsider
    from workflows.todo.keeper import AGAIN_SECONDS, Keeper

R = TypeVar("R", bound=Request)
Act = Callable[[Todo, R, datetime], Outcome | Declined]


class Commands:
    """What is asked of a todo: settled under its lock, recorded where it is refused."""

    def __init__(self, keeper: Keeper, answers: dict[str, str]) -> None:
        self._keeper = keeper
        self.answers = Answers(answers)

    async def update(self, work: Callable[[], Awaitable[Answer]]) -> Answer:
        """What `Answers.once` says to the update that is being handled, once the todo has begun."""

        async def begun() -> Answer:
            await self._keeper.begun()
            return await work()

        return await self.answers.once(begun)

    async def human(self, command: str, request: R, act: Act[R]) -> Answer:
        """What a person asks, answered once the session has heard of it.

        Raises `ActivityError`.
        """
        told = self._keeper.tell()
        answer = await self.settle(command, request, act)
        if answer.refused is None and self._keeper.tell() != told:
            await self._keeper.ask_session()
        return answer

    async def signalled(self, command: str, request: R, act: Act[R]) -> None:
        """What a person says by a signal: nobody waits for the answer, and nobody is there to ask again."""
        await self._keeper.begun()
        while True:
            try:
                await self.human(command, request, act)
                return
            except ActivityError as error:
                workflow.logger.warning("%s is tried again: %s", command, domain_error(error))
            await workflow.sleep(AGAIN_SECONDS)

    async def settle(self, command: str, request: R, act: Act[R]) -> Answer:
        """Do it, or record that it was refused. Raises `ActivityError`."""
        return await self._settle(command, request, lambda todo: act(todo, request, workflow.now()))

    async def refusal(self, command: str, request: R, may: Callable[[Todo, R], Refusal | None]) -> Answer | None:
        """The answer where `may` says no, which is recorded; None where what is asked may be done for now."""
        answer = await self._settle(command, request, lambda todo: may(todo, request) or Step(todo=todo))
        return answer if answer.refused else None

    async def refuse(self, command: str, request: Request, why: Refusal) -> Answer:
        """Record that it is refused for a reason that no act knows of. Raises `ActivityError`."""
        async with self._keeper.lock:
            return await self._taken(command, request, why)

    async def _settle(self, command: str, request: Request, judge: Callable[[Todo], Outcome | Declined]) -> Answer:
        asked = False
        while True:
            async with self._keeper.lock:
                todo = self._keeper.todo
                outcome = outsider(todo.session, request) or judge(todo)
                if asked or not isinstance(outcome, Refusal) or outcome.code not in GATE_CODES:
                    return await self._taken(command, request, outcome)
            await self._keeper.ask_session()
            asked = True

    async def _taken(self, command: str, request: Request, outcome: Outcome | Declined) -> Answer:
        if isinstance(outcome, Step):
            return self._keeper.answer(await self._keeper.take(outcome))
        if isinstance(outcome, Declined):
            step, why = outcome.step, outcome.refusal
        else:
            why = outcome
            step = refused(self._keeper.todo, command, request.actor, why, request.tool_call_id)
        ref = await self._keeper.take(step)
        return self._keeper.answer(ref).model_copy(update={"refused": why})
