"""The rules of sessions, one by one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from domain import sessions
from domain.events import Actor
from domain.new_todos import MAX_TODOS, cycle_of
from domain.requests import Drive, Pause, Refusal, Request, Resume, Stop
from domain.session import Entry, Session, TodoReport
from domain.sessions import SessionStep
from domain.standing import MOST_ASKED, holding, said, standing_of
from domain.status import SessionStatus, TodoStatus

NOW = datetime(2026, 1, 15, 10, 5, 1, tzinfo=UTC)
LATER = NOW + timedelta(seconds=60)
ANN = Actor(role="unattributed", identity="ann")
BOT = Actor(role="worker", identity="bot")
S, T = SessionStatus, TodoStatus


def entry(id: str, *needs: str, **fields: Any) -> Entry:
    return Entry(id=id, depends_on=needs, **{"workspace": id, "terms": "t", **fields})


def new(**fields: Any) -> Session:
    given = {"id": "s", "host": "h", "created_by": ANN, "created_at": NOW, "deadline": NOW, "terms": "t", **fields}
    return Session(**given)


def begun(*entries: Entry, **fields: Any) -> Session:
    return done(sessions.opened(new(**fields), ANN, entries, NOW)).session


def done(outcome: SessionStep | Refusal) -> SessionStep:
    assert isinstance(outcome, SessionStep), outcome
    return outcome


def code(outcome: SessionStep | Refusal) -> str:
    assert isinstance(outcome, Refusal), outcome
    return outcome.code


def report(session: Session, todo: str, status: TodoStatus, **fields: Any) -> TodoReport:
    stood = session.todos[todo]
    names = ("parent", "depends_on", "order_index", "workspace", "driven", "pauses", "busy", "asked")
    kept = {name: getattr(stood, name) for name in names}
    return TodoReport(**{"todo": todo, "number": stood.report + 1, "status": status, **kept, **fields})


def heard(session: Session, todo: str, status: TodoStatus, **fields: Any) -> SessionStep:
    return sessions.heard(session, report(session, todo, status, **fields), LATER)


def after(session: Session, *moves: tuple[str, TodoStatus]) -> Session:
    for todo, status in moves:
        session = heard(session, todo, status).session
    return session


def actions(step: SessionStep) -> list[str]:
    return [event.action for event in step.events]


def test_of_many_dependencies_that_open_again_at_once_the_same_one_is_named_in_every_process() -> None:
    """A subtask that lives again opens all that is above it."""
    chain = [f"t{number:02}" for number in range(40)]
    above = [entry(todo, parent=parent) for parent, todo in zip(["", *chain], chain, strict=False)]
    session = begun(*above, entry("z", *chain[:-1]))
    session = after(session, *((todo, T.VERIFIED) for todo in reversed(chain)), ("z", T.IN_PROGRESS))
    step = heard(session, chain[-1], T.IN_PROGRESS)
    assert step.session.todos["z"].reopened == chain[-2]


def test_a_session_opens_with_its_todos_and_one_row() -> None:
    step = done(sessions.opened(new(timeout=100.0, order="o"), ANN, (entry("a"), entry("b", "a")), LATER))
    assert actions(step) == ["session_created"]
    assert step.events[0].payload == {"todos": 2, "timeout": 100.0, "order": "o"}
    assert step.session.deadline == LATER + timedelta(seconds=100)
    assert step.told == frozenset()
    assert sessions.gate_of(step.session, "b", 0).waits_for == ("a",)


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ((entry("a"), entry("a")), "id_taken"),
        ((entry("a", parent="x"),), "unknown_todo"),
        ((entry("a", "x"),), "unknown_todo"),
        ((entry("c", parent="p"), entry("p")), "unknown_todo"),
        ((entry("a", "a"),), "dependency_cycle"),
        ((entry("a", "b"), entry("b", "c"), entry("c", "a")), "dependency_cycle"),
        ((entry("p"), entry("c", "p", parent="p")), "dependency_cycle"),
        ((entry("p", "c"), entry("c", parent="p")), None),
        ((entry("p"), entry("x", "p"), entry("c", "x", parent="p")), "dependency_cycle"),
        ((entry("p", "q"), entry("c", parent="p"), entry("q"), entry("d", "c", parent="q")), None),
        ((entry("a"), entry("b", "a"), entry("c", "a", "b"), entry("d", "b", "c", parent="c")), "dependency_cycle"),
        ((entry("a"), entry("b", "a"), entry("c", "a", "b"), entry("d", "b", "a", parent="c")), None),
    ],
)
def test_what_may_not_be_in_a_session(entries: tuple[Entry, ...], expected: str | None) -> None:
    outcome = sessions.opened(new(), ANN, entries, NOW)
    assert (outcome.code if isinstance(outcome, Refusal) else None) == expected


def test_a_circle_is_told_from_end_to_end() -> None:
    todos = {one.id: one for one in (entry("a", "b"), entry("b", "c"), entry("c", "b"))}
    assert cycle_of(todos, ["a"]) == ("b", "c", "b")


def test_a_long_chain_is_no_circle() -> None:
    todos = {str(n): entry(str(n), str(n + 1)) for n in range(5000)} | {"5000": entry("5000")}
    assert cycle_of(todos, todos) == ()


def test_a_session_has_room_for_so_many() -> None:
    full = new(todos={str(n): entry(str(n)) for n in range(MAX_TODOS)})
    assert code(sessions.created(full, ANN, (entry("more"),), NOW)) == "too_many_todos"


@pytest.mark.parametrize(
    ("status", "actor", "expected"),
    [
        (S.RUNNING, BOT, None),
        (S.PAUSED, BOT, "session_paused"),
        (S.STOPPED, BOT, "session_stopped"),
        (S.TIMED_OUT, BOT, "session_timed_out"),
        (S.COMPLETED, BOT, "session_completed"),
        (S.PAUSED, ANN, None),
        (S.STOPPED, ANN, "session_stopped"),
        (S.TIMED_OUT, ANN, "session_timed_out"),
        (S.COMPLETED, ANN, None),
    ],
)
def test_who_may_create_when(status: SessionStatus, actor: Actor, expected: str | None) -> None:
    session = begun(entry("a")).model_copy(update={"status": status})
    outcome = sessions.created(session, actor, (entry("b"),), LATER)
    assert (outcome.code if isinstance(outcome, Refusal) else None) == expected


def test_an_agents_todo_has_the_gate_of_its_parent_or_of_the_session() -> None:
    session = begun(entry("p", terms="p"))
    assert "a" in done(sessions.created(session, BOT, (entry("a"),), LATER)).session.todos
    assert "c" in done(sessions.created(session, BOT, (entry("c", parent="p", terms="p"),), LATER)).session.todos
    for wrong in (entry("a", terms="x"), entry("a", parent="p", terms="t"), entry("a", driven=True)):
        assert code(sessions.created(session, BOT, (wrong,), LATER)) == "not_yours"
    assert code(sessions.created(begun(entry("p"), terms=""), BOT, (entry("a", terms=""),), LATER)) == "no_template"
    assert "a" in done(sessions.created(session, ANN, (entry("a", terms="x", driven=True),), LATER)).session.todos


def test_no_subtask_of_what_was_deleted() -> None:
    session = after(begun(entry("a"), entry("b")), ("a", T.CANCELLED))
    assert code(sessions.created(session, ANN, (entry("c", parent="a"),), LATER)) == "illegal_transition"
    assert code(sessions.created(session, ANN, (entry("a"),), LATER)) == "id_taken"


def test_a_new_subtask_tells_every_ancestor_and_nobody_else() -> None:
    session = begun(entry("g"), entry("p", parent="g"), entry("x"))
    session = after(session, ("p", T.VERIFIED), ("g", T.VERIFIED))
    step = done(sessions.created(session, ANN, (entry("c", parent="p"),), LATER))
    assert step.told == {"g", "p"}
    assert sessions.gate_of(step.session, "p", 0).open_children == ("c",)
    assert sessions.gate_of(step.session, "g", 0).open_children == ("p",)


def test_a_todo_created_in_a_completed_session_lets_it_run_again() -> None:
    session = after(begun(entry("a")), ("a", T.VERIFIED))
    step = done(sessions.created(session, ANN, (entry("b"),), LATER))
    assert (session.status, step.session.status) == (S.COMPLETED, S.RUNNING)
    assert actions(step) == ["resumed"]
    assert step.told == frozenset(), "its first gate comes with its start"


def test_a_report_that_is_older_changes_nothing() -> None:
    session = after(begun(entry("a")), ("a", T.IN_PROGRESS), ("a", T.CLAIMED))
    old = report(session, "a", T.IN_PROGRESS, number=1)
    step = sessions.heard(session, old, LATER)
    assert step.session.todos == session.todos
    assert (step.events, step.told) == ((), frozenset())
    again = sessions.heard(session, report(session, "a", T.CLAIMED, number=2), LATER)
    assert again.told == {"a"}
    unknown = old.model_copy(update={"todo": "z"})
    assert sessions.heard(session, unknown, LATER).session.todos == session.todos


def test_whoever_asks_or_lives_again_is_told_and_nobody_for_less() -> None:
    session = begun(entry("a"), entry("b"))
    assert heard(session, "a", T.IN_PROGRESS).told == frozenset()
    assert heard(session, "a", T.PENDING, asks=True).told == {"a"}
    assert heard(session, "a", T.PENDING, order_index=3).told == frozenset()
    step = heard(session, "a", T.VERIFIED)
    assert step.told == frozenset()
    paused = done(sessions.paused(step.session, Pause(actor=ANN), LATER))
    assert paused.told == {"b"}
    assert heard(paused.session, "a", T.IN_PROGRESS).told == {"a"}


def test_verified_lets_dependants_go_and_a_reopening_flags_those_that_began() -> None:
    session = begun(entry("a"), entry("b", "a"), entry("c", "a"))
    step = heard(session, "a", T.VERIFIED)
    assert step.told == {"b", "c"}
    session = after(step.session, ("b", T.IN_PROGRESS))
    step = heard(session, "a", T.IN_PROGRESS)
    gates = said(step.session, step.told)[1]
    assert {todo: (gate.waits_for, gate.dependency_reopened) for todo, gate in gates.items()} == {
        "a": ((), ""),
        "b": (("a",), "a"),
        "c": (("a",), ""),
    }
    step = heard(step.session, "a", T.VERIFIED)
    assert said(step.session, ["b"])[1]["b"].dependency_reopened == ""


def test_a_dependant_waits_for_the_subtasks_of_what_it_depends_on() -> None:
    session = after(begun(entry("p"), entry("c", parent="p"), entry("d", "p")), ("p", T.VERIFIED))
    assert sessions.gate_of(session, "d", 0).waits_for == ("p",)
    step = heard(session, "c", T.VERIFIED)
    assert "d" in step.told
    assert sessions.gate_of(step.session, "d", 0).waits_for == ()


def test_whose_next_report_may_open_a_gate() -> None:
    session = begun(entry("p"), entry("c", parent="p"), entry("g", parent="c"), entry("d", "p", "e"), entry("e"))
    assert holding(session, "d") == {"p", "c", "g", "e"}
    assert holding(session, "p") == {"c", "g"}
    assert holding(after(session, ("e", T.VERIFIED), ("g", T.VERIFIED)), "d") == {"p", "c"}
    assert holding(session, "g") == holding(session, "unknown") == frozenset()
    many = tuple(entry(f"c{number}", parent="p") for number in range(MOST_ASKED))
    assert len(holding(begun(entry("p"), *many), "p")) == MOST_ASKED
    assert holding(begun(entry("p"), *many, entry("last", parent="p")), "p") == frozenset()


@pytest.mark.parametrize("status", T)
def test_a_child_holds_its_parent_until_it_is_verified_or_deleted(status: TodoStatus) -> None:
    session = after(begun(entry("p"), entry("c", parent="p"), entry("z")), ("c", status))
    held = status not in (T.VERIFIED, T.CANCELLED)
    assert (sessions.gate_of(session, "p", 0).open_children == ("c",)) is held


def test_a_grandchild_that_opens_again_reaches_every_ancestor_at_once() -> None:
    session = begun(entry("g"), entry("p", parent="g"), entry("c", parent="p"))
    session = after(session, ("c", T.VERIFIED), ("p", T.VERIFIED), ("g", T.VERIFIED))
    step = heard(session, "c", T.IN_PROGRESS)
    assert step.told == {"g", "p", "c"}
    assert sessions.gate_of(step.session, "g", 0).open_children == ("p",)


def test_what_is_below_a_deleted_todo_holds_nobody() -> None:
    session = begun(entry("g"), entry("p", parent="g"), entry("c", parent="p"))
    session = after(session, ("p", T.CANCELLED))
    assert standing_of(session.todos).open == {"g", "c"}


def test_gates_are_numbered_and_have_heard_the_last_report() -> None:
    session = after(begun(entry("a")), ("a", T.IN_PROGRESS))
    session, gates = said(session, ["a"])
    assert (gates["a"].number, gates["a"].heard) == (1, 1)
    assert said(session, ["a"])[1]["a"].number == 2
    assert sessions.gate_of(session, "a", 7) == gates["a"].model_copy(update={"number": 2, "heard": 7})


def test_an_escalation_pauses_and_the_last_that_is_resolved_resumes() -> None:
    session = begun(entry("a"), entry("b"), entry("c"))
    step = heard(session, "a", T.NEEDS_HUMAN)
    assert actions(step) == ["paused"]
    assert step.events[0].payload["escalation"] == "a"
    assert step.told == {"a", "b", "c"}
    step = heard(step.session, "b", T.NEEDS_HUMAN)
    assert (actions(step), step.told) == ([], frozenset())
    step = heard(step.session, "a", T.IN_PROGRESS)
    assert (actions(step), step.session.status) == ([], S.PAUSED)
    step = heard(step.session, "b", T.VERIFIED)
    assert (actions(step), step.session.status) == (["resumed"], S.RUNNING)
    assert step.events[0].actor.role == "system"
    assert step.told == {"a", "c"}


def test_an_escalation_does_not_pause_where_the_order_says_so() -> None:
    step = heard(begun(entry("a", pauses=False), entry("b")), "a", T.NEEDS_HUMAN)
    assert (step.session.status, step.session.todos["a"].escalated) == (S.RUNNING, True)


@pytest.mark.parametrize(("trigger", "pauses"), [("hard_fail", True), ("audit_cap_exceeded", False)])
def test_a_failed_todo_is_an_escalation_only_after_a_hard_fail(trigger: str, pauses: bool) -> None:
    step = heard(begun(entry("a"), entry("b")), "a", T.FAILED, trigger=trigger)
    assert (step.session.status is S.PAUSED) is pauses


def test_a_human_resumes_over_open_escalations_and_the_next_one_pauses_again() -> None:
    session = after(begun(entry("a"), entry("b")), ("a", T.NEEDS_HUMAN))
    step = done(sessions.resumed(session, Resume(actor=ANN, reason="go on"), LATER))
    assert (step.session.status, step.session.resumed_over, actions(step)) == (S.RUNNING, frozenset({"a"}), ["resumed"])
    assert step.events[0].actor == ANN
    assert heard(step.session, "b", T.NEEDS_HUMAN).session.status is S.PAUSED
    again = after(step.session, ("a", T.IN_PROGRESS))
    assert again.resumed_over == frozenset()
    assert after(again, ("a", T.NEEDS_HUMAN)).status is S.PAUSED


def test_a_humans_pause_outlasts_an_escalation() -> None:
    session = after(begun(entry("a"), entry("b")), ("a", T.NEEDS_HUMAN))
    step = done(sessions.paused(session, Pause(actor=ANN, reason="lunch"), LATER))
    assert actions(step) == ["paused"]
    session = after(step.session, ("a", T.IN_PROGRESS))
    assert session.status is S.PAUSED
    assert done(sessions.resumed(session, Resume(actor=ANN), LATER)).session.status is S.RUNNING


def test_pausing_tells_everybody_who_lives_and_doing_it_twice_does_nothing() -> None:
    session = after(begun(entry("a"), entry("b"), entry("c")), ("b", T.VERIFIED))
    step = done(sessions.paused(session, Pause(actor=ANN), LATER))
    assert step.told == {"a", "c"}
    assert step.events[0].before["status"] == "running"
    assert step.events[0].after["status"] == "paused"
    assert done(sessions.paused(step.session, Pause(actor=ANN), LATER)).events == ()
    assert done(sessions.resumed(session, Resume(actor=ANN), LATER)).events == ()


def test_stopped_is_the_end_whatever_becomes_of_its_todos() -> None:
    step = done(sessions.stopped(begun(entry("a")), Stop(actor=ANN), LATER))
    assert (actions(step), step.told) == (["stopped"], frozenset({"a"}))
    assert after(step.session, ("a", T.VERIFIED)).status is S.STOPPED
    assert done(sessions.stopped(step.session, Stop(actor=ANN), LATER)).events == ()
    assert code(sessions.resumed(step.session, Resume(actor=ANN), LATER)) == "session_stopped"
    assert code(sessions.paused(step.session, Pause(actor=ANN), LATER)) == "session_stopped"
    assert code(sessions.driven(step.session, Drive(actor=ANN, on=True), LATER)) == "session_stopped"
    assert done(sessions.driven(step.session, Drive(actor=ANN, on=False), LATER)).events == ()


def test_a_worker_never_has_the_commands_of_a_session() -> None:
    session = begun(entry("a"))
    assert code(sessions.paused(session, Pause(actor=BOT), LATER)) == "forbidden"
    assert code(sessions.resumed(session, Resume(actor=BOT), LATER)) == "forbidden"
    assert code(sessions.stopped(session, Stop(actor=BOT), LATER)) == "forbidden"
    assert code(sessions.driven(session, Drive(actor=BOT, on=True), LATER)) == "forbidden"


def test_it_completes_when_all_have_ended_and_runs_again_with_one_that_lives() -> None:
    session = after(begun(entry("a"), entry("b"), entry("c")), ("a", T.VERIFIED), ("b", T.FAILED))
    assert session.status is S.RUNNING
    step = heard(session, "c", T.CANCELLED)
    assert actions(step) == ["session_completed"]
    assert step.events[0].payload == {"verified": 1, "failed": 1, "cancelled": 1}
    back = heard(step.session, "a", T.IN_PROGRESS)
    assert (actions(back), back.session.status) == (["resumed"], S.RUNNING)
    assert heard(back.session, "a", T.VERIFIED).session.status is S.COMPLETED


def test_it_completes_also_while_paused_and_is_paused_when_it_lives_again() -> None:
    session = done(sessions.paused(begun(entry("a")), Pause(actor=ANN), LATER)).session
    session = after(session, ("a", T.VERIFIED))
    assert session.status is S.COMPLETED
    assert after(session, ("a", T.IN_PROGRESS)).status is S.PAUSED


def test_a_session_without_todos_is_not_completed() -> None:
    assert done(sessions.driven(begun(), Drive(actor=ANN, on=True), LATER)).session.status is S.RUNNING


def test_time_is_over_for_what_is_unfinished_also_while_paused() -> None:
    session = after(begun(entry("a"), entry("b"), timeout=60.0), ("a", T.VERIFIED))
    session = done(sessions.paused(session, Pause(actor=ANN), NOW)).session
    early = sessions.timed_out(session, NOW + timedelta(seconds=59))
    assert early.session.status is S.PAUSED
    step = sessions.timed_out(session, NOW + timedelta(seconds=60))
    assert actions(step) == ["session_timed_out"]
    assert step.events[0].payload == {"timeout": 60.0, "unfinished": ["b"]}
    assert (step.session.status, step.told) == (S.TIMED_OUT, frozenset({"b"}))
    assert after(step.session, ("b", T.VERIFIED)).status is S.TIMED_OUT


def test_what_is_completed_has_no_time_to_run_out_and_gets_it_anew() -> None:
    session = after(begun(entry("a"), timeout=50.0), ("a", T.VERIFIED))
    assert sessions.timed_out(session, LATER).events == ()
    back = after(session, ("a", T.IN_PROGRESS))
    assert back.deadline == LATER + timedelta(seconds=50)


def test_a_session_retires_thirty_days_after_anything_happened() -> None:
    session = after(begun(entry("a"), entry("b")), ("a", T.VERIFIED), ("b", T.CANCELLED))
    assert not sessions.retired(session, LATER + timedelta(days=29, hours=23)).session.retired
    step = sessions.retired(session, LATER + timedelta(days=30))
    assert (step.session.retired, step.told, step.events) == (True, frozenset({"a", "b"}), ())
    assert said(step.session, ["a"])[1]["a"].retired
    running = begun(entry("a"))
    assert not sessions.retired(running, LATER + timedelta(days=300)).session.retired


def test_repeated_refusals_are_counted_and_told_at_powers_of_ten() -> None:
    session, told = begun(entry("a")), []
    why = Refusal(code="forbidden", reason="no", next_step="ask")
    for number in range(1, 101):
        step = sessions.refused(session, "stop", Request(actor=BOT), why)
        session = step.session
        told += [number] * len(step.events)
    assert told == [1, 10, 100]
    other = why.model_copy(update={"reason": "not that either"})
    assert len(sessions.refused(session, "stop", Request(actor=BOT), other).events) == 1


def test_names_that_askers_choose_fill_no_session() -> None:
    session = begun(entry("a"))
    why = Refusal(code="forbidden", reason="no", next_step="ask")
    for number in range(500):
        session = sessions.refused(
            session, "stop", Request(actor=Actor(role="worker", identity=str(number))), why
        ).session
    assert len(session.refusals) < 300


def test_a_session_counts_what_befalls_its_status() -> None:
    session = begun(entry("a"), entry("b"))
    assert session.version == 1
    seen = [session.version]
    acts: list[Callable[[Session], Any]] = [
        lambda at: sessions.paused(at, Pause(actor=ANN), LATER),
        lambda at: sessions.paused(at, Pause(actor=ANN), LATER),
        lambda at: sessions.resumed(at, Resume(actor=ANN), LATER),
        lambda at: sessions.resumed(at, Resume(actor=ANN), LATER),
        lambda at: heard(at, "b", T.IN_PROGRESS),
        lambda at: heard(at, "a", T.NEEDS_HUMAN),
        lambda at: sessions.paused(at, Pause(actor=ANN), LATER),
        lambda at: sessions.driven(at, Drive(actor=ANN, on=True), LATER),
        lambda at: sessions.timed_out(at, LATER + timedelta(days=9)),
    ]
    for act in acts:
        step = done(act(session))
        versions = [event.after["version"] for event in step.events]
        assert versions == list(range(session.version + 1, session.version + 1 + len(versions)))
        session = step.session
        seen.append(session.version)
    assert seen == [1, 2, 2, 3, 3, 3, 4, 5, 5, 6], "that a person pauses what an escalation has paused is one, too"


def test_completion_and_stop_are_versions_too() -> None:
    session = after(begun(entry("a")), ("a", T.VERIFIED))
    assert (session.status, session.version) == (S.COMPLETED, 2)
    assert heard(session, "a", T.IN_PROGRESS).session.version == 3
    assert done(sessions.stopped(begun(entry("a")), Stop(actor=ANN), LATER)).session.version == 2


@pytest.mark.parametrize(
    ("act", "kind"), [(sessions.paused, Pause), (sessions.resumed, Resume), (sessions.stopped, Stop)]
)
@pytest.mark.parametrize("status", [S.RUNNING, S.PAUSED, S.STOPPED])
def test_a_person_may_say_which_version_of_a_session_they_have_seen(act: Any, kind: Any, status: SessionStatus) -> None:
    session = begun(entry("a")).model_copy(update={"version": 3, "status": status})
    for other in (0, 2, 4):
        refusal = act(session, kind(actor=ANN, expected_version=other), LATER)
        assert (code(refusal), "version 3" in refusal.reason) == ("stale_version", True)
        assert code(act(session, kind(actor=BOT, expected_version=other), LATER)) == "forbidden"
    unasked, seen = (act(session, kind(actor=ANN, expected_version=fits), LATER) for fits in (None, 3))
    assert seen == unasked


def test_a_subtask_is_of_the_version_of_its_parent() -> None:
    session = heard(begun(entry("p"), entry("q")), "p", T.IN_PROGRESS, version=4).session
    session = session.model_copy(update={"version": 7})
    below, beside = (entry("c", parent="p"),), (entry("c"),)
    for entries, version, what in ((below, 4, "the todo p"), (beside, 7, "the session")):
        for other in (version - 1, version + 1):
            refusal = sessions.created(session, ANN, entries, LATER, other)
            assert code(refusal) == "stale_version"
            assert f"{what} is at version {version}" in refusal.reason  # type: ignore[union-attr]  # it is a refusal
        for fits in (version, None):
            assert "c" in done(sessions.created(session, ANN, entries, LATER, fits)).session.todos


def test_what_an_act_changed_is_told_by_field() -> None:
    session = begun(entry("a"))
    paused = done(sessions.paused(session, Pause(actor=ANN), LATER)).session
    told = {name: (one.before, one.after) for name, one in sessions.changed(session, paused).items()}
    assert told == {"status": ("running", "paused"), "version": (1, 2), "paused_by_human": (False, True)}
    joined = done(sessions.created(session, ANN, (entry("b"),), LATER)).session
    assert {name: (one.before, one.after) for name, one in sessions.changed(session, joined).items()} == {
        "todos": (1, 2)
    }
    assert sessions.changed(paused, paused) == {}


def test_the_rows_of_a_session_say_how_a_person_was_established_and_which_marks_an_agent_had() -> None:
    session = begun(entry("a"))
    human = Actor(role="unattributed", identity="ann")
    paused = done(sessions.paused(session, Pause(actor=human, established="terminal"), LATER))
    assert paused.events[0].payload["established"] == "terminal"
    stopped = done(sessions.stopped(session, Stop(actor=human, established="signed"), LATER))
    assert stopped.events[0].payload["established"] == "said", "there is no signature"
    opened = done(sessions.opened(new(), human, (entry("a"),), NOW, None, "terminal"))
    assert opened.events[0].payload["established"] == "terminal"
    why = Refusal(code="forbidden", reason="no", next_step="ask")
    agent = Pause(actor=BOT, marks=("CLAUDECODE",))
    assert sessions.refused(session, "pause", agent, why).events[0].payload["marks"] == ["CLAUDECODE"]
