"""What people may do to a todo: where, with which words, within which caps; and what becomes of the round that runs."""

from __future__ import annotations

from typing import Any

import pytest

from domain.acts import people
from domain.acts.asked import changed_by
from domain.acts.step import Step
from domain.requests import AddNote, Delete, Reject, Reorder, Return, Unblock
from domain.safeguards import Clock
from domain.status import LIVE, ReviewStatus, TodoStatus
from domain.todo import OpenQuestion
from tests.model.todos import ALICE, NOON, WORKER, after, done, order, rows, todo, told

S = TodoStatus
STALE: dict[str, Any] = {"expected_version": 7}


def reject(text: str = "Handle zero", extra: int = 0) -> Reject:
    return Reject(actor=ALICE, feedback=text, extra_attempts=extra)


def test_unblocking_answers_the_worker() -> None:
    at = todo(S.BLOCKED, question=OpenQuestion(question="Which base?"), clock=Clock(limit=3600, spent=100))
    step = people.unblock(at, Unblock(actor=ALICE, clarification="The new one"), after(5000))
    now = done(at, step)
    assert (now.status, now.clarification, now.question) == (S.IN_PROGRESS, "The new one", None)
    assert now.clock.deadline == after(5000 + 3500)
    assert [(note.kind, note.author) for note in now.notes] == [("clarification", ALICE)]
    assert told(people.unblock(at, Unblock(actor=ALICE, clarification=" "), NOON)).code == "reason_required"


@pytest.mark.parametrize("status", [S.CLAIMED, S.NEEDS_HUMAN, S.VERIFIED])
def test_a_rejected_todo_goes_back_with_the_words_and_one_revision_more(status: TodoStatus) -> None:
    at = todo(status, trigger="timeout" if status is S.NEEDS_HUMAN else "", flag="look", retry_context="x")
    step = people.reject(at, reject(), NOON)
    now = done(at, step)
    assert rows(step) == ["changes_requested"]
    assert (now.status, now.review_status) == (S.IN_PROGRESS, ReviewStatus.CHANGES_REQUESTED)
    assert (now.revisions, now.feedback, now.round, now.trigger, now.flag) == (1, "Handle zero", 0, "", "")
    assert [(note.kind, note.content) for note in now.notes] == [("revision_request", "Handle zero")]
    assert now.waived is False, "the next claim has to bring something"
    assert told(people.reject(at, reject("\n"), NOON)).code == "reason_required"


def test_a_reject_past_the_revision_cap_escalates_unless_the_human_grants_more() -> None:
    at = todo(S.CLAIMED, revisions=2)
    step = people.reject(at, reject(), NOON)
    now = done(at, step)
    assert rows(step) == ["noted", "escalated"]
    assert (now.status, now.trigger, now.revisions, now.feedback) == (
        S.NEEDS_HUMAN,
        "revision_cap_exceeded",
        2,
        "Handle zero",
    )
    again = people.reject(now, reject("Really"), NOON)
    assert (rows(again), done(now, again).status) == (["noted", "escalated"], S.NEEDS_HUMAN)
    granted = done(at, people.reject(at, reject(extra=1), after(3000)))
    assert (granted.status, granted.revisions, granted.granted) == (S.IN_PROGRESS, 3, 1)
    assert granted.clock.deadline == after(3000 + 3600), "time comes with attempts"


@pytest.mark.parametrize("status", [S.VERIFIED, S.NEEDS_HUMAN])
def test_a_reject_after_the_last_audit_escalates(status: TodoStatus) -> None:
    at = todo(status, audits=3, revisions=0)
    assert done(at, people.reject(at, reject(), NOON)).trigger == "audit_cap_exceeded"
    assert done(at, people.reject(at, reject(extra=1), NOON)).status is S.IN_PROGRESS


def test_a_reject_after_the_time_was_over_brings_new_time() -> None:
    at = todo(S.NEEDS_HUMAN, trigger="timeout", clock=Clock(limit=3600, spent=3600))
    assert done(at, people.reject(at, reject(), NOON)).clock.deadline == after(3600)
    some = todo(S.NEEDS_HUMAN, clock=Clock(limit=3600, spent=3000))
    assert done(some, people.reject(some, reject(), NOON)).clock.deadline == after(600)


@pytest.mark.parametrize("status", [S.NEEDS_HUMAN, S.FAILED])
def test_what_is_returned_begins_afresh(status: TodoStatus) -> None:
    at = todo(
        status,
        order=order(worker={"command": "./a.sh", "timeout": 60, "env": ["API_KEY"]}),
        worker=order(worker={"command": "./a.sh", "timeout": 60, "env": ["API_KEY"]}).worker,
        audits=3,
        revisions=2,
        clock=Clock(limit=3600, spent=3600),
        no_news=1,
        refused_drives=2,
        last_refusal="no_evidence",
        trigger="audit_cap_exceeded",
        widen=4.0,
    )
    step = people.give_back(at, Return(actor=ALICE, reason="Once more", extra_attempts=2, worker="./b.sh"), NOON)
    now = done(at, step)
    assert rows(step) == ["returned"]
    assert (now.status, now.review_status, now.trigger) == (S.IN_PROGRESS, ReviewStatus.NOT_REQUESTED, "")
    assert (now.granted, now.caps.audits, now.caps.revisions, now.audits) == (2, 5, 4, 3)
    assert (now.no_news, now.refused_drives, now.last_refusal, now.widen) == (0, 0, "", 1.0)
    assert now.clock.deadline == after(3600)
    assert now.feedback == "Once more"
    assert now.worker is not None
    assert (now.worker.command, now.worker.timeout, now.worker.env) == ("./b.sh", 60, ["API_KEY"])


def test_a_return_may_leave_the_worker_as_it_is_or_have_none() -> None:
    worker = order(worker={"command": "./a.sh"}).worker
    at = todo(S.NEEDS_HUMAN, worker=worker, feedback="Before")
    kept = done(at, people.give_back(at, Return(actor=ALICE), NOON))
    assert (kept.worker, kept.feedback, kept.granted) == (worker, "Before", 1)
    assert done(at, people.give_back(at, Return(actor=ALICE, worker=""), NOON)).worker is None
    wrong = people.give_back(at, Return(actor=ALICE, worker="a\0b"), NOON)
    assert told(wrong).code == "malformed_edit"


def test_what_a_rejection_asked_for_stands_when_it_is_given_back_with_a_reason() -> None:
    before = todo(S.NEEDS_HUMAN, audits=3)
    at = done(before, people.reject(before, reject("Handle zero"), NOON))
    once = done(at, people.give_back(at, Return(actor=ALICE, reason="One more try"), NOON))
    assert once.feedback == "Handle zero\n\nOne more try"
    silent = done(at, people.give_back(at, Return(actor=ALICE), NOON))
    assert silent.feedback == "Handle zero"
    other = todo(S.NEEDS_HUMAN, feedback="An earlier reason")
    assert done(other, people.give_back(other, Return(actor=ALICE, reason="Now"), NOON)).feedback == "Now"


def test_a_return_brings_attempts_even_where_caps_were_lowered_meanwhile() -> None:
    at = todo(S.NEEDS_HUMAN, audits=3, order=order(safeguards={"audit_attempts": 1}))
    now = done(at, people.give_back(at, Return(actor=ALICE, extra_attempts=1), NOON))
    assert now.caps.audits - now.audits == 1


def test_a_note_changes_nothing_else() -> None:
    at = todo(S.CLAIMED)
    step = people.note(at, AddNote(actor=ALICE, content="Look at line 3"), NOON)
    now = done(at, step)
    assert rows(step) == ["noted"]
    assert now == at.model_copy(update={"notes": now.notes})
    assert isinstance(step, Step)
    assert {name: (was.before, was.after) for name, was in changed_by(step).items()} == {"note": ("", "Look at line 3")}
    assert told(people.note(at, AddNote(actor=ALICE, content=" \n"), NOON)).code == "reason_required"
    for number in range(people.MOST_NOTES + 5):
        now = done(now, people.note(now, AddNote(actor=ALICE, content=str(number)), NOON))
    assert (len(now.notes), now.notes[-1].content) == (people.MOST_NOTES, str(people.MOST_NOTES + 4))


def test_another_place_is_another_version() -> None:
    at = todo(S.CLAIMED)
    step = people.reorder(at, Reorder(actor=ALICE, order_index=4, expected_version=1), NOON)
    now = done(at, step)
    assert (rows(step), now.order_index, now.version, now.round) == (["reordered"], 4, 2, 1)
    assert told(people.reorder(now, Reorder(actor=ALICE, order_index=5, expected_version=1), NOON)).code == (
        "stale_version"
    )


@pytest.mark.parametrize("status", [s for s in TodoStatus if s is not S.CANCELLED])
def test_deleted_it_is_over_for_good(status: TodoStatus) -> None:
    at = todo(status)
    step = people.delete(at, Delete(actor=ALICE, reason="Not wanted"), NOON)
    now = done(at, step)
    assert (rows(step), now.status, now.round) == (["deleted"], S.CANCELLED, 0)
    assert now.status not in LIVE
    assert told(people.delete(at, Delete(actor=ALICE, **STALE), NOON)).code == "stale_version"
    assert told(people.note(now, AddNote(actor=ALICE, content="Hm"), NOON)).code == "illegal_transition"


@pytest.mark.parametrize("status", TodoStatus)
def test_no_worker_does_what_is_a_humans(status: TodoStatus) -> None:
    at = todo(status)
    asked: list[tuple[Any, Any]] = [
        (people.unblock, Unblock(actor=WORKER, clarification="Yes")),
        (people.reject, Reject(actor=WORKER, feedback="No")),
        (people.give_back, Return(actor=WORKER)),
        (people.note, AddNote(actor=WORKER, content="Fine")),
        (people.reorder, Reorder(actor=WORKER, order_index=0, expected_version=1)),
        (people.delete, Delete(actor=WORKER)),
    ]
    for act, request in asked:
        assert told(act(at, request, NOON)).code == "forbidden"
