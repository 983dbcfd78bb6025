"""The embedded host: one process a state directory that keeps a Temporal dev server and a worker alive.

It restarts what dies, ends itself when idle, and is found through `host.json` beside its lock. Its standard input is a
`Plan`; people use `countersign up`. It stays for hours, so it imports nothing but psutil. Source: DESIGN 6.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from entrypoints.host_files import Files, HostState, Plan, Process
from entrypoints.host_log import HostLog
from entrypoints.leftovers import discard_unproven, end_leftovers
from entrypoints.names import AT_WORK

SERVER_SECONDS = 40.0
SERVER_POLL_SECONDS = 0.02
TICK_SECONDS = 0.5
IDLE_CHECK_SECONDS = 15.0
HEALTHY_SECONDS = 60.0
MAX_BACKOFF_SECONDS = 30.0
RPC_SECONDS = 5.0
CLEAR_SECONDS = 60.0
SERVER_MEMORY = {"GOGC": "50"}
"""A dev server's heap is small, and doubling before each collection is for servers with work to do.

No GOMEMLIMIT: once what lives in the heap comes near it, the server does little but collect (docs/performance.md).
"""


class CannotStart(Exception):
    """The server does not come up; the text says why and what to do."""


class Wakes:
    """Sleep that signals, the end of a child and a word from the worker interrupt."""

    def __init__(self) -> None:
        self.stopped = False
        self._signals, wake = os.pipe()
        os.set_blocking(self._signals, False)
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
            signal.signal(number, lambda *_: None)

    def sleep(self, seconds: float, *files: int) -> list[int]:
        """At most so long; which of `files` can be read."""
        if self.stopped:
            return []
        ready, _, _ = select.select([self._signals, *files], [], [], seconds)
        if self._signals in ready:
            said = os.read(self._signals, 4096)
            self.stopped = signal.SIGTERM in said or signal.SIGINT in said
        return [file for file in ready if file != self._signals]


class Host:
    """Keeps server and worker alive until told to stop or idle."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._files = Files(Path(plan.state_dir))
        self._log = HostLog(plan.log_level, plan.log_format)
        self._state = HostState(host=Process.of(os.getpid()), settings=plan.settings)
        self._wakes = Wakes()
        self._server: subprocess.Popen[bytes] | None = None
        self._worker: subprocess.Popen[bytes] | None = None
        self._polls: list[int] = []
        self._logs: list[IO[bytes]] = []

    def run(self) -> None:
        """Start both, keep them, end them."""
        last = self._files.read()
        if last is not None:
            self._state.port, self._state.ui_port = last.port, last.ui_port
            end_leftovers(last)
        self._files.used.touch()
        try:
            self._start()
            self._keep()
        except CannotStart as error:
            self._state.error = str(error)
            self._files.write(self._state)
            raise
        finally:
            self._end(self._worker, self._plan.drain_timeout + 5)
            if not self._has_cleared_up():
                self._clear()
            self._end(self._server, 10)
            for file in self._logs:
                file.close()
        self._files.state.unlink(missing_ok=True)

    def _has_cleared_up(self) -> bool:
        """Only a worker that was the first has: one that came after another goes on with what that one has sealed."""
        return self._worker is not None and self._worker.returncode == 0 and self._state.worker_restarts == 0

    def _clear(self) -> None:
        with suppress(subprocess.TimeoutExpired):
            subprocess.run(self._plan.clear, stdin=subprocess.DEVNULL, timeout=CLEAR_SECONDS, check=False)  # noqa: S603 - ourselves

    def _start(self) -> None:
        """The server, and beside it, since both take their time, the worker, which waits for it."""
        for _ in range(3):
            self._choose_ports()
            self._spawn_server()
            self._spawn_worker("--alone")
            if self._server_up():
                return
            self._end(self._worker, 1)
            self._end(self._server, 5)
            self._state.port = self._state.ui_port = 0
        raise CannotStart(f"the Temporal server does not start. its log says why: {self._files.log('server')}")

    def _choose_ports(self) -> None:
        self._state.port, self._state.ui_port = _free(self._state.port), _free(self._state.ui_port)

    def _spawn_server(self) -> None:
        discard_unproven(self._files)
        self._server = self._spawn("server", self._plan.server, SERVER_MEMORY)
        self._state.server = Process.of(self._server.pid)
        self._files.write(self._state)

    def _server_up(self) -> bool:
        """Whether it comes to listen. Until then whoever wants something of it asks again."""
        deadline = time.monotonic() + SERVER_SECONDS
        while time.monotonic() < deadline and not self._wakes.stopped:
            if self._server is None or self._server.poll() is not None:
                return False
            with suppress(OSError), socket.create_connection(("127.0.0.1", self._state.port), 1):
                self._files.unproven.unlink(missing_ok=True)
                return True
            self._wakes.sleep(SERVER_POLL_SECONDS)
        return self._wakes.stopped

    def _spawn_worker(self, *options: str) -> None:
        """With a pipe on which it says that it polls."""
        for file in self._polls:
            os.close(file)
        reads, writes = os.pipe()
        self._polls = [reads]
        command = [*self._plan.worker, "--ready-fd", str(writes), *options]
        try:
            self._worker = self._spawn("worker", command, {}, writes)
        finally:
            os.close(writes)
        self._state.worker = Process.of(self._worker.pid)
        self._files.write(self._state)

    def _spawn(
        self, name: str, command: Sequence[str], variables: dict[str, str], *inherited: int
    ) -> subprocess.Popen[bytes]:
        file = self._files.log(name).open("ab")
        self._logs.append(file)
        try:
            return subprocess.Popen(  # noqa: S603 - our own worker, or the configured Temporal server
                [self._with_ports(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                env=variables | os.environ,
                start_new_session=True,
                pass_fds=inherited,
            )
        except OSError as error:
            advice = "name a Temporal CLI that can, in COUNTERSIGN_TEMPORAL_BINARY"
            raise CannotStart(f"{command[0]} cannot be started: {error.strerror}. {advice}") from error

    def _with_ports(self, part: str) -> str:
        return part.replace("{port}", str(self._state.port)).replace("{ui_port}", str(self._state.ui_port))

    def _keep(self) -> None:
        """Restart what died, say when it is ready, and stop when idle."""
        backoff, started, idle_checked = 1.0, time.monotonic(), time.monotonic()
        while not self._wakes.stopped:
            assert self._server is not None
            assert self._worker is not None
            if self._server.poll() is not None:
                self._log.warning("the server died", code=self._server.returncode)
                self._restart_server()
            if self._worker.poll() is not None:
                if time.monotonic() - started > HEALTHY_SECONDS:
                    backoff = 1.0
                self._log.warning("the worker died", code=self._worker.returncode, restart_in=backoff)
                self._wakes.sleep(backoff)
                backoff = min(backoff * 2, MAX_BACKOFF_SECONDS)
                started = time.monotonic()
                self._state.worker_restarts += 1
                self._spawn_worker()
            if self._files.read() is None:
                self._files.write(self._state)
            if time.monotonic() - idle_checked > IDLE_CHECK_SECONDS:
                idle_checked = time.monotonic()
                if self._idle():
                    self._log.info("idle, so ending", after=self._plan.idle_timeout)
                    return
            self._hear(self._wakes.sleep(TICK_SECONDS, *self._polls))

    def _restart_server(self) -> None:
        """Where it was, if that is free; a worker that knows another address is ended, and so started again."""
        before = self._state.address
        for _ in range(3):
            self._choose_ports()
            self._spawn_server()
            if self._server_up():
                break
            self._end(self._server, 5)
            self._state.port = self._state.ui_port = 0
        else:
            raise CannotStart(f"the Temporal server does not start. its log says why: {self._files.log('server')}")
        if self._state.address != before:
            self._end(self._worker, self._plan.drain_timeout)

    def _hear(self, files: list[int]) -> None:
        """The worker has said that it polls, or has ended without a word."""
        for file in files:
            said = os.read(file, 16)
            os.close(file)
            self._polls.remove(file)
            if said and not self._state.ready:
                self._state.ready = True
                self._files.write(self._state)

    def _idle(self) -> bool:
        """Whether no command was given for `idle_timeout` seconds and nothing goes on by itself (`AT_WORK`)."""
        if not self._files.used.exists():
            self._files.used.touch()
        if time.time() - self._files.used.stat().st_mtime < self._plan.idle_timeout:
            return False
        path = f"/api/v1/namespaces/{urllib.parse.quote(self._plan.namespace, safe='')}/workflow-count"
        query = urllib.parse.urlencode({"query": AT_WORK})
        try:
            with urllib.request.urlopen(f"{self._state.ui}{path}?{query}", timeout=RPC_SECONDS) as answer:  # noqa: S310 - our own server, by HTTP
                return int(json.load(answer).get("count", 0)) == 0
        except (OSError, ValueError) as error:
            self._log.warning("nobody knows whether anything is going on", reason=str(error))
            return False

    @staticmethod
    def _end(process: subprocess.Popen[bytes] | None, grace: float) -> None:
        if process is None or process.poll() is not None:
            return
        process.terminate()
        try:
            process.wait(grace)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)


def _free(preferred: int) -> int:
    """`preferred` if nobody listens there, else a free port: an address that people have open stays the same."""
    for port in (preferred, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with suppress(OSError):
                probe.bind(("127.0.0.1", port))
                return int(probe.getsockname()[1])
    raise CannotStart("no port is free on 127.0.0.1. end something that listens")


def main() -> None:
    """Be the host that the plan on standard input describes, unless there is one."""
    plan = Plan(**json.load(sys.stdin))
    log = HostLog(plan.log_level, plan.log_format)
    with Files(Path(plan.state_dir)).lock.open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            log.info("there is a host already", state=plan.state_dir)
            return
        try:
            Host(plan).run()
        except CannotStart as error:
            log.error("the host could not start", reason=str(error))
            sys.exit(3)


if __name__ == "__main__":
    main()
