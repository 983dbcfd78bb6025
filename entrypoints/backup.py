"""Backs up all that the embedded mode keeps, beside its host and whatever runs. Restoring is `restoring`'s.

In this order: trail and Temporal's database as they were at one moment, then evidence and the results of worker
commands, of which the trail and the histories of that moment name only what was stored before. A database server of
your own has a backup of its own: such a project is refused.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from adapters.backup.archive import About, is_named_well, write
from adapters.config.settings import Settings
from adapters.evidence.sweep import FolderSweep
from adapters.trail import SqlTrail
from adapters.trail.database import parsed
from adapters.trail.together import copy_together
from domain.errors import Cause, Malformed, Problem, Refused, Unavailable
from domain.events import RowFilter, TrailCheck
from domain.ports import Trail
from entrypoints.host_files import Files
from entrypoints.names import former_hosts, host_id

TRAIL, HEADS, SERVER, EVIDENCE, DRIVES = "trail.db", "heads.jsonl", "temporal.db", "evidence", "workers"
"""What a backup has, by the names that it has there."""

GUIDE = "docs/deploying.md, Backup and restore, says how"
_PRUNED = RowFilter(actions=("evidence_pruned",))
_DIGEST_LENGTH = 64


@dataclass(frozen=True)
class BackedUp:
    """What was written, and what was seen meanwhile. `damaged`: blobs that are not what their names say."""

    about: About
    check: TrailCheck
    damaged: tuple[str, ...]


def back_up(settings: Settings, file: Path) -> BackedUp:
    """Write everything to `file`, which appears when it is whole.

    Raises `Refused` (not_embedded, exists, nothing_here, pruned_meanwhile), `Malformed` for a name that a backup cannot
    have, and `Unavailable`.
    """
    source = trail_file(settings)
    _refuse(source, file)
    files = Files(settings.state_dir)
    others = [files.database] if files.database.exists() and not files.unproven.exists() else []
    left = "free some space there, or name another place; nothing half written is left"
    with disk_told(f"the backup cannot be written to {file}", left), _scratch(file) as scratch:
        copy_together(source, settings.state_dir / HEADS, others, scratch)
        (scratch / source.name).rename(scratch / TRAIL)
        with _opened(scratch / TRAIL, scratch / HEADS) as copy:
            check, rounds = copy.verify(), {(one.session, one.todo, one.attempt) for one in copy.state().rounds}
            pruned = _prunings(copy)
        packed = scratch / file.name
        contents = _contents(settings, scratch, rounds)
        about = write(packed, contents, _about(settings))
        with _opened(source, settings.state_dir / HEADS) as trail:
            if _prunings(trail) != pruned:
                raise Refused("pruned_meanwhile", "evidence was pruned during the backup", "run it again")
        packed.rename(file)
    return BackedUp(about, check, tuple(_damaged(about)))


def trail_file(settings: Settings) -> Path:
    """Where the trail is, if it and the server are this machine's own. Raises `Refused` (not_embedded)."""
    if settings.remote:
        reason = "this project's Temporal server is not Countersign's own, and has its own database"
        raise Refused("not_embedded", reason, GUIDE)
    url = parsed(settings.database_url)
    if url.get_backend_name() != "sqlite":
        reason = "this project's trail is in PostgreSQL, which makes its own backups: pg_dump, pg_basebackup"
        raise Refused("not_embedded", reason, GUIDE)
    return Path(str(url.database)).absolute()


def _refuse(source: Path, file: Path) -> None:
    if not is_named_well(file) or "?" in str(file.parent):
        expected = "expected a name that ends in .tar or .tar.gz, in a folder without a ? in its path"
        what = f"{str(file)!r} is no name for a backup"
        raise Malformed([Problem(file="command line", line=1, field="FILE", what=what, expected=expected)])
    if os.path.lexists(file):
        raise Refused("exists", f"{file} is there already", "name something new: a backup is never written over")
    if not source.exists():
        next_step = "run it in the project's folder; `countersign status` says where its state is"
        raise Refused("nothing_here", f"this project has no trail: {source} is not there", next_step)


@contextmanager
def _scratch(file: Path) -> Iterator[Path]:
    """A folder beside `file`, for its owner alone, gone afterwards."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".countersign-backup-", dir=file.parent.resolve()) as folder:
        yield Path(folder)


@contextmanager
def _opened(trail: Path, heads: Path) -> Iterator[SqlTrail]:
    opened = SqlTrail(f"sqlite:///{trail}", heads)
    try:
        yield opened
    finally:
        opened.close()


def _prunings(trail: Trail) -> int:
    return sum(1 for _ in trail.rows(_PRUNED))


def _about(settings: Settings) -> About:
    return About(
        version=version("countersign"),
        made_at=datetime.now(UTC),
        project=str(settings.project),
        hosts=tuple(dict.fromkeys((host_id(), *former_hosts(settings.state_dir)))),
        elsewhere=tuple(_elsewhere(settings)),
    )


def _elsewhere(settings: Settings) -> Iterator[str]:
    if settings.evidence_url:
        yield f"the evidence, in {settings.evidence_url}"
    if settings.payload_key_file:
        yield f"the key of Temporal's payloads, {settings.payload_key_file}"


def _contents(
    settings: Settings, scratch: Path, rounds: Collection[tuple[str, str, int]]
) -> Iterator[tuple[str, Path]]:
    for name in (TRAIL, HEADS, SERVER):
        if (scratch / name).exists():
            yield name, scratch / name
    yield from _below(settings.state_dir, f"{DRIVES}/*/*/*.json")
    for name, path in _evidence(settings.evidence_dir, rounds) if not settings.evidence_url else ():
        yield f"{EVIDENCE}/{name}", path


def _evidence(root: Path, rounds: Collection[tuple[str, str, int]]) -> Iterator[tuple[str, Path]]:
    """Blobs, memos, and the folders of those rounds that the copied trail knows: to it others would be foreign."""
    for kind in ("blobs/??/*", "memo/*"):
        yield from ((name, path) for name, path in _below(root, kind) if len(path.name) == _DIGEST_LENGTH)
    for session, todo, attempt in FolderSweep(root).attempts() if root.exists() else ():
        if (session, todo, attempt) in rounds:
            yield from _below(root, f"{session}/{todo}/{attempt}/**/*")


def _below(root: Path, pattern: str) -> Iterator[tuple[str, Path]]:
    for path in sorted(root.glob(pattern)):
        if path.is_file() and not path.is_symlink():
            yield path.relative_to(root).as_posix(), path


def _damaged(about: About) -> Iterator[str]:
    for name, part in about.files.items():
        if name.startswith(f"{EVIDENCE}/blobs/") and not name.endswith(f"/{part.sha256}"):
            yield name.rpartition("/")[2]


@contextmanager
def disk_told(what: str, next_step: str) -> Iterator[None]:
    """What the disk refuses in the block, as `Unavailable` (store_unavailable, disk_full) with `what` before it."""
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        cause = Cause.DISK_FULL if full else Cause.STORE_UNAVAILABLE
        raise Unavailable(cause, f"{what}: {error.strerror or error} ({error.filename})", next_step) from error
