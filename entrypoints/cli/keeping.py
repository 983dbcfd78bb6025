"""Sees to it that who only reads is told of what goes on: a host that was killed is started again.

A host that ended by itself had nothing to do, and is left alone; so is one that could not start, which said why.
"""

from __future__ import annotations

from domain.errors import Malformed, Unavailable
from entrypoints.cli import common
from entrypoints.host_files import Files
from entrypoints.imports import without_collecting


def keep_up() -> None:
    """Start it, and wait for nothing: what is read is in the lists already. That it cannot be started is said."""
    settings = common.settings()
    last = None if settings.remote else Files(settings.state_dir).read()
    if last is None or last.error or last.host.find() is not None:
        return
    try:
        without_collecting("entrypoints.spawning").begin(settings)
    except (Malformed, Unavailable) as error:
        common.err(common.visible(f"this project's host was killed, and cannot be started again: {error}"))
        return
    common.err("this project's host was killed, so what was open stood still: it is started again")
