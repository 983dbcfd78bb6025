"""The process between Countersign's worker and a worker command: it starts the command and sees that all of it ends.

Standard input is a `Plan` on one line, then nothing: its end says that nobody waits any more. Standard output is lines
of JSON: `cannot` or `unreadable` (nothing was started: no such confinement, no such workspace), `began`, `bytes` once a
second, `ended`. It imports nothing of ours but `confinement`, and judges nothing. SIGTERM ends everything at once.
"""

from __future__ import annotations

import base64
import json
import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any, TypedDict

from adapters.workers import confinement

SAYS_SECONDS = 1.0
SWEEPS = 500
SWEEP_POLL_SECONDS = 0.01
PIECE = 256 * 1024
CANNOT = 3


class Plan(TypedDict):
    """What to run, and how. Seconds and bytes; paths are absolute. `grace`: between asking it to end and killing it.

    `confined`: in namespaces without `folders` and `files`, and without a way to `ports`. `kept` of the output's
    beginning, and as much of its end.
    """

    command: str
    cwd: str
    env: dict[str, str]
    timeout: float
    grace: float
    kept: int
    confined: bool
    folders: list[str]
    files: list[str]
    ports: list[int]


def main() -> None:
    """Read the plan, and do it."""
    plan: Plan = json.loads(_line())
    try:
        isolation = _confine(plan) if plan["confined"] else _adopt()
    except OSError as error:
        _say(cannot=str(error))
        sys.exit(CANNOT)
    try:
        os.chdir(plan["cwd"])
    except OSError as error:
        _say(unreadable=error.strerror)
        sys.exit(CANNOT)
    Supervision(plan, alone=plan["confined"]).run(isolation)


def _line() -> bytes:
    line = bytearray()
    while not line.endswith(b"\n"):
        piece = os.read(0, PIECE)
        if not piece:
            sys.exit(CANNOT)
        line += piece
    return bytes(line)


def _say(**said: Any) -> None:
    with suppress(BrokenPipeError):  # who listened has died, and the end of standard input says so
        data = memoryview(json.dumps(said).encode() + b"\n")
        while data:
            data = data[os.write(1, data) :]


def _adopt() -> str:
    if sys.platform == "linux":
        confinement.adopt_orphans()
    return "environment"


def _confine(plan: Plan) -> str:
    """Go on as the first process of new namespaces. The one of before waits for it, and takes it along when killed."""
    confinement.leave_the_host()
    first = os.fork()
    if first:
        signal.signal(signal.SIGTERM, lambda *_: os.kill(first, signal.SIGKILL))
        _, status = os.waitpid(first, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    confinement.die_with_parent()
    confinement.hide(plan["folders"], plan["files"])
    closed = bool(plan["ports"]) and confinement.close_ports(plan["ports"])
    confinement.give_up_capabilities()
    return "namespaces+ports" if closed else "namespaces"


class Kept:
    """Beginning and end of what was printed, `limit` bytes of each."""

    def __init__(self, limit: int) -> None:
        self.total = 0
        self._limit = limit
        self._head = bytearray()
        self._tail = bytearray()

    def add(self, data: bytes) -> None:
        """Take in the next piece."""
        self.total += len(data)
        room = self._limit - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * self._limit:
            del self._tail[: -self._limit]

    def said(self) -> dict[str, str]:
        """Both, for JSON."""
        tail = self._tail[-self._limit :]
        return {"head": base64.b64encode(self._head).decode(), "tail": base64.b64encode(tail).decode()}


class Supervision:
    """One command, from its start until nothing of it is left. `alone`: nobody else's processes are to be seen."""

    def __init__(self, plan: Plan, alone: bool) -> None:
        self._plan = plan
        self._alone = alone
        self._output = Kept(plan["kept"])
        self._status: int | None = None
        self._timed_out = self._stopped = False
        self._at_once = False
        self._reads, self._writes = os.pipe()
        self._wake, wake = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(self._wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._end_at_once)

    def run(self, isolation: str) -> None:
        """Start it, watch it, end what is left, say what was seen."""
        _say(began=isolation)
        self._command = os.fork()
        if not self._command:
            self._become_the_command()
        os.close(self._writes)
        self._watch()
        left = self._sweep()
        self._drain()
        ended = {"status": self._status, "timed_out": self._timed_out, "stopped": self._stopped, "left": left}
        _say(ended={**ended, "bytes": self._output.total, **self._output.said()})

    def _end_at_once(self, _signal: int, _frame: FrameType | None) -> None:
        self._at_once = True

    def _become_the_command(self) -> None:
        """In the child: its own session, no descriptor but the three, and Python's signal dispositions undone."""
        try:
            os.setsid()
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(self._writes, 1)
            os.dup2(self._writes, 2)
            os.closerange(3, 1024)
            for number in signal.valid_signals():
                if signal.getsignal(number) is signal.SIG_IGN:  # by Python, or by whoever started us with nohup
                    signal.signal(number, signal.SIG_DFL)
            os.execve("/bin/sh", ["sh", "-c", self._plan["command"]], self._plan["env"])  # noqa: S606 - it is the job
        except OSError as error:
            os.write(2, f"sh: {error.strerror}\n".encode())
        finally:
            os._exit(127)

    def _watch(self) -> None:
        """Until the command itself has ended: by itself, or asked to and then killed."""
        clock = time.monotonic
        over, kill_at, say_at = clock() + self._plan["timeout"], float("inf"), clock() + SAYS_SECONDS
        watched = [0, self._reads, self._wake]
        while self._status is None:
            ready, _, _ = select.select(watched, [], [], max(0.0, min(over, kill_at, say_at) - clock()))
            if 0 in ready and not os.read(0, PIECE):
                watched.remove(0)
                self._stopped = True
            if self._reads in ready and not self._take():
                watched.remove(self._reads)
            if self._wake in ready:
                os.read(self._wake, PIECE)
            self._reap()
            now = clock()
            if now >= say_at:
                _say(bytes=self._output.total)
                say_at = now + SAYS_SECONDS
            if now >= over and not self._stopped:
                self._timed_out = True
            if (self._timed_out or self._stopped) and kill_at == float("inf"):
                over, kill_at = float("inf"), now + self._plan["grace"]
                self._signal_group(signal.SIGTERM)
            if now >= kill_at or self._at_once:
                self._stopped |= self._at_once
                kill_at = now + SAYS_SECONDS
                self._kill_all()

    def _take(self) -> bool:
        """Read what was printed; False when nobody can print any more."""
        data = os.read(self._reads, PIECE)
        self._output.add(data)
        return bool(data)

    def _reap(self) -> bool:
        """Collect who has ended; whether anybody is left."""
        try:
            while True:
                process, status = os.waitpid(-1, os.WNOHANG)
                if not process:
                    return True
                if process == self._command:
                    code = os.waitstatus_to_exitcode(status)
                    self._status = code if code >= 0 else 128 - code
        except ChildProcessError:
            return False

    def _signal_group(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._command, number)

    def _kill_all(self) -> None:
        """Everything that the command began, wherever it has gone."""
        if self._alone:
            with suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
            return
        if self._status is None:
            self._signal_group(signal.SIGKILL)
        for process in descendants(os.getpid()):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)

    def _sweep(self) -> bool:
        """End what the command has left behind; whether something could not be ended in `SWEEPS`, about five seconds.

        They are counted, and not timed: a process that stood still has not tried.
        """
        for _ in range(SWEEPS):
            if not self._reap():
                return False
            self._kill_all()
            time.sleep(SWEEP_POLL_SECONDS)
        return self._reap()

    def _drain(self) -> None:
        """What was printed and not read yet."""
        while select.select([self._reads], [], [], 0)[0] and self._take():
            pass


def descendants(ancestor: int) -> list[int]:
    """The processes below `ancestor`, children before theirs."""
    children: dict[int, list[int]] = {}
    for process, parent in _parents():
        children.setdefault(parent, []).append(process)
    found = [ancestor]
    for process in found:
        found += children.get(process, [])
    return found[1:]


def _parents() -> Iterator[tuple[int, int]]:
    for name in os.listdir("/proc") if sys.platform == "linux" else ():  # noqa: PTH208 - names, many and often
        if name.isdecimal():
            with suppress(OSError):  # it has ended meanwhile
                stat = Path("/proc", name, "stat").read_bytes()
                yield int(name), int(stat.rpartition(b")")[2].split()[1])
