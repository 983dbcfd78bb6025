"""Every place on the way to a file, since a link there decides where it ends; it opens nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

MOST_LINKS = 40
"""As many as the kernel follows."""


class Way(NamedTuple):
    """The way to a file: where it ends, and each entry and each link on it, by paths that have no link above them."""

    end: Path
    passed: tuple[Path, ...]
    links: tuple[Path, ...]


def way_to(path: Path) -> Way:
    """The way to `path`, whether something is there or not. Raises `OSError` for links in a circle."""
    rest = list(reversed(path.expanduser().absolute().parts))
    here = Path(rest.pop())
    passed: list[Path] = []
    links: list[Path] = []
    while rest:
        part = rest.pop()
        if part == "..":
            here = here.parent
            continue
        here = here / part
        passed.append(here)
        try:
            target = here.readlink()
        except OSError:  # no link, or nothing at all
            continue
        links.append(here)
        if len(links) > MOST_LINKS:
            raise OSError(f"too many links on the way to {path}")
        here = Path(target.anchor) if target.is_absolute() else here.parent
        rest += reversed(target.parts[1:] if target.is_absolute() else target.parts)
    return Way(here, tuple(passed), tuple(links))


def is_within(path: Path, folder: Path) -> bool:
    """Whether who can write `folder`, which has no link on its way, decides what is at `path`, or where that leads."""
    try:
        way = way_to(path)
    except OSError:
        return True
    return any(place.is_relative_to(folder) for place in (way.end, *way.passed))


def folders_above(paths: Iterable[Path]) -> Iterator[Path]:
    """Each folder above a path, or above a link on the way to it, each once, the outermost of each way first.

    A path that is a folder is one of them. Raises `OSError` for links in a circle.
    """
    seen: set[Path] = set()
    for path in paths:
        way = way_to(path)
        for place in (*way.links, way.end):
            for folder in (*reversed(place.parents), *([place] if place == way.end and place.is_dir() else ())):
                if folder not in seen:
                    seen.add(folder)
                    yield folder
