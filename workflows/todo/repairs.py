"""Keeps the fix loop of a todo in line with it: one runs while the todo says so, and is cancelled when it does not.

What a loop comes to is `domain.acts.fixing`'s to say. Source: DESIGN 3, seed `fix loop` 1.
"""

from __future__ import annotations

from temporalio import workflow
from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import (
    ApplicationError,
    ChildWorkflowError,
    WorkflowAlreadyStartedError,
    is_cancelled_exception,
)

with workflow.unsafe.imports_passed_through():
    from domain.acts import system
    from domain.fix_messages import FixLoopInput, FixLoopResult
    from domain.fixing import budget_of
    from domain.messages import FrozenBase
    from domain.status import SessionStatus
    from domain.todo import Repairing, Todo
    from workflows import options
    from workflows.board import summary_of
    from workflows.children import found_by
    from workflows.todo.keeper import Keeper
    from workflows.todo.rounds import round_of

Handle = workflow.ChildWorkflowHandle[object, FixLoopResult]


class Repairs:
    """The fix loop that runs, if one does."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._open = False

    @property
    def idle(self) -> bool:
        """Whether no loop runs or is to run."""
        return not self._open and self._keeper.todo.repair is None

    async def mind(self) -> None:
        """See that the loop runs that the todo speaks of, for ever. None begins while the session is paused."""
        while True:
            await workflow.wait_condition(lambda: self._keeper.todo.repair is not None and not self._paused)
            if repair := self._keeper.todo.repair:
                self._open = True
                await self._run(repair)
                self._open = False

    @property
    def _paused(self) -> bool:
        return self._keeper.todo.gate.status is SessionStatus.PAUSED

    def _wanted(self, repair: Repairing) -> bool:
        now = self._keeper.todo.repair
        return now is not None and now.attempt == repair.attempt

    async def _run(self, repair: Repairing) -> None:
        """Run it to its end, which the todo then hears of, whether it still waits for it or not."""
        request = loop_of(self._keeper.todo, repair)
        try:
            child = await _start(request)
            await self._attended(child, repair)
            if not child.done():
                child.cancel()
            result = await child
        except WorkflowAlreadyStartedError:
            await self._broke(repair, f"there is a workflow {request.workflow_id!r} that this todo did not start")
        except ChildWorkflowError as error:
            why = "it was cancelled" if is_cancelled_exception(error) else f"its workflow failed: {error.cause}"
            await self._broke(repair, f"the fix loop: {why}")
        else:
            await self._ended(repair, result)

    async def _attended(self, child: Handle, repair: Repairing) -> None:
        """Until it has ended or is not wanted any more; meanwhile it hears when the session pauses and goes on."""
        told_paused = False
        while not child.done() and self._wanted(repair):
            if self._paused is not told_paused:
                told_paused = self._paused
                await _tell(child, "pause" if told_paused else "resume")
            said = told_paused
            await workflow.wait_condition(
                lambda: child.done() or not self._wanted(repair) or self._paused is not said  # noqa: B023 - awaited here
            )

    async def _ended(self, repair: Repairing, result: FixLoopResult) -> None:
        if result.ending in ("success", "success_with_notes") and self._wanted(repair):
            await self._keeper.ask_session()  # a subtask may have been added or reopened that it has not heard of
        await self._keeper.happen(lambda todo, now: system.repair_ended(todo, repair.attempt, result, now))

    async def _broke(self, repair: Repairing, why: str) -> None:
        await self._keeper.happen(lambda todo, now: system.repair_broke(todo, repair.attempt, why, now))


def loop_of(todo: Todo, repair: Repairing) -> FixLoopInput:
    """What the loop is told: the round as it was asked and as it ended, and what is left of the budget."""
    return FixLoopInput(
        round=round_of(todo, repair.attempt),
        result=repair.result,
        tally=todo.fixing.used,
        budget=budget_of(todo.order, todo.fixing.granted),
        frozen_base=FrozenBase.model_validate_json(todo.base).rest if todo.base else "",
    )


async def _tell(child: Handle, word: str) -> None:
    """A loop that has ended meanwhile need not know."""
    try:
        await child.signal(word)
    except ApplicationError as error:
        workflow.logger.warning("the fix loop was not told to %s: %s", word, error)


async def _start(request: FixLoopInput) -> Handle:
    """A todo that ends by force takes its fix loop along, which then still says so."""
    return await workflow.start_child_workflow(
        "FixLoopWorkflow",
        request,
        id=request.workflow_id,
        task_queue=options.WORKFLOWS_QUEUE,
        result_type=FixLoopResult,
        id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
        cancellation_type=workflow.ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED,
        parent_close_policy=workflow.ParentClosePolicy.REQUEST_CANCEL,
        search_attributes=found_by(request.round),
        static_summary=summary_of(f"fix loop: {request.round.order.title}"),
    )
