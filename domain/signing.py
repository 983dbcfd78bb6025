"""What a person's signature is good for: what they have to sign, who may ask for what. Pure; no key is looked at here.

Source: DESIGN 3 and 5, issue "Human authority"; `adapters/signatures` says whose a signature is.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from domain.actors import Established
from domain.events import Actor, TrailRow
from domain.lifecycle import PARTIES, Command
from domain.requests import HumanRequest, Refusal, Return
from domain.signatures import LEAST_ROLE, MOST_SIGNED, PersonRole, SignatureCheck, SignatureRecord, Signed, Statement
from domain.todo import Todo

UNSIGNED = frozenset({Command.NOTE})
"""Acts of people that need no signature even where signatures are required: they change nothing."""

_NOT_SAID = {
    *("actor", "session", "tool_call_id", "marks", "established"),
    *("reason", "expected_version", "snapshot", "dry_run", "signed"),
}


LONGEST = timedelta(days=7)
"""How far ahead a signature may be good: as long its nonce is kept."""

LONGEST_NONCE = 200
"""Characters."""


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


Wanted = Callable[[str, datetime], Statement]
"""What has to be signed for an act, with a nonce and an expiry."""


@dataclass(frozen=True)
class Permit:
    """What an act may be done as. `record` and `expiry` are of the signature, None where there is none.

    `established` is how a person was, None for who is no person.
    """

    actor: Actor
    established: Established | None = None
    record: SignatureRecord | None = None
    nonce: str = ""
    expiry: datetime | None = None


def about_of(todo: Todo) -> About:
    """What an act on the todo is about now."""
    snapshot = todo.admitted.frozen.head if todo.admitted else ""
    return About(todo.session, todo.id, todo.attempt, snapshot, todo.order_digest)


def looked_at(todo: Todo, request: HumanRequest) -> bool:
    """Whether the request has a signature of which it has to be known whose it is.

    Whatever the order says of signatures now: that may be another thing by the time that it is judged.
    """
    return request.signed is not None and bool(todo.signers) and _of_a_person(request)


def judge(
    todo: Todo, command: Command, request: HumanRequest, check: SignatureCheck | None, now: datetime
) -> Permit | Refusal:
    """Who asks, as far as that is known, or why they may not. `check`: what came of looking at the signature.

    Who is no person may not do any of it, signed or not: that is the table's to say (`lifecycle`).
    """
    if not _of_a_person(request):
        return Permit(request.actor)
    policy = todo.order.override_policy.signatures
    if request.signed is None:
        if policy == "required" and command not in UNSIGNED:
            return _unsigned(todo, command)
        return Permit(Actor(role="unattributed", identity=request.actor.identity), established_of(request))
    if policy == "off":
        return _refusal("signatures_off", "the order's override_policy takes no signatures", "ask for it unsigned")
    if not todo.signers:
        return _refusal("no_signers", "nobody can sign in this session: it was created without signers", _NEW_SESSION)
    if check is None:
        raise ValueError("nobody has looked at the signature")  # a defect: `looked_at` says when to
    return judge_signed(
        request.signed,
        partial(statement_of, command, about_of(todo), request),
        check,
        asker=request.actor,
        nonces=todo.nonces,
        act=f"{command}{_that(request)}",
        least=check.acts.get(command.value, _least_role(command, request)),
        now=now,
    )


def established_of(request: HumanRequest) -> Established | None:
    """Return how a person who has not signed was established, None for a worker."""
    if not _of_a_person(request):
        return None
    return "said" if request.established == "signed" else request.established


def read(signed: Signed) -> Statement | Refusal:
    """What was signed, if it is a statement, and written in the one way that there is to write it."""
    try:
        statement = Statement.model_validate_json(signed.statement[: MOST_SIGNED + 1])
        written = statement.text
    except ValueError:  # also of text that is no UTF-8, and of integers that are too long to be written
        return _mismatch("what was signed is no statement")
    if written != signed.statement:
        return _mismatch("what was signed is not written as statements are, in canonical JSON")
    if statement.expiry.tzinfo is None:
        return _mismatch("its expiry has no time zone")
    return statement


def misfits(statement: Statement, expected: Statement, fields: tuple[str, ...]) -> str:
    """The names of `fields` in which the two differ, with commas between them."""
    return ", ".join(name for name in fields if getattr(statement, name) != getattr(expected, name))


_ASKED = ("action", "session", "todo", "reason", "details")
_NEW_SESSION = "ask for it unsigned, or create the session anew once [signers] are configured"


def judge_signed(  # noqa: PLR0913 - what a signature is held against
    signed: Signed,
    wanted: Wanted,
    check: SignatureCheck,
    *,
    asker: Actor,
    nonces: Container[str],
    act: str,
    least: PersonRole,
    now: datetime,
    subject: str = "todo",
    moves: tuple[str, ...] = ("attempt", "snapshot", "order"),
) -> Permit | Refusal:
    """Hold a signature against what is asked, and against where the `subject` stands.

    `check`: what came of looking at the signature; `nonces`: those that were used before; `act`, in words, asks for the
    role `least`; `moves`: the fields of a statement that the subject may have otherwise by now.
    """
    if check.code:
        return _refusal(check.code, check.reason, "sign it with a key that the session's signers have")
    said = read(signed)
    if isinstance(said, Refusal):
        return said
    expected = wanted(said.nonce, said.expiry)
    again = f"look at the {subject} as it is now, and sign it again"
    if wrong := misfits(said, expected, tuple(name for name in _ASKED if name not in moves)):
        return _mismatch(f"it was signed with another {wrong}")
    if asker.role == "human" and asker.identity not in ("", check.signer):
        return _mismatch(f"{check.signer} has signed it, and {asker.identity} asks")
    if not said.nonce or len(said.nonce) > LONGEST_NONCE:
        return _mismatch(f"its nonce has {len(said.nonce)} characters, from 1 to {LONGEST_NONCE} are taken")
    if said.expiry - now > LONGEST:
        return _mismatch(f"it would be good until {said.expiry.isoformat()}, more than {LONGEST.days} days from now")
    if said.expiry <= now:
        return _refusal("signature_expired", f"it was good until {said.expiry.isoformat()}", again)
    if said.nonce in nonces:
        return _refusal("nonce_spent", "this signature was used before", again)
    if wrong := misfits(said, expected, moves):
        return _refusal("stale_signature", f"since it was signed the {subject} has another {wrong}", again)
    if least == "owner" and check.role != "owner":
        reason = f"{act} is for owners, and {check.signer} is a {check.role}"
        return _refusal("role_required", reason, "have an owner sign it")
    record = SignatureRecord(
        statement=signed.statement,
        signature=signed.signature,
        signer=check.signer,
        fingerprint=check.fingerprint,
    )
    return Permit(Actor(role="human", identity=check.signer), "signed", record, said.nonce, said.expiry)


def spent_nonces(rows: Iterable[TrailRow]) -> dict[str, datetime]:
    """Return the nonces of the signatures that the acts in `rows` were done with, and when each expires."""
    found = {}
    for row in rows:
        signature = row.payload.get("signature")
        if isinstance(signature, dict):
            statement = Statement.model_validate_json(str(signature["statement"]))
            found[statement.nonce] = statement.expiry
    return found


def spent(todo: Todo, permit: Permit, now: datetime) -> Todo:
    """The todo once an act was done with the permit: its nonce is used up, and those that have expired are forgotten.

    An expired signature is refused for that, whatever its nonce.
    """
    if permit.expiry is None:
        return todo
    kept = {nonce: expiry for nonce, expiry in todo.nonces.items() if expiry > now}
    return todo.model_copy(update={"nonces": {**kept, permit.nonce: permit.expiry}})


def _least_role(command: Command, request: HumanRequest) -> PersonRole:
    return "owner" if _that(request) else LEAST_ROLE[command]


def _that(request: HumanRequest) -> str:
    """What of the request is more than the act itself, in words."""
    if not isinstance(request, Return):
        return ""
    return " with a worker command" if request.worker else " with a budget" if request.cost_usd else ""


def _of_a_person(request: HumanRequest) -> bool:
    return PARTIES[request.actor.role] == "human"


def _unsigned(todo: Todo, command: Command) -> Refusal:
    reason = f"the order's override_policy takes {command} only signed, and it is not"
    if todo.signers:
        return _refusal(
            "signature_required", reason, "sign it: --key FILE, or --print-statement and ssh-keygen -Y sign"
        )
    return _refusal(
        "signature_required",
        f"{reason}; nobody can sign in this session",
        "configure [signers], then create the session anew",
    )


def _mismatch(reason: str) -> Refusal:
    return _refusal("signature_mismatch", reason, "sign what is asked for, and ask for what was signed")


def _refusal(code: str, reason: str, next_step: str) -> Refusal:
    return Refusal(code=code, reason=reason, next_step=next_step)
