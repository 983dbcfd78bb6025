"""Signed pins: what a signature is good for when it is given, and which pin files count where only signed acts do."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from adapters.config.defaults import NO_POLICY
from adapters.config.settings import Settings, load_settings
from domain.errors import Refused
from domain.event_kinds import problems
from domain.events import Actor, TrailEntry
from domain.pins import Pin, PinnedFacts, judge_pin, pin_statement
from domain.ports import Trail
from domain.requests import Refusal
from domain.signatures import PersonRole, PinAct, SignatureCheck, Signed, Statement
from domain.signing import LONGEST, Permit
from entrypoints import pin_signatures
from entrypoints.pinning import Admitted, Options, admit_order
from entrypoints.planning import admitted_session
from entrypoints.stores import build_trail
from entrypoints.trusting import Consent, candidate, revoke, trust
from tests.signing import Key, make_key
from tests.unit.test_survey_base import commit, repository

ANN, BOB = "ann@example.org", "bob@example.org"
NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)
SOON = NOON + timedelta(minutes=5)
SOMEBODY = Actor(role="unattributed", identity="root")
PIN = Pin(
    path="/p/.countersign/order.yaml",
    id="wo-p",
    facts=PinnedFacts(digest="d" * 64, bases=("/base",), workspaces=("/p",)),
    text="id: wo-p\n",
    orders={"wo-p": "o" * 64},
    actor=SOMEBODY,
    at=NOON,
)


def judged(
    statement: Statement,
    pin: Pin = PIN,
    act: PinAct = "trust",
    role: PersonRole = "owner",
    asker: Actor = SOMEBODY,
    nonces: frozenset[str] = frozenset(),
    acts: dict[str, PersonRole] | None = None,
) -> Permit | Refusal:
    check = SignatureCheck(signer=ANN, fingerprint="SHA256:x", role=role, acts=acts or {})
    signed = Signed(statement=statement.text, signature="armor")
    return judge_pin(pin, act, signed, check, reason="read it", asker=asker, nonces=nonces, now=NOON)


def said(act: PinAct = "trust", pin: Pin = PIN, **changes: Any) -> Statement:
    return pin_statement(pin, act, "read it")("n1", SOON).model_copy(update=changes)


def test_a_good_signature_is_its_signers_act() -> None:
    found = judged(said())
    assert isinstance(found, Permit)
    assert (str(found.actor), found.established, found.nonce) == (f"human:{ANN}", "signed", "n1")


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"action": "revoke_trust"}, "signature_mismatch"),
        ({"action": "approve"}, "signature_mismatch"),
        ({"session": "s1"}, "signature_mismatch"),
        ({"todo": "wo-q"}, "signature_mismatch"),
        ({"reason": "another"}, "signature_mismatch"),
        ({"details": {}}, "stale_signature"),
        ({"nonce": ""}, "signature_mismatch"),
        ({"expiry": NOON + LONGEST + timedelta(minutes=1)}, "signature_mismatch"),
        ({"expiry": NOON}, "signature_expired"),
        ({"order": "e" * 64}, "stale_signature"),
        ({"attempt": 1}, "stale_signature"),
    ],
)
def test_a_signature_of_something_else_is_refused(changes: dict[str, Any], code: str) -> None:
    found = judged(said(**changes))
    assert isinstance(found, Refusal)
    assert found.code == code


def test_it_is_good_once_and_for_the_one_whom_the_sender_names() -> None:
    spent = judged(said(), nonces=frozenset({"n1"}))
    assert isinstance(spent, Refusal)
    assert spent.code == "nonce_spent"
    bob = judged(said(), asker=Actor(role="human", identity=BOB))
    assert isinstance(bob, Refusal)
    assert bob.code == "signature_mismatch"
    assert isinstance(judged(said(), asker=Actor(role="human", identity=ANN)), Permit)


@pytest.mark.parametrize("act", ["trust", "revoke_trust"])
def test_it_takes_an_owner_unless_the_project_says_otherwise(act: PinAct) -> None:
    found = judged(said(act), act=act, role="reviewer")
    assert isinstance(found, Refusal)
    assert found.code == "role_required"
    assert found.reason.startswith(f"{act.replace('_', ' ')} is for owners")
    assert isinstance(judged(said(act), act=act, role="reviewer", acts={act: "reviewer"}), Permit)


def test_no_password_of_a_remote_is_signed() -> None:
    """The statement stands in the trail."""
    pin = PIN.model_copy(update={"rule": {"remote_url": "https://ann:hunter2@example.org/p"}})
    assert "hunter2" not in pin_statement(pin, "trust", "")("n1", SOON).text


@dataclass
class Project:
    """A repository with an order in it; ann is an owner, bob a reviewer, and only signed acts count."""

    root: Path
    keys: dict[str, Key]
    settings: Settings
    trail: Trail

    @property
    def order(self) -> Path:
        return self.root / ".countersign" / "order.yaml"

    @property
    def file(self) -> Path:
        """The pin's."""
        (found,) = (self.settings.state_dir / "pins").iterdir()
        return found

    def write(self, content: str = "x") -> None:
        base = {"repository": str(self.root), "revision": commit(self.root, "a.txt", f"{content}\n")}
        order = {"id": "wo-p", "content": content, "workspace": "..", "base": base}
        self.order.parent.mkdir(exist_ok=True)
        self.order.write_text(yaml.safe_dump(order))

    def configure(self, *who: str, roles: str = f'"{ANN}" = "owner"', more: str = "") -> None:
        """Who may sign from now on."""
        folder = self.root.parent
        (folder / "allowed").write_text("".join(self.keys[one].line(one) for one in who))
        text = f'[policy]\nhuman_acts = "signed"\n[signers]\nfile = "allowed"\n[signers.roles]\n{roles}\n{more}'
        (folder / "countersign.toml").write_text(text)
        self.settings = load_settings(self.root)

    def consent(self, pin: Pin, act: PinAct, who: str = ANN) -> Consent:
        now = datetime.now(UTC)
        text = pin_statement(pin, act, "read it")(f"nonce {now.isoformat()}", now + timedelta(minutes=5)).text
        signed = self.keys[who].signs(text)
        found, _ = pin_signatures.judge(
            pin, act, signed, reason="read it", asker=SOMEBODY, settings=self.settings, trail=self.trail, now=now
        )
        assert isinstance(found, Permit), found
        return Consent(found.actor, "signed", now, "read it", found.record)

    def trust(self, who: str = ANN, path: Path | None = None) -> Pin:
        found = candidate(path or self.order, self.settings, NO_POLICY, Options())
        return trust(found, self.consent(found.pin, "trust", who), self.settings, self.trail)

    def admit(self) -> Admitted:
        return admit_order(self.order, self.settings, NO_POLICY, Options())

    def refused(self) -> Refused:
        with pytest.raises(Refused) as caught:
            self.admit()
        assert caught.value.code == "order_changed"
        assert caught.value.next_step.endswith(f"countersign trust {self.order} --key FILE")
        return caught.value


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("COUNTERSIGN_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.delenv("COUNTERSIGN_SIGNERS_FILE", raising=False)
    root = repository(tmp_path / "p")
    (tmp_path / "countersign.toml").touch()
    (tmp_path / "state").mkdir()
    keys = {who: make_key(tmp_path, who) for who in (ANN, BOB)}
    settings = load_settings(root)
    made = Project(root, keys, settings, build_trail(settings))
    made.configure(ANN, BOB)
    made.write()
    return made


def test_a_signed_pin_counts_and_its_row_can_be_checked_again(project: Project) -> None:
    assert "no person has trusted it" in project.refused().reason
    pin = project.trust()
    assert project.admit().pin == pin.digest
    (row,) = project.trail.rows(pin_signatures.ROWS)
    assert (str(row.actor), row.payload["established"], row.timestamp) == (f"human:{ANN}", "signed", pin.at)
    signature = row.payload["signature"]
    assert isinstance(signature, dict)
    assert signature["signers"] == json.loads(project.file.read_text())["signature"]["signers"]
    assert problems(TrailEntry.model_validate(row.model_dump())) == ()
    project.write("y")
    assert "trusted it on" in project.refused().reason
    assert project.trust().digest != pin.digest
    assert [row.payload["replaces"] for row in project.trail.rows(pin_signatures.ROWS)] == ["", pin.digest]


Edit = Callable[[dict[str, Any]], None]
EDITS: dict[str, Edit] = {
    "its text": lambda pin: pin.update(text="another"),
    "the digest": lambda pin: pin["facts"].update(digest="e" * 64),
    "a file beside": lambda pin: pin["facts"].update(files={"own/test.py": "e" * 64}),
    "the base": lambda pin: pin["facts"].update(bases=["/"]),
    "the workspace": lambda pin: pin["facts"].update(workspaces=["/"]),
    "the kind": lambda pin: pin.update(kind="session"),
    "the id": lambda pin: pin.update(id="wo-q"),
    "the path": lambda pin: pin.update(path="/elsewhere"),
    "a rule": lambda pin: pin.update(rule={"branch": "main"}),
    "an order": lambda pin: pin["orders"].update(other="e" * 64),
    "who": lambda pin: pin["actor"].update(identity=BOB),
    "how": lambda pin: pin.update(established="terminal"),
    "when": lambda pin: pin.update(at="2026-01-01T00:00:00Z"),
    "the signer": lambda pin: pin["signature"].update(signer=BOB),
    "the signature": lambda pin: pin["signature"].update(signature="none"),
    "no signature": lambda pin: pin.update(signature=None),
    "no statement": lambda pin: pin["signature"].update(statement="{}"),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_an_edited_pin_does_not_count(project: Project, edit: Edit) -> None:
    project.trust()
    pin = json.loads(project.file.read_text())
    edit(pin)
    project.file.write_text(json.dumps(pin))
    assert "trusted it on" not in project.refused().reason, "it is refused for itself, whatever the order says"


def test_a_signature_of_a_key_that_the_pin_itself_lists_does_not_count(project: Project, tmp_path: Path) -> None:
    project.trust()
    pin = Pin.model_validate_json(project.file.read_bytes())
    assert pin.signature is not None
    assert pin.signature.signers is not None
    own = make_key(tmp_path, "own")
    signed = own.signs(pin.signature.statement)
    signers = pin.signature.signers.model_copy(update={"allowed": own.line(ANN)})
    record = pin.signature.model_copy(update={"signature": signed.signature, "signers": signers})
    project.file.write_text(pin.model_copy(update={"signature": record}).model_dump_json())
    assert "[signers] of now" in project.refused().reason


def test_an_older_pin_that_is_put_back_does_not_count(project: Project) -> None:
    """Else whoever kept it could have the order back that a person has replaced, or taken back."""
    project.trust()
    order, pin = project.order.read_bytes(), project.file.read_bytes()
    project.write("y")
    project.trust()
    project.order.write_bytes(order)
    assert "its text has changed" in project.refused().reason
    project.file.write_bytes(pin)
    assert "not the last one" in project.refused().reason

    found = candidate(project.order, project.settings, NO_POLICY, Options())
    assert (found.before, found.diff) == (None, ""), "it is no authority for what is shown as the difference either"
    project.trust()
    pin, file = project.file.read_bytes(), project.file
    last = Pin.model_validate_json(pin)
    revoke(last, project.consent(last, "revoke_trust"), project.settings, project.trail)
    assert "no person has trusted it" in project.refused().reason
    file.write_bytes(pin)
    assert "not the last one" in project.refused().reason


def test_a_pin_of_another_file_does_not_count(project: Project) -> None:
    project.trust()
    file, pin = project.file, project.file.read_bytes()
    other = project.order.with_name("other.yaml")
    other.write_bytes(project.order.read_bytes())
    project.trust(path=other)
    (moved,) = {*(project.settings.state_dir / "pins").iterdir()} - {file}
    moved.write_bytes(pin)
    with pytest.raises(Refused, match=f"its pin is of {project.order}"):
        admit_order(other, project.settings, NO_POLICY, Options())


def test_it_counts_as_long_as_the_signer_may_sign(project: Project) -> None:
    project.trust()
    project.configure(BOB, roles="")
    assert f"the signature of {ANN} is not good" in project.refused().reason
    project.configure(ANN, BOB, roles="")
    assert f"trust is for owners, and {ANN} is a reviewer now" in project.refused().reason
    project.configure(ANN, BOB, roles="", more='[signers.acts]\ntrust = "reviewer"\n')
    assert project.admit().pin
    project.trust(BOB)
    assert project.admit().pin
    (project.root.parent / "countersign.toml").write_text('[policy]\nhuman_acts = "signed"\n')
    project.settings = load_settings(project.root)
    assert "it has no [signers]" in project.refused().reason


def test_one_signature_makes_one_row(project: Project) -> None:
    """Two processes may have judged it before one of them has recorded it."""
    found = candidate(project.order, project.settings, NO_POLICY, Options())
    consent = project.consent(found.pin, "trust")
    trust(found, consent, project.settings, project.trail)
    later = replace(consent, at=consent.at + timedelta(seconds=1))
    with pytest.raises(Refused, match="nonce_spent"):
        trust(found, later, project.settings, project.trail)
    assert len(list(project.trail.rows(pin_signatures.ROWS))) == 1
    assert project.admit().pin


def test_a_session_s_file_counts_by_a_signed_pin_alone(project: Project) -> None:
    path = project.root / "session.yaml"
    base = {"repository": str(project.root), "revision": commit(project.root, "a.txt", "x\n")}
    todo = {"id": "a", "content": "x", "workspace": ".", "base": base}
    path.write_text(yaml.safe_dump({"id": "s", "todos": [todo]}))
    with pytest.raises(Refused, match=f"countersign trust {path} --key FILE"):
        admitted_session(path, project.settings)
    pin = project.trust(path=path)
    assert (pin.kind, admitted_session(path, project.settings).plan.authority.pin) == ("session", pin.digest)
    project.file.write_text(pin.model_copy(update={"signature": None}).model_dump_json())
    with pytest.raises(Refused, match="without a signature"):
        admitted_session(path, project.settings)
