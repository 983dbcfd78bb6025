"""Pins what a person trusts, takes it back, and records both in the trail. That a person does it is established before.

The row is stored before the pin is: a process that dies in between leaves a row for a pin that does not count.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import JsonValue

from adapters.config.base_rule import ResolvedBase, resolve_rule
from adapters.config.defaults import Policies, ProjectPolicy
from adapters.config.order_file import bytes_of_order, load_order
from adapters.config.pins import Pins
from adapters.config.reach import Places
from adapters.config.session_file import bytes_of_session, describes_session, load_session
from adapters.config.settings import Settings
from adapters.config.todo_file import parts_in
from domain.actors import Established
from domain.base import sha256_hex
from domain.errors import Malformed, Problem, Refused
from domain.events import Action, Actor, TrailEntry
from domain.order import Order
from domain.pins import Pin, PinKind, difference, moved, spelled
from domain.ports import Trail
from domain.signatures import SignatureRecord
from entrypoints.names import LOCAL_SESSION
from entrypoints.pin_signatures import why_invalid
from entrypoints.pinning import Options, beside_of, facts_of

NOBODY = Actor(role="unattributed")
SHOWN = 10
"""Bases and workspaces that a row names: a session has one of each for every todo."""


@dataclass(frozen=True)
class Candidate:
    """What would be pinned: `pin`, without who does it; the orders in the file; and the pin that it would replace."""

    pin: Pin
    orders: tuple[Order, ...]
    before: Pin | None

    @property
    def diff(self) -> str:
        """How the text differs from what was trusted before; empty without that, or where it does not."""
        return difference(self.before.text, self.pin.text, Path(self.pin.path).name) if self.before else ""

    @property
    def moved(self) -> tuple[str, ...]:
        """What has moved since it was trusted before."""
        return moved(self.before.facts, self.pin.facts) if self.before else ()


def candidate(
    path: Path, settings: Settings, policy: ProjectPolicy | Policies, options: Options, *, part: bool = False
) -> Candidate:
    """The file as it would be pinned. `part`: it is about todos, and no whole order. Raises `Malformed`."""
    content = bytes_of_session(path)
    if part:
        kind: PinKind = "part"
        orders = parts_in(content, path)
    elif describes_session(path, content):
        kind = "session"
        loaded = load_session(path, settings, content)
        return _candidate(path, kind, loaded.id, content, loaded.orders, settings)
    else:
        kind, content = "order", bytes_of_order(path)
        rules: list[ResolvedBase] = []

        def resolved(*rule: Any) -> ResolvedBase:
            rules.append(resolve_rule(*rule))
            return rules[-1]

        orders = (
            load_order(
                path,
                workspace=options.workspace,
                base=options.base,
                policy=policy,
                content=content,
                by_rule=resolved,
            ),
        )
        rule = {name: str(value) for found in rules for name, value in found.model_dump().items()}
        return _candidate(path, kind, orders[0].id, content, orders, settings, rule)
    return _candidate(path, kind, orders[0].id or path.stem, content, orders, settings)


def candidate_of_text(path: Path, content: bytes, order: Order, settings: Settings) -> Candidate:
    """An order that was just written to `path`, as it would be pinned."""
    return _candidate(path, "order", order.id, content, (order,), settings)


def _candidate(
    path: Path,
    kind: PinKind,
    name: str,
    content: bytes,
    orders: tuple[Order, ...],
    settings: Settings,
    rule: Mapping[str, str] = MappingProxyType({}),
) -> Candidate:
    places = Places(path)
    try:
        str(places.name).encode()
    except UnicodeEncodeError as error:
        what = Problem(
            file="command line",
            line=1,
            field="ORDER",
            what="has a name that is not UTF-8",
            expected="expected another name",
        )
        raise Malformed([what]) from error
    before = Pins(settings.state_dir).find(places)
    now = datetime.now(UTC)
    if before is not None and settings.human_acts == "signed" and why_invalid(before, places, settings, now):
        before = None
    facts = facts_of(content, () if kind == "part" else orders, beside_of(orders, path))
    pin = Pin(
        path=str(places.name),
        kind=kind,
        id=name,
        facts=facts,
        rule=dict(rule),
        text=content.decode("utf-8", "replace"),
        orders={} if kind == "part" else {order.id: order.digest for order in orders},
        actor=NOBODY,
        at=now,
    )
    return Candidate(pin, orders, before)


@dataclass(frozen=True)
class Consent:
    """Who does it, at what time, and why. `record`: their signature, None without one."""

    actor: Actor
    established: Established
    at: datetime
    reason: str = ""
    record: SignatureRecord | None = None


def trust(found: Candidate, by: Consent, settings: Settings, trail: Trail) -> Pin:
    """Record it, then pin it. Raises `Unavailable`, and `Refused` (nonce_spent) as `_record` does."""
    known = {"actor": by.actor, "established": by.established, "at": by.at, "signature": by.record}
    pin = found.pin.model_copy(update=known)
    _record(trail, "order_trusted", pin, by, found.before.digest if found.before else "")
    Pins(settings.state_dir).put(pin)
    return pin


def revoke(pin: Pin, by: Consent, settings: Settings, trail: Trail) -> None:
    """Take the pin back, then record it: one that does not count any more without a row is the safer half.

    Raises as `trust` does.
    """
    Pins(settings.state_dir).remove(pin)
    _record(trail, "order_trust_revoked", pin, by)


def _record(trail: Trail, action: Action, pin: Pin, by: Consent, replaces: str = "") -> None:
    """Append the row. Of two that are made with one signature at once the trail stores one: the other is refused."""
    signed: dict[str, JsonValue] = {}
    if by.record is not None:
        signed = {"signature": by.record.model_dump(mode="json", exclude_none=True)}
    key = sha256_hex(by.record.statement.encode())[:_KEY_CHARACTERS] if by.record is not None else str(uuid.uuid4())
    try:
        _append(trail, action, pin, by, key, {"replaces": replaces, **signed})
    except ValueError as error:
        if by.record is None:
            raise
        raise Refused("nonce_spent", "this signature is used at the same time", "sign it again") from error


_KEY_CHARACTERS = 32


def _append(trail: Trail, action: Action, pin: Pin, by: Consent, key: str, more: dict[str, JsonValue]) -> None:
    trail.append(
        TrailEntry(
            workflow_id=f"trust/{key}",
            ordinal=1,
            session=LOCAL_SESSION,
            todo_id=pin.id,
            actor=by.actor,
            action=action,
            payload={
                "pin": pin.digest,
                "path": pin.path,
                "kind": pin.kind,
                "digest": pin.facts.digest,
                "bases": list(dict.fromkeys(map(spelled, pin.facts.bases)))[:SHOWN],
                "workspaces": list(dict.fromkeys(pin.facts.workspaces))[:SHOWN],
                "established": by.established,
                "reason": by.reason,
                **more,
            },
            timestamp=by.at,
        )
    )
