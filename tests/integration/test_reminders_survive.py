"""Reminders of todos that wait for people come when worker, server and host were killed meanwhile, each one once."""

from __future__ import annotations

import json
import os
import signal as signals
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from tests.integration.conftest import Project, alive, wait_for
from tests.listening import listening
from tests.people import question, rows, session, view

CONFIGURED = """[notifications]
remind_after = 20
second_after = 0

[notifications.webhooks.hook]
url = "http://127.0.0.1:{port}/hook"
secret_variable = "HOOK_SECRET"
"""
SECRET = "w3bh00k-s3cret-of-the-tests"


class Heard:
    """What a webhook was told."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self._lock = threading.Lock()

    def take(self, message: dict[str, Any]) -> None:
        with self._lock:
            self.messages.append(message)

    def of(self, kind: str) -> Counter[str]:
        """Different deliveries of a kind by todo: one that is sent twice has the same id."""
        with self._lock:
            told = {one["id"]: one["todo"] for one in self.messages if one["kind"] == kind}
        return Counter(told.values())


@pytest.fixture
def heard(project: Project) -> Iterator[Heard]:
    """A webhook that the project's people are told by."""
    hook = Heard()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            hook.take(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: it would go to the tests' output."""

    with listening(Handler) as port:
        (project.root / "countersign.toml").write_text(CONFIGURED.format(port=port))
        project.environment["HOOK_SECRET"] = SECRET
        yield hook


@pytest.mark.parametrize("count", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_they_come_all_the_same(project: Project, heard: Heard, count: int) -> None:
    names = [f"t{number}" for number in range(count)]
    session(project, "crowd", *names)
    for name in names:
        question(project, f"crowd/{name}", f"which one for {name}?")
    wait_for(lambda: heard.of("question") == Counter(names))
    before = project.status()
    for victim in ("host_pid", "worker_pid", "server_pid"):
        os.kill(before[victim], signals.SIGKILL)
    wait_for(lambda: not any(alive(before[victim]) for victim in ("host_pid", "worker_pid", "server_pid")))
    assert project.run("up").returncode == 0
    wait_for(lambda: heard.of("reminder") == Counter(names))
    wait_for(lambda: all(rows(project, f"crowd/{name}", "reminded") for name in names))
    told = [[row["payload"]["number"] for row in rows(project, f"crowd/{name}", "reminded")] for name in names]
    assert told == [[1]] * count
    assert {view(project, f"crowd/{name}")["status"] for name in names} == {"blocked"}, "a wait ends by people alone"
    assert heard.of("question") == Counter(names), "nobody was told once more that it waits"
