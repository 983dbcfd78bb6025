"""What workers may do to a todo, and what the session's word, the claim itself and the last one keep them from."""

from __future__ import annotations

from typing import Any

import pytest

from domain.acts import workers
from domain.acts.step import GATE_CODES, Declined, refused
from domain.claims.claim import ClaimedEvidence
from domain.events import Actor
from domain.requests import AddEvidence, Block, Refusal, Request, Respond, Start
from domain.status import ReviewStatus, SessionStatus, TodoStatus
from domain.todo import Gate, OpenQuestion, Todo
from tests.model.todos import (
    ALICE,
    BASE,
    NOON,
    WORKER,
    admitted,
    after,
    claiming,
    done,
    in_order,
    minted,
    order,
    rows,
    todo,
    told,
)

S = TodoStatus
ASKED = OpenQuestion(question="Which?", round=1, of=3, timeout=300, deadline=after(300))
PIECE = ClaimedEvidence(label="log", type="command_output", data="2 passed")


def everything(at: Todo, actor: Actor = WORKER) -> dict[str, Any]:
    """What each command of a worker comes to there."""
    return {
        "start": workers.start(at, Start(actor=actor), BASE, NOON),
        "add_evidence": workers.add_evidence(at, AddEvidence(actor=actor, evidence=(PIECE,)), (minted("x"),), NOON),
        "claim": workers.claim(at, claiming(actor=actor), admitted("new"), NOON),
        "respond": workers.respond(at, Respond(actor=actor, answer="This"), (), NOON),
        "block": workers.block(at, Block(actor=actor, question="Which one?"), NOON),
    }


MAY = {
    S.PENDING: {"start"},
    S.IN_PROGRESS: {"add_evidence", "claim", "block"},
    S.CLAIMED: {"add_evidence", "respond"},
}


@pytest.mark.parametrize("status", TodoStatus)
def test_a_worker_may_do_what_the_table_says_and_nothing_else(status: TodoStatus) -> None:
    at = todo(status, question=ASKED if status is S.CLAIMED else None)
    for command, outcome in everything(at).items():
        if command in MAY.get(status, set()):
            done(at, outcome)
        else:
            assert told(outcome).code == "illegal_transition", command


@pytest.mark.parametrize("status", TodoStatus)
def test_no_human_claims_for_a_worker(status: TodoStatus) -> None:
    for outcome in everything(todo(status, question=ASKED), ALICE).values():
        assert told(outcome).code == "forbidden"


@pytest.mark.parametrize("status", [s for s in SessionStatus if s is not SessionStatus.RUNNING])
def test_nothing_while_the_session_does_not_run(status: SessionStatus) -> None:
    for begin, commands in MAY.items():
        at = todo(begin, question=ASKED if begin is S.CLAIMED else None, gate=Gate(number=2, status=status))
        for command, outcome in everything(at).items():
            if command in commands:
                assert told(outcome).code == f"session_{status}"
                assert told(outcome).code in GATE_CODES


def test_a_start_freezes_the_base_and_sets_the_clock_going() -> None:
    at = todo()
    step = workers.start(at, Start(actor=WORKER), BASE, NOON)
    now = done(at, step)
    assert rows(step) == ["todo_started"]
    assert step.events[0].payload["base"] == "b" * 64  # type: ignore[union-attr] # `done` has seen that it is a step
    assert (now.status, now.base, now.clock.deadline) == (S.IN_PROGRESS, BASE, after(3600))


def test_no_start_before_what_it_depends_on_and_no_claim_over_an_open_subtask() -> None:
    waiting = todo(gate=Gate(number=2, waits_for=("a", "b")))
    refusal = told(workers.start(waiting, Start(actor=WORKER), BASE, NOON))
    assert (refusal.code, "a, b" in refusal.reason) == ("dependencies_open", True)
    parent = todo(S.IN_PROGRESS, gate=Gate(number=2, open_children=tuple(f"c{n}" for n in range(12))))
    refusal = told(workers.claim(parent, claiming(), admitted(), NOON))
    assert (refusal.code, refusal.reason.endswith("and 2 more")) == ("open_children", True)
    assert {"dependencies_open", "open_children"} <= GATE_CODES
    started = todo(gate=Gate(number=2, open_children=("c",)))
    assert done(started, workers.start(started, Start(actor=WORKER), BASE, NOON)).status is S.IN_PROGRESS


def test_a_claim_is_audited_without_anybody_asking() -> None:
    at = todo(S.IN_PROGRESS, evidence=(minted("earlier", "log"),), retry_context="x", feedback="Mind the gap")
    step = workers.claim(at, claiming(), admitted(), NOON)
    now = done(at, step)
    assert rows(step) == ["todo_claimed", "audit_started"]
    assert (now.status, now.review_status, now.attempt, now.round) == (S.CLAIMED, ReviewStatus.AUDITING, 1, 1)
    assert now.claim == claiming().claim
    assert now.admitted is not None
    assert [piece.news for piece in now.admitted.evidence] == ["earlier", "news"]
    assert (now.evidence, now.trees_seen, now.news_seen) == ((), ("tree",), ("earlier", "news"))
    assert (now.feedback, now.retry_context) == ("Mind the gap", "x"), "known until there is something newer"


@pytest.mark.parametrize("explanation", ["Done.", "", "It is fixed now.", "See [nothing] that I rewrote by hand"])
def test_a_claim_that_says_nothing_is_inadmissible(explanation: str) -> None:
    refusal = workers.may_claim(todo(S.IN_PROGRESS), claiming(explanation))
    assert refusal is not None
    assert (refusal.code, "explanation" in refusal.reason) == ("inadmissible_claim", True)
    assert "expected" in refusal.next_step


def test_a_claim_needs_evidence_of_its_own_or_from_before() -> None:
    bare = claiming("Rewrote the parser by hand, see the files", evidence=False)
    at = todo(S.IN_PROGRESS)
    assert told(workers.claim(at, bare, admitted(), NOON)).code == "no_evidence"
    brought = done(at, workers.add_evidence(at, AddEvidence(actor=WORKER, evidence=(PIECE,)), (minted("x"),), NOON))
    assert done(brought, workers.claim(brought, bare, admitted("t"), NOON)).status is S.CLAIMED
    nothing = AddEvidence(actor=WORKER, evidence=())
    assert told(workers.add_evidence(at, nothing, (), NOON)).code == "no_evidence"


def test_evidence_has_an_end() -> None:
    full = todo(S.IN_PROGRESS, evidence=(minted(),) * workers.MOST_EVIDENCE)
    asked = AddEvidence(actor=WORKER, evidence=(PIECE,))
    assert told(workers.add_evidence(full, asked, (minted(),), NOON)).code == "too_much_evidence"
    assert told(workers.claim(full, claiming(), admitted(), NOON)).code == "too_much_evidence"


@pytest.mark.parametrize(
    ("tree", "news", "taken"),
    [("tree", "news", False), ("other", "news", True), ("tree", "other", True), ("other", "other", True)],
)
def test_a_second_claim_brings_something_new(tree: str, news: str, taken: bool) -> None:
    at = todo(S.IN_PROGRESS, trees_seen=("tree",), news_seen=("news",))
    outcome = workers.claim(at, claiming(), admitted(tree, news), NOON)
    if taken:
        assert done(at, outcome).status is S.CLAIMED
    else:
        assert told(outcome).code == "no_new_evidence"


def test_evidence_that_came_before_the_claim_is_news_too() -> None:
    at = todo(S.IN_PROGRESS, trees_seen=("tree",), news_seen=("news",), evidence=(minted("x"),))
    assert done(at, workers.claim(at, claiming(), admitted(), NOON)).news_seen == ("news", "x")


def test_the_same_claim_twice_in_a_row_escalates() -> None:
    at = todo(S.IN_PROGRESS, trees_seen=("tree",), news_seen=("news",))
    first = workers.claim(at, claiming(), admitted(), NOON)
    assert isinstance(first, Declined)
    assert rows(first) == ["refused"]
    assert (first.step.todo.status, first.step.todo.no_news) == (S.IN_PROGRESS, 1)
    second = workers.claim(first.step.todo, claiming(), admitted(), NOON)
    assert isinstance(second, Declined)
    in_order(first.step.todo, second.step)
    assert rows(second) == ["refused", "escalated"]
    assert second.refusal.code == "no_new_evidence"
    assert "human" not in f"{first.refusal.reason} {first.refusal.next_step}"
    assert "escalated (no_progress)" in second.refusal.reason, "who is refused learns what came of it"
    assert "wait for a human" in second.refusal.next_step
    now = second.step.todo
    assert (now.status, now.review_status, now.trigger) == (S.NEEDS_HUMAN, ReviewStatus.ESCALATED, "no_progress")


def test_a_claim_between_two_that_bring_nothing_sets_them_apart() -> None:
    at = todo(S.IN_PROGRESS, trees_seen=("tree",), news_seen=("news",), no_news=1)
    assert done(at, workers.claim(at, claiming(), admitted("new"), NOON)).no_news == 0


def test_waived_it_need_bring_nothing_once() -> None:
    at = todo(S.IN_PROGRESS, trees_seen=("tree",), news_seen=("news",), waived=True)
    now = done(at, workers.claim(at, claiming(), admitted(), NOON))
    assert (now.waived, now.trees_seen) == (False, ("tree",))


def test_what_was_known_of_the_last_claim_is_not_known_of_this_one() -> None:
    known: dict[str, Any] = {"passed": True, "objected": True, "not_passed": ("x",), "outcome": "verified"}
    at = todo(S.IN_PROGRESS, inconclusive=2, **known)
    now = done(at, workers.claim(at, claiming(), admitted("new"), NOON))
    assert (now.passed, now.objected, now.not_passed, now.outcome, now.inconclusive) == (False, False, (), "", 0)


def test_no_audit_beyond_the_cap_however_it_came_to_that() -> None:
    at = todo(S.IN_PROGRESS, audits=3)
    step = workers.claim(at, claiming(), admitted(), NOON)
    assert rows(step) == ["todo_claimed", "escalated"]
    now = done(at, step)
    assert (now.status, now.trigger, now.round) == (S.NEEDS_HUMAN, "audit_cap_exceeded", 0)
    failing = todo(S.IN_PROGRESS, audits=3, order=order(safeguards={"on_exhausted": "fail"}))
    step = workers.claim(failing, claiming(), admitted(), NOON)
    assert (rows(step), done(failing, step).status) == (["todo_claimed", "failed"], S.FAILED)


def test_an_answer_and_what_came_with_it_go_to_the_round() -> None:
    at = todo(S.CLAIMED, question=ASKED)
    brought = done(at, workers.add_evidence(at, AddEvidence(actor=WORKER, evidence=(PIECE,)), (minted("x"),), NOON))
    assert brought.question == ASKED
    step = workers.respond(brought, Respond(actor=WORKER, answer="This one"), (minted("y"),), NOON)
    now = done(brought, step)
    assert rows(step) == ["follow_up_answered"]
    assert step.events[0].payload["evidence"] == ["ev-x", "ev-y"]  # type: ignore[union-attr] # a step, see above
    assert now.admitted is not None
    assert [piece.news for piece in now.admitted.evidence] == ["news", "x", "y"]
    assert (now.question, now.evidence, now.news_seen, now.round) == (None, (), ("news", "x", "y"), 1)
    assert told(workers.respond(now, Respond(actor=WORKER, answer="Again"), (), NOON)).code == "nothing_asked"
    late = workers.add_evidence(now, AddEvidence(actor=WORKER, evidence=(PIECE,)), (minted("z"),), NOON)
    assert told(late).code == "illegal_transition"


def test_a_blocked_worker_waits_for_a_human_and_its_clock_with_it() -> None:
    at = todo(S.IN_PROGRESS)
    now = done(at, workers.block(at, Block(actor=WORKER, question="Which base?"), after(100)))
    assert (now.status, now.clock.since, now.clock.left(after(5000))) == (S.BLOCKED, None, 3500)
    assert now.question is not None
    assert (now.question.question, now.question.deadline) == ("Which base?", None)
    assert told(workers.block(at, Block(actor=WORKER, question="  "), NOON)).code == "reason_required"


def test_what_may_be_asked_says_the_same_as_the_act() -> None:
    for at in (todo(status, question=ASKED) for status in TodoStatus):
        asked: dict[str, tuple[Any, Request]] = {
            "start": (workers.may_start, Start(actor=WORKER)),
            "add_evidence": (workers.may_add_evidence, AddEvidence(actor=WORKER, evidence=(PIECE,))),
            "claim": (workers.may_claim, claiming()),
            "respond": (workers.may_respond, Respond(actor=WORKER, answer="This")),
        }
        outcomes = everything(at)
        for command, (may, request) in asked.items():
            outcome = outcomes[command]
            assert may(at, request) == (outcome if isinstance(outcome, Refusal) else None)


def test_refusals_are_counted_and_told_of_at_each_power_of_ten() -> None:
    why = Refusal(code="forbidden", reason="never", next_step="ask a human")
    at, counts = todo(), []
    for number in range(1, 1002):
        step = refused(at, "delete", WORKER, why)
        at = step.todo
        counts += [number for event in step.events if event.payload["count"] == number]
    assert counts == [1, 10, 100, 1000]


def test_a_refusal_for_another_reason_is_no_repeat() -> None:
    why = Refusal(code="stale_signature", reason="another order", next_step="sign it again")
    other = why.model_copy(update={"reason": "another attempt"})
    at, told = todo(), []
    for one in (why, other, why, other):
        step = refused(at, "approve", WORKER, one)
        at = step.todo
        told += [event.payload["reason"] for event in step.events]
    assert told == ["another order", "another attempt"]


def test_reasons_that_somebody_makes_up_do_not_fill_the_trail() -> None:
    at, rows = todo(), 0
    for number in range(1000):
        step = refused(at, "delete", WORKER, Refusal(code="forbidden", reason=str(number), next_step="ask"))
        at, rows = step.todo, rows + len(step.events)
    assert (len(at.refusals), rows) == (201, 203), "two hundred by themselves, the others as one kind: 1, 10, 100"


def test_names_that_somebody_makes_up_do_not_fill_the_todo() -> None:
    why = Refusal(code="forbidden", reason="never", next_step="ask a human")
    at = todo()
    for number in range(1000):
        at = refused(at, "delete", Actor(role="worker", identity=f"w{number}"), why).todo
    assert len(at.refusals) <= 201
    assert sum(at.refusals.values()) == 1000
