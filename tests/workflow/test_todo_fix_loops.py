"""A todo and its fix loops: one runs while the todo says so, and is cancelled by whatever else happens to the todo."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from temporalio.client import WorkflowExecutionStatus
from temporalio.testing import WorkflowEnvironment

from domain.confidence import Confidence
from domain.decision import Decision, Reason, RoundOutcome
from domain.fix_messages import FixLoopResult
from domain.fix_summary import escalation_reason
from domain.fixing import Budget, Tally
from domain.messages import Frozen, RoundResult
from domain.requests import Delete, Edit, Override, Reject, Return
from domain.todo import Gate
from tests.workflow.asking import told_by
from tests.workflow.lives import ANN, Life, living, until
from tests.workflow.scripted import LoopPlan, Plan, ScriptedLoop

FEEDBACK = Plan(
    outcome=RoundOutcome.CHANGES_REQUESTED, passed=False, not_passed=("tests",), confidence=Confidence.FEEDBACK
)
REPAIRED = Frozen(head="8" * 64, base="b" * 64, head_files=1, head_bytes=1, base_files=1, dropped="d" * 64)
ABORTED = FixLoopResult(ending="aborted", reason="cancelled", tally=Tally(loops=1, micros=10), loops=1, of=3)
SPENT = FixLoopResult(
    ending="escalated",
    trigger="revision_cap_exceeded",
    reason="3 of 3 loops used: it still fails",
    tally=Tally(loops=3, micros=300),
    loops=3,
    of=3,
    attempt=4,
)


def success(attempt: int = 2, **fields: Any) -> FixLoopResult:
    decision = Decision(outcome=RoundOutcome.VERIFIED, reasons=(Reason(code="all", text="all passed"),))
    return FixLoopResult(
        **{
            "ending": "success",
            "tally": Tally(loops=attempt - 1, micros=100),
            "loops": attempt - 1,
            "of": 3,
            "attempt": attempt,
            "frozen": REPAIRED,
            "result": RoundResult(decision=decision, report="r" * 64, passed=True, confidence=Confidence.PERFECT),
            "placed": "applied",
            **fields,
        }
    )


@asynccontextmanager
async def looping(server: WorkflowEnvironment, *loops: LoopPlan, **order: Any) -> AsyncIterator[Life]:
    """A claimed todo whose first round asks for changes, with these fix loops, of which the first has begun."""
    async with living(server, **{"domain": "refactor", "fix_loop": {"enabled": True}, **order}) as life:
        life.script.rounds, life.script.loops = [FEEDBACK], list(loops)
        await life.started()
        await life.claims()
        await life.loops(1)
        yield life


async def gone(life: Life, count: int = 1) -> None:
    """Wait until the fix loop has ended, and the todo has heard of it."""
    loop = await life.loops(count)

    async def ended() -> bool:
        return (await loop.describe()).status is not WorkflowExecutionStatus.RUNNING

    await until(ended)


async def test_what_the_loop_repaired_is_verified(server: WorkflowEnvironment) -> None:
    async with looping(server, LoopPlan(result=success(3))) as life:
        todo = await life.becomes("verified", "approved")
        assert todo.admitted is not None
        assert (todo.attempt, todo.audits, todo.revisions, todo.admitted.frozen) == (3, 1, 0, REPAIRED)
        actions = ["todo_created", "todo_started", "todo_claimed", "audit_started", "fix_loop_started", "approved"]
        assert [row.action for row in life.rows()] == actions
        assert [row.attempt for row in life.rows("fix_loop_started", "approved")] == [1, 3]
        (asked,), (round,) = life.script.looped, life.script.asked
        assert asked.workflow_id == f"fix/{todo.session}/wo-1/1"
        assert asked.round.model_copy(update={"frozen": None}) == round.model_copy(update={"frozen": None})
        assert (asked.round.frozen and asked.round.frozen.head, asked.frozen_base) == ("a" * 64, "e" * 64)
        assert (asked.tally, asked.budget) == (Tally(), Budget(loops=3, micros=5_000_000))
        assert asked.result.confidence is Confidence.FEEDBACK
        described = await life.client.get_workflow_handle(asked.workflow_id).describe()
        assert described.parent_id == todo.workflow_id
        assert "fix loop" in str(await described.static_summary())


async def test_a_patch_that_was_offered_is_flagged(server: WorkflowEnvironment) -> None:
    plan = LoopPlan(result=success(placed="offered", why_offered="src/a.py has changed"))
    async with looping(server, plan) as life:
        todo = await life.becomes("verified")
        assert "src/a.py has changed" in todo.flag
        assert f"evidence/{todo.session}/wo-1/1/fix_loop/repair.patch" in todo.flag


async def test_a_loop_that_used_its_budget_up_escalates_and_a_human_can_overrule(server: WorkflowEnvironment) -> None:
    async with looping(server, LoopPlan(result=SPENT)) as life:
        todo = await life.becomes("needs_human", "escalated")
        assert (todo.trigger, todo.attempt, todo.not_passed) == ("revision_cap_exceeded", 1, ("tests",))
        assert life.rows("escalated")[0].payload["reason"] == escalation_reason(SPENT)
        await life.told(trigger="revision_cap_exceeded")
        answer = await life.ask("override", Override(actor=ANN, kind="check", reason="known", acknowledged=("tests",)))
        assert answer.status == "verified"


async def test_a_budget_lets_it_go_on_with_the_same_work(server: WorkflowEnvironment) -> None:
    async with looping(server, LoopPlan(result=SPENT), LoopPlan(result=success(6))) as life:
        await life.becomes("needs_human")
        life.script.rounds = [FEEDBACK]
        assert (await life.ask("return", Return(actor=ANN, cost_usd=2.5))).status == "in_progress"
        assert life.rows("returned")[0].payload["cost_usd"] == 2.5
        answer = await life.claims()
        assert (answer.refused, answer.attempt) == (None, 5)
        await life.becomes("verified")
        second = life.script.looped[1]
        assert second.workflow_id.endswith("/5")
        assert (second.tally, second.budget) == (Tally(loops=3, micros=300), Budget(loops=6, micros=7_500_000))


async def test_without_a_budget_what_comes_later_goes_the_ordinary_way(server: WorkflowEnvironment) -> None:
    async with looping(server, LoopPlan(result=SPENT)) as life:
        await life.becomes("needs_human")
        life.script.rounds = [FEEDBACK]
        await life.ask("return", Return(actor=ANN))
        await life.claims("wrote it otherwise")
        await life.becomes("in_progress", "changes_requested")
        assert len(life.script.looped) == 1


async def test_a_budget_without_a_loop_is_refused(server: WorkflowEnvironment) -> None:
    async with living(server) as life:
        life.script.rounds = [Plan(outcome=RoundOutcome.NEEDS_HUMAN, trigger="not_judged")]
        await life.started()
        await life.claims()
        await life.becomes("needs_human")
        refused = (await life.ask("return", Return(actor=ANN, cost_usd=1.0))).refused
        assert refused is not None
        assert refused.code == "no_fix_loop"


@pytest.mark.parametrize("ends", ["breaks", "cancelled", "aborts"])
async def test_a_loop_that_ends_without_a_result_escalates(server: WorkflowEnvironment, ends: str) -> None:
    plan = LoopPlan(
        result=success(), breaks=ends == "breaks", holds=True, cancelled=ABORTED if ends == "aborts" else None
    )
    async with looping(server, plan) as life:
        if ends != "breaks":
            await (await life.loops(1)).cancel()
        todo = await life.becomes("needs_human")
        assert (todo.trigger, todo.fixing.closed) == ("system_error", True)


Act = Callable[[Life], Awaitable[Any]]
MEANWHILE: dict[str, tuple[Act, str]] = {
    "override": (
        lambda life: life.ask("override", Override(actor=ANN, kind="check", reason="known", acknowledged=("tests",))),
        "verified",
    ),
    "reject": (lambda life: life.ask("reject", Reject(actor=ANN, feedback="not like this")), "in_progress"),
    "delete": (lambda life: life.ask("delete", Delete(actor=ANN)), "cancelled"),
    "stop": (lambda life: life.says(Gate(status="stopped")), "claimed"),
    "time out": (lambda life: life.says(Gate(status="timed_out")), "needs_human"),
    "subtask": (lambda life: life.says(Gate(open_children=("sub",))), "in_progress"),
}


@pytest.mark.parametrize("act", MEANWHILE)
async def test_what_happens_meanwhile_cancels_the_loop_and_nothing_else_moves(
    server: WorkflowEnvironment, act: str
) -> None:
    does, status = MEANWHILE[act]
    async with looping(server, LoopPlan(result=success(), holds=True, cancelled=ABORTED)) as life:
        await does(life)
        await life.becomes(status)
        rows = len(life.rows())
        await gone(life)

        async def heard() -> bool:
            return (await life.state()).fixing.used == ABORTED.tally

        await until(heard)
        todo = await life.state()
        assert (todo.status, todo.repair, len(life.rows())) == (status, None, rows)


@pytest.mark.parametrize(
    "plan",
    [
        LoopPlan(result=success(), holds=True),
        LoopPlan(result=success(), holds=True, late=True),
        LoopPlan(result=SPENT, holds=True, late=True),
    ],
    ids=["no result", "late success", "late escalation"],
)
async def test_however_a_cancelled_loop_ends_its_numbers_are_not_used_again(
    server: WorkflowEnvironment, plan: LoopPlan
) -> None:
    async with looping(server, plan) as life:
        await life.ask("reject", Reject(actor=ANN, feedback="not like this"))
        await gone(life)
        assert (await life.state()).status == "in_progress"
        answer = await life.claims("wrote it otherwise")
        assert answer.attempt == 5
        await life.becomes("verified")
        assert [asked.attempt for asked in life.script.asked] == [1, 5]
        assert life.script.frozen[1].round.endswith("/5")
        assert life.script.admitted[1].attempt == 5


async def test_an_edit_cancels_the_loop_and_begins_a_round(server: WorkflowEnvironment) -> None:
    async with looping(server, LoopPlan(result=success(), holds=True, cancelled=ABORTED)) as life:
        answer = await life.ask("edit", Edit(actor=ANN, expected_version=1, changes={"content": "other work"}))
        assert (answer.refused, answer.attempt, answer.status) == (None, 5, "claimed")
        await life.becomes("verified")
        await gone(life)
        assert [asked.order.content for asked in life.script.asked][1:] == ["other work"]


async def test_the_loop_hears_of_a_pause_and_of_its_end(server: WorkflowEnvironment) -> None:
    async with looping(server, LoopPlan(result=success(), holds=True)) as life:
        loop = await life.loops(1)

        async def heard(*words: str) -> None:
            async def so() -> bool:
                return await told_by(loop, ScriptedLoop.heard) == list(words)

            await until(so)

        assert (await life.state()).clock.deadline is not None, "its time runs on"
        await life.says(Gate(status="paused"))
        await heard("pause")
        paused = await life.state()
        assert (paused.repair is not None, paused.clock.deadline) == (True, None)
        await life.says(Gate())
        await heard("pause", "resume")
        await loop.signal("finish")
        await life.becomes("verified")


async def test_none_begins_while_the_session_is_paused(server: WorkflowEnvironment) -> None:
    async with living(server, domain="refactor", fix_loop={"enabled": True}) as life:
        life.script.rounds = [FEEDBACK.model_copy(update={"holds": True})]
        life.script.loops = [LoopPlan(result=success())]
        await life.started()
        await life.claims()
        await life.rounds(1)
        await life.says(Gate(status="paused"))
        await life.client.get_workflow_handle(life.script.asked[0].workflow_id).signal("finish")
        await life.has("fix_loop_started")
        await life.passes(1000)
        assert (life.script.looped, (await life.state()).status) == ([], "claimed")
        await life.says(Gate())
        await life.becomes("verified")


async def test_a_subtask_that_it_has_not_heard_of_keeps_it_from_being_verified(server: WorkflowEnvironment) -> None:
    async with looping(server, LoopPlan(result=success(), holds=True)) as life:
        await life.session.signal("mean", args=["wo-1", Gate(open_children=("sub",))])
        await (await life.loops(1)).signal("finish")
        assert (await life.has("reopened")).payload["child"] == "sub"
        assert life.rows("approved") == []
        await life.says(Gate())


async def test_work_of_high_stakes_is_left_to_a_person(server: WorkflowEnvironment) -> None:
    plan = LoopPlan(result=FixLoopResult(ending="escalated", trigger="high_stakes", reason="security"))
    async with looping(server, plan, plan, domain="security") as life:
        assert (await life.becomes("needs_human")).trigger == "high_stakes"
        life.script.rounds = [FEEDBACK]
        await life.ask("return", Return(actor=ANN))
        await life.claims("wrote it otherwise")
        await life.loops(2)
        assert (await life.becomes("needs_human")).trigger == "high_stakes"
