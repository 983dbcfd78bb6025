"""`domain.ports.Workers`: runs worker commands on this host, each once for its drive, and says what came of them.

What keeps a command from what is not its own is `confinement` and `environment`; what it wrote is judged elsewhere.
"""

from __future__ import annotations

import asyncio
import errno
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from adapters.masking.masker import Masker
from adapters.workers.drives import Drive, end, record_of
from adapters.workers.environment import scrubbed
from adapters.workers.folder import BRIEF_FILE, private_folder, remove, write_brief
from adapters.workers.handed_in import handed_in
from adapters.workers.output import KEPT_BYTES
from adapters.workers.results import killed, result_of, stored_output
from adapters.workers.supervised import CannotConfine, CannotEnter, Ended, Lifeline, supervise
from adapters.workers.supervisor import Plan
from domain.brief import Brief
from domain.errors import Cause, Unavailable
from domain.life import WorkInput, WorkResult
from domain.order import WorkerCommand
from domain.ports import EvidenceStore, Progress

GRACE_SECONDS = 5.0
"""Between asking a command to end and killing it."""

_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)


class CommandWorkers:
    """`state_dir` keeps the records of drives, and is hidden from commands as `hidden` is: folders, files, sockets.

    `ports` is asked at each start which ports of TCP they may not connect to: those of Temporal and the database.
    """

    def __init__(
        self,
        store: EvidenceStore,
        masker: Masker,
        state_dir: Path,
        hidden: Sequence[Path] = (),
        ports: Callable[[], Iterable[int]] = tuple,
    ) -> None:
        self._store = store
        self._masker = masker
        self._drives = state_dir / "workers"
        self._hidden = tuple(path.resolve() for path in (state_dir, *hidden))
        self._ports = ports
        self._cannot_confine = ""

    async def run(self, request: WorkInput, brief: Brief, progress: Progress) -> WorkResult:
        """See `domain.ports.Workers`. Cancelled, it ends the command and waits until nothing of it is left."""
        lifeline = Lifeline()
        running = asyncio.create_task(asyncio.to_thread(self._run, request, brief, progress, lifeline))
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            lifeline.cut()
            await asyncio.wait([running])
            running.exception()  # nobody waits for it any more
            raise

    def why_not_confined(self) -> str:
        """Why commands cannot be confined on this system, empty where they can. Takes a tenth of a second."""
        plan = self._plan(WorkerCommand(command="true", timeout=5.0), Path("/"), Path("/nowhere"))
        try:
            supervise(plan, lambda _: None, Lifeline(), lambda _: None)
        except CannotConfine as error:
            return str(error)
        return ""

    def _run(self, request: WorkInput, brief: Brief, progress: Progress, lifeline: Lifeline) -> WorkResult:
        assert request.todo.worker is not None, "a drive is of a todo with a worker command"
        self._refuse_hidden(Path(request.todo.order.workspace))
        drive = Drive(self._drives, request)
        with _disk(), drive.seen_to():
            known = drive.read()
            if known is not None and known.result is not None:
                return known.result
            if known is not None:
                end(known)
                remove(Path(known.folder))
            with private_folder() as (folder, opened):
                write_brief(folder, brief, resumed=known is not None)
                started = datetime.now(UTC)
                begun = partial(_record, drive, folder, started)
                ended = self._ended(request, folder / BRIEF_FILE, begun, progress, lifeline)
                if ended is None:
                    return killed(started)
                asked = brief.question is not None
                output = stored_output(ended, self._store, self._masker)
                result = result_of(request.todo.worker, ended, handed_in(opened, asked), asked, started, output)
                result = result.model_copy(update={"resumed": known is not None})
                drive.finish(result)
                return result

    def _ended(
        self,
        request: WorkInput,
        brief: Path,
        begun: Callable[[int], None],
        progress: Progress,
        lifeline: Lifeline,
    ) -> Ended | None:
        """Run the command, confined unless this system does not allow it. Raises `Unavailable` where it was stopped."""
        workspace = Path(request.todo.order.workspace)
        assert request.todo.worker is not None
        plan = self._plan(request.todo.worker, workspace, brief)
        since = time.monotonic()

        def hear(printed: int) -> None:
            progress(f"the worker command runs for {time.monotonic() - since:.0f} s, {printed} bytes of output")

        try:
            if not self._cannot_confine:
                try:
                    return _unless_stopped(supervise(plan, begun, lifeline, hear))
                except CannotConfine as error:
                    self._cannot_confine = str(error)
            return _unless_stopped(supervise({**plan, "confined": False}, begun, lifeline, hear))
        except CannotEnter as error:
            reason = f"the workspace {workspace} cannot be entered: {error}"
            next_step = "see that it is there and may be read, then return the todo"
            raise Unavailable(Cause.WORKSPACE_UNREADABLE, reason, next_step) from error

    def _plan(self, worker: WorkerCommand, workspace: Path, brief: Path) -> Plan:
        return {
            "command": worker.command,
            "cwd": str(workspace),
            "env": scrubbed(os.environ, worker.env, brief),
            "timeout": worker.timeout,
            "grace": GRACE_SECONDS,
            "kept": KEPT_BYTES,
            "confined": True,
            "folders": [str(path) for path in self._hidden if path.is_dir()],
            "files": [str(path) for path in self._hidden if not path.is_dir()],
            "ports": sorted(self._ports()),
        }

    def _refuse_hidden(self, workspace: Path) -> None:
        within = next((path for path in self._hidden if workspace.resolve().is_relative_to(path)), None)
        if within is not None:
            reason = f"the workspace {workspace} lies in {within}, which no worker command may see"
            raise Unavailable(Cause.WORKSPACE_UNREADABLE, reason, "keep workspaces and Countersign's state apart")


def _record(drive: Drive, folder: Path, started: datetime, process: int) -> None:
    drive.write(record_of(process, folder, started))


def _unless_stopped(ended: Ended | None) -> Ended | None:
    if ended is not None and ended.stopped:
        reason = "the worker command was ended before it was done"
        raise Unavailable(Cause.SYSTEM_ERROR, reason, "nothing: whoever ended it knows")
    return ended


@contextmanager
def _disk() -> Iterator[None]:
    """Whatever a disk refuses is `Unavailable`."""
    try:
        yield
    except OSError as error:
        full = error.errno in _DISK_FULL
        raise Unavailable(
            Cause.DISK_FULL if full else Cause.STORE_UNAVAILABLE,
            f"a worker command cannot be run: {error}",
            "free some space" if full else "see that the state directory and the temporary folder can be written",
        ) from error
