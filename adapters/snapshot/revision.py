"""Reads the tree of a commit, object by object; nothing is checked out, so no filter or line ending rule applies."""

from __future__ import annotations

import stat
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from dulwich.objects import parse_tree

from adapters.snapshot.found import SnapshotLimits, Tree
from adapters.snapshot.names import join, link_problem, shown, unusable
from adapters.snapshot.patterns import SUBMODULE, Include, Named
from adapters.snapshot.repository import BLOB, COMMIT, TREE, ObjectReader
from domain.base import sha256_hex
from domain.errors import Cause, Unavailable
from domain.order import BaseRevision
from domain.tree import Entry

if TYPE_CHECKING:
    from domain.ports import Bulk, Progress

_REPORT_EVERY = 200  # files


def read_revision(base: BaseRevision, include: Include, limits: SnapshotLimits, bulk: Bulk, progress: Progress) -> Tree:
    """The tree of the commit `base`, its files' content added to `bulk`. Raises `Unavailable` (base_unreadable)."""
    objects = ObjectReader(Path(base.repository), limits.max_file_bytes)
    try:
        return _Reading(objects, include, limits, bulk, progress).run(base.revision)
    finally:
        objects.close()


def files_in(base: BaseRevision, paths: Iterable[str]) -> dict[str, bytes]:
    """The files of the commit `base` that are at or below `paths`, by path. Raises `Unavailable` (base_unreadable)."""
    kept = _Kept()
    tree = read_revision(base, Named(*paths), SnapshotLimits(), kept, lambda _: None)
    return {entry.path: kept.blobs[entry.digest] for entry in tree.entries if entry.kind == "file"}


class _Kept:
    """A `domain.ports.Bulk` in memory."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}

    def add(self, chunks: Iterable[bytes]) -> str:
        """Keep one file's content."""
        data = b"".join(chunks)
        digest = sha256_hex(data)
        self.blobs[digest] = data
        return digest


class _Reading:
    def __init__(
        self, objects: ObjectReader, include: Include, limits: SnapshotLimits, bulk: Bulk, progress: Progress
    ) -> None:
        self._tree = Tree()
        self._objects = objects
        self._include = include
        self._limits = limits
        self._bulk = bulk
        self._progress = progress
        self._bytes = 0

    def run(self, revision: str) -> Tree:
        _, commit = self._objects.read(revision, COMMIT)
        first_line = commit.partition(b"\n")[0]
        waiting = [("", first_line.removeprefix(b"tree ").decode())]
        while waiting:
            folder, name = waiting.pop()
            _, data = self._objects.read(name, TREE)
            for raw, mode, found in parse_tree(data, 20):
                path = join(folder, raw.decode("utf-8", "surrogateescape"))
                problem = "git's own" if raw.lower() in (b".git", b"", b".", b"..") or b"/" in raw else unusable(path)
                if problem:
                    self._tree.drop(shown(path), problem)
                elif stat.S_ISDIR(mode):
                    if self._include.may_hold_below(path):
                        waiting.append((path, found.decode()))
                else:
                    self._take(path, mode, found.decode())
        return self._tree

    def _take(self, path: str, mode: int, name: str) -> None:
        folder, _, last = path.rpartition("/")
        if stat.S_ISREG(mode) and last == ".gitignore":
            self._tree.ignore_files[folder] = self._objects.read(name, BLOB)[1]
        if not self._include.holds(path):
            return
        if stat.S_ISLNK(mode):
            self._link(path, name)
        elif stat.S_ISREG(mode):
            self._file(path, mode, name)
        else:
            self._tree.submodules.add(path)
            self._tree.drop(path, SUBMODULE)

    def _link(self, path: str, name: str) -> None:
        target = self._objects.read(name, BLOB)[1].decode("utf-8", "surrogateescape")
        problem = link_problem(path, target)
        if problem:
            self._tree.drop(path, problem)
        else:
            self._tree.entries.append(Entry(path=path, kind="link", target=target))

    def _file(self, path: str, mode: int, name: str) -> None:
        _, data = self._objects.read(name, BLOB)
        if len(data) > self._limits.max_file_bytes:
            self._tree.drop(path, f"a file of {len(data)} bytes, more than the {self._limits.max_file_bytes} allowed")
            return
        self._bytes += len(data)
        entry = Entry(path=path, executable=bool(mode & 0o100), size=len(data), digest=self._bulk.add((data,)))
        self._tree.entries.append(entry)
        count = len(self._tree.entries)
        if count > self._limits.max_files or self._bytes > self._limits.max_total_bytes:
            raise Unavailable(
                Cause.BASE_UNREADABLE,
                f"The base has more than {self._limits.max_files} files or {self._limits.max_total_bytes} bytes",
                "Narrow snapshot.include to the part of the repository that the work is about.",
            )
        if count % _REPORT_EVERY == 0:
            self._progress(f"reading the base: {count} files")
