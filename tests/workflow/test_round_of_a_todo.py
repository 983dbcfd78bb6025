"""A round that belongs to a todo's life: it takes what was frozen and counted for it, and leaves the standing alone."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from domain.decision import RoundOutcome
from domain.errors import Cause, Unavailable
from domain.events import SYSTEM
from domain.messages import Frozen, RoundInput, RoundResult
from domain.order import Order
from domain.report import Report
from tests.workflow.conftest import FAILED, House, order_of
from workflows.options import WORKFLOWS_QUEUE
from workflows.verification import VerificationWorkflow

FROZEN = Frozen(head="1" * 64, base="2" * 64, head_files=1, head_bytes=1, base_files=1, dropped="d" * 64)
PASSES: JsonValue = {"checks": [{"name": "tests", "command": "run tests", "timeout": 10}]}


def round_of(house: House, order: Order, **fields: object) -> RoundInput:
    """The first round of the todo `order.id`."""
    given = {"todo_workflow": f"todo/local/{order.id}", "frozen": FROZEN, "actor": SYSTEM, **fields}
    return house.round(order).model_copy(update=given)


async def decide(house: House, request: RoundInput) -> RoundResult:
    return await house.client.execute_workflow(
        VerificationWorkflow.run, request, id=request.workflow_id, task_queue=WORKFLOWS_QUEUE
    )


async def test_it_judges_the_trees_of_the_claim_and_freezes_none(house: House) -> None:
    result = await decide(house, round_of(house, order_of("wo-frozen", verification=PASSES)))
    assert result.decision.outcome is RoundOutcome.VERIFIED
    assert (result.passed, result.not_passed, result.retry_context) == (True, (), "")
    assert house.script.frozen == []
    assert house.script.assessed[0].frozen == FROZEN


async def test_where_the_todo_stands_is_the_todos_to_say(house: House) -> None:
    await decide(house, round_of(house, order_of("wo-standing", verification=PASSES)))
    assert "audit_completed" in house.actions()
    assert [row.action for row in house.trail.rows() if row.before or row.after] == []
    (view,) = house.trail.state(session="local", todo="wo-standing").todos
    assert (view.status, view.review_status, view.outcome) == ("pending", "not_requested", "verified")


async def test_it_says_what_did_not_pass_and_names_what_the_next_attempt_is_told(house: House) -> None:
    house.script.items = {"tests": [FAILED]}
    result = await decide(house, round_of(house, order_of("wo-not", verification=PASSES)))
    assert (result.passed, result.not_passed) == (False, ("tests",))
    assert house.store.get(result.retry_context)


async def test_a_criterion_of_an_agents_is_no_gate(house: House) -> None:
    criteria: JsonValue = [{"id": "own", "type": "command_exit_zero", "params": {"command": "true"}}]
    order = order_of("wo-authored", acceptance_criteria=criteria)
    result = await decide(house, round_of(house, order, authored=frozenset({"own"})))
    assert (result.decision.outcome, result.decision.trigger) == (RoundOutcome.NEEDS_HUMAN, "nothing_to_check")


@pytest.mark.parametrize(("inconclusive", "outcome"), [(2, RoundOutcome.INCONCLUSIVE), (3, RoundOutcome.NEEDS_HUMAN)])
async def test_rounds_of_the_claim_that_learned_nothing_count(
    house: House, inconclusive: int, outcome: RoundOutcome
) -> None:
    house.script.prepare = [Unavailable(Cause.IMAGE_MISSING, "no image", "build it")] * 4
    order = order_of(f"wo-unknown-{inconclusive}", verification=PASSES)
    result = await decide(house, round_of(house, order, inconclusive=inconclusive))
    assert result.decision.outcome is outcome


async def test_limits_are_widened_and_no_longer_than_a_week(house: House) -> None:
    checks: JsonValue = [
        {"name": name, "command": f"run {name}", "timeout": limit} for name, limit in (("a", 10), ("b", 600_000))
    ]
    order = order_of("wo-wide", verification={"checks": checks})
    await decide(house, round_of(house, order, widen=1.5))
    asked = {row.payload["check"] for row in house.trail.rows() if row.action == "check_started"}
    assert asked == {"a", "b"}
    assert sorted(house.script.limits.values()) == [15.0, 604_800.0]


async def test_what_a_todos_life_applies_is_no_notice(house: House) -> None:
    order = order_of("wo-heeded", verification=PASSES, safeguards={"revisions": 1})
    result = await decide(house, round_of(house, order))
    notices = Report.model_validate_json(house.store.get(result.report)).notices
    assert [notice for notice in notices if "a todo's whole life" in notice] == []
