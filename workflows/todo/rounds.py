"""Keeps the round of a todo in line with it: one runs while the todo says so, and is cancelled when it does not.

What a round comes to is `domain.acts.system`'s to say. Source: DESIGN 3 and 4.
"""

from __future__ import annotations

from temporalio import workflow
from temporalio.exceptions import (
    ApplicationError,
    ChildWorkflowError,
    WorkflowAlreadyStartedError,
    is_cancelled_exception,
)

with workflow.unsafe.imports_passed_through():
    from domain.acts import system
    from domain.decision import RoundOutcome
    from domain.events import SYSTEM
    from domain.life import FollowUpAnswer
    from domain.messages import RoundInput, RoundResult
    from domain.todo import Todo
    from workflows.children import RoundHandle, start_round
    from workflows.todo.keeper import Keeper


class Rounds:
    """The round that runs, if one does."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._running: RoundHandle | None = None
        self._open = False

    @property
    def idle(self) -> bool:
        """Whether no round runs."""
        return not self._open

    async def mind(self) -> None:
        """See that the round runs that the todo speaks of, for ever."""
        while True:
            await workflow.wait_condition(lambda: self._keeper.todo.round != 0)
            if attempt := self._keeper.todo.round:
                self._open = True
                await self._run(attempt)
                self._open = False

    async def answer(self, answer: FollowUpAnswer) -> None:
        """Pass on what the worker answered, or that nobody did. A round that has ended needs no answer."""
        if self._running is None or self._running.done():
            return
        try:
            await self._running.signal("answered", answer)
        except ApplicationError as error:
            workflow.logger.warning("the round was not answered: %s", error)

    async def _run(self, attempt: int) -> None:
        """Run it to its end, which the todo then hears of, whether it still waits for it or not."""
        request = round_of(self._keeper.todo, attempt)
        try:
            self._running = child = await start_round(request)
            await workflow.wait_condition(lambda: child.done() or self._keeper.todo.round != attempt)
            if not child.done():
                child.cancel()
            result = await child
        except WorkflowAlreadyStartedError:
            await self._broke(attempt, f"there is a workflow {request.workflow_id!r} that this todo did not start")
        except ChildWorkflowError as error:
            why = "it was cancelled" if is_cancelled_exception(error) else f"its workflow failed: {error.cause}"
            await self._broke(attempt, why)
        else:
            await self._ended(attempt, result)
        finally:
            self._running = None

    async def _ended(self, attempt: int, result: RoundResult) -> None:
        if result.decision.outcome is RoundOutcome.VERIFIED and self._keeper.todo.round == attempt:
            await self._keeper.ask_session()  # a subtask may have been added or reopened that it has not heard of
        await self._keeper.happen(lambda todo, now: system.round_ended(todo, attempt, result, now), attempt)

    async def _broke(self, attempt: int, why: str) -> None:
        await self._keeper.happen(lambda todo, now: system.round_broke(todo, attempt, why, now), attempt)


def round_of(todo: Todo, attempt: int) -> RoundInput:
    """What the round is told: the claim, with the trees that were frozen for it."""
    return RoundInput(
        session=todo.session,
        todo=todo.id,
        attempt=attempt,
        order=todo.order,
        order_digest=todo.order_digest,
        host=todo.host,
        store=todo.store,
        order_file=todo.order_file,
        actor=SYSTEM,
        claim=todo.claim,
        brought=todo.admitted.evidence if todo.admitted else (),
        todo_workflow=todo.workflow_id,
        frozen=todo.admitted.frozen if todo.admitted else None,
        inconclusive=todo.inconclusive,
        authored=todo.authored,
        content_authored=todo.content_authored,
        widen=todo.widen,
        authority=todo.authority,
        beside=todo.beside,
    )
