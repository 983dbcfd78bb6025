"""When the embedded host ends itself: nobody asked anything of it for a while, and nothing goes on by itself."""

from __future__ import annotations

import json
import os
import threading
import time
import urllib.parse
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from entrypoints import embedded
from entrypoints.embedded import Host
from entrypoints.host_files import Files, HostState, Plan, Process
from entrypoints.host_log import HostLog
from entrypoints.names import AT_WORK

TIMEOUT = 900.0


class Server(HTTPServer):
    """Counts workflows as the Web UI's server does, which knows `count` of them."""

    count: str = "0"
    asked: list[str]


class Answer(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        body = json.dumps({"count": self.server.count}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing is said: the test looks at what was asked."""


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server(("127.0.0.1", 0), Answer)
    found.asked = []
    thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield found
    found.shutdown()
    thread.join()
    found.server_close()


@pytest.fixture
def host(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    """A host that was last used long ago. It is not run, so it takes no signals of this process."""
    monkeypatch.setattr(embedded, "RPC_SECONDS", 60.0)  # the server answers, however long this process stands still
    made = Host.__new__(Host)
    made._plan = Plan(
        state_dir=str(tmp_path),
        settings={},
        server=[],
        worker=[],
        clear=[],
        namespace="my team",
        idle_timeout=TIMEOUT,
        drain_timeout=0,
        log_level="info",
        log_format="json",
    )
    made._files, made._log = Files(tmp_path), HostLog("error", "json")
    made._state = HostState(host=Process.of(os.getpid()), ui_port=server.server_port)
    made._files.used.touch()
    os.utime(made._files.used, (time.time(), time.time() - TIMEOUT - 1))
    return made


def test_a_host_with_nothing_to_do_is_idle(host: Host, server: Server) -> None:
    assert host._idle()
    url = urllib.parse.urlsplit(server.asked[0])
    assert url.path == "/api/v1/namespaces/my%20team/workflow-count"
    assert urllib.parse.parse_qs(url.query) == {"query": [AT_WORK]}


def test_a_host_at_work_is_not_idle(host: Host, server: Server) -> None:
    server.count = "1"
    assert not host._idle()


def test_a_host_that_was_used_just_now_asks_nobody(host: Host, server: Server) -> None:
    host._files.used.touch()
    assert not host._idle()
    assert server.asked == []


def test_a_host_that_cannot_know_stays(host: Host, server: Server) -> None:
    server.count = "many"
    assert not host._idle()
