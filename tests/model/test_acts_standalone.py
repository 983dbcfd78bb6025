"""What people may do with a standalone round: the rules of todos, on what a round left; repeats and races included."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from pydantic import TypeAdapter

from domain.acts.standalone import (
    Loaded,
    PersonRequest,
    Settled,
    Standing,
    command_of,
    loaded,
    no_record,
    possible,
    settle,
    trail_id,
    unavailable_reason,
)
from domain.checks import CheckResult, Outcome
from domain.decision import Decision, Reason, RoundOutcome
from domain.event_kinds import problems
from domain.events import Action, Actor, TrailEntry, TrailRow
from domain.lifecycle import Command
from domain.messages import Frozen, RoundInput, RoundRecord, ScopeResult
from domain.read_model import TodoView, fold
from domain.requests import AddNote, Approve, Override, Reject
from domain.status import AFTER_A_ROUND, TodoStatus
from tests.model.todos import ALICE, NOON, WORKER, order

HEAD = "e" * 64
CHECK: dict[str, Any] = {"id": "tests", "type": "pytest", "spelling": "check", "duration_ms": 1, "required": True}
FROZEN = Frozen(head=HEAD, base="b" * 64, head_files=1, head_bytes=1, base_files=1, dropped="f" * 64)
SCOPE = ScopeResult(tree="t" * 64, tree_bytes=1, report="r" * 64, diff="d" * 64)


def result(outcome: Outcome = Outcome.PASSED) -> CheckResult:
    return CheckResult.model_validate({**CHECK, "outcome": outcome, "code": "ok", "text": "it did"})


def record(
    outcome: RoundOutcome = RoundOutcome.NEEDS_HUMAN,
    *codes: str,
    results: tuple[CheckResult, ...] = (),
    attempt: int = 2,
    **policy: Any,
) -> RoundRecord:
    of = order(**({"override_policy": policy} if policy else {}))
    return RoundRecord(
        input=RoundInput(
            session="local",
            todo="t1",
            attempt=attempt,
            order=of,
            order_digest=of.digest,
            host="h",
            actor=ALICE,
        ),
        started_at=NOON,
        ended_at=NOON,
        frozen=FROZEN,
        scope=SCOPE,
        results=results,
        decision=Decision(
            outcome=outcome, reasons=tuple(Reason(code=code, text=code) for code in codes), trigger="nothing_to_check"
        ),
    )


def view(of: RoundRecord, **more: Any) -> TodoView:
    status, review = AFTER_A_ROUND[of.decision.outcome]
    return TodoView(
        session="local",
        todo="t1",
        status=status,
        review_status=review,
        trigger=of.decision.trigger,
        version=of.input.attempt,
        attempt=of.input.attempt,
        created_at=NOON,
        updated_at=NOON,
        **more,
    )


def there(of: RoundRecord, *rows: TrailRow, **more: Any) -> Loaded:
    return loaded(view(of, **more), of, rows, None)


def act(now_there: Loaded, request: PersonRequest, seen: Standing | None = None) -> Settled:
    """What it comes to. Whatever has a row has one that the table of events takes."""
    settled = settle(now_there, seen or now_there.standing, request, None, NOON)
    if settled.event is not None:
        assert problems(entry_of(settled, now_there)) == ()
    return settled


def entry_of(settled: Settled, now_there: Loaded) -> TrailEntry:
    assert settled.event is not None
    event = settled.event
    attempt = now_there.standing.attempt
    return TrailEntry(
        workflow_id=trail_id("local", "t1", attempt),
        ordinal=now_there.ordinal + 1,
        session="local",
        todo_id="t1",
        attempt=attempt,
        actor=event.actor,
        action=event.action,
        before=event.before,
        after=event.after,
        payload=event.payload,
        timestamp=NOON,
    )


def stored(settled: Settled, now_there: Loaded) -> TrailRow:
    entry = entry_of(settled, now_there)
    return TrailRow(**entry.model_dump(), event_id="e", sequence=9, previous_hash="", hash="")


def code_of(settled: Settled) -> str:
    assert settled.answer.refused is not None
    return settled.answer.refused.code


def test_a_round_that_passed_everything_is_approved_and_the_lists_say_so() -> None:
    found = there(record(results=(result(),)), feedback="earlier words")
    settled = act(found, Approve(actor=ALICE, reason="looked at it"))
    assert (settled.answer.status, settled.answer.review_status) == ("verified", "approved")
    assert settled.event is not None
    assert settled.event.payload == {"snapshot": HEAD, "reason": "looked at it", "established": "said"}
    assert settled.event.before == {
        "status": "needs_human",
        "review_status": "escalated",
        "trigger": "nothing_to_check",
    }
    assert settled.event.after == {"status": "verified", "review_status": "approved", "trigger": ""}
    assert settled.answer.changed["status"].before == "needs_human"
    (shown,) = fold([entry_of(settled, found)]).todos
    assert (shown.status, shown.attempt, shown.order_digest, shown.deadline) == (TodoStatus.VERIFIED, 2, "", None)


def test_what_did_not_pass_is_overruled_by_name_as_far_as_policy_allows() -> None:
    failed = record(RoundOutcome.CHANGES_REQUESTED, "exit_code", results=(result(Outcome.FAILED),))
    found = there(failed)
    assert found.standing.status == "in_progress"
    assert code_of(act(found, Approve(actor=ALICE))) == "not_passed"
    wrong = Override(actor=ALICE, kind="check", acknowledged=("lint",), reason="x")
    assert code_of(act(found, wrong)) == "unknown_check"
    assert code_of(act(found, wrong.model_copy(update={"acknowledged": ()}))) == "not_acknowledged"
    right = wrong.model_copy(update={"acknowledged": ("tests",)})
    settled = act(found, right)
    assert settled.event is not None
    assert settled.event.before["status"] == "in_progress", "as the lists have it"
    assert settled.answer.status == "verified"
    forbidding = record(RoundOutcome.CHANGES_REQUESTED, results=(result(Outcome.FAILED),), check_override_allowed=False)
    assert code_of(act(there(forbidding), right)) == "override_not_allowed"


def test_a_rejection_sends_it_back_without_clock_or_caps() -> None:
    found = there(record())
    settled = act(found, Reject(actor=ALICE, feedback="rename it"))
    assert settled.event is not None
    assert settled.event.after == {
        "status": "in_progress",
        "review_status": "changes_requested",
        "trigger": "",
        "feedback": "rename it",
    }
    assert settled.event.payload == {"feedback": "rename it", "revision": 1, "reason": "", "established": "said"}
    again = there(record(), stored(settled, found))
    assert (again.ordinal, again.todo is not None and again.todo.revisions) == (1, 1)
    second = act(again, Reject(actor=ALICE, feedback="and test it"))
    assert second.event is not None
    assert second.event.payload["revision"] == 2, "people run as many rounds as they like"
    assert code_of(act(found, Reject(actor=ALICE, feedback="  "))) == "reason_required"
    assert code_of(act(found, Reject(actor=ALICE, feedback="x", extra_attempts=2))) == "stands_alone"


def test_a_note_moves_nothing() -> None:
    for outcome in (RoundOutcome.NEEDS_HUMAN, RoundOutcome.CHANGES_REQUESTED, RoundOutcome.VERIFIED):
        found = there(record(outcome, results=(result(),)))
        settled = act(found, AddNote(actor=ALICE, content="Ann knows"))
        assert (settled.answer.status, settled.answer.review_status) == (
            found.standing.status,
            found.standing.review_status,
        )
        assert settled.event is not None
        assert settled.event.after["status"] == found.standing.status
        assert settled.event.after["note"] == "Ann knows"


@pytest.mark.parametrize(
    ("outcome", "can"),
    [
        (RoundOutcome.NEEDS_HUMAN, {"approve", "override", "reject", "note"}),
        (RoundOutcome.CHANGES_REQUESTED, {"approve", "override", "reject", "note"}),
        (RoundOutcome.INCONCLUSIVE, {"approve", "override", "reject", "note"}),
        (RoundOutcome.FAILED, {"override", "note"}),
        (RoundOutcome.VERIFIED, {"reject", "note"}),
    ],
)
def test_what_is_possible_after_each_outcome(outcome: RoundOutcome, can: set[str]) -> None:
    found = there(record(outcome))
    assert {command.value for command in possible(view(record(outcome)))} == can
    requests: dict[Command, PersonRequest] = {
        Command.APPROVE: Approve(actor=ALICE),
        Command.OVERRIDE: Override(actor=ALICE, kind="check", reason="x"),
        Command.REJECT: Reject(actor=ALICE, feedback="x"),
        Command.NOTE: AddNote(actor=ALICE, content="x"),
    }
    for command, request in requests.items():
        refused = act(found, request).answer.refused
        illegal = refused is not None and refused.code == "illegal_transition"
        assert illegal is (command.value not in can), command
        if refused is not None and illegal:
            for other in ("return", "edit", "delete"):
                assert other not in refused.next_step, "what a standalone round does not take is not proposed"
            assert "countersign verify" in refused.next_step


def test_what_moved_since_it_was_seen_is_not_acted_on() -> None:
    found = there(record())
    seen = found.standing
    for other in (
        {"attempt": 1},
        {"status": "verified"},
        {"review_status": "changes_requested"},
    ):
        settled = act(found, Approve(actor=ALICE), seen.model_copy(update=other))
        assert code_of(settled) == "stale_version"
        assert settled.event is not None
        assert settled.event.action == "refused"
    assert code_of(act(found, Approve(actor=ALICE, expected_version=1))) == "stale_version"
    assert code_of(act(found, Approve(actor=ALICE, snapshot="a" * 64))) == "stale_snapshot"


def test_nobody_but_a_person_acts_and_a_name_alone_is_no_person() -> None:
    found = there(record())
    settled = act(found, Approve(actor=WORKER))
    assert code_of(settled) == "forbidden"
    assert settled.event is not None
    assert settled.event.actor == WORKER
    named = act(found, Approve(actor=Actor(role="human", identity="ann")))
    assert named.event is not None
    assert named.event.actor == Actor(role="unattributed", identity="ann")
    signed = there(record(signatures="required"))
    assert code_of(act(signed, Approve(actor=ALICE))) == "signature_required"


def test_a_dry_run_and_a_repeated_refusal_have_no_row() -> None:
    found = there(record())
    tried = act(found, Approve(actor=ALICE, dry_run=True))
    assert (tried.event, tried.answer.dry_run, tried.answer.status) == (None, True, "verified")
    asked = Approve(actor=WORKER)
    first = act(found, asked)
    assert first.event is not None
    assert act(there(record(), stored(first, found)), asked).event is None


def test_a_round_that_runs_or_came_to_nothing_takes_no_act() -> None:
    of = view(record())
    running = unavailable_reason(of, True, ())
    assert running is not None
    assert running.code == "round_running"
    unknown = unavailable_reason(None, False, ())
    assert unknown is not None
    assert unknown.code == "unknown_todo"
    assert unavailable_reason(of, False, ()) is None
    loops: tuple[tuple[tuple[Action, ...], bool], ...] = (
        (("fix_loop_started",), True),
        (("fix_loop_started", "fix_loop_ended"), False),
        (("fix_loop_started", "fix_loop_ended", "fix_loop_started"), True),
    )
    found = there(record())
    row = stored(act(found, AddNote(actor=ALICE, content="x")), found)
    for actions, runs in loops:
        rows = [row.model_copy(update={"action": action}) for action in actions]
        assert (unavailable_reason(of, False, rows) is not None) is runs
    nothing = Loaded(standing=Standing.of(of), why_not=no_record(2))
    settled = act(nothing, Approve(actor=ALICE))
    assert code_of(settled) == "no_verdict"
    assert settled.event is not None


def test_the_record_of_another_attempt_is_a_defect() -> None:
    with pytest.raises(ValueError, match="the record of attempt 1 for attempt 2"):
        loaded(view(record()), record(attempt=1), (), None)


def test_a_request_is_the_same_once_it_has_travelled() -> None:
    travelling: TypeAdapter[Any] = TypeAdapter(PersonRequest)
    requests: dict[Command, PersonRequest] = {
        Command.APPROVE: Approve(actor=ALICE, reason="x"),
        Command.OVERRIDE: Override(actor=ALICE, kind="direct", reason="x"),
        Command.REJECT: Reject(actor=ALICE, feedback="x"),
        Command.NOTE: AddNote(actor=ALICE, content="x"),
    }
    for command, request in requests.items():
        back = travelling.validate_json(travelling.dump_json(request))
        assert back == request
        assert type(back) is type(request)
        assert command_of(back) is command


def test_signatures_that_were_used_are_not_used_again() -> None:
    found = there(record())
    row = stored(act(found, AddNote(actor=ALICE, content="x")), found)
    expiry = NOON + timedelta(minutes=5)
    said = {"action": "approve", "session": "local", "todo": "t1", "attempt": 1, "order": "o", "nonce": "n1"}
    statement = json.dumps({**said, "expiry": expiry.isoformat()})
    signed = row.model_copy(update={"payload": {**row.payload, "signature": {"statement": statement}}})
    todo = there(record(), signed).todo
    assert todo is not None
    assert todo.nonces == {"n1": expiry}
