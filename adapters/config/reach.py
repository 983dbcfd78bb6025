"""Finds out whether a worker can write a file that says how its work is verified: by where it is, not by what it says.

An agent may have edited the text, so nothing that only the text says takes a file out of reach.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from adapters.snapshot.repository import find_repository
from domain.order import Base, BaseRevision

ORDERS_FOLDER = ".countersign"
"""The folder of a worker's tree that orders are kept in: what is in one is within that tree, whatever it says."""

MAX_LINKS = 40  # as Linux's own limit, path_resolution(7)


class Places:
    """The places that lead to a file: the path as it is given, and each one that a link on the way leads through."""

    def __init__(self, path: Path) -> None:
        self.given = Path(os.path.normpath(Path.cwd() / path))
        self.visited = (self.given, *dict.fromkeys(_walk(path)))
        folder = Path(os.path.realpath((Path.cwd() / path).parent))
        self.name = folder / path.name
        """The file's name in its real folder: links on the way followed, one in the file's own place not."""
        self.names = tuple(dict.fromkeys((self.given, self.name)))
        """The names that a pin of the file can have. Where a link in its place leads is another file, with its own."""


def tree_roots(workspaces: Iterable[Path], bases: Iterable[Base]) -> tuple[Path, ...]:
    """What the workers of these workspaces can write: each of them, and the repository of the base that it is in."""
    trees = list(dict.fromkeys(workspaces))
    repositories = {Path(base.repository) for base in bases if isinstance(base, BaseRevision)}
    around = [root for root in sorted(repositories) if any(_is_below(tree, _identities([root])) for tree in trees)]
    # A linked work tree of the base's repository has a root of its own.
    linked = [root for tree in trees if repositories and (root := find_repository(tree)) is not None]
    return tuple(dict.fromkeys((*trees, *around, *linked)))


def why_in_reach(files: Iterable[Path], roots: Iterable[Path]) -> str:
    """Why the worker of `roots` can write one of `files`, for people; empty where it cannot."""
    known = _identities(roots)
    for file in files:
        for place in Places(file).visited:
            if any(part.casefold() == ORDERS_FOLDER for part in place.parts[:-1]):
                return f"{place} is in a folder {ORDERS_FOLDER}"
            if (root := _is_below(place, known)) is not None:
                return f"{place} is within {root}"
        with suppress(OSError):
            status = file.stat()
            if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
                return f"{file} has {status.st_nlink} names (hard links), and another may be in the worker's tree"
    return ""


Identity = tuple[int, int]


def _identities(roots: Iterable[Path]) -> dict[Identity, Path]:
    """The folders by what they are rather than how they are spelled, where a file system knows several spellings."""
    found: dict[Identity, Path] = {}
    for root in roots:
        with suppress(OSError):
            status = root.stat()
            found.setdefault((status.st_dev, status.st_ino), root)
    return found


def _is_below(place: Path, roots: dict[Identity, Path]) -> Path | None:
    """The root that `place` is, or is below."""
    for folder in (place, *place.parents):
        if folder in roots.values():
            return folder
        with suppress(OSError):
            status = folder.stat()
            if (root := roots.get((status.st_dev, status.st_ino))) is not None:
                return root
    return None


def _walk(path: Path) -> Iterator[Path]:
    """Each place on the way to `path`, as the system goes: link by link, and `..` from where a link has led."""
    here = Path("/") if path.is_absolute() else Path.cwd()
    waiting = list(reversed([part for part in path.parts if part != "/"]))
    links = 0
    while waiting:
        part = waiting.pop()
        if part == "..":
            here = here.parent
            continue
        place = here / part
        yield place
        try:
            target = place.readlink()
        except OSError:  # no link, or nothing at all, which whoever reads the file finds out
            here = place
            continue
        links += 1
        if links > MAX_LINKS:
            return
        here = Path("/") if target.is_absolute() else here
        waiting += reversed([name for name in target.parts if name != "/"])
