"""A pin: what a person trusted of an order's file, what they sign of it, and what has moved since. It reads no file.

An order that the worker can write is no authority by itself: it counts as far as it is what a person has pinned.
"""

from __future__ import annotations

import difflib
from collections.abc import Container, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Literal

from domain.actors import Established
from domain.base import Message, canonical_json, sha256_hex
from domain.events import Actor
from domain.fix_summary import STANDALONE
from domain.order import Base, BaseRevision
from domain.requests import Refusal
from domain.signatures import LEAST_PIN_ROLE, PinAct, SignatureCheck, SignatureRecord, Signed, Statement
from domain.signing import Permit, Wanted, judge_signed, misfits, read
from domain.tree import Entry

PinKind = Literal["order", "session", "part"]
MOST_DIFF_LINES = 400
"""Lines of a difference that are shown; the rest is counted."""

MOST_COMPARED_LINES = 5000
"""Comparing takes up to the square of them, and the worker chooses how many there are."""


class PinnedFacts(Message):
    """What a pin holds fast of a file: another value of any of these has to be trusted by a person again."""

    digest: str
    """The SHA-256 of the file's bytes."""

    files: dict[str, str] = {}
    """The SHA-256 of each file beside it that it names, by its path in the same folder."""

    bases: tuple[Base, ...] = ()
    """The base of each order in it, resolved: full commit ids, or directories by their absolute paths."""

    workspaces: tuple[str, ...] = ()
    """The workspace of each order in it, absolute paths."""


class Pin(Message):
    """What a person trusted. `text` is the file's, for the difference to a later one; `orders` has digests by id."""

    path: str
    """Absolute, links in the folders on the way followed."""

    kind: PinKind = "order"
    id: str
    facts: PinnedFacts
    text: str
    rule: dict[str, str] = {}
    """What a base that is a rule came to, as `adapters/config` has a `ResolvedBase`: it may move within that."""

    orders: dict[str, str] = {}
    """The digest of each order in the file, by the order's id, with what the project added to it then."""

    actor: Actor
    established: Established = "said"
    """How it was established that a person trusted it."""

    at: datetime
    signature: SignatureRecord | None = None
    """Theirs, of `pin_statement`, where they have signed it."""

    @property
    def digest(self) -> str:
        """Names the pin by what it holds fast: the same again is the same pin, whoever trusted it when."""
        return sha256_hex(canonical_json([self.path, self.kind, self.facts.model_dump(mode="json")]))


def pin_statement(pin: Pin, act: PinAct, reason: str) -> Wanted:
    """Return what has to be signed to trust the file as `pin` has it, or to take that pin back.

    All that decides is in it: by `Pin.digest` or in the details. A rule may name a remote with a password in its URL.
    """

    def wanted(nonce: str, expiry: datetime) -> Statement:
        return Statement(
            action=act,
            session=STANDALONE,
            todo=pin.id,
            attempt=0,
            order=pin.digest,
            nonce=nonce,
            expiry=expiry,
            reason=reason,
            details={
                "path": pin.path,
                "kind": pin.kind,
                "text": sha256_hex(pin.text.encode()),
                "rule": sha256_hex(canonical_json(dict(pin.rule))) if pin.rule else "",
                "orders": dict(pin.orders),
            },
        )

    return wanted


def judge_pin(  # noqa: PLR0913 - what a signature is held against
    pin: Pin,
    act: PinAct,
    signed: Signed,
    check: SignatureCheck,
    *,
    reason: str,
    asker: Actor,
    nonces: Container[str],
    now: datetime,
) -> Permit | Refusal:
    """Say who trusts the file as `pin` has it, or takes that pin back, or why they may not. As `judge_signed`."""
    return judge_signed(
        signed,
        pin_statement(pin, act, reason),
        check,
        asker=asker,
        nonces=nonces,
        act=act.replace("_", " "),
        least=check.acts.get(act, LEAST_PIN_ROLE[act]),
        now=now,
        subject="file",
        moves=("attempt", "snapshot", "order", "details"),
    )


def misfit_of(pin: Pin, record: SignatureRecord) -> str:
    """Why the signature in the pin is not of what the pin holds; empty where it is.

    Whose it is has to be looked at besides. How long it could be given in is no matter any more.
    """
    statement = read(Signed(statement=record.statement, signature=record.signature))
    if isinstance(statement, Refusal):
        return statement.reason
    expected = pin_statement(pin, "trust", statement.reason)(statement.nonce, statement.expiry)
    wrong = misfits(statement, expected, tuple(Statement.model_fields))
    if wrong:
        return f"it was signed with another {wrong}"
    as_signed = (Actor(role="human", identity=record.signer), "signed")
    return "" if (pin.actor, pin.established) == as_signed else f"{record.signer} has signed it, and another is named"


def digests_of(entries: Iterable[Entry]) -> dict[str, str]:
    """The SHA-256 of each file by its path."""
    return {entry.path: entry.digest for entry in entries}


def differing(pinned: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The paths that only one of them has, or with another digest, sorted."""
    return sorted(path for path in {*pinned, *now} if pinned.get(path) != now.get(path))


def moved(pinned: PinnedFacts, now: PinnedFacts) -> tuple[str, ...]:
    """What has moved since a person trusted it, one sentence part each; none where all is as it was."""
    found = ["its text has changed"] if pinned.digest != now.digest else []
    found += [f"{path} beside it has changed" for path in differing(pinned.files, now.files)]
    if pinned.bases != now.bases:
        found.append(f"its base is {_listed(now.bases)} instead of {_listed(pinned.bases)}")
    if pinned.workspaces != now.workspaces:
        found.append(f"its workspace is {_listed(now.workspaces)} instead of {_listed(pinned.workspaces)}")
    return tuple(found)


def spelled(base: Base) -> str:
    """A base for people."""
    return f"{base.revision} of {base.repository}" if isinstance(base, BaseRevision) else base


def _listed(bases: Iterable[Base]) -> str:
    return ", ".join(dict.fromkeys(map(spelled, bases))) or "none"


def difference(pinned: str, now: str, name: str) -> str:
    """The unified diff between the text that was pinned and the present one; empty where they are the same."""
    if pinned != now and max(pinned.count("\n"), now.count("\n")) > MOST_COMPARED_LINES:
        return f"{name} has more than {MOST_COMPARED_LINES} lines: the difference is not shown"
    lines = list(_lines(pinned, now, name))
    rest = len(lines) - MOST_DIFF_LINES
    return "\n".join([*lines[:MOST_DIFF_LINES], f"... and {rest} lines more"] if rest > 0 else lines)


def _lines(pinned: str, now: str, name: str) -> Iterator[str]:
    return difflib.unified_diff(
        pinned.split("\n"), now.split("\n"), f"{name} (as trusted)", f"{name} (now)", lineterm=""
    )
