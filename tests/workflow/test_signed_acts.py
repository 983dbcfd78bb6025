"""What people sign and send to a todo: taken once, refused with a code that the trail has, and checked again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment

from adapters.signatures.recheck import Recheck
from domain.base import sha256_hex
from domain.events import Actor, TrailRow
from domain.lifecycle import Command
from domain.read_model import fold
from domain.requests import Answer, Approve, Delete, Edit, HumanRequest, Override, Reject
from domain.signatures import Signed, Signers
from domain.signing import About
from domain.todo import Gate
from entrypoints import signing
from tests.signing import Key, make_key, signers_of
from tests.workflow.lives import ANN, WORKER, Life, living, until
from tests.workflow.scripted import Plan

DIRECT = {"direct_approval_allowed": True, "signatures": "required"}
WHO = "ann@example.org"


@pytest.fixture
def key(tmp_path: Path) -> Key:
    return make_key(tmp_path, "ann")


@pytest.fixture
def signers(key: Key) -> Signers:
    return signers_of(key.line(WHO), ann="owner")


def about(life: Life) -> About:
    """As whoever signs sees the todo: from the rows."""
    (view,) = fold(life.rows()).todos
    return signing.about_of(view)


def direct(reason: str = "looked at it", **more: Any) -> Override:
    return Override(actor=ANN, kind="direct", reason=reason, **more)


def signed(life: Life, key: Key, request: Override, minutes: float = 10) -> Override:
    return signing.sign(request, Command.OVERRIDE, about(life), key.file, minutes=minutes)


async def judged(life: Life) -> None:
    """It is claimed, and its round goes on."""
    life.script.rounds = [Plan(holds=True)]
    await life.started()
    await life.claims()
    await life.rounds(1)


def told(answer: Answer) -> str:
    return answer.refused.code if answer.refused else ""


def rechecked(rows: Sequence[TrailRow], signers: Signers) -> Recheck:
    """The todo's rows, with the session's first one."""
    found = Recheck()
    created = rows[0].model_copy(
        update={
            "action": "session_created",
            "payload": {"signers": signers.model_dump(mode="json"), "signers_digest": sha256_hex(signers.blob)},
        }
    )
    found.look(row.model_dump() for row in (created, *rows))
    return found


async def test_a_signed_act_is_its_signers_and_checked_again_from_the_rows(
    server: WorkflowEnvironment, key: Key, signers: Signers
) -> None:
    async with living(server, signers=signers, override_policy=DIRECT) as life:
        await judged(life)
        answer = await life.ask("override", signed(life, key, direct()))
        assert (told(answer), answer.status, answer.signer, answer.dry_run) == ("", "verified", WHO, False)
        assert (answer.changed["status"].before, answer.changed["status"].after) == ("claimed", "verified")
        assert "revisions" not in answer.changed
        (row,) = life.rows("human_override")
        assert str(row.actor) == f"human:{WHO}"
        assert answer.sequence == row.sequence
        found = rechecked(life.rows(), signers)
        assert (found.checked, found.faults, found.unchecked) == (1, [], 0)
        assert len((await life.state()).nonces) == 1
        await life.has("round_ignored")


async def test_what_is_not_good_is_refused_each_in_the_trail(
    server: WorkflowEnvironment, key: Key, signers: Signers, tmp_path: Path
) -> None:
    eve = make_key(tmp_path, "eve")
    async with living(server, signers=signers, override_policy=DIRECT) as life:
        await judged(life)
        good = signed(life, key, direct())
        assert good.signed
        text = good.signed.statement
        old = signed(life, key, direct(), minutes=1e-6)
        sent: dict[str, Override] = {
            "signature_required": direct(),
            "unknown_signer": signed(life, eve, direct()),
            "bad_signature": good.model_copy(update={"signed": key.signs(text, "git")}),
            "signature_mismatch": good.model_copy(update={"reason": "another"}),
        }
        for code, request in sent.items():
            assert told(await life.ask("override", request)) == code
        assert told(await life.ask("override", old)) == "signature_expired"
        life.script.signers = signers_of(eve.line(WHO))
        late = signing.sign(direct(), Command.OVERRIDE, about(life), key.file)
        assert told(await life.ask("override", late)) == "signer_removed"
        life.script.signers = signers
        rows = life.rows("refused")
        assert [row.payload["code"] for row in rows] == [*sent, "signature_expired", "signer_removed"]
        assert {str(row.actor) for row in rows} == {"unattributed:ann"}
        assert [row.payload.get("signer", "") for row in rows] == ["", "", "", WHO, WHO, WHO]
        assert ["fingerprint" in row.payload for row in rows] == [False, True, False, True, True, True]
        assert (await life.state()).nonces == {}
        assert told(await life.ask("override", late)) == ""
        await life.has("round_ignored")


async def test_a_signature_is_used_once_and_for_the_claim_that_it_names(
    server: WorkflowEnvironment, key: Key, signers: Signers
) -> None:
    async with living(server, signers=signers, override_policy=DIRECT) as life:
        await judged(life)
        reject = Reject(actor=ANN, feedback="again")
        first = signing.sign(reject, Command.REJECT, about(life), key.file)
        early = signed(life, key, direct())
        assert told(await life.ask("reject", first)) == ""
        assert told(await life.ask("reject", first)) == "nonce_spent"
        await life.has("round_ignored")
        life.script.rounds = [Plan(holds=True)]
        await life.claims("wrote it again")
        await life.rounds(2)
        assert told(await life.ask("override", early)) == "stale_signature"
        wide = Edit(actor=ANN, changes={"content": "Do it well"}, expected_version=(await life.state()).version)
        edit = signing.sign(wide, Command.EDIT, about(life), key.file)
        before = signed(life, key, direct())
        life.script.rounds = [Plan(holds=True)]
        assert told(await life.ask("edit", edit)) == ""
        assert told(await life.ask("override", before)) == "stale_signature"
        reasons = [str(row.payload["reason"]) for row in life.rows("refused") if row.payload["code"] != "nonce_spent"]
        assert "order" in (await life.ask("override", before)).refused.reason  # type: ignore[union-attr] # it is refused
        assert "attempt" in reasons[0]
        assert told(await life.ask("override", signed(life, key, direct()))) == ""
        found = rechecked(life.rows(), signers)
        assert (found.checked, found.faults) == (3, [])
        await life.says(Gate(status="stopped"))


async def test_two_at_once_with_one_signature(server: WorkflowEnvironment, key: Key, signers: Signers) -> None:
    async with living(server, signers=signers, override_policy=DIRECT) as life:
        await judged(life)
        request = signing.sign(Reject(actor=ANN, feedback="again"), Command.REJECT, about(life), key.file)
        answers = await asyncio.gather(life.ask("reject", request), life.ask("reject", request))
        assert sorted(told(answer) for answer in answers) == ["", "nonce_spent"]
        assert len(life.rows("changes_requested")) == 1
        await life.has("round_ignored")


async def test_a_dry_run_is_judged_alike_and_leaves_nothing(
    server: WorkflowEnvironment, key: Key, signers: Signers
) -> None:
    async with living(server, signers=signers, override_policy=DIRECT) as life:
        await judged(life)
        claimed = await life.told(status="claimed")

        async def answered() -> bool:
            return (await life.state()).gate.heard >= claimed.number

        await until(answered)  # what the session says meanwhile is no trace of a trial
        request = signed(life, key, direct())
        before, rows = await life.state(), life.rows()
        trial = request.model_copy(update={"dry_run": True})
        answer = await life.ask("override", trial)
        assert (answer.dry_run, answer.status, answer.review_status, answer.signer, answer.sequence) == (
            True,
            "verified",
            "overridden",
            WHO,
            0,
        )
        assert answer.changed["status"].after == "verified"
        for refused, code in (
            (direct(dry_run=True), "signature_required"),
            (trial.model_copy(update={"reason": "another"}), "signature_mismatch"),
        ):
            answer = await life.ask("override", refused)
            assert (told(answer), answer.dry_run, answer.status, answer.changed) == (code, True, "claimed", {})
        assert (await life.state(), life.rows()) == (before, rows)
        assert told(await life.ask("override", request)) == ""
        await life.has("round_ignored")


@pytest.mark.parametrize("policy", ["off", "optional"])
async def test_unsigned_nobody_is_known_to_be_a_human(server: WorkflowEnvironment, policy: str) -> None:
    async with living(server, override_policy={**DIRECT, "signatures": policy}) as life:
        await judged(life)
        human = Actor(role="human", identity="ann")
        refused: HumanRequest = Approve(actor=human)
        assert told(await life.ask("approve", refused)) == "not_passed"
        assert told(await life.ask("delete", Delete(actor=human, session="another"))) == "other_session"
        assert told(await life.ask("start", Approve(actor=human))) != ""
        answer = await life.ask("override", direct().model_copy(update={"actor": human}))
        assert (told(answer), answer.signer, answer.status) == ("", "", "verified")
        rows = life.rows("refused", "human_override")
        assert [str(row.actor) for row in rows] == ["unattributed:ann"] * 4
        await life.has("round_ignored")


async def test_without_ssh_keygen_nothing_is_refused_and_nothing_passes(
    server: WorkflowEnvironment, key: Key, signers: Signers, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with living(server, signers=signers, override_policy=DIRECT) as life:
        await judged(life)
        request = signed(life, key, direct())
        with monkeypatch.context() as without:
            without.setenv("PATH", "/nowhere")
            with pytest.raises(WorkflowUpdateFailedError) as failed:
                await life.ask("override", request)
        assert isinstance(failed.value.cause, ApplicationError)
        assert (failed.value.cause.type, failed.value.cause.details[0]) == ("unavailable", "system_error")
        assert life.rows("refused", "human_override") == []
        assert told(await life.ask("override", request)) == ""
        await life.has("round_ignored")


# --- the signal -----------------------------------------------------------------------------------------------------


async def test_a_signed_override_by_a_plain_signal(server: WorkflowEnvironment, key: Key, signers: Signers) -> None:
    async with living(server, signers=signers, override_policy=DIRECT) as life:
        await judged(life)
        request = signed(life, key, direct())
        assert request.signed
        said = {"kind": "DIRECT_APPROVAL", "by": "somebody", "reason": request.reason}
        handle = life.client.get_workflow_handle(life.todo.workflow_id)
        await handle.signal("override", {**said, "signature": request.signed.model_dump_json()})
        row = await life.has("human_override")
        assert str(row.actor) == f"human:{WHO}"
        await life.becomes("verified")
        await life.says(Gate(status="stopped"))  # heard, and with it what the signal was waiting for


NONSENSE: list[tuple[list[Any], str]] = [
    ([], "unattributed"),
    (["direct"], "unattributed"),
    ([{"kind": "all", "by": "ann"}], "unattributed:ann"),
    ([{"kind": "direct", "by": "ann", "reason": 7}], "unattributed:ann"),
    ([{"kind": "direct", "by": "ann", "signature": "made up"}], "unattributed:ann"),
    ([{"kind": "direct"}, {"kind": "direct"}], "unattributed"),
]


@pytest.mark.parametrize(("inputs", "actor"), NONSENSE)
async def test_a_signal_that_makes_no_sense_is_not_lost(
    server: WorkflowEnvironment, inputs: list[Any], actor: str
) -> None:
    async with living(server, override_policy={"direct_approval_allowed": True}) as life:
        await judged(life)
        await life.client.get_workflow_handle(life.todo.workflow_id).signal("override", args=inputs)
        row = await life.has("refused")
        assert (str(row.actor), row.payload["command"], row.payload["code"]) == (actor, "override", "malformed")
        assert (await life.state()).status == "claimed"
        assert row.payload["reason"]
        await life.says(Gate(status="stopped"))


# --- from the rows --------------------------------------------------------------------------------------------------


async def test_rows_that_were_written_by_somebody_else_are_found(
    server: WorkflowEnvironment, key: Key, signers: Signers, tmp_path: Path
) -> None:
    async with living(server, signers=signers, override_policy=DIRECT) as life:
        await judged(life)
        await life.ask("override", signed(life, key, direct()))
        await life.has("round_ignored")
        rows = life.rows()
    at = next(place for place, row in enumerate(rows) if row.action == "human_override")
    row = rows[at]
    record: dict[str, Any] = dict(row.payload["signature"])  # type: ignore[arg-type] # an object
    eve = make_key(tmp_path, "eve")
    text = str(record["statement"])

    def faults(by: Signers = signers, **changes: Any) -> list[str]:
        changed = row.model_copy(update=changes)
        return [fault.what for fault in rechecked([*rows[:at], changed, *rows[at + 1 :]], by).faults]

    def carrying(**changes: Any) -> dict[str, Any]:
        return {"payload": {**row.payload, "signature": {**record, **changes}}}

    assert faults() == []
    assert faults(**carrying(statement=text.replace("looked", "booked")))[0].endswith("(bad_signature)")
    assert faults(**carrying(signature=eve.signs(text).signature))[0].endswith("(unknown_signer)")
    assert faults(**carrying(signer="bob@example.org")) == [f"{WHO} has signed it, and the row says bob@example.org"]
    assert faults(actor=ANN) == [f"{WHO} has signed it, and another has done it"]
    assert faults(action="deleted") == ["its signature is for override"]
    assert faults(todo_id="wo-2") == [f"its signature is for {row.session}/wo-1"]
    assert faults(timestamp=row.timestamp + timedelta(days=1))[0].startswith("its signature was good until")
    assert faults(payload={**row.payload, "signature": "gone"}) == ["its signature cannot be read"]
    assert faults(signers_of(eve.line(WHO)))[0].endswith("(unknown_signer)")
    twice = rechecked([*rows, row.model_copy(update={"sequence": 99})], signers).faults
    assert [(fault.session, fault.sequence, fault.what) for fault in twice] == [
        (row.session, 99, f"its signature was used before, by row {row.sequence}")
    ]
    alone = Recheck()
    alone.look([row.model_dump()])
    assert [fault.what for fault in alone.faults] == ["it is signed, and nobody can sign in its session"]
    forged = Recheck()
    said = {"signers": signers.model_dump(mode="json"), "signers_digest": "0" * 64}
    forged.look([row.model_copy(update={"action": "session_created", "payload": said}).model_dump()])
    assert [fault.what for fault in forged.faults] == ["its signers are not those of the session"]


async def test_without_ssh_keygen_rows_are_unproven_and_never_in_order(
    server: WorkflowEnvironment, key: Key, signers: Signers, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with living(server, signers=signers, override_policy=DIRECT) as life:
        await judged(life)
        await life.ask("override", signed(life, key, direct()))
        await life.has("round_ignored")
        rows = life.rows()
    monkeypatch.setenv("PATH", "/nowhere")
    found = rechecked(rows, signers)
    assert (found.checked, found.unchecked, found.faults, found.why is None) == (0, 1, [], False)


def test_what_travels_is_what_was_signed(tmp_path: Path, key: Key) -> None:
    (tmp_path / "statement").write_text("{}")
    (tmp_path / "signature").write_text("armor")
    assert signing.envelope(tmp_path / "statement", tmp_path / "signature") == Signed(statement="{}", signature="armor")
    assert WORKER.role == "worker"
    assert key.file.exists()
