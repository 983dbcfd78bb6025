"""Rounds whose evidence is in a bucket: commands find it there, and a store that is away is told from a verdict."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.conftest import Project, make_project
from tests.s3 import SECRET, S3Server

CRITERIA = [{"id": "says", "type": "file_contains", "params": {"path": "a.txt", "pattern": "after"}}]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    server = S3Server(tmp_path_factory.mktemp("s3"))
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def project(server: S3Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    made = make_project(tmp_path_factory.mktemp("project"), tmp_path_factory.mktemp("state"))
    made.environment |= {**server.environment, "COUNTERSIGN_EVIDENCE_URL": "s3://evidence/team"}
    verified = made.run("verify", made.order(id="wo-one", acceptance_criteria=CRITERIA))
    assert verified.returncode == 0, verified.stderr
    assert "s3://evidence/team/local/wo-one/1/" in verified.stdout
    yield made
    server.start()
    made.close()


def test_it_is_all_there_and_nothing_of_it_here(project: Project, server: S3Server) -> None:
    folder = server.folder / "evidence/team"
    assert json.loads((folder / "local/wo-one/1/verdict.json").read_bytes())["verdict"] == "PASS"
    assert list(folder.glob("blobs/*/*"))
    state = Path(project.status()["state_dir"])
    assert not (state / "evidence").exists()
    assert not list((state / "staging").iterdir())


def test_commands_find_it_there(project: Project, server: S3Server, tmp_path: Path) -> None:
    shown = project.run("evidence", "show", "wo-one")
    assert (shown.returncode, shown.stderr) == (0, "")
    server_side = server.folder / "evidence/team/local/wo-one/1/spec.json"
    assert json.loads(server_side.read_bytes())["id"] == "wo-one"
    assert "verdict.json" in shown.stdout
    out = tmp_path / "export"
    assert project.run("evidence", "export", "wo-one", "--output", str(out), "--with-trees").returncode == 0
    assert subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=out, check=False).returncode == 0
    judged = project.run("rejudge", "wo-one", "--objective")
    assert judged.returncode == 0, judged.stdout
    again = project.run("verify", "wo-one", "--again")
    assert again.returncode == 0, again.stderr
    assert "wo-one, attempt 2" in again.stdout
    pruned = project.answer("evidence", "prune", "--older-than", "0s", "--json")
    assert (pruned["blobs"], pruned["memos"], pruned["folders"]) == (0, 0, 0)


def test_its_key_is_in_no_file_of_ours(project: Project) -> None:
    state = Path(project.status()["state_dir"])
    assert not [path for path in state.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]


def test_a_store_that_is_away_is_no_verdict(project: Project, server: S3Server) -> None:
    server.stop()
    shown = project.run("evidence", "show", "wo-one")
    assert shown.returncode == 3
    assert "store_unavailable" in shown.stderr
    assert "can be reached" in shown.stderr
    (finding,) = [one for one in json.loads(project.run("doctor", "--json").stdout) if one["name"] == "evidence"]
    assert (finding["ok"], "can be reached" in finding["fix"]) == (False, True)
