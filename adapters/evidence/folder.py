"""Keeps evidence in a folder of this host; refuses to hand out a blob that is not what its name says.

A blob's final name appears only after its bytes were synced, so a name that is there can be trusted after a crash.
`put` syncs its one blob. A bulk stages its blobs, syncs them together when it ends and only then names them. It syncs
in threads, since syncs at the same time share a commit of the journal (5,000 files on ext4: a third of the time that
one after the other takes). One `syncfs` would take less, but waits for whatever else the host is writing.

A blob that is put again, and a memo that is recalled, count as new (`FRESH`): what is pruned beside running rounds is
old (`adapters.evidence.sweep`).
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from types import TracebackType

from adapters.evidence import staging
from domain.base import sha256_hex
from domain.errors import Cause, Unavailable, no_blob

_DIGEST = re.compile(r"[0-9a-f]{64}")
_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_MEMO_HEADER = 64  # bytes: the digest in front of what is remembered
FRESH = 300  # seconds; what is used again within them keeps its time, so that most uses write nothing
_SYNCED_IN_A_ROW = 64  # by one thread: neighbours are in the same commit of the journal
_SYNC_THREADS = 16
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


class FolderStore:
    """`domain.ports.EvidenceStore` in `root`: `blobs/ab/SHA256`, `memo/KEY`; for people `SESSION/TODO/ATTEMPT/NAME`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._blobs = root / "blobs"
        self._prefix = os.fspath(self._blobs)
        self._staging = self._blobs / ".staging"
        self._memos = root / "memo"
        with translated(self.root):
            self._staging.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._memos.mkdir(mode=0o700, exist_ok=True)
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
        if not _DIGEST.fullmatch(digest):
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
        return bool(_DIGEST.fullmatch(digest)) and self._path(digest).is_file()

    def remember(self, key: str, data: bytes) -> None:
        """Keep `data` under `key`; the last one wins. Raises `ValueError` for a key that is no digest."""
        target = self._memo(key)
        with translated(self.root):
            self._write_synced(target, _memo_digest(key, data) + data)

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
        parts = [session, todo, str(attempt), *name.split("/")]
        unfit = [part for part in parts if not _PART.fullmatch(part)]
        if unfit:
            raise ValueError(f"{unfit[0]!r} cannot be a part of a path in the evidence folder")
        target = self.root.joinpath(*parts)
        with translated(self.root):
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._write_synced(target, data)

    def _path(self, digest: str) -> Path:
        return Path(self._name(digest))

    def _name(self, digest: str) -> str:
        """`_path` as text: for thousands of files, making a `Path` takes longer than what it is made for."""
        return f"{self._prefix}/{digest[:2]}/{digest}"

    def _memo(self, key: str) -> Path:
        if not _DIGEST.fullmatch(key):
            raise ValueError(f"{key!r} is no key of the evidence store: it takes 64 hexadecimal digits")
        return self._memos / key

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
            _write(temporary, data)
            _sync(temporary)
            temporary.replace(target)
        _sync(target.parent)


class FolderBulk:
    """Blobs that are stored together when the `with` block ends without an error, or not at all."""

    def __init__(self, store: FolderStore) -> None:
        self._store = store
        self._stack = ExitStack()
        self._folder = store._staging
        self._staged: set[str] = set()

    def __enter__(self) -> FolderBulk:
        with translated(self._store.root):
            self._folder = self._stack.enter_context(staging.staged(self._store._staging))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self._stack:
            if error is None:
                with translated(self._store.root):
                    self._commit()

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
            with translated(self._store.root):
                _write(self._name(digest), first)
            self._staged.add(digest)
        return digest

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
        path = self._name(uuid.uuid4().hex)
        hasher = hashlib.sha256()
        size = 0
        with translated(self._store.root):
            descriptor = os.open(path, _NEW_FILE, 0o600)
        try:
            for piece in pieces:
                hasher.update(piece)
                size += len(piece)
                with translated(self._store.root):
                    _write_all(descriptor, piece)
        finally:
            os.close(descriptor)
        digest = hasher.hexdigest()
        with translated(self._store.root):
            if self._has(digest, size):
                Path(path).unlink()
            else:
                Path(path).rename(self._name(digest))
                self._staged.add(digest)
        return digest

    def _has(self, digest: str, size: int) -> bool:
        return digest in self._staged or self._store._present(digest, size)

    def _commit(self) -> None:
        staged = sorted(self._staged)
        _sync_all([self._name(digest) for digest in staged])
        for digest in staged:
            os.replace(self._name(digest), self._store._name(digest))  # noqa: PTH105  # see `_name` there
        _sync_all(sorted({str(self._store._path(digest).parent) for digest in staged}))

    def _name(self, name: str) -> str:
        return f"{self._folder}/{name}"


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


def memo_data(key: str, stored: bytes) -> bytes | None:
    """What is remembered in a file that holds `stored` under `key`, None when it is not what was written."""
    digest, data = stored[:_MEMO_HEADER], stored[_MEMO_HEADER:]
    return data if digest == _memo_digest(key, data) else None


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


def _memo_digest(key: str, data: bytes) -> bytes:
    """What a memo's file begins with. The key is in it, so that a file under another's name is noticed, too."""
    return hashlib.sha256(key.encode() + data).hexdigest().encode()


def _write(path: Path | str, data: bytes) -> None:
    descriptor = os.open(path, _NEW_FILE, 0o600)
    try:
        _write_all(descriptor, data)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]


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
