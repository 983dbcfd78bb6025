"""`countersign evidence` and `rejudge` as a person runs them, on rounds that containers ran."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from docker import APIClient

from domain.base import sha256_hex
from tests.integration.conftest import LIMIT_SECONDS, Project, wait_for
from tests.integration.engines import HELD, let_go

EVERY_KIND: dict[str, Any] = {
    "acceptance_criteria": [
        {"id": "there", "type": "file_exists", "params": {"path": "a.txt"}},
        {"id": "says", "type": "file_contains", "params": {"path": "a.txt", "pattern": "^after$"}},
        {"id": "zero", "type": "command_exit_zero", "params": {"command": "test -e a.txt"}},
        {"id": "prints", "type": "command_output", "params": {"command": "cat a.txt", "stdout": "after\n"}},
        {
            "id": "cli",
            "type": "cli_io",
            "params": {"command": "cat", "cases": [{"stdin": "x", "stdout": "x"}, {"stdin": "y", "stdout": "z"}]},
        },
        {
            "id": "call",
            "type": "python_call",
            "required": False,
            "params": {
                "module": "m",
                "function": "f",
                "cases": [{"args": [2], "returns": 4}, {"args": [3], "returns": 7}],
            },
        },
        {
            "id": "http",
            "type": "http_response",
            "params": {
                "serve": "python3 -m http.server 8000",
                "url": "http://127.0.0.1:8000/a.txt",
                "status": 200,
                "body": "after\n",
            },
        },
        {"id": "commit", "type": "git_commit_exists", "required": False, "params": {"message": "none"}},
    ],
    "verification": {"checks": [{"name": "missing", "command": "no-such-tool"}, {"name": "fails", "command": "false"}]},
}


def evidence_dir(project: Project) -> Path:
    return Path(project.answer("status", "--json")["state_dir"]) / "evidence"


def make_old(folder: Path, seconds: float = 3600) -> None:
    then = time.time() - seconds
    for path in folder.rglob("*"):
        if path.is_file():
            os.utime(path, (then, then))


def test_every_kind_of_check_is_judged_again_from_what_was_seen(shared: Project) -> None:
    shared.write(base__m_dot_py="def f(n):\n    return n\n", work__m_dot_py="def f(n):\n    return n * 2\n")
    result = shared.run("verify", shared.order(id="wo-kinds", **EVERY_KIND), "--json")
    assert result.returncode == 1, result.stderr
    found = json.loads(shared.run("rejudge", "wo-kinds", "--objective", "--json").stdout)
    assert (found["drift"], found["damaged"], found["compared"]) == ([], {}, [])
    ids = {criterion["id"] for criterion in EVERY_KIND["acceptance_criteria"]} | {"missing", "fails"}
    assert ids <= set(found["rederived"])
    assert {"cli on the base", "call on the base", "missing on the base", "fails on the base"} <= set(
        found["rederived"]
    )
    outcomes = {c["id"]: c["outcome"] for c in json.loads(result.stdout)["criteria"]}
    assert outcomes == {**dict.fromkeys(outcomes, "passed"), "cli": "failed", "call": "failed", "commit": "failed"}


def test_an_export_can_be_checked_by_anybody(shared: Project) -> None:
    order = shared.order(id="wo-export", verification={"checks": [{"name": "tests", "command": "cat a.txt"}]})
    assert shared.run("verify", order).returncode == 0
    for name in ("first.tar.gz", "second.tar.gz"):
        assert shared.run("evidence", "export", "wo-export", "--output", name, "--with-trees").returncode == 0
    first, second = ((shared.root / name).read_bytes() for name in ("first.tar.gz", "second.tar.gz"))
    assert first == second
    subprocess.run(["tar", "xzf", "first.tar.gz"], cwd=shared.root, check=True)
    subprocess.run(
        ["sha256sum", "--strict", "--quiet", "-c", "SHA256SUMS"], cwd=shared.root / "local-wo-export", check=True
    )
    verdict = json.loads((shared.root / "local-wo-export/evidence/local/wo-export/1/verdict.json").read_text())
    assert (verdict["work_order_id"], verdict["verdict"]) == ("wo-export", "PASS")
    refused = shared.run("evidence", "export", "wo-export", "--output", "first.tar.gz", "--json")
    assert (refused.returncode, json.loads(refused.stdout)["code"]) == (1, "exists")


@pytest.mark.slow
def test_an_edited_folder_is_noticed(shared: Project) -> None:
    order = shared.order(id="wo-edited", verification={"checks": [{"name": "tests", "command": "false"}]})
    assert shared.run("verify", order).returncode == 1
    verdict = evidence_dir(shared) / "local/wo-edited/1/verdict.json"
    verdict.write_text(verdict.read_text().replace('"FAIL"', '"PASS"'))
    shown = shared.run("evidence", "show", "wo-edited", "--json")
    assert (shown.returncode, json.loads(shown.stdout)["verdict"]) == (0, "FAIL")
    assert "somebody edited it" in shown.stderr
    again = shared.run("rejudge", "wo-edited", "--objective", "--json")
    assert (again.returncode, [drift["where"] for drift in json.loads(again.stdout)["drift"]]) == (1, ["folder"])


def test_rejudge_and_prune_say_what_is_wrong_with_how_they_were_called(shared: Project) -> None:
    assert shared.run("rejudge", "wo-nobody", "--objective").returncode == 5
    refused = shared.run("rejudge", "wo-nobody", "--json")
    assert (refused.returncode, json.loads(refused.stdout)["code"]) == (1, "no_roles")
    assert shared.run("evidence", "prune", "--older-than", "soon").returncode == 2
    assert shared.run("evidence", "prune").returncode == 2
    assert shared.run("evidence", "export", "wo-nobody", "--output", "none").returncode == 5


@pytest.fixture
def slow(project: Project) -> str:
    checks = {"checks": [{"name": "slow", "command": f"{HELD}; cat a.txt"}]}
    return project.order(id="wo-slow", verification=checks)


@pytest.mark.slow
def test_pruning_beside_a_running_round_takes_nothing_from_it(project: Project, engine: APIClient, slow: str) -> None:
    quick = project.order(id="wo-quick", verification={"checks": [{"name": "tests", "command": "cat a.txt"}]})
    assert project.run("verify", quick).returncode == 0
    folder = evidence_dir(project)
    orphan = sha256_hex(b"orphan")
    (folder / "blobs" / orphan[:2] / orphan).write_bytes(b"orphan")
    make_old(folder)
    running = project.start("verify", slow, "--json")
    wait_for(lambda: any(row["action"] == "check_started" for row in project.rows("wo-slow")))
    dry = project.answer("evidence", "prune", "--older-than", "0s", "--dry-run", "--json")
    assert (dry["blobs"], dry["list"]) == (1, "")
    pruned = project.answer("evidence", "prune", "--older-than", "0s", "--json")
    assert (pruned["blobs"], pruned["spared"]) == (1, 0)
    assert not (folder / "blobs" / orphan[:2] / orphan).exists()
    assert running.poll() is None, "its check is held"
    wait_for(lambda: let_go(engine, project) or running.poll() is not None)
    out, err = running.communicate(timeout=LIMIT_SECONDS)
    assert running.returncode == 0, err
    assert json.loads(out)["checks"][0]["outcome"] == "passed"
    for todo in ("wo-quick", "wo-slow"):
        assert project.run("rejudge", todo, "--objective").returncode == 0
        assert project.run("evidence", "export", todo, "--output", f"{todo}.tgz", "--with-trees").returncode == 0
    shown = project.answer("log", "show", "--session", "system", "--json")
    assert [(row["action"], row["payload"]["list"]) for row in shown] == [("evidence_pruned", pruned["list"])]
    assert orphan in project.run("evidence", "show", pruned["list"]).stdout
    assert project.run("log", "verify").returncode == 0
