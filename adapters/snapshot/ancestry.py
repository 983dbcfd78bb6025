"""Finds which commits lead to which, from commit objects alone: an id is the hash of its commit, parents included.

Grafts, replace references, `.git/shallow` and commit graphs, all of which a worker can write, are not read. Where the
objects end before an answer is found, there is none.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from adapters.snapshot.repository import COMMIT, ObjectReader, parents_of
from domain.errors import Cause, Unavailable

MAX_COMMITS = 200_000  # read for one question
_ONE, _TWO, _STALE = 1, 2, 4
_BOTH = _ONE | _TWO
_COMMITTED = re.compile(rb"^committer .*> (\d{1,18}) [+-]\d{4}$", re.MULTILINE)


class _Links(NamedTuple):
    parents: tuple[str, ...]
    time: int  # seconds since the epoch, as the commit says: it orders the search and decides nothing


class Ancestry:
    """The commits that `readers` have between them. Raises `Unavailable` (base_unreadable)."""

    def __init__(self, readers: Sequence[ObjectReader]) -> None:
        self._readers = readers
        self._known: dict[str, _Links] = {}

    def has(self, commit: str) -> bool:
        """Whether the commit is there, intact."""
        return self._find(commit) is not None

    def parents(self, commit: str) -> tuple[str, ...]:
        """The commits right before it."""
        return self._links(commit, commit).parents

    def parent(self, commit: str, place: int) -> str | None:
        """The parent at that place, from 0; None where there are not so many."""
        parents = self.parents(commit)
        if place >= len(parents):
            return None
        self._links(parents[place], commit)
        return parents[place]

    def leads_to(self, older: str, newer: str) -> bool:
        """Whether `newer` is `older` or one of its descendants."""
        return older == newer or self._painted(older, newer)[older] & _TWO != 0

    def merge_base(self, one: str, two: str) -> str | None:
        """The best common ancestor; of several that are equally good the one with the latest date, None for none."""
        flags = self._painted(one, two)
        best = [commit for commit, flag in flags.items() if flag & (_BOTH | _STALE) == _BOTH]
        best = [a for a in best if not any(a != b and self.leads_to(a, b) for b in best)]
        return max(best, key=lambda commit: (self._known[commit].time, commit), default=None)

    def _painted(self, one: str, two: str) -> dict[str, int]:
        """Which of the two each commit leads to, newest first, until what is left is behind a common ancestor.

        As git's `paint_down_to_common`: what is behind a common ancestor is stale. Dates that lie make it read more
        and never join what no parent joins.
        """
        flags = {one: _ONE}
        flags[two] = flags.get(two, 0) | _TWO
        waiting = [(-self._links(name, name).time, name) for name in flags]
        heapq.heapify(waiting)
        fresh = set(flags)  # what waits and is not stale
        cut: dict[str, str] = {}
        while fresh:
            _, name = heapq.heappop(waiting)
            fresh.discard(name)
            flag = flags[name]
            if flag & _BOTH == _BOTH:
                flag |= _STALE
            for parent in self.parents(name):
                links = self._find(parent)
                if links is None:
                    cut[name] = parent
                    continue
                before = flags.get(parent, 0)
                if before & flag == flag:
                    continue
                flags[parent] = before | flag
                heapq.heappush(waiting, (-links.time, parent))
                if flags[parent] & _STALE:
                    fresh.discard(parent)
                else:
                    fresh.add(parent)
        for name, parent in cut.items():
            # Behind a common ancestor nothing is the answer; elsewhere the answer may be in what is not there.
            if flags[name] & _BOTH != _BOTH:
                self._links(parent, name)
        return flags

    def _links(self, commit: str, child: str) -> _Links:
        """What is in `commit`, which is named by `child`, or was asked for where the two are the same."""
        links = self._find(commit)
        if links is not None:
            return links
        where = f"at {child}: its parent {commit}" if child != commit else f"before {commit}, which"
        raise Unavailable(
            Cause.BASE_UNREADABLE,
            f"The history that is here ends {where} is not there, or damaged",
            "Fetch the rest, of a shallow clone with `git fetch --unshallow`; or name a base by its full commit id.",
        )

    def _find(self, commit: str) -> _Links | None:
        if commit in self._known:
            return self._known[commit]
        if len(self._known) >= MAX_COMMITS:
            raise Unavailable(
                Cause.BASE_UNREADABLE,
                f"The history has more than {MAX_COMMITS} commits between the two",
                "Name a base by its full commit id.",
            )
        for reader in self._readers:
            with suppress(Unavailable, OSError):  # missing or damaged in one repository, it may be whole in the other
                _, data = reader.read(commit, COMMIT)
                time = _COMMITTED.search(data.partition(b"\n\n")[0])
                self._known[commit] = _Links(parents_of(data), int(time[1]) if time else 0)
                return self._known[commit]
        return None
