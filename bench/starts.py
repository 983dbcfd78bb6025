"""How long the command line takes to start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from bench.numbers import interleaved, seconds, summary
from bench.project import Project, Tree, opened

TINY = Tree("1 file", 1, 100)


def measure(folder: Path, runs: int, quick: bool) -> dict[str, Any]:  # noqa: ARG001 - one form is short enough
    """Seconds of commands that start nothing, beside those of Python alone."""
    with opened(folder, TINY) as project:
        project.verify(1)
        order = project.order(1)
        times = interleaved(
            runs,
            {
                "python -c pass": lambda: seconds(_python),
                "countersign --help": lambda: _took(project, "--help"),
                "countersign verify --help": lambda: _took(project, "verify", "--help"),
                "countersign log show": lambda: _took(project, "log", "show", "checks-1"),
                "countersign verify, the same work": lambda: _took(project, "verify", order),
                "countersign status": lambda: _took(project, "status"),
            },
        )
    return {"starts": {name: summary(values) for name, values in times.items()}}


def _took(project: Project, *arguments: str) -> float:
    return seconds(lambda: project.countersign(*arguments))


def _python() -> None:
    subprocess.run([sys.executable, "-c", "pass"], check=True)
