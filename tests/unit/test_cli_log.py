"""`countersign log`: what it prints, and its exit codes, over a trail in memory."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import Any

import pytest
import rfc8785
from typer.testing import CliRunner, Result

from domain.events import HARNESS, TrailEntry
from entrypoints.cli import common, log
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


def test_a_trail_in_order(three: Memory) -> None:
    result = run("verify")
    assert (result.exit_code, result.stdout) == (0, "3 rows, 2 sessions, 0 faults\n")
    assert json.loads(run("verify", "--json").stdout) == {"rows": 3, "sessions": 2, "faults": [], "unproven": []}


def test_a_fault_is_a_line_and_exit_code_1(three: Memory) -> None:
    three.rows["w", 1] = three.rows["w", 1].model_copy(update={"attempt": 7})
    result = run("verify")
    assert result.exit_code == 1
    assert result.stdout == (
        "local/2: row 2 is not the row that was written: its hash does not match its content\n"
        "3 rows, 2 sessions, 1 fault\n"
    )
    found = json.loads(run("verify", "--json").stdout)
    assert [(fault["session"], fault["sequence"]) for fault in found["faults"]] == [("local", 2)]
    assert run("verify", "--json").exit_code == 1


def test_an_unproven_tail_is_said_and_no_fault(three: Memory) -> None:
    three.recorded.pop()
    result = run("verify")
    assert result.exit_code == 0
    assert result.stdout == (
        "other: tail unproven: no head outside the database confirms its last row\n3 rows, 2 sessions, 0 faults\n"
    )


def test_a_session_cannot_forge_a_line_of_the_answer(memory: Memory) -> None:
    MemoryTrail(memory).append(entry(0, session="x\n9 rows, 1 session, 0 faults"))
    memory.recorded.clear()
    assert run("verify").stdout.count("\n") == 2


@pytest.mark.parametrize("command", ["show", "verify"])
def test_help_has_an_example(command: str) -> None:
    assert f"Example: countersign log {command}" in run(command, "--help").stdout
