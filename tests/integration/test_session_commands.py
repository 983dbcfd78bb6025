"""Sessions and todos over the command line, on a real server: what is answered, what is refused and with which code."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import yaml

from tests.integration.conftest import Project


def session_file(project: Project, name: str, *todos: dict[str, Any]) -> str:
    """Write a session whose todos change the folder `work`, and answer with its path."""
    defaults = {"workspace": "work", "base": "base", "verification": {"objective_only": True}}
    text = yaml.safe_dump({"id": name, "defaults": defaults, "todos": list(todos)})
    (project.root / f"{name}.yaml").write_text(text)
    return f"{name}.yaml"


def code_of(result: subprocess.CompletedProcess[str]) -> str:
    """The code of what was refused."""
    told = json.loads(result.stdout)
    assert told["error"] == "refused", result.stdout
    return str(told["code"])


def test_a_session_is_created_once_and_read_without_a_workflow(shared: Project) -> None:
    part = {"id": "part", "content": "A part of it"}
    file = session_file(shared, "made", {"id": "whole", "content": "All of it", "subtasks": [part]})
    (root,) = shared.answer("session", "create", file, "--json")["todos"]
    assert (root["todo"], [below["todo"] for below in root["subtasks"]]) == ("whole", ["part"])
    for party in ("worker:eve", "human:ann"):
        again = shared.run("session", "create", file, "--as", party, "--json")
        assert (again.returncode, code_of(again)) == (1, "session_exists")
    refused = shared.answer("log", "show", "--session", "made", "--action", "refused", "--json")
    told = [(row["payload"]["code"], row["actor"]["role"]) for row in refused]
    assert told == [("replace_forbidden", "worker"), ("replace_forbidden", "unattributed")]
    assert shared.run("session", "show", "nobody").returncode == 5


def test_an_agent_adds_work_and_never_its_own_gate(shared: Project) -> None:
    shared.answer("session", "create", session_file(shared, "gate", {"id": "a", "content": "It"}), "--json")
    criterion = json.dumps({"type": "file_exists", "params": {"path": "b.txt"}})
    line = ("todo", "create", "gate", "--content", "More", "--parent", "a", "--criterion", criterion, "--json")
    (made,) = shared.answer(*line)["created"]
    assert [one["type"] for one in shared.answer("todo", "show", f"gate/{made}", "--json")["criteria"]] == [
        "file_exists"
    ]
    (shared.root / "own.yaml").write_text("content: mine\nbase: main\nverification: {checks: []}\n")
    refused = shared.run("todo", "create", "gate", "--file", "own.yaml", "--json")
    assert (refused.returncode, code_of(refused)) == (1, "not_yours")
    (row,) = shared.answer("log", "show", "--session", "gate", "--action", "refused", "--json")
    assert (row["payload"]["code"], row["payload"]["command"]) == ("not_yours", "create")


def test_refusals_have_their_exit_codes_and_are_on_record(shared: Project) -> None:
    shared.answer("session", "create", session_file(shared, "asked", {"id": "a", "content": "It"}), "--json")
    shared.answer("session", "pause", "asked", "--json")
    answers = [
        shared.run("todo", "start", "asked/a", "--json"),
        shared.run("todo", "delete", "asked/a", "--as", "worker:bob", "--json"),
        shared.run("todo", "start", "asked/a", "--as", "worker:bob@other", "--json"),
        shared.run("todo", "edit", "asked/a", "--set", "content=New", "--expected-version", "9", "--json"),
    ]
    codes = ["session_paused", "forbidden", "other_session", "stale_version"]
    assert [code_of(one) for one in answers] == codes
    assert [one.returncode for one in answers] == [1, 1, 1, 6]
    rows = shared.answer("log", "show", "asked/a", "--action", "refused", "--json")
    assert [row["payload"]["code"] for row in rows] == codes


def test_a_blocked_worker_is_answered(shared: Project) -> None:
    shared.answer("session", "create", session_file(shared, "stuck", {"id": "a", "content": "It"}), "--json")
    shared.answer("todo", "start", "stuck/a", "--json")
    shared.answer("todo", "block", "stuck/a", "--question", "which one?", "--json")
    (waits,) = shared.answer("inbox", "--session", "stuck", "--json")
    assert (waits["why"], waits["status"]) == ("which one?", "blocked")
    shared.answer("unblock", "stuck/a", "--clarification", "the first", "--json")
    assert shared.answer("inbox", "--session", "stuck", "--json") == []
    edited = shared.answer("todo", "edit", "stuck/a", "--set", "content=The first", "--json")
    assert edited["version"] == 2
    assert shared.answer("todo", "show", "stuck/a", "--json")["content"] == "The first"
