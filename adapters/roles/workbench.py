"""A round's trusted tree with a fix builder's edits over it, in memory. It has no file system, and creates no file.

Whether an edit counts is told by what assesses a worker's changes: none is made that the next round would not take.
Codes: `not_found`, `is_link`, `protected`, `out_of_scope`, `input`, `not_the_workers`, `binary`, `too_large`,
`has_secret`. Source: issue "The fix loop", DESIGN 8 "Trusted tree".
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from adapters.roles.reading import NOT_FOUND, Trees, found, inside
from adapters.roles.tool import ToolRefused
from adapters.snapshot.diff import unified_diff
from adapters.snapshot.snapshots import changed_inputs
from adapters.snapshot.trusted import DROPPED, Trusted, trusted
from domain.base import sha256_hex
from domain.messages import Frozen, ScopeResult
from domain.order import Order
from domain.ports import EvidenceStore
from domain.suite.scripts import scripts_of
from domain.tree import Entry, Manifest

FILE_BYTES = 512 * 1024
"""Of a file that is edited, before and after."""

ALL_BYTES = 2**20
"""Of all files that a pass edits, before and after together: so that their diff is shown whole."""

LINK, PROTECTED, OUT_OF_SCOPE, INPUT, NOT_OURS = "is_link", "protected", "out_of_scope", "input", "not_the_workers"
BINARY, TOO_LARGE, SECRET = "binary", "too_large", "has_secret"


class Planned(NamedTuple):
    """An edit that counts and has not been made: the file with its new content."""

    entry: Entry
    data: bytes


class Kept(NamedTuple):
    """What was stored of all edits: the worker's tree with them and their diff, by digest, and what they change."""

    head: str
    files: int
    size: int
    patch: str
    paths: tuple[str, ...]


class Workbench(Trees):
    """What one pass reads and edits. The same edits in the same order always come to the same tree.

    Everything that reads raises `Unavailable` (store_unavailable, disk_full).
    """

    def __init__(self, store: EvidenceStore, frozen: Frozen, scope: ScopeResult, order: Order) -> None:
        super().__init__(store, frozen, scope)
        self._order = order
        self._edited: dict[str, Entry] = {}
        self._data: dict[str, bytes] = {}
        self._open: set[str] = set()
        self.edits = 0

    def blob(self, digest: str) -> bytes:
        """A blob that a manifest names, edited ones included."""
        return self._data[digest] if digest in self._data else super().blob(digest)

    @property
    def changed(self) -> tuple[str, ...]:
        """The paths that are otherwise than they were: an edit that was taken back is none."""
        edited = sorted(self._edited.items())
        return tuple(path for path, entry in edited if entry.digest != self._head.by_path[path].digest)

    def file(self, path: str) -> Entry:
        """The file at just this path. Raises `ToolRefused` (outside_tree, not_found, is_directory, is_link)."""
        try:
            entry = found(self.tree, path)
        except ToolRefused as refusal:
            if refusal.code != NOT_FOUND:
                raise
            reason = f"{refusal.reason}. Only files that there are can be edited: none is created"
            raise ToolRefused(NOT_FOUND, reason) from None
        if entry.path != inside(path):
            raise refused(LINK, path, f"leads through a link: the file is {entry.path!r:.300}")
        return entry

    def text(self, entry: Entry) -> str:
        """Its content, where an edit of the file may count. Raises `ToolRefused` with this module's codes."""
        if entry.size > FILE_BYTES:
            raise refused(TOO_LARGE, entry.path, f"has {entry.size} bytes, and at most {FILE_BYTES} can be edited")
        data = self.blob(entry.digest)
        if entry.path not in self._open:  # said before anything is looked for in it
            self._demand_counts(_with_content(entry, data + b"\n"))
            self._open.add(entry.path)
        if b"\0" in data:
            raise refused(BINARY, entry.path, "is binary")
        try:
            text = data.decode()
        except UnicodeDecodeError:
            raise refused(BINARY, entry.path, "is no UTF-8") from None
        if self._is_masked(data):
            raise refused(SECRET, entry.path, "has a secret in it, which is not shown: a person has to edit it")
        return text

    def planned(self, entry: Entry, text: str) -> Planned:
        """The file with another content. Raises `ToolRefused` with this module's codes."""
        new = _with_content(entry, text.encode())
        if b"\0" in new.data:
            raise refused(BINARY, entry.path, "would be binary")
        if new.entry.size > FILE_BYTES:
            raise refused(TOO_LARGE, entry.path, f"would have {new.entry.size} bytes, and may have {FILE_BYTES}")
        edited = {**self._edited, entry.path: new.entry}
        total = sum(one.size + self._head.by_path[path].size for path, one in edited.items())
        if total > ALL_BYTES:
            raise refused(TOO_LARGE, entry.path, f"would make it {total} bytes of edited files, more than {ALL_BYTES}")
        if self._is_masked(new.data):
            raise refused(SECRET, entry.path, "would have a secret in it")
        self._demand_counts(new)
        return new

    def make(self, planned: Planned) -> None:
        """Make an edit. It reads and waits for nothing: whoever was stopped before has made none."""
        entry = planned.entry
        self._data[entry.digest] = planned.data
        self._edited[entry.path] = entry
        self.tree = Manifest.of({**self.tree.by_path, entry.path: entry}.values())
        self.edits += 1

    def keep(self) -> Kept:
        """Store the edits as they are, like the trees that checks run on."""
        paths, head = self.changed, self._with_edits()
        with self._store.bulk() as bulk:
            for path in paths:
                bulk.add((self._data[self._edited[path].digest],))
            digest = bulk.add((head.encode(),))
        diff = unified_diff(self._head, head, paths, self.blob)
        return Kept(digest, len(head.entries), head.size, self._store.put(diff.text.encode()), paths)

    @cached_property
    def _head(self) -> Manifest:
        """The worker's tree, as it was frozen."""
        return Manifest.decode(self._store.get(self._frozen.head))

    @cached_property
    def _not_taken(self) -> frozenset[str]:
        """What the snapshot found and left."""
        return frozenset(one.path for one in DROPPED.validate_json(self._store.get(self._frozen.dropped)))

    def _with_edits(self, *more: Entry) -> Manifest:
        """The worker's tree with the edits, and with `more`."""
        edited = {**self._edited, **{entry.path: entry for entry in more}}
        return Manifest.of({**self._head.by_path, **edited}.values())

    def _is_masked(self, data: bytes) -> bool:
        """Whether a secret is in it: the store, which knows them, keeps something else then."""
        return self._store.put(data) != sha256_hex(data)

    def _demand_counts(self, planned: Planned) -> None:
        """Refuse what the next round would restore, drop or not let pass: it is asked what it would make of it."""
        written = self._with_edits(planned.entry).encode()
        head = sha256_hex(written)
        pending = {head: written, planned.entry.digest: planned.data}
        made = trusted(
            lambda digest: pending[digest] if digest in pending else self.blob(digest),
            self._frozen.model_copy(update={"head": head}),
            self._order.scope,
            self._order.verification.tests,
            scripts_of(self._order),
        )
        against = next(self._against(planned.entry, made), None)
        if against is not None:
            raise refused(against[0], planned.entry.path, against[1])

    def _against(self, entry: Entry, made: Trusted) -> Iterator[tuple[str, str]]:
        """Why an edit would not count, each with its code. `made`: what the next round would make of it."""
        path, report = entry.path, made.report
        if path in report.restored:
            yield PROTECTED, "is protected"
        for dropped in report.dropped:
            if dropped.path == path and path not in self._not_taken:
                yield PROTECTED, f"cannot be changed: {dropped.reason}"
        for violation in report.violations:
            if violation.path == path:
                yield OUT_OF_SCOPE, f"is {violation.kind.replace('_', ' ')} by the order's scope"
        if changed_inputs(_only(made.base, path), _only(made.head, path), self._order.environment.inputs):
            yield INPUT, "is what the environment is set up from, which a person changes"
        theirs = {**self._head.by_path, **self._edited}.get(path)
        counts = made.tree.by_path.get(path)
        same = theirs is not None and theirs.identity == self.tree.by_path[path].identity
        if not same or counts is None or counts.identity != entry.identity:
            yield NOT_OURS, "is not as the worker has it: what it did there was not used, and nor would an edit be"


def refused(code: str, path: str, reason: str) -> ToolRefused:
    """What is raised for a path, which the trail has to name even where the arguments are long."""
    return ToolRefused(code, f"{path!r:.300} {reason}")


def _with_content(entry: Entry, data: bytes) -> Planned:
    return Planned(entry.model_copy(update={"size": len(data), "digest": sha256_hex(data)}), data)


def _only(tree: Manifest, path: str) -> Manifest:
    """The tree without everything else."""
    return Manifest.of([tree.by_path[path]] if path in tree.by_path else [])
