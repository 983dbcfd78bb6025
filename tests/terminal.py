"""Runs `countersign` at a terminal of its own, as a person would: what is typed is there when it is asked for."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 300.0
_MAIN = (
    f"import sys; sys.path.insert(0, {str(ROOT)!r}); from entrypoints.cli import person;"
    # Whatever has started the tests: what is tested of that, is tested elsewhere.
    " person.ancestors = lambda: iter(()); from entrypoints.cli.app import main; main()"
)


def at_terminal(
    arguments: tuple[str, ...], cwd: Path, environment: Mapping[str, str], typed: str = ""
) -> tuple[int, str]:
    """The exit code, and all that is shown there: both streams, and the echo of what is typed."""
    mine, its = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-P", "-c", _MAIN, *arguments],
        cwd=cwd,
        env=dict(environment),
        stdin=its,
        stdout=its,
        stderr=its,
        start_new_session=True,
    ) as process:
        os.close(its)
        os.write(mine, typed.encode())
        shown = b""
        with suppress(OSError):  # how a terminal says that nobody is there any more
            while some := os.read(mine, 65536):
                shown += some
        os.close(mine)
        return process.wait(SECONDS), shown.decode(errors="replace").replace("\r\n", "\n")
