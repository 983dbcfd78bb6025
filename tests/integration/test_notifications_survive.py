"""Somebody who is told of a todo hangs, fails, and is back, and the worker is killed meanwhile: the message arrives."""

from __future__ import annotations

import hmac
import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.integration.conftest import Project, alive, wait_for
from tests.integration.test_session_commands import session_file
from tests.listening import listening
from tests.receiver import Receiver

SECRET = "a-secret-of-the-hook"
TABLE = """
[notifications]
remind_after = 600
[notifications.webhooks.ci]
url_variable = "CI_URL"
secret_variable = "CI_SECRET"
"""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    with ExitStack() as stack:
        made.port = stack.enter_context(listening(made.handler()))
        stack.callback(made.may_answer.set)
        yield made


def asked(project: Project, receiver: Receiver, name: str) -> None:
    """A todo that waits for a person."""
    project.write(countersign_dot_toml=TABLE)
    project.environment |= {"CI_URL": f"http://127.0.0.1:{receiver.port}/hook", "CI_SECRET": SECRET}
    project.answer("session", "create", session_file(project, name, {"id": "a", "content": "Some work"}), "--json")
    project.answer("todo", "start", f"{name}/a", "--json")
    project.answer("todo", "block", f"{name}/a", "--question", "which one?", "--json")


def told(project: Project, name: str) -> list[dict[str, Any]]:
    return [row for row in project.rows(f"{name}/a") if row["action"] == "notified"]


def test_a_message_arrives_when_its_receiver_is_back(project: Project, receiver: Receiver) -> None:
    asked(project, receiver, "s")
    assert receiver.asked.wait(120), "it hangs with the first try"
    answer = project.answer("todo", "show", "s/a", "--json")
    assert answer["status"] == "blocked", "nobody waits for that"
    worker = project.status()["worker_pid"]
    os.kill(worker, signal.SIGKILL)
    receiver.status = 500
    receiver.may_answer.set()
    wait_for(lambda: len(receiver.got) > 1)
    unblocked = project.answer("unblock", "s/a", "--clarification", "the first", "--json")
    assert unblocked["status"] == "in_progress", "nor for what is refused"
    assert told(project, "s") == []
    receiver.status = 200
    wait_for(lambda: len(told(project, "s")) == 2)
    assert sorted(row["payload"]["kind"] for row in told(project, "s")) == ["question", "resolved"]
    by_id: dict[str, list[dict[str, Any]]] = {}
    for _, headers, body in receiver.got:
        signed = headers["Countersign-Timestamp"].encode() + b"." + body
        assert headers["Countersign-Signature"] == "sha256=" + hmac.digest(SECRET.encode(), signed, "sha256").hex()
        by_id.setdefault(headers["Countersign-Delivery"], []).append(json.loads(body))
    assert set(by_id) == {"notification/s/a/1/question/ci", "notification/s/a/2/resolved/ci"}
    assert len(by_id["notification/s/a/1/question/ci"]) >= 2
    assert {one["reason"] for one in by_id["notification/s/a/1/question/ci"]} == {"which one?"}
    assert SECRET not in json.dumps(project.rows("s/a"))


@pytest.mark.slow
def test_the_host_stays_for_who_is_to_be_told_yet(project: Project, receiver: Receiver) -> None:
    """The session is paused, so that nothing else keeps it: what is sent is refused until long after."""
    project.environment["COUNTERSIGN_IDLE_TIMEOUT"] = "1"
    receiver.status = 500
    receiver.may_answer.set()
    asked(project, receiver, "s")
    project.answer("session", "pause", "s", "--json")
    host = int(project.status()["host_pid"])
    several = time.monotonic() + 40
    wait_for(lambda: time.monotonic() > several)
    assert alive(host)
    receiver.status = 200
    wait_for(lambda: bool(told(project, "s")))
