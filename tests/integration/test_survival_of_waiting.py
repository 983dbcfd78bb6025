"""Todos that wait for people when worker, server and host are killed: all still wait, and each answer is given once."""

from __future__ import annotations

import json
import os
import signal as signals
import socket
from typing import Any

import pytest

from tests.integration.conftest import Project, alive, wait_for
from tests.people import becomes, claims, has, question, rows, session, signal, status, waits

FAILING: dict[str, Any] = {
    "verification": {"objective_only": True, "checks": [{"name": "ruff", "command": "grep -q never a.txt"}]},
    "safeguards": {"audit_attempts": 1},
}


def kill(project: Project, *victims: str) -> dict[str, Any]:
    """End them the hard way and see them gone; what ran before."""
    before = project.status()
    assert all(before[name] for name in victims), before
    for name in victims:
        os.kill(before[name], signals.SIGKILL)
    wait_for(lambda: not any(alive(before[name]) for name in victims))
    return before


def started_again(project: Project, old: dict[str, Any]) -> bool:
    """Whether another server and another worker run, and the server takes calls."""
    now = project.status()
    if not all(now[name] not in (None, old[name]) for name in ("worker_pid", "server_pid")):
        return False
    host, _, port = now["temporal_address"].rpartition(":")
    with socket.socket() as door:
        return door.connect_ex((host, int(port))) == 0


def standing(project: Project, todos: list[str]) -> tuple[list[tuple[str, str]], list[str]]:
    """Where all of them stand, and which todos are in the inbox; a session that is paused is there, too."""
    listed = sorted(one["todo"] for one in waits(project, "crowd"))
    return [status(project, todo) for todo in todos], [todo for todo in listed if todo]


def waiting_crowd(project: Project, count: int) -> list[str]:
    """So many todos of a session that wait for a person: two have claimed what nothing can check, the others ask."""
    names = [f"t{number}" for number in range(count)]
    session(project, "crowd", *names, safeguards={"pause_on_escalation": False})
    todos = [f"crowd/{name}" for name in names]
    for todo in todos[2:]:
        question(project, todo, f"which one for {todo}?")
    for todo in todos[:2]:
        claims(project, todo, f"for {todo}")
        becomes(project, todo, "needs_human")
    return todos


@pytest.mark.parametrize("count", [5, pytest.param(20, marks=pytest.mark.slow)])
def test_all_still_wait_and_what_was_answered_meanwhile_is_done_once(project: Project, count: int) -> None:
    session(project, "failing", "a", **FAILING)
    claims(project, "failing/a", "for the override")
    becomes(project, "failing/a", "needs_human")
    todos = waiting_crowd(project, count)
    before = standing(project, todos)
    assert len(before[1]) == count

    old = kill(project, "worker_pid", "server_pid")
    wait_for(lambda: started_again(project, old))
    assert standing(project, todos) == before

    # nobody starts another worker, and the server takes what it is sent
    address = kill(project, "host_pid", "worker_pid")["temporal_address"]
    said = {"kind": "check", "by": "ann", "reason": "the rule is wrong here", "acknowledged": ["ruff"]}
    signal(address, "todo/failing/a", "override", said)
    signal(address, "session/crowd", "pause", {"by": "ann", "reason": "lunch"})
    assert rows(project, "failing/a", "human_override") == [], "nobody is there to do it"

    approving = project.start("approve", todos[0], "--reason", "read it", "--json")
    out, err = approving.communicate(timeout=300)
    assert approving.returncode == 0, err
    assert json.loads(out)["status"] == "verified"
    project.answer("unblock", todos[-1], "--clarification", "the first", "--json")
    becomes(project, "failing/a", "verified")
    wait_for(has(project, "crowd/", "paused"))

    assert standing(project, todos[1:-1]) == (before[0][1:-1], sorted(todo.partition("/")[2] for todo in todos[1:-1]))
    done = [
        ("failing/a", "human_override"),
        (todos[0], "approved"),
        (todos[-1], "todo_unblocked"),
        ("crowd/", "paused"),
    ]
    assert [len(rows(project, todo, action)) for todo, action in done] == [1, 1, 1, 1]
    assert all(not rows(project, todo, "refused") for todo, _ in done)
    assert project.run("log", "verify").returncode == 0
