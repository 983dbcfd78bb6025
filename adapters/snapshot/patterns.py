"""Which paths are looked at and which do not travel; asked one entry at a time from the root down, it reads nothing."""

from __future__ import annotations

import io
import posixpath
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from dulwich.ignore import Pattern, read_ignore_patterns
from dulwich.wildmatch import MalformedPattern
from pathspec import GitIgnoreSpec

from adapters.snapshot.names import misleading
from domain.tree import BUILT_IN, IGNORED, Manifest

SUBMODULE = "a submodule of the base"
UNFINISHED = ".countersign-repair-"
"""How the files are called that hold a repair until it takes its place (`adapters.snapshot.applying`)."""

_FOLDERS = frozenset({".git", ".hg", ".svn", ".jj"})
_CACHES = frozenset(
    {
        *(".venv", "venv", "node_modules", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache"),
        *(".hypothesis", ".tox", ".nox", ".import_linter_cache", ".ipynb_checkpoints"),
        ".countersign",  # orders that `init` wrote
    }
)
_LOOKED_THROUGH = frozenset({"node_modules", "__pycache__"})
_COMPILED = (".pyc", ".pyo")


class Include:
    """`snapshot.include`: which part of a tree is looked at at all."""

    def __init__(self, patterns: Iterable[str]) -> None:
        lines = list(patterns)
        self._spec = GitIgnoreSpec.from_lines(lines)
        self._starts = [_literal_start(line) for line in lines if line and not line.startswith(("!", "#"))]

    def holds(self, path: str) -> bool:
        """Whether the file or link at `path` is looked at."""
        return self._spec.match_file(path)

    def may_hold_below(self, folder: str) -> bool:
        """Whether something in `folder` could be looked at: false saves reading a monorepo's other parts."""
        parts = folder.split("/")
        return any(all(a == b for a, b in zip(parts, start, strict=False)) for start in self._starts)


class Named(Include):
    """Some paths and all below them, whatever characters they have."""

    def __init__(self, *paths: str) -> None:
        super().__init__(())
        self._paths = paths

    def holds(self, path: str) -> bool:
        """Whether `path` is one of them, or below one."""
        return any(path == one or path.startswith(f"{one}/") for one in self._paths)

    def may_hold_below(self, folder: str) -> bool:
        """Whether one of them is `folder`, around it or in it."""
        return self.holds(folder) or any(one.startswith(f"{folder}/") for one in self._paths)


def _literal_start(pattern: str) -> list[str]:
    """The folders that every match of `pattern` is in; none for one that matches at any depth."""
    if "/" not in pattern.rstrip("/"):
        return []
    start = []
    for part in pattern.strip("/").split("/"):
        if any(character in part for character in "*?[\\"):
            break
        start.append(part)
    return start


class IgnoreRules:
    """The `.gitignore` files of a base, by folder.

    The decision is git's own: of the deepest file that says something, the last pattern that matches the entry itself.
    `GitIgnoreSpec` answers for whole paths, which differs where a folder is re-included (`*` then `!*/`).
    """

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._patterns = {folder: _parse(content) for folder, content in files.items()}

    def ignores(self, path: str, is_folder: bool) -> bool:
        """Whether the entry at `path` is ignored, given that the folders above it are not."""
        folder = posixpath.dirname(path)
        while True:
            name = path[len(folder) + 1 :] if folder else path
            for pattern in self._patterns.get(folder, ()):
                if pattern.matches(name.encode(), is_folder):
                    return pattern.is_exclude
            if not folder:
                return False
            folder = posixpath.dirname(folder)


def _parse(content: bytes) -> list[Pattern]:
    """The patterns of one file, the last first."""
    patterns = []
    for line in read_ignore_patterns(io.BytesIO(content)):
        try:
            patterns.append(Pattern(line))
        except MalformedPattern:  # git, too, reads over it
            continue
    return patterns[::-1]


class Judgement(NamedTuple):
    """Whether to `look`. If not, a `reason` makes the path a dropped one; if so, it holds for what is new below."""

    look: bool
    reason: str = ""


class Selection:
    """Which entries of a tree are taken. With a base, what the base has always is, and its `.gitignore` files hold.

    Without one it reads a base itself: all but the built-in list.
    """

    def __init__(
        self, include: Include, ignored: IgnoreRules, base: Manifest | None = None, submodules: Iterable[str] = ()
    ) -> None:
        self._include = include
        self._ignored = ignored
        self._base = base
        self._submodules = frozenset(submodules)

    @property
    def is_base(self) -> bool:
        """Whether this reads a base."""
        return self._base is None

    def knows(self, path: str) -> bool:
        """Whether the base has a file, a link or a folder at `path`."""
        return self._base is not None and (path in self._base.by_path or path in self._base.directories)

    def judge(self, path: str, is_folder: bool, inherited: str) -> Judgement:
        """What to do with the entry at `path`; `inherited` is the reason that a folder above it does not travel."""
        if not (self._include.may_hold_below(path) if is_folder else self._include.holds(path)):
            return Judgement(False)
        if path in self._submodules:
            return Judgement(False, SUBMODULE)
        name = posixpath.basename(path)
        reason = inherited or built_in(name, is_folder)
        if not reason and not self.is_base and self._ignored.ignores(path, is_folder):
            reason = IGNORED
        if self.knows(path):
            return Judgement(True, reason)
        if not reason and not self.is_base:
            reason = misleading(name)
        return Judgement(not reason, reason)


def built_in(name: str, is_folder: bool) -> str:
    """The reason that an entry of this name never travels, or nothing. Source: DESIGN 8 "Trusted tree".

    Some names say it of links, too: `node_modules -> lib` would be one.
    """
    folded = name.lower()  # ".GIT" is .git to some file systems
    cache = name in _CACHES or name.endswith(".egg-info") if is_folder else name in _LOOKED_THROUGH
    if folded in _FOLDERS or cache:
        return f"{BUILT_IN}: {folded if folded in _FOLDERS else name}"
    if not is_folder and name.startswith(UNFINISHED):
        return f"{BUILT_IN}: an unfinished repair"
    return f"{BUILT_IN}: compiled" if not is_folder and name.endswith(_COMPILED) else ""
