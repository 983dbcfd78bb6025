"""Signatures by the command line and real `ssh-keygen`: what they are good for, and every way in which one is none."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import Project
from tests.people import becomes, claims, refusals, rows, session, status
from tests.signing_people import ANN, BOB, EVE, LONG_AGO, People, people, signed, statement

REASON = ("--reason", "read it")


@pytest.fixture(scope="module")
def keys(shared: Project) -> People:
    """Signers are configured, so signatures are required."""
    return people(shared)


@pytest.fixture
def todo(shared: Project, keys: People, request: pytest.FixtureRequest) -> Iterator[str]:
    """A todo that waits for a person, in a session of its own; the trail holds together after each test."""
    name = re.sub("[^a-z]+", "-", request.node.name.removeprefix("test_")).strip("-")
    session(shared, name, "a")
    claims(shared, f"{name}/a", f"for {name}")
    becomes(shared, f"{name}/a", "needs_human")
    yield f"{name}/a"
    keys.listed(ANN, BOB)
    checked = shared.run("log", "verify")
    assert checked.returncode == 0, checked.stdout + checked.stderr


def refused(project: Project, todo: str, code: str, *command: str, exits: int = 1) -> None:
    """What is asked is refused with that code, is recorded so, and changes nothing."""
    before, told = status(project, todo), len(refusals(project, todo))
    answer = project.run(*command, "--json")
    assert answer.returncode == exits, answer.stdout + answer.stderr
    assert json.loads(answer.stdout)["code"] == code
    assert [one for _, one in refusals(project, todo)[told:]] == [code]
    assert status(project, todo) == before


def test_signed_with_a_key_it_is_a_human_by_name(shared: Project, keys: People, todo: str) -> None:
    answer = shared.answer("approve", todo, *REASON, "--key", keys.key(BOB), "--json")
    assert (answer["status"], answer["signer"]) == ("verified", BOB)
    (row,) = rows(shared, todo, "approved")
    assert row["actor"] == {"role": "human", "identity": BOB}
    assert row["payload"]["signature"]["signer"] == BOB
    assert json.loads(row["payload"]["signature"]["statement"])["reason"] == "read it"


def test_signed_by_hand_elsewhere_it_is_the_same(shared: Project, keys: People, todo: str) -> None:
    text = statement(shared, "approve", todo, *REASON)
    shared.answer("approve", todo, *REASON, *signed(shared, text, keys.key(BOB)), "--json")
    (row,) = rows(shared, todo, "approved")
    assert row["actor"] == {"role": "human", "identity": BOB}
    assert row["payload"]["signature"]["statement"] == text


def test_unsigned_it_is_refused_and_a_note_is_taken(shared: Project, todo: str) -> None:
    refused(shared, todo, "signature_required", "approve", todo, *REASON)
    refused(shared, todo, "signature_required", "approve", todo, *REASON, "--as", "human:ann")
    refused(shared, todo, "signature_required", "reject", todo, "--feedback", "say two")
    shared.answer("todo", "note", todo, "--content", "looks good", "--json")
    assert rows(shared, todo, "noted")[0]["actor"]["role"] == "unattributed"


def test_a_key_that_nobody_listed(shared: Project, keys: People, todo: str) -> None:
    refused(shared, todo, "unknown_signer", "approve", todo, *REASON, "--key", keys.key(EVE))


def test_another_namespace(shared: Project, keys: People, todo: str) -> None:
    text = statement(shared, "approve", todo, *REASON)
    options = signed(shared, text, keys.key(BOB), namespace="git")
    refused(shared, todo, "bad_signature", "approve", todo, *REASON, *options)


def test_a_signature_of_another_text(shared: Project, keys: People, todo: str) -> None:
    options = signed(shared, statement(shared, "approve", todo, *REASON), keys.key(BOB))
    Path(options[1]).write_text(statement(shared, "approve", todo, *REASON))
    refused(shared, todo, "bad_signature", "approve", todo, *REASON, *options)


def test_expired(shared: Project, keys: People, todo: str) -> None:
    text = statement(shared, "approve", todo, *REASON, expiry=LONG_AGO)
    refused(shared, todo, "signature_expired", "approve", todo, *REASON, *signed(shared, text, keys.key(BOB)))


def test_replayed(shared: Project, keys: People, todo: str) -> None:
    options = signed(shared, statement(shared, "approve", todo, *REASON), keys.key(BOB))
    shared.answer("approve", todo, *REASON, *options, "--json")
    refused(shared, todo, "nonce_spent", "approve", todo, *REASON, *options)
    assert len(rows(shared, todo, "approved")) == 1


def test_a_claim_and_then_an_order_that_changed(shared: Project, keys: People, todo: str) -> None:
    """The same code from the same sender, for another reason: each is in the trail."""
    line, bob = ("approve", todo, *REASON), ("--key", keys.key(BOB))
    first = signed(shared, statement(shared, *line), keys.key(BOB))
    shared.answer("reject", todo, "--feedback", "say more", *bob, "--json")
    claims(shared, todo, f"more for {todo}")
    becomes(shared, todo, "needs_human")
    refused(shared, todo, "stale_signature", *line, *first, exits=6)
    second = signed(shared, statement(shared, *line), keys.key(BOB))
    edit = ("todo", "edit", todo, "--set", "safeguards.todo_timeout=7200", "--key", keys.key(ANN), "--json")
    changed = shared.answer(*edit)["changed"]
    assert changed["safeguards.todo_timeout"] == {"before": 3600.0, "after": 7200.0}
    refused(shared, todo, "stale_signature", *line, *second, exits=6)


def test_a_claim_that_changed_meanwhile(shared: Project, keys: People, todo: str) -> None:
    options = signed(shared, statement(shared, "approve", todo, *REASON), keys.key(BOB))
    shared.answer("reject", todo, "--feedback", "say more", "--key", keys.key(BOB), "--json")
    claims(shared, todo, f"more for {todo}")
    becomes(shared, todo, "needs_human")
    refused(shared, todo, "stale_signature", "approve", todo, *REASON, *options, exits=6)


def test_an_order_that_changed_meanwhile(shared: Project, keys: People, todo: str) -> None:
    options = signed(shared, statement(shared, "reject", todo, "--feedback", "say two"), keys.key(BOB))
    edit = ("todo", "edit", todo, "--set", "content=Other work", "--expected-version", "1")
    shared.answer(*edit, "--key", keys.key(ANN), "--json")
    refused(shared, todo, "stale_signature", "reject", todo, "--feedback", "say two", *options, exits=6)


def test_a_signer_who_was_removed(shared: Project, keys: People, todo: str) -> None:
    keys.listed(ANN)
    refused(shared, todo, "signer_removed", "approve", todo, *REASON, "--key", keys.key(BOB))
    keys.listed(ANN, EVE)
    refused(shared, todo, "unknown_signer", "approve", todo, *REASON, "--key", keys.key(EVE))
    keys.listed(BOB)  # ann has a role in the configuration still
    refused(shared, todo, "signer_removed", "approve", todo, *REASON, "--key", keys.key(ANN))
    keys.listed()
    refused(shared, todo, "signer_removed", "reject", todo, "--feedback", "say two", "--key", keys.key(BOB))


def test_signed_for_something_else(shared: Project, keys: People, todo: str) -> None:
    others: list[dict[str, Any]] = [
        {"action": "reject"},
        {"todo": "b"},
        {"session": "another"},
        {"reason": "did not"},
        {"details": {"x": 1}},
    ]
    for changes in others:
        text = statement(shared, "approve", todo, *REASON, **changes)
        refused(shared, todo, "signature_mismatch", "approve", todo, *REASON, *signed(shared, text, keys.key(BOB)))


def test_in_the_name_of_another(shared: Project, keys: People, todo: str) -> None:
    line = ("approve", todo, *REASON, "--as", "human:ann", "--key", keys.key(BOB))
    refused(shared, todo, "signature_mismatch", *line)


def test_an_owner_s_act(shared: Project, keys: People, todo: str) -> None:
    refused(shared, todo, "role_required", "todo", "delete", todo, *REASON, "--key", keys.key(BOB))
    shared.answer("todo", "delete", todo, *REASON, "--key", keys.key(ANN), "--json")
    assert rows(shared, todo, "deleted")[0]["actor"] == {"role": "human", "identity": ANN}


def test_a_trial_spends_nothing(shared: Project, keys: People, todo: str) -> None:
    options = signed(shared, statement(shared, "approve", todo, *REASON), keys.key(BOB))
    trial = shared.answer("approve", todo, *REASON, *options, "--dry-run", "--json")
    assert (trial["dry_run"], trial["status"]) == (True, "verified")
    assert status(shared, todo)[0] == "needs_human"
    shared.answer("approve", todo, *REASON, *options, "--json")
    assert status(shared, todo)[0] == "verified"
