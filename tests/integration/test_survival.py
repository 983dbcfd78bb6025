"""What dies while a round runs, and what is left of it: the right verdict, once, and nothing else."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from docker import APIClient

from tests.integration.conftest import Project, alive, until_it_polls, wait_for

WORKER = Path(__file__).parents[2] / "worker.py"
SLOW = {"checks": [{"name": "slow", "command": "sleep 8; cat a.txt"}, {"name": "quick", "command": "cat a.txt"}]}


HELD = {"checks": [{"name": "slow", "command": "sleep 280"}]}
"""Still runs when the test comes to end it, however late that is."""


def our_containers(engine: APIClient, project: Project) -> list[str]:
    state = str(Path(project.environment["XDG_STATE_HOME"]))
    found = engine.containers(all=True, filters={"label": "countersign.owner"})
    return [c["Names"][0] for c in found if c["Labels"]["countersign.owner"].startswith(state)]


def our_volumes(engine: APIClient, project: Project) -> list[str]:
    found = engine.volumes(filters={"label": "countersign.owner"})["Volumes"] or []
    return [
        v["Name"] for v in found if v["Labels"]["countersign.owner"].startswith(project.environment["XDG_STATE_HOME"])
    ]


def started(engine: APIClient, project: Project) -> bool:
    return any("check" in name for name in our_containers(engine, project))


@pytest.mark.slow  # tests/chaos kills each of them, at random moments
@pytest.mark.parametrize("victim", ["worker_pid", "host_pid", "server_pid"])
def test_a_round_outlives_any_process(project: Project, engine: APIClient, victim: str) -> None:
    verify = project.start("verify", project.order(id="wo-slow", verification=SLOW), "--json")
    wait_for(lambda: started(engine, project))
    os.kill(project.status()[victim], signal.SIGKILL)
    out, err = verify.communicate(timeout=200)
    assert verify.returncode == 0, err
    assert [check["outcome"] for check in json.loads(out)["checks"]] == ["passed", "passed"]
    rows = Counter((row["action"], row["payload"].get("check")) for row in project.rows("wo-slow"))
    assert set(rows.values()) == {1}, rows
    assert ("check_completed", "slow") in rows
    assert our_containers(engine, project) == []
    assert our_volumes(engine, project) == []
    assert project.run("log", "verify").returncode == 0


@pytest.mark.slow
def test_a_round_whose_command_is_killed_ends_all_the_same(project: Project, engine: APIClient) -> None:
    verify = project.start("verify", project.order(id="wo-slow", verification=SLOW))
    wait_for(lambda: started(engine, project))
    verify.kill()
    verify.communicate()
    wait_for(lambda: any(row["action"] == "audit_completed" for row in project.rows("wo-slow")))
    assert project.run("evidence", "show", "wo-slow").returncode == 0


def test_interrupted_the_round_is_cancelled_and_nothing_is_left(project: Project, engine: APIClient) -> None:
    verify = project.start("verify", project.order(id="wo-slow", verification=HELD))
    wait_for(lambda: started(engine, project))
    verify.send_signal(signal.SIGINT)
    _, err = verify.communicate(timeout=150)
    assert verify.returncode == 130
    assert "nothing was decided" in err
    wait_for(lambda: our_containers(engine, project) == [] and our_volumes(engine, project) == [])
    wait_for(lambda: project.rows("wo-slow")[-1]["action"] == "verification_cancelled")


def test_down_drains_and_the_host_leaves_no_process(project: Project) -> None:
    assert project.run("up").returncode == 0
    status = project.status()
    assert project.run("down").returncode == 0
    assert not [name for name in ("host_pid", "server_pid", "worker_pid") if alive(status[name])]
    assert project.run("status").returncode == 5


def test_down_ends_what_a_killed_host_left(project: Project) -> None:
    project.run("up")
    status = project.status()
    os.kill(status["host_pid"], signal.SIGKILL)
    wait_for(lambda: not alive(status["host_pid"]))
    assert project.run("down").returncode == 0
    assert not [name for name in ("server_pid", "worker_pid") if alive(status[name])]


@pytest.mark.parametrize(
    "damage", ["", *(pytest.param(text, marks=pytest.mark.slow) for text in ("garbage", "{}", "[]", '{"host": null}'))]
)
def test_a_host_whose_file_was_lost_or_damaged_is_found_again(shared: Project, damage: str) -> None:
    assert shared.run("up").returncode == 0
    before = shared.status()
    file = Path(before["state_dir"]) / "host.json"
    if damage:
        file.write_text(damage)
    else:
        file.unlink()
    (file.parent / "last-used").unlink()
    wait_for(lambda: shared.run("status").returncode == 0)
    assert shared.status() == before


@pytest.mark.parametrize("worker_died", [pytest.param(False, marks=pytest.mark.slow), True])
def test_down_takes_along_what_a_round_sealed(project: Project, engine: APIClient, worker_died: bool) -> None:
    verify = project.start("verify", project.order(verification=HELD), COUNTERSIGN_DRAIN_TIMEOUT="1")
    wait_for(lambda: started(engine, project))
    verify.kill()
    verify.communicate()
    if worker_died:
        os.kill(project.status()["worker_pid"], signal.SIGKILL)
        log = Path(project.status()["state_dir"]) / "worker.log"
        wait_for(lambda: log.read_text().count('"worker polls"') == 2)
    assert project.run("down", COUNTERSIGN_DRAIN_TIMEOUT="1").returncode == 0
    assert our_containers(engine, project) == []
    assert our_volumes(engine, project) == []


@pytest.mark.slow
def test_a_worker_ends_on_sigterm_when_its_check_has(project: Project, engine: APIClient) -> None:
    verify = project.start("verify", project.order(id="wo-slow", verification=SLOW), "--json")
    wait_for(lambda: started(engine, project))
    worker = project.status()["worker_pid"]
    os.kill(worker, signal.SIGTERM)
    out, err = verify.communicate(timeout=240)
    assert verify.returncode == 0, err
    assert not alive(worker)
    host_log = Path(project.status()["state_dir"]) / "host.log"
    assert json.loads(host_log.read_text().splitlines()[0])["code"] == 0
    assert json.loads(out)["checks"][0]["duration_ms"] < 16_000, "it ran once"


def test_with_a_server_of_ones_own(project: Project, engine: APIClient) -> None:
    """TEMPORAL_ADDRESS names a server; a worker for it is started by hand."""
    project.run("up")
    status = project.status()
    for name in ("host_pid", "worker_pid"):  # the server stays, as anybody's would, and nobody works for it
        os.kill(status[name], signal.SIGKILL)
    remote = {"TEMPORAL_ADDRESS": status["temporal_address"]}
    own = project.environment | remote | {"COUNTERSIGN_TEMPORAL_NAMESPACE": "default"}
    order = project.order(verification={"checks": [{"name": "any", "command": "true"}]})
    assert project.run("up", **remote).returncode == 1
    worker = subprocess.Popen(
        [sys.executable, str(WORKER), "--queues", "workflows,workspace,sandbox,roles"],
        cwd=project.root,
        env=own,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert worker.stderr is not None
    try:
        until_it_polls(worker.stderr)
        result = project.run("verify", order, **remote)
        assert result.returncode == 0, result.stderr
    finally:
        worker.terminate()
        _, said = worker.communicate(timeout=150)
    assert worker.returncode == 0, said


@pytest.mark.parametrize(
    ("variable", "value", "code"),
    [
        pytest.param("TEMPORAL_ADDRESS", "::::", 3, marks=pytest.mark.slow),
        ("TEMPORAL_PROFILE", "nope", 2),
        ("COUNTERSIGN_DATABASE_URL", "mysql://x/y", 2),
        pytest.param("COUNTERSIGN_DATABASE_URL", "postgresql://127.0.0.1:9/y", 3, marks=pytest.mark.slow),
        ("COUNTERSIGN_TEMPORAL_BINARY", "/nonexistent", 3),
    ],
)
def test_a_setting_that_leads_nowhere_is_no_verdict(project: Project, variable: str, value: str, code: int) -> None:
    order = project.order(verification={"checks": [{"name": "any", "command": "true"}]})
    result = project.run("verify", order, **{variable: value})
    assert result.returncode == code, result.stderr
    assert value in result.stderr
    assert "Traceback" not in result.stderr


def test_no_server_is_said_so(project: Project) -> None:
    order = project.order(verification={"checks": [{"name": "any", "command": "true"}]})
    result = project.run("verify", order, TEMPORAL_ADDRESS="127.0.0.1:1")
    assert result.returncode == 3
    assert "127.0.0.1:1" in result.stderr


def test_a_worker_with_an_unknown_queue_is_refused(project: Project) -> None:
    command = [sys.executable, str(WORKER), "--queues", "nope"]
    result = subprocess.run(command, env=project.environment, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "nope" in result.stderr
