"""Names that commands, clients and workers have to agree on."""

from __future__ import annotations

import socket
from pathlib import Path

LOCAL_SESSION = "local"
"""The session of rounds that stand alone."""

ROUNDS = "ExecutionStatus = 'Running' AND WorkflowType = 'VerificationWorkflow'"
"""What does not like to be disturbed; sessions and todos go on with the next worker as if nothing had been."""

AT_WORK = (
    "ExecutionStatus = 'Running' AND (WorkflowType = 'VerificationWorkflow' OR WorkflowType = 'NotificationWorkflow'"
    " OR CountersignSessionStatus = 'running')"
)
"""What a host stays for: rounds, sessions that may go on by themselves, people who are to be told or reminded yet.

Sessions that are paused or over, and todos, keep no host: what they wait for is a person's command, which starts one.
Their timers are kept by the server's file, and fire then if they are overdue.
"""


def host_id() -> str:
    """The name of this machine, by which workers that see its paths are found."""
    return socket.gethostname()


HOSTS = "hosts"
"""The file of a restored state directory that names the machines whose todos are in it, a line each."""


def former_hosts(state_dir: Path) -> tuple[str, ...]:
    """Other machines in whose place this one reads workspaces and runs worker commands: those of a restored backup."""
    file = state_dir / HOSTS
    names = file.read_text().split() if file.exists() else []
    return tuple(name for name in names if name != host_id())
