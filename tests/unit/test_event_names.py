"""The seeds' names for the trail's events: which there are, with which fields, and that any row can be named."""

from __future__ import annotations

import re
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.decision import RoundOutcome
from domain.event_kinds import KINDS
from domain.event_names import (
    AUDITOR_ACTORS,
    AUTHORITY,
    NAMES,
    OUTCOMES,
    OVERRIDES,
    PIPELINE,
    VOCABULARIES,
    Vocabulary,
    event_json,
    named,
)
from domain.events import Action, Actor, Role, TrailRow
from tests.unit.test_events import row

STAMP = "2026-01-15T10:05:01.987654Z"


def shown(vocabulary: Vocabulary, **fields: Any) -> dict[str, Any] | None:
    it = row(attempt=2, **fields)
    event = named(it, vocabulary)
    return None if event is None else dict(event_json(it, event, vocabulary))


def test_the_authoritys_events_have_the_seeds_names_and_fields() -> None:
    """Seed `authority` 8 and 5.3, and its invariant that scope violations and retry contexts are events."""
    task = ("task_id", "attempt_id")
    assert {name.name: tuple(name.fields) for name in AUTHORITY.values()} == {
        "CheckStarted": ("check_name", *task),
        "CheckCompleted": ("check_name", *task, "passed", "exit_code", "duration_ms"),
        "VerificationStarted": task,
        "VerificationCompleted": (*task, "outcome", "reasoning"),
        "HumanOverride": ("user", "task_id", "override_type", "reason", "timestamp"),
        "RetryContextAssembled": (*task, "attempt_number", "max_attempts", "failures"),
        "ScopeViolationDetected": (*task, "paths", "violations_total"),
    }


def test_the_pipelines_events_have_the_seeds_names_and_data() -> None:
    """Seed `pipeline` "Events Emitted"."""
    assert {name.name: tuple(name.fields)[1:] for name in PIPELINE.values()} == {
        "verify.started": ("process_id",),
        "verify.spec_created": ("summary",),
        "verify.tests_generated": ("test_count",),
        "verify.test_executed": ("criterion", "passed"),
        "verify.audited": ("criterion", "assessment"),
        "verify.verdict": ("verdict", "reasoning"),
    }
    assert {next(iter(name.fields)) for name in PIPELINE.values()} == {"work_order_id"}


@pytest.mark.parametrize(
    "action",
    [
        *("todo_created", "todo_started", "todo_claimed", "audit_started", "audit_completed", "approved"),
        *("changes_requested", "escalated", "human_override", "paused", "resumed"),
    ],
)
def test_the_auditors_actions_are_ours(action: Action) -> None:
    """Seed `auditor` 6.2: its eleven events, under the same names."""
    assert shown("auditor", action=action) == {
        "event_id": "e",
        "timestamp": STAMP,
        "todo_id": "abc123",
        "actor": "auditor" if action in ("audit_completed", "approved", "changes_requested") else "system",
        "action": action,
        "before_state": {},
        "after_state": {},
        "payload": {},
    }


@pytest.mark.parametrize("action", get_args(Action))
def test_the_fields_that_are_mapped_are_in_the_payload(action: Action) -> None:
    for table in NAMES.values():
        for source in table[action].fields.values() if action in table else ():
            for field in re.findall(r"`(\w+)`", source.words):
                assert field in KINDS[action].payload.model_fields


def test_the_auditor_has_four_words_for_actors() -> None:
    assert set(AUDITOR_ACTORS) == set(get_args(Role))
    assert set(AUDITOR_ACTORS.values()) == {"worker", "auditor", "human", "system"}
    unsigned = shown("auditor", action="human_override", actor=Actor(role="unattributed", identity="ada"))
    assert unsigned is not None
    assert unsigned["actor"] != "human", "what nobody signed is not said to be a human's"


def test_a_round_that_begins_the_review_is_the_audit_that_started() -> None:
    began = {"action": "verification_started", "after": {"status": "claimed", "review_status": "auditing"}}
    first = shown("auditor", **began)
    later = shown("auditor", **began, before={"status": "claimed", "review_status": "auditing"})
    assert first is not None
    assert later is not None
    assert (first["action"], later["action"]) == ("audit_started", "verification_started")


def test_a_check_in_the_authoritys_words() -> None:
    payload = {"check": "tests", "passed": False, "exit_code": 1, "duration_ms": 30, "outcome": "failed"}
    assert shown("authority", action="check_completed", payload=payload) == {
        "event": "CheckCompleted",
        "event_id": "e",
        "timestamp": STAMP,
        "check_name": "tests",
        "task_id": "abc123",
        "attempt_id": "local/abc123/2",
        "passed": False,
        "exit_code": 1,
        "duration_ms": 30,
    }


@pytest.mark.parametrize(
    ("outcome", "word"),
    [
        ("verified", "PASS"),
        ("changes_requested", "SOFT_FAIL"),
        ("failed", "HARD_FAIL"),
        ("needs_human", "SOFT_FAIL"),
        ("inconclusive", "SOFT_FAIL"),
    ],
)
def test_a_verdict_in_the_authoritys_words(outcome: str, word: str) -> None:
    completed = shown("authority", payload={"outcome": outcome, "reasons": ["check_failed", "scope_violation"]})
    assert completed is not None
    assert (completed["event"], completed["outcome"]) == ("VerificationCompleted", word)
    assert completed["reasoning"] == f"{outcome}: check_failed, scope_violation"
    assert set(OUTCOMES) == {each.value for each in RoundOutcome}


@pytest.mark.parametrize("verdict", ["PASS", "FAIL", "INCONCLUSIVE"])
def test_a_verdict_in_the_pipelines_words(verdict: str) -> None:
    assert shown("pipeline", payload={"result": verdict, "outcome": "x", "reasons": []}) == {
        "event": "verify.verdict",
        "event_id": "e",
        "timestamp": STAMP,
        "work_order_id": "abc123",
        "verdict": verdict,
        "reasoning": "x",
    }


def test_a_verdict_has_the_judges_reasons_where_it_has_a_word() -> None:
    """Seed `pipeline` "Events Emitted": the verdict with its reasoning."""
    payload = {"result": "FAIL", "outcome": "changes_requested", "reasons": ["judge_failed"]}
    judged = shown("pipeline", payload={**payload, "reasoning": "AC-4 FAIL: it raises"})
    assert judged is not None
    assert judged["reasoning"] == "changes_requested: judge_failed\nthe judge: AC-4 FAIL: it raises"
    silent = shown("pipeline", payload=payload)
    assert silent is not None
    assert silent["reasoning"] == "changes_requested: judge_failed"


@pytest.mark.parametrize(
    ("kind", "word"),
    [("check", "CHECK_OVERRIDE"), ("verifier", "VERIFIER_OVERRIDE"), ("direct", "DIRECT_APPROVAL")],
)
def test_an_override_in_the_authoritys_words(kind: str, word: str) -> None:
    ada = Actor(role="human", identity="ada")
    override = shown("authority", action="human_override", actor=ada, payload={"kind": kind, "reason": "seen it"})
    assert override == {
        "event": "HumanOverride",
        "event_id": "e",
        "timestamp": STAMP,
        "user": "ada",
        "task_id": "abc123",
        "override_type": word,
        "reason": "seen it",
    }
    assert set(OVERRIDES) == {"check", "verifier", "direct"}


def test_a_round_in_the_pipelines_words() -> None:
    started = shown("pipeline", action="verification_started")
    assert started is not None
    assert (started["event"], started["work_order_id"], started["process_id"]) == (
        "verify.started",
        "abc123",
        "round/local/abc123/1",
    )


@pytest.mark.parametrize("vocabulary", ["authority", "pipeline"])
def test_what_has_no_name_there_gets_none(vocabulary: Vocabulary) -> None:
    unnamed = set(get_args(Action)) - set(NAMES[vocabulary])
    assert "snapshot_frozen" in unnamed
    for action in (*unnamed, "todo_teleported"):
        assert shown(vocabulary, action=action) is None
    assert shown("auditor", action="todo_teleported") is not None


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)


@given(
    action=st.sampled_from(get_args(Action)),
    vocabulary=st.sampled_from(VOCABULARIES),
    payload=st.dictionaries(
        st.sampled_from(["check", "outcome", "reasons", "kind", "result", "paths", "status", "review_status"]), ANY_JSON
    ),
)
def test_a_row_of_any_version_can_be_named(action: Action, vocabulary: Vocabulary, payload: dict[str, Any]) -> None:
    it: TrailRow = row(action=action, payload=payload, before=payload, after=payload)
    event = named(it, vocabulary)
    assert event is None or event_json(it, event, vocabulary)["event_id"] == "e"
