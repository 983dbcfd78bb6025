"""The private folder of a drive: brief in, claim out. It is in the system's temporary folder, for its owner alone."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from adapters.workers.handed_in import CLAIM_FILE
from domain.brief import Brief

BRIEF_FILE = "brief.json"


@contextmanager
def private_folder() -> Iterator[tuple[Path, int]]:
    """Its path, and a descriptor that stays the same folder's whatever a command does to the path. Gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="countersign-worker-")).resolve()
    try:
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            yield folder, opened
        finally:
            os.close(opened)
    finally:
        remove(folder)


def write_brief(folder: Path, brief: Brief, resumed: bool) -> None:
    """What the command is told, with where it writes."""
    told = brief.model_copy(update={"claim_path": str(folder / CLAIM_FILE), "resumed": resumed})
    (folder / BRIEF_FILE).write_text(told.model_dump_json(indent=2))


def remove(folder: Path) -> None:
    """The folder with all that a command has left in it, folders that it has locked included; or what it put there.

    What cannot be removed stays in the temporary folder, which the system clears.
    """
    if folder.is_symlink() or not folder.is_dir():
        folder.unlink(missing_ok=True)
        return
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        _unlock(folder)
        shutil.rmtree(folder, ignore_errors=True)


def _unlock(folder: Path) -> None:
    with suppress(OSError):  # it is somebody else's
        folder.chmod(stat.S_IRWXU)
        for base, names, _ in os.walk(folder):
            for found in (Path(base, name) for name in names):
                if not found.is_symlink():
                    found.chmod(stat.S_IRWXU)
