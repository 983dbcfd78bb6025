"""A supervisor as Countersign's worker sees it: started, listened to, let go of. What it does is in `supervisor`."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adapters.workers.supervisor import Plan

_ROOT = str(Path(__file__).resolve().parents[2])
_COMMAND = (
    *(sys.executable, "-I", "-S", "-c"),
    f"import sys; sys.path.insert(0, {_ROOT!r}); from adapters.workers.supervisor import main; main()",
)
"""Without site packages, which it does not need: it is there in a few hundredths of a second."""


class CannotConfine(Exception):
    """This system does not allow what the plan asks for, and nothing was started; the text says what."""


class CannotEnter(Exception):
    """The workspace cannot be entered, and nothing was started; the text says why."""


@dataclass(frozen=True)
class Ended:
    """How a command ended. `status` as a shell has it; `left`: something of it could not be ended.

    `head` and `tail` of the `total` bytes that it printed.
    """

    isolation: str
    status: int | None
    timed_out: bool
    stopped: bool
    left: bool
    total: int
    head: bytes
    tail: bytes


class Lifeline:
    """Says to a supervisor that nobody waits any more: when it is cut, and when this process dies."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_cut = False

    def hold(self, process: subprocess.Popen[bytes] | None) -> None:
        """Whom to say it to from now on, None for nobody."""
        with self._lock:
            self._process = process
            self._say()

    def cut(self) -> None:
        """Say it; from any thread, and as often as one likes."""
        with self._lock:
            self._is_cut = True
            self._say()

    def _say(self) -> None:
        if self._is_cut and self._process is not None and self._process.stdin is not None:
            with suppress(BrokenPipeError):  # it has ended already
                self._process.stdin.close()


def supervise(
    plan: Plan, started: Callable[[int], None], lifeline: Lifeline, hear: Callable[[int], None]
) -> Ended | None:
    """Run the plan to its end; None where the supervisor was killed.

    `started` is told the supervisor's process before it does anything, `hear` the bytes that were printed, once a
    second. Raises `CannotConfine`, `CannotEnter`, and `OSError` where no process can be started.
    """
    with subprocess.Popen(  # noqa: S603 - ourselves
        _COMMAND, cwd="/", env={}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        started(process.pid)
        assert process.stdin is not None
        _tell(process.stdin.fileno(), json.dumps(plan).encode() + b"\n")
        lifeline.hold(process)
        try:
            return _listen(process, hear)
        finally:
            lifeline.hold(None)


def _tell(file: int, data: bytes) -> None:
    """Past the file's buffer, which would want to be flushed once more when it is closed."""
    with suppress(BrokenPipeError):  # it was killed, and says nothing either
        while data:
            data = data[os.write(file, data) :]


def _listen(process: subprocess.Popen[bytes], hear: Callable[[int], None]) -> Ended | None:
    assert process.stdout is not None
    isolation = ""
    for line in process.stdout:
        match _said(line):
            case {"cannot": str(why)}:
                raise CannotConfine(why)
            case {"unreadable": str(why)}:
                raise CannotEnter(why)
            case {"began": str(how)}:
                isolation = how
            case {"bytes": int(printed)}:
                hear(printed)
            case {"ended": dict(ended)}:
                return _ended(isolation, ended)
    return None


def _said(line: bytes) -> dict[str, Any]:
    """What was said; nothing, where the supervisor was killed in the middle of it."""
    said: dict[str, Any] = json.loads(line) if line.endswith(b"\n") else {}
    return said


def _ended(isolation: str, ended: dict[str, Any]) -> Ended:
    return Ended(
        isolation=isolation,
        status=ended["status"],
        timed_out=ended["timed_out"],
        stopped=ended["stopped"],
        left=ended["left"],
        total=ended["bytes"],
        head=base64.b64decode(ended["head"]),
        tail=base64.b64decode(ended["tail"]),
    )
