"""The files that the embedded host and its clients share. It imports little: the host keeps it in memory for hours."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import psutil

from adapters.processes import living


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
        return living(self.pid, self.created)


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


@dataclass(frozen=True)
class Plan:
    """What a host is told when it is started: where its files are, what to run, and how long to keep it.

    `server` and `worker` are commands in which `{port}` and `{ui_port}` stand for what is free by then; `clear` removes
    what a worker that was killed left on the engine. Times in seconds.
    """

    state_dir: str
    settings: dict[str, str]
    server: list[str]
    worker: list[str]
    clear: list[str]
    namespace: str
    idle_timeout: float
    drain_timeout: float
    log_level: str
    log_format: str


@dataclass(frozen=True)
class Files:
    """The files of a state directory that the host and its clients share.

    `database` is the server's; `unproven` is there until a server has come to listen with it.
    """

    root: Path

    lock: Path = field(init=False)
    state: Path = field(init=False)
    used: Path = field(init=False)
    database: Path = field(init=False)
    unproven: Path = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "lock", self.root / "host.lock")
        object.__setattr__(self, "state", self.root / "host.json")
        object.__setattr__(self, "used", self.root / "last-used")
        object.__setattr__(self, "database", self.root / "temporal.db")
        object.__setattr__(self, "unproven", self.root / "temporal.unproven")

    def log(self, name: str) -> Path:
        """Where the process of that name writes its log."""
        return self.root / f"{name}.log"

    def read(self) -> HostState | None:
        """What the host last said, alive or not; None when nothing was said that can be read.

        A live host says it again soon after the file was lost or damaged.
        """
        try:
            return _state(json.loads(self.state.read_bytes()))
        except (FileNotFoundError, NotADirectoryError, ValueError):
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


_KINDS = {"port": int, "ui_port": int, "worker_restarts": int, "ready": bool, "error": str, "settings": dict}


def _state(said: Any) -> HostState:
    """Raises `ValueError` for what no host has written."""
    if not isinstance(said, dict) or not isinstance(said.get("host"), dict):
        raise ValueError("it names no host")
    known = {name: said[name] for name, kind in _KINDS.items() if type(said.get(name)) is kind}
    if len(known) != len(_KINDS) or not all(type(value) is str for value in known["settings"].values()):
        raise ValueError("a field is missing or of another kind")
    host, server, worker = (_process(said.get(name)) for name in ("host", "server", "worker"))
    assert host is not None, "it is a table, as seen above"
    return HostState(host=host, server=server, worker=worker, **known)


def _process(said: Any) -> Process | None:
    match said:
        case None:
            return None
        case {"pid": int(pid), "created": float(created)}:
            return Process(pid, created)
    raise ValueError("a process is named by its id and when it began")
