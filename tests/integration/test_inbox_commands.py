"""Every command that the inbox proposes is taken as things stand: on a real server, for every kind that waits."""

from __future__ import annotations

import json
import shlex
import signal
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.fix_loops import PATTERN, claimed_wrong, configured, repairing
from tests.integration.conftest import LIMIT_SECONDS, Project, make_project
from tests.provider import providing

WRONG = [{"type": "file_contains", "params": {"path": "a.txt", "pattern": PATTERN}}]
RIGHT = [{"type": "file_exists", "params": {"path": "a.txt"}}]
ONCE = {"pause_on_escalation": False, "audit_attempts": 1}
OBJECTIVE = {"objective_only": True, "retries_on_failure": 0}
UNJUDGED = [{"id": "clear", "type": "subjective", "description": "It is clear"}, *RIGHT]

ORDERS: dict[str, tuple[int, dict[str, Any]]] = {
    "escalation": (3, {"acceptance_criteria": WRONG, "verification": OBJECTIVE}),
    "criteria": (4, {"acceptance_criteria": UNJUDGED, "verification": OBJECTIVE}),
    "nothing_to_check": (4, {"verification": OBJECTIVE}),
    "budget": (
        4,
        {
            "acceptance_criteria": WRONG,
            "verification": {"auditor": {"enabled": False}, "retries_on_failure": 0},
            "domain": "refactor",
            "fix_loop": {"enabled": True, "max_loops": 1, "max_cost_usd": 0.5},
        },
    ),
    "failed": (
        3,
        {
            "acceptance_criteria": WRONG,
            "verification": OBJECTIVE,
            "safeguards": {**ONCE, "on_exhausted": "fail"},
        },
    ),
    "flagged": (3, {"acceptance_criteria": RIGHT, "verification": OBJECTIVE}),
}
"""What makes a todo wait for each reason, and how many commands the inbox has for it, `review` left aside."""


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A project whose fix builder makes wrong work out of wrong work."""
    made = make_project(tmp_path_factory.mktemp("desk"), tmp_path_factory.mktemp("state"))
    with providing() as provider:
        configured(made, provider)
        provider.answers(repairing("after", "one"))
        yield made
        assert made.close().returncode == 0


def created(project: Project, name: str, *todos: dict[str, Any]) -> None:
    """A session of these todos, which change the folder `work`."""
    text = yaml.safe_dump({"id": name, "defaults": {"workspace": "work", "base": "base"}, "todos": list(todos)})
    (project.root / f"{name}.yaml").write_text(text)
    project.answer("session", "create", f"{name}.yaml", "--json")


def inbox(project: Project, session: str) -> Any:
    """What waits in it."""
    return project.answer("inbox", "--session", session, "--json")


def all_wait(project: Project) -> None:
    """The session `s` with a todo for each of the commands, all of them worked on, and one that asks."""
    todos = [
        {"id": f"{kind.replace('_', '-')}-{number}", "worker": {"command": claimed_wrong()}, "safeguards": ONCE, **more}
        for kind, (copies, more) in ORDERS.items()
        for number in range(copies)
    ]
    created(project, "s", *({"content": "It", **todo} for todo in (*todos, {"id": "question"})))
    project.answer("todo", "start", "s/question", "--json")
    project.answer("todo", "block", "s/question", "--question", "which one?", "--json")
    assert project.run("run", "s").returncode == 4
    for number in range(ORDERS["flagged"][0]):
        project.answer("todo", "edit", f"s/flagged-{number}", "--set", "content=Another", "--json")


def test_every_command_that_is_proposed_is_taken(desk: Project) -> None:
    all_wait(desk)
    by_kind = defaultdict(list)
    for entry in inbox(desk, "s"):
        by_kind[entry["kind"]].append(entry)
    counts = {kind: len(entries) for kind, entries in by_kind.items()}
    assert counts == {"question": 1, **{kind: copies for kind, (copies, _) in ORDERS.items()}}
    for kind, entries in by_kind.items():
        for place, entry in enumerate(entries):
            review, *acts = entry["next"]
            assert review == f"countersign review s/{entry['todo']}"
            assert len(acts) == len(entries), (kind, acts)
            words = shlex.split(acts[place].replace("TEXT", "because"))[1:]

            taken = desk.run(*words, "--json")
            assert taken.returncode == 0, (kind, acts[place], taken.stdout)
    budget = by_kind["budget"][0]
    assert [one["loop"] for one in budget["repairs"]] == [1]
    assert [one["attempt"] for one in budget["tried"]] == [1], "what a loop made is no attempt of the worker's"
    assert " --budget 0.50 " in budget["next"][1]
    assert budget["difference"]["paths"] == [{"path": "a.txt", "kind": "modified", "added": 1, "removed": 1}]
    left = {entry["kind"] for entry in inbox(desk, "s")}
    assert left == {"criteria", "nothing_to_check", "flagged"}, "an edit or a note alone resolves nothing"


def test_a_session_that_a_human_paused_goes_on_by_what_is_proposed(desk: Project) -> None:
    created(desk, "p", {"id": "a", "content": "It"})
    desk.answer("session", "pause", "p", "--json")
    (entry,) = inbox(desk, "p")
    assert entry["kind"] == "paused"
    (resume,) = entry["next"]
    desk.answer(*shlex.split(resume)[1:], "--json")
    assert inbox(desk, "p") == []


def test_watching_tells_of_what_comes_and_goes(desk: Project) -> None:
    created(desk, "w", {"id": "a", "content": "It"})
    watching = desk.start("inbox", "--session", "w", "--watch", "--json")
    assert watching.stdout
    desk.answer("todo", "start", "w/a", "--json")
    desk.answer("todo", "block", "w/a", "--question", "which one?", "--json")
    came = json.loads(watching.stdout.readline())
    assert (came["event"], came["entry"]["todo"], came["entry"]["kind"]) == ("waiting", "a", "question")
    desk.answer("unblock", "w/a", "--clarification", "this one", "--json")
    went = json.loads(watching.stdout.readline())
    assert (went["event"], went["entry"]["why"]) == ("resolved", "which one?")
    watching.send_signal(signal.SIGINT)
    assert watching.wait(LIMIT_SECONDS) == 0
