"""A backup that was made beside a session and a round that run is restored on another machine, and both go on there."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from docker import APIClient

from tests.acting import COUNTERSIGN
from tests.integration.conftest import LIMIT_SECONDS, Project, wait_for
from tests.integration.engines import HELD, let_go

ELSEWHERE = (
    *("unshare", *(() if os.geteuid() == 0 else ("--user", "--map-root-user")), "--uts"),
    *("sh", "-c", 'hostname elsewhere && exec "$@"', "sh"),
)
"""Runs a command on a machine of another name."""

EVIDENCE = [{"label": "diff", "type": "text", "data": "-before +after"}]
CLAIM = {"explanation": "a.txt says after, see [diff]", "evidence": EVIDENCE, "files_modified": ["a.txt"]}
CHECK = {"name": "slow", "command": f"{HELD}; cat a.txt"}


class Elsewhere(Project):
    """The same folder on another machine, on which Countersign has nothing yet."""

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """As on the first machine."""
        return subprocess.run(
            [*ELSEWHERE, COUNTERSIGN, *arguments],
            cwd=self.root,
            env=self.environment | environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )


def session(project: Project) -> str:
    """One todo with a slow check, and one without any."""
    slow = {"id": "slow", "content": "It", "verification": {"checks": [CHECK], "objective_only": True}}
    criterion = {"id": "AC-1", "type": "file_contains", "params": {"path": "a.txt", "pattern": "after"}}
    quick = {"id": "quick", "content": "It", "acceptance_criteria": [criterion]}
    defaults = {"workspace": "work", "base": "base", "verification": {"objective_only": True}}
    (project.root / "s.yaml").write_text(yaml.safe_dump({"id": "s", "defaults": defaults, "todos": [slow, quick]}))
    (project.root / "claim.json").write_text(json.dumps({**CLAIM, "commands_run": []}))
    return "s.yaml"


def keys(rows: list[dict[str, Any]]) -> Counter[tuple[str, int]]:
    return Counter((row["workflow_id"], row["ordinal"]) for row in rows)


@pytest.mark.slow  # two hosts and two rounds; what a copy has in it, tests/unit/test_backup_files.py sees
def test_a_session_and_a_round_go_on_from_a_backup(project: Project, engine: APIClient, tmp_path: Path) -> None:
    project.answer("session", "create", session(project), "--json")
    for todo in ("slow", "quick"):
        project.answer("todo", "start", f"s/{todo}", "--json")
    project.answer("todo", "claim", "s/slow", "--claim", "claim.json", "--json")
    wait_for(lambda: "check_started" in {row["action"] for row in project.rows("s/slow")})
    file = tmp_path / "backup.tar.gz"
    told = project.answer("backup", str(file), "--json")
    assert (told["check"]["faults"], told["check"]["unproven"], told["damaged"]) == ([], [], [])
    assert told["hosts"] == [socket.gethostname()]
    project.answer("todo", "note", "s/quick", "--text", "too late for the backup", "--json")
    assert project.run("down").returncode == 0

    there = Elsewhere(project.root, project.environment | {"XDG_STATE_HOME": str(tmp_path / "elsewhere")})
    try:
        goes_on(there, engine, file)
    finally:
        there.close()


def goes_on(there: Elsewhere, engine: APIClient, file: Path) -> None:
    restored = there.answer("restore", str(file), "--json")
    assert (restored["check"]["faults"], restored["check"]["unproven"]) == ([], [])
    before = there.rows("s/quick")
    assert "noted" not in {row["action"] for row in before}
    assert there.run("up").returncode == 0
    claimed = there.run("todo", "claim", "s/quick", "--claim", "claim.json", "--wait")
    assert claimed.returncode == 0, claimed.stdout + claimed.stderr
    wait_for(lambda: let_go(engine, there))
    wait_for(lambda: there.answer("todo", "show", "s/slow", "--json")["status"] == "verified")
    rows = [*there.rows("s/slow"), *there.rows("s/quick")]
    assert set(keys(rows).values()) == {1}
    done = Counter((row["todo_id"], row["action"]) for row in rows)
    assert (done["slow", "check_completed"], done["slow", "todo_claimed"], done["quick", "approved"]) == (1, 1, 1)
    assert there.answer("log", "verify", "--json")["faults"] == []
    again = there.run("restore", str(file), "--json")
    assert (again.returncode, json.loads(again.stdout)["code"]) == (1, "host_runs")
