"""Calls `ssh-keygen`: nothing but its arguments, a private folder and a minimal environment. It judges nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from domain.errors import Cause, Unavailable

PROGRAM = "ssh-keygen"
PATIENCE_SECONDS = 30.0
"""For one call that asks nobody anything: milliseconds, on a machine that has nothing else to do."""

INSTALL = "install OpenSSH's client (Debian: openssh-client), version 8.9 or later, where this runs"
"""What helps where it is missing, or too old to say what is expected of it."""


class Said:
    """What a call came to."""

    def __init__(self, done: subprocess.CompletedProcess[bytes]) -> None:
        self.ok = done.returncode == 0
        self.signalled = done.returncode < 0
        self.out = done.stdout.decode(errors="replace")
        self.err = done.stderr.decode(errors="replace")

    @property
    def last(self) -> str:
        """The last line of what it complained of."""
        lines = [line.strip() for line in self.err.splitlines() if line.strip()]
        return lines[-1] if lines else ""


@contextmanager
def folder() -> Iterator[Path]:
    """A folder that nobody else reads. Raises `Unavailable` (disk_full) where there is no room for one."""
    try:
        with tempfile.TemporaryDirectory(prefix="countersign-signature-") as made:
            yield Path(made)
    except OSError as error:
        raise Unavailable(
            Cause.DISK_FULL, f"no temporary file can be written: {error.strerror}", "make room, then ask again"
        ) from error


def keygen(*arguments: str, text: bytes = b"", agent: bool = False) -> Said:
    """One call. `agent`: with the user's own agent and terminal, and as long as the key asks. Dates are in UTC.

    Raises `Unavailable` where the program is missing (system_error), takes longer or is killed (service_unavailable).
    """
    program = shutil.which(PROGRAM)
    if program is None:
        what = "ssh-keygen is not there, and signatures are made and looked at with it"
        raise Unavailable(Cause.SYSTEM_ERROR, what, INSTALL)
    environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "TZ": "UTC"}
    environment = {**os.environ, **environment} if agent else environment
    try:
        said = Said(
            subprocess.run(  # noqa: S603 - OpenSSH's own, without a shell
                [program, *arguments],
                input=text,
                capture_output=True,
                env=environment,
                timeout=None if agent else PATIENCE_SECONDS,
                check=False,
            )
        )
    except subprocess.TimeoutExpired as error:
        raise _lost(f"did not end within {PATIENCE_SECONDS:g} s") from error
    except OSError as error:
        raise Unavailable(Cause.SYSTEM_ERROR, f"{program} cannot be started: {error.strerror}", INSTALL) from error
    if said.signalled:
        raise _lost("was killed")
    return said


def _lost(how: str) -> Unavailable:
    return Unavailable(Cause.SERVICE_UNAVAILABLE, f"ssh-keygen {how}", "ask again")
