"""Rounds that stand alone: each begins its own fix loop, and both say where the todo stands."""

from __future__ import annotations

import asyncio

import pytest
from pydantic import JsonValue
from temporalio.service import RPCError, RPCStatusCode

from domain.confidence import Confidence
from domain.decision import RoundOutcome
from domain.errors import Cause, Unavailable, WorkspaceRefused
from domain.fix_messages import FixLoopResult, SpentResult
from domain.messages import RoundInput, RoundResult
from domain.order import Order
from domain.read_model import TodoView
from tests.workflow.conftest import FAILED, PASSED, House
from tests.workflow.fixing import actions, loop_of, looped, of_the_loop, repairs, rounds, started
from tests.workflow.scripted_role import APPROVED, LOOKED, repaired, unrepaired
from workflows.options import WORKFLOWS_QUEUE
from workflows.verification import VerificationWorkflow


async def decided(house: House, request: RoundInput) -> RoundResult:
    return await house.client.execute_workflow(
        VerificationWorkflow.run, request, id=request.workflow_id, task_queue=WORKFLOWS_QUEUE
    )


async def fixed(house: House, order: Order) -> tuple[RoundResult, FixLoopResult]:
    """The round, and the loop that it began, at their ends."""
    result = await decided(house, house.round(order))
    assert result.fix
    return result, await house.client.get_workflow_handle(result.fix, result_type=FixLoopResult).result()


def view(house: House, order: Order) -> TodoView:
    (found,) = house.trail.state(session="local", todo=order.id).todos
    return found


async def there_is(house: House, workflow_id: str) -> bool:
    try:
        await house.client.get_workflow_handle(workflow_id).describe()
    except RPCError as error:
        assert error.status is RPCStatusCode.NOT_FOUND
        return False
    return True


async def test_the_round_names_the_loop_that_goes_on_with_its_work(house: House) -> None:
    order = looped()
    house.script.items = {"tests": rounds(False, False, True)}
    house.script.costs = {1: SpentResult(verifying=30)}
    repairs(house, repaired("1"), repaired("2"))
    first, result = await fixed(house, order)
    assert first.fix == f"fix/local/{order.id}/1"
    assert (first.confidence, first.decision.outcome) == (Confidence.FEEDBACK, RoundOutcome.CHANGES_REQUESTED)
    assert first.frozen is not None
    assert first.scope is not None
    asked = house.script.auditor.others_asked
    assert (asked[0].frozen, asked[0].feedback) == (first.frozen, first.retry_context)
    assert (result.ending, result.loops, result.attempt, result.placed) == ("success", 2, 3, "applied")
    assert len(house.script.frozen) == 1, "a repair is not frozen again"
    began = of_the_loop(house)[0]
    assert began.payload == {
        "attempt": 1, "domain": "refactor", "confidence": "FEEDBACK", "loops": 0, "max_loops": 3,
        "spent_usd": 0.0, "max_cost_usd": 5.0,
    }  # fmt: skip
    assert actions(house)[0] == "fix_loop_started"
    assert [row.before or row.after for row in of_the_loop(house) if row.before or row.after] == []
    assert (view(house, order).status, view(house, order).attempt) == ("verified", 3)
    assert not await there_is(house, f"fix/local/{order.id}/2"), "a loop's round begins none"


async def test_the_workspace_is_looked_at_as_when_it_was_frozen(house: House) -> None:
    order = looped(snapshot={"include": ["src/**"]}, environment={"setup": ["x"], "inputs": ["lock"], "secrets": ["T"]})
    house.script.items = {"tests": rounds(False, True)}
    repairs(house, repaired())
    await fixed(house, order)
    assert [applied.freeze for applied in house.script.applied] == house.script.frozen
    assert house.script.frozen[0].secrets == ("T",)


@pytest.mark.parametrize(
    ("fields", "trigger", "status"),
    [
        ({"domain": "security"}, "high_stakes", "needs_human"),
        ({"fix_loop": {"enabled": True, "max_loops": 1}}, "revision_cap_exceeded", "needs_human"),
    ],
)
async def test_an_escalation_is_where_the_todo_stands(
    house: House, fields: dict[str, JsonValue], trigger: str, status: str
) -> None:
    order = looped(**fields)
    house.script.items = {"tests": [FAILED]}
    repairs(house, repaired())
    _, result = await fixed(house, order)
    assert (result.ending, result.trigger) == ("escalated", trigger)
    last = of_the_loop(house)[-1]
    assert last.before == {"status": "in_progress", "review_status": "changes_requested"}
    assert last.after == {"status": status, "review_status": "escalated"}
    found = view(house, order)
    assert (found.status, found.review_status, found.trigger, found.attempt) == (
        status, "escalated", trigger, result.attempt,
    )  # fmt: skip


async def test_a_hard_fail_of_a_repair_leaves_the_todo_failed(house: House) -> None:
    order = looped()
    house.script.items = {"tests": rounds(False, True)}
    assert APPROVED.audit is not None
    hard = APPROVED.audit.model_copy(update={"outcome": "failed", "feedback": "it lies"})
    house.script.auditor.passes = [LOOKED, APPROVED, LOOKED, APPROVED.model_copy(update={"audit": hard})]
    repairs(house, repaired())
    _, result = await fixed(house, order)
    assert (result.trigger, view(house, order).status) == ("hard_fail", "failed")


async def test_a_pass_with_notes_is_not_enough_where_the_stakes_are_high(house: House) -> None:
    checks: JsonValue = [{"name": "tests", "command": "x"}, {"name": "lint", "command": "y", "required": False}]
    order = looped(domain="legal", verification={"checks": checks})
    house.script.items = {"lint": [FAILED]}
    first, result = await fixed(house, order)
    assert (first.confidence, first.decision.outcome) == (Confidence.PARTIAL, RoundOutcome.VERIFIED)
    assert (result.trigger, result.loops) == ("high_stakes", 0)
    (remark,) = first.remarks
    assert remark.startswith("lint (advisory): "), "what did not pass is named"
    assert remark in result.reason
    assert of_the_loop(house)[-1].before == {"status": "verified", "review_status": "approved"}
    assert (view(house, order).status, view(house, order).trigger) == ("needs_human", "high_stakes")


async def test_work_that_was_refused_is_nothing_to_repair(house: House) -> None:
    order = looped()
    house.script.freeze = [WorkspaceRefused("200,000 files, at most 100,000", "ignore what is no source")]
    first, result = await fixed(house, order)
    assert (first.frozen, first.scope) == (None, None)
    assert (result.trigger, house.script.auditor.told) == ("could_not_apply", [])


async def test_the_next_number_that_is_free_is_taken(house: House) -> None:
    order = looped()
    house.script.items = {"tests": rounds(True, False, True)}
    repairs(house, repaired())
    other = house.round(order, attempt=2)
    await decided(house, other)
    _, result = await fixed(house, order)
    assert (result.ending, result.attempt) == ("success", 3)
    assert [iteration.attempt for iteration in result.iterations] == [3]


async def test_a_loop_goes_on_when_its_round_has_long_ended(house: House) -> None:
    order = looped()
    house.script.items = {"tests": rounds(False, True)}
    house.script.auditor.by_role["fix_builder"] = [repaired()]
    result = await decided(house, house.round(order))
    loop = house.client.get_workflow_handle(result.fix, result_type=FixLoopResult)
    assert (await loop.result()).ending == "success"
    assert (await loop.describe()).parent_id == f"round/local/{order.id}/1"


@pytest.mark.parametrize("why_not", ["verified", "off", "of a todo", "inconclusive", "of a loop"])
async def test_no_loop_where_there_is_nothing_for_one(house: House, why_not: str) -> None:
    order = looped(fix_loop={"enabled": why_not != "off"})
    house.script.items = {"tests": [PASSED if why_not == "verified" else FAILED]}
    if why_not == "inconclusive":
        house.script.prepare = [Unavailable(Cause.IMAGE_MISSING, "no image", "build it")] * 9
    request = house.round(order)
    if why_not == "of a todo":
        request = request.model_copy(update={"todo_workflow": f"todo/local/{order.id}"})
    if why_not == "of a loop":
        request = request.model_copy(update={"loop": 1})
    result = await decided(house, request)
    assert result.fix == ""
    assert not await there_is(house, f"fix/local/{order.id}/1")
    assert (result.confidence is None, result.frozen is None, result.scope is None) == ((why_not == "off",) * 3)


async def test_cancelled_alone_the_todo_stands_where_its_last_round_left_it(house: House) -> None:
    house.script.auditor.held = asyncio.Event()
    repairs(house, unrepaired("x"))
    handle = await started(house, loop_of(house, alone=True))
    await house.script.auditor.began.wait()
    await handle.cancel()
    with pytest.raises(Exception, match="Workflow execution failed"):
        await handle.result()
    assert actions(house)[0] == "fix_loop_started"
    assert (of_the_loop(house)[-1].payload["ending"], of_the_loop(house)[-1].after) == ("aborted", {})
