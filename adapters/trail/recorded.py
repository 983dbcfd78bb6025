"""What a file of heads says of an exported trail, in 32 bytes a row. The rows themselves are looked at in `export`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from adapters.trail.heads import Head
from domain.events import TrailFault

_SIZE: Final = 32
_NONE: Final = bytes(_SIZE)


class Recorded:
    """The recorded heads of the sessions that an export has; of a session that it should have, too."""

    def __init__(self, store: str, ends: Mapping[str, int], only: str | None) -> None:
        """`ends`: the last row of each session in the export. `only`: the one session that was asked for, if one."""
        self._store = store
        self._ends = ends
        self._only = only
        self._hashes: dict[str, bytearray] = {}
        self._beyond: dict[str, Head] = {}
        self._twice: list[Head] = []
        self.faults: list[TrailFault] = []

    @property
    def sessions(self) -> frozenset[str]:
        """Those that the file names and that the export should have."""
        return frozenset({*self._hashes, *self._beyond})

    def read(self, file: Path) -> None:
        """Take in the file of heads. Raises `OSError`."""
        strange: list[int] = []
        others: dict[str, int] = {}
        with file.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if not line.endswith(b"\n"):
                    break  # its writer died
                try:
                    head = Head.model_validate_json(line)
                except ValidationError:
                    strange.append(number)
                    continue
                if head.store != self._store:
                    others[head.store] = others.get(head.store, 0) + 1
                elif self._only in (None, head.session):
                    self._add(head)
        if strange:
            self._fault(f"{file}: {len(strange)} of its lines are no heads, the first is line {strange[0]}")
        for store, count in sorted(others.items()):
            self._fault(f"{file}: {count} of its lines belong to the store {store!r}, the export is of {self._store!r}")

    def agrees(self, session: str, sequence: int, own_hash: str) -> bool:
        """Whether the file says nothing else of that row, and nothing twice."""
        known = self._known(session, sequence)
        return known in (_NONE, bytes.fromhex(own_hash)) and not any(h.session == session for h in self._twice)

    def proves(self, session: str, last: int) -> bool:
        """Whether the file names the row `last` of the session, or a later one."""
        return session in self._beyond or self._known(session, last) != _NONE

    def goes_beyond(self, session: str) -> bool:
        """Whether the file names a row that the export should have and has not."""
        return session in self._beyond

    def heads_of(self, session: str) -> list[Head]:
        """All that the file says of one session."""
        hashes = self._hashes.get(session, bytearray())
        places = range(0, len(hashes), _SIZE)
        found = [(place // _SIZE + 1, bytes(hashes[place : place + _SIZE])) for place in places]
        heads = [
            Head(store=self._store, session=session, sequence=sequence, hash=known.hex())
            for sequence, known in found
            if known != _NONE
        ]
        heads += [head for head in self._twice if head.session == session]
        return heads + ([self._beyond[session]] if session in self._beyond else [])

    def _add(self, head: Head) -> None:
        if head.sequence > self._ends.get(head.session, 0):
            beyond = self._beyond.get(head.session)
            if beyond is None or head.sequence >= beyond.sequence:
                self._beyond[head.session] = head
            return
        try:
            digest = bytes.fromhex(head.hash)
        except ValueError:
            digest = b""
        hashes = self._hashes.setdefault(head.session, bytearray())
        place = (head.sequence - 1) * _SIZE
        if len(hashes) < place + _SIZE:
            hashes.extend(bytes(place + _SIZE - len(hashes)))
        known = hashes[place : place + _SIZE]
        if len(digest) != _SIZE or known not in (_NONE, digest):
            self._twice.append(head)
        else:
            hashes[place : place + _SIZE] = digest

    def _known(self, session: str, sequence: int) -> bytes:
        place = (sequence - 1) * _SIZE
        return bytes(self._hashes.get(session, b"")[place : place + _SIZE]) or _NONE

    def _fault(self, what: str) -> None:
        self.faults.append(TrailFault(session="", sequence=0, what=what))
