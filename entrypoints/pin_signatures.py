"""Looks at the signatures of pins: of one that a person gives now, and of one that stands in a pin.

What a signature is good for is `domain.pins`'s to say. Which pin of a file is the last one, the trail says: a file that
is put back, of an older pin or of one that was taken back, does not count.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from functools import partial

from adapters.config.reach import Places
from adapters.config.settings import Settings
from adapters.config.signers import load_signers, signers_left
from adapters.masking.known import masker_of
from adapters.masking.stores import MaskedSignatures
from adapters.signatures import SshSignatures
from adapters.signatures.ssh import check_by
from domain.events import Actor, RowFilter
from domain.pins import Pin, judge_pin, misfit_of
from domain.ports import Trail
from domain.requests import Refusal
from domain.signatures import LEAST_PIN_ROLE, PinAct, SignatureCheck, SignatureRecord, Signed
from domain.signing import Permit, spent_nonces
from entrypoints.imports import without_collecting
from entrypoints.names import LOCAL_SESSION
from entrypoints.state_dir import prepare_state_dir

ROWS = RowFilter(session=LOCAL_SESSION, actions=("order_trusted", "order_trust_revoked"))
"""Who trusted what, and took it back."""


def judge(  # noqa: PLR0913 - what a signature is held against
    pin: Pin,
    act: PinAct,
    signed: Signed,
    *,
    reason: str,
    asker: Actor,
    settings: Settings,
    trail: Trail,
    now: datetime,
) -> tuple[Permit | Refusal, SignatureCheck | None]:
    """What the signature is good for by the signers that there are now, whose names go with it; and whose it is.

    `asker`: a human who is named has to be the signer. Raises `Malformed` for signers that cannot be read, and
    `Unavailable`.
    """
    signers = load_signers(settings)
    if signers is None:
        why = Refusal(
            code="no_signers",
            reason="nobody can sign in this project: it has no signers",
            next_step="configure [signers] in countersign.toml, or ask for it without a key",
        )
        return why, None
    claimed = asker.identity if asker.role == "human" else ""
    signatures = MaskedSignatures(SshSignatures(partial(signers_left, settings)), masker_of(settings))
    check = signatures.check(signed, signers, now, claimed)
    nonces = spent_nonces(trail.rows(ROWS.model_copy(update={"todo": pin.id})))
    found = judge_pin(pin, act, signed, check, reason=reason, asker=asker, nonces=nonces, now=now)
    if isinstance(found, Permit) and found.record is not None:
        found = replace(found, record=found.record.model_copy(update={"signers": signers}))
    return found, check


def why_invalid(pin: Pin, places: Places, settings: Settings, now: datetime) -> str:
    """Why the pin of the file at `places` does not count where only signed acts do; empty where it counts.

    Raises `Malformed` for signers that cannot be read, `Unavailable` where the trail or ssh-keygen is.
    """
    record = pin.signature
    if record is None:
        return "it is trusted without a signature, and [policy] human_acts takes no such act"
    if pin.path not in map(str, places.names):
        return f"its pin is of {pin.path}"
    if why := misfit_of(pin, record):
        return f"its pin is not what was signed: {why}"
    signers = load_signers(settings)
    if signers is None:
        return "it is trusted with a signature, and nobody can sign in this project: it has no [signers]"
    check = check_by(Signed(statement=record.statement, signature=record.signature), signers, now, record.signer)
    if check.code or check.signer != record.signer:
        reason = check.reason or f"its key is {check.signer}'s"
        return f"the signature of {record.signer} is not good by the [signers] of now: {reason}"
    if check.acts.get("trust", LEAST_PIN_ROLE["trust"]) == "owner" and check.role != "owner":
        return f"trust is for owners, and {record.signer} is a {check.role} now"
    return "" if _is_last(pin, record, settings) else "its pin is not the last one that the trail has of it"


def _is_last(pin: Pin, record: SignatureRecord, settings: Settings) -> bool:
    """Whether the trail's last row about that file is this pin's."""
    prepare_state_dir(settings.state_dir)
    stores = without_collecting("entrypoints.stores")  # SQLAlchemy: only where pins have to be signed
    rows = [row for row in stores.build_trail(settings).rows(ROWS) if row.payload.get("path") == pin.path]
    if not rows or (rows[-1].action, rows[-1].timestamp) != ("order_trusted", pin.at):
        return False
    signature = rows[-1].payload.get("signature")
    return isinstance(signature, dict) and signature.get("statement") == record.statement
