"""Makes the state directory of a project, and sees that there is room in it."""

from __future__ import annotations

import shutil
from pathlib import Path

from domain.errors import Cause, Refused, Unavailable

MARKER = "NOT-FOR-WORKERS"
"""The one file that a worker command sees in a folder that is hidden from it (`adapters/workers`)."""

FREE_BYTES = 64 * 1024 * 1024


def prepare_state_dir(path: Path) -> None:
    """Make the state directory, for its owner alone. Raises `Unavailable` when it cannot be, or its disk is full.

    Raises `Refused` within a worker command, from which it is hidden.
    """
    if (path / MARKER).exists():
        reason = f"a worker command runs here, and {path} is hidden from it"
        raise Refused("forbidden", reason, "write the claim where the brief says: COUNTERSIGN_BRIEF names it")
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise Unavailable(
            Cause.STORE_UNAVAILABLE, f"{path} cannot be made: {error.strerror}", "set COUNTERSIGN_STATE_DIR elsewhere"
        ) from error
    free = shutil.disk_usage(path).free
    if free < FREE_BYTES:
        raise Unavailable(
            Cause.DISK_FULL,
            f"only {free // 2**20} MiB are free at {path}, {FREE_BYTES // 2**20} are needed",
            "free some space there, or set COUNTERSIGN_STATE_DIR to another disk, and run it again: nothing is lost",
        )
