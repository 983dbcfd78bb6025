"""What `verify --verbose` says while a round runs: each stage once, by the trail, with the seed's name for it."""

from __future__ import annotations

import io
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from domain.errors import Cause, Unavailable
from domain.event_names import PIPELINE
from domain.events import HARNESS, Action, RowFilter, TrailEntry
from domain.messages import Progress, Step
from entrypoints.cli.render import Watcher
from entrypoints.cli.stages import _LINES, Stages, stage_line
from tests.fakes.trail import MemoryTrail
from tests.unit.test_cli_render import HOSTILE
from tests.unit.test_event_names import ANY_JSON
from tests.unit.test_events import AT, row

ROWS: list[tuple[Action, dict[str, Any], str]] = [
    ("verification_started", {"items": ["AC-1", "tests"]}, "▸ started  attempt 1: 2 checks written in the order"),
    ("snapshot_frozen", {"head": "h", "base": "b"}, "✓ snapshot  the work and its base are frozen"),
    ("environment_ready", {"error": "no image"}, "? environment  no image"),
    (
        "scope_assessed",
        {"changed": 2, "restored": ["a"], "dropped": 0, "violations": ["b"]},
        "✗ scope  2 changed, 1 restored, 0 left out, 1 not allowed",
    ),
    ("spec_created", {"criteria": 7, "summary": "primes"}, "✓ specification  7 criteria: primes"),
    (
        "check_rejected",
        {"criterion": "AC-2", "check": "true", "code": "vacuous", "reason": "passes on nothing", "dropped": False},
        "✗ rejected AC-2  AC-2 true [vacuous]: passes on nothing (goes back once)",
    ),
    (
        "check_rejected",
        {"criterion": "AC-2", "check": "true", "code": "vacuous", "reason": "passes on nothing", "dropped": True},
        "✗ rejected AC-2  AC-2 true [vacuous]: passes on nothing (dropped)",
    ),
    ("tests_generated", {"count": 6}, "✓ tests generated  6, 1 rejected"),
    ("check_completed", {"check": "AC-1", "outcome": "could_not_run", "code": "x"}, "? check AC-1  could not run (x)"),
    ("probe_completed", {"tested": False, "text": "nothing tests it"}, "✗ probe  nothing tests it"),
    (
        "criterion_audited",
        {"criterion": "AC-1", "assessment": "UNPROVED", "confidence": 0.5},
        "? audited AC-1  UNPROVED, confidence 0.5",
    ),
    ("follow_up_asked", {"question": "how often?"}, "· asked  how often?"),
    (
        "role_pass_completed",
        {"role": "critic", "stage": "argument", "outcome": "answered", "scripted": True},
        "✓ argued  by the critic, scripted",
    ),
    (
        "role_pass_completed",
        {"role": "judge", "stage": "judgement", "outcome": "timed_out", "why": "300 s"},
        "? judge  timed out: 300 s",
    ),
    (
        "criterion_judged",
        {"criterion": "AC-1", "verdict": "FAIL", "confidence": 0.9, "first": "critic"},
        "✗ judged AC-1  FAIL, confidence 0.9, the critic read first",
    ),
    (
        "audit_completed",
        {"result": "FAIL", "outcome": "changes_requested", "reasons": ["judge_failed"]},
        "✗ verdict  FAIL, changes requested: judge_failed",
    ),
]


def recorded(trail: MemoryTrail, *rows: tuple[Action, dict[str, Any]], todo: str = "wo-1", attempt: int = 1) -> None:
    begun = len(list(trail.rows(RowFilter())))
    for ordinal, (action, payload) in enumerate(rows, begun + 1):
        trail.append(
            TrailEntry(
                workflow_id=f"round/local/{todo}/{attempt}",
                ordinal=ordinal,
                session="local",
                todo_id=todo,
                attempt=attempt,
                actor=HARNESS,
                action=action,
                payload=payload,
                timestamp=AT,
            )
        )


def test_each_stage_is_told_once_as_it_ends() -> None:
    trail = MemoryTrail()
    stages = Stages(trail, "local", "wo-1", 1)
    assert list(stages.new()) == []
    recorded(trail, ("check_completed", {}), todo="wo-2")
    recorded(trail, ("check_completed", {}), attempt=2)
    told = []
    for action, payload, _ in ROWS:
        recorded(trail, (action, payload))
        told += [line.plain for line in stages.new()]
    names = [f"  {PIPELINE[action].name}" if action in PIPELINE else "" for action, _, _ in ROWS]
    assert told == [said + name for (_, _, said), name in zip(ROWS, names, strict=True)]
    assert list(stages.new()) == []


def test_every_event_of_the_seed_is_a_stage() -> None:
    assert set(PIPELINE) <= set(_LINES)


@pytest.mark.parametrize(
    "payload",
    [
        {"role": "auditor", "stage": "informed", "outcome": "answered"},
        {"role": "auditor", "stage": "blind", "outcome": "wants_tests"},
        {"role": "judge", "stage": "judgement", "outcome": "answered"},
    ],
)
def test_what_another_row_tells_is_not_told_twice(payload: dict[str, Any]) -> None:
    assert stage_line(row(action="role_pass_completed", payload=payload)) is None


def test_a_trail_that_is_away_tells_it_later() -> None:
    trail = MemoryTrail()
    stages = Stages(trail, "local", "wo-1", 1)
    recorded(trail, ("spec_created", {"criteria": 1, "summary": "x"}))
    trail.memory.trouble = Unavailable(Cause.STORE_UNAVAILABLE, "gone", "wait")
    assert list(stages.new()) == []
    trail.memory.trouble = None
    assert [line.plain for line in stages.new()] == ["✓ specification  1 criteria: x  verify.spec_created"]


@given(
    action=st.sampled_from(get_args(Action)),
    payload=st.dictionaries(
        st.sampled_from(
            ["items", "error", "changed", "criteria", "dropped", "check", "outcome", "result", "reasons", "assessment"]
        ),
        ANY_JSON | st.just(HOSTILE),
    ),
)
def test_a_row_of_any_version_can_be_told_and_steers_nothing(action: Action, payload: dict[str, Any]) -> None:
    line = stage_line(row(action=action, payload=payload), 2)
    assert line is None or all(c.isprintable() for c in line.plain)


def test_stages_are_plain_lines_where_nobody_watches_and_replace_those_of_each_change() -> None:
    trail, stream = MemoryTrail(), io.StringIO()
    step = Step(id="tests", parent="checks", label="pytest", status="running")
    with Watcher(Console(file=stream, width=200)) as watcher:
        watcher.stages = Stages(trail, "local", "wo-1", 1)
        watcher.see(Progress(steps=(step,)))
        recorded(trail, ("check_completed", {"check": "tests", "outcome": "passed", "code": "ok"}))
        watcher.see(Progress(steps=(step,), waits="for the database"))
        recorded(trail, ("audit_completed", {"result": "PASS", "outcome": "verified", "reasons": []}))
        watcher.tell_stages()
    assert stream.getvalue().splitlines() == [
        "✓ check tests  passed (ok)  verify.test_executed",
        "… waits: for the database",
        "✓ verdict  PASS, verified  verify.verdict",
    ]
