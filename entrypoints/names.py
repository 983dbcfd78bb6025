"""Names that commands, clients and workers have to agree on."""

from __future__ import annotations

import socket

LOCAL_SESSION = "local"
"""The session of rounds that stand alone."""


def host_id() -> str:
    """The name of this machine, by which workers that see its paths are found."""
    return socket.gethostname()
