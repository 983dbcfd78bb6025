"""A session and its todos, both real: what one of them does, the others hear of before anything is answered."""

from __future__ import annotations

from typing import Any

from temporalio.testing import WorkflowEnvironment

from domain.decision import RoundOutcome
from domain.requests import Answer, Create, MakeClaim, Pause, Reject, Request, Resume, Return, Start
from domain.todo import Todo
from tests.workflow.asking import answer_of, told_by
from tests.workflow.lives import Script, claim_of, until
from tests.workflow.scripted import Plan
from tests.workflow.sittings import ANN, BOT, Sitting, sitting, todo
from workflows.todo import TodoWorkflow


async def ask(s: Sitting, one: str, command: str, request: Request) -> Answer:
    return await answer_of(_todo(s, one), command, request, result_type=Answer)


def _todo(s: Sitting, one: str) -> Any:
    return s.client.get_workflow_handle_for(TodoWorkflow.run, f"todo/{s.id}/{one}")


async def becomes(s: Sitting, one: str, status: str) -> Todo:
    async def stands() -> bool:
        return (await state(s, one)).status == status

    await until(stands)
    return await state(s, one)


async def state(s: Sitting, one: str) -> Todo:
    return await told_by(_todo(s, one), TodoWorkflow.state)


async def verified(s: Sitting, one: str, said: str = "wrote it") -> None:
    if (await state(s, one)).status == "pending":
        assert (await ask(s, one, "start", Start(actor=BOT))).refused is None
    answer = await ask(s, one, "claim", MakeClaim(actor=BOT, claim=claim_of(f"{said} for {one}")))
    assert answer.refused is None, answer.refused
    await becomes(s, one, "verified")


async def refused(s: Sitting, one: str, command: str, request: Request) -> str:
    answer = await ask(s, one, command, request)
    assert answer.refused is not None
    return answer.refused.code


async def test_a_child_that_is_rejected_reopens_its_verified_parent(server: WorkflowEnvironment) -> None:
    async with sitting(server, todo("p"), todo("c", parent="p"), todo("d", "p"), outside=Script()) as s:
        assert (await ask(s, "p", "start", Start(actor=BOT))).status == "in_progress"
        claim = MakeClaim(actor=BOT, claim=claim_of("all done"))
        assert await refused(s, "p", "claim", claim) == "open_children"
        assert await refused(s, "d", "start", Start(actor=BOT)) == "dependencies_open"
        await verified(s, "c")
        await verified(s, "p")
        assert (await ask(s, "d", "start", Start(actor=BOT))).status == "in_progress"
        answer = await ask(s, "c", "reject", Reject(actor=ANN, feedback="not like that"))
        assert answer.status == "in_progress"
        parent = await becomes(s, "p", "in_progress")
        assert parent.gate.open_children == ("c",)
        reopened = [(row.todo_id, row.payload["child"]) for row in s.trail.rows() if row.action == "reopened"]
        assert reopened == [("p", "c")]
        await until(lambda: _flagged(s, "d"))
        assert await refused(s, "p", "claim", claim) == "open_children"
        await verified(s, "c", "wrote it again")
        await verified(s, "p", "put it together again")
        await verified(s, "d")
        await s.is_("completed")


async def _flagged(s: Sitting, one: str) -> bool:
    return [row.todo_id for row in s.trail.rows() if row.action == "flagged"] == [one]


async def test_a_new_subtask_reopens_what_was_verified(server: WorkflowEnvironment) -> None:
    async with sitting(server, todo("p"), todo("x"), outside=Script()) as s:
        await verified(s, "p")
        request = Create(actor=ANN, orders=s.plan(todo("c", parent="p")), ids=("c",))
        assert (await s.ask("create", request)).refused is None
        assert (await becomes(s, "p", "in_progress")).review_status == "not_requested"


async def test_an_escalation_pauses_everybody_until_it_is_resolved(server: WorkflowEnvironment) -> None:
    script = Script(rounds=[Plan(outcome=RoundOutcome.NEEDS_HUMAN, trigger="not_judged")])
    async with sitting(server, todo("a"), todo("b"), outside=script) as s:
        await ask(s, "a", "start", Start(actor=BOT))
        await ask(s, "a", "claim", MakeClaim(actor=BOT, claim=claim_of("wrote it")))
        await becomes(s, "a", "needs_human")
        await s.is_("paused")
        assert await refused(s, "b", "start", Start(actor=BOT)) == "session_paused"
        assert (await ask(s, "a", "return", Return(actor=ANN, reason="try again"))).status == "in_progress"
        assert (await ask(s, "b", "start", Start(actor=BOT))).status == "in_progress", "it goes on by itself"
        actions = [row.action for row in s.rows()]
        assert actions == ["session_created", "paused", "resumed"]


async def test_what_is_answered_to_a_pause_holds_for_every_worker(server: WorkflowEnvironment) -> None:
    async with sitting(server, *(todo(f"t{n}") for n in range(5)), outside=Script()) as s:
        assert (await s.ask("pause", Pause(actor=ANN))).status == "paused"
        for n in range(5):
            assert await refused(s, f"t{n}", "start", Start(actor=BOT)) == "session_paused"
        assert (await s.ask("resume", Resume(actor=ANN))).status == "running"
        for n in range(5):
            assert (await ask(s, f"t{n}", "start", Start(actor=BOT))).status == "in_progress"
