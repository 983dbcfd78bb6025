"""A server on loopback that answers what it is told to, for checks that ask from the host."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from pydantic import TypeAdapter

from domain.base import canonical_json
from domain.checks import Item
from domain.criteria import Criterion
from domain.errors import Unavailable
from domain.order import Resources
from domain.ports import CheckContext, Finding
from tests.listening import listening

CRITERION: TypeAdapter[Any] = TypeAdapter(Criterion)
CONTEXT = CheckContext(round="round/s/t/1", tree="0" * 64, image="", resources=Resources())

HANG_SECONDS = 120.0
"""How long `/hang` does."""


@dataclass
class Asked:
    """A request that a server was sent."""

    path: str
    headers: dict[str, str]


@dataclass
class Service:
    """A server on loopback: answers by path, without the query; `raw` bytes are sent as they are."""

    port: int = 0
    answers: dict[str, tuple[int, dict[str, str], bytes]] = field(default_factory=dict)
    raw: dict[str, bytes] = field(default_factory=dict)
    hang: threading.Event = field(default_factory=threading.Event)
    asked: list[Asked] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def says(self, path: str, body: Any = b"", status: int = 200, **headers: str) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.answers[path] = (status, {name.replace("_", "-"): value for name, value in headers.items()}, data)

    def redirects(self, path: str, to: str, status: int = 302) -> None:
        self.says(path, status=status, Location=to)

    @property
    def paths(self) -> list[str]:
        return [asked.path for asked in self.asked]


def _handler(service: Service) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            service.asked.append(Asked(self.path, {name.lower(): value for name, value in self.headers.items()}))
            path = self.path.partition("?")[0]
            if path in service.raw:
                self.wfile.write(service.raw[path])
                self.close_connection = True
                return
            if path == "/hang":
                service.hang.wait(HANG_SECONDS)
                return
            status, headers, body = service.answers.get(path, (404, {}, b'{"message": "Not Found"}'))
            try:
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # the client had read enough

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: it would go to the tests' output."""

    return Handler


@contextmanager
def serving() -> Iterator[Service]:
    service = Service()
    with listening(_handler(service)) as service.port:
        try:
            yield service
        finally:
            service.hang.set()


def item(type: str, params: dict[str, Any], limit: float) -> Item:
    criterion = CRITERION.validate_python({"id": "AC-1", "type": type, "params": params, "timeout": limit})
    return Item(spelling="criterion", criterion=criterion)


def stored(finding: Finding) -> str:
    """The finding as it becomes evidence."""
    return canonical_json(finding.model_dump(mode="json")).decode()


async def refused(found: Any) -> Unavailable:
    with pytest.raises(Unavailable) as caught:
        await found
    return caught.value
