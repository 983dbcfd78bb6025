"""A project in a folder of its own, which `countersign` is run in as a person would; nothing of it outlives the run."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

COUNTERSIGN = Path(sys.executable).parent / "countersign"
CHECK = "test -f folder000/file00000.txt"
LIMIT_SECONDS = 300
IDLE_SECONDS = 86_400
FILES_A_FOLDER = 50
SEED = 4


class CannotMeasure(Exception):
    """Why there is no number."""


@dataclass(frozen=True)
class Tree:
    """How large a tree is; the same size is the same tree."""

    name: str
    files: int
    bytes: int

    def write(self, folder: Path) -> None:
        """Make it in `folder`: text files of one size, their content from a seed."""
        random_bytes = random.Random(SEED).randbytes  # noqa: S311 - the same tree every time
        for number in range(self.files):
            path = folder / f"folder{number // FILES_A_FOLDER:03}" / f"file{number:05}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(random_bytes(self.bytes // self.files // 2).hex())


SMALL = Tree("10 MB in 1000 files", 1000, 10_000_000)
LARGE = Tree("100 MB in 5000 files", 5000, 100_000_000)


@dataclass(frozen=True)
class Project:
    """A workspace, its base, and orders with some trivial checks each; `state` is a state directory of its own."""

    root: Path
    state: Path

    @property
    def workspace(self) -> Path:
        """The tree that is verified."""
        return self.root / "work"

    def countersign(self, *arguments: str, expected: int = 0) -> str:
        """Run a command to its end; what it printed. Raises `CannotMeasure` when it ends otherwise than expected."""
        result = subprocess.run(  # noqa: S603 - our own command
            [COUNTERSIGN, *arguments],
            cwd=self.root,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )
        if result.returncode != expected:
            said = (result.stderr.strip() or result.stdout.strip()).splitlines()[-3:]
            raise CannotMeasure(f"countersign {arguments[0]} ended with {result.returncode}: {' / '.join(said)}")
        return result.stdout

    def environment(self) -> dict[str, str]:
        """Of this process, without what would make it another project.

        The host is ended by us: clients that stay connected give no command, so it would be idle to itself.
        """
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("COUNTERSIGN_", "TEMPORAL_"))}
        return kept | {"XDG_STATE_HOME": str(self.state), "COUNTERSIGN_IDLE_TIMEOUT": str(IDLE_SECONDS)}

    def verify(self, checks: int) -> dict[str, Any]:
        """One round of that many trivial checks, which has to pass; its report."""
        report: dict[str, Any] = json.loads(self.countersign("verify", self.order(checks), "--again", "--json"))
        return report

    def order(self, checks: int) -> str:
        """Write an order with that many checks that look whether a file is there; its file's name."""
        named = [{"name": f"check{number:02}", "kind": "command", "command": CHECK} for number in range(checks)]
        order = {
            "id": f"checks-{checks}",
            "content": f"{checks} trivial checks",
            "workspace": "work",
            "base": "base",
            "environment": {"image": "python"},
            "verification": {"checks": named},
        }
        path = self.root / f"checks-{checks}.yaml"
        path.write_text(json.dumps(order))
        return path.name

    def status(self) -> dict[str, Any]:
        """What runs for this project."""
        status: dict[str, Any] = json.loads(self.countersign("status", "--json"))
        return status

    def processes(self) -> dict[str, psutil.Process]:
        """The host's, by what they are."""
        status = self.status()
        return {name: psutil.Process(status[f"{name}_pid"]) for name in ("host", "server", "worker")}

    def image(self, checks: int) -> str:
        """The id of the image that the last round of so many checks ran on."""
        rows = json.loads(self.countersign("log", "show", f"checks-{checks}", "--json"))
        return str(next(row["payload"]["id"] for row in reversed(rows) if row["action"] == "environment_ready"))


@contextmanager
def opened(folder: Path, tree: Tree) -> Iterator[Project]:
    """A project with that tree as its base, and one file of it changed; its host ends with it."""
    name = tree.name.replace(" ", "-")
    project = Project(folder / name, folder / f"{name}-state")
    for part in ("base", "work"):
        tree.write(project.root / part)
    (project.workspace / "folder000" / "file00000.txt").write_text("changed\n")
    try:
        yield project
    finally:
        project.countersign("down")
