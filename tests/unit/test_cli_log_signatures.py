"""`countersign log verify` on signed rows: of a trail, of its export, and where ssh-keygen is missing."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from domain.base import sha256_hex
from domain.events import Actor, TrailEntry
from domain.lifecycle import Command
from domain.pins import Pin, PinnedFacts, pin_statement
from domain.requests import Approve
from domain.signatures import SignatureRecord
from domain.signing import About, statement_of
from tests.fakes.trail import Memory, MemoryTrail
from tests.signing import Key, make_key, signers_of
from tests.unit.test_cli_log import memory, run

__all__ = ["memory"]  # a fixture

NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)
WHO = "ann@example.org"


@pytest.fixture
def key(tmp_path: Path) -> Key:
    return make_key(tmp_path, "key")


def appended(memory: Memory, ordinal: int, action: Any, actor: Actor, payload: dict[str, Any], todo: str = "") -> None:
    entry = TrailEntry(
        workflow_id="w", ordinal=ordinal, session="s1", todo_id=todo, actor=actor, action=action, payload=payload,
        timestamp=NOON,
    )  # fmt: skip
    MemoryTrail(memory).append(entry)


def approved(memory: Memory, key: Key, reason: str = "seen", said: str = "seen") -> None:
    """A session with a todo that Ann has approved; `said` is what she signed."""
    signers = signers_of(key.line(WHO))
    began = {"todos": 1, "timeout": 60.0, "signers": signers.model_dump(mode="json")}
    ann = Actor(role="human", identity=WHO)
    appended(memory, 1, "session_created", ann, {**began, "signers_digest": sha256_hex(signers.blob)})
    request = Approve(actor=ann, reason=said)
    about = About("s1", "t1", 1, "e" * 64, "f" * 64)
    text = statement_of(Command.APPROVE, about, request, "n1", NOON + timedelta(minutes=5)).text
    shown = text.replace(f'"{said}"', f'"{reason}"')
    record = SignatureRecord(statement=shown, signature=key.signs(text).signature, signer=WHO)
    payload = {"snapshot": "e" * 64, "reason": reason, "signature": record.model_dump()}
    appended(memory, 2, "approved", ann, payload, "t1")


def exported(folder: Path) -> str:
    file = folder / "out.jsonl"
    assert run("export", "--output", str(file)).exit_code == 0
    return str(file)


def test_signatures_are_counted_of_a_trail_and_of_its_export(memory: Memory, key: Key, tmp_path: Path) -> None:
    approved(memory, key)
    result = run("verify")
    assert (result.exit_code, result.stdout) == (0, "2 rows, 1 session, 0 faults, 1 signature\n")
    result = run("verify", exported(tmp_path), "--json")
    found = json.loads(result.stdout)
    assert (result.exit_code, found["signatures"], found["unchecked"], found["faults"]) == (0, 1, 0, [])


def test_a_row_that_says_another_thing_than_was_signed_is_named(memory: Memory, key: Key, tmp_path: Path) -> None:
    approved(memory, key, "seen", "not seen")
    for source in ([], [exported(tmp_path)]):
        result = run("verify", *source)
        assert result.exit_code == 1
        (line,) = [line for line in result.stdout.splitlines() if line.startswith("s1/2: ")]
        assert line.startswith("s1/2: its signature is not good: it is no signature of this text for countersign")


def test_without_ssh_keygen_they_are_unproven(
    memory: Memory, key: Key, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    approved(memory, key)
    file = exported(tmp_path)
    monkeypatch.setenv("PATH", "/nowhere")
    for source in ([], [file]):
        result = run("verify", *source, "--json")
        found = json.loads(result.stdout)
        assert (result.exit_code, found["signatures"], found["unchecked"], found["faults"]) == (3, 0, 1, [])
        assert result.stderr.startswith("unproven: 1 signature, for ssh-keygen is not there")


PINNED = Pin(
    path="/p/order.yaml",
    id="wo-p",
    facts=PinnedFacts(digest="d" * 64),
    text="id: wo-p\n",
    actor=Actor(role="human", identity=WHO),
    at=NOON,
)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({}, ""),
        ({"action": "order_trust_revoked"}, "its signature is for trust"),
        ({"todo": "wo-q"}, "its signature is for local/wo-p"),
        ({"pin": "e" * 64}, "its signature is for another pin"),
        ({"path": "/q/order.yaml"}, "its signature is for another pin"),
        ({"kind": "session"}, "its signature is for another pin"),
    ],
)
def test_a_row_of_a_signed_pin_is_checked_again(memory: Memory, key: Key, changes: dict[str, str], fault: str) -> None:
    text = pin_statement(PINNED, "trust", "")("n1", NOON + timedelta(minutes=5)).text
    signers = signers_of(key.line(WHO))
    record = SignatureRecord(statement=text, signature=key.signs(text).signature, signer=WHO, signers=signers)
    row = {"action": "order_trusted", "todo": PINNED.id, "pin": PINNED.digest, "path": PINNED.path, "kind": PINNED.kind}
    row |= changes
    action, todo = row.pop("action"), row.pop("todo")
    payload = {**row, "digest": "d" * 64, "bases": [], "workspaces": [], "established": "signed"}
    entry = TrailEntry(
        workflow_id="trust/1", ordinal=1, session="local", todo_id=todo, actor=PINNED.actor, action=action,
        payload={**payload, "signature": record.model_dump(mode="json")}, timestamp=NOON,
    )  # fmt: skip
    MemoryTrail(memory).append(entry)
    result = run("verify", "--json")
    found = json.loads(result.stdout)
    assert (result.exit_code, found["signatures"]) == (1 if fault else 0, 1)
    assert [one["what"] for one in found["faults"]] == ([fault] if fault else [])
