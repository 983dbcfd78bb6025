"""Somebody who is told by HTTP, and answers as a test wants it."""

from __future__ import annotations

import asyncio
import socket
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler


@dataclass
class Receiver:
    """Answers with `status`, once it may; notes what it is sent. `goes_to`: where it redirects."""

    status: int = 200
    goes_to: str = ""
    drops: bool = False
    may_answer: threading.Event = field(default_factory=threading.Event)
    asked: threading.Event = field(default_factory=threading.Event)
    got: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    port: int = 0

    async def is_asked(self) -> None:
        """Wait until something has come."""
        assert await asyncio.to_thread(self.asked.wait, 240), "it never came"

    def handler(receiver) -> type[BaseHTTPRequestHandler]:  # noqa: N805 - the handler inside has its own self
        """What the server runs."""

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.got.append((self.path, dict(self.headers), body))
                receiver.asked.set()
                receiver.may_answer.wait()
                if receiver.drops:
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
                self.send_response(receiver.status)
                if receiver.goes_to:
                    self.send_header("Location", receiver.goes_to)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Nothing is said: the test looks at what was sent."""

        return Handler
