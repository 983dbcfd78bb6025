"""The end of a fix loop: a verified repair is placed, what people read of the loop is filed, and the trail has it.

Source: DESIGN 3 "Escalation triggers", seed `fix loop` 6.
"""

from __future__ import annotations

from temporalio import workflow
from temporalio.exceptions import ActivityError

with workflow.unsafe.imports_passed_through():
    from pydantic import JsonValue

    from activities.boundary import domain_error, outside_error
    from activities.fixes import FixActivities
    from activities.snapshot import SnapshotActivities
    from domain.events import SYSTEM
    from domain.fix_files import SUMMARY
    from domain.fix_messages import Applied, ApplyInput, FileFixLoopInput, FixLoopResult
    from domain.freezing import freeze_input
    from domain.read_model import standing
    from domain.roles.spending import MICROS
    from domain.status import AFTER_A_ROUND, ReviewStatus, TodoStatus
    from workflows import options
    from workflows.fix_state import FixState
    from workflows.fix_trail import FixTrail, called_off


class Ends:
    """How a loop ends."""

    def __init__(self, state: FixState, trail: FixTrail) -> None:
        self._state = state
        self._trail = trail

    async def place(self, result: FixLoopResult) -> FixLoopResult:
        """The verified repair into the workspace, or offered where that cannot be. Cancelled, it is placed nowhere."""
        state = self._state
        then = state.request.result.frozen
        if not state.repaired or then is None:
            return result
        state.does("applying")
        asked = ApplyInput(
            freeze=freeze_input(state.request.round, state.request.frozen_base), head=then.head, fixed=state.repaired
        )
        try:
            applied = await called_off(
                workflow.start_activity_method(
                    SnapshotActivities.apply,
                    asked,
                    summary=f"the repair into {asked.freeze.workspace}",
                    **options.fix_apply(state.request.round.host),
                )
            )
        except ActivityError as error:
            applied = Applied(why=str(domain_error(error)))
        placed = "offered" if applied.why else "applied"
        return result.model_copy(update={"placed": placed, "why_offered": applied.why})

    async def tell(self, result: FixLoopResult) -> FixLoopResult:
        """File it, and say in the trail where the repair is and how the loop has ended. What comes of it, whole."""
        result = await self._filed(result)
        if result.placed:
            payload: dict[str, JsonValue] = {
                "patch": result.patch,
                "paths": [*sorted({path for iteration in result.iterations for path in iteration.paths})],
                "reason": result.why_offered,
            }
            await self._trail.record(
                "patch_applied" if result.placed == "applied" else "patch_offered", SYSTEM, payload
            )
        before, after = self._standing(result)
        await self._trail.record("fix_loop_ended", SYSTEM, self._ended(result), before, after)
        self._state.does(result.ending.replace("_", " "))
        return result

    def _ended(self, result: FixLoopResult) -> dict[str, JsonValue]:
        return {
            "ending": result.ending,
            "trigger": result.trigger,
            "reason": result.reason,
            "loops": result.loops,
            "max_loops": result.of,
            "spent_usd": result.tally.micros / MICROS,
            "last_verdict": self._state.verdict,
            "summary": result.summary,
        }

    async def _filed(self, result: FixLoopResult) -> FixLoopResult:
        try:
            filed = await workflow.execute_activity_method(
                FixActivities.file, self._file_input(result), summary=SUMMARY, **options.FIX_FILE
            )
        except ActivityError as error:  # nothing cancels it: the loop's end is told to its end
            notes = (*result.notes, f"the files of the fix loop could not be written: {outside_error(error)}")
            return result.model_copy(update={"notes": notes})
        return result.model_copy(update={"summary": filed.summary, "patch": filed.patch})

    def _file_input(self, result: FixLoopResult) -> FileFixLoopInput:
        request = self._state.request
        then, to_head = request.result.frozen, self._state.repaired
        return FileFixLoopInput(
            session=request.round.session,
            todo=request.round.todo,
            attempt=request.round.attempt,
            title=request.round.order.title,
            domain=request.round.order.domain,
            result=result,
            budget=request.budget,
            from_head=then.head if then and to_head else "",
            to_head=to_head,
        )

    def _standing(self, result: FixLoopResult) -> tuple[dict[str, JsonValue], dict[str, JsonValue]]:
        """Where an escalation leaves the todo; nothing where the todo says it itself, or its last round has said it."""
        if self._state.round.todo_workflow or result.ending != "escalated":
            return {}, {}
        stood = AFTER_A_ROUND[self._state.result.decision.outcome]
        if self._state.broke:
            stood = (TodoStatus.CLAIMED, ReviewStatus.AUDITING)
        status = TodoStatus.FAILED if result.trigger == "hard_fail" else TodoStatus.NEEDS_HUMAN
        return standing(*stood), standing(status, ReviewStatus.ESCALATED)
