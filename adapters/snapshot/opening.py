"""Opens folders and regular files of somebody who may be changing them: no link is followed, no pipe waited for."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

PIECE = 2**20  # bytes read at a time
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_REST = 2**16  # bytes asked for beyond a file's size: it may have grown, and 1 MiB for an end of file costs time
_GONE = "it vanished while it was read"
_TURNED = "it turned into something else while it was read"


class NotRead(Exception):
    """A file that cannot be taken, and why; no `OSError`, so that no store takes it for its own."""


@contextmanager
def open_folder(root: int, path: str) -> Iterator[int]:
    """A descriptor of the folder at `path`, no part of which is a link. Raises `OSError`."""
    descriptor = os.dup(root)
    try:
        for part in path.split("/") if path else ():
            following = os.open(part, FOLDER, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = following
        yield descriptor
    finally:
        os.close(descriptor)


def open_regular(folder: int, name: str) -> tuple[int, os.stat_result]:
    """A descriptor of the regular file of that name, to be read, and what it is. Raises `NotRead`."""
    try:
        file = os.open(name, _FILE, dir_fd=folder)
    except OSError as error:
        raise NotRead(why(error)) from error
    status = os.fstat(file)
    if not stat.S_ISREG(status.st_mode):
        os.close(file)
        raise NotRead(_TURNED)
    return file, status


def read_pieces(file: int, expected: int) -> Iterator[bytes]:
    """All of the file, in pieces; `expected` is how many bytes it probably has. Raises `NotRead`."""
    while True:
        try:
            piece = os.read(file, min(PIECE, max(0, expected) + _REST))
        except OSError as error:
            raise NotRead(why(error)) from error
        if not piece:
            return
        expected -= len(piece)
        yield piece


def why(error: OSError) -> str:
    """What the error says of something that was there a moment ago."""
    if error.errno == errno.ENOENT:
        return _GONE
    if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.ENXIO, errno.EINVAL):
        return _TURNED
    return f"it cannot be read: {error.strerror}"
