"""Temporal's remote codec protocol: what reads payloads for the Web UI and `temporal`, on this machine alone.

Who asks has to know the endpoint, whose path follows from the key; a page in a browser has to be one that was named.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import sys
from collections.abc import Awaitable, Callable, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from google.protobuf.json_format import MessageToJson, Parse, ParseError
from temporalio.api.common.v1 import Payload, Payloads

from adapters.encryption.codec import EncryptedPayloads
from adapters.encryption.keys import Keys
from domain.errors import Cause, Unavailable

MAX_BYTES = 32 * 2**20
"""Of one request: all payloads of an event, each of at most two megabytes as it comes from the server."""

LOOPBACK = "127.0.0.1"
SILENT_SECONDS = 30.0
PATH_DIGITS = 32
PURPOSE = b"countersign codec-server"
HEADERS = "content-type, x-namespace, authorization, authorization-extras"
"""What the Web UI sends along; of these only the first matters here."""

Codec = Callable[[Sequence[Payload]], Awaitable[list[Payload]]]


def path_of(keys: Keys) -> str:
    """Which path of the server is the endpoint: the same for the same first key, and nobody's to guess."""
    return "/" + hmac.new(next(iter(keys.values())), PURPOSE, hashlib.sha256).hexdigest()[:PATH_DIGITS]


class CodecServer(ThreadingHTTPServer):
    """Listens on loopback; a `port` of 0 is a free one. `origins` are those of the pages that may ask."""

    daemon_threads = True

    def __init__(self, port: int, keys: Keys, origins: Sequence[str]) -> None:
        """Raises `Unavailable` where somebody has the port."""
        codec = EncryptedPayloads(keys)
        self.origins = frozenset(origins)
        self.codecs: dict[str, Codec] = {
            f"{path_of(keys)}/{name}": getattr(codec, name) for name in ("encode", "decode")
        }
        self._path = path_of(keys)
        try:
            super().__init__((LOOPBACK, port), _Request)
        except OSError as error:
            reason = f"nothing can listen at {LOOPBACK}:{port}: {error.strerror}"
            raise Unavailable(Cause.SYSTEM_ERROR, reason, "choose another port: --port") from error

    @property
    def endpoint(self) -> str:
        """What the Web UI and `temporal` are told."""
        return f"http://{LOOPBACK}:{self.server_port}{self._path}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """One that went away before its answer is nobody's fault."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Request(BaseHTTPRequestHandler):
    server: CodecServer
    timeout = SILENT_SECONDS
    protocol_version = "HTTP/1.1"

    def do_OPTIONS(self) -> None:
        """A browser asks whether a page may."""
        if self._known():
            self._answer(HTTPStatus.NO_CONTENT, b"")

    def do_POST(self) -> None:
        """Encode or decode."""
        if not self._known():
            return
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            self._refuse(HTTPStatus.LENGTH_REQUIRED, "expected a Content-Length")
        elif int(length) > MAX_BYTES:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"expected {MAX_BYTES} bytes at most")
        else:
            self._work(self.rfile.read(int(length)))

    def _work(self, body: bytes) -> None:
        try:
            done = asyncio.run(self._run(Parse(body, Payloads()).payloads))
        except (ParseError, UnicodeDecodeError) as error:
            self._refuse(HTTPStatus.BAD_REQUEST, f"expected payloads as JSON: {error}")
        except Unavailable as error:
            self._refuse(HTTPStatus.BAD_REQUEST, str(error))
        else:
            self._answer(HTTPStatus.OK, MessageToJson(Payloads(payloads=done), indent=None).encode())

    async def _run(self, payloads: Sequence[Payload]) -> list[Payload]:
        return await self.server.codecs[self._asked](payloads)

    @property
    def _asked(self) -> str:
        """Without the query, which newer Web UIs send and which says nothing to this server."""
        return self.path.partition("?")[0]

    def _known(self) -> bool:
        """Whether that is asked of us, and by whom it may be; answered if not."""
        if self._asked not in self.server.codecs:
            self._refuse(HTTPStatus.NOT_FOUND, "not here")
            return False
        origin = self.headers.get("Origin")
        if origin is not None and origin not in self.server.origins:
            self._refuse(HTTPStatus.FORBIDDEN, f"not from {origin}: see --origin")
            return False
        return True

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        self.close_connection = True  # what it sent has not been read
        self._answer(status, f"{why}\n".encode(), "text/plain; charset=utf-8")

    def _answer(self, status: HTTPStatus, body: bytes, kind: str = "application/json") -> None:
        self.send_response(status)
        origin = self.headers.get("Origin")
        if origin in self.server.origins:
            self.send_header("Access-Control-Allow-Origin", origin)
            self.send_header("Access-Control-Allow-Methods", "POST")
            self.send_header("Access-Control-Allow-Headers", HEADERS)
            self.send_header("Access-Control-Allow-Credentials", "true")
            self.send_header("Access-Control-Allow-Private-Network", "true")
        self.send_header("Vary", "Origin")
        self.send_header("Cache-Control", "no-store")
        if status is not HTTPStatus.NO_CONTENT:
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing: a path lets in whoever reads it."""
