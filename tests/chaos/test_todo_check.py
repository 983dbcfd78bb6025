"""The judge of what was lived through can say no: one thing wrong in a trail that is right, and it is named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from domain.events import Actor, TrailRow
from domain.read_model import fold
from tests.chaos.todo_check import Counts, Found, counted, of_caps, of_commands, of_rounds, of_verdicts
from tests.chaos.todo_log import Said

BOT, HARNESS = Actor(role="worker", identity="agent-0"), Actor(role="harness")
LIVES = ("todo_created", "todo_started", "todo_claimed", "verification_started", "audit_completed", "approved")
STATUS = {
    "todo_created": "pending",
    "todo_started": "in_progress",
    "todo_claimed": "claimed",
    "approved": "verified",
}
PAYLOADS: dict[str, dict[str, Any]] = {
    "todo_claimed": {"snapshot": "a" * 64},
    "audit_completed": {"outcome": "verified"},
    "approved": {"snapshot": "a" * 64, "reason": ""},
}


def row(sequence: int, action: str, **fields: Any) -> TrailRow:
    """One of the todo's, or of its round's."""
    of_round = action in ("verification_started", "audit_completed")
    after: dict[str, Any] = {"status": STATUS[action]} if action in STATUS else {}
    given: dict[str, Any] = {
        "workflow_id": "round/s/a/1" if of_round else "todo/s/a",
        "ordinal": sequence,
        "session": "s",
        "todo_id": "a",
        "attempt": 1 if sequence > 3 else 0,
        "actor": BOT if action in ("todo_started", "todo_claimed") else HARNESS,
        "action": action,
        "after": {**after, "audits": 1, "audit_cap": 3, "revision_cap": 2} if action == "approved" else after,
        "payload": PAYLOADS.get(action, {}),
        "tool_call_id": {"todo_started": "1", "todo_claimed": "2"}.get(action, ""),
        "timestamp": datetime(2026, 1, 15, tzinfo=UTC),
        "event_id": str(sequence),
        "sequence": sequence,
        "previous_hash": "",
        "hash": "",
    }
    return TrailRow.model_validate({**given, **fields})


ROWS = [row(number, action) for number, action in enumerate(LIVES, 1)]


def said(word: str, id: str, command: str, sequence: int = 0, **fields: str) -> Said:
    """One line of the client's."""
    return Said(word, 1.0, id, "agent-0", "s", "a", command, sequence, **fields)  # type: ignore[arg-type]  # a `Word`


SAID = [
    said("asked", "1", "start"),
    said("answered", "1", "start", 2),
    said("asked", "2", "claim"),
    said("answered", "2", "claim", 3),
]


def wrong(rows: list[TrailRow]) -> list[str]:
    """All that is said against them."""
    counts = counted(SAID, rows)
    found = Found(rounds={"round/s/a/1": "COMPLETED"})
    others = (*of_caps(rows, fold(rows).todos), *of_verdicts(rows), *of_rounds(rows, found))
    return [*counts.lost, *counts.doubled, *others]


def test_nothing_is_said_against_what_is_right() -> None:
    assert wrong(ROWS) == []
    assert list(of_commands(SAID)) == []
    assert counted(SAID, ROWS).acknowledged == 2


def but(number: int, **fields: Any) -> list[TrailRow]:
    """The rows, with one that is otherwise."""
    return [one.model_copy(update=fields) if one.sequence == number else one for one in ROWS]


CASES: dict[str, tuple[Callable[[], list[TrailRow]], str]] = {
    "a command that is lost": (lambda: but(3, tool_call_id=""), "the trail has [] of it"),
    "a row that was told of and is not there": (lambda: but(3, sequence=33), "told of row 3, and that is not there"),
    "a command done twice": (lambda: [*ROWS, row(7, "todo_claimed")], "['todo_claimed', 'todo_claimed']"),
    "what nobody asked": (lambda: [*ROWS, row(7, "evidence_added", tool_call_id="9")], "nobody asked"),
    "an audit that the todo does not count": (lambda: but(6, after={"status": "verified"}), "it counts (0, 0)"),
    "more audits than allowed": (
        lambda: but(6, after={"status": "verified", "audits": 1, "audit_cap": 0}),
        "at most (0, 0)",
    ),
    "verified without a round": (lambda: [one for one in ROWS if one.sequence != 5], "rounds on that tree came to {}"),
    "verified for another tree": (
        lambda: but(6, payload={"snapshot": "b" * 64, "reason": ""}),
        f"claimed is {'a' * 64!r}",
    ),
    "verified by nobody": (lambda: but(6, action="noted"), "verified by noted"),
    "a round's row twice": (
        lambda: [*ROWS, row(7, "audit_completed", attempt=1)],
        "2 times audit_completed",
    ),
    "a round that never ended": (lambda: [one for one in ROWS if one.sequence != 5], "{'verification_started': 1}"),
}


@pytest.mark.parametrize("case", CASES)
def test_one_thing_wrong_is_named(case: str) -> None:
    rows, what = CASES[case]
    assert any(what in one for one in wrong(rows())), wrong(rows())


def test_what_nobody_could_expect_to_be_refused_is_named() -> None:
    odd = replace(SAID[3], refused="other_session")
    assert [*of_commands([*SAID, odd])] == ["agent-0 claim s/a (2) was refused: other_session"]


def test_the_bound_is_that_of_no_loss_in_so_many() -> None:
    assert Counts(acknowledged=1000).bound == pytest.approx(0.002991, abs=1e-6)
    assert Counts().bound == 1.0
