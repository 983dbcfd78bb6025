"""The process between Countersign's worker and a browser: it starts the browser and sees that all of it ends.

The browser gets processes, mounts and a network of its own, in which there is nothing but one listening socket; that
socket is handed to the worker, whose proxy serves it. Standard input says by its end that nobody needs the browser any
more, also when the worker is killed; then, or when the browser has ended, everything is killed and the folder removed.
It imports nothing of ours but what worker commands are kept with, and judges nothing. Linux; elsewhere `alone` cannot.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import select
import shutil
import signal
import socket
import struct
import sys
import time
from contextlib import suppress
from typing import TypedDict

from adapters.workers import confinement
from adapters.workers.supervisor import descendants

CANNOT = 3
"""The exit code of a keeper whose system does not allow namespaces; nothing was started."""

PORT = "{port}"
"""Stands in the command for the port of the listening socket."""

SWEEP_SECONDS = 5.0
SWEEP_POLL_SECONDS = 0.01
BACKLOG = 128

_NEWNET = 0x40000000
_SIOCSIFFLAGS = 0x8914
_UP_AND_RUNNING = 0x41


class Plan(TypedDict):
    """What to run. `folder` goes with it. `reads`, `writes` become the browser's descriptors 3 and 4.

    `tells`: a socket that is sent the listening socket. `alone`: in namespaces of its own.
    """

    command: list[str]
    env: dict[str, str]
    folder: str
    reads: int
    writes: int
    tells: int
    alone: bool


def main() -> None:
    """Do what the plan in the first argument says."""
    plan: Plan = json.loads(sys.argv[1])
    try:
        if plan["alone"]:
            _leave(plan)
        elif sys.platform == "linux":
            confinement.adopt_orphans()
    except (OSError, AttributeError) as error:  # the latter where the C library is no Linux's
        print(f"no namespaces for the browser: {error}", file=sys.stderr)
        sys.exit(CANNOT)
    Keeping(plan).run()


def _leave(plan: Plan) -> None:
    """Go on as the first process of new namespaces. The one of before waits for it, and takes it along when killed."""
    confinement.leave_the_host()
    first = os.fork()
    if first:
        signal.signal(signal.SIGTERM, lambda *_: os.kill(first, signal.SIGKILL))
        for file in (plan["reads"], plan["writes"], plan["tells"]):
            os.close(file)
        _, status = os.waitpid(first, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    confinement.die_with_parent()
    confinement.hide((), ())
    _leave_the_network()
    confinement.give_up_capabilities()


def _leave_the_network() -> None:
    """From now on there is no network but a loopback that is nobody else's."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_NEWNET) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"a network of its own: {os.strerror(number)}")
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _UP_AND_RUNNING))


class Keeping:
    """One browser, from its start until nothing of it is left."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._gone = False
        self._wake, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: None)

    def run(self) -> None:
        """Start it, wait until it ends or nobody needs it, end what is left, remove its folder."""
        port = self._listen()
        self._browser = os.fork()
        if not self._browser:
            self._become_the_browser(port)
        os.close(self._plan["reads"])
        os.close(self._plan["writes"])
        self._wait()
        self._sweep()
        shutil.rmtree(self._plan["folder"], ignore_errors=True)

    def _listen(self) -> int:
        with socket.create_server(("127.0.0.1", 0), backlog=BACKLOG) as listening:
            port: int = listening.getsockname()[1]
            with socket.socket(fileno=self._plan["tells"]) as tells:
                socket.send_fds(tells, [str(port).encode()], [listening.fileno()])
        return port

    def _become_the_browser(self, port: int) -> None:
        """In the child: its own session, the two pipes where a browser looks for them, and no other descriptor."""
        try:
            os.setsid()
            os.dup2(os.open(os.devnull, os.O_RDWR), 0)
            os.dup2(2, 1)
            high = [fcntl.fcntl(self._plan[end], fcntl.F_DUPFD, 64) for end in ("reads", "writes")]
            for number, file in zip((3, 4), high, strict=True):
                os.dup2(file, number)
            os.closerange(5, 1024)
            command = [part.replace(PORT, str(port)) for part in self._plan["command"]]
            os.execve(command[0], command, self._plan["env"])  # noqa: S606 - it is the job
        except OSError as error:
            os.write(2, f"{self._plan['command'][0]}: {error.strerror}\n".encode())
        finally:
            os._exit(127)

    def _wait(self) -> None:
        """Until the browser has ended, standard input has, or somebody says so."""
        while self._reap() and not self._gone:
            ready, _, _ = select.select([0, self._wake], [], [])
            if 0 in ready and not os.read(0, 4096):
                return
            if self._wake in ready and signal.SIGTERM in os.read(self._wake, 4096):
                return

    def _reap(self) -> bool:
        """Collect who has ended; whether anybody is left."""
        try:
            while process := os.waitpid(-1, os.WNOHANG)[0]:
                self._gone |= process == self._browser
        except ChildProcessError:
            return False
        return True

    def _sweep(self) -> None:
        deadline = time.monotonic() + SWEEP_SECONDS
        self._kill_all()
        while self._reap() and time.monotonic() < deadline:
            time.sleep(SWEEP_POLL_SECONDS)
            self._kill_all()

    def _kill_all(self) -> None:
        """Everything that the browser began, wherever it has gone."""
        if self._plan["alone"]:
            with suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
            return
        if not self._gone:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._browser, signal.SIGKILL)
        for process in descendants(os.getpid()):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
