"""An evidence store in memory, for tests that are not about storing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from domain.base import sha256_hex
from domain.errors import no_blob


class MemoryStore:
    """`domain.ports.EvidenceStore` in a dictionary; `files` is what people would see."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        self.files: dict[str, bytes] = {}
        self.memos: dict[str, bytes] = {}

    def put(self, data: bytes) -> str:
        digest = sha256_hex(data)
        self.blobs[digest] = data
        return digest

    def get(self, digest: str) -> bytes:
        if digest not in self.blobs:
            raise no_blob(digest)
        return self.blobs[digest]

    def has(self, digest: str) -> bool:
        return digest in self.blobs

    def remember(self, key: str, data: bytes) -> None:
        self.memos[_checked(key)] = data

    def recall(self, key: str) -> bytes | None:
        return self.memos.get(_checked(key))

    @contextmanager
    def bulk(self) -> Iterator[MemoryBulk]:
        bulk = MemoryBulk()
        yield bulk
        self.blobs.update(bulk.blobs)

    def place(self, session: str, todo: str, attempt: int, name: str, data: bytes) -> None:
        parts = [session, todo, *name.split("/")]
        if any(part.startswith(".") or not part or "/" in part for part in parts):
            raise ValueError(f"{name!r} is no path of the evidence folder")
        self.files[f"{session}/{todo}/{attempt}/{name}"] = data

    def placed(self, session: str, todo: str, attempt: int, name: str) -> bytes | None:
        return self.files.get(f"{session}/{todo}/{attempt}/{name}")

    def place_of(self, session: str, todo: str, attempt: int) -> str:
        return f"memory:{session}/{todo}/{attempt}"


def _checked(key: str) -> str:
    if not re.fullmatch(r"[0-9a-f]{64}", key):
        raise ValueError(f"{key!r} is no key of the evidence store")
    return key


class MemoryBulk:
    """`domain.ports.Bulk` in a dictionary."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}

    def add(self, chunks: Iterable[bytes]) -> str:
        data = b"".join(chunks)
        self.blobs[sha256_hex(data)] = data
        return sha256_hex(data)
