"""The union of events: the table covers every action, holds writers to it, and shows each row as one safe line."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from domain.checks import Outcome
from domain.event_kinds import KINDS, problems
from domain.event_lines import LABELS, line, plain
from domain.events import Action, Actor, Role, TrailEntry, TrailRow

AT = datetime(2026, 1, 15, 10, 5, 1, 987654, tzinfo=UTC)


def row(**fields: Any) -> TrailRow:
    given_or_usual: dict[str, Any] = {
        "workflow_id": "round/local/abc123/1",
        "ordinal": 1,
        "session": "local",
        "todo_id": "abc123",
        "actor": Actor(role="harness"),
        "action": "audit_completed",
        "timestamp": AT,
        "event_id": "e",
        "sequence": 1,
        "previous_hash": "0" * 64,
        "hash": "1" * 64,
        **fields,
    }
    return TrailRow(**given_or_usual)


def test_a_line_has_the_shape_of_the_seeds_example() -> None:
    shown = line(row(payload={"result": "PASS", "criteria": ["ruff_exit_zero"]}))
    assert shown == "2026-01-15T10:05:01Z TODO_VERIFY id=abc123 result=PASS criteria=[ruff_exit_zero] actor=harness"


@pytest.mark.parametrize("action", get_args(Action))
def test_every_action_has_a_label_of_its_own(action: Action) -> None:
    assert re.fullmatch(r"[A-Z]+(_[A-Z]+)*", KINDS[action].label)
    assert LABELS[KINDS[action].label] == action
    assert KINDS[action].label in line(row(action=action)).split()


def test_the_table_is_about_the_actions_and_no_others() -> None:
    assert set(KINDS) == set(get_args(Action))
    assert len(LABELS) == len(KINDS)


@pytest.mark.parametrize("action", get_args(Action))
def test_a_kind_is_whole(action: Action) -> None:
    kind = KINDS[action]
    assert kind.what[0].isupper() or kind.what.startswith(("pending", "in_progress", "claimed"))
    assert kind.actors
    assert set(kind.actors) <= set(get_args(Role))
    assert set(kind.shown) <= set(kind.payload.model_fields), "what is shown is in the payload"


def test_fields_come_in_the_labels_order_and_only_those() -> None:
    payload = {"duration_ms": 12, "secret": "no", "exit_code": 0, "outcome": "passed", "check": "tests"}
    shown = line(row(action="check_completed", payload=payload))
    assert shown.split()[1:] == [
        "CHECK",
        "id=abc123",
        "check=tests",
        "outcome=passed",
        "exit_code=0",
        "duration_ms=12",
        "actor=harness",
    ]


def test_what_is_empty_is_left_out_and_zero_and_false_are_not() -> None:
    payload: dict[str, Any] = {"check": "", "outcome": None, "code": [], "exit_code": 0, "duration_ms": False}
    shown = line(row(action="check_completed", payload=payload))
    assert "check=" not in shown
    assert "outcome=" not in shown
    assert "code=[]" not in shown
    assert "exit_code=0 duration_ms=false" in shown


def test_a_row_of_a_session_names_the_session() -> None:
    shown = line(row(todo_id="", action="paused", payload={"reason": "lunch"}, actor=Actor(role="human")))
    assert shown == "2026-01-15T10:05:01Z PAUSE session=local reason=lunch actor=human"


def test_the_tool_call_behind_a_row_is_shown() -> None:
    shown = line(row(action="todo_claimed", payload={"evidence": ["e1"]}, tool_call_id="xyz789"))
    assert shown.endswith(" TODO_CLAIM id=abc123 evidence=[e1] tool_call_id=xyz789 actor=harness")


def test_a_row_of_another_version_is_read_and_shown() -> None:
    newer = row(action="todo_teleported", payload={"where": "x"})
    assert line(newer) == "2026-01-15T10:05:01Z TODO_TELEPORTED id=abc123 actor=harness"
    assert line(row(action="check_completed", payload={"check": {"id": 1}, "shape": "new"})).count("CHECK") == 1
    assert TrailRow.model_validate(newer.model_dump()) == newer


def test_what_a_newer_version_wrote_cannot_be_appended() -> None:
    with pytest.raises(ValidationError):
        TrailEntry.model_validate(row(action="todo_teleported").model_dump())


def test_times_are_shown_in_utc() -> None:
    eastern = AT.astimezone(timezone(timedelta(hours=-5)))
    assert line(row(timestamp=eastern)).startswith("2026-01-15T10:05:01Z ")
    assert line(row(timestamp=datetime(33, 4, 3, tzinfo=UTC))).startswith("0033-04-03T00:00:00Z ")


def test_an_identity_is_part_of_the_actor() -> None:
    assert line(row(actor=Actor(role="human", identity="ada"))).endswith(" actor=human:ada")
    assert line(row(actor=Actor(role="human", identity="Ada Löwe"))).endswith(" actor='human:Ada Löwe'")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("ruff", "ruff"),
        ("löwe/ü", "löwe/ü"),
        ("a b", "'a b'"),
        ("x actor=human", "'x actor=human'"),
        ("[x]", "'[x]'"),
        ("a,b", "'a,b'"),
        ("'", '"\'"'),
        ("\\x1b", "'\\\\x1b'"),
        ("a\nb", "'a\\nb'"),
        ("\x1b[2J", "'\\x1b[2J'"),
        ("\x9b2J", "'\\x9b2J'"),
        ("\x07\x7f", "'\\x07\\x7f'"),
        ("\u202egnp", "'\\u202egnp'"),
        ("\u200b", "'\\u200b'"),
        ("\u2028", "'\\u2028'"),
        ("\ud800", "'\\ud800'"),
        (True, "true"),
        (1.5, "1.5"),
        ([1, "a b", None], "[1, 'a b', null]"),
        ([["x"], []], "[[x], []]"),
        ({"a": "\x1b"}, '\'{"a": "\\\\u001b"}\''),
    ],
)
def test_values_are_plain_where_that_is_safe(value: Any, shown: str) -> None:
    assert plain(value) == shown


HOSTILE = st.text(
    st.sampled_from("\n\r\t\v\f\x00\x07\x08\x1b\x7f\x85\x9b\u200b\u2028\u2029\u202e\ud800\ufeff =,[]'\"\\ab"),
    max_size=12,
)


@given(
    todo=HOSTILE.filter(lambda t: "\ud800" not in t), identity=HOSTILE.filter(lambda t: "\ud800" not in t), text=HOSTILE
)
def test_hostile_values_never_reach_the_terminal(todo: str, identity: str, text: str) -> None:
    payload = {"result": text, "criteria": [text, {text: [text]}], "reasons": {"why": text}}
    shown = line(row(todo_id=todo, actor=Actor(role="worker", identity=identity), payload=payload))
    assert shown.isprintable(), "one line, nothing that steers"
    outside = re.sub(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", "Q", shown)
    assert re.fullmatch(
        r"2026-01-15T10:05:01Z TODO_VERIFY (?:id|session)=\S+( result=\S+)?"
        r" criteria=\[[^=\[\]]*\](?: reasons=\S+)? actor=\S+",
        outside,
    ), "no value passes for another field"


CHECKED: dict[str, Any] = {
    "check": "tests",
    "outcome": "passed",
    "passed": True,
    "code": "ok",
    "exit_code": 0,
    "duration_ms": 12,
    "required": True,
    "evidence": "e" * 64,
}


def wrong(**fields: Any) -> tuple[str, ...]:
    body = row(**{"action": "check_completed", "payload": CHECKED, **fields}).model_dump()
    return problems(TrailEntry.model_validate(body))


def test_an_event_as_it_is_written_is_in_order() -> None:
    assert wrong() == ()
    assert wrong(payload={**CHECKED, "exit_code": None}) == ()
    assert wrong(payload={**CHECKED, "outcome": Outcome.FAILED}, after={"status": "claimed", "position": 3}) == ()
    assert wrong(action="paused", todo_id="", payload={}, actor=Actor(role="human"), after={"status": "paused"}) == ()


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"payload": {**CHECKED, "passed": "yes"}}, "payload.passed: "),
        ({"payload": {**CHECKED, "duration_ms": 1.5}}, "payload.duration_ms: "),
        ({"payload": {**CHECKED, "duration_ms": None}}, "payload.duration_ms: "),
        ({"payload": {**CHECKED, "outcome": "fine"}}, "payload.outcome: "),
        ({"payload": {k: v for k, v in CHECKED.items() if k != "evidence"}}, "payload.evidence: Field required"),
        ({"payload": {**CHECKED, "note": ""}}, "payload.note: "),
        ({"actor": Actor(role="human")}, "actor: human, expected one of harness"),
        ({"after": {"status": "done"}}, "after.status: 'done' is none"),
        ({"before": {"review_status": ["auditing"]}}, "before.review_status: ['auditing'] is none"),
        ({"before": {"status": "paused"}}, "before.status: 'paused' is none"),
        ({"action": "snapshot_frozen", "actor": Actor(role="system"), "payload": {}}, "payload: Value error, either"),
        (
            {
                "action": "snapshot_frozen",
                "actor": Actor(role="system"),
                "payload": {"head": "h", "base": "b", "error": "e"},
            },
            "payload: Value error, either",
        ),
        (
            {"action": "environment_ready", "actor": Actor(role="system"), "payload": {"image": "x"}},
            "payload: Value error",
        ),
        ({"action": "deleted", "todo_id": "", "payload": {}}, "actor: harness, expected one of human, unattributed"),
    ],
)
def test_a_writer_that_does_not_keep_to_the_table_is_told(fields: dict[str, Any], told: str) -> None:
    (problem,) = wrong(**fields)
    assert problem.startswith(f"{fields.get('action', 'check_completed')}: {told}")
