"""Writes a verified repair into a workspace that is as it was frozen: regular files that are there, and nothing else.

The workspace belongs to a worker, who may swap anything in it at any moment. Every folder is opened part by part from
the workspace's own descriptor, no link is followed, and a file is replaced by its new content in one step, so that no
other name of it (a hard link) is written either. First all new content is put beside what it replaces, and synced:
what may be wrong (no room, a folder that is read-only) is found before anything is replaced. Then one file after the
other is looked at once more and replaced. Owner and permission bits stay, further attributes and the bits that lend
somebody's rights (set-user-id) do not.

A run that is killed leaves whole files, old or new, and perhaps names that begin with `UNFINISHED`: they are never part
of a tree, and the next run of the same repair removes them and does the rest.
"""

from __future__ import annotations

import errno
import hashlib
import os
import posixpath
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from adapters.snapshot.found import Tree
from adapters.snapshot.names import shown
from adapters.snapshot.opening import FOLDER, NotRead, open_folder, open_regular, read_pieces, why
from adapters.snapshot.patterns import UNFINISHED
from domain.errors import Cause, Unavailable, WorkspaceRefused
from domain.fix_messages import Applied
from domain.tree import Entry, Manifest, changes

if TYPE_CHECKING:
    from domain.ports import Progress

NAMED = 3
"""So many paths are named of what keeps a repair out."""

_REPORT_EVERY = 200  # files
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_PERMISSIONS = 0o777
_WRITABLE = 0o222
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.EROFS)
_SWAPPED = (errno.ENOENT, errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.ENXIO)


class Repair(NamedTuple):
    """From the tree `head` to the tree `fixed`."""

    head: Manifest
    fixed: Manifest


def apply_repair(
    workspace: Path, repair: Repair, look: Callable[[int], Tree], read: Callable[[str], bytes], progress: Progress
) -> Applied:
    """Write what of the repair is not there yet. `look` reads the opened workspace, `read` gives a blob by its digest.

    Raises what `look` and `read` raise, but for `WorkspaceRefused`; `Unavailable` (workspace_unreadable, disk_full).
    """
    try:
        root = os.open(workspace, FOLDER)
    except OSError as error:
        if error.errno not in (*_NOT_ALLOWED, *_SWAPPED):
            raise _unwritable(os.fspath(workspace), error) from error
        return Applied(why=f"the workspace {workspace} cannot be opened: {error.strerror}")
    try:
        return _Writing(root, repair, read, progress).run(look)
    finally:
        os.close(root)


class _Left(Exception):
    """Why the workspace is left as it is now."""


class _Waiting(NamedTuple):
    name: str
    inode: int


class _Writing:
    """One run. `_waiting` has what is written beside a path and has not taken its place."""

    def __init__(self, root: int, repair: Repair, read: Callable[[str], bytes], progress: Progress) -> None:
        self._root = root
        self._repair = repair
        self._read = read
        self._progress = progress
        self._paths = {change.path: None for change in changes(repair.head, repair.fixed)}  # in order
        self._mark = f"{UNFINISHED}{repair.fixed.digest[:16]}-"
        self._waiting: dict[str, _Waiting] = {}
        self._there: set[str] = set()

    def run(self, look: Callable[[int], Tree]) -> Applied:
        """Look, then write, or say why not."""
        self._sweep()
        try:
            self._demand_edits()
            self._compare(look)
            self._write([path for path in self._paths if path not in self._there])
        except _Left as reason:
            there = f"; {_named(sorted(self._there))} has the repair already" if self._there else ""
            return Applied(paths=tuple(sorted(self._there)), why=f"{reason}{there}")
        finally:
            self._remove_waiting()
        return Applied(paths=tuple(self._paths))

    def _sweep(self) -> None:
        """Remove what an earlier run of the same repair left. What cannot be removed is no part of the tree."""
        for folder in {posixpath.dirname(path) for path in self._paths}:
            with suppress(OSError), open_folder(self._root, folder) as descriptor, os.scandir(descriptor) as entries:
                for name in [entry.name for entry in entries if entry.name.startswith(self._mark)]:
                    with suppress(OSError):
                        os.unlink(name, dir_fd=descriptor)

    def _demand_edits(self) -> None:
        for path in self._paths:
            before, after = self._repair.head.by_path.get(path), self._repair.fixed.by_path.get(path)
            if not (before and after and _alike(before) == _alike(after) == ("file", before.executable)):
                raise _Left(f"the repair does more to {shown(path)} than edit it")
        if not self._paths:
            raise _Left("the repair changes nothing")

    def _compare(self, look: Callable[[int], Tree]) -> None:
        """Find out which files have the repair; raise `_Left` where anything else is not as it was frozen."""
        try:
            with _answering(""):
                tree = look(self._root)
        except WorkspaceRefused as error:
            raise _Left(f"the workspace has changed since: {error.reason}") from error
        now, fixed = Manifest.of(tree.entries), self._repair.fixed.by_path
        differing = changes(self._repair.head, now)
        self._there = {
            change.path
            for change in differing
            if change.path in self._paths and _same(now.by_path.get(change.path), fixed[change.path])
        }
        reasons = {dropped.path: dropped.reason for dropped in tree.dropped}
        foreign = [
            f"{shown(change.path)} ({reasons.get(change.path, change.kind)})"
            for change in differing
            if change.path not in self._there
        ]
        if foreign:
            raise _Left(f"the workspace has changed since: {_named(foreign)}")

    def _write(self, paths: list[str]) -> None:
        for done, path in enumerate(paths, 1):
            self._prepare(path)
            if done % _REPORT_EVERY == 0:
                self._progress(f"writing the repair: {done} of {len(paths)} files")
        for path in paths:
            self._replace(path)
        for folder in sorted({posixpath.dirname(path) for path in paths}):
            with _answering(folder), open_folder(self._root, folder) as descriptor:
                os.fsync(descriptor)

    def _prepare(self, path: str) -> None:
        """Put the new content beside the file, like it in all but the content."""
        content = self._read(self._repair.fixed.by_path[path].digest)
        with _answering(path), open_folder(self._root, posixpath.dirname(path)) as folder:
            status = self._demand_unchanged(folder, path)
            if not (status.st_mode & _WRITABLE and os.fstat(folder).st_mode & _WRITABLE):
                raise _Left(f"{shown(path)} or the folder that it is in is read-only")
            temporary = f"{self._mark}{uuid.uuid4().hex}"
            file = os.open(temporary, _NEW_FILE, 0o600, dir_fd=folder)
            self._waiting[path] = _Waiting(temporary, os.fstat(file).st_ino)
            try:
                _write_all(file, content)
                _make_like(file, status)
                os.fsync(file)
            finally:
                os.close(file)

    def _replace(self, path: str) -> None:
        """Let the new content take the file's place, if that is still the file that was frozen."""
        waiting = self._waiting[path]
        with _answering(path), open_folder(self._root, posixpath.dirname(path)) as folder:
            if os.stat(waiting.name, dir_fd=folder, follow_symlinks=False).st_ino != waiting.inode:
                raise _Left(f"somebody has changed what was written beside {shown(path)}")
            self._demand_unchanged(folder, path)
            os.rename(waiting.name, posixpath.basename(path), src_dir_fd=folder, dst_dir_fd=folder)
        del self._waiting[path]
        self._there.add(path)

    def _demand_unchanged(self, folder: int, path: str) -> os.stat_result:
        """What the file is, whose content was frozen. Raises `_Left`."""
        frozen = self._repair.head.by_path[path]
        try:
            file, status = open_regular(folder, posixpath.basename(path))
            try:
                same = status.st_size == frozen.size and _digest(file, frozen.size) == frozen.digest
            finally:
                os.close(file)
        except NotRead as problem:
            raise _Left(f"{shown(path)} has changed since: {problem}") from problem
        if not same:
            raise _Left(f"{shown(path)} has changed since")
        return status

    def _remove_waiting(self) -> None:
        """What did not take its place. Where its folder was swapped it stays, and is no part of any tree."""
        for path, waiting in self._waiting.items():
            with suppress(OSError), open_folder(self._root, posixpath.dirname(path)) as folder:
                os.unlink(waiting.name, dir_fd=folder)


def _alike(entry: Entry) -> tuple[str, bool]:
    return entry.kind, entry.executable


def _same(one: Entry | None, other: Entry) -> bool:
    return one is not None and one.identity == other.identity


def _named(things: list[str]) -> str:
    more = f" and {len(things) - NAMED} more" if len(things) > NAMED else ""
    return ", ".join(things[:NAMED]) + more


def _digest(file: int, size: int) -> str:
    """Of at most a little more than `size` bytes: a file that grows while it is read is another one anyway."""
    hasher, left = hashlib.sha256(), size
    for piece in read_pieces(file, size):
        hasher.update(piece)
        left -= len(piece)
        if left < 0:
            break
    return hasher.hexdigest()


def _write_all(file: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(file, left) :]


def _make_like(file: int, status: os.stat_result) -> None:
    """The owner first: changing it may take permissions away. Raises `OSError` where it is not ours to give."""
    mine = os.fstat(file)
    if (mine.st_uid, mine.st_gid) != (status.st_uid, status.st_gid):
        os.fchown(file, status.st_uid, status.st_gid)
    os.fchmod(file, status.st_mode & _PERMISSIONS)


@contextmanager
def _answering(path: str) -> Iterator[None]:
    """What the disk says in the block, as a reason to leave the workspace, or `Unavailable` where another try helps."""
    try:
        yield
    except OSError as error:
        place = shown(path) or "the workspace's own folder"
        if error.errno in _NOT_ALLOWED:
            raise _Left(f"{place} cannot be written: {error.strerror}") from error
        if error.errno in _SWAPPED:
            raise _Left(f"{place} has changed since: {why(error)}") from error
        raise _unwritable(place, error) from error


def _unwritable(place: str, error: OSError) -> Unavailable:
    if error.errno in _NO_ROOM:
        return Unavailable(
            Cause.DISK_FULL,
            f"There is no room left beside {place} for its repair",
            "Free some space on the disk that the workspace is on.",
        )
    return Unavailable(
        Cause.WORKSPACE_UNREADABLE,
        f"{place} cannot be opened or written: {error.strerror}",
        "See that the disk that the workspace is on is whole and mounted.",
    )
