"""Removes evidence that nothing refers to any more: mark, record, sweep. What has to stay is `domain.retention`'s.

It may run beside rounds. The row that says what is removed, with the list, is stored before anything is: a process that
dies leaves a row for more than was removed, never the other way round.
"""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from functools import partial
from typing import IO, Protocol

from adapters.evidence.sweep import Left
from domain.actors import Established
from domain.errors import Refused
from domain.events import Actor, TrailEntry
from domain.ports import EvidenceStore, Trail
from domain.read_model import State
from domain.retention import Pruned, RoundKey, cutoff, digests_in, holds, is_manifest, let_go, named_in

SESSION = "system"
"""The session of the trail that has what was done to the store itself."""

_CHUNK = 1024 * 1024
_SHORT = 15  # hexadecimal digits: 60 bits make the smallest whole number, half of what the digest as text takes


class Sweep(Protocol):
    """Finds and removes what is old in one store. Times are seconds since 1970. Raises `Unavailable`."""

    def memos(self, since: float) -> Iterator[bytes]:
        """What is remembered, as far as it was remembered or recalled at `since` or later."""
        ...

    def old_memos(self, before: float) -> Iterator[Left]:
        """What nobody has remembered or recalled since `before`."""
        ...

    def old_blobs(self, before: float) -> Iterator[Left]:
        """The blobs that nobody has put since `before`, sorted."""
        ...

    def attempts(self) -> Iterator[RoundKey]:
        """Session, todo and attempt of every folder that people open."""
        ...

    def old_folders(self, before: float, of: Collection[RoundKey]) -> Iterator[Left]:
        """The folders of these attempts in which nothing is newer than `before`."""
        ...

    def remove(self, left: Left, before: float) -> bool:
        """Remove it, unless it was used after `before`; whether this did."""
        ...

    def restore(self) -> None:
        """Put right what a process that died while removing has left."""
        ...

    def done(self) -> None:
        """Nothing more is removed."""
        ...


class Kept:
    """The digests that something refers to, which `follow` collects from stored documents."""

    def __init__(self, store: EvidenceStore) -> None:
        self._store = store
        self._short: set[int] = set()
        self._followed: set[str] = set()

    def __contains__(self, digest: str) -> bool:
        """Whether something refers to it; two digests that begin alike count as one, and both stay."""
        return _short(digest) in self._short

    def follow(self, digests: Iterable[str]) -> None:
        """Keep these, and whatever the documents among them refer to. Raises `Unavailable` for a damaged one."""
        waiting = list(digests)
        while waiting:
            digest = waiting.pop()
            if digest in self._followed:
                continue
            self._short.add(_short(digest))
            self._followed.add(digest)
            if not self._store.has(digest):
                continue
            document = self._store.get(digest)
            if is_manifest(document):
                self._short.update(map(_short, digests_in(document)))
            else:
                waiting += digests_in(document)


class Pruner:
    """One run over one store. `now` has a zone."""

    def __init__(self, trail: Trail, store: EvidenceStore, sweep: Sweep, now: datetime) -> None:
        self._trail = trail
        self._store = store
        self._sweep = sweep
        self._now = now

    def run(
        self, older_than: float, actor: Actor, established: Established | None = None, *, dry_run: bool = False
    ) -> Pruned:
        """Remove what nothing refers to and nobody has used for `older_than` seconds; with `dry_run` only count it.

        Raises `Refused` (foreign_evidence) where attempts lie that this trail does not know, and `Unavailable`.
        """
        state = self._trail.state()
        self._refuse_foreign(state)
        limit, released = cutoff(self._now, older_than, state), let_go(state, self._now)
        if not dry_run:
            self._sweep.restore()
        kept = self._marked(released, limit.timestamp())
        with tempfile.TemporaryFile() as listed:
            found = self._list(kept, released, limit.timestamp(), listed)
            pruned = Pruned(older_than_seconds=older_than, cutoff=limit, **found)
            if dry_run or not any((pruned.blobs, pruned.memos, pruned.folders)):
                return pruned
            pruned = pruned.model_copy(update={"list": self._store_list(listed)})
            self._record(pruned, actor, established)
            try:
                spared = self._remove(listed, kept, limit.timestamp())
            finally:
                self._sweep.done()
        return pruned.model_copy(update={"spared": spared})

    def _refuse_foreign(self, state: State) -> None:
        known = {(view.session, view.todo, view.attempt) for view in state.rounds}
        stranger = next((key for key in self._sweep.attempts() if key not in known), None)
        if stranger:
            raise Refused(
                "foreign_evidence",
                f"the evidence store has {'/'.join(map(str, stranger))}, a round that this trail does not know",
                "see that the database and the evidence belong together; what another trail refers to is not removed",
            )

    def _marked(self, released: frozenset[RoundKey], before: float) -> Kept:
        kept = Kept(self._store)
        for row in self._trail.rows():
            if holds(row, released):
                kept.follow(named_in(row))
        for memo in self._sweep.memos(before):
            kept.follow(digests_in(memo))
        return kept

    def _list(self, kept: Kept, released: frozenset[RoundKey], before: float, listed: IO[bytes]) -> dict[str, int]:
        """Write down what goes, a line each: memos first, since a memo that is recalled meanwhile saves its blobs."""
        kinds: dict[str, Iterator[Left]] = {
            "memos": self._sweep.old_memos(before),
            "blobs": (left for left in self._sweep.old_blobs(before) if not _is_kept(left, kept)),
            "folders": self._sweep.old_folders(before, released),
        }
        counts = dict.fromkeys((*kinds, "bytes"), 0)
        for kind, lefts in kinds.items():
            for left in lefts:
                listed.write(f"{left.path} {left.size}\n".encode())
                counts[kind] += 1
                counts["bytes"] += left.size
        return counts

    def _store_list(self, listed: IO[bytes]) -> str:
        listed.seek(0)
        with self._store.bulk() as bulk:
            return bulk.add(iter(partial(listed.read, _CHUNK), b""))

    def _record(self, pruned: Pruned, actor: Actor, established: Established | None) -> None:
        how = {"established": established} if established else {}
        self._trail.append(
            TrailEntry(
                workflow_id=f"prune/{uuid.uuid4()}",
                ordinal=1,
                session=SESSION,
                todo_id="",
                actor=actor,
                action="evidence_pruned",
                payload={**pruned.model_dump(mode="json", exclude={"spared"}), **how},
                timestamp=self._now,
            )
        )

    def _remove(self, listed: IO[bytes], kept: Kept, before: float) -> int:
        """Remove what is listed; how much was spared, since it was used meanwhile."""
        listed.seek(0)
        spared, memos = 0, True
        for line in listed:
            path, _, size = line.decode().rpartition(" ")
            left = Left(path, int(size))
            if memos and not path.startswith("memo/"):
                memos = False
                for memo in self._sweep.memos(before):
                    kept.follow(digests_in(memo))
            if _is_kept(left, kept) or not self._sweep.remove(left, before):
                spared += 1
        return spared


def _is_kept(left: Left, kept: Kept) -> bool:
    return left.path.startswith("blobs/") and left.name in kept


def _short(digest: str) -> int:
    return int(digest[:_SHORT], 16)
