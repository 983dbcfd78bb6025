"""Whose turn it is to have its worker command run."""

from __future__ import annotations

from typing import Any

from domain import sessions
from domain.requests import Drive, Pause, Resume, Stop
from domain.session import Entry, Session
from domain.status import TodoStatus as T
from tests.unit.test_sessions import ANN, LATER, after, begun, done, entry, heard

DRIVEN: dict[str, Any] = {"driven": True, "workspace": "/w"}


def driving(*entries: Entry) -> Session:
    return done(sessions.driven(begun(*entries), Drive(actor=ANN, on=True), LATER)).session


def test_one_turn_a_workspace_the_first_in_the_tree_that_can_go_on() -> None:
    session = driving(
        entry("z", **DRIVEN, order_index=0),
        entry("y", **DRIVEN, order_index=0, parent="z"),
        entry("x", **DRIVEN, order_index=1, parent="z"),
        entry("a", **DRIVEN, order_index=1),
        entry("b", driven=True, workspace="/other", order_index=2),
        entry("c", workspace="/c", order_index=3),
    )
    assert sessions.turns(session) == {"y", "b"}
    session = after(session, ("y", T.VERIFIED))
    assert sessions.turns(session) == {"x", "b"}
    session = after(session, ("x", T.VERIFIED), ("b", T.VERIFIED))
    assert sessions.turns(session) == {"z"}


def test_turns_wait_for_dependencies_and_are_told() -> None:
    session = driving(entry("a", "b", **DRIVEN), entry("b", **DRIVEN, order_index=1))
    assert sessions.turns(session) == {"b"}
    step = heard(session, "b", T.VERIFIED)
    assert step.told >= {"a", "b"}
    assert sessions.gate_of(step.session, "a", 0).turn
    assert not sessions.gate_of(step.session, "b", 0).turn


def test_whoever_has_the_turn_keeps_it_until_its_part_is_done() -> None:
    session = driving(entry("a", **DRIVEN), entry("b", **DRIVEN, order_index=1))
    session = after(session, ("a", T.CLAIMED))
    assert sessions.turns(session) == {"b"}
    session = after(session, ("b", T.IN_PROGRESS), ("a", T.IN_PROGRESS))
    assert sessions.turns(session) == {"b"}
    session = after(session, ("b", T.CLAIMED))
    assert sessions.turns(session) == {"a"}


def test_nobody_gets_a_turn_where_another_command_still_runs() -> None:
    session = driving(entry("a", **DRIVEN), entry("b", **DRIVEN, order_index=1))
    session = heard(session, "a", T.CANCELLED, busy=True).session
    assert sessions.turns(session) == frozenset()
    session = heard(session, "a", T.CANCELLED, busy=False).session
    assert sessions.turns(session) == {"b"}


def test_a_question_of_the_auditors_is_the_workers_turn() -> None:
    session = driving(entry("a", **DRIVEN))
    assert sessions.turns(heard(session, "a", T.CLAIMED).session) == frozenset()
    assert sessions.turns(heard(session, "a", T.CLAIMED, asked=True).session) == {"a"}


def test_paused_nobody_else_gets_a_turn_and_what_runs_finishes() -> None:
    session = driving(entry("a", **DRIVEN), entry("b", **DRIVEN, order_index=1))
    session = heard(session, "a", T.IN_PROGRESS, busy=True).session
    paused = done(sessions.paused(session, Pause(actor=ANN), LATER)).session
    assert sessions.turns(paused) == {"a"}
    ended = heard(paused, "a", T.CLAIMED, busy=False).session
    assert sessions.turns(ended) == frozenset()
    assert sessions.turns(done(sessions.resumed(ended, Resume(actor=ANN), LATER)).session) == {"b"}


def test_without_a_driver_or_after_a_stop_nobody_has_a_turn() -> None:
    session = driving(entry("a", **DRIVEN))
    assert sessions.turns(session) == {"a"}
    step = done(sessions.driven(session, Drive(actor=ANN, on=False), LATER))
    assert (sessions.turns(step.session), step.told) == (frozenset(), frozenset({"a"}))
    stopped = done(sessions.stopped(session, Stop(actor=ANN), LATER))
    assert not sessions.gate_of(stopped.session, "a", 0).turn
