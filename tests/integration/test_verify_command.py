"""`countersign verify` as a person runs it: exit codes, reports, parallel and sequence, rounds beside each other."""

from __future__ import annotations

import json
import signal
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from docker import APIClient

from domain.report import Report
from tests.integration.conftest import LIMIT_SECONDS, Project, make_project, wait_for
from tests.integration.engines import HELD, checks_of, let_go

ROOT = Path(__file__).resolve().parents[2]


def check(name: str, command: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "command": command, **fields}


@pytest.mark.parametrize(
    ("name", "order", "code", "said"),
    [
        ("wo-verified", {"verification": {"checks": [check("new", "grep -q after a.txt")]}}, 0, "VERIFIED"),
        (
            "wo-failed",
            {"verification": {"checks": [check("old", "grep -q before a.txt")]}},
            1,
            "NOT VERIFIED: old failed",
        ),
        ("wo-malformed", {"verification": {"chekcs": []}}, 2, "did you mean 'checks'?"),
        (
            "wo-image",
            {"environment": {"image": "no-such-image:1"}, "verification": {"checks": [check("any", "true")]}},
            3,
            "no-such-image:1",
        ),
        ("wo-human", {"acceptance_criteria": [{"type": "subjective", "description": "reads well"}]}, 4, "a human"),
    ],
)
def test_each_outcome_has_its_exit_code_and_says_why(
    shared: Project, name: str, order: dict[str, Any], code: int, said: str
) -> None:
    result = shared.run("verify", shared.order(id=name, **order))
    assert result.returncode == code, result.stderr
    assert said in result.stdout + result.stderr


def test_the_report_is_written_printed_and_filed(shared: Project) -> None:
    order = shared.order(
        id="wo-report",
        acceptance_criteria=[
            {"id": "AC-1", "type": "file_contains", "params": {"path": "a.txt", "pattern": "^after$"}}
        ],
        verification={"checks": [check("loud", "echo seen; exit 3", required=False)]},
    )
    result = shared.run("verify", order, "--json", "--output", "report.json")
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert json.loads((shared.root / "report.json").read_text()) == report
    assert (report["verdict"], report["summary"]["passed"], report["summary"]["failed"]) == ("PASS", 1, 1)
    assert report["checks"][0]["output"] == "seen"
    assert report["checks"][0]["exit_code"] == 3
    shown = shared.run("evidence", "show", "wo-report", "--json")
    assert Report.model_validate_json(shown.stdout) == Report.model_validate_json(result.stdout)
    evidence = shared.run("evidence", "show", report["checks"][0]["evidence"])
    assert json.loads(evidence.stdout)["finding"]["stdout"] == "seen\n"


@pytest.mark.parametrize("output", ["work", "", "nowhere/x.json"])
def test_an_output_that_cannot_be_written_is_refused_before_anything_runs(shared: Project, output: str) -> None:
    order = shared.order(id="wo-output", verification={"checks": [check("any", "true")]})
    result = shared.run("verify", order, "--output", output, "--json")
    assert result.returncode == 2
    assert json.loads(result.stdout)["error"] == "malformed"
    assert shared.rows("wo-output") == []


def test_a_criterion_that_nobody_judged_is_in_the_report(shared: Project) -> None:
    criteria = [{"id": "S", "type": "subjective", "description": "reads well", "required": False}]
    order = shared.order(
        id="wo-subjective",
        acceptance_criteria=criteria,
        verification={"checks": [check("any", "true")]},
        safeguards={"todo_timeout": 1},
    )
    report = json.loads(shared.run("verify", order, "--json").stdout)
    assert [(c["id"], c["outcome"], c["passed"]) for c in report["criteria"]] == [("S", "not_judged", False)]
    assert (report["verdict"], report["summary"]["total"]) == ("PASS", 2)
    assert any("safeguards.todo_timeout" in notice for notice in report["notices"])


def test_an_order_is_verified_again_by_its_id(shared: Project) -> None:
    shared.run("verify", shared.order(id="wo-again", verification={"checks": [check("any", "true")]}))
    (shared.root / "wo-again.yaml").unlink()
    result = shared.run("verify", "wo-again", "--again", "--json")
    assert json.loads(result.stdout)["attempt"] == 2, result.stderr


def test_what_is_not_there_has_an_exit_code_of_its_own(shared: Project) -> None:
    assert shared.run("evidence", "show", "wo-nobody").returncode == 5
    assert shared.run("evidence", "show", "0" * 64).returncode == 5
    assert shared.run("log", "show", "wo-nobody").returncode == 5
    assert shared.run("verify", "nowhere.yaml").returncode == 2
    assert shared.run("verify").returncode == 2


def intervals(project: Project, todo: str) -> dict[str, tuple[datetime, datetime]]:
    times: dict[str, list[datetime]] = {}
    for row in project.rows(todo):
        if row["action"] in ("check_started", "check_completed"):
            times.setdefault(row["payload"]["check"], []).append(datetime.fromisoformat(row["timestamp"]))
    return {name: (start, end) for name, (start, end) in times.items()}


def test_parallel_checks_run_beside_each_other(shared: Project, engine: APIClient) -> None:
    """None ends before it is let go, and none is let go before two of them run."""
    held = [check(name, HELD) for name in ("a", "b", "c", "d")]
    verify = shared.start("verify", shared.order(id="wo-wide", verification={"checks": held}), "--json")
    wait_for(lambda: verify.poll() is not None or len(checks_of(engine, shared)) > 1)
    assert verify.poll() is None, "each check waited for the one before it"

    def over() -> bool:
        let_go(engine, shared)
        return verify.poll() is not None

    wait_for(over, LIMIT_SECONDS)
    report = json.loads(verify.communicate()[0])
    assert [entry["outcome"] for entry in report["checks"]] == ["passed"] * 4


@pytest.mark.slow
def test_sequential_checks_keep_their_order(shared: Project) -> None:
    names = ["c", "a", "b"]
    checks = [check(name, "sleep 0.2") for name in names]
    order = shared.order(id="wo-narrow", verification={"mode": "sequence", "checks": checks})
    assert shared.run("verify", order).returncode == 0
    spans = intervals(shared, "wo-narrow")
    assert list(spans) == names
    assert spans["c"][1] <= spans["a"][0] < spans["a"][1] <= spans["b"][0]


@pytest.mark.slow
def test_two_rounds_of_one_order_and_one_in_another_project_at_the_same_time(
    shared: Project, tmp_path: Path, engine: APIClient
) -> None:
    folder = tmp_path / "second"
    folder.mkdir()
    second = make_project(folder, tmp_path / "state")
    checks = {"checks": [check("wait", "sleep 2; cat a.txt")]}
    running = [
        shared.start("verify", shared.order(id="wo-twice", verification=checks), "--json"),
        shared.start("verify", "wo-twice.yaml", "--json"),
        second.start("verify", second.order(id="wo-twice", verification=checks), "--json"),
    ]
    try:
        outputs = [process.communicate(timeout=LIMIT_SECONDS) for process in running]
    finally:
        assert second.run("down").returncode == 0
    assert [process.returncode for process in running] == [0, 0, 0], outputs
    attempts = sorted(json.loads(out)["attempt"] for out, _ in outputs[:2])
    assert attempts == [1, 2]
    assert json.loads(outputs[2][0])["attempt"] == 1
    assert not [c for c in engine.containers(all=True) if second.root.name in str(c["Labels"])]


def test_the_demos_orders_come_out_as_promised(shared: Project) -> None:
    order = str(ROOT / "examples" / "is_prime" / "order.yaml")
    first = shared.run("verify", order, "--workspace", str(ROOT / "examples/is_prime/worker_first"), "--json")
    assert first.returncode == 1, first.stderr
    report = json.loads(first.stdout)
    assert [c["id"] for c in report["criteria"] if not c["passed"]] == ["AC-4"]
    assert any("AC-4" in failure for failure in report["retry_context"]["specific_failures"])
    second = shared.run("verify", order, "--workspace", str(ROOT / "examples/is_prime/worker_second"), "--json")
    assert second.returncode == 0, second.stderr
    assert json.loads(second.stdout)["summary"]["failed"] == 0


def test_a_graph_needs_no_server(project: Project) -> None:
    order = project.order(id="wo-graph", verification={"checks": [check("tests", "true")]})
    assert "snapshot --> scope" in project.run("graph", order).stdout
    assert project.run("graph", order, "--format", "svg").stdout.startswith("<svg")
    assert project.run("status").returncode == 5


def test_the_doctor_finds_nothing_missing(shared: Project) -> None:
    result = shared.run("doctor", "--json")
    assert result.returncode == 0, result.stdout
    assert {"docker", "temporal", "database"} <= {finding["name"] for finding in json.loads(result.stdout)}


@pytest.mark.slow
def test_the_doctor_and_verify_name_an_engine_that_is_gone(project: Project) -> None:
    assert project.run("up").returncode == 0, "with the engine that is there: the host makes way for another setting"
    gone = {"DOCKER_HOST": "unix:///nowhere/docker.sock"}
    doctor = project.run("doctor", **gone)
    assert doctor.returncode == 3
    assert "Docker" in doctor.stdout
    result = project.run("verify", project.order(verification={"checks": [check("any", "true")]}), **gone)
    assert result.returncode == 3
    assert "start the Docker engine" in result.stdout


@pytest.mark.slow
def test_a_host_at_work_does_not_make_way(project: Project, engine: APIClient) -> None:
    running = project.start(
        "verify", project.order(id="wo-first", verification={"checks": [check("wait", "sleep 280")]})
    )
    wait_for(lambda: any(row["action"] == "check_started" for row in project.rows("wo-first")))
    result = project.run("verify", "wo-first.yaml", COUNTERSIGN_PARALLELISM="1")
    assert result.returncode == 3
    assert "parallelism" in result.stderr
    assert running.poll() is None, "it goes on"
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=LIMIT_SECONDS)
    assert running.returncode == 130
    wait_for(lambda: project.rows("wo-first")[-1]["action"] == "verification_cancelled")
