"""Follows a path step by step, as the kernel does: which folders decide where it leads."""

from __future__ import annotations

import errno
from pathlib import Path

_LINKS = 40  # Linux's own limit


def entered(path: Path, start: Path, folder: Path) -> Path | None:
    """The first step of `path`, relative to `start`, that is `folder` or in it; None where none is.

    Both folders are real. A step upwards is none: who can write in a folder can put a link there, not move its parent.
    Raises `OSError` where a link cannot be read, or for links in a circle.
    """
    here, waiting, links = start, list(reversed(path.parts)), 0
    while waiting:
        part = waiting.pop()
        if part == "..":
            here = here.parent
            continue
        here = here / part
        if here.is_relative_to(folder):
            return here
        if here.is_symlink():
            links += 1
            if links > _LINKS:
                raise OSError(errno.ELOOP, "links in a circle", str(here))
            waiting += reversed(here.readlink().parts)
            here = here.parent
    return None
