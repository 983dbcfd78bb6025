"""What takes a tree's bytes and keeps none: for trees that are only looked at, where a digest is all that is wanted."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Protocol

from domain.base import sha256_hex

if TYPE_CHECKING:
    from domain.ports import Bulk


class Blobs(Protocol):
    """What a snapshot needs of an evidence store: `domain.ports.EvidenceStore` has it, and more."""

    def put(self, data: bytes) -> str:
        """Store one blob, and answer with its digest."""
        ...

    def get(self, digest: str) -> bytes:
        """The blob. Raises `Unavailable`."""
        ...

    def bulk(self) -> AbstractContextManager[Bulk]:
        """Many blobs at once."""
        ...


class Digests:
    """`domain.ports.Bulk` that stores nothing."""

    def add(self, chunks: Iterable[bytes]) -> str:
        """The digest of one blob."""
        hasher = hashlib.sha256()
        for piece in chunks:
            hasher.update(piece)
        return hasher.hexdigest()


class Unstored:
    """`Blobs` that names what it is given as `stored` would, and stores nothing; what is there, it reads."""

    def __init__(self, stored: Blobs) -> None:
        self._stored = stored

    def put(self, data: bytes) -> str:
        """The digest of `data`."""
        return sha256_hex(data)

    def get(self, digest: str) -> bytes:
        """The blob that is stored. Raises `Unavailable`."""
        return self._stored.get(digest)

    @contextmanager
    def bulk(self) -> Iterator[Bulk]:
        """Digests alone."""
        yield Digests()
