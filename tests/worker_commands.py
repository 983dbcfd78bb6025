"""Drives of worker commands, for tests: a place to run them in, and a look at what they leave behind."""

from __future__ import annotations

import contextlib
import json
import shlex
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from adapters.masking.masker import Masker
from adapters.workers import supervised
from adapters.workers.commands import CommandWorkers
from domain.brief import Brief, brief_of
from domain.events import Actor
from domain.life import WorkInput, WorkResult
from domain.order import Order, WorkerCommand
from domain.safeguards import Clock
from domain.todo import Todo
from tests.fakes.evidence import MemoryStore

ROOT = Path(__file__).resolve().parents[1]
CLAIM = {"explanation": "Wrote is_prime by trial division, see [run]", "evidence": [{"label": "run", "type": "note"}]}
CLAIM_PATH = 'claim="$(dirname "$COUNTERSIGN_BRIEF")/claim.json"; '


def todo_of(workspace: Path, **fields: Any) -> Todo:
    order = Order.model_validate({"id": "wo-prime", "content": "Implement is_prime", "workspace": str(workspace)})
    known = {
        "session": "s",
        "id": "wo-prime",
        "order": order,
        "order_digest": order.digest,
        "host": "here",
        "created_by": Actor(role="unattributed", identity="ann"),
        "clock": Clock(limit=3600.0),
    }
    return Todo(**{**known, **fields})


def drive_of(
    workspace: Path, command: str, drive: int = 1, timeout: float = 240.0, env: list[str] | None = None
) -> WorkInput:
    worker = WorkerCommand(command=command, timeout=timeout, env=env or [])
    return WorkInput(todo=todo_of(workspace, worker=worker), attempt=1, drive=drive)


class Place:
    """A workspace, a state directory apart from it, and what runs commands there."""

    def __init__(self, root: Path) -> None:
        self.workspace = root / "workspace"
        self.workspace.mkdir()
        self.state = root / "state"
        self.state.mkdir(mode=0o700)
        (self.state / "trail.db").write_text("rows")
        self.store = MemoryStore()
        self.workers = self.new()

    def new(self, **options: Any) -> CommandWorkers:
        options = {"masker": Masker({}), "state_dir": self.state, **options}
        return CommandWorkers(self.store, **options)

    def request(self, command: str, **options: Any) -> WorkInput:
        return drive_of(self.workspace, command, **options)

    async def run(self, command: str, brief: Brief | None = None, **options: Any) -> WorkResult:
        request = self.request(command, **options)
        return await self.workers.run(request, brief or brief_of(request.todo), lambda _: None)

    def printed(self, result: WorkResult) -> str:
        return self.store.get(result.output).decode()

    def unconfined(self) -> None:
        """As where the system allows no namespaces."""
        self.workers._cannot_confine = "not here"


def time_is_over_once(there: Path) -> tuple[str, ...]:
    """For `supervised._COMMAND`: a supervisor whose clock stands still until there is that file, then jumps ahead."""
    *python, boot = supervised._COMMAND
    clock = f"now = time.monotonic; time.monotonic = lambda: now() if os.path.exists({str(there)!r}) else -1e9; "
    return (*python, f"import os, time; {clock}{boot}")


def writing(value: object) -> str:
    return f"{CLAIM_PATH}printf %s {shlex.quote(json.dumps(value))} > $claim"


def alive(mark: str) -> bool:
    """Whether a process with this argument runs; one that has ended and was not collected does not."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.NoSuchProcess):
            if mark in process.cmdline() and process.status() != psutil.STATUS_ZOMBIE:
                return True
    return False


def eventually(holds: Callable[[], bool], seconds: float = 120.0) -> bool:
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def daemons(mark: str) -> str:
    """Leaves one behind in a session of its own, and one that lost its parent in it."""
    return f"setsid sleep {mark} & (setsid sh -c 'sleep {mark} & exec sleep {mark}' &) ; sleep 0.1; "
