"""A todo's timers, on a clock that the test moves: an hour of work, five minutes for an answer. What stops each."""

from __future__ import annotations

import pytest
from temporalio.testing import WorkflowEnvironment

from domain.requests import Block, Respond, Return, Unblock
from domain.todo import Gate
from tests.workflow.lives import ANN, WORKER, living, until
from tests.workflow.scripted import Plan
from workflows import options


async def test_the_time_of_a_todo_is_over_after_an_hour(server: WorkflowEnvironment) -> None:
    async with living(server) as life:
        await life.passes(7200)
        await life.started()
        assert 3000 < max(await life.timers()) <= 3600, "the whole hour, without what the start itself took"
        await life.passes(3000)
        assert (await life.state()).status == "in_progress", "it counts from the start"
        await life.passes(3600)
        todo = await life.becomes("needs_human", "escalated")
        assert todo.trigger == "timeout"
        (row,) = life.rows("escalated")
        assert (row.timestamp - life.rows("todo_started")[0].timestamp).total_seconds() >= 3600


async def test_the_time_stands_still_while_paused_blocked_and_waiting_for_a_human(
    server: WorkflowEnvironment,
) -> None:
    async with living(server) as life:
        await life.started()
        await life.passes(1000)
        await life.says(Gate(status="paused"))
        await life.passes(10_000)
        await life.says(Gate())
        await life.passes(1000)
        assert (await life.ask("block", Block(actor=WORKER, question="which one?"))).status == "blocked"
        await life.passes(10_000)
        answer = await life.ask("unblock", Unblock(actor=ANN, clarification="the first"))
        assert answer.status == "in_progress"
        await life.passes(1000)
        assert (await life.state()).status == "in_progress"
        await life.passes(700)
        await life.becomes("needs_human")
        await life.passes(10_000)
        assert (await life.ask("return", Return(actor=ANN, reason="go on"))).status == "in_progress"
        await life.passes(3000)
        assert (await life.state()).status == "in_progress", "what is given back has its whole time again"
        await life.passes(700)
        await life.becomes("needs_human")
        assert len(life.rows("escalated")) == 2


async def test_a_claim_whose_time_is_over_is_not_judged_any_more(
    server: WorkflowEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(options, "HEARD_SECONDS", 7200.0)
    async with living(server) as life:
        life.script.rounds = [Plan(holds=True)]
        await life.started()
        await life.passes(3000)
        await life.claims()
        await life.rounds(1)
        await life.session.signal("hush")
        await life.client.get_workflow_handle(life.script.asked[0].workflow_id).signal("finish")
        await life.told(asks=True)  # the round is over, so that its clock can be moved; its result is not applied yet
        assert (await life.state()).status == "claimed"
        await life.passes(700)
        assert (await life.becomes("needs_human")).trigger == "timeout"
        await life.says(Gate())
        assert (await life.has("round_ignored")).payload["outcome"] == "verified"
        assert (await life.state()).status == "needs_human"


async def test_nobody_answers_the_auditor_in_time(server: WorkflowEnvironment) -> None:
    async with living(server) as life:
        life.script.rounds = [Plan(asks="which test?", timeout=0.5)]
        await life.started()
        await life.claims()
        asked, expired = await life.has("follow_up_asked"), await life.has("follow_up_expired")
        assert 0.5 <= (expired.timestamp - asked.timestamp).total_seconds() < 150, "not the 300 of any other"
        assert (await life.becomes("verified")).question is None
        assert "answered None" in str(life.rows("approved")[0].payload["reason"])


async def test_the_worker_answers_the_auditor(server: WorkflowEnvironment) -> None:
    async with living(server) as life:
        life.script.rounds = [Plan(asks="which test?")]
        await life.started()
        refused = (await life.ask("respond", Respond(actor=WORKER, answer="what?"))).refused
        assert refused is not None
        await life.claims()
        asked = await life.has("follow_up_asked")

        async def is_open() -> bool:
            return (await life.state()).question is not None

        await until(is_open)
        question = (await life.state()).question
        assert question is not None
        assert question.deadline is not None
        assert 299 < (question.deadline - asked.timestamp).total_seconds() <= 300
        await life.told(asked=True)
        assert (await life.ask("respond", Respond(actor=WORKER, answer="the last"))).refused is None
        await life.becomes("verified")
        assert [row.action for row in life.rows()][-3:] == ["follow_up_asked", "follow_up_answered", "approved"]
        assert "answered 'the last'" in str(life.rows("approved")[0].payload["reason"])
        late = (await life.ask("respond", Respond(actor=WORKER, answer="once more"))).refused
        assert late is not None


async def test_the_sessions_time_is_over(server: WorkflowEnvironment) -> None:
    async with living(server) as life:
        await life.says(Gate(status="timed_out"))
        todo = await life.becomes("needs_human", "escalated")
        assert todo.trigger == "timeout"
        await life.told(status="needs_human", trigger="timeout")


async def test_the_sessions_time_is_over_while_a_round_runs(server: WorkflowEnvironment) -> None:
    async with living(server) as life:
        life.script.rounds = [Plan(holds=True, late=True)]
        await life.started()
        await life.claims()
        await life.rounds(1)
        await life.says(Gate(status="timed_out"))
        assert (await life.becomes("needs_human")).trigger == "timeout"
        assert (await life.has("round_ignored")).payload["outcome"] == "verified"
        assert (await life.state()).status == "needs_human"
