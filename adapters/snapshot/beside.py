"""Reads the files beside an order: its own tests, patches, references. Refuses links, and so every way out.

Whether the worker could write them is for `adapters/config` to refuse, which knows the workspace.
"""

from __future__ import annotations

import os
import posixpath
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from adapters.snapshot.directory import read_directory
from adapters.snapshot.found import SnapshotLimits
from adapters.snapshot.patterns import IgnoreRules, Named, Selection
from domain.errors import WorkspaceRefused
from domain.tree import Entry

if TYPE_CHECKING:
    from domain.ports import Bulk

MAX_FILES = 500
MAX_BYTES = 5 * 2**20
"""Of all the files beside one order together."""

_LIMITS = SnapshotLimits(max_files=MAX_FILES, max_file_bytes=MAX_BYTES, max_total_bytes=MAX_BYTES)


class NotUsable(Exception):
    """What is wrong with one of the paths, and what was expected."""

    def __init__(self, what: str, expected: str) -> None:
        super().__init__(f"{what}, {expected}")
        self.what = what
        self.expected = expected


class Beside:
    """The files beside one order, in `folder`; their content goes into `bulk`. They are counted together."""

    def __init__(self, folder: Path, bulk: Bulk) -> None:
        self._folder = folder
        self._bulk = bulk
        self._files: dict[str, Entry] = {}

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What was read, each file once."""
        return tuple(self._files.values())

    def read(self, path: str, *, may_be_folder: bool) -> None:
        """Take the file at `path`, relative to the folder, or all of a folder. Raises `NotUsable`."""
        place = posixpath.normpath(path)
        self._look(place, may_be_folder)
        selection = Selection(Named(place), IgnoreRules({}))
        try:
            tree = read_directory(self._folder, selection, _LIMITS, self._bulk, lambda _: None)
        except WorkspaceRefused as error:
            raise self._too_much(error.reason) from error
        except OSError as error:
            raise NotUsable(f"cannot be read: {error.strerror}", "expected a file that this user may read") from error
        wrong = [d for d in tree.dropped if not d.usual and Named(place).holds(d.path)]
        if wrong:
            raise NotUsable(f"{wrong[0].path} cannot be used: {wrong[0].reason}", "expected regular files")
        link = next((entry.path for entry in tree.entries if entry.kind == "link"), None)
        if link is not None:
            raise NotUsable(f"{link} is a link", "expected regular files")
        if not tree.entries:
            raise NotUsable("has no file that could be used", "expected at least one")
        self._files |= {entry.path: entry for entry in tree.entries}
        size = sum(entry.size for entry in self._files.values())
        if len(self._files) > MAX_FILES or size > MAX_BYTES:
            raise self._too_much(f"with it there are {len(self._files)} files of {size} bytes beside the order")

    def _look(self, place: str, may_be_folder: bool) -> None:
        """Each part of the way, so that no link is followed."""
        if place == ".":
            raise NotUsable("is the order's own folder", "expected a file or a folder in it")
        way = self._folder
        status = None
        for part in place.split("/"):
            way = way / part
            try:
                status = os.lstat(way)
            except (OSError, ValueError) as error:
                told = getattr(error, "strerror", None) or "no such name"
                raise NotUsable(f"cannot be found beside the order: {told}", f"expected it at {way}") from error
            if stat.S_ISLNK(status.st_mode):
                raise NotUsable(f"{way.relative_to(self._folder)} is a link", "expected what it leads to, in its place")
        assert status is not None, "a path has a part"
        if not stat.S_ISREG(status.st_mode) and not (may_be_folder and stat.S_ISDIR(status.st_mode)):
            wanted = "a regular file or a folder" if may_be_folder else "a regular file"
            raise NotUsable("is no regular file", f"expected {wanted}")

    def _too_much(self, what: str) -> NotUsable:
        return NotUsable(what, f"expected at most {MAX_FILES} files and {MAX_BYTES} bytes together")
