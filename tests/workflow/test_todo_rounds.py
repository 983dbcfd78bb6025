"""A todo and its rounds: each claim is judged without anybody asking, and never more often than the caps allow."""

from __future__ import annotations

import pytest
from temporalio.testing import WorkflowEnvironment

from domain.acts import rounds
from domain.decision import RoundOutcome
from domain.requests import Edit, Reject
from domain.todo import Gate
from tests.workflow.lives import ANN, living
from tests.workflow.scripted import Plan

CHANGES = Plan(outcome=RoundOutcome.CHANGES_REQUESTED, passed=False, not_passed=("tests",))
UNKNOWN = Plan(outcome=RoundOutcome.INCONCLUSIVE, passed=False)


async def test_a_claim_is_verified_without_anybody_asking(server: WorkflowEnvironment) -> None:
    async with living(server) as life:
        assert (await life.started()).status == "in_progress"
        answer = await life.claims()
        assert (answer.status, answer.review_status, answer.attempt) == ("claimed", "auditing", 1)
        assert (answer.snapshot, list(answer.evidence)) == ("a" * 64, ["tests"])
        todo = await life.becomes("verified", "approved")
        assert (todo.audits, todo.round) == (1, 0)
        rows = life.rows()
        actions = ["todo_created", "todo_started", "todo_claimed", "audit_started", "approved"]
        assert [row.action for row in rows] == actions
        assert [row.caused_by for row in rows] == ["", "", "", rows[2].event_id, ""]
        assert answer.sequence == rows[3].sequence
        assert life.script.frozen[0].frozen_base == "e" * 64, "the base is the one that was frozen at the start"
        assert life.script.frozen[0].commits, "the auditor may look at them"
        (admitted,) = life.script.admitted
        assert (admitted.head, admitted.base, admitted.attempt) == ("a" * 64, "b" * 64, 1)
        (asked,) = life.script.asked
        assert (asked.todo_workflow, asked.workflow_id) == (todo.workflow_id, f"round/{todo.session}/wo-1/1")
        assert asked.claim is not None
        assert asked.frozen is not None
        described = await life.client.get_workflow_handle(asked.workflow_id).describe()
        turn = described.raw_description.workflow_execution_info.priority
        assert (turn.priority_key, turn.fairness_key, turn.fairness_weight) == (2, todo.session, 10.0), "its todo's"


@pytest.mark.parametrize(
    ("safeguards", "trigger", "audits", "revisions", "ends"),
    [
        ({}, "audit_cap_exceeded", 3, 2, "needs_human"),
        ({"revisions": 1}, "revision_cap_exceeded", 2, 1, "needs_human"),
        ({"audit_attempts": 1, "on_exhausted": "fail"}, "audit_cap_exceeded", 1, 0, "failed"),
    ],
)
async def test_the_caps_count(
    server: WorkflowEnvironment, safeguards: dict[str, object], trigger: str, audits: int, revisions: int, ends: str
) -> None:
    async with living(server, safeguards=safeguards) as life:
        life.script.rounds = [CHANGES] * 5
        await life.started()
        for attempt in range(1, audits + 1):
            assert (await life.claims(f"wrote part {attempt}")).refused is None
            await life.becomes("in_progress" if attempt < audits else ends)
        counted = [len(life.rows(action)) for action in ("audit_started", "changes_requested")]
        assert counted == [audits, revisions]
        todo = await life.state()
        assert (todo.trigger, todo.audits, todo.revisions) == (trigger, audits, revisions)
        refused = (await life.claims("wrote more")).refused
        assert refused is not None
        assert refused.code == "illegal_transition"


async def test_what_could_not_run_is_tried_again_and_then_escalated(server: WorkflowEnvironment) -> None:
    async with living(server) as life:
        life.script.rounds = [UNKNOWN] * 4
        await life.started()
        await life.claims()
        for tried, seconds in enumerate((15, 30, 60), 1):
            await life.rounds(tried)
            await life.waits()
            await life.passes(seconds)
        todo = await life.becomes("needs_human", "escalated")
        assert (todo.trigger, todo.attempt, todo.audits) == ("checks_could_not_run", 4, 0)
        assert [asked.inconclusive for asked in life.script.asked] == [0, 1, 2, 3]


async def test_a_paused_session_keeps_another_try_waiting(
    server: WorkflowEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds, "FIRST_RETRY", 300.0)  # long enough for the pause to come before it
    async with living(server) as life:
        life.script.rounds = [UNKNOWN]
        await life.started()
        await life.claims()
        await life.waits()
        await life.says(Gate(status="paused"))
        await life.passes(1000)
        assert len(life.rows("audit_started")) == len(life.script.asked) == 1
        await life.says(Gate())
        await life.becomes("verified")
        assert len(life.script.asked) == 2


async def test_the_same_claim_again_is_refused_and_then_escalated(server: WorkflowEnvironment) -> None:
    async with living(server) as life:
        life.script.rounds = [CHANGES]
        await life.started()
        await life.claims()
        await life.becomes("in_progress", "changes_requested")
        first, second = await life.claims(), await life.claims()
        assert [answer.refused and answer.refused.code for answer in (first, second)] == ["no_new_evidence"] * 2
        assert (first.status, second.status) == ("in_progress", "needs_human")
        assert (await life.state()).trigger == "no_progress"
        assert len(life.script.asked) == 1


async def test_a_round_that_breaks_escalates(server: WorkflowEnvironment) -> None:
    async with living(server) as life:
        life.script.rounds = [Plan(breaks=True)]
        await life.started()
        await life.claims()
        assert (await life.becomes("needs_human")).trigger == "system_error"
        assert "it broke" in str(life.rows("escalated")[0].payload["reason"])


async def test_a_round_that_somebody_ended_escalates(server: WorkflowEnvironment) -> None:
    async with living(server) as life:
        life.script.rounds = [Plan(holds=True)]
        await life.started()
        await life.claims()
        await life.rounds(1)
        await life.client.get_workflow_handle(life.script.asked[0].workflow_id).cancel()
        assert (await life.becomes("needs_human")).trigger == "system_error"


@pytest.mark.parametrize(("late", "outcome"), [(False, "broken"), (True, "verified")])
async def test_a_human_act_cancels_the_round_and_its_result_is_ignored(
    server: WorkflowEnvironment, late: bool, outcome: str
) -> None:
    async with living(server) as life:
        life.script.rounds = [Plan(holds=True, late=late)]
        await life.started()
        await life.claims()
        await life.rounds(1)
        answer = await life.ask("reject", Reject(actor=ANN, feedback="not like this"))
        assert (answer.status, answer.review_status) == ("in_progress", "changes_requested")
        ignored = await life.has("round_ignored")
        assert ignored.payload["outcome"] == outcome
        todo = await life.state()
        assert (todo.status, todo.audits, todo.revisions) == ("in_progress", 0, 1)


async def test_an_edit_cancels_the_round_and_begins_another(server: WorkflowEnvironment) -> None:
    async with living(server) as life:
        life.script.rounds = [Plan(holds=True)]
        await life.started()
        await life.claims()
        await life.rounds(1)
        answer = await life.ask("edit", Edit(actor=ANN, expected_version=1, changes={"content": "other work"}))
        assert (answer.refused, answer.version, answer.attempt) == (None, 2, 2)
        await life.becomes("verified")
        first, second = life.script.asked
        assert (first.attempt, second.attempt, second.order.content) == (1, 2, "other work")
        assert second.order_digest == second.order.digest != first.order_digest
        assert second.claim == first.claim
        actions = [row.action for row in life.rows()][4:]
        assert [row.attempt for row in life.rows("round_ignored", "approved")] == [1, 2]
        assert sorted(actions) == ["approved", "audit_started", "edited", "round_ignored"]


async def test_a_subtask_that_it_has_not_heard_of_keeps_it_from_being_verified(server: WorkflowEnvironment) -> None:
    async with living(server) as life:
        life.script.rounds = [Plan(holds=True)]
        await life.started()
        await life.claims()
        await life.rounds(1)
        await life.session.signal("mean", args=["wo-1", Gate(open_children=("sub",))])
        running = life.client.get_workflow_handle(life.script.asked[0].workflow_id)
        await running.signal("finish")
        reopened = await life.has("reopened")
        assert reopened.payload["child"] == "sub"
        assert life.rows("approved") == []
        await life.says(Gate())


async def test_an_open_subtask_reopens_what_was_verified(server: WorkflowEnvironment) -> None:
    async with living(server) as life:
        await life.started()
        await life.claims()
        await life.becomes("verified")
        await life.says(Gate(open_children=("sub",)))
        assert (await life.becomes("in_progress", "not_requested")).round == 0
        refused = (await life.claims("again")).refused
        assert refused is not None
        assert refused.code == "open_children"
        await life.told(status="in_progress")


async def test_a_stop_cancels_the_round_and_the_todo_keeps_its_status(server: WorkflowEnvironment) -> None:
    async with living(server) as life:
        life.script.rounds = [Plan(holds=True)]
        await life.started()
        await life.claims()
        await life.rounds(1)
        await life.says(Gate(status="stopped"))
        await life.has("round_ignored")
        assert (await life.state()).status == "claimed"


async def test_no_round_begins_for_what_is_edited_while_the_session_is_paused(server: WorkflowEnvironment) -> None:
    async with living(server) as life:
        life.script.rounds = [Plan(holds=True)]
        await life.started()
        await life.claims()
        await life.rounds(1)
        await life.says(Gate(status="paused"))
        await life.ask("edit", Edit(actor=ANN, expected_version=1, changes={"content": "other work"}))
        await life.has("round_ignored")
        assert ((await life.state()).status, len(life.script.asked)) == ("claimed", 1)
        await life.says(Gate())
        await life.becomes("verified")
        assert len(life.script.asked) == 2
