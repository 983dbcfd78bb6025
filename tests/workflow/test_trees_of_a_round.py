"""What a round asks of its snapshots, and what of their answers is in the trail and in the next attempt's context."""

from __future__ import annotations

from typing import Any

from domain.feedback import RetryContext
from domain.messages import RoundInput, RoundResult
from domain.tree import BUILT_IN, Dropped
from tests.workflow.conftest import FAILED, House, order_of
from workflows.options import WORKFLOWS_QUEUE
from workflows.verification import VerificationWorkflow

DROPPED = (
    Dropped(path="json.py", reason="a new module that hides another"),
    Dropped(path="node_modules", reason=f"{BUILT_IN}: node_modules"),
)
CHECKED: Any = {
    "tests": ["tests/own"],
    "checks": [{"name": "tests", "command": "run tests", "control": {"patch": "break.patch"}}],
}


async def finish(house: House, request: RoundInput) -> RoundResult:
    return await house.client.execute_workflow(
        VerificationWorkflow.run, request, id=request.workflow_id, task_queue=WORKFLOWS_QUEUE
    )


async def test_the_files_beside_the_order_are_frozen_and_its_tests_laid_over(house: House) -> None:
    request = house.round(order_of("wo-own", verification=CHECKED))
    await finish(house, request.model_copy(update={"order_file": "/desk/orders/order.yaml"}))
    (frozen,) = house.script.frozen
    assert (frozen.order_folder, frozen.order_files) == ("/desk/orders", ("tests/own", "break.patch"))
    (assessed,) = house.script.assessed
    assert assessed.tests == ("tests/own",)


async def test_commits_are_frozen_for_the_auditor_to_look_at_or_a_criterion(house: House) -> None:
    about_commits = {"type": "git_commit_exists", "params": {"message": "done"}}
    orders: list[dict[str, Any]] = [
        {},
        {"verification": {"objective_only": True}},
        {"verification": {"objective_only": True}, "acceptance_criteria": [about_commits]},
    ]
    for number, fields in enumerate(orders):
        await finish(house, house.round(order_of(f"wo-commits-{number}", **fields)))
    assert [frozen.commits for frozen in house.script.frozen] == [True, False, True]


async def test_what_was_dropped_is_in_the_trail_and_told_to_the_next_attempt(house: House) -> None:
    house.script.dropped = DROPPED
    house.script.items = {"tests": [FAILED]}
    await finish(house, house.round(order_of("wo-dropped", verification=CHECKED)))
    (row,) = [row for row in house.trail.rows() if row.action == "scope_assessed"]
    assert row.payload["dropped"] == 2
    assert row.payload["dropped_paths"] == [DROPPED[0].model_dump()]
    (told,) = [row for row in house.trail.rows() if row.action == "retry_context_assembled"]
    context = RetryContext.model_validate_json(house.store.get(str(told.payload["retry_context"])))
    assert context.dropped_paths == DROPPED[:1]
    assert "json.py (a new module that hides another)" in context.specific_failures[0]
