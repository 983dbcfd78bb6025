"""Runs `countersign` in processes of their own that need not import it: each is forked from one that has.

What a command imports takes most of a second of a processor, ten times what it does itself. That the program starts at
all, and which modules it finds where, such a process does not show: `Project.run_program` does.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
IMPORTED = ("client", "driving", "exporting", "host_state", "lives", "planning", "rounds", "stores", "telemetry")
"""Modules of `entrypoints` that commands import once they know that they need them."""

MESSAGE_BYTES = 200_000


class Forks:
    """A process that has imported `countersign`, from the first command on until this one ends."""

    def __init__(self) -> None:
        self._parent: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._turn = threading.Lock()

    def run(
        self, arguments: tuple[str, ...], cwd: Path, environment: Mapping[str, str], seconds: float
    ) -> subprocess.CompletedProcess[str]:
        """As `subprocess.run` with its output captured and nothing to read. Raises `subprocess.TimeoutExpired`."""
        request = json.dumps({"arguments": arguments, "cwd": str(cwd), "environment": dict(environment)})
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            code = self._ended(request.encode(), (out.fileno(), err.fileno()), seconds)
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess(arguments, code, out.read().decode(), err.read().decode())

    def _ended(self, request: bytes, streams: tuple[int, int], seconds: float) -> int:
        """The exit code of what was asked for, below zero for a signal, as `subprocess` has it."""
        mine, its = socket.socketpair()
        with mine:
            with its, self._turn:
                socket.send_fds(self._started(), [request], [*streams, its.fileno()])
            with mine.makefile("r") as told:
                pid = int(told.readline())
                mine.settimeout(seconds)
                try:
                    return int(told.readline())
                except TimeoutError:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                    raise subprocess.TimeoutExpired(["countersign"], seconds) from None

    def _started(self) -> socket.socket:
        if self._parent is None:
            self._parent, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with its:
                command = [sys.executable, "-P", "-c", f"import sys; sys.path.append({str(ROOT)!r}); {_BEGIN}"]
                self._process = subprocess.Popen(command, stdin=its.fileno(), stdout=subprocess.DEVNULL, cwd="/")
            atexit.register(self._close)
        return self._parent

    def _close(self) -> None:
        assert self._parent
        assert self._process
        self._parent.close()
        self._process.wait()


FORKS = Forks()
"""Here and not in a conftest, which pytest imports once more than the tests do."""

_BEGIN = "from tests.forked import serve; serve()"


def serve() -> None:
    """Fork a process for each request that comes on descriptor 0, until nobody is there to ask."""
    _import_all()
    assert len(list(Path("/proc/self/task").iterdir())) == 1, "a process with threads does not survive a fork"
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    requests = socket.socket(fileno=os.dup(0))
    while True:
        message, descriptors, _, _ = socket.recv_fds(requests, MESSAGE_BYTES, 3)
        if not message:
            return
        if os.fork() == 0:
            requests.close()
            _attend(json.loads(message), *descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def _import_all() -> None:
    gc.disable()
    commands = importlib.import_module("entrypoints.cli")
    for module in pkgutil.iter_modules(commands.__path__):
        importlib.import_module(f"entrypoints.cli.{module.name}")
    for name in IMPORTED:
        importlib.import_module(f"entrypoints.{name}")
    gc.collect()
    gc.freeze()
    gc.enable()


def _attend(request: dict[str, Any], out: int, err: int, answer: int) -> None:
    """Fork the command, and say its id and its exit code."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    command = os.fork()
    if command == 0:
        os.close(answer)
        _become(request, out, err)
    with contextlib.suppress(BrokenPipeError):  # nobody waits any more
        os.write(answer, b"%d\n" % command)
        _, status = os.waitpid(command, 0)
        os.write(answer, b"%d\n" % os.waitstatus_to_exitcode(status))
    os._exit(0)


def _become(request: dict[str, Any], out: int, err: int) -> None:
    """This process, as the console script would be. The standard streams are bound to descriptors 1 and 2 already."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, descriptor in enumerate((nothing, out, err)):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = [str(Path(sys.executable).parent / "countersign"), *request["arguments"]]
    vars(importlib.import_module("entrypoints.cli.person"))["ancestors"] = lambda: iter(())  # they are the tests' own
    importlib.import_module("entrypoints.cli.app").main()
    os._exit(0)
