"""A person's signature as it travels: what is signed, by whom it may be, what came of looking at it. It judges nothing.

What a signature is good for is `signing`'s to say. Source: DESIGN 5, issue "Human authority"; OpenSSH PROTOCOL.sshsig.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from pydantic import JsonValue

from domain.base import Message, canonical_json
from domain.lifecycle import Command

NAMESPACE = "countersign"
"""What signatures are made for (`ssh-keygen -Y sign -n countersign`): one that was made for git, say, is none."""

PersonRole = Literal["reviewer", "owner"]

LEAST_ROLE: dict[Command, PersonRole] = {
    Command.UNBLOCK: "reviewer",
    Command.APPROVE: "reviewer",
    Command.REJECT: "reviewer",
    Command.RETURN: "reviewer",
    Command.NOTE: "reviewer",
    Command.OVERRIDE: "owner",
    Command.EDIT: "owner",
    Command.REORDER: "owner",
    Command.DELETE: "owner",
}
"""Who may ask for what, once they have signed; a session's `Signers.acts` may have it otherwise. Owners may all.

A `return` that spends money, or names another program to run, is for owners.
"""

PinAct = Literal["trust", "revoke_trust"]

LEAST_PIN_ROLE: Mapping[str, PersonRole] = {"trust": "owner", "revoke_trust": "owner"}
"""Who may pin an order's file, or take the pin back: as who may edit an order."""

MOST_SIGNED = 200_000
"""Characters of a statement."""


class Statement(Message):
    """What a person signs: one act on one todo, on the claim and by the order that they looked at.

    `snapshot`: the digest of the tree that is claimed, empty for none; `order`: the digest of the order; `details`:
    everything else that the request says, by its fields. `expiry`: until when it may be used; `nonce` makes it one that
    is used once.
    """

    action: str
    session: str
    todo: str
    attempt: int
    snapshot: str = ""
    order: str
    nonce: str
    expiry: datetime
    reason: str = ""
    details: dict[str, JsonValue] = {}

    @property
    def text(self) -> str:
        """The canonical JSON that is signed, without a line end."""
        return canonical_json(self.model_dump(mode="json")).decode()


class Signed(Message):
    """A statement as it was signed, to the letter, and its armored signature (`-----BEGIN SSH SIGNATURE-----`)."""

    statement: str
    signature: str


class Signers(Message):
    """Who may sign in a session, as its creation froze it from the configuration.

    `allowed`: an OpenSSH allowed signers file. `roles`: of people by their principal, who are reviewers otherwise.
    `acts`: the least role that an act asks for, where that is not `LEAST_ROLE` or `LEAST_PIN_ROLE`.
    """

    allowed: str
    roles: dict[str, PersonRole] = {}
    acts: dict[str, PersonRole] = {}

    @property
    def blob(self) -> bytes:
        """As it is stored, and its digest made of."""
        return canonical_json(self.model_dump(mode="json"))


class SignatureInput(Message):
    """A signature to be looked at: `signers` names the blob of the session's `Signers`; `at`: when it was given in.

    `claimed`: whose it is said to be, empty where nobody says: of several principals of one key, that one is meant.
    """

    signed: Signed
    signers: str
    at: datetime
    claimed: str = ""


class SignatureCheck(Message):
    """What came of it: `signer`, the principal, with the role in that session, and the key's `fingerprint`.

    `code` says why it is none, empty where it is one: `bad_signature` (not of this text, not of this namespace, no
    signature at all), `unknown_signer` (a key that the session's signers do not have, or not now), `signer_removed`
    (the configuration has it no more), `signature_mismatch` (what was signed cannot stand in the trail as it is).
    `reason` in words.
    """

    code: str = ""
    reason: str = ""
    signer: str = ""
    fingerprint: str = ""
    role: PersonRole = "reviewer"
    acts: dict[str, PersonRole] = {}


class SignatureRecord(Message):
    """A signature as it stands in the trail, complete, so that it can be checked again from there.

    `signers`: who could sign then, for acts on standalone rounds and on pins; those of a session are in its first row.
    """

    statement: str
    signature: str
    signer: str
    fingerprint: str = ""
    signers: Signers | None = None
