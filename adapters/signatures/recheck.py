"""Checks again, from a trail's rows alone, the signatures that stand in them; `ssh-keygen` does the cryptography.

That a row is what was written is the chain's to prove (`adapters/trail`). Here it is seen that the row's person has
signed it: by the signers that the session began with (of a standalone round or a pin, those in the row), for that act
on that todo or pin, in time, and no signature twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from adapters.signatures.ssh import check_by
from domain.base import sha256_hex
from domain.errors import Unavailable
from domain.event_kinds import KINDS
from domain.event_payloads import Act
from domain.events import Action, TrailFault
from domain.fix_summary import STANDALONE
from domain.lifecycle import TRANSITIONS
from domain.requests import Refusal
from domain.signatures import PinAct, SignatureCheck, SignatureRecord, Signed, Signers, Statement
from domain.signing import read

CREATED: Action = "session_created"
SIGNED_ACTIONS: tuple[Action, ...] = tuple(action for action, kind in KINDS.items() if issubclass(kind.payload, Act))
"""What may have a signature in its row."""

LOOKED_AT: tuple[Action, ...] = (CREATED, *SIGNED_ACTIONS)

_COMMANDS: dict[str, frozenset[str]] = {}
for _key, _found in TRANSITIONS.items():
    _COMMANDS[_found.event] = _COMMANDS.get(_found.event, frozenset()) | {_key[1].value}
_COMMANDS["noted"] |= {"reject"}  # one that the caps allow no more
_PIN_ACTS: dict[Action, PinAct] = {"order_trusted": "trust", "order_trust_revoked": "revoke_trust"}
_COMMANDS |= {action: frozenset({act}) for action, act in _PIN_ACTS.items()}


class Recheck:
    """One walk over rows, by session and sequence. `faults` are what is wrong, `checked` counts signatures.

    `unchecked`: those that could not be looked at, and `why` of the last one.
    """

    def __init__(self) -> None:
        self.faults: list[TrailFault] = []
        self.checked = 0
        self.unchecked = 0
        self.why: Unavailable | None = None
        self._signers: dict[str, Signers] = {}
        self._nonces: dict[tuple[str, str], dict[str, int]] = {}

    def look(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Look at the rows: `session`, `sequence`, `todo_id`, `actor`, `action`, `payload` and `timestamp` of each."""
        for row in rows:
            payload = row["payload"]
            if not isinstance(payload, dict):
                continue
            if row["action"] == CREATED:
                self._begin(row, payload)
            elif payload.get("signature") is not None:
                self._look_at(row, payload["signature"])

    def _begin(self, row: Mapping[str, Any], payload: Mapping[str, Any]) -> None:
        if payload.get("signers") is None:
            return
        try:
            signers = Signers.model_validate(payload["signers"])
        except ValidationError:
            self._fault(row, "its signers cannot be read")
            return
        if sha256_hex(signers.blob) != payload.get("signers_digest"):
            self._fault(row, "its signers are not those of the session")
        self._signers[row["session"]] = signers

    def _look_at(self, row: Mapping[str, Any], found: object) -> None:
        try:
            record = SignatureRecord.model_validate(found)
            at = _moment(row["timestamp"])
        except ValueError:
            self._fault(row, "its signature cannot be read")
            return
        signers = record.signers if row["session"] == STANDALONE else self._signers.get(row["session"])
        if signers is None:
            self._fault(row, "it is signed, and nobody can sign in its session")
            return
        try:
            check = check_by(Signed(statement=record.statement, signature=record.signature), signers, at, record.signer)
        except Unavailable as error:
            self.unchecked += 1
            self.why = error
            return
        self.checked += 1
        for what in (*self._of_the_person(row, record, check), *self._of_the_act(row, record, at)):
            self._fault(row, what)

    def _of_the_person(self, row: Mapping[str, Any], record: SignatureRecord, check: SignatureCheck) -> list[str]:
        if check.code:
            return [f"its signature is not good: {check.reason} ({check.code})"]
        if check.signer != record.signer:
            return [f"{check.signer} has signed it, and the row says {record.signer}"]
        actor = row["actor"]
        named = (actor.get("role"), actor.get("identity")) if isinstance(actor, dict) else None
        return [] if named == ("human", check.signer) else [f"{check.signer} has signed it, and another has done it"]

    def _of_the_act(self, row: Mapping[str, Any], record: SignatureRecord, at: datetime) -> list[str]:
        said = read(Signed(statement=record.statement, signature=record.signature))
        if isinstance(said, Refusal):
            return [said.reason]
        found = []
        if said.action not in _COMMANDS.get(row["action"], ()):
            found.append(f"its signature is for {said.action}")
        if (said.session, said.todo) != (row["session"], row["todo_id"]):
            found.append(f"its signature is for {said.session}/{said.todo}")
        if said.expiry <= at:
            found.append(f"its signature was good until {said.expiry.isoformat()}")
        if row["action"] in _PIN_ACTS and _of_pin(said) != tuple(row["payload"].get(name) for name in _OF_PIN):
            found.append("its signature is for another pin")
        return [*found, *self._twice(row, said)]

    def _twice(self, row: Mapping[str, Any], said: Statement) -> list[str]:
        seen = self._nonces.setdefault((row["session"], row["todo_id"]), {})
        first = seen.setdefault(said.nonce, row["sequence"])
        return [] if first == row["sequence"] else [f"its signature was used before, by row {first}"]

    def _fault(self, row: Mapping[str, Any], what: str) -> None:
        self.faults.append(TrailFault(session=row["session"], sequence=row["sequence"], what=what))


_OF_PIN = ("pin", "path", "kind")


def _of_pin(said: Statement) -> tuple[object, ...]:
    """What was signed of a pin, as `_OF_PIN` has it of a row."""
    return said.order, said.details.get("path"), said.details.get("kind")


def _moment(value: object) -> datetime:
    """A row's time, as a value or as an export has it. Raises ValueError."""
    found = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    if found.tzinfo is None:
        raise ValueError("no time zone")
    return found
