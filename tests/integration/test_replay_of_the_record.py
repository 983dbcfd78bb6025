"""The trail alone says where everything stands: its exported rows, the read model and the workflows agree."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter

from adapters.trail import SqlTrail
from domain.events import TrailRow
from domain.read_model import RoundView, State, fold
from domain.status import TodoStatus
from tests.integration.conftest import Project, make_project, wait_for
from workflows.verification import VerificationWorkflow

SUBJECTIVE = {"id": "S", "type": "subjective", "description": "reads well"}
ORDERS: dict[str, dict[str, Any]] = {
    "wo-outside": {"scope": {"deny": ["a.txt"]}, "verification": {"checks": [{"name": "any", "command": "true"}]}},
    "wo-human": {"acceptance_criteria": [SUBJECTIVE]},
    "wo-unknown": {
        "environment": {"image": "no-such-image:1"},
        "verification": {"checks": [{"name": "any", "command": "true"}]},
    },
    "wo-cancelled": {"verification": {"checks": [{"name": "slow", "command": "sleep 280"}]}},
}
CODES = {"wo-outside": 1, "wo-human": 4, "wo-unknown": 3}
STANDING = {
    "wo-outside": TodoStatus.IN_PROGRESS,
    "wo-human": TodoStatus.NEEDS_HUMAN,
    "wo-unknown": TodoStatus.CLAIMED,
    "wo-cancelled": TodoStatus.CLAIMED,
    "wo-again": TodoStatus.VERIFIED,
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A project in which a round of each kind has come to its end, and one todo was verified at the second attempt."""
    project = make_project(tmp_path_factory.mktemp("recorded"), tmp_path_factory.mktemp("state"))
    for todo, code in CODES.items():
        result = project.run("verify", project.order(id=todo, **ORDERS[todo]))
        assert result.returncode == code, result.stderr
    running = project.start("verify", project.order(id="wo-cancelled", **ORDERS["wo-cancelled"]))
    wait_for(lambda: any(row["action"] == "check_started" for row in project.rows("wo-cancelled")))
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=150)
    assert running.returncode == 130
    for verdict, code in (("old", 1), ("new", 0)):
        checks = {
            "checks": [{"name": verdict, "command": f"grep -q {'after' if verdict == 'new' else 'before'} a.txt"}]
        }
        assert project.run("verify", project.order(id="wo-again", verification=checks)).returncode == code
    wait_for(lambda: project.rows("wo-cancelled")[-1]["action"] == "verification_cancelled")
    yield project
    assert project.run("down").returncode == 0


@pytest.fixture(scope="module")
def rows(recorded: Project) -> list[TrailRow]:
    """The trail as it was exported, read from nothing but the file."""
    assert recorded.run("log", "export", "--output", "trail.jsonl").returncode == 0
    _, *lines = (recorded.root / "trail.jsonl").read_text().splitlines()
    return [TrailRow.model_validate_json(line) for line in lines]


@pytest.fixture(scope="module")
def state(recorded: Project) -> State:
    """The read model as the appends left it."""
    folder = Path(recorded.status()["state_dir"])
    trail = SqlTrail(f"sqlite:///{folder}/trail.db", folder / "heads.jsonl")
    found = trail.state()
    trail.close()
    return found


def test_a_round_of_each_kind_is_in_it(state: State) -> None:
    assert {view.todo: view.status for view in state.todos} == STANDING
    assert [view.session for view in state.sessions] == ["local"]
    kinds = {(view.todo, view.attempt): view.outcome or view.status for view in state.rounds}
    assert set(kinds.values()) == {"verified", "changes_requested", "needs_human", "inconclusive", "cancelled"}
    assert {key for key in kinds if key[0] == "wo-again"} == {("wo-again", 1), ("wo-again", 2)}


def test_the_exported_rows_alone_give_the_read_model(rows: list[TrailRow], state: State) -> None:
    derived = fold(rows)
    assert derived == state
    assert (len(derived.rounds), len(derived.todos), len(derived.sessions)) == (6, 5, 1)


def test_a_row_less_gives_another_state(rows: list[TrailRow], state: State) -> None:
    last = {(row.todo_id, row.attempt): row for row in rows}.values()
    assert len(last) == len(state.rounds)
    for row in last:
        assert fold([other for other in rows if other != row]) != state


async def test_the_workflows_say_the_same(recorded: Project, state: State) -> None:
    client = await Client.connect(recorded.status()["temporal_address"], data_converter=pydantic_data_converter)
    told: list[RoundView] = []
    for view in state.rounds:
        handle = client.get_workflow_handle(view.workflow_id)
        told.append(await handle.query(VerificationWorkflow.state))
    assert tuple(told) == state.rounds


def test_every_decided_round_is_judged_again_and_comes_to_the_same(recorded: Project, state: State) -> None:
    decided = [view for view in state.rounds if view.outcome]
    assert len(decided) == 5
    for view in decided:
        again = recorded.run("rejudge", view.todo, "--attempt", str(view.attempt), "--objective", "--json")
        found = json.loads(again.stdout)
        assert (again.returncode, found["drift"], found["damaged"]) == (0, [], {}), again.stderr
        assert (found["recorded"], found["decided"]) == (view.outcome, view.outcome)
    assert recorded.run("rejudge", "wo-cancelled", "--objective").returncode == 5
