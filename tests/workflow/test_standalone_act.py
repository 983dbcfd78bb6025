"""An act of a person on a standalone round: stored once, judged on what there is, answered whatever comes between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from temporalio.client import WorkflowFailureError, WorkflowHandle
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.exceptions import ApplicationError
from temporalio.worker import Replayer

from domain.acts.standalone import PersonRequest, StandaloneActInput, Standing
from domain.authority import Rejection
from domain.errors import Cause, Unavailable
from domain.events import Actor, TrailEntry, TrailRef
from domain.feedback import RetryContext
from domain.messages import RoundRecord
from domain.requests import Answer, Approve, Override, Reject
from domain.status import RoundStatus
from tests.workflow.conftest import BASE, FAILED, House, order_of
from workflows.options import WORKFLOWS_QUEUE
from workflows.standalone_act import StandaloneActWorkflow
from workflows.verification import VerificationWorkflow

ANN = Actor(role="unattributed", identity="ann")
BOB = Actor(role="unattributed", identity="bob")
UNCHECKED: Any = {"objective_only": True}
CHECKED: Any = {"objective_only": True, "checks": [{"name": "tests", "command": "run tests"}]}


async def verified(house: House, attempt: int = 1, verification: Any = UNCHECKED, **more: Any) -> str:
    """A standalone round of `wo-a`, to its end: its outcome."""
    request = house.round(order_of("wo-a", verification=verification), attempt).model_copy(update=more)
    result = await house.client.execute_workflow(
        VerificationWorkflow.run,
        request,
        id=f"{request.workflow_id}/{house.trail.store_id()}",
        task_queue=WORKFLOWS_QUEUE,
    )
    return result.decision.outcome.value


def standing(house: House) -> Standing:
    (view,) = house.trail.state("local", "wo-a").todos
    return Standing.of(view)


async def started(
    house: House, request: PersonRequest, seen: Standing | None = None, key: str = "k"
) -> WorkflowHandle[StandaloneActWorkflow, Answer]:
    store = house.trail.store_id()
    act = StandaloneActInput(
        session="local", todo="wo-a", store=store, seen=seen or standing(house), request=request, key=key
    )
    return await house.client.start_workflow(
        StandaloneActWorkflow.run,
        act,
        id=f"{act.workflow_id}/{store}",
        task_queue=WORKFLOWS_QUEUE,
        id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
    )


async def acted(house: House, request: PersonRequest, seen: Standing | None = None, key: str = "k") -> Answer:
    return await (await started(house, request, seen, key)).result()


def acts(house: House) -> list[tuple[str, str]]:
    """The rows of acts: what was done by whom."""
    rows = (row for row in house.trail.rows() if row.workflow_id.startswith("acts/"))
    return [(row.action, row.actor.identity) for row in rows]


def before_the_act_is_stored(house: House, monkeypatch: pytest.MonkeyPatch, then: Callable[[TrailEntry], None]) -> None:
    """Do `then` when the first row of an act is about to be stored."""
    append, rest = house.trail.append, [then]

    def appending(entry: TrailEntry) -> TrailRef:
        if entry.workflow_id.startswith("acts/") and rest:
            rest.pop()(entry)
        return append(entry)

    monkeypatch.setattr(house.trail, "append", appending)


async def test_a_round_with_nothing_to_check_is_approved(house: House) -> None:
    assert await verified(house) == "needs_human"
    handle = await started(house, Approve(actor=ANN, reason="looked at it"))
    answer = await handle.result()
    assert (answer.status, answer.review_status, answer.attempt, answer.version) == ("verified", "approved", 1, 1)
    assert answer.sequence == max(row.sequence for row in house.trail.rows())
    assert acts(house) == [("approved", "ann")]
    assert standing(house).status == "verified"
    (one,) = house.trail.state("local", "wo-a").rounds
    assert (one.status, one.outcome) == (RoundStatus.DECIDED, "needs_human"), "what the round came to stays"
    replayer = Replayer(workflows=[StandaloneActWorkflow], data_converter=house.client.data_converter, debug_mode=True)
    await replayer.replay_workflow(await handle.fetch_history())


async def test_the_same_act_sent_twice_is_done_once(house: House) -> None:
    await verified(house)
    seen = standing(house)
    first = await started(house, Reject(actor=ANN, feedback="no"), seen)
    second = await started(house, Reject(actor=ANN, feedback="no"), seen)
    assert await first.result() == await second.result()
    assert acts(house) == [("changes_requested", "ann")]


async def test_of_two_acts_at_once_the_second_is_judged_on_what_the_first_left(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    await verified(house)

    def other(entry: TrailEntry) -> None:
        house.trail.append(entry.model_copy(update={"actor": BOB, "workflow_id": entry.workflow_id}))

    before_the_act_is_stored(house, monkeypatch, other)
    answer = await acted(house, Approve(actor=ANN))
    assert answer.refused is not None
    assert (answer.refused.code, answer.status) == ("stale_version", "verified")
    assert acts(house) == [("approved", "bob"), ("refused", "ann")]


async def test_a_newer_round_ends_what_waits_of_the_older_one(house: House) -> None:
    await verified(house)
    seen = standing(house)
    await verified(house, 2)
    answer = await acted(house, Approve(actor=ANN), seen)
    assert answer.refused is not None
    assert answer.refused.code == "stale_version"
    assert "attempt 1" in answer.refused.reason
    assert (await acted(house, Approve(actor=ANN), key="again")).status == "verified"
    assert [(row.action, row.attempt) for row in house.trail.rows() if row.workflow_id.startswith("acts/")] == [
        ("refused", 2),
        ("approved", 2),
    ]


async def test_a_failed_check_is_overruled_and_the_view_says_so(house: House) -> None:
    house.script.items["tests"] = [FAILED]
    assert await verified(house, verification=CHECKED) == "changes_requested"
    assert standing(house).status == "in_progress"
    answer = await acted(house, Override(actor=ANN, kind="check", acknowledged=("tests",), reason="known"))
    assert (answer.status, answer.review_status) == ("verified", "overridden")
    (row,) = [row for row in house.trail.rows() if row.action == "human_override"]
    assert row.payload["acknowledged"] == ["tests"]


async def test_a_trail_that_cannot_be_read_is_said_and_nothing_is_done(house: House) -> None:
    await verified(house)
    seen = standing(house)
    handle = house.trail
    rows = len(list(handle.rows()))
    handle.memory.trouble = Unavailable(Cause.SYSTEM_ERROR, "no disk", "mount it")
    with pytest.raises(WorkflowFailureError) as caught:
        await (
            await house.client.start_workflow(
                StandaloneActWorkflow.run,
                StandaloneActInput(session="local", todo="wo-a", seen=seen, request=Approve(actor=ANN), key="k"),
                id=f"act/{handle.memory.store_id}",
                task_queue=WORKFLOWS_QUEUE,
            )
        ).result()
    handle.memory.trouble = None
    cause = caught.value.cause
    assert isinstance(cause, ApplicationError)
    assert (cause.type, cause.details[0]) == ("unavailable", "system_error")
    assert len(list(handle.rows())) == rows


async def test_an_act_meant_for_another_trail_is_not_done(house: House) -> None:
    await verified(house)
    act = StandaloneActInput(
        session="local", todo="wo-a", store="another", seen=standing(house), request=Approve(actor=ANN), key="k"
    )
    with pytest.raises(WorkflowFailureError) as caught:
        await house.client.execute_workflow(
            StandaloneActWorkflow.run, act, id=f"act/other/{house.trail.store_id()}", task_queue=WORKFLOWS_QUEUE
        )
    assert isinstance(caught.value.cause, ApplicationError)
    assert caught.value.cause.details[0] == "store_mismatch"
    assert acts(house) == []


async def test_no_round_of_a_tree_that_was_sent_back_passes_and_the_next_attempt_gets_the_words(house: House) -> None:
    sent_back = Rejection(attempt=1, head="h" * 64, base=BASE, by="human:ann", feedback="rename it")
    more = {"rejections": (sent_back,), "human_feedback": "rename it"}
    assert await verified(house, 2, CHECKED, **more) == "changes_requested"
    (one,) = house.trail.state("local", "wo-a").rounds
    assert one.reasons == ("rejected_by_person",)
    (row,) = [row for row in house.trail.rows() if row.action == "retry_context_assembled"]
    context = RetryContext.model_validate_json(house.store.get(str(row.payload["retry_context"])))
    assert context.human_feedback == "rename it"
    assert context.specific_failures == ("human:ann sent this tree back in attempt 1: rename it",)
    record = RoundRecord.model_validate_json(house.store.get(one.record))
    assert record.input.rejections == (sent_back,)

    other = sent_back.model_copy(update={"head": "g" * 64})
    assert await verified(house, 3, CHECKED, rejections=(other,)) == "verified"
