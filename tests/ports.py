"""Ports of loopback for servers that are told where to listen."""

from __future__ import annotations

import socket
import weakref


def held() -> socket.socket:
    """A socket with a port that nobody else is given while it is open.

    It does not listen, so that a server which sets SO_REUSEADDR, as they all do, can: now, and again after it ended.
    """
    holding = socket.socket()
    holding.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holding.bind(("127.0.0.1", 0))
    return holding


def held_for(owner: object) -> int:
    """Such a port, for as long as the owner is there."""
    holding = held()
    weakref.finalize(owner, holding.close)
    return int(holding.getsockname()[1])
