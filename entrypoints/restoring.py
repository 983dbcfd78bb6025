"""Restores a backup on a machine where the project has no state yet, all of it or nothing. Overwrites nothing.

It is unpacked beside its place and checked there, then named. What was done after the backup was made is not in it:
`log verify` cannot know that by itself, a copy of heads.jsonl from elsewhere can (`docs/deploying.md`).
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from adapters.backup.archive import About, unpack
from adapters.config.settings import Settings
from domain.errors import Refused
from entrypoints.backup import EVIDENCE, TRAIL, disk_told, trail_file
from entrypoints.host_files import Files
from entrypoints.names import HOSTS, host_id


def restore(settings: Settings, file: Path) -> About:
    """Put everything that the backup `file` has where the project's state belongs; what it says of itself.

    Raises `Refused` (not_embedded, host_runs, state_exists), `Malformed` for what is no whole backup of a format that
    this version knows, and `Unavailable`. Nobody has checked the trail yet: that is for who opens it.
    """
    trail, state = trail_file(settings), settings.state_dir
    if Files(state).alive() is not None:
        raise Refused("host_runs", f"a host runs on {state}", "countersign down, then move that folder away")
    _refuse_state(state, settings.evidence_dir, trail)
    gone = "see that there is room and that this user may write there; what was unpacked is gone again"
    with disk_told(f"the backup cannot be restored to {state}", gone), _unpacked_beside(state) as folder:
        about = unpack(file, folder)
        others = [name for name in about.hosts if name != host_id()]
        if others:
            (folder / HOSTS).write_text("".join(f"{name}\n" for name in others))
        os.sync()
        _place(folder / EVIDENCE, settings.evidence_dir, within=state)
        _place(folder / TRAIL, trail, within=state)
        folder.rename(state)
    return about


def _refuse_state(*places: Path) -> None:
    for place in places:
        if place.is_file() or (place.is_dir() and any(place.iterdir())):
            next_step = f"if nobody needs it, move it away: mv {place} {place}.before"
            raise Refused("state_exists", f"{place} is there already, and a backup replaces nothing", next_step)


@contextmanager
def _unpacked_beside(state: Path) -> Iterator[Path]:
    """A folder for its owner alone, on the disk on which it is to stay; gone if it is still there afterwards."""
    state.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f".{state.name}.restoring-", dir=state.parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _place(source: Path, target: Path, within: Path) -> None:
    """Move `source` to where it belongs: what is in the state directory, which is named last, comes with it."""
    if target.is_relative_to(within):
        target = source.parent / target.relative_to(within)
    if source.exists() and source != target:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if target.is_dir():
            target.rmdir()  # an empty one: into it, a folder would be moved
        shutil.move(source, target)
