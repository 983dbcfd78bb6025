"""Tells which commit a repository's HEAD leads to, from its files alone; no git process is run, no link is followed.

A worker may have written all of them: every file is opened part by part below git's own folder, must be a regular one
(a pipe would be waited on for ever) and is read to a bound. Reference tables (reftable) are not read.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

_POINTER_BYTES = 8192
_PACKED_BYTES = 16 * 2**20
_SYMBOLIC = 5  # hops; git's own limit
_ID = re.compile(r"[0-9a-f]{40}")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class Unresolved(Exception):
    """HEAD leads to no commit, and why; no `Unavailable`, since the worker can bring it about."""


def head_of(repository: Path) -> str:
    """The full id that the HEAD of the work tree `repository` (the folder with the `.git`) leads to.

    Raises `Unresolved`.
    """
    own, common = _folders(repository)
    name, text = "HEAD", _text(own, "HEAD", _POINTER_BYTES)
    for _ in range(_SYMBOLIC):
        if text is None:
            packed = _packed(common, name)
            if packed is None:
                raise Unresolved(f"HEAD leads to {name!r:.200}, which has no commit")
            return packed
        if _ID.fullmatch(text):
            return text
        name = text.removeprefix("ref:").strip()
        if not text.startswith("ref:") or not _is_name(name):
            raise Unresolved(f"it has a reference that is neither an id nor a name: {text!r:.200}")
        text = _text(common, name, _POINTER_BYTES)
    raise Unresolved(f"its references lead on more than {_SYMBOLIC} times")


def _folders(repository: Path) -> tuple[Path, Path]:
    """Git's folder of this work tree, and the one that all work trees of the repository share."""
    own = repository / ".git"
    if not own.is_dir():
        pointer = _text(repository, ".git", _POINTER_BYTES) or ""
        if not pointer.startswith("gitdir: "):
            raise Unresolved("its .git is neither a folder nor says where that is")
        own = repository / pointer.removeprefix("gitdir: ")
    shared = _text(own, "commondir", _POINTER_BYTES)
    return own, own / shared if shared else own


def _is_name(name: str) -> bool:
    parts = name.split("/")
    return len(parts) > 1 and parts[0] == "refs" and "\0" not in name and not {"", ".", ".."} & set(parts)


def _packed(folder: Path, name: str) -> str | None:
    for line in (_text(folder, "packed-refs", _PACKED_BYTES) or "").splitlines():
        found, _, called = line.partition(" ")
        if called == name and _ID.fullmatch(found):
            return found
    return None


def _text(folder: Path, path: str, most: int) -> str | None:
    """The start of a file below `folder`, stripped; None when it is not there."""
    *above, last = path.split("/")
    try:
        descriptor = os.open(folder, _FOLDER)
        try:
            for part in above:
                following = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = following
            file = os.open(last, _FILE, dir_fd=descriptor)
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:  # ValueError: a NUL in a folder's name
        raise Unresolved(f"its {path!r:.200} cannot be read: {error!s:.200}") from error
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise Unresolved(f"its {path!r:.200} is no regular file")
    with os.fdopen(file, "rb") as opened:
        return os.fsdecode(opened.read(most)).strip()
