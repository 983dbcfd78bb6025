"""Keeps evidence in an S3 bucket, for workers on several machines; refuses to hand out what is not what its name says.

Paths are those of the folder (`layout`). What is stored replaces whatever is there under its name, which has the same
bytes or was cut short, so that it needs no condition; a memo is replaced on one where the store knows conditions.

A blob that is put again, and a memo that is recalled, count as new, as in the folder. Here that means to write them
once more, so it happens once a day at most (`FRESH`), and whoever prunes leaves what is a day younger than it has to
be. Something that is renewed while it is being removed is looked for once more afterwards (`_outlive`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from adapters.evidence import staging
from adapters.evidence.bucket import Bucket, Found
from adapters.evidence.bulk import StagedBulk, translated
from adapters.evidence.layout import DIGEST, blob_path, memo_data, memo_file, memo_path, placed_path
from domain.base import sha256_hex
from domain.errors import Cause, Unavailable, no_blob

FRESH = 86_400.0  # seconds; what is used again within them is not written again
REMOVING = ".removing"
"""Below it there is an object for each folder that is being pruned: `.removing/blobs/ab/SOMEBODY`."""

LEASE = 180.0
"""Seconds after which such an object says nothing any more, since its owner may be dead (`s3_sweep`)."""

_LOOK_AGAIN = 0.25  # seconds
_AT_ONCE = 16  # requests of one bulk
_LARGE = 4 * 2**20  # bytes


class S3Store:
    """`domain.ports.EvidenceStore` in `bucket`; `staged_in` is a folder of this host for what is not stored yet."""

    def __init__(self, bucket: Bucket, staged_in: Path) -> None:
        self.bucket = bucket
        self._staged_in = staged_in

    def put(self, data: bytes) -> str:
        """Store `data`, once, and answer with its digest."""
        digest = sha256_hex(data)
        self.keep(digest, len(data), data)
        return digest

    def get(self, digest: str) -> bytes:
        """The blob. Raises `Unavailable` when there is none, or its bytes are not what was stored."""
        found = self.bucket.get(blob_path(digest)) if DIGEST.fullmatch(digest) else None
        if found is None:
            raise no_blob(digest)
        data, at = found
        if sha256_hex(data) != digest:
            raise Unavailable(
                Cause.STORE_UNAVAILABLE,
                f"The stored blob {self.bucket.url}/{at.path} is corrupt: its bytes do not have its digest",
                "Remove that object and run again, or restore it from a backup.",
            )
        return data

    def has(self, digest: str) -> bool:
        """Whether the blob is there; its bytes are checked by `get`."""
        return bool(DIGEST.fullmatch(digest)) and self.bucket.head(blob_path(digest)) is not None

    def remember(self, key: str, data: bytes) -> None:
        """Keep `data` under `key`; the last one wins. Raises `ValueError` for a key that is no digest."""
        self.bucket.put(memo_path(key), memo_file(key, data))

    def recall(self, key: str) -> bytes | None:
        """What was last remembered under `key`, None when nothing was or it is not what was written."""
        found = self.bucket.get(memo_path(key))
        if found is None:
            return None
        stored, at = found
        data = memo_data(key, stored)
        if data is not None and _old(at):
            self.bucket.put_over(at, stored)
            self._outlive(at.path, lambda: self.bucket.put(at.path, stored))
        return data

    def bulk(self) -> S3Bulk:
        """Many blobs at once, of any size; see `domain.ports.Bulk`."""
        with translated(self._staged_in):
            self._staged_in.mkdir(mode=0o700, parents=True, exist_ok=True)
            staging.sweep(self._staged_in)
        return S3Bulk(self, self._staged_in)

    def place(self, session: str, todo: str, attempt: int, name: str, data: bytes) -> None:
        """Write an object of `SESSION/TODO/ATTEMPT/`. Raises `ValueError` for a name that is no path below it."""
        self.bucket.put(placed_path(session, todo, attempt, name), data)

    def placed(self, session: str, todo: str, attempt: int, name: str) -> bytes | None:
        """The object that people find there now, None when there is none."""
        found = self.bucket.get(placed_path(session, todo, attempt, name))
        return None if found is None else found[0]

    def place_of(self, session: str, todo: str, attempt: int) -> str:
        """The URL of one attempt's folder."""
        return f"{self.bucket.url}/{session}/{todo}/{attempt}/"

    def keeps(self, digest: str, size: int) -> bool:
        """Whether the blob is there, whole and not old."""
        found = self.bucket.head(blob_path(digest))
        return found is not None and found.size == size and not _old(found)

    def keep(self, digest: str, size: int, data: bytes | Path) -> None:
        """Store the blob unless it is there: one that was cut short is written again, and one that is old."""
        path = blob_path(digest)
        found = self.bucket.head(path)
        if found is None or found.size != size:
            self.bucket.put(path, data)
        elif _old(found):
            self.bucket.put(path, data)
            self._outlive(path, lambda: self.bucket.put(path, data))

    def _outlive(self, path: str, again: Callable[[], None]) -> None:
        """Wait for whoever removes old objects of this folder, and see to it that the renewed one is there afterwards.

        It may have been found old before it was renewed, and be removed after that. Of the store's times only the
        differences count.
        """
        folder = path.rpartition("/")[0]
        ends = time.monotonic() + LEASE
        while time.monotonic() < ends:
            removing = list(self.bucket.below(f"{REMOVING}/{folder}"))
            found = self.bucket.head(path)
            if found is None:
                again()
            elif not any(one.written > found.written - LEASE for one in removing):
                return
            else:
                time.sleep(_LOOK_AGAIN)


class S3Bulk(StagedBulk):
    """Blobs that are sent at the same time. One that fails fails all; what has arrived by then is of no consequence."""

    def __init__(self, store: S3Store, staged_in: Path) -> None:
        super().__init__(staged_in, staged_in)
        self._store = store

    def present(self, digest: str, size: int) -> bool:
        """Asked of large blobs only: to ask for one small one after the other takes longer than to stage them."""
        return size >= _LARGE and self._store.keeps(digest, size)

    def commit(self) -> None:
        """Send what is not there."""
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            for _ in threads.map(self._send, self.staged.items()):  # raises what a thread raised
                pass

    def _send(self, blob: tuple[str, int]) -> None:
        digest, size = blob
        self._store.keep(digest, size, Path(self.name(digest)))


def _old(found: Found) -> bool:
    return time.time() - found.written >= FRESH
