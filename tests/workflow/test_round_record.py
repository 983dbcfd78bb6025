"""What a round leaves in the trail is enough to say where it stands: the rows alone give what the workflow says."""

from __future__ import annotations

from typing import Any

import pytest
from temporalio.client import WorkflowFailureError, WorkflowHandle

from domain.errors import Cause, Unavailable, WorkspaceRefused
from domain.feedback import RetryContext
from domain.messages import RoundRecord, RoundResult
from domain.order import Order
from domain.read_model import RoundView, TodoView, fold
from domain.scope import Violation
from tests.workflow.asking import told_by
from tests.workflow.conftest import FAILED, House, order_of
from workflows.options import WORKFLOWS_QUEUE
from workflows.verification import VerificationWorkflow

CHECKED: Any = {"checks": [{"name": "tests", "command": "run tests"}]}


async def start(house: House, order: Order) -> WorkflowHandle[VerificationWorkflow, RoundResult]:
    request = house.round(order)
    return await house.client.start_workflow(
        VerificationWorkflow.run, request, id=request.workflow_id, task_queue=WORKFLOWS_QUEUE
    )


async def same_by_both(house: House, handle: WorkflowHandle[VerificationWorkflow, RoundResult]) -> RoundView:
    """The round by the workflow's own memory, held against the one that its rows give."""
    by_rows = fold(house.trail.rows())
    (told,) = by_rows.rounds
    assert await told_by(handle, VerificationWorkflow.state) == told
    assert house.trail.state() == by_rows
    return told


def todo_of(house: House) -> TodoView:
    (todo,) = fold(house.trail.rows()).todos
    return todo


@pytest.mark.parametrize(
    ("script", "outcome", "status", "review"),
    [
        ({}, "verified", "verified", "approved"),
        ({"items": {"tests": [FAILED]}}, "changes_requested", "in_progress", "changes_requested"),
        ({"changed_inputs": ("lock",)}, "needs_human", "needs_human", "escalated"),
        (
            {"prepare": [Unavailable(Cause.IMAGE_MISSING, "no image", "build it")]},
            "inconclusive",
            "claimed",
            "not_requested",
        ),
        (
            {"freeze": [WorkspaceRefused("too many files", "ignore some")]},
            "changes_requested",
            "in_progress",
            "changes_requested",
        ),
        (
            {"violations": (Violation(path=".github/x", kind="denied"),)},
            "changes_requested",
            "in_progress",
            "changes_requested",
        ),
    ],
)
async def test_rows_and_workflow_agree(
    house: House, script: dict[str, Any], outcome: str, status: str, review: str
) -> None:
    for name, value in script.items():
        setattr(house.script, name, value)
    environment: Any = {"setup": ["install"], "inputs": ["lock"]}
    handle = await start(house, order_of("wo-a", environment=environment, verification=CHECKED))
    result = await handle.result()
    told = await same_by_both(house, handle)
    assert (told.outcome, told.verdict, told.report) == (outcome, result.decision.verdict, result.report)
    todo = todo_of(house)
    assert (todo.status, todo.review_status, todo.title) == (status, review, "some work")
    rows = list(house.trail.rows())
    assert rows[-1].action == "audit_completed", "the verdict closes a round"
    assert rows[0].after == {**rows[-1].before, "version": 1}, "a claim is what is decided on"


async def test_while_it_runs_and_when_it_is_cancelled_they_agree(house: House) -> None:
    house.script.seconds = {"tests": 300.0}
    handle = await start(house, order_of("wo-cancel", verification=CHECKED))
    async with house.script.began:
        await house.script.began.wait_for(lambda: bool(house.script.ran))
    running = await same_by_both(house, handle)
    assert (running.status, running.ended_at, running.tree != "") == ("running", None, True)
    await handle.cancel()
    with pytest.raises(WorkflowFailureError):
        await handle.result()
    assert (await same_by_both(house, handle)).status == "cancelled"
    assert todo_of(house).review_status == "not_requested"


async def test_the_record_is_stored_whole(house: House) -> None:
    order = order_of("wo-record", verification=CHECKED)
    handle = await start(house, order)
    result = await handle.result()
    (told,) = fold(house.trail.rows()).rounds
    record = RoundRecord.model_validate_json(house.store.get(told.record))
    assert (record.input.order, record.decision) == (order, result.decision)
    assert [each.id for each in record.results] == ["tests"]


async def test_what_the_next_attempt_is_told_is_named_before_the_verdict(house: House) -> None:
    house.script.items = {"tests": [FAILED]}
    handle = await start(house, order_of("wo-retry", verification=CHECKED))
    await handle.result()
    *_, told, decided = house.trail.rows()
    assert (told.action, decided.action) == ("retry_context_assembled", "audit_completed")
    retry = RetryContext.model_validate_json(house.store.get(str(told.payload["retry_context"])))
    assert (retry.attempt_number, len(retry.specific_failures)) == (2, told.payload["failures"])
    assert (told.payload["attempt_number"], told.payload["max_attempts"]) == (2, retry.max_attempts)


async def test_a_violation_of_the_scope_is_an_event_of_its_own(house: House) -> None:
    house.script.violations = (Violation(path=".github/x", kind="denied"),)
    handle = await start(house, order_of("wo-scope", verification=CHECKED))
    await handle.result()
    (row,) = (row for row in house.trail.rows() if row.action == "scope_violation_detected")
    assert (row.payload["paths"], row.payload["violations_total"]) == ([".github/x"], 1)
