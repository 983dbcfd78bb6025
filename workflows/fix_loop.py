"""The fix loop: a round's feedback, a repair of its work, a round of the result, within a budget. The rules: `fixing`.

Source: seed `fix loop` 1, DESIGN 3 "The fix loop's rounds have counters of their own".
"""

from __future__ import annotations

import asyncio

from temporalio import workflow
from temporalio.exceptions import is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from pydantic import JsonValue

    from domain import fixing
    from domain.events import SYSTEM
    from domain.fix_messages import Ending, FixLoopInput, FixLoopResult, FixProgress
    from domain.fixing import Escalate, Repair, Success
    from domain.roles.spending import MICROS
    from workflows.fix_end import Ends
    from workflows.fix_iteration import Iterations
    from workflows.fix_state import FixState
    from workflows.fix_trail import FixTrail, to_its_end, unless_cancelled


@workflow.defn(name="FixLoopWorkflow")
class FixLoopWorkflow:
    """One loop. Cancelled, it says so in the trail, and nothing of it reaches the workspace."""

    @workflow.init
    def __init__(self, request: FixLoopInput) -> None:
        """State before the first task: a message may come in it."""
        self._state = FixState.of(request)
        self._trail = FixTrail(request)
        self._iterations = Iterations(self._state, self._trail, self._may_begin)
        self._ends = Ends(self._state, self._trail)

    @workflow.run
    async def run(self, request: FixLoopInput) -> FixLoopResult:
        """Repair and verify until the policy says that it is enough.

        A cancellation that comes when the end is being told is too late: what the loop came to is answered.
        """
        try:
            if not request.round.todo_workflow:  # a todo has said so itself
                await self._trail.record("fix_loop_started", SYSTEM, _started(request))
            result = await self._come_to_an_end()
        except (Exception, asyncio.CancelledError) as error:
            if not is_cancelled_exception(error):
                raise
            aborted = self._state.came_to("aborted", reason="cancelled by the caller")
            ended = await to_its_end(self._ends.tell(aborted))
            if request.round.todo_workflow:  # what it used counts, whoever called it off
                return ended
            raise
        return await to_its_end(self._ends.tell(result))

    @workflow.signal(name="pause")
    def pause(self) -> None:
        """Begin nothing new: the session is paused. What runs may finish."""
        self._state.paused = True

    @workflow.signal(name="resume")
    def resume(self) -> None:
        """Go on."""
        self._state.paused = False

    @workflow.query
    def progress(self) -> FixProgress:
        """How far it is."""
        return self._state.progress

    async def _may_begin(self) -> None:
        """Wait while the session is paused. Raises `asyncio.CancelledError` where the loop was cancelled."""
        if self._state.paused:
            self._state.does("paused")
            await workflow.wait_condition(lambda: not self._state.paused)
        unless_cancelled()

    async def _come_to_an_end(self) -> FixLoopResult:
        """What the loop comes to, with a verified repair where it belongs."""
        step = await self._iterate()
        unless_cancelled()
        if isinstance(step, Escalate):
            return self._state.came_to("escalated", step.trigger, step.reason)
        await self._may_begin()
        ending: Ending = "success_with_notes" if step.notes else "success"
        return await self._ends.place(self._state.came_to(ending, notes=step.notes))

    async def _iterate(self) -> Success | Escalate:
        state, request = self._state, self._state.request
        verifying = (await self._iterations.spent(request.round.attempt)).verifying
        while True:
            estimate = fixing.estimated(verifying, [done.micros for done in state.iterations])
            step = fixing.after_round(request.round.order, state.result, state.tally, request.budget, estimate)
            if not isinstance(step, Repair):
                return step
            if ended := await self._iterations.run(step, estimate):
                return ended


def _started(request: FixLoopInput) -> dict[str, JsonValue]:
    return {
        "attempt": request.round.attempt,
        "domain": request.round.order.domain,
        "confidence": request.result.confidence,
        "loops": request.tally.loops,
        "max_loops": request.budget.loops,
        "spent_usd": request.tally.micros / MICROS,
        "max_cost_usd": request.budget.micros / MICROS,
    }
