"""The example of a session, as its first lines say: three agents, one never is right, and a person sees to that."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.conftest import Project, make_project, wait_for

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A project with the example in it."""
    project = make_project(tmp_path_factory.mktemp("words"), tmp_path_factory.mktemp("state"))
    shutil.copy(EXAMPLES / "session.yaml", project.root)
    ignored = shutil.ignore_patterns("src", "tests", "pyproject.toml", "__pycache__")
    shutil.copytree(EXAMPLES / "session", project.root / "session", ignore=shutil.ignore_patterns("work"))
    shutil.copytree(EXAMPLES / "session" / "work", project.root / "session" / "work", ignore=ignored)
    yield project
    assert project.close().returncode == 0


def rows(project: Project, todo: str, *actions: str) -> list[dict[str, Any]]:
    return [row for row in project.rows(f"words/{todo}") if row["action"] in actions]


def test_it_goes_as_its_first_lines_say(words: Project) -> None:
    first = words.run("run", "session.yaml", "--json")
    assert first.returncode == 4, first.stderr
    ended = json.loads(first.stdout)["session"]
    assert (ended["status"], ended["paused_for"]) == ("paused", "report")
    outcomes = {todo: [row["payload"]["outcome"] for row in rows(words, todo, "audit_completed")] for todo in NAMES}
    assert outcomes == {
        "tokens": ["changes_requested", "verified"],
        "counting": ["verified"],
        "report": ["changes_requested"] * 3,
    }
    assert len(rows(words, "report", "changes_requested")) == 2, "revisions"
    (escalated,) = rows(words, "report", "escalated")
    assert escalated["payload"]["trigger"] == "audit_cap_exceeded"
    assert [row["actor"]["identity"] for row in rows(words, "tokens", "todo_claimed")] == ["command", "command"]
    assert rows(words, "counting", "todo_claimed")[0]["sequence"] > rows(words, "tokens", "approved")[0]["sequence"]
    assert rows(words, "report", "todo_started")[0]["sequence"] > rows(words, "counting", "approved")[0]["sequence"]
    (waits,) = words.answer("inbox", "--json")
    assert (waits["todo"], waits["why"].partition(";")[0]) == ("report", "audit_cap_exceeded")

    assert words.run("run", "words").returncode == 4, "it still waits for a person"
    assert words.run("return", "words/report", "--reason", "by count").returncode == 0
    shutil.copy(words.root / "session" / "report_right.py", words.root / "session" / "work" / "src" / "report.py")
    claimed = words.run("todo", "claim", "words/report", "--claim", "session/report_claim.json", "--wait")
    assert claimed.returncode == 0, claimed.stdout + claimed.stderr
    wait_for(lambda: words.answer("session", "show", "words", "--json")["session"]["status"] == "completed")
    actions = [
        row["action"] for row in words.answer("log", "show", "--session", "words", "--json") if not row["todo_id"]
    ]
    assert actions == ["session_created", "paused", "resumed", "session_completed"]
    assert words.run("run", "words").returncode == 0


NAMES = ("tokens", "counting", "report")


@pytest.mark.slow
def test_a_worker_command_that_is_lost_is_started_again_and_told_so(words: Project) -> None:
    """Countersign's worker dies while a command runs; the next one starts it once more, `resumed`."""
    agent = 'import json, os, pathlib, time\nbrief = json.load(open(os.environ["COUNTERSIGN_BRIEF"]))\n'
    agent += 'pathlib.Path("began").open("a").write(f"{brief[\'resumed\']}\\n")\n'
    agent += 'time.sleep(0 if brief["resumed"] else 600)\npathlib.Path("a.txt").write_text("after\\n")\n'
    words.write(base__a_dot_txt="before\n", lost__a_dot_txt="before\n", agent_dot_py=agent)
    criterion = {"type": "file_contains", "params": {"path": "a.txt", "pattern": "after"}}
    todo = {
        "id": "a",
        "content": "write it",
        "acceptance_criteria": [criterion],
        "worker": {"command": "python3 ../agent.py"},
        "scope": {"allow": ["a.txt", "began"]},
    }
    defaults = {"workspace": "lost", "base": "base", "verification": {"objective_only": True}}
    (words.root / "lost.yaml").write_text(yaml.safe_dump({"id": "lost", "defaults": defaults, "todos": [todo]}))
    running = words.start("run", "lost.yaml")
    began = words.root / "lost" / "began"
    wait_for(began.exists)
    os.kill(words.status()["worker_pid"], signal.SIGKILL)
    out, err = running.communicate(timeout=240)
    assert running.returncode == 0, out + err
    assert began.read_text() == "False\nTrue\n"
    (ended,) = [row for row in words.rows("lost/a") if row["action"] == "worker_ended"]
    assert (ended["payload"]["resumed"], ended["payload"]["drive"]) == (True, 1)
    (claimed,) = [row for row in words.rows("lost/a") if row["action"] == "todo_claimed"]
    assert "[output]" in claimed["payload"]["explanation"]


def test_what_only_an_agent_asks_for_is_no_gate(words: Project) -> None:
    words.write(own_base__a_dot_txt="before\n", own__a_dot_txt="before\n")
    defaults = {"workspace": "own", "base": "own_base", "verification": {"objective_only": True}}
    (words.root / "own.yaml").write_text(yaml.safe_dump({"id": "own", "defaults": defaults, "todos": []}))
    assert words.run("session", "create", "own.yaml").returncode == 0
    criterion = json.dumps({"type": "command_exit_zero", "params": {"command": "true"}})
    (made,) = words.answer("todo", "create", "own", "--content", "mine", "--criterion", criterion, "--json")["created"]
    assert words.run("todo", "start", f"own/{made}").returncode == 0
    (words.root / "claim.json").write_text(
        json.dumps({"explanation": "Ran it, see [run].", "evidence": [{"label": "run", "type": "t", "data": "ok"}]})
    )
    claimed = words.run("todo", "claim", f"own/{made}", "--claim", "claim.json", "--wait")
    assert claimed.returncode == 4, claimed.stdout + claimed.stderr
    assert words.answer("todo", "show", f"own/{made}", "--json")["trigger"] == "nothing_to_check"
