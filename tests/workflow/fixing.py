"""A fix loop on a Temporal server: the real workflow and the real rounds, with ports that do as they are told."""

from __future__ import annotations

import itertools

from pydantic import JsonValue
from temporalio.client import WorkflowHandle

from domain import fixing
from domain.base import sha256_hex
from domain.confidence import Confidence
from domain.decision import Decision, Reason, RoundOutcome
from domain.events import Actor, TrailRow
from domain.fix_messages import FixLoopInput, FixLoopResult
from domain.messages import Frozen, RoundInput, RoundResult, ScopeResult
from domain.order import Order
from domain.roles.results import PassResult
from tests.workflow.conftest import FAILED, PASSED, House, Said, order_of
from workflows.fix_loop import FixLoopWorkflow
from workflows.options import WORKFLOWS_QUEUE

HEAD = "a" * 64
FROZEN = Frozen(head=HEAD, base="2" * 64, head_files=2, head_bytes=20, base_files=2, dropped="d" * 64)
SCOPE = ScopeResult(tree="t" * 64, tree_bytes=20, report="e" * 64, diff="f" * 64)
WRONG = Decision(
    outcome=RoundOutcome.CHANGES_REQUESTED, reasons=(Reason(code="check_failed", text="tests: exit code 1"),)
)
FEEDBACK = RoundResult(
    decision=WRONG,
    report="9" * 64,
    retry_context="c" * 64,
    not_passed=("tests",),
    confidence=Confidence.FEEDBACK,
    frozen=FROZEN,
    scope=SCOPE,
)
_names = itertools.count(1)


def looped(**fields: JsonValue) -> Order:
    """An order with the fix loop and one check, of a domain whose work may be repaired."""
    given: dict[str, JsonValue] = {
        "domain": "refactor",
        "fix_loop": {"enabled": True},
        "verification": {"checks": [{"name": "tests", "command": "run tests"}]},
        **fields,
    }
    return order_of(f"wo-fix-{next(_names)}", **given)


def loop_for(order: Order, store: str = "", *, alone: bool = False, **fields: object) -> FixLoopInput:
    """The loop of the first round of a todo, or of one that stands `alone`."""
    request = RoundInput(
        session="local",
        todo=order.id,
        attempt=1,
        order=order,
        order_digest="0" * 64,
        host="here",
        store=store,
        actor=Actor(role="human", identity="ann"),
        todo_workflow="" if alone else f"todo/local/{order.id}",
    )
    return FixLoopInput(round=request, result=FEEDBACK, budget=fixing.budget_of(order)).model_copy(update=fields)


def loop_of(house: House, order: Order | None = None, *, alone: bool = False, **fields: object) -> FixLoopInput:
    """The same for the house's trail, of an order that nobody else has."""
    return loop_for(order or looped(), house.trail.store_id(), alone=alone, **fields)


def rounds(*passing: bool) -> list[Said]:
    """What the check says in as many rounds: what failed runs once more."""
    return [said for passes in passing for said in ([PASSED] if passes else [FAILED, FAILED])]


def repairs(house: House, *passes: PassResult | Exception) -> None:
    """What the fix builder's passes come to."""
    house.script.auditor.by_role["fix_builder"] = list(passes)


async def started(house: House, loop: FixLoopInput) -> WorkflowHandle[FixLoopWorkflow, FixLoopResult]:
    """The loop, under way."""
    return await house.client.start_workflow(FixLoopWorkflow.run, loop, id=loop.workflow_id, task_queue=WORKFLOWS_QUEUE)


async def ended(house: House, loop: FixLoopInput) -> FixLoopResult:
    """What it came to."""
    return await (await started(house, loop)).result()


def of_the_loop(house: House) -> list[TrailRow]:
    """The loop's own rows."""
    return [row for row in house.trail.rows() if row.workflow_id.startswith("fix/")]


def actions(house: House) -> list[str]:
    """What the loop's own rows are."""
    return [row.action for row in of_the_loop(house)]


def patch_of(house: House, to_head: str) -> str:
    """The blob of the whole repair, as the scripted ports name it."""
    return sha256_hex(f"{HEAD} to {to_head}".encode())
