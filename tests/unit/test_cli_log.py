"""`countersign log show`: what it prints, and its exit codes, over a trail in memory."""

from __future__ import annotations

import hashlib
import json
import re
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import rfc8785
from typer.testing import CliRunner, Result

from domain.errors import Malformed
from domain.events import HARNESS, Actor, TrailEntry
from entrypoints.cli import common, log
from entrypoints.cli.log_filter import moment_of
from tests.fakes.trail import Memory, MemoryTrail

AT = datetime(2026, 1, 15, 10, 5, 1, tzinfo=UTC)


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Memory:
    memory = Memory()
    monkeypatch.setattr(common, "open_trail", lambda: MemoryTrail(memory))
    return memory


@pytest.fixture
def three(memory: Memory) -> Memory:
    """Two attempts of `abc123` in the session `local`, and the same todo's name in another session."""
    trail = MemoryTrail(memory)
    for ordinal, (session, attempt) in enumerate([("local", 1), ("local", 2), ("other", 1)]):
        trail.append(entry(ordinal, session=session, attempt=attempt))
    return memory


def entry(ordinal: int, **fields: Any) -> TrailEntry:
    given_or_usual: dict[str, Any] = {
        "session": "local",
        "todo_id": "abc123",
        "attempt": 1,
        "actor": HARNESS,
        "action": "audit_completed",
        "payload": {"result": "PASS", "criteria": ["ruff_exit_zero"]},
        "timestamp": AT,
        **fields,
    }
    return TrailEntry(workflow_id="w", ordinal=ordinal, **given_or_usual)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(log.app, arguments)


LINE = "2026-01-15T10:05:01Z TODO_VERIFY id=abc123 result=PASS criteria=[ruff_exit_zero] actor=harness\n"


@pytest.mark.parametrize(
    ("arguments", "rows"),
    [
        ([], 3),
        (["abc123"], 2),
        (["local/abc123"], 2),
        (["other/abc123"], 1),
        (["abc123", "--session", "other"], 1),
        (["other/abc123", "--session", "other"], 1),
        (["--session", "local"], 2),
        (["--attempt", "1"], 2),
        (["abc123", "--attempt", "2"], 1),
    ],
    ids=str,
)
def test_show_prints_a_line_for_each_row_asked_for(three: Memory, arguments: list[str], rows: int) -> None:
    result = run("show", *arguments)
    assert (result.exit_code, result.stdout) == (0, LINE * rows)


def test_an_empty_trail_is_shown_as_nothing(memory: Memory) -> None:
    result = run("show")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    assert json.loads(run("show", "--json").stdout) == []


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["abc"], "local/abc"),
        (["none/abc123"], "none/abc123"),
        (["abc123", "--attempt", "3"], "local/abc123, attempt 3"),
        (["--session", "none"], "none"),
        (["a\x1b[2J"], "local/'a\\x1b[2J'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_not_there_is_said_on_stderr(three: Memory, arguments: list[str], named: str) -> None:
    for more in ([], ["--json"]):
        result = run("show", *arguments, *more)
        assert (result.exit_code, result.stdout) == (common.EXIT_NOT_FOUND, "")
        assert result.stderr == f"the trail has nothing of {named}\n"


def test_two_different_sessions_are_a_mistake(three: Memory) -> None:
    result = run("show", "other/abc123", "--session", "local")
    assert (result.exit_code, result.stdout) == (common.EXIT_MALFORMED, "")


@pytest.mark.parametrize("arguments", [["\udcff"], ["--session", "\udcff"]], ids=["todo", "session"])
def test_a_name_that_is_no_text_is_a_mistake(three: Memory, arguments: list[str]) -> None:
    result = run("show", *arguments)
    assert (result.exit_code, result.stdout) == (common.EXIT_MALFORMED, "")


def test_rows_as_json_can_be_checked_by_anybody(three: Memory) -> None:
    rows = json.loads(run("show", "--json").stdout)
    assert [(row["session"], row["sequence"]) for row in rows] == [("local", 1), ("local", 2), ("other", 1)]
    assert rows[0]["timestamp"] == "2026-01-15T10:05:01.000000Z"
    for row in rows:
        body = {name: value for name, value in row.items() if name != "hash"}
        assert hashlib.sha256(rfc8785.dumps(body)).hexdigest() == row["hash"]
    assert rows[1]["previous_hash"] == rows[0]["hash"]


def test_hostile_rows_stay_one_line(memory: Memory) -> None:
    MemoryTrail(memory).append(entry(0, todo_id="x\n\x1b]0;owned\x07 actor=human", payload={"result": "\x9b2J"}))
    shown = run("show").stdout
    assert shown.count("\n") == 1
    assert shown.rstrip("\n").isprintable()


@pytest.fixture
def day(memory: Memory) -> Memory:
    """A round at noon UTC, a check of it a minute later, its verdict at one, an override now."""
    trail = MemoryTrail(memory)
    noon = datetime(2026, 1, 15, 12, tzinfo=UTC)
    ada = Actor(role="human", identity="ada")
    after = {"status": "claimed", "review_status": "auditing"}
    rows: list[dict[str, Any]] = [
        {"action": "verification_started", "actor": ada, "payload": {"attempt": 1}, "timestamp": noon, "after": after},
        {
            "action": "check_completed",
            "payload": {"check": "tests", "passed": True, "exit_code": 0, "duration_ms": 9, "outcome": "passed"},
            "timestamp": noon + timedelta(minutes=1),
        },
        {"timestamp": noon + timedelta(hours=1)},
        {
            "action": "human_override",
            "actor": ada,
            "payload": {"kind": "check", "reason": "seen"},
            "timestamp": datetime.now(UTC),
            "session": "other",
        },
    ]
    for ordinal, fields in enumerate(rows):
        trail.append(entry(ordinal, **fields))
    return memory


VERDICT, OVERRIDE = "audit_completed", "human_override"
ROUND = ["verification_started", "check_completed", VERDICT]


def actions(*arguments: str) -> list[str]:
    result = run("show", *arguments, "--json")
    assert result.exit_code == 0, result.stderr
    return [row["action"] for row in json.loads(result.stdout)]


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["--action", "check_completed"], ["check_completed"]),
        (["--actions", "CHECK,audit_completed"], ["check_completed", VERDICT]),
        (["--action", "CHECK", "--action", "TODO_VERIFY"], ["check_completed", VERDICT]),
        (["--action", "verify.verdict"], [VERDICT]),
        (["--action", "HumanOverride"], [OVERRIDE]),
        (["--actor", "human"], ["verification_started", OVERRIDE]),
        (["--actor", "human,harness", "--session", "local"], ROUND),
        (["--actor", "auditor"], []),
        (["--since", "2026-01-15T12:01:00Z", "--until", "2026-01-15T13:00:00Z"], ["check_completed"]),
        (["--since", "2026-01-15T12:01"], ["check_completed", VERDICT, OVERRIDE]),
        (["--since", "2026-01-15T13:01:00+01:00", "--session", "local"], ["check_completed", VERDICT]),
        (["--since", "2h"], [OVERRIDE]),
        (["--until", "2h"], ROUND),
        (["--until", "2026-01-16"], ROUND),
        (["--last", "2"], [VERDICT, OVERRIDE]),
        (["--last", "2", "--session", "local"], ["check_completed", VERDICT]),
        (["--last", "0"], []),
        (["local/abc123", "--since", "0s"], []),
    ],
    ids=str,
)
def test_rows_can_be_picked(day: Memory, arguments: list[str], found: list[str]) -> None:
    assert actions(*arguments) == found


def test_the_last_of_several_sessions_is_the_last_by_time(memory: Memory) -> None:
    for ordinal, session in enumerate(["b", "c", "a"]):
        MemoryTrail(memory).append(entry(ordinal, session=session, timestamp=AT + timedelta(hours=ordinal)))
    rows = json.loads(run("show", "--last", "2", "--json").stdout)
    assert [row["session"] for row in rows] == ["c", "a"]


def test_a_time_without_a_zone_is_utc_wherever_the_user_is(monkeypatch: pytest.MonkeyPatch) -> None:
    noon = datetime(2026, 1, 15, 12, tzinfo=UTC)
    monkeypatch.setenv("TZ", "XYZ+9")
    time.tzset()
    try:
        assert moment_of("2026-01-15T12:00", AT, "--since") == noon
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--action", "check_complete"], "did you mean check_completed"),
        (["--action", "zzzzzz"], "expected one of session_created"),
        (["--action", ""], "is no event"),
        (["--actor", "robot"], "expected one of worker, auditor"),
        (["--since", "yesterday"], "expected a time such as 2026-01-15T10:05:00Z"),
        (["--until", "2026-13-01"], "--until"),
        (["--since", "999999999w"], "is no time"),
        (["--names", "pirate"], "expected one of auditor, authority, pipeline"),
        (["--last", "-1"], "--last"),
        (["--follow", "--until", "2h"], "--until ends what --follow goes on with"),
    ],
    ids=str,
)
def test_nonsense_is_a_mistake(day: Memory, arguments: list[str], told: str) -> None:
    result = run("show", *arguments)
    assert (result.exit_code, result.stdout) == (common.EXIT_MALFORMED, "")
    assert told in re.sub(r"[\s│]+", " ", result.stderr)


def test_events_in_the_authoritys_words(day: Memory) -> None:
    result = run("show", "--names", "authority", "--session", "local")
    assert result.stdout == (
        "2026-01-15T12:00:00Z VerificationStarted task_id=abc123 attempt_id=local/abc123/1\n"
        "2026-01-15T12:01:00Z CheckCompleted check_name=tests task_id=abc123 attempt_id=local/abc123/1 "
        "passed=true exit_code=0 duration_ms=9\n"
        "2026-01-15T13:00:00Z VerificationCompleted task_id=abc123 attempt_id=local/abc123/1\n"
    )
    assert result.stderr == ""


def test_what_has_no_name_is_counted_on_stderr(day: Memory) -> None:
    for form in ([], ["--json"]):
        result = run("show", "--names", "pipeline", *form)
        assert result.stderr == "1 event has no name in the vocabulary 'pipeline': left out\n"
        assert OVERRIDE not in result.stdout
    assert [event["event"] for event in json.loads(result.stdout)] == [
        "verify.started",
        "verify.test_executed",
        "verify.verdict",
    ]


def test_events_in_the_auditors_words(day: Memory) -> None:
    shown = run("show", "--names", "auditor", "--session", "local").stdout
    assert shown.splitlines()[::2] == [
        "2026-01-15T12:00:00Z audit_started id=abc123 attempt=1 actor=human",
        "2026-01-15T13:00:00Z audit_completed id=abc123 result=PASS criteria=[ruff_exit_zero] actor=auditor",
    ]
    (override,) = json.loads(run("show", "--names", "auditor", "--session", "other", "--json").stdout)
    assert override.keys() == {
        *("event_id", "timestamp", "todo_id", "actor", "action", "before_state", "after_state", "payload")
    }


@pytest.mark.parametrize("command", ["show", "verify", "export", "rebuild"])
def test_help_has_an_example(command: str) -> None:
    assert f"Example: countersign log {command}" in run(command, "--help").stdout


def test_a_todo_that_one_session_has_goes_by_its_name_alone(memory: Memory) -> None:
    trail = MemoryTrail(memory)
    standing = {"status": "pending", "review_status": "not_requested"}
    trail.append(entry(1, session="release", todo_id="login", after=standing))
    trail.append(entry(2, session="release", todo_id="both", after=standing))
    trail.append(entry(3, session="other", todo_id="both", after=standing))
    assert len(run("show", "login").stdout.splitlines()) == 1
    refused = run("show", "both")
    assert isinstance(refused.exception, Malformed)
    assert "expected one of other/both, release/both" in str(refused.exception)
