"""What a person's signature is good for: what they have to sign, who may ask for what. Pure; no key is looked at here.

Source: DESIGN 3 and 5, issue "Human authority"; `adapters/signatures` says whose a signature is.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from domain.lifecycle import Command
from domain.requests import HumanRequest
from domain.signatures import PersonRole, Statement

UNSIGNED = frozenset({Command.NOTE})
"""Acts of people that need no signature even where signatures are required: they change nothing."""

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
"""Who may ask for what, once they have signed; a session's `Signers.acts` may have it otherwise. Owners may all."""

_NOT_SAID = {"actor", "session", "tool_call_id", "reason", "expected_version", "snapshot", "dry_run", "signed"}


@dataclass(frozen=True)
class About:
    """What an act is about: the todo, the claim and the order as they stand. `snapshot` is empty where nothing is."""

    session: str
    todo: str
    attempt: int
    snapshot: str
    order: str


def statement_of(action: Command, about: About, request: HumanRequest, nonce: str, expiry: datetime) -> Statement:
    """What has to be signed for `request` to be taken."""
    return Statement(
        action=action.value,
        session=about.session,
        todo=about.todo,
        attempt=about.attempt,
        snapshot=about.snapshot,
        order=about.order,
        nonce=nonce,
        expiry=expiry,
        reason=request.reason,
        details=request.model_dump(mode="json", exclude=_NOT_SAID),
    )
