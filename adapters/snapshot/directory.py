"""Reads a directory that somebody may still be changing; follows no link and opens nothing but regular files.

Two passes: the first counts names and sizes, so that a tree that is too large is refused before a byte is copied; the
second copies what the first one listed. Every folder is opened part by part without following links, relative to the
root's descriptor: a folder swapped for a link between the passes is an error, not a way out.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from adapters.snapshot.found import SnapshotLimits, Tree
from adapters.snapshot.names import join, link_problem, shown, unusable
from adapters.snapshot.opening import FOLDER, PIECE, NotRead, open_folder, open_regular, read_pieces, why
from adapters.snapshot.patterns import Selection
from domain.errors import WorkspaceRefused
from domain.tree import BUILT_IN, Entry

if TYPE_CHECKING:
    from domain.ports import Bulk, Progress

_IGNORE_FILE_BYTES = 2**20
_REPORT_EVERY = 200  # files
_KINDS = {stat.S_IFSOCK: "a socket", stat.S_IFIFO: "a named pipe", stat.S_IFBLK: "a device", stat.S_IFCHR: "a device"}


class _Candidate(NamedTuple):
    folder: str
    name: str
    is_link: bool


def read_directory(root: Path, selection: Selection, limits: SnapshotLimits, bulk: Bulk, progress: Progress) -> Tree:
    """What of the directory `root` is taken, its files' content added to `bulk`.

    Raises `WorkspaceRefused` beyond the limits and `OSError` when `root` itself cannot be opened as a directory.
    """
    descriptor = os.open(root, FOLDER)
    try:
        return read_opened(descriptor, selection, limits, bulk, progress)
    finally:
        os.close(descriptor)


def read_opened(root: int, selection: Selection, limits: SnapshotLimits, bulk: Bulk, progress: Progress) -> Tree:
    """The same of a directory that somebody has opened; `OSError` where it cannot be listed."""
    survey = _Survey(root, selection, limits)
    survey.run(progress)
    return _Copy(root, survey.tree, limits, bulk).run(survey.candidates, progress)


class _Survey:
    """The first pass: which entries there are, by name, kind and size."""

    def __init__(self, root: int, selection: Selection, limits: SnapshotLimits) -> None:
        self.tree = Tree()
        self.candidates: list[_Candidate] = []
        self._root = root
        self._selection = selection
        self._limits = limits
        self._waiting: list[tuple[str, str]] = [("", "")]
        self._folders = 0
        self._bytes = 0

    def run(self, progress: Progress) -> None:
        """List everything below the root."""
        while self._waiting:
            folder, inherited = self._waiting.pop()
            try:
                with open_folder(self._root, folder) as descriptor:
                    self._list(descriptor, folder, inherited)
            except OSError as error:
                if not folder:
                    raise
                self._drop(folder, why(error))
            self._folders += 1
            if self._folders % _REPORT_EVERY == 0:
                progress(f"listing files: {len(self.candidates)} so far")

    def _list(self, descriptor: int, folder: str, inherited: str) -> None:
        if folder and not inherited and self._is_environment(descriptor, folder):
            inherited = f"{BUILT_IN}: virtual environment"
            if not self._selection.knows(folder):
                self._drop(folder, inherited)
                return
        with os.scandir(descriptor) as entries:
            for entry in entries:
                path = join(folder, entry.name)
                problem = unusable(path)
                if problem:
                    self._drop(path, problem)
                    continue
                try:
                    self._see(folder, entry.name, entry.stat(follow_symlinks=False), inherited)
                except OSError as error:
                    self._drop(path, why(error))

    def _is_environment(self, descriptor: int, folder: str) -> bool:
        if self._selection.knows(join(folder, "pyvenv.cfg")):
            return False
        try:
            return stat.S_ISREG(os.stat("pyvenv.cfg", dir_fd=descriptor, follow_symlinks=False).st_mode)
        except OSError:
            return False

    def _see(self, folder: str, name: str, status: os.stat_result, inherited: str) -> None:
        path = join(folder, name)
        is_folder = stat.S_ISDIR(status.st_mode)
        is_file = stat.S_ISREG(status.st_mode)
        judgement = self._selection.judge(path, is_folder, inherited)
        if self._selection.is_base and name == ".gitignore" and is_file and status.st_size <= _IGNORE_FILE_BYTES:
            self.tree.ignore_files[folder] = b""  # read by the second pass
        if not judgement.look:
            if judgement.reason:
                self._drop(path, judgement.reason)
        elif is_folder:
            self._waiting.append((path, judgement.reason))
            self._check(len(self._waiting) + self._folders, "folders", path)
        elif is_file and status.st_size > self._limits.max_file_bytes:
            self._drop(path, _too_large(status.st_size, self._limits))
        elif is_file or stat.S_ISLNK(status.st_mode):
            self.candidates.append(_Candidate(folder, name, is_link=not is_file))
            self._bytes += status.st_size
            self._check(len(self.candidates) + len(self.tree.dropped), "files", path)
            if self._bytes > self._limits.max_total_bytes:
                raise _too_many_bytes(self._bytes, self._limits)
        else:
            self._drop(path, _KINDS.get(stat.S_IFMT(status.st_mode), "neither a file nor a link"))

    def _drop(self, path: str, reason: str) -> None:
        self.tree.drop(shown(path), reason)
        self._check(len(self.candidates) + len(self.tree.dropped), "files", path)

    def _check(self, count: int, kind: str, path: str) -> None:
        if count <= self._limits.max_files:
            return
        found = [c.folder for c in self.candidates] if kind == "files" else [folder for folder, _ in self._waiting]
        most, times = Counter([f.partition("/")[0] for f in found] or [path]).most_common(1)[0]
        raise WorkspaceRefused(
            f"The tree has more than {self._limits.max_files} {kind}; counting stopped at {count}, of which {times} are"
            f" in {shown(most)!r}" + ("" if most else " (its root)"),
            "Let the base's .gitignore or snapshot.include leave out what is not part of the work.",
        )


class _Copy:
    """The second pass: the content of what the first one listed, into the store."""

    def __init__(self, root: int, tree: Tree, limits: SnapshotLimits, bulk: Bulk) -> None:
        self._root = root
        self._tree = tree
        self._limits = limits
        self._bulk = bulk
        self._bytes = 0

    def run(self, candidates: list[_Candidate], progress: Progress) -> Tree:
        """Copy the candidates, folder by folder."""
        for folder in sorted(self._tree.ignore_files):
            self._tree.ignore_files[folder] = self._ignore_file(folder)
        done = 0
        for folder, group in groupby(candidates, key=lambda candidate: candidate.folder):
            members = list(group)
            try:
                with open_folder(self._root, folder) as descriptor:
                    for candidate in members:
                        self._take(descriptor, candidate)
                        done += 1
                        if done % _REPORT_EVERY == 0:
                            progress(f"reading files: {done} of {len(candidates)}")
            except OSError as error:
                for candidate in members:
                    self._tree.drop(join(folder, candidate.name), why(error))
        return self._tree

    def _take(self, descriptor: int, candidate: _Candidate) -> None:
        path = join(candidate.folder, candidate.name)
        try:
            entry = (
                self._link(descriptor, candidate, path)
                if candidate.is_link
                else self._file(descriptor, candidate, path)
            )
        except NotRead as problem:
            self._tree.drop(path, str(problem))
        else:
            self._tree.entries.append(entry)

    def _link(self, descriptor: int, candidate: _Candidate, path: str) -> Entry:
        try:
            target = os.readlink(candidate.name, dir_fd=descriptor)
        except OSError as error:
            raise NotRead(why(error)) from error
        problem = link_problem(path, target)
        if problem:
            raise NotRead(problem)
        return Entry(path=path, kind="link", target=target)

    def _file(self, descriptor: int, candidate: _Candidate, path: str) -> Entry:
        file, status = open_regular(descriptor, candidate.name)
        content = _Content(file, status.st_size, self._limits, self._bytes)
        try:
            digest = self._bulk.add(content)
            return Entry(path=path, executable=bool(status.st_mode & stat.S_IXUSR), size=content.size, digest=digest)
        finally:
            self._bytes += content.size
            os.close(file)

    def _ignore_file(self, folder: str) -> bytes:
        try:
            with open_folder(self._root, folder) as descriptor:
                file, _ = open_regular(descriptor, ".gitignore")
                try:
                    return next(read_pieces(file, PIECE), b"")
                finally:
                    os.close(file)
        except (OSError, NotRead):
            return b""  # a rule that is not there leaves nothing out: more is looked at, never less


class _Content:
    """A file as it is read, each time from its start, whatever its size was said to be: it may grow meanwhile."""

    def __init__(self, file: int, expected: int, limits: SnapshotLimits, before: int) -> None:
        self.size = 0  # of the last reading, to which the digest belongs
        self._file = file
        self._expected = expected
        self._limits = limits
        self._before = before  # bytes of all files before this one

    def __iter__(self) -> Iterator[bytes]:
        self.size = 0
        os.lseek(self._file, 0, os.SEEK_SET)
        for piece in read_pieces(self._file, self._expected):
            self.size += len(piece)
            if self.size > self._limits.max_file_bytes:
                raise NotRead(_too_large(self.size, self._limits))
            if self._before + self.size > self._limits.max_total_bytes:
                raise _too_many_bytes(self._before + self.size, self._limits)
            yield piece


def _too_large(size: int, limits: SnapshotLimits) -> str:
    return f"a file of {size} bytes, more than the {limits.max_file_bytes} that one may have"


def _too_many_bytes(size: int, limits: SnapshotLimits) -> WorkspaceRefused:
    return WorkspaceRefused(
        f"The tree has more than {limits.max_total_bytes} bytes of files; counting stopped at {size}",
        "Let the base's .gitignore or snapshot.include leave out what is not part of the work.",
    )
