"""What people and agents do to todos in tests of the whole line: sessions, claims, signals as anybody sends them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from tests.integration.conftest import Project, wait_for

TEMPORAL = Path(sys.executable).parent / "temporal"
UNCHECKED: dict[str, Any] = {"verification": {"objective_only": True}}
"""An order with nothing to check: whatever is claimed waits for a person."""


def session(project: Project, name: str, *todos: str, **defaults: Any) -> None:
    """Create a session of such todos, which share the folder `work` and have nothing to check unless `defaults` do."""
    file = {
        "id": name,
        "defaults": {"workspace": "work", "base": "base", **UNCHECKED, **defaults},
        "todos": [{"id": todo, "content": f"Work on {todo}"} for todo in todos],
    }
    (project.root / f"{name}.yaml").write_text(yaml.safe_dump(file))
    project.answer("session", "create", f"{name}.yaml", "--json")


def claims(project: Project, todo: str, text: str) -> None:
    """The worker writes `text` into `a.txt`, claims, and the todo waits for a person."""
    (project.root / "work" / "a.txt").write_text(f"{text}\n")
    claim = {
        "explanation": f"a.txt says {text!r} now, where it said 'before'. See [file].",
        "evidence": [{"label": "file", "type": "file", "data": f"a.txt: {text}"}],
        "files_modified": ["a.txt"],
    }
    file = project.root / f"{todo.replace('/', '-')}.json"
    file.write_text(json.dumps(claim))
    if view(project, todo)["status"] == "pending":
        project.answer("todo", "start", todo, "--as", "worker:bot", "--json")
    project.answer("todo", "claim", todo, "--claim", file.name, "--as", "worker:bot", "--json")


def question(project: Project, todo: str, text: str) -> None:
    """The worker begins, and cannot go on without an answer."""
    project.answer("todo", "start", todo, "--as", "worker:bot", "--json")
    project.answer("todo", "block", todo, "--question", text, "--as", "worker:bot", "--json")


def view(project: Project, todo: str) -> dict[str, Any]:
    """A todo as the command line shows it."""
    shown: dict[str, Any] = project.answer("todo", "show", todo, "--json")
    return shown


def status(project: Project, todo: str) -> tuple[str, str]:
    """Its status and review status."""
    shown = view(project, todo)
    return shown["status"], shown["review_status"]


def rows(project: Project, todo: str, *actions: str) -> list[dict[str, Any]]:
    """Its rows of these actions; of a session's own where `todo` ends with a slash."""
    if todo.endswith("/"):
        told: list[dict[str, Any]] = project.answer("log", "show", "--session", todo[:-1], "--json")
        found = [row for row in told if not row["todo_id"]]
    else:
        found = project.rows(todo)
    return [row for row in found if row["action"] in actions]


def refusals(project: Project, todo: str) -> list[tuple[str, str]]:
    """What was refused and recorded: the command and the code of each."""
    return [(row["payload"]["command"], row["payload"]["code"]) for row in rows(project, todo, "refused")]


def becomes(project: Project, todo: str, wanted: str) -> None:
    """Wait until it stands there."""
    wait_for(lambda: status(project, todo)[0] == wanted)


def waits(project: Project, session: str) -> list[dict[str, Any]]:
    """What waits for a person in a session."""
    found: list[dict[str, Any]] = project.answer("inbox", "--session", session, "--json")
    return found


def hears(project: Project, todo: str, wanted: str) -> None:
    """Wait until a todo has its session's word that it stands there.

    Nobody is answered a signal to the session, and its row is there before its todos are told.
    """
    address = str(project.status()["temporal_address"])
    query = (TEMPORAL, "workflow", "query", "--address", address, "--output", "json")
    line = (*query, "--workflow-id", f"todo/{todo}", "--type", "state")

    def heard() -> bool:
        asked = subprocess.run(line, capture_output=True, text=True, check=False, timeout=150)
        return asked.returncode == 0 and json.loads(asked.stdout)["queryResult"][0]["gate"]["status"] == wanted

    wait_for(heard)


def signal(address: str, workflow: str, name: str, *inputs: Any) -> subprocess.CompletedProcess[str]:
    """`temporal workflow signal`, by the program itself; each of `inputs` as JSON."""
    given = [part for value in inputs for part in ("--input", json.dumps(value))]
    line: list[str | Path] = [
        TEMPORAL,
        "workflow",
        "signal",
        "--address",
        address,
        "--workflow-id",
        workflow,
        "--name",
        name,
        *given,
    ]
    return subprocess.run(line, capture_output=True, text=True, check=True, timeout=150)


def has(project: Project, todo: str, action: str, count: int = 1) -> Callable[[], bool]:
    """Whether it has so many rows of that action."""
    return lambda: len(rows(project, todo, action)) >= count
