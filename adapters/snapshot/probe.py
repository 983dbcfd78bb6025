"""Makes the trees of the falsifiability probe: the trusted tree without the change, or with one fault in it.

A required check has to fail on one of them. The worker's new tests stay: they may be what tests the change. It runs
nothing. Source: issue "falsifiability probe", DESIGN 8.
"""

from __future__ import annotations

import posixpath
import random
from collections.abc import Iterator

from pathspec import GitIgnoreSpec

from adapters.snapshot.diff import changed_lines
from adapters.snapshot.rules import rules_of
from adapters.snapshot.unstored import Blobs
from domain.messages import ProbeInput
from domain.mutation.edits import edited
from domain.mutation.mutants import MAX_SOURCE_BYTES, Mutant, mutants
from domain.order import Scope
from domain.probes import ProbeTree, ProbeTrees
from domain.tree import Change, Entry, Manifest, changes

MAX_TREES = 5
"""Of a probe by mutation: every required check runs once on each, until one fails."""

MAX_FILES = 50
"""Files that are looked into for something to mutate."""

_DOCUMENTS = GitIgnoreSpec.from_lines(
    ["*.md", "*.rst", "*.adoc", "/docs/**", "/doc/**", "LICENSE*", "CHANGELOG*", "AUTHORS*", "NOTICE*"]
)
"""What people read: no check is asked to notice that it is gone."""


def probe_trees(request: ProbeInput, store: Blobs) -> ProbeTrees:
    """The trees that `request` asks for; none, and why, where there is nothing to undo or to mutate.

    Raises `Unavailable` (store_unavailable, disk_full).
    """
    base = Manifest.decode(store.get(request.scope.base or request.frozen.base))
    tree = Manifest.decode(store.get(request.scope.tree))
    probe = _Probe(base, tree, store)
    if not probe.work:
        return ProbeTrees(why="the change has nothing but tests and documentation, or nothing at all")
    if request.how == "revert":
        return ProbeTrees(trees=(probe.without_the_work(),))
    found = tuple(probe.with_one_fault(request.seed))
    return ProbeTrees(trees=found, why="" if found else "nothing on the changed lines can be mutated")


class _Probe:
    """What a worker did, as far as it entered the trusted tree: its work, and its tests."""

    def __init__(self, base: Manifest, tree: Manifest, store: Blobs) -> None:
        self._base = base
        self._tree = tree
        self._store = store
        is_test = rules_of(Scope(), store.get).new_test
        found = changes(base, tree)
        self._tests = [change for change in found if is_test(change.path)]
        self.work = [c for c in found if not is_test(c.path) and not _DOCUMENTS.match_file(c.path)]

    def without_the_work(self) -> ProbeTree:
        """The base, with the worker's tests as they are in the trusted tree."""
        entries = dict(self._base.by_path)
        for change in self._tests:
            entries.pop(change.path, None)
            if change.kind != "deleted" and not any(parent in entries for parent in _parents(change.path)):
                entries[change.path] = self._tree.by_path[change.path]
        count = len(self.work)
        files = "1 file is" if count == 1 else f"{count} files are"
        return ProbeTree(tree=self._keep(entries), what=f"the change is undone: {files} as in the base")

    def with_one_fault(self, seed: int) -> Iterator[ProbeTree]:
        """At most `MAX_TREES`, of as many files as there are, and of each on as many lines."""
        by_file = list(self._mutants(seed))
        places = range(max((len(found) for _, _, found in by_file), default=0))
        ranked = [(entry, source, found[n]) for n in places for entry, source, found in by_file if n < len(found)]
        for entry, source, mutant in ranked[:MAX_TREES]:
            data = edited(source, [mutant.edit])
            with self._store.bulk() as bulk:
                changed = entry.model_copy(update={"digest": bulk.add((data,)), "size": len(data)})
            yield ProbeTree(tree=self._keep({**self._tree.by_path, entry.path: changed}), what=mutant.shown)

    def _mutants(self, seed: int) -> Iterator[tuple[Entry, bytes, tuple[Mutant, ...]]]:
        """Up to `MAX_TREES` files that have any, in an order that the seed chooses."""
        ordered = list(self.work)
        random.Random(seed).shuffle(ordered)  # noqa: S311 - it has to be found again from the seed
        count = 0
        for change in ordered[:MAX_FILES]:
            entry = self._tree.by_path.get(change.path)
            if entry is None or entry.kind != "file" or entry.size > MAX_SOURCE_BYTES:
                continue
            source = self._store.get(entry.digest)
            if found := mutants(entry.path, source, self._lines(change, source), seed):
                yield entry, source, found
                count += 1
            if count == MAX_TREES:
                return

    def _lines(self, change: Change, source: bytes) -> frozenset[int]:
        """The lines of `source` that the base does not have; all of a file that is new."""
        before = self._base.by_path.get(change.path)
        known = before is not None and before.kind == "file" and before.size <= MAX_SOURCE_BYTES
        old = self._store.get(before.digest) if known and before else b""
        return changed_lines(old.decode(errors="replace"), source.decode(errors="replace"))

    def _keep(self, entries: dict[str, Entry]) -> str:
        with self._store.bulk() as bulk:
            return bulk.add((Manifest.of(entries.values()).encode(),))


def _parents(path: str) -> Iterator[str]:
    while path := posixpath.dirname(path):
        yield path
