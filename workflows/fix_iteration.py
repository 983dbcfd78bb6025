"""One iteration of a fix loop: the fix builder's pass over a round's work, and the round of its result.

Whether there is one, and what follows, is `domain.fixing`'s to say. Source: seed `fix loop` 1 "Step D".
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from temporalio import workflow
from temporalio.exceptions import ChildWorkflowError, WorkflowAlreadyStartedError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from activities.fixes import FixActivities
    from domain import fixing
    from domain.events import SYSTEM
    from domain.fix_messages import Iteration, SpentInput, SpentResult
    from domain.fixing import Escalate, Repair
    from domain.messages import Frozen, RoundInput, ScopeResult
    from domain.roles.passes import PassInput
    from domain.roles.results import Fixed, PassResult
    from domain.roles.spending import MICROS
    from workflows import options
    from workflows.children import RoundHandle, start_round
    from workflows.fix_state import FixState
    from workflows.fix_trail import FixTrail, to_its_end, unless_cancelled
    from workflows.passes import Passes

NO_MODEL = "no model is configured for it: set `[agents.fix_builder] model`"
NO_TREE = "there is no tree to repair: the workspace could not be taken as it is"


class Iterations:
    """The iterations of one loop, one after the other. `may_begin` waits while nothing new may begin."""

    def __init__(self, state: FixState, trail: FixTrail, may_begin: Callable[[], Awaitable[None]]) -> None:
        self._state = state
        self._trail = trail
        self._may_begin = may_begin
        self._open = Iteration(loop=0)
        self._attempt = state.round.attempt

    async def spent(self, attempt: int) -> SpentResult:
        """What the ledger has of a round."""
        return await workflow.execute_activity_method(
            FixActivities.spent,
            SpentInput(session=self._state.round.session, todo=self._state.round.todo, attempt=attempt),
            summary=f"what round {attempt} has cost",
            **options.FIX_SPENT,
        )

    async def run(self, step: Repair, estimate: int) -> Escalate | None:
        """Repair, and verify the result: why the loop is to end, None where a round has come to a result.

        Cancelled, it says in the trail how far it was.
        """
        await self._may_begin()
        state = self._state
        repaired = state.round.attempt
        state.loop = step.loop
        self._open = Iteration(loop=step.loop, feedback=state.result.retry_context)
        await self._trail.record("fix_iteration_started", SYSTEM, {
            "loop": step.loop, "of": step.of, "attempt": repaired,
            "estimate_usd": estimate / MICROS, "spent_usd": state.tally.micros / MICROS,
        })  # fmt: skip
        try:
            ended = await self._iterate(step)
        except (Exception, asyncio.CancelledError) as error:
            if is_cancelled_exception(error):
                await to_its_end(self._close(step, repaired, "cancelled"))
            raise
        await to_its_end(self._close(step, repaired, ended.reason if ended else ""))
        return ended

    async def _iterate(self, step: Repair) -> Escalate | None:
        frozen, scope = self._state.result.frozen, self._state.result.scope
        if frozen is None or scope is None:
            return Escalate(trigger="could_not_apply", reason=NO_TREE)
        passed = await self._repair(frozen, scope)
        unless_cancelled()
        if not_fixed := fixing.after_fix(passed):
            return not_fixed
        assert passed.fixed, "what is no end of the loop has a result"
        await self._may_begin()
        return await self._verify(step, _repaired(frozen, passed.fixed), passed.seconds)

    async def _repair(self, frozen: Frozen, scope: ScopeResult) -> PassResult:
        """The fix builder's pass: told what the round found, and nothing of what the worker says of its work."""
        state = self._state
        state.does("repairing")
        order = state.round.order
        asked = PassInput(
            round=state.round.model_copy(update={"claim": None, "brought": ()}),
            frozen=frozen,
            scope=scope,
            results=(),
            role="fix_builder",
            stage="fix",
            limit=order.safeguards.audit_timeout,
            feedback=state.result.retry_context,
            budget=max(0, state.request.budget.micros - state.tally.micros),
        )
        passed = await Passes(order, self._trail).ask(asked)
        if passed.outcome == "not_configured":
            passed = passed.model_copy(update={"why": NO_MODEL})
        self._open = _told(self._open, passed)
        return passed

    async def _verify(self, step: Repair, frozen: Frozen, used: float) -> Escalate | None:
        """A round of the repaired work. `used`: seconds of the roles' time that the repair took."""
        state = self._state
        try:
            asked, child = await self._start(_round_of(state.round, step.loop, frozen, used))
            result = await child
        except WorkflowAlreadyStartedError as error:
            state.broke = True
            return Escalate(trigger="system_error", reason=f"there is a workflow {error.workflow_id!r} of others")
        except ChildWorkflowError as error:
            unless_cancelled()
            state.broke = True
            why = "was cancelled" if is_cancelled_exception(error) else f"broke: {error.cause}"
            return Escalate(trigger="system_error", reason=f"the round of the repair {why}")
        state.round, state.result = asked, result
        self._trail.attempt = asked.attempt
        self._open = self._open.model_copy(
            update={
                "attempt": asked.attempt,
                "report": result.report,
                "outcome": result.decision.outcome.value,
                "confidence": result.confidence,
            }
        )
        return None

    async def _start(self, request: RoundInput) -> tuple[RoundInput, RoundHandle]:
        """The next round: a todo's numbers are reserved, one that stands alone takes the next that is free."""
        while True:
            self._state.does("verifying", request.workflow_id)
            try:
                child = await start_round(request)
            except WorkflowAlreadyStartedError:
                if request.todo_workflow:
                    raise
                request = request.model_copy(update={"attempt": request.attempt + 1})
            else:
                self._attempt = request.attempt
                return request, child

    async def _close(self, step: Repair, repaired: int, why: str) -> None:
        """Count it, and say what became of it."""
        state = self._state
        micros = (await self.spent(repaired)).fixing
        if self._attempt != repaired:
            micros += (await self.spent(self._attempt)).verifying
        done = self._open.model_copy(update={"why": why, "micros": micros})
        state.tally = state.tally.model_copy(
            update={"loops": state.tally.loops + 1, "micros": state.tally.micros + micros}
        )
        state.iterations.append(done)
        await self._trail.record(
            "fix_iteration_completed",
            SYSTEM,
            {
                "of": step.of,
                "cost_usd": micros / MICROS,
                **done.model_dump(mode="json", exclude={"report", "micros"}),
            },
        )
        state.does("deciding")


def _told(iteration: Iteration, passed: PassResult) -> Iteration:
    fixed = passed.fixed or Fixed(kind="could_not_apply", answer="")
    return iteration.model_copy(
        update={
            "answer": fixed.answer,
            "edits": fixed.edits,
            "refused": len(passed.refused),
            "paths": fixed.paths,
            "patch": fixed.patch,
        }
    )


def _repaired(frozen: Frozen, fixed: Fixed) -> Frozen:
    """The trees with the repaired work in the place of what was repaired."""
    return frozen.model_copy(
        update={"head": fixed.head, "head_files": fixed.head_files, "head_bytes": fixed.head_bytes}
    )


def _round_of(before: RoundInput, loop: int, frozen: Frozen, used: float) -> RoundInput:
    """The round that follows `before`: nobody claims anything of a repair, and nothing was tried on it yet."""
    return before.model_copy(
        update={
            "attempt": before.attempt + 1,
            "actor": SYSTEM,
            "claim": None,
            "brought": (),
            "frozen": frozen,
            "inconclusive": 0,
            "loop": loop,
            "roles_used": used,
        }
    )
