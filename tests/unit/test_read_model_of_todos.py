"""What lists show of sessions and their todos, from the rows of both: each row says itself what it changes."""

from __future__ import annotations

from datetime import timedelta
from itertools import count
from typing import Any

import pytest
from pydantic import JsonValue

from domain.acts import people, system, workers
from domain.acts.step import Declined, Outcome, Step, changed, shown
from domain.claims.claim import ClaimedEvidence
from domain.decision import RoundOutcome
from domain.events import SYSTEM, Action, Actor, TrailEntry
from domain.life import FollowUp
from domain.read_model import SessionView, TodoView, changes, fold
from domain.requests import AddEvidence, AddNote, Block, Edit, Respond, Return, Start, Unblock
from domain.status import RoundStatus, SessionStatus, TodoStatus
from domain.todo import Gate, Todo
from tests.model.todos import ALICE, BASE, NOON, WORKER, admitted, after, claiming, ended, minted, todo

PIECES = (ClaimedEvidence(label="one", type="log", data="1"),)
ADA = Actor(role="human", identity="ada")
BOB = Actor(role="worker", identity="bob")
ORDINALS = count(1)
Values = dict[str, JsonValue]


def row(action: Action, minutes: float = 0, **fields: Any) -> TrailEntry:
    usual: dict[str, Any] = {"session": "s", "todo_id": "a", "actor": SYSTEM, "workflow_id": "todo/s/a", **fields}
    when = NOON + timedelta(minutes=minutes)
    return TrailEntry(action=action, ordinal=next(ORDINALS), timestamp=when, **usual)


def moved(action: Action, old: str, new: str, minutes: float = 0, **fields: Any) -> TrailEntry:
    """A row that moves the todo from `old` to `new`; `after` has what else it changes."""
    before: Values = {"status": old, "review_status": "not_requested"}
    after: Values = {"status": new, "review_status": "not_requested", **fields.pop("after", {})}
    return row(action, minutes, before=before, after=after, **fields)


CREATED = row(
    "todo_created",
    actor=BOB,
    payload={
        "content": "Say hello\nin two lines",
        "title": "Say hello",
        "domain": "docs",
        "order": "0" * 64,
        "parent": "top",
        "depends_on": ["x", "y"],
        "criteria": ["AC-1"],
    },
    after={
        "status": "pending",
        "review_status": "not_requested",
        "version": 1,
        "order_index": 3,
        "audit_cap": 3,
        "revision_cap": 2,
        "deadline": None,
        "time_left": 3600.0,
        "question": "",
        "order_digest": "0" * 64,
    },
)


def seen(*rows: TrailEntry) -> TodoView:
    (view,) = fold([CREATED, *rows]).todos
    return view


def session_seen(*rows: TrailEntry) -> SessionView:
    (view,) = fold(rows).sessions
    return view


def test_a_new_todo_is_what_its_first_row_says() -> None:
    view = seen()
    assert (view.title, view.content, view.domain) == ("Say hello", "Say hello\nin two lines", "docs")
    assert (view.parent, view.depends_on, view.order_index) == ("top", ("x", "y"), 3)
    assert (view.status, view.version, view.audits, view.audit_cap, view.revision_cap) == ("pending", 1, 0, 3, 2)
    assert (view.order_digest, view.created_by, view.created_at) == ("0" * 64, "worker:bob", NOON)
    assert (view.deadline, view.time_left, view.waiting_since) == (None, 3600.0, None)


def test_a_clock_that_runs_has_a_deadline() -> None:
    started = moved("todo_started", "pending", "in_progress", after={"deadline": "2026-01-15T13:00:00+00:00"})
    assert seen(started).deadline == NOON + timedelta(hours=1)
    stopped = moved("todo_blocked", "in_progress", "blocked", after={"deadline": None, "time_left": 1800.5})
    assert (seen(started, stopped).deadline, seen(started, stopped).time_left) == (None, 1800.5)


def test_a_claim_names_what_it_is_about() -> None:
    claimed = moved(
        "todo_claimed",
        "in_progress",
        "claimed",
        after={"evidence": ["ev-1", "ev-2"]},
        payload={"claim": "c" * 64, "snapshot": "5" * 64, "explanation": "...", "evidence": ["ev-2"]},
    )
    later = moved("noted", "claimed", "claimed", payload={"content": "hm", "kind": "feedback"})
    for view in (seen(claimed), seen(claimed, later)):
        assert (view.claim, view.snapshot, view.evidence) == ("c" * 64, "5" * 64, ("ev-1", "ev-2"))


def test_a_repaired_tree_is_the_one_that_is_looked_at() -> None:
    claimed = moved("todo_claimed", "in_progress", "claimed", payload={"claim": "c" * 64, "snapshot": "e" * 64})
    before = todo(TodoStatus.CLAIMED)
    repaired = before.model_copy(
        update={
            "admitted": before.admitted
            and before.admitted.model_copy(
                update={"frozen": before.admitted.frozen.model_copy(update={"head": "8" * 64})}
            )
        }
    )
    _, says = changed(before, repaired)
    assert seen(claimed, moved("fix_loop_ended", "claimed", "claimed", after=says)).snapshot == "8" * 64


def test_what_a_row_does_not_name_stays() -> None:
    escalated = moved(
        "escalated",
        "claimed",
        "needs_human",
        after={"trigger": "audit_cap_exceeded", "audits": 3, "feedback": "too slow"},
        payload={"trigger": "audit_cap_exceeded", "reason": "3 audits of at most 3"},
    )
    noted = moved("noted", "needs_human", "needs_human", payload={"content": "looking", "kind": "feedback"})
    view = seen(escalated, noted)
    assert view.waiting_since == NOON
    assert (view.trigger, view.audits, view.feedback) == ("audit_cap_exceeded", 3, "too slow")
    returned = moved("returned", "needs_human", "in_progress", after={"trigger": "", "granted": 1})
    assert (seen(escalated, returned).trigger, seen(escalated, returned).granted) == ("", 1)


def test_an_edit_shows_in_lists() -> None:
    edited = moved(
        "edited",
        "pending",
        "pending",
        after={"content": "Say goodbye\nat once", "version": 2, "depends_on": ["x"], "domain": "polish"},
    )
    view = seen(edited)
    assert (view.title, view.version, view.depends_on, view.domain) == ("Say goodbye", 2, ("x",), "polish")


def test_a_refusal_changes_no_list() -> None:
    refused = row("refused", payload={"command": "delete", "code": "forbidden", "reason": "no", "count": 1})
    assert changes(refused) == ()


@pytest.mark.parametrize("status", [TodoStatus.NEEDS_HUMAN, TodoStatus.BLOCKED, TodoStatus.FAILED])
def test_who_waits_for_a_human_waits_since_then(status: TodoStatus) -> None:
    waits = moved("escalated", "in_progress", status.value, minutes=1)
    still = moved("noted", status.value, status.value, minutes=2, after={"question": ""})
    goes_on = moved("returned", status.value, "in_progress", minutes=3)
    minute = NOON + timedelta(minutes=1)
    assert (seen(waits).waiting_since, seen(waits, still).waiting_since) == (minute, minute)
    assert seen(waits, still, goes_on).waiting_since is None


def test_an_open_question_waits_since_it_was_asked() -> None:
    asked = moved("follow_up_asked", "claimed", "claimed", minutes=1, after={"question": "Which file?"})
    brought = moved("evidence_added", "claimed", "claimed", minutes=2, after={"evidence": ["ev-9"]})
    answered = moved("follow_up_answered", "claimed", "claimed", minutes=3, after={"question": ""})
    assert seen(asked, brought).waiting_since == NOON + timedelta(minutes=1)
    assert seen(asked, brought).question == "Which file?"
    asked_before = {"before": {"status": "claimed", "question": "Which file?"}}
    noted = moved("noted", "claimed", "claimed", 3, after={"question": "Which file?"}).model_copy(update=asked_before)
    assert seen(asked, noted).waiting_since == NOON + timedelta(minutes=1)
    assert seen(asked, brought, answered).waiting_since is None


def test_a_managed_round_says_what_it_came_to_and_moves_nothing() -> None:
    claimed = moved("todo_claimed", "in_progress", "claimed", after={"attempt": 2})
    decided = row(
        "audit_completed",
        attempt=2,
        workflow_id="round/s/a/2",
        payload={"result": "FAIL", "outcome": "changes_requested", "reasons": ["check_failed"], "trigger": "timeout"},
    )
    state = fold([CREATED, claimed, decided])
    (todo,), (round_,) = state.todos, state.rounds
    assert (todo.status, todo.review_status, todo.attempt, todo.trigger) == ("claimed", "not_requested", 2, "")
    assert (todo.outcome, todo.reasons) == ("changes_requested", ("check_failed",))
    assert (round_.status, round_.workflow_id) == (RoundStatus.DECIDED, "round/s/a/2")


def test_a_round_that_stands_alone_has_no_order_of_a_todo() -> None:
    started = row(
        "verification_started",
        attempt=1,
        session="local",
        payload={"attempt": 1, "items": [], "order": "1" * 64, "title": "t", "domain": "docs"},
        after={"status": "claimed", "review_status": "auditing"},
    )
    (view,) = fold([started]).todos
    assert (view.order_digest, view.title, view.attempt) == ("", "t", 1)


def test_text_that_a_database_cannot_hold_keeps_no_row_out() -> None:
    asked = moved("todo_blocked", "in_progress", "blocked", after={"question": "a\0b"})
    assert seen(asked).question == "a\N{REPLACEMENT CHARACTER}b"


def lived() -> list[Step]:
    """A todo's life as the acts have it: asked, refused, sent back, paused, escalated, given back, verified."""
    steps: list[Step] = [Step(todo=todo())]

    def then(outcome: Outcome | Declined) -> Todo:
        assert isinstance(outcome, Step), outcome
        steps.append(outcome)
        return outcome.todo

    question = {"question": "Which file?", "evidence_requested": (), "reason": "r", "round": 1, "of": 3, "timeout": 300}
    now = then(workers.start(todo(), Start(actor=WORKER), BASE, after(1)))
    now = then(workers.add_evidence(now, AddEvidence(actor=WORKER, evidence=PIECES), (minted("one"),), after(2)))
    now = then(workers.claim(now, claiming(), admitted("t1", "two"), after(3)))
    now = then(system.ask(now, FollowUp(attempt=1, **question), after(4)))
    now = then(workers.respond(now, Respond(actor=WORKER, answer="This."), (minted("three"),), after(5)))
    now = then(system.round_ended(now, 1, ended(RoundOutcome.CHANGES_REQUESTED, retry_context="7" * 64), after(6)))
    now = then(system.gated(now, Gate(number=2, status=SessionStatus.PAUSED), after(7)))
    now = then(system.gated(now, Gate(number=3), after(100)))
    now = then(workers.add_evidence(now, AddEvidence(actor=WORKER, evidence=PIECES), (minted("six"),), after(100)))
    now = then(workers.block(now, Block(actor=WORKER, question="What now?"), after(101)))
    now = then(people.unblock(now, Unblock(actor=ALICE, clarification="That."), after(102)))
    now = then(workers.claim(now, claiming(), admitted("t2", "four"), after(103)))
    now = then(system.round_ended(now, 2, ended(RoundOutcome.NEEDS_HUMAN, trigger="not_judged"), after(104)))
    now = then(people.edit(now, Edit(actor=ALICE, expected_version=1, changes={"content": "Do it well"}), after(105)))
    now = then(people.give_back(now, Return(actor=ALICE, reason="Once more", extra_attempts=2), after(106)))
    now = then(workers.claim(now, claiming(), admitted("t3", "five"), after(107)))
    now = then(system.round_ended(now, 3, ended(RoundOutcome.VERIFIED), after(108)))
    then(people.note(now, AddNote(actor=ALICE, content="Well done"), after(109)))
    return steps


def test_lists_show_what_the_todo_is_after_every_row_of_its_life() -> None:
    rows = [row("todo_created", session="s1", todo_id="t1", after=shown(todo()))]
    steps = lived()
    assert {event.action for step in steps for event in step.events} >= {"escalated", "edited", "returned", "approved"}
    for step in steps:
        for event in step.events:
            rows.append(row(event.action, session="s1", todo_id="t1", **event.model_dump(exclude={"action"})))
        if step.events or step is steps[0]:
            (view,) = fold(rows).todos
            want = {name: value for name, value in shown(step.todo).items() if name in TodoView.model_fields}
            assert set(shown(step.todo)) == set(want), "a field that no list has"
            assert {name: view.model_dump(mode="json")[name] for name in want} == {**want, "deadline": utc(want)}
    assert (view.status, view.title, view.claim, view.audits, view.revisions) == (
        "verified",
        "Do it well",
        "a" * 64,
        3,
        1,
    )


def utc(shown_values: Values) -> str | None:
    """The deadline as pydantic writes it."""
    deadline = shown_values["deadline"]
    return str(deadline).replace("+00:00", "Z") if deadline else None


BEGAN = row(
    "session_created",
    todo_id="",
    actor=ADA,
    payload={"todos": 2, "timeout": 86400.0, "order": ""},
    after={"status": "running"},
)


def of_session(action: Action, status: str, **fields: Any) -> TrailEntry:
    return row(action, todo_id="", after={"status": status}, **fields)


def test_a_session_counts_its_todos_and_knows_its_end() -> None:
    view = session_seen(BEGAN, CREATED, row("todo_created", todo_id="b"), row("noted", todo_id="b"))
    assert (view.todos, view.created_by, view.deadline) == (2, "human:ada", NOON + timedelta(days=1))


@pytest.mark.parametrize("timeout", [None, "soon", 1e300])
def test_a_timeout_that_is_no_duration_gives_no_deadline(timeout: JsonValue) -> None:
    assert session_seen(BEGAN.model_copy(update={"payload": {"timeout": timeout}})).deadline is None


def test_a_deadline_that_a_row_names_counts() -> None:
    later = row("resumed", todo_id="", after={"status": "running", "deadline": "2026-01-17T12:00:00+00:00"})
    assert session_seen(BEGAN, later).deadline == NOON + timedelta(days=2)


def test_a_session_says_for_whom_it_is_paused() -> None:
    escalation = of_session("paused", "paused", payload={"reason": "", "escalation": "b"})
    by_human = of_session("paused", "paused", actor=ADA, payload={"reason": "lunch", "escalation": ""})
    resumed = of_session("resumed", "running", payload={"reason": ""})
    stopped = of_session("stopped", "stopped", payload={"reason": ""})
    assert session_seen(BEGAN, escalation).paused_for == "b"
    assert session_seen(BEGAN, escalation, by_human).paused_for == "human"
    assert session_seen(BEGAN, by_human, resumed).paused_for == ""
    assert session_seen(BEGAN, escalation, stopped).paused_for == ""
