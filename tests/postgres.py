"""A private PostgreSQL server for tests: started in a folder of its own, killed and started again at will.

It speaks on a loopback port, with passwords, and on a Unix socket. PostgreSQL refuses to run as root, so there its
programs run as the user `postgres`.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil
import psycopg
from psycopg import sql

from tests.ports import held_for

PASSWORD = "s3cret-of-the-tests"
"""Of every role: what must never be shown is easy to look for."""

SUPERUSER = "postgres"
PATIENCE_SECONDS = 240.0
"""After a kill PostgreSQL first has every file of every database on the disk."""

_SYSTEM_USER = "postgres"
_SETTINGS = {"shared_buffers": "32MB", "max_connections": "80", "max_wal_size": "256MB", "log_min_messages": "warning"}


def binaries() -> Path:
    """Where this machine's newest PostgreSQL is. Fails where there is none."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    beside = shutil.which("initdb")
    assert found or beside, "these tests need PostgreSQL: run scripts/setup --tests"
    return found[-1].parent if found else Path(str(beside)).resolve().parent


class Cluster:
    """One server; `folder` holds its data (default: a new folder, removed by `remove`). `start` before use.

    Durable as PostgreSQL is by default: what was committed is on the disk.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or Path(tempfile.mkdtemp(prefix="countersign-pg-"))
        self.port = held_for(self)
        self._process: subprocess.Popen[bytes] | None = None
        self._initialise()

    @property
    def pid(self) -> int:
        """The postmaster's process id. Fails while it is down."""
        assert self._process is not None, "the server is down"
        return self._process.pid

    def url(self, database: str, user: str = SUPERUSER) -> str:
        """How `user` comes to `database` over the loopback, password included."""
        return f"postgresql://{user}:{PASSWORD}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Start the server and wait until it answers; after `kill` that includes its recovery."""
        assert self._process is None, "the server is up"
        options = [f"--{name}={value}" for name, value in _SETTINGS.items()]
        command = [binaries() / "postgres", "-D", self.folder / "data", "-p", str(self.port), *options]
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            with self._log().open("ab") as log:
                self._process = subprocess.Popen(
                    _as_postgres([*command, "-h", "127.0.0.1", "-k", self.folder]),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd=self.folder,
                    start_new_session=True,
                )
            if self._answers(deadline):
                return
            self._process = None
            assert time.monotonic() < deadline, f"the server did not start:\n{self._log().read_text()[-2000:]}"
            time.sleep(0.1)

    def stop(self) -> None:
        """Shut the server down as an administrator does: open connections end with 57P01."""
        self._end([psutil.Process(self.pid)], signal.SIGINT)

    def kill(self) -> None:
        """Kill -9 the postmaster and every process of its own, as a crash of the machine would."""
        postmaster = psutil.Process(self.pid)
        postmaster.suspend()  # or it would put new processes in the place of the dead
        self._end([postmaster, *postmaster.children(recursive=True)], signal.SIGKILL)

    def remove(self) -> None:
        """Kill the server if it is up, and remove its files."""
        if self._process is not None:
            self.kill()
        shutil.rmtree(self.folder)

    def create_database(self, name: str, owner: str = SUPERUSER) -> str:
        """Make an empty database; its URL for the superuser."""
        self.execute(
            sql.SQL("CREATE DATABASE {} OWNER {} TEMPLATE template0").format(
                sql.Identifier(name), sql.Identifier(owner)
            )
        )
        return self.url(name)

    def drop_database(self, name: str) -> None:
        """Remove a database and who is in it; every one that stays makes the next recovery slower."""
        self.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def create_role(self, name: str, options: str = "LOGIN") -> None:
        """Make a role that may log in with the tests' password, or has other `options`, such as CREATEROLE."""
        self.execute(
            sql.SQL("CREATE ROLE {} {} PASSWORD {}").format(
                sql.Identifier(name),
                sql.SQL(options),
                sql.Literal(PASSWORD),
            )
        )

    def execute(self, statement: Any, database: str = "postgres", user: str = SUPERUSER) -> list[tuple[Any, ...]]:
        """Run one statement of its own transaction; its rows, if it has any."""
        with psycopg.connect(self.url(database, user), autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def _initialise(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        password = self.folder / "password"
        password.write_text(PASSWORD)
        if os.getuid() == 0:
            for path in (self.folder, password):
                shutil.chown(path, _SYSTEM_USER, _SYSTEM_USER)
        options = [
            "--auth-local=trust",
            "--auth-host=scram-sha-256",
            "--encoding=UTF8",
            "--locale=C.UTF-8",
            "--no-sync",
        ]
        command = [binaries() / "initdb", "-D", self.folder / "data", "-U", SUPERUSER, f"--pwfile={password}", *options]
        made = subprocess.run(
            _as_postgres(command),
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        assert made.returncode == 0, made.stderr

    def _answers(self, deadline: float) -> bool:
        """Whether the server comes up; False when its process ends first."""
        assert self._process is not None
        while self._process.poll() is None:
            assert time.monotonic() < deadline, f"the server does not answer:\n{self._log().read_text()[-2000:]}"
            try:
                self.execute("SELECT 1")
            except psycopg.OperationalError:
                time.sleep(0.05)
            else:
                return True
        return False

    def _end(self, processes: list[psutil.Process], how: signal.Signals) -> None:
        assert self._process is not None
        for process in processes:
            process.send_signal(how)
        self._process.wait(PATIENCE_SECONDS)
        self._process = None
        deadline = time.monotonic() + PATIENCE_SECONDS
        while any(map(_alive, processes)):
            assert time.monotonic() < deadline, "a process of the server does not end"
            time.sleep(0.01)

    def _log(self) -> Path:
        return self.folder / "log"


def _as_postgres(command: list[Any]) -> list[Any]:
    if os.getuid() != 0:
        return command
    return ["setpriv", f"--reuid={_SYSTEM_USER}", f"--regid={_SYSTEM_USER}", "--init-groups", *command]


def _alive(process: psutil.Process) -> bool:
    """Whether it still runs; its parent may not have looked yet at one that is dead."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
