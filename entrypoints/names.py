"""Names that commands, clients and workers have to agree on."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adapters.config.settings import Settings

LOCAL_SESSION = "local"
"""The session of rounds that stand alone."""

IMAGES_DIR = Path(__file__).resolve().parent.parent / "sandbox_images"
"""The folders of Dockerfiles that orders name images by."""

ROUNDS = "ExecutionStatus = 'Running' AND WorkflowType = 'VerificationWorkflow'"
"""What does not like to be disturbed; sessions and todos go on with the next worker as if nothing had been."""

AT_WORK = (
    "ExecutionStatus = 'Running' AND (WorkflowType = 'VerificationWorkflow' OR WorkflowType = 'NotificationWorkflow'"
    " OR WorkflowType = 'StandaloneActWorkflow'"
    " OR CountersignSessionStatus = 'running')"
)
"""What a host stays for: rounds, acts on them, sessions that may go on by themselves, people to be told or reminded.

Sessions that are paused or over, and todos, keep no host: what they wait for is a person's command, which starts one.
Their timers are kept by the server's file, and fire then if they are overdue.
"""


def host_id() -> str:
    """The name of this machine, by which workers that see its paths are found."""
    return socket.gethostname()


HOSTS = "hosts"
"""The file of a restored state directory that names the machines whose todos are in it, a line each."""


def trail_file(settings: Settings) -> Path | None:
    """The file that has the trail; None for a trail on a server."""
    _, sqlite, path = settings.database_url.partition("sqlite:///")
    return Path(path) if sqlite else None


def former_hosts(state_dir: Path) -> tuple[str, ...]:
    """Other machines in whose place this one reads workspaces and runs worker commands: those of a restored backup."""
    file = state_dir / HOSTS
    names = file.read_text().split() if file.exists() else []
    return tuple(name for name in names if name != host_id())


PACKAGES = ("domain", "activities", "workflows", "adapters", "entrypoints")


def code_version() -> str:
    """When what a host runs was last changed: an upgrade must not leave the old code at work."""
    root = Path(__file__).resolve().parent.parent
    files = (path for package in PACKAGES for path in (root / package).rglob("*.py"))
    return str(max(path.stat().st_mtime_ns for path in files))
