"""Where a writer keeps what is not whole yet: a folder of its own, locked while the writer lives.

A process that is killed lets go of its lock, so what it left is known at once and needs no age to be removed. Where
the file system has no locks, what is older than any writer's work is.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_STALE_AFTER = 24 * 3600  # seconds; no writer takes this long


@contextmanager
def staged(root: Path) -> Iterator[Path]:
    """A new folder in `root` for the length of the block; removed with what is left in it. Raises `OSError`."""
    folder, descriptor = _locked_folder(root)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)  # what stays is swept when a store is next opened
        os.close(descriptor)


def sweep(root: Path) -> None:
    """Remove what writers left that died. Raises `OSError`."""
    oldest = time.time() - _STALE_AFTER
    for left in root.iterdir():
        with suppress(FileNotFoundError):  # another process sweeps too, or its writer is done
            descriptor = os.open(left, os.O_RDONLY | os.O_CLOEXEC)
            try:
                if _lock(descriptor, otherwise=left.stat().st_mtime < oldest):
                    shutil.rmtree(left)
            finally:
                os.close(descriptor)


def _locked_folder(root: Path) -> tuple[Path, int]:
    """A sweep that comes between making and locking removes the folder: then there has to be another."""
    while True:
        folder = root / uuid.uuid4().hex
        folder.mkdir(mode=0o700)
        with suppress(FileNotFoundError):
            descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
            if _lock(descriptor, otherwise=True) and folder.exists():
                return folder, descriptor
            os.close(descriptor)


def _lock(descriptor: int, *, otherwise: bool) -> bool:
    """Whether the lock is ours now; `otherwise` where the file system has none."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return otherwise
    return True
