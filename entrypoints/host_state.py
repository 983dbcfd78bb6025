"""How the embedded host is found, started and ended by others: the files it shares with its clients.

What the host itself does is `entrypoints.embedded`'s.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

import psutil
from pydantic import TypeAdapter, ValidationError
from temporalio.service import RPCError

from adapters.config.settings import Settings
from domain.errors import Cause, Unavailable
from entrypoints.client import RPC, RUNNING, connect, server_gone

UP_SECONDS = 90.0
PYTHON = (sys.executable, "-P")
"""Without the current directory on the import path: it may be a workspace, with modules of its worker's in it."""

PACKAGES = ("domain", "activities", "workflows", "adapters", "entrypoints")
FREE_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class Process:
    """A process that cannot be mistaken for a later one with the same id. `created` in seconds since the epoch."""

    pid: int
    created: float

    @classmethod
    def of(cls, pid: int) -> Process:
        """The process that has this id now."""
        return cls(pid=pid, created=psutil.Process(pid).create_time())

    def find(self) -> psutil.Process | None:
        """The process, if it is still alive."""
        try:
            process = psutil.Process(self.pid)
            alive = process.create_time() == self.created and process.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return None
        return process if alive else None


@dataclass
class HostState:
    """What `host.json` says: who is alive and where the server listens. `ready` once a worker polls.

    `settings` are those that the host was started with, by name, as text.
    """

    host: Process
    port: int = 0
    ui_port: int = 0
    server: Process | None = None
    worker: Process | None = None
    worker_restarts: int = 0
    ready: bool = False
    error: str = ""
    settings: dict[str, str] = field(default_factory=dict)

    @property
    def address(self) -> str:
        """Of the Temporal server, for `TEMPORAL_ADDRESS`."""
        return f"127.0.0.1:{self.port}"

    @property
    def ui(self) -> str:
        """Of the Web UI."""
        return f"http://127.0.0.1:{self.ui_port}"


HOST_STATE = TypeAdapter(HostState)


@dataclass(frozen=True)
class Files:
    """The files of a state directory that the host and its clients share."""

    root: Path

    lock: Path = field(init=False)
    state: Path = field(init=False)
    used: Path = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "lock", self.root / "host.lock")
        object.__setattr__(self, "state", self.root / "host.json")
        object.__setattr__(self, "used", self.root / "last-used")

    def log(self, name: str) -> Path:
        """Where the process of that name writes its log."""
        return self.root / f"{name}.log"

    def read(self) -> HostState | None:
        """What the host last said, alive or not; None when nothing was said that can be read.

        A live host says it again soon after the file was lost or damaged.
        """
        try:
            return HOST_STATE.validate_json(self.state.read_bytes())
        except (FileNotFoundError, NotADirectoryError, ValidationError):
            return None

    def write(self, state: HostState) -> None:
        """Say it, whole or not at all."""
        partial = self.state.with_suffix(".tmp")
        partial.write_text(json.dumps(asdict(state), indent=2))
        partial.replace(self.state)

    def alive(self) -> HostState | None:
        """What the host says, if it is alive."""
        state = self.read()
        return state if state is not None and state.host.find() is not None else None


async def ensure_up(settings: Settings, secrets: Sequence[str] = ()) -> HostState:
    """The host of this state directory, started if there is none, once a worker polls. Raises `Unavailable`.

    `secrets` are variables that its worker needs as they are here, as far as they are set here.
    """
    files = Files(settings.state_dir)
    prepare_state_dir(settings.state_dir)
    files.used.touch()
    deadline = time.monotonic() + UP_SECONDS
    spawned: subprocess.Popen[bytes] | None = None
    while time.monotonic() < deadline:
        state = files.alive()
        if state is not None and state.ready:
            differing = [name for name, value in shown(settings).items() if state.settings.get(name) != value]
            differing += [f"secret {name}" for name in other_secrets(state, secrets)]
            if not differing:
                return state
            await _end_if_idle(settings, state, differing)
            continue
        if state is None and (spawned is None or spawned.poll() is not None):
            if spawned is not None and spawned.returncode != 0:
                raise _did_not_start(files)
            spawned = _spawn(settings, files)
        await asyncio.sleep(0.1)
    raise _did_not_start(files)


def shown(settings: Settings) -> dict[str, str]:
    """Every setting as text, and the code's age: what a host was started with, to compare with what a command has."""
    return {"version of the code": _code(), **{name: str(value) for name, value in settings}}


def other_secrets(state: HostState, names: Sequence[str]) -> list[str]:
    """Which of the variables, of those set here, the host's worker has not or with another value; never the value."""
    here = [name for name in names if name in os.environ]
    there = _environment(state) if here else {}
    return [name for name in here if there.get(name) != _lines_as_read(os.environ[name])]


def _environment(state: HostState) -> dict[str, str]:
    """What the worker was started with; while it is being started again, the host, from which it inherits."""
    for part in (state.worker, state.host):
        process = part.find() if part else None
        if process is not None:
            with suppress(psutil.Error):  # it has just ended
                return {name: _lines_as_read(value) for name, value in process.environ().items()}
    return {}


def _lines_as_read(value: str) -> str:
    """psutil reads an environment as a text file, in which every end of a line becomes the same."""
    return value.replace("\r\n", "\n").replace("\r", "\n")


def _code() -> str:
    """When what a host runs was last changed: an upgrade must not leave the old code at work."""
    root = Path(__file__).resolve().parent.parent
    files = (path for package in PACKAGES for path in (root / package).rglob("*.py"))
    return str(max(path.stat().st_mtime_ns for path in files))


async def _end_if_idle(settings: Settings, state: HostState, differing: list[str]) -> None:
    """A host with other settings would run the round otherwise than asked; it makes way unless it is at work."""
    client = await connect(settings, state.address)
    try:
        running = (await client.count_workflows(RUNNING, rpc_timeout=RPC)).count
    except RPCError as error:
        raise server_gone(error) from error
    if running:
        raise Unavailable(
            Cause.SERVER_UNAVAILABLE,
            f"this project's host was started with another {', '.join(differing)}, and a round is running on it",
            "wait for that round, or end the host (countersign down), then run it again",
        )
    await take_down(settings)


async def take_down(settings: Settings) -> bool:
    """End the host of this state directory, or what one that was killed left; whether there was anything to end."""
    state = Files(settings.state_dir).read()
    if state is None:
        return False
    process = state.host.find()
    if process is None:
        return end_leftovers(state)
    process.terminate()
    await asyncio.to_thread(psutil.wait_procs, [process], settings.drain_timeout + 20)
    return True


def end_leftovers(state: HostState) -> bool:
    """Kill what a host that was killed left running: it holds the database and the ports. Whether there was any."""
    found = [process for part in (state.worker, state.server) if part and (process := part.find())]
    for process in found:
        process.kill()
    psutil.wait_procs(found, 10)
    return bool(found)


def prepare_state_dir(path: Path) -> None:
    """Make the state directory, for its owner alone. Raises `Unavailable` when it cannot be, or its disk is full."""
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


def _spawn(settings: Settings, files: Files) -> subprocess.Popen[bytes]:
    absolute = {name: str(getattr(settings, name)) for name in ("project", "state_dir", "evidence_dir")}
    environment = os.environ | {f"COUNTERSIGN_{name.upper()}": path for name, path in absolute.items()}
    with files.log("host").open("ab") as log:
        return subprocess.Popen(  # noqa: S603 - ourselves
            [*PYTHON, "-m", "entrypoints.embedded"],
            cwd=settings.state_dir,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
            start_new_session=True,
        )


def _did_not_start(files: Files) -> Unavailable:
    state = files.read()
    said = state.error if state and state.error else _last_line(files.log("host"))
    return Unavailable(
        Cause.SERVER_UNAVAILABLE,
        f"the embedded host did not start: {said}",
        f"its logs are {files.log('host')}, {files.log('server').name} and {files.log('worker').name}",
    )


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").split("\n") if log.exists() else []
    return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")
