"""Workspaces, repositories and databases that somebody tampered with, through the command line: never a wrong pass."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from tests.integration.conftest import Project, make_project

SWAP = ("-1 where sequence = 2", "2 where sequence = 3", "3 where sequence = -1")
CHECK = {"checks": [{"name": "new", "command": "grep -q after a.txt"}]}


def git(folder: Path, *arguments: str) -> str:
    environment = {
        "PATH": os.environ["PATH"],
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_SYSTEM": "/dev/null",
        **{f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()


def committed(folder: Path) -> tuple[Path, str]:
    """A repository with one commit, and that commit's id."""
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "a.txt").write_text("before\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "base")
    return folder, git(folder, "rev-parse", "HEAD")


def test_a_workspace_full_of_odd_things_gets_a_verdict_that_names_them(shared: Project) -> None:
    work = shared.root / "odd"
    work.mkdir()
    (work / "a.txt").write_text("after\n")
    (work / "out").symlink_to("/etc/passwd")
    (work / "new\nline").write_text("x")
    (work / os.fsdecode(b"bad-\xff")).write_text("x")
    with (work / "huge").open("wb") as huge:
        huge.truncate(10 * 2**30)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(work / "socket"))
    listener.close()
    result = shared.run("verify", shared.order(id="wo-odd", verification=CHECK), "--workspace", "odd", "--json")
    assert result.returncode == 0, result.stderr
    dropped = {entry["path"]: entry["reason"] for entry in json.loads(result.stdout)["snapshot"]["dropped"]}
    assert len(dropped) == 5
    assert "10737418240" in dropped["huge"]
    assert "a socket" in dropped["socket"]


@pytest.mark.slow
def test_a_workspace_with_too_many_files_is_the_workers_failure(shared: Project) -> None:
    work = shared.root / "many"
    work.mkdir()
    for number in range(120):
        (work / f"{number}.txt").touch()
    limited = {"COUNTERSIGN_STATE_DIR": str(shared.root / "limited-state"), "COUNTERSIGN_MAX_FILES": "100"}
    order = shared.order(id="wo-many", verification=CHECK)
    try:
        result = shared.run("verify", order, "--workspace", "many", **limited)
    finally:
        assert shared.run("down", **limited).returncode == 0
    assert result.returncode == 1, result.stderr
    assert "more than 100 files" in result.stdout


def test_nothing_that_the_worker_configured_in_git_runs(shared: Project) -> None:
    repository, revision = committed(shared.root / "repository")
    marker = shared.root / "it-ran"
    trap = shared.root / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {marker}\n")
    trap.chmod(0o755)
    for hook in ("pre-commit", "post-checkout", "post-index-change", "reference-transaction"):
        (repository / ".git" / "hooks" / hook).symlink_to(trap)
    for key in (
        "core.fsmonitor",
        "core.pager",
        "core.sshCommand",
        "filter.x.clean",
        "filter.x.smudge",
        "diff.x.command",
    ):
        git(repository, "config", key, str(trap))
    (repository / ".gitattributes").write_text("* filter=x diff=x\n")
    (repository / "a.txt").write_text("after\n")
    order = shared.order(id="wo-git", verification=CHECK)
    result = shared.run("verify", order, "--workspace", "repository", "--base", revision, "--json")
    assert result.returncode == 0, result.stderr
    assert "a.txt" in json.loads(result.stdout)["snapshot"]["changed"]
    assert not marker.exists()
    branch = shared.run("verify", order, "--workspace", "repository", "--base", "main")
    assert (branch.returncode, f"base main = HEAD = {revision}" in branch.stderr) == (0, True), branch.stderr
    assert not marker.exists()


def test_no_module_and_no_setting_of_the_workspace_has_a_say(project: Project) -> None:
    """The command is given in the workspace, as in the README: what lies there must not run, nor choose who decides."""
    marker = project.root / "it-ran"
    for name in ("worker.py", "json.py", "asyncio.py", "structlog.py", "entrypoints/__init__.py"):
        path = project.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"open({str(marker)!r}, 'w').write(__name__)\nraise SystemExit(0)\n")
    base, revision = committed(project.root.parent / "trusted")
    order = project.root / "order.yaml"
    order.write_text(
        f"content: x\nworkspace: .\nbase: {{repository: {base}, revision: {revision}}}\n"
        "verification: {checks: [{name: any, command: 'true'}]}\n"
    )
    trusted = project.run_program("trust", "order.yaml", "--as", "human:ann", "--yes")
    assert trusted.returncode == 0, trusted.stderr
    result = project.run_program("verify", "order.yaml")
    assert result.returncode == 0, result.stdout + result.stderr
    assert not marker.exists()
    (project.root / "countersign.toml").write_text('[sandbox]\ndocker_host = "unix:///mine.sock"\n')
    result = project.run_program("verify", "order.yaml")
    assert result.returncode == 2
    assert "a file that the worker can write" in result.stderr


def test_an_altered_object_of_the_base_is_no_base(shared: Project) -> None:
    repository, revision = committed(shared.root / "altered")
    blob = git(repository, "rev-parse", "HEAD:a.txt")
    (repository / "a.txt").write_text("forged\n")
    forged = git(repository, "hash-object", "-w", "a.txt")
    objects = repository / ".git" / "objects"
    target = objects / blob[:2] / blob[2:]
    target.chmod(0o644)
    target.write_bytes((objects / forged[:2] / forged[2:]).read_bytes())
    order = shared.order(id="wo-altered", verification=CHECK)
    result = shared.run("verify", order, "--workspace", "altered", "--base", revision)
    assert result.returncode == 3
    assert "altered" in result.stdout


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with one round in its trail, whose host has ended."""
    project = make_project(tmp_path_factory.mktemp("recorded"), tmp_path_factory.mktemp("state"))
    criteria = [{"type": "file_exists", "params": {"path": "a.txt"}}]
    assert project.run("verify", project.order(acceptance_criteria=criteria)).returncode == 0
    assert project.run("down").returncode == 0
    assert project.run("log", "verify").returncode == 0
    return project


@pytest.mark.parametrize(
    ("tampering", "named"),
    [
        (["update events set attempt = 9 where sequence = 3"], "row 3 is not"),
        (["delete from events where sequence = 4"], "row 4 is missing"),
        (["delete from events where sequence = (select max(sequence) from events)"], "is missing"),
        ([f"update events set sequence = {step}" for step in SWAP], "row 2 is not"),
        (["update events set sequence = 99 where sequence = 5"], "row 5 is missing"),
    ],
    ids=["edit", "removal", "removal of the last", "swap", "renumbering"],
)
def test_log_verify_names_the_row_that_was_tampered_with(recorded: Project, tampering: list[str], named: str) -> None:
    (database,) = Path(recorded.environment["XDG_STATE_HOME"]).rglob("trail.db")
    intact = database.read_bytes()
    with closing(sqlite3.connect(database)) as connection:
        triggers = connection.execute("select name, sql from sqlite_master where type = 'trigger'").fetchall()
        assert triggers, "an honest database refuses all this"
        for name, _ in triggers:
            connection.execute(f"drop trigger {name}")
        for statement in (*tampering, *(sql for _, sql in triggers)):
            connection.execute(statement)
        connection.commit()
    result = recorded.run("log", "verify")
    database.write_bytes(intact)
    assert result.returncode == 1
    assert named in result.stdout
