"""Finds a workspace's commits since the base: those that HEAD leads to and the base does not; runs no git process.

The worker may have written all of the repository. An id is the hash of its commit, parents included, so that no history
can be forged under the base; everything else that is odd ends in a note and never in an error.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from adapters.snapshot.names import shown
from adapters.snapshot.references import References, Unresolved
from adapters.snapshot.repository import COMMIT, ObjectReader, find_repository, parents_of
from domain.base import Message
from domain.errors import Unavailable
from domain.order import BaseRevision
from domain.tree import Commit

if TYPE_CHECKING:
    from domain.ports import Progress

MAX_COMMITS = 10_000  # read in all, on both sides
MAX_MESSAGE_BYTES = 64 * 1024
MAX_KEPT_BYTES = 16 * 2**20  # of all messages
MAX_OBJECT_BYTES = 2**20  # of a loose object
_REPORT_EVERY = 500


class CommitLog(Message):
    """What `Frozen.commits` names: the commits, those nearest to HEAD first, and what kept more from being found."""

    commits: tuple[Commit, ...] = ()
    note: str = ""


class _Found(NamedTuple):
    parents: tuple[str, ...]
    message: bytes


def read_commits(workspace: Path, base: str | BaseRevision, progress: Progress) -> CommitLog:
    """The commits of the repository at or above `workspace`; without a base revision, all that HEAD leads to.

    Messages are read as UTF-8, what is not is replaced, and cut at `MAX_MESSAGE_BYTES`.
    """
    root = find_repository(workspace)
    if root is None:
        return CommitLog(note=f"no folder from {workspace} upwards has a .git")
    try:
        head = References(root).head()
    except Unresolved as error:
        return CommitLog(note=f"the repository {root} has no HEAD that can be read: {error}")
    history = _History(progress)
    try:
        history.open(root)
        since = base if isinstance(base, BaseRevision) else None
        return history.between(head, since)
    finally:
        history.close()


class _History:
    """Commits by id, each read once, within the bounds."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._readers: list[ObjectReader] = []
        self._found: dict[str, _Found | None] = {}
        self._kept = 0
        self._notes: list[str] = []
        self._full = False

    def open(self, repository: Path) -> None:
        """Take a repository's objects, too; one that cannot be opened is noted."""
        try:
            self._readers.append(ObjectReader(repository, MAX_OBJECT_BYTES))
        except Unavailable as error:
            self._note(error.reason)
        except ValueError as error:  # a NUL in the name of a folder that it borrows from
            self._note(f"the objects of {repository} cannot be found: {error}")

    def close(self) -> None:
        """Close the packs."""
        for reader in self._readers:
            reader.close()

    def between(self, head: str, base: BaseRevision | None) -> CommitLog:
        """The commits that `head` leads to and `base` does not.

        Those that lead to the base cannot be older than it, as an id is a hash. Only where others were found, such as
        after a merge of an old branch, is the base's own history read, and where that is not whole they are left out.
        """
        reached, _ = self._walk(head, base.revision if base else None)
        if base is not None:
            others = reached.keys() - self._leading_to(base.revision, reached)
            if others:
                self.open(Path(base.repository))
                older, whole = self._walk(base.revision, None)
                left_out = others if not whole else others & older.keys()
                reached = {name: found for name, found in reached.items() if name not in left_out}
                if not whole:
                    self._note(f"{len(others)} commits are left out that may be older than the base")
        commits = tuple(
            Commit(id=name, message=found.message.decode(errors="replace")) for name, found in reached.items()
        )
        return CommitLog(commits=commits, note="; ".join(self._notes))

    def _walk(self, start: str, stop: str | None) -> tuple[dict[str, _Found], bool]:
        """The commits from `start` back, `stop` and what is only behind it left out; whether none was missed."""
        reached: dict[str, _Found] = {}
        waiting, queued, whole = deque([start]), {start}, True
        while waiting:
            name = waiting.popleft()
            if name == stop:
                continue
            found = self._read(name)
            if found is None:
                whole = False
                continue
            reached[name] = found
            waiting.extend(parent for parent in found.parents if parent not in queued)
            queued.update(found.parents)
        return reached, whole

    def _leading_to(self, base: str, reached: dict[str, _Found]) -> set[str]:
        children: dict[str, list[str]] = {}
        for name, found in reached.items():
            for parent in found.parents:
                children.setdefault(parent, []).append(name)
        waiting, leading = [base], set[str]()
        while waiting:
            for child in children.get(waiting.pop(), ()):
                if child not in leading:
                    leading.add(child)
                    waiting.append(child)
        return leading

    def _read(self, name: str) -> _Found | None:
        if name in self._found and (self._found[name] is not None or self._full):
            return self._found[name]
        if self._full or len(self._found) >= MAX_COMMITS or self._kept > MAX_KEPT_BYTES:
            if not self._full:
                self._note(f"reading stopped after {len(self._found)} commits, {self._kept} bytes of messages")
            self._full = True
            return None
        found = None
        for reader in self._readers:
            with suppress(Unavailable, OSError):  # a link in an object's place that leads to itself, say
                found = _parsed(reader.read(name, COMMIT)[1])
                break
        if found is None:
            self._note(f"the commit {name[:12]} is missing or damaged")
        else:
            self._kept += len(found.message)
        self._found[name] = found
        if len(self._found) % _REPORT_EVERY == 0:
            self._progress(f"reading commits: {len(self._found)} so far")
        return found

    def _note(self, text: str) -> None:
        text = shown(text)  # names of the worker's files may be in it
        if text not in self._notes and len(self._notes) < 5:
            self._notes.append(text)


def _parsed(data: bytes) -> _Found:
    """Parents and message."""
    return _Found(parents_of(data), data.partition(b"\n\n")[2][:MAX_MESSAGE_BYTES])
