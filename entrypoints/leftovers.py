"""Ends what a host that was killed left running, and removes what its server had only half made."""

from __future__ import annotations

import time
from contextlib import suppress

import psutil

from entrypoints.host_files import Files, HostState

GONE_SECONDS = 60.0
"""How long one that was killed may take to be gone, on a machine with much to do."""

POLL_SECONDS = 0.02


def end_leftovers(state: HostState) -> bool:
    """Kill what a host that was killed left running: it holds the database and the ports. Whether there was any."""
    parts = [part for part in (state.worker, state.server) if part]
    found = [process for part in parts if (process := part.find())]
    for process in found:
        with suppress(psutil.NoSuchProcess):  # it has just ended
            process.kill()
    deadline = time.monotonic() + GONE_SECONDS
    while any(part.find() for part in parts) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
    return bool(found)


def discard_unproven(files: Files) -> None:
    """Remove the server's database if no server has ever come to listen with it, and mark a new one as such.

    A server that dies while it makes its tables leaves a file with which no server starts again (measured: killed
    in its first half second). Before it listens nobody can have stored anything in it.
    """
    if files.unproven.exists():
        for suffix in ("", "-wal", "-shm"):
            files.database.with_name(files.database.name + suffix).unlink(missing_ok=True)
    elif not files.database.exists():
        files.unproven.touch()
