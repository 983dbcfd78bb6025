"""Finds and removes what is old in a bucket, beside rounds that use it. It knows nothing of what is needed.

A bucket cannot move things aside. So whoever removes says which folder it is at, before it looks whether something is
old still: a writer that renews an object of that folder waits until it is done, then sees that the object is there
(`S3Store._outlive`). That word is said again every `_RENEWED` seconds and counts for `LEASE`; nothing is removed on one
that is older, so that a process which was stopped for a while does no harm.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Collection, Iterator

from adapters.evidence.bucket import Bucket
from adapters.evidence.layout import ATTEMPT, BLOBS, DIGEST, MEMOS, memo_data
from adapters.evidence.s3 import FRESH, REMOVING
from adapters.evidence.sweep import Left, RoundKey

_RENEWED = 30.0  # seconds
_FORGOTTEN = 3600.0  # seconds: far more than it counts, for clocks that differ


class S3Sweep:
    """The evidence in `bucket`. Times are seconds since 1970. Raises `Unavailable` for a store that fails.

    What was used at `before` or later may have been written a day earlier (`FRESH`), so it stays that much longer.
    """

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket
        self._name = uuid.uuid4().hex
        self._said = ""
        self._said_at = 0.0

    def memos(self, since: float) -> Iterator[bytes]:
        """What is remembered, as far as it may have been remembered or recalled at `since` or later."""
        for found in self._bucket.below(MEMOS):
            key = found.path.rpartition("/")[2]
            if DIGEST.fullmatch(key) and found.written >= since - FRESH:
                stored = self._bucket.get(found.path)
                yield (memo_data(key, stored[0]) if stored else None) or b""

    def old_memos(self, before: float) -> Iterator[Left]:
        """What nobody has remembered or recalled since `before`."""
        yield from self._old(MEMOS, before)

    def old_blobs(self, before: float) -> Iterator[Left]:
        """The blobs that nobody has put since `before`, by their digests."""
        for first in range(256):
            yield from self._old(f"{BLOBS}/{first:02x}", before)

    def attempts(self) -> Iterator[RoundKey]:
        """Session, todo and attempt of every folder that people open."""
        for session in self._bucket.folders():
            if session not in (BLOBS, MEMOS, REMOVING):
                for todo in self._bucket.folders(session):
                    for attempt in self._bucket.folders(todo):
                        *_, name, number = attempt.split("/")
                        if ATTEMPT.fullmatch(number):
                            yield session, name, int(number)

    def old_folders(self, before: float, of: Collection[RoundKey]) -> Iterator[Left]:
        """The folders of these attempts in which nothing is newer than `before`."""
        for key in sorted(of):
            path = "/".join(map(str, key))
            found = list(self._bucket.below(path))
            if found and all(one.written < before for one in found):
                yield Left(path, sum(one.size for one in found))

    def remove(self, left: Left, before: float) -> bool:
        """Remove it, unless it was used after `before`; whether this did."""
        if not left.path.startswith((f"{BLOBS}/", f"{MEMOS}/")):
            return self._remove_folder(left)
        self._say(left.path.rpartition("/")[0])
        found = self._bucket.head(left.path)
        if found is None or found.written >= before - FRESH or time.monotonic() - self._said_at > _RENEWED:
            return False
        self._bucket.delete(left.path)
        return True

    def restore(self) -> None:
        """Take back the word of processes that died; what they removed is gone."""
        oldest = time.time() - _FORGOTTEN
        for found in self._bucket.below(REMOVING):
            if found.written < oldest:
                self._bucket.delete(found.path)

    def done(self) -> None:
        """Let writers go on that wait for the folder that was looked at last."""
        if self._said:
            self._bucket.delete(self._said)
            self._said = ""

    def _say(self, folder: str) -> None:
        """Say that this folder is being pruned, and no longer the one before."""
        said = f"{REMOVING}/{folder}/{self._name}"
        if said != self._said:
            self.done()
        if said != self._said or time.monotonic() - self._said_at > _RENEWED / 2:
            at = time.monotonic()  # before it counts, so that it is never taken for younger than it is
            self._bucket.put(said, b"")
            self._said, self._said_at = said, at

    def _remove_folder(self, left: Left) -> bool:
        found = [one.path for one in self._bucket.below(left.path)]
        for path in found:
            self._bucket.delete(path)
        return bool(found)

    def _old(self, folder: str, before: float) -> Iterator[Left]:
        for found in self._bucket.below(folder):
            if found.written < before - FRESH and DIGEST.fullmatch(found.path.rpartition("/")[2]):
                yield Left(found.path, found.size)
