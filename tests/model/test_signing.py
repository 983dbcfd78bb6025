"""Every way in which a signature is not good for what is asked, and the one in which it is; whoever asks unsigned."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.acts import approving, asked, editing, people
from domain.acts.step import Declined, Outcome, Step, refused
from domain.events import Actor, Role
from domain.lifecycle import Command
from domain.requests import (
    AddNote,
    Approve,
    Delete,
    Edit,
    HumanRequest,
    Override,
    Refusal,
    Reject,
    Reorder,
    Return,
    Unblock,
)
from domain.signatures import LEAST_ROLE, PersonRole, SignatureCheck, Signed, Statement
from domain.signing import (
    LONGEST,
    LONGEST_NONCE,
    UNSIGNED,
    Permit,
    about_of,
    judge,
    read,
    spent,
    statement_of,
)
from domain.status import TodoStatus
from domain.todo import Todo
from tests.model.todos import NOON, order, todo

ANN = "ann@example.org"
EXPIRY = NOON + timedelta(minutes=10)
ASKED = Actor(role="unattributed", identity="login")

REQUESTS: dict[Command, HumanRequest] = {
    Command.UNBLOCK: Unblock(actor=ASKED, clarification="use the other one"),
    Command.APPROVE: Approve(actor=ASKED, reason="seen"),
    Command.OVERRIDE: Override(actor=ASKED, kind="check", acknowledged=("tests",), reason="the test is wrong"),
    Command.REJECT: Reject(actor=ASKED, feedback="again"),
    Command.RETURN: Return(actor=ASKED, extra_attempts=2),
    Command.NOTE: AddNote(actor=ASKED, content="hm"),
    Command.EDIT: Edit(actor=ASKED, changes={"content": "Do it well"}),
    Command.REORDER: Reorder(actor=ASKED, order_index=1),
    Command.DELETE: Delete(actor=ASKED, reason="not needed"),
}


def of(policy: str = "required", **fields: Any) -> Todo:
    given_order = order(override_policy={"signatures": policy})
    return todo(TodoStatus.NEEDS_HUMAN, order=given_order, **{"signers": "f" * 64, "attempt": 1, **fields})


def good(role: PersonRole = "owner", **acts: PersonRole) -> SignatureCheck:
    return SignatureCheck(signer=ANN, fingerprint="SHA256:x", role=role, acts=acts)


def said(at: Todo, command: Command, nonce: str = "n1", expiry: datetime = EXPIRY) -> Statement:
    return statement_of(command, about_of(at), REQUESTS[command], nonce, expiry)


def signed(at: Todo, command: Command, text: str | None = None, **more: Any) -> HumanRequest:
    statement = text if text is not None else said(at, command, **more).text
    return REQUESTS[command].model_copy(update={"signed": Signed(statement=statement, signature="armor")})


def code(found: Permit | Refusal) -> str:
    return found.code if isinstance(found, Refusal) else ""


def test_there_is_a_request_and_a_role_for_every_act_of_a_person() -> None:
    assert set(REQUESTS) == set(LEAST_ROLE)


@pytest.mark.parametrize("command", list(LEAST_ROLE))
@pytest.mark.parametrize("policy", ["off", "optional", "required"])
@pytest.mark.parametrize("role", ["owner", "reviewer"])
@pytest.mark.parametrize("at_least", [None, "owner", "reviewer"])
def test_who_may_ask_for_what(command: Command, policy: str, role: PersonRole, at_least: PersonRole | None) -> None:
    at = of(policy)
    acts = {command.value: at_least} if at_least else {}
    found = judge(at, command, signed(at, command), good(role, **acts), NOON)
    least = at_least or LEAST_ROLE[command]
    if policy == "off":
        assert code(found) == "signatures_off"
    elif role == "reviewer" and least == "owner":
        assert code(found) == "role_required"
    else:
        assert isinstance(found, Permit)
        assert (str(found.actor), found.nonce, found.expiry) == (f"human:{ANN}", "n1", EXPIRY)
        assert found.record
        assert (found.record.statement, found.record.signer) == (said(at, command).text, ANN)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"cost_usd": 1.5}, "return with a budget is for owners"),
        ({"worker": "./other.sh"}, "return with a worker command is for owners"),
        ({"worker": ""}, ""),
        ({"extra_attempts": 9}, ""),
    ],
)
def test_money_and_other_programs_are_for_owners(more: dict[str, Any], words: str) -> None:
    at, asks = of(), Return(actor=ASKED, **more)
    text = statement_of(Command.RETURN, about_of(at), asks, "n1", EXPIRY).text
    request = asks.model_copy(update={"signed": Signed(statement=text, signature="armor")})
    found = judge(at, Command.RETURN, request, good("reviewer"), NOON)
    assert (found.reason if isinstance(found, Refusal) else "").startswith(words)
    assert code(found) == ("role_required" if words else "")
    acts: dict[str, PersonRole] = {"return": "reviewer"}
    for allowed in (good("owner"), good("reviewer", **acts)):
        assert isinstance(judge(at, Command.RETURN, request, allowed, NOON), Permit)


ASKS: list[Role] = ["human", "unattributed"]


@pytest.mark.parametrize("command", list(LEAST_ROLE))
@pytest.mark.parametrize("policy", ["off", "optional", "required"])
@pytest.mark.parametrize("signers", ["", "f" * 64])
@pytest.mark.parametrize("role", ASKS)
def test_unsigned(command: Command, policy: str, signers: str, role: Role) -> None:
    request = REQUESTS[command].model_copy(update={"actor": Actor(role=role, identity="ann")})
    found = judge(of(policy, signers=signers), command, request, None, NOON)
    if policy == "required" and command not in UNSIGNED:
        assert code(found) == "signature_required"
    else:
        assert found == Permit(Actor(role="unattributed", identity="ann"), "said")


def test_where_nobody_can_sign_a_signature_is_refused() -> None:
    for policy in ("optional", "required"):
        at = of(policy, signers="")
        assert code(judge(at, Command.APPROVE, signed(at, Command.APPROVE), None, NOON)) == "no_signers"


def test_a_workers_request_is_the_tables_to_refuse_signed_or_not() -> None:
    at = of()
    worker = Actor(role="worker", identity="bot")
    request = signed(at, Command.APPROVE).model_copy(update={"actor": worker})
    assert judge(at, Command.APPROVE, request, good(), NOON) == Permit(worker)


@pytest.mark.parametrize("why", ["bad_signature", "unknown_signer", "signer_removed", "signature_mismatch"])
def test_what_came_of_looking_at_it_is_told(why: str) -> None:
    at, check = of(), SignatureCheck(code=why, reason="so it is")
    found = judge(at, Command.APPROVE, signed(at, Command.APPROVE), check, NOON)
    assert isinstance(found, Refusal)
    assert (found.code, found.reason) == (why, "so it is")


OTHER: list[tuple[dict[str, Any], str, str]] = [
    ({"action": "delete"}, "signature_mismatch", "action"),
    ({"session": "s2"}, "signature_mismatch", "session"),
    ({"todo": "t2"}, "signature_mismatch", "todo"),
    ({"reason": "other"}, "signature_mismatch", "reason"),
    ({"details": {"kind": "direct", "acknowledged": ["tests"]}}, "signature_mismatch", "details"),
    ({"details": {}}, "signature_mismatch", "details"),
    ({"nonce": ""}, "signature_mismatch", "nonce"),
    ({"nonce": "n" * (LONGEST_NONCE + 1)}, "signature_mismatch", "nonce"),
    ({"nonce": "used"}, "nonce_spent", "before"),
    ({"expiry": NOON}, "signature_expired", "until"),
    ({"expiry": NOON + LONGEST + timedelta(seconds=1)}, "signature_mismatch", "7 days"),
    ({"expiry": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))}, "signature_expired", "until"),
    ({"expiry": datetime(9999, 12, 31, tzinfo=timezone(-timedelta(hours=12)))}, "signature_mismatch", "7 days"),
    ({"attempt": 2}, "stale_signature", "attempt"),
    ({"snapshot": "0" * 64}, "stale_signature", "snapshot"),
    ({"snapshot": ""}, "stale_signature", "snapshot"),
    ({"order": "0" * 64}, "stale_signature", "order"),
]


@pytest.mark.parametrize(("other", "why", "word"), OTHER)
def test_what_was_signed_for_something_else(other: dict[str, Any], why: str, word: str) -> None:
    at = of(nonces={"used": EXPIRY})
    statement = said(at, Command.OVERRIDE).model_copy(update=other)
    found = judge(at, Command.OVERRIDE, signed(at, Command.OVERRIDE, statement.text), good(), NOON)
    assert isinstance(found, Refusal)
    assert (found.code, word in found.reason) == (why, True), found.reason


def test_until_the_last_moment_and_seven_days_ahead_it_is_good() -> None:
    at = of()
    for now in (EXPIRY - timedelta(microseconds=1), EXPIRY - LONGEST):
        assert code(judge(at, Command.APPROVE, signed(at, Command.APPROVE), good(), now)) == ""


def test_what_the_request_says_is_what_was_signed() -> None:
    """Every field of every request that is no address: none can be changed on the way."""
    changes: dict[str, Any] = {
        "reason": "other", "clarification": "other", "feedback": "other", "content": "other", "kind": "verifier",
        "acknowledged": ("lint",), "extra_attempts": 3, "cost_usd": 2.0, "worker": "sh", "changes": {"content": "x"},
        "order_index": 2,
    }  # fmt: skip
    own = {
        "actor",
        "session",
        "tool_call_id",
        "expected_version",
        "snapshot",
        "dry_run",
        "signed",
        "marks",
        "established",
    }
    at = of("optional")
    for command, request in REQUESTS.items():
        for name in sorted(set(type(request).model_fields) - own):
            value = changes[name] if command is not Command.NOTE or name != "kind" else "clarification"
            other = signed(at, command).model_copy(update={name: value})
            assert code(judge(at, command, other, good(), NOON)) == "signature_mismatch", (command, name)


@pytest.mark.parametrize(
    ("actor", "why"),
    [
        (Actor(role="human", identity=ANN), ""),
        (Actor(role="human"), ""),
        (Actor(role="unattributed", identity="bob"), ""),
        (Actor(role="human", identity="bob"), "signature_mismatch"),
    ],
)
def test_who_names_themselves_has_to_be_who_signed(actor: Actor, why: str) -> None:
    at = of()
    request = signed(at, Command.APPROVE).model_copy(update={"actor": actor})
    assert code(judge(at, Command.APPROVE, request, good(), NOON)) == why


def test_there_is_one_way_to_write_a_statement() -> None:
    text = said(of(), Command.OVERRIDE).text
    naive = said(of(), Command.OVERRIDE, expiry=datetime(2026, 1, 15, 13)).text  # noqa: DTZ001 - that is what is wrong
    wrong = [
        f"{text}\n", f" {text}", text.replace(":", ": ", 1), text.replace("{", '{"a":1,', 1), f"[{text}]", "", "null",
        "not JSON", "\ud800", text.replace("2026-01-15T12:10:00Z", "2026-01-15T12:10:00+00:00"), naive,
        "[" * 100_000, text.replace('"attempt":1', f'"attempt":{"9" * 5000}'), text + "x" * 300_000,
    ]  # fmt: skip
    for one in wrong:
        found = read(Signed(statement=one, signature="armor"))
        assert isinstance(found, Refusal), one[:80]
        assert found.code == "signature_mismatch"
    assert read(Signed(statement=text, signature="armor")) == said(of(), Command.OVERRIDE)


@settings(max_examples=200)
@given(st.text(), st.dictionaries(st.text(), st.text() | st.integers() | st.booleans() | st.none()))
def test_whatever_is_said_is_read_back(reason: str, details: dict[str, Any]) -> None:
    statement = said(of(), Command.APPROVE).model_copy(update={"reason": reason, "details": details})
    try:
        text = statement.text
        text.encode()
    except UnicodeEncodeError:
        return
    assert read(Signed(statement=text, signature="armor")) == statement


def test_a_nonce_is_kept_until_its_signature_would_be_refused_anyway() -> None:
    at = of(nonces={"old": NOON, "young": NOON + timedelta(seconds=1)})
    permit = judge(at, Command.APPROVE, signed(at, Command.APPROVE), good(), NOON)
    assert isinstance(permit, Permit)
    assert spent(at, permit, NOON).nonces == {"young": NOON + timedelta(seconds=1), "n1": EXPIRY}
    assert spent(at, Permit(ASKED), NOON) is at


# --- what becomes of the todo ---------------------------------------------------------------------------------------

PASSED: dict[str, Any] = {"passed": True, "outcome": "changes_requested", "objected": False}


def did(
    at: Todo, request: HumanRequest, check: SignatureCheck | None = None
) -> tuple[Outcome | Declined, HumanRequest]:
    assert isinstance(request, Approve)
    return asked.done(at, Command.APPROVE, request, approving.approve, check, NOON)


def test_done_it_is_in_the_persons_own_row_and_used_up() -> None:
    at = of(**PASSED)
    outcome, recorded = did(at, signed(at, Command.APPROVE), good())
    assert isinstance(outcome, Step)
    (row,) = outcome.events
    assert str(row.actor) == str(recorded.actor) == f"human:{ANN}"
    assert row.payload["signature"] == {
        "statement": said(at, Command.APPROVE).text,
        "signature": "armor",
        "signer": ANN,
        "fingerprint": "SHA256:x",
    }
    assert outcome.todo.nonces == {"n1": EXPIRY}
    again, sender = did(outcome.todo, signed(at, Command.APPROVE), good())
    assert isinstance(again, Refusal)
    assert (again.code, str(sender.actor)) == ("nonce_spent", "unattributed:login")


def test_what_the_act_refuses_uses_nothing_up_and_is_the_signers() -> None:
    at = of()
    outcome, recorded = did(at, signed(at, Command.APPROVE), good())
    assert isinstance(outcome, Refusal)
    assert (outcome.code, str(recorded.actor), at.nonces) == ("not_passed", f"human:{ANN}", {})


def test_unsigned_a_human_is_not_known_to_be_one() -> None:
    at = of("optional", **PASSED)
    request = REQUESTS[Command.APPROVE].model_copy(update={"actor": Actor(role="human", identity=ANN)})
    outcome, recorded = did(at, request)
    assert isinstance(outcome, Step)
    assert {str(event.actor) for event in outcome.events} == {str(recorded.actor)} == {f"unattributed:{ANN}"}
    assert "signature" not in outcome.events[0].payload


def test_one_row_of_several_has_the_signature() -> None:
    at = of("required", revisions=9, audits=9)
    request = signed(at, Command.REJECT)
    assert isinstance(request, Reject)
    outcome, _ = asked.done(at, Command.REJECT, request, people.reject, good(), NOON)
    assert isinstance(outcome, Step)
    assert [(event.action, "signature" in event.payload) for event in outcome.events] == [
        ("noted", True),
        ("escalated", False),
    ]


def test_an_edit_of_a_claim_that_is_judged_keeps_the_persons_row_apart() -> None:
    at = of("required").model_copy(update={"status": TodoStatus.CLAIMED, "round": 1})
    request = signed(at, Command.EDIT)
    assert isinstance(request, Edit)
    outcome, _ = asked.done(
        at, Command.EDIT, request.model_copy(update={"expected_version": 1}), editing.edit, good(), NOON
    )
    assert isinstance(outcome, Step)
    assert [event.action for event in outcome.events if "signature" in event.payload] == ["edited"]


def test_what_changed_is_from_the_first_row_to_the_last() -> None:
    at = of("required", revisions=9, audits=9)
    request = signed(at, Command.REJECT)
    assert isinstance(request, Reject)
    outcome, _ = asked.done(at, Command.REJECT, request, people.reject, good(), NOON)
    assert isinstance(outcome, Step)
    changed = asked.changed_by(outcome)
    assert (changed["trigger"].before, changed["trigger"].after) == ("", "revision_cap_exceeded")
    assert (changed["feedback"].before, changed["feedback"].after) == ("", "again")
    assert "status" not in changed, "it waits for a human as before"


def test_a_refusals_row_says_whose_signature_it_had() -> None:
    event = Step(todo=of(), events=({"action": "refused", "actor": ASKED, "payload": {"code": "x"}},))
    request = Approve(actor=ASKED)
    for check, told in (
        (good(), {"signer": ANN, "fingerprint": "SHA256:x"}),
        (SignatureCheck(code="unknown_signer", fingerprint="SHA256:y"), {"fingerprint": "SHA256:y"}),
        (None, {}),
    ):
        (row,) = asked.told_sender(event, request, check).events
        assert row.payload == {"code": "x", **told}


def test_roles_that_no_person_has_stay_what_they_are() -> None:
    roles: list[Role] = ["worker", "system", "harness", "auditor", "unattributed"]
    for role, name in itertools.product(roles, ("", "x")):
        request = Approve(actor=Actor(role=role, identity=name))
        assert asked.unsigned(request) == request
    human = Approve(actor=Actor(role="human", identity=ANN))
    assert str(asked.unsigned(human).actor) == f"unattributed:{ANN}"
    assert NOON.tzinfo is UTC


@pytest.mark.parametrize(
    ("asks", "wanted"),
    [
        ({}, "said"),
        ({"established": "said"}, "said"),
        ({"established": "terminal"}, "terminal"),
        ({"established": "token"}, "token"),
        ({"established": "signed"}, "said"),
    ],
)
def test_the_persons_row_says_how_they_were_established(asks: dict[str, Any], wanted: str) -> None:
    at = of("optional")
    request = Reject(actor=ASKED, feedback="again", **asks)
    outcome, _ = asked.done(at, Command.REJECT, request, people.reject, None, NOON)
    assert isinstance(outcome, Step)
    assert [event.payload.get("established") for event in outcome.events] == [wanted]


def test_a_signature_establishes_whatever_else_is_said() -> None:
    at = of("optional")
    request = signed(at, Command.REJECT).model_copy(update={"established": "terminal"})
    assert isinstance(request, Reject)
    outcome, _ = asked.done(at, Command.REJECT, request, people.reject, good(), NOON)
    assert isinstance(outcome, Step)
    assert [event.payload.get("established") for event in outcome.events] == ["signed"]


def test_how_they_were_established_is_no_part_of_what_people_sign() -> None:
    plain = Approve(actor=ASKED)
    other = plain.model_copy(update={"established": "terminal", "marks": ("CLAUDECODE",)})
    texts = {statement_of(Command.APPROVE, about_of(of()), one, "n1", EXPIRY).text for one in (plain, other)}
    assert len(texts) == 1


def test_a_refusals_row_says_which_marks_made_an_agent_of_a_person() -> None:
    at = of("optional")
    request = Approve(actor=Actor(role="worker", identity="ann"), marks=("CLAUDECODE",))
    outcome, recorded = asked.done(at, Command.APPROVE, request, people.approve, None, NOON)
    assert isinstance(outcome, Refusal)
    assert outcome.code == "forbidden"
    (row,) = asked.told_sender(refused(at, "approve", recorded.actor, outcome), recorded, None).events
    assert (row.payload["code"], row.payload["marks"]) == ("forbidden", ["CLAUDECODE"])
