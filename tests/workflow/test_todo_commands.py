"""What is asked of a todo: once for each id, one after the other, refused with a code that the trail has."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from temporalio.client import WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment

from domain.errors import Cause, Unavailable, WorkspaceRefused
from domain.events import Actor
from domain.requests import AddEvidence, AddNote, Answer, Approve, Delete, Edit, Refusal, Reorder, Start
from domain.todo import Gate
from tests.workflow.lives import ANN, WORKER, Life, claim_of, living, until
from tests.workflow.scripted import Plan
from workflows import options
from workflows.attributes import ESCALATION, REVIEW_STATUS, TODO_STATUS


def code_of(answer: Answer) -> str:
    assert isinstance(answer.refused, Refusal)
    return answer.refused.code


async def test_two_claims_at_once(server: WorkflowEnvironment) -> None:
    async with living(server) as life:
        life.script.rounds = [Plan(holds=True)]
        await life.started()
        answers = await asyncio.gather(life.claims("wrote the parser"), life.claims("wrote the printer"))
        taken, declined = sorted(answers, key=lambda answer: answer.refused is not None)
        assert (taken.refused, taken.status, code_of(declined)) == (None, "claimed", "illegal_transition")
        assert (len(life.rows("todo_claimed")), len(life.script.frozen)) == (1, 1)


async def note(life: Life, number: int) -> Answer:
    return await life.ask("note", AddNote(actor=ANN, content=f"note {number}"), f"note-{number}")


async def test_more_updates_at_once_than_the_server_takes(server: WorkflowEnvironment) -> None:
    async with living(server) as life:
        await life.started()
        answers = await asyncio.gather(*(note(life, number) for number in range(25)))
        assert {answer.sequence for answer in answers} == {row.sequence for row in life.rows("noted")}
        assert {row.payload["content"] for row in life.rows("noted")} == {f"note {number}" for number in range(25)}


async def test_ids_are_known_in_the_next_run(server: WorkflowEnvironment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "UPDATES_A_RUN", 3)
    async with living(server) as life:
        await life.started()
        first = await life.ask("note", AddNote(actor=ANN, content="once"), "the-same")
        for number in range(4):
            await life.ask("note", AddNote(actor=ANN, content=f"more {number}"))

        async def goes_on_in_another_run() -> bool:
            described = await life.client.get_workflow_handle(life.todo.workflow_id).describe()
            return described.run_id != life.handle.first_execution_run_id

        await until(goes_on_in_another_run)  # once the server has passed on what the session is told
        assert await life.ask("note", AddNote(actor=ANN, content="once"), "the-same") == first
        assert [row.payload["content"] for row in life.rows("noted")].count("once") == 1
        assert [row.ordinal for row in life.rows()] == list(range(1, len(life.rows()) + 1))
        await life.claims()
        await life.becomes("verified")


async def test_no_run_ends_with_a_round_open(server: WorkflowEnvironment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "UPDATES_A_RUN", 2)
    async with living(server) as life:
        life.script.rounds = [Plan(holds=True)]
        await life.started()
        await life.claims()
        await life.rounds(1)
        await life.ask("note", AddNote(actor=ANN, content="one more"))
        run = (await life.client.get_workflow_handle(life.todo.workflow_id).describe()).run_id
        assert run == life.handle.first_execution_run_id
        await life.client.get_workflow_handle(life.script.asked[0].workflow_id).signal("finish")
        await life.becomes("verified")
        assert len(life.script.asked) == 1


@pytest.mark.parametrize(
    ("name", "request_", "code"),
    [
        ("claim", Start(actor=WORKER, session="another"), "other_session"),
        ("edit", Edit(actor=WORKER, expected_version=1, changes={}), "forbidden"),
        ("delete", Delete(actor=WORKER), "forbidden"),
        ("approve", Approve(actor=WORKER), "forbidden"),
        ("edit", Edit(actor=ANN, expected_version=7, changes={"content": "x"}), "stale_version"),
        ("reorder", Reorder(actor=ANN, expected_version=7, order_index=1), "stale_version"),
    ],
)
async def test_what_is_not_allowed_is_refused_and_recorded(
    server: WorkflowEnvironment, name: str, request_: Any, code: str
) -> None:
    async with living(server) as life:
        if name == "claim":
            name = "start"
        answers = [await life.ask(name, request_) for _ in range(3)]
        assert [code_of(answer) for answer in answers] == [code] * 3
        (row,) = life.rows("refused")
        assert (row.payload["command"], row.payload["code"], row.payload["count"]) == (name, code, 1)
        assert str(row.actor) == str(request_.actor)
        assert (await life.state()).status == "pending"


async def test_nobody_asks_as_the_system(server: WorkflowEnvironment) -> None:
    async with living(server) as life:
        with pytest.raises(WorkflowUpdateFailedError) as failed:
            await life.ask("approve", Approve(actor=Actor(role="harness")))
        assert isinstance(failed.value.cause, ApplicationError)
        assert failed.value.cause.type == "malformed"
        assert life.rows("refused") == []


async def test_a_tree_that_is_not_taken_is_the_workers_failure_and_a_host_that_is_gone_is_not(
    server: WorkflowEnvironment,
) -> None:
    async with living(server) as life:
        await life.started()
        life.script.freezes = [WorkspaceRefused("too many files", "ignore some")]
        assert code_of(await life.claims()) == "workspace_refused"
        life.script.freezes = [Unavailable(Cause.WORKSPACE_UNREADABLE, "no such folder", "mount it")]
        with pytest.raises(WorkflowUpdateFailedError) as failed:
            await life.claims()
        assert isinstance(failed.value.cause, ApplicationError)
        assert failed.value.cause.type == "unavailable"
        assert list(failed.value.cause.details) == ["workspace_unreadable", "no such folder", "mount it"]
        assert (await life.state()).status == "in_progress"
        assert (await life.claims()).refused is None


async def test_evidence_that_was_added_goes_with_the_claim(server: WorkflowEnvironment) -> None:
    async with living(server) as life:
        await life.started()
        (piece,) = claim_of("earlier").evidence
        added = await life.ask("add_evidence", AddEvidence(actor=WORKER, evidence=(piece,)))
        assert added.refused is None
        await life.claims()
        (claimed,) = life.rows("todo_claimed")
        assert added.evidence["tests"] in str(claimed.payload["evidence"])
        assert len(life.rows("evidence_added")) == 1
        await life.becomes("verified")
        (asked,) = life.script.asked
        assert added.evidence["tests"] in [piece.id for piece in asked.brought], "the auditor is shown it, too"


async def test_a_delete_while_the_work_is_frozen_is_not_kept_waiting(server: WorkflowEnvironment) -> None:
    async with living(server) as life:
        await life.started()
        life.script.freezing = asyncio.Event()
        claims = asyncio.create_task(life.claims())
        while not life.script.frozen:  # noqa: ASYNC110 - what it waits for is a call in another thread's loop
            await asyncio.sleep(0.02)
        assert (await life.ask("delete", Delete(actor=ANN))).status == "cancelled"
        life.script.freezing.set()
        assert code_of(await claims) == "illegal_transition"
        assert life.script.asked == []


async def test_the_sessions_word_is_asked_for_before_it_refuses(server: WorkflowEnvironment) -> None:
    async with living(server, gate=Gate(status="paused")) as life:
        assert (await life.started()).refused is None, "the session has gone on, which it had not heard"
        await life.says(Gate(status="paused"))
        assert code_of(await life.claims()) == "session_paused"
        assert life.script.frozen == []


async def test_a_human_is_answered_when_the_session_has_heard(server: WorkflowEnvironment) -> None:
    async with living(server) as life:
        assert (await life.ask("delete", Delete(actor=ANN, reason="not wanted"))).status == "cancelled"
        assert (await life.reports())[-1].status == "cancelled"
        described = await life.handle.describe()
        found = {pair.key.name: pair.value for pair in described.typed_search_attributes}
        assert (found[TODO_STATUS], found[REVIEW_STATUS]) == ("cancelled", "not_requested")
        assert ESCALATION not in found


async def test_it_says_once_more_where_it_stands_when_it_is_asked(server: WorkflowEnvironment) -> None:
    async with living(server) as life:
        await life.started()
        await life.told(status="in_progress")  # or the answer to this, another word, may come after the one that asks
        await life.says(Gate(asks=True))
        again = await life.told(word=(await life.state()).gate.number)
        assert (again.status, again.asks) == ("in_progress", False)


async def test_a_session_that_is_gone_keeps_nobody_waiting_for_ever(
    server: WorkflowEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(options, "HEARD_SECONDS", 0.3)
    async with living(server) as life:
        await life.session.terminate()
        assert (await life.ask("delete", Delete(actor=ANN))).status == "cancelled"


@pytest.mark.parametrize(
    ("policy", "ends", "row"),
    [
        ({"direct_approval_allowed": True}, "verified", "human_override"),
        ({"direct_approval_allowed": True, "signatures": "required"}, "claimed", "refused"),
    ],
)
async def test_an_override_by_a_plain_signal(
    server: WorkflowEnvironment, policy: dict[str, object], ends: str, row: str
) -> None:
    async with living(server, override_policy=policy) as life:
        life.script.rounds = [Plan(holds=True)]
        await life.started()
        await life.claims()
        await life.rounds(1)
        said = {"kind": "direct", "by": "ann", "reason": "looked at it", "acknowledged": []}
        await life.client.get_workflow_handle(life.todo.workflow_id).signal("override", said)
        written = await life.has(row)
        assert str(written.actor) == "unattributed:ann"
        await life.becomes(ends)  # a row is stored before the todo is what it says
        await life.says(Gate(status="stopped"))


async def test_cancelled_through_temporal_it_is_deleted_and_its_round_with_it(server: WorkflowEnvironment) -> None:
    async with living(server) as life:
        life.script.rounds = [Plan(holds=True)]
        await life.started()
        await life.claims()
        await life.rounds(1)
        await life.handle.cancel()
        await life.becomes("cancelled")
        await life.has("round_ignored")
        (row,) = life.rows("deleted")
        assert (str(row.actor), row.payload["reason"]) == ("unattributed", "cancelled through Temporal")
        assert (await life.told(status="cancelled")).status == "cancelled"
        assert code_of(await life.claims()) == "illegal_transition"
