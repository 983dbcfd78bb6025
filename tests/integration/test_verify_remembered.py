"""`countersign verify` of work that was decided before: answered from the trail, and nothing is started for it."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from docker import APIClient

from tests.integration.conftest import Project, wait_for

CHECKS = {"checks": [{"name": "tests", "command": "grep -q after a.txt"}], "auditor": {"enabled": False}}


def attempts(project: Project, todo: str) -> int:
    """How many rounds of the todo began."""
    return sum(row["action"] == "verification_started" for row in project.rows(todo))


def asked(project: Project, order: str, code: int, *arguments: str, **environment: str) -> dict[str, Any]:
    """The report of `verify`, which has to end with `code`."""
    result = project.run("verify", order, "--json", *arguments, **environment)
    assert result.returncode == code, result.stdout + result.stderr
    report: dict[str, Any] = json.loads(result.stdout)
    return report


def containers(engine: APIClient, since: int) -> list[str]:
    """The names of all containers that were made since then."""
    made = engine.events(since=since, until=now(engine), filters={"type": "container", "event": "create"}, decode=True)
    return [event["Actor"]["Attributes"]["name"] for event in made if "countersign" in json.dumps(event)]


def now(engine: APIClient) -> int:
    """By the engine's own clock, after everything that it has said so far."""
    return int(datetime.fromisoformat(engine.info()["SystemTime"]).timestamp()) + 1


def test_the_same_work_is_answered_at_once_until_something_changes(project: Project) -> None:
    order = project.order(id="wo-same", verification=CHECKS)
    first = asked(project, order, 0)
    assert (first["attempt"], first["remembered"]) == (1, None)

    again = asked(project, order, 0, "--output", "report.json")
    assert again["remembered"]["attempt"] == 1
    assert again["remembered"]["kind"] is None
    assert {**again, "remembered": None} == first, "the report of that round"
    assert json.loads((project.root / "report.json").read_text()) == again
    shown = project.run("verify", order)
    assert shown.returncode == 0
    assert "VERIFIED" in shown.stdout
    assert "already verified in round 1" in shown.stdout
    assert "--again" in shown.stdout
    assert attempts(project, "wo-same") == 1

    assert asked(project, order, 0, "--again")["attempt"] == 2

    changed = project.root / "work/a.txt"
    kept = changed.read_text()
    changed.write_text("before, still\n")
    refused = asked(project, order, 1)
    assert (refused["attempt"], refused["remembered"]) == (3, None)
    told = asked(project, order, 1)
    assert (told["remembered"]["attempt"], told["retry_context"]) == (3, refused["retry_context"])
    changed.write_text(kept)
    assert asked(project, order, 0)["remembered"]["attempt"] == 2

    checks = {**CHECKS, "checks": [{"name": "tests", "command": "grep -q after ./a.txt"}]}
    other = project.order(id="wo-same", verification=checks)
    assert asked(project, other, 0)["attempt"] == 4

    (project.root / "countersign.toml").write_text('[policy_floor]\nwithout_checks = "needs_human"\n')
    result = project.run("verify", other, "--json")
    assert json.loads(result.stdout)["attempt"] == 5, result.stderr
    assert "the configuration changed" in result.stderr


@pytest.mark.slow
def test_no_container_is_made_and_no_host_is_needed(project: Project, engine: APIClient) -> None:
    socket = project.root / "engine.sock"
    socket.symlink_to(os.environ.get("DOCKER_HOST", "").removeprefix("unix://") or "/var/run/docker.sock")
    project.environment["DOCKER_HOST"] = f"unix://{socket}"
    order = project.order(id="wo-quiet", verification=CHECKS)
    asked(project, order, 0)
    assert project.run("down").returncode == 0
    since = now(engine)
    assert asked(project, order, 0)["remembered"]["attempt"] == 1
    assert containers(engine, since) == []
    assert project.run("status").returncode == 5, "no host was started for it"
    socket.unlink()
    gone = project.run("verify", order)
    assert gone.returncode == 3
    assert "cannot be asked which images it has" in gone.stderr
    elsewhere = project.run("verify", order, DOCKER_HOST="unix:///nowhere/docker.sock")
    assert elsewhere.returncode == 3
    assert "other variables decide: DOCKER_HOST" in elsewhere.stderr


@pytest.mark.slow
def test_what_was_flaky_is_run_again(project: Project) -> None:
    """The first run on a tree fails, the second passes: the order takes that."""
    flaky = "test -e /tmp/never || [ $(($(date +%N | sed 's/^0*//') % 2)) = 0 ]"
    verification = {"checks": [{"name": "t", "command": flaky}], "on_flaky": "pass", "retries_on_failure": 5}
    order = project.order(id="wo-flaky", verification={**verification, "auditor": {"enabled": False}})
    for _ in range(7):
        report = json.loads(project.run("verify", order, "--again", "--json").stdout)
        if report["checks"][0]["code"] == "flaky":
            break
    else:
        pytest.fail("seven rounds and never flaky")
    result = project.run("verify", order, "--json")
    assert json.loads(result.stdout)["attempt"] == report["attempt"] + 1, result.stderr
    assert "t was flaky" in result.stderr


@pytest.mark.slow
def test_a_round_that_was_cut_short_is_no_verdict(project: Project) -> None:
    held = {**CHECKS, "checks": [{"name": "t", "command": "sleep 4"}]}
    order = project.order(id="wo-cut", verification=held)
    running = project.start("verify", order)
    wait_for(lambda: any(row["action"] == "check_started" for row in project.rows("wo-cut")))
    running.kill()
    running.communicate()
    wait_for(lambda: any(row["action"] == "audit_completed" for row in project.rows("wo-cut")))
    assert asked(project, order, 0)["remembered"]["attempt"] == 1, "the round went on, and was decided"


def test_a_base_in_git_is_read_the_same_way(project: Project) -> None:
    folder = project.root / "repository"

    def git(*arguments: str) -> str:
        said = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
        done = subprocess.run(["git", *said, *arguments], cwd=folder, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    folder.mkdir()
    git("init", "-q")
    (folder / "a.txt").write_text("before\n")
    git("add", ".")
    git("commit", "-qm", "base")
    revision = git("rev-parse", "HEAD")
    (folder / "a.txt").write_text("after\n")
    order = Path(project.order(id="wo-git", verification=CHECKS)).name
    arguments = ("--workspace", "repository", "--base", revision)
    asked(project, order, 0, *arguments)
    assert asked(project, order, 0, *arguments)["remembered"]["attempt"] == 1
    git("commit", "-qam", "done")
    assert asked(project, order, 0, *arguments)["remembered"]["attempt"] == 1, "no check looks at commits"
