"""By which names a path is known: a link that tests or configuration stand at makes what it leads to theirs. Pure.

Only the base's links count, and only those that are protected for their own name or that are a test folder whole: what
a test folder merely links to (`tests/app -> ../src`) is the work's.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable

from domain.tree import MAX_LINK_HOPS, Manifest

BELOW = "_"
"""Stands for anything in a folder: a pattern such as `tests/**` matches `tests/_` and not `tests`."""


class Names:
    """The names of paths, by the links of a base; `protect` tells which are worth following."""

    def __init__(self, base: Manifest, head: Manifest, protect: Callable[[str], bool]) -> None:
        self._trees = (base, head)
        self._led_to = [
            (place, entry.path)
            for entry in base.entries
            if entry.kind == "link" and _counts(entry.path, protect)
            for place in _hops(base, entry.path)
        ]

    def of(self, path: str) -> tuple[str, ...]:
        """`path`, what stands for everything below it where it is a link, and what it is by the base's links."""
        entries = [tree.by_path.get(path) for tree in self._trees]
        is_link = any(entry is not None and entry.kind == "link" for entry in entries)
        names = [path, *([posixpath.join(path, BELOW)] if is_link else [])]
        for place, link in self._led_to:
            if path == place or path.startswith(f"{place}/"):
                names.append(link + path[len(place) :])
                if is_link:
                    names.append(posixpath.join(link + path[len(place) :], BELOW))
        return tuple(names)


def _counts(link: str, protect: Callable[[str], bool]) -> bool:
    folder, name = posixpath.split(link)
    if protect(name):
        return True
    return protect(posixpath.join(link, BELOW)) and not protect(posixpath.join(folder, BELOW))


def _hops(tree: Manifest, link: str) -> tuple[str, ...]:
    """The places that `link` leads to, one after the other, as they are spelled."""
    found: list[str] = []
    entry = tree.by_path.get(link)
    while entry is not None and entry.kind == "link" and len(found) < MAX_LINK_HOPS:
        place = posixpath.normpath(posixpath.join(posixpath.dirname(entry.path), entry.target))
        if place == "." or place.startswith("../"):
            break
        found.append(place)
        entry = tree.by_path.get(place)
    return tuple(found)
