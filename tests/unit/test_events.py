"""A trail's row as a line for people: its shape, and that nothing hostile reaches the terminal through it."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.events import LABELS, Action, Actor, TrailRow, line, plain

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
    assert re.fullmatch(r"[A-Z]+(_[A-Z]+)*", LABELS[action][0])
    assert sum(label == LABELS[action][0] for label, _ in LABELS.values()) == 1
    assert LABELS[action][0] in line(row(action=action)).split()


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
        r"2026-01-15T10:05:01Z TODO_VERIFY id=\S*( result=\S+)? criteria=\[[^=\[\]]*\](?: reasons=\S+)? actor=\S+",
        outside,
    ), "no value passes for another field"
