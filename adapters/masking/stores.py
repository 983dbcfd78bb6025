"""Masks what goes into the trail and the evidence store. Trees go in as they are: checks run on them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from pydantic import JsonValue

from adapters.masking.masker import Masker
from domain.checks import Item
from domain.events import EVERYTHING, RowFilter, TrailCheck, TrailEntry, TrailRef, TrailRow
from domain.read_model import TABLES, Difference, State, Table
from domain.signatures import SignatureCheck, Signed, Signers

if TYPE_CHECKING:
    from domain.ports import Bulk, CheckContext, Checker, EvidenceStore, Finding, Signatures, Trail

    class Closable(Trail, Protocol):
        """A trail that holds connections."""

        def close(self) -> None:
            """Close them."""
            ...


PROSE = ("before", "after", "payload")
"""What of an event may have any text in it; the rest are ids, which an order with a secret in them never gets."""


class MaskedEvidence:
    """`domain.ports.EvidenceStore` that masks what is put, placed and remembered. A digest is of what was stored."""

    def __init__(self, store: EvidenceStore, masker: Masker) -> None:
        self._store = store
        self._masker = masker

    def put(self, data: bytes) -> str:
        """Store `data`, masked, and answer with the digest of that."""
        return self._store.put(self._masker.data(data))

    def get(self, digest: str) -> bytes:
        """The blob as it is stored."""
        return self._store.get(digest)

    def has(self, digest: str) -> bool:
        """Whether the blob is there."""
        return self._store.has(digest)

    def remember(self, key: str, data: bytes) -> None:
        """Keep `data`, masked, under `key`."""
        self._store.remember(key, self._masker.data(data))

    def recall(self, key: str) -> bytes | None:
        """What was last remembered under `key`."""
        return self._store.recall(key)

    def bulk(self) -> AbstractContextManager[Bulk]:
        """For trees and their manifests, which stay as they are."""
        return self._store.bulk()

    def place(self, session: str, todo: str, attempt: int, name: str, data: bytes) -> None:
        """Write a file of the attempt's folder, masked."""
        self._store.place(session, todo, attempt, name, self._masker.data(data))

    def placed(self, session: str, todo: str, attempt: int, name: str) -> bytes | None:
        """The file of the attempt's folder as it is."""
        return self._store.placed(session, todo, attempt, name)

    def place_of(self, session: str, todo: str, attempt: int) -> str:
        """Where people find the attempt's folder."""
        return self._store.place_of(session, todo, attempt)


class MaskedTrail:
    """`domain.ports.Trail` that masks what is appended; everything else is the trail's own."""

    def __init__(self, trail: Closable, masker: Masker) -> None:
        self._trail = trail
        self._masker = masker

    def append(self, entry: TrailEntry) -> TrailRef:
        """Store `entry`, masked, once.

        A row that was stored when nobody knew the secret yet is the same row: nothing is written, and no round stands
        still because a secret was named meanwhile.
        """
        masked = self._masked(entry)
        if masked is entry:
            return self._trail.append(entry)
        try:
            return self._trail.append(masked)
        except ValueError:  # there is a row under this key, so that this cannot add one
            return self._trail.append(entry)

    def _masked(self, entry: TrailEntry) -> TrailEntry:
        said: dict[str, JsonValue] = {name: getattr(entry, name) for name in PROSE}
        masked = {name: self._masker.value(value) for name, value in said.items()}
        identity = self._masker.text(entry.actor.identity)
        if masked == said and identity == entry.actor.identity:
            return entry
        return entry.model_copy(update={**masked, "actor": entry.actor.model_copy(update={"identity": identity})})

    def store_id(self) -> str:
        """See `domain.ports.Trail`."""
        return self._trail.store_id()

    def rows(self, wanted: RowFilter = EVERYTHING) -> Iterator[TrailRow]:
        """See `domain.ports.Trail`."""
        return self._trail.rows(wanted)

    def last_attempt(self, session: str, todo: str) -> int:
        """See `domain.ports.Trail`."""
        return self._trail.last_attempt(session, todo)

    def verify(self) -> TrailCheck:
        """See `domain.ports.Trail`."""
        return self._trail.verify()

    def state(self, session: str | None = None, todo: str | None = None, tables: Collection[Table] = TABLES) -> State:
        """See `domain.ports.Trail`."""
        return self._trail.state(session, todo, tables)

    def rebuild(self, repair: bool = True) -> tuple[Difference, ...]:
        """See `domain.ports.Trail`."""
        return self._trail.rebuild(repair)

    def close(self) -> None:
        """Close the connections that are open."""
        self._trail.close()


class MaskedChecker:
    """`domain.ports.Checker` whose findings are masked before they are cut: half a secret is not found."""

    def __init__(self, checker: Checker, masker: Masker) -> None:
        self.type = checker.type
        self._checker = checker
        self._masker = masker

    async def check(self, item: Item, context: CheckContext) -> Finding:
        """What became of `item`."""
        finding = await self._checker.check(item, context)
        before = finding.model_dump(mode="json")
        after = self._masker.value(before)
        return finding if after == before else type(finding).model_validate(after, strict=False)


class MaskedSignatures:
    """`domain.ports.Signatures` that takes none which the trail would mask: there it could not be checked again."""

    def __init__(self, signatures: Signatures, masker: Masker) -> None:
        self._signatures = signatures
        self._masker = masker

    def check(self, signed: Signed, signers: Signers, at: datetime, claimed: str = "") -> SignatureCheck:
        """See `domain.ports.Signatures`."""
        found = self._signatures.check(signed, signers, at, claimed)
        said: JsonValue = [signed.statement, signed.signature, found.signer]
        if found.code or self._masker.value(said) == said:
            return found
        what = "what was signed holds a secret of the configuration, which the trail masks: sign it without"
        return found.model_copy(update={"code": "signature_mismatch", "reason": what})
