"""Many blobs at once: staged on this host, stored together when the block ends, or not at all. Where is a subclass's.

It holds a few pieces of each, so that a blob may have any size.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Self

from adapters.evidence import staging
from domain.base import sha256_hex
from domain.errors import Cause, Unavailable

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


class StagedBulk(ABC):
    """`domain.ports.Bulk`. `root` is what messages call the place; `staged_in` has to exist."""

    def __init__(self, root: Path, staged_in: Path) -> None:
        self.staged: dict[str, int] = {}
        self._root = root
        self._staged_in = staged_in
        self._stack = ExitStack()
        self._folder = staged_in

    @abstractmethod
    def present(self, digest: str, size: int) -> bool:
        """Whether the store has the blob, so that nothing needs to be staged; it counts as used."""

    @abstractmethod
    def commit(self) -> None:
        """Store what is staged, by its digests."""

    def __enter__(self) -> Self:
        with translated(self._root):
            self._folder = self._stack.enter_context(staging.staged(self._staged_in))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self._stack:
            if error is None:
                with translated(self._root):
                    self.commit()

    def add(self, chunks: Iterable[bytes]) -> str:
        """Take one blob, given in pieces of which a few are held, and answer with its digest.

        `chunks` that can be gone through twice are, if there are many: only what is not here yet is written.
        """
        pieces = iter(chunks)
        first, second = next(pieces, b""), next(pieces, None)
        if second is not None:
            whole = chain((first, second), pieces)
            return self._stream(whole) if pieces is chunks else self._stream_new(whole, chunks)
        digest = sha256_hex(first)
        if not self._has(digest, len(first)):
            with translated(self._root):
                write_file(self.name(digest), first)
            self.staged[digest] = len(first)
        return digest

    def name(self, name: str) -> str:
        """Where `name` is staged. Text: for thousands of files, making a `Path` takes longer than what it is for."""
        return f"{self._folder}/{name}"

    def _stream_new(self, pieces: Iterable[bytes], again: Iterable[bytes]) -> str:
        """The blob of `pieces` if it is here, else that of `again`, which need not be the same any more."""
        hasher = hashlib.sha256()
        size = 0
        for piece in pieces:
            hasher.update(piece)
            size += len(piece)
        digest = hasher.hexdigest()
        return digest if self._has(digest, size) else self._stream(again)

    def _stream(self, pieces: Iterable[bytes]) -> str:
        path = self.name(uuid.uuid4().hex)
        hasher = hashlib.sha256()
        size = 0
        with translated(self._root):
            descriptor = os.open(path, _NEW_FILE, 0o600)
        try:
            for piece in pieces:
                hasher.update(piece)
                size += len(piece)
                with translated(self._root):
                    _write_all(descriptor, piece)
        finally:
            os.close(descriptor)
        digest = hasher.hexdigest()
        with translated(self._root):
            if self._has(digest, size):
                Path(path).unlink()
            else:
                Path(path).rename(self.name(digest))
                self.staged[digest] = size
        return digest

    def _has(self, digest: str, size: int) -> bool:
        return digest in self.staged or self.present(digest, size)


@contextmanager
def translated(root: Path) -> Iterator[None]:
    """What the disk refuses in the block, as `Unavailable` (store_unavailable, disk_full) of the store at `root`."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            free = shutil.disk_usage(root).free // 2**20
            raise Unavailable(
                Cause.DISK_FULL,
                f"The evidence store {root} has no room left: {free} MiB free",
                "Free some space on that disk, or put the state directory on another one.",
            ) from error
        raise Unavailable(
            Cause.STORE_UNAVAILABLE,
            f"The evidence store {root} cannot be used: {error.strerror} ({error.filename})",
            "See that the folder exists and that this user may write to it.",
        ) from error


def write_file(path: Path | str, data: bytes) -> None:
    """`data` in a new file, not synced. Raises `OSError`."""
    descriptor = os.open(path, _NEW_FILE, 0o600)
    try:
        _write_all(descriptor, data)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]
