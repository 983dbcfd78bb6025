"""Processes that are known by id and start, so that none is taken for a later one with the same id."""

from __future__ import annotations

import psutil

CLOCK_SECONDS = 2.0
"""What one process's start differs by when it is asked again: it is told by a clock that is set now and then."""


def living(pid: int, created: float) -> psutil.Process | None:
    """The process of that id that was started then (seconds since the epoch), if it is still alive."""
    try:
        process = psutil.Process(pid)
        same = abs(process.create_time() - created) < CLOCK_SECONDS
        alive = same and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return None
    return process if alive else None
