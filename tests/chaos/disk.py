"""A small disk of a test's own, in memory, that can be filled up to its last byte and freed again."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

MIB = 1024 * 1024
FILLER = "filler"


class Disk:
    """A mounted file system at `path`; `filler` is the file that takes what is free."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def free(self) -> int:
        """Bytes that an ordinary write still finds."""
        stat = os.statvfs(self.path)
        return stat.f_bavail * stat.f_frsize

    def fill(self) -> None:
        """Take everything that is left, and go on until nothing is."""
        with (self.path / FILLER).open("ab", buffering=0) as file:
            for size in (MIB, 4096):
                try:
                    while True:
                        file.write(b"\0" * size)
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise

    def clear(self) -> None:
        """Give it back."""
        (self.path / FILLER).unlink()


@contextmanager
def mounted(path: Path, mebibytes: int) -> Iterator[Disk]:
    """A new tmpfs at `path`. Skips without root, who alone may mount; fails where root may not either."""
    if os.geteuid() != 0:
        pytest.skip("a disk that fills up is mounted for the test, which only root may do: run it as root")
    path.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m,mode=0755", "countersign-chaos", str(path)]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    assert made.returncode == 0, f"nothing can be mounted here, give this container CAP_SYS_ADMIN: {made.stderr}"
    try:
        yield Disk(path)
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)
