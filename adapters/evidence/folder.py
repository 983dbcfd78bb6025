"""Keeps evidence in a folder of this host; refuses to hand out a blob that is not what its name says.

A blob's final name appears only after its bytes were synced, so a name that is there can be trusted after a crash.
`put` syncs its one blob. A bulk stages its blobs, syncs them together when it ends and only then names them. It syncs
in threads, since syncs at the same time share a commit of the journal (5,000 files on ext4: a third of the time that
one after the other takes). One `syncfs` would take less, but waits for whatever else the host is writing.

A blob that is put again, and a memo that is recalled, count as new (`FRESH`): what is pruned beside running rounds is
old (`adapters.evidence.sweep`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from adapters.evidence import staging
from adapters.evidence.bulk import StagedBulk, translated, write_file
from adapters.evidence.layout import BLOBS, DIGEST, MEMOS, memo_data, memo_file, memo_path, placed_path
from domain.base import sha256_hex
from domain.errors import Cause, Unavailable, no_blob

FRESH = 300  # seconds; what is used again within them keeps its time, so that most uses write nothing
_SYNCED_IN_A_ROW = 64  # by one thread: neighbours are in the same commit of the journal
_SYNC_THREADS = 16


class FolderStore:
    """`domain.ports.EvidenceStore` in `root`: `blobs/ab/SHA256`, `memo/KEY`; for people `SESSION/TODO/ATTEMPT/NAME`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._blobs = root / BLOBS
        self._prefix = os.fspath(self._blobs)
        self._staging = self._blobs / ".staging"
        with translated(self.root):
            self._staging.mkdir(mode=0o700, parents=True, exist_ok=True)
            (root / MEMOS).mkdir(mode=0o700, exist_ok=True)
            for first in range(256):
                (self._blobs / f"{first:02x}").mkdir(mode=0o700, exist_ok=True)
            _sync(self._blobs)
            staging.sweep(self._staging)

    def put(self, data: bytes) -> str:
        """Store `data`, once, and answer with its digest. On the disk when this returns."""
        digest = sha256_hex(data)
        if not self._present(digest, len(data)):
            with translated(self.root):
                self._path(digest).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._write_synced(self._path(digest), data)
        return digest

    def get(self, digest: str) -> bytes:
        """The blob. Raises `Unavailable` when there is none, or its bytes are not what was stored."""
        if not DIGEST.fullmatch(digest):
            raise no_blob(digest)
        path = self._path(digest)
        with translated(self.root):
            try:
                data = path.read_bytes()
            except FileNotFoundError:
                raise no_blob(digest) from None
        if sha256_hex(data) != digest:
            raise Unavailable(
                Cause.STORE_UNAVAILABLE,
                f"The stored blob {path} is corrupt: its bytes do not have the digest that names it",
                "Remove that file and run again, or restore it from a backup.",
            )
        return data

    def has(self, digest: str) -> bool:
        """Whether the blob is there; its bytes are checked by `get`."""
        return bool(DIGEST.fullmatch(digest)) and self._path(digest).is_file()

    def remember(self, key: str, data: bytes) -> None:
        """Keep `data` under `key`; the last one wins. Raises `ValueError` for a key that is no digest."""
        target = self._memo(key)
        with translated(self.root):
            self._write_synced(target, memo_file(key, data))

    def recall(self, key: str) -> bytes | None:
        """What was last remembered under `key`, None when nothing was or the file is not what was written."""
        path = self._memo(key)
        with translated(self.root):
            try:
                stored = path.read_bytes()
            except FileNotFoundError:
                return None
            if not _refreshed(path):
                return None
        return memo_data(key, stored)

    def bulk(self) -> FolderBulk:
        """Many blobs at once, of any size; see `domain.ports.Bulk`."""
        return FolderBulk(self)

    def place(self, session: str, todo: str, attempt: int, name: str, data: bytes) -> None:
        """Write a file of `SESSION/TODO/ATTEMPT/`, whole or not at all. Raises `ValueError` for a name that is no path
        below it.
        """
        target = self.root / placed_path(session, todo, attempt, name)
        with translated(self.root):
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._write_synced(target, data)

    def placed(self, session: str, todo: str, attempt: int, name: str) -> bytes | None:
        """The file that people find there now, None when there is none."""
        with translated(self.root):
            try:
                return (self.root / placed_path(session, todo, attempt, name)).read_bytes()
            except FileNotFoundError:
                return None

    def place_of(self, session: str, todo: str, attempt: int) -> str:
        """The folder that people open for one attempt."""
        return str(self.root / session / todo / str(attempt))

    def _path(self, digest: str) -> Path:
        return Path(self._name(digest))

    def _name(self, digest: str) -> str:
        """`_path` as text: for thousands of files, making a `Path` takes longer than what it is made for."""
        return f"{self._prefix}/{digest[:2]}/{digest}"

    def _memo(self, key: str) -> Path:
        return self.root / memo_path(key)

    def _present(self, digest: str, size: int) -> bool:
        """Whether the blob is there and of the right length: one that was cut short is written again.

        If it is, it counts as new from now on.
        """
        name = self._name(digest)
        try:
            found = os.stat(name)  # noqa: PTH116  # see `_name`
        except OSError:
            return False
        return found.st_size == size and (time.time() - found.st_mtime < FRESH or _touched(name))

    def _write_synced(self, target: Path, data: bytes) -> None:
        """`data` under `target`'s name, all at once, and there after a crash."""
        with staging.staged(self._staging) as folder:
            temporary = folder / target.name
            write_file(temporary, data)
            _sync(temporary)
            temporary.replace(target)
        _sync(target.parent)


class FolderBulk(StagedBulk):
    """Blobs that are synced together, and only then named."""

    def __init__(self, store: FolderStore) -> None:
        super().__init__(store.root, store._staging)
        self._store = store

    def present(self, digest: str, size: int) -> bool:
        """Whether the blob is there; if it is, it counts as new from now on."""
        return self._store._present(digest, size)

    def commit(self) -> None:
        """Sync what is staged, then give it its names."""
        staged = sorted(self.staged)
        _sync_all([self.name(digest) for digest in staged])
        for digest in staged:
            os.replace(self.name(digest), self._store._name(digest))  # noqa: PTH105  # see `_name` there
        _sync_all(sorted({str(self._store._path(digest).parent) for digest in staged}))


def _refreshed(path: Path) -> bool:
    """Whether the file is still there; if so it counts as new from now on."""
    try:
        return time.time() - path.stat().st_mtime < FRESH or _touched(path)
    except FileNotFoundError:
        return False


def _touched(path: Path | str) -> bool:
    """Set a file's time to now; False when it is there no more, or is not ours to touch."""
    try:
        os.utime(path)
    except OSError:
        return False
    return True


def _sync_all(paths: Sequence[str]) -> None:
    parts = [paths[start : start + _SYNCED_IN_A_ROW] for start in range(0, len(paths), _SYNCED_IN_A_ROW)]
    if len(parts) < 2:
        _sync_each(paths)
        return
    with ThreadPoolExecutor(min(_SYNC_THREADS, len(parts))) as threads:
        for _ in threads.map(_sync_each, parts):  # raises what a sync raised
            pass


def _sync_each(paths: Iterable[str]) -> None:
    for path in paths:
        _sync(path)


def _sync(path: Path | str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
