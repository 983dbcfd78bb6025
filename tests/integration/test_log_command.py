"""`countersign log` as people and programs use it: on a round that really ran, through pipes, signals and outages."""

from __future__ import annotations

import json
import select
import shutil
import signal
import socket
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import IO, Any

import pytest

from adapters.trail import SqlTrail
from domain.event_kinds import problems
from domain.events import HARNESS, TrailEntry, TrailRow
from tests.acting import COUNTERSIGN
from tests.integration.conftest import Project, wait_for
from tests.postgres import Cluster

CRITERIA = [
    {"id": "AC-1", "type": "file_exists", "params": {"path": "a.txt"}},
    {"id": "AC-2", "type": "file_contains", "params": {"path": "a.txt", "pattern": "after"}},
]
SCOPE = {"allow": ["src/**"]}


class Follower:
    """`countersign log show --follow ...`, and what it has printed."""

    def __init__(self, project: Project, *arguments: str) -> None:
        self.process = project.start("log", "show", "--follow", *arguments)
        self.lines: list[str] = []
        self.told: list[str] = []
        self._readers = [
            threading.Thread(target=_read, args=(stream, into), daemon=True)
            for stream, into in ((self.process.stdout, self.lines), (self.process.stderr, self.told))
        ]
        for reader in self._readers:
            reader.start()

    def interrupt(self) -> int:
        """Ctrl-C; the exit code."""
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(120)
        for reader in self._readers:
            reader.join(120)
        return code


def _read(stream: IO[str], into: list[str]) -> None:
    with stream:
        for text in stream:
            into.append(text)


@pytest.fixture(scope="module")
def verified(shared: Project) -> Project:
    """A project with two rounds: one verified, one out of scope."""
    assert shared.run("verify", shared.order(id="wo-good", acceptance_criteria=CRITERIA)).returncode == 0
    bad = shared.order(id="wo-bad", acceptance_criteria=CRITERIA, scope=SCOPE)
    assert shared.run("verify", bad).returncode == 1
    return shared


def test_a_round_is_followed_while_it_runs(project: Project) -> None:
    follower = Follower(project, "--json")
    wait_for(lambda: follower.process.poll() is None and project.run("log", "verify").returncode == 0)
    assert project.run("verify", project.order(id="wo-x", acceptance_criteria=CRITERIA)).returncode == 0
    rows = project.rows("wo-x")
    wait_for(lambda: len(follower.lines) >= len(rows))
    assert follower.interrupt() == 0
    assert [json.loads(text) for text in follower.lines] == rows
    assert "audit_completed" in {row["action"] for row in rows}
    assert follower.told == []


def test_every_row_of_a_round_keeps_to_the_table(verified: Project) -> None:
    rows = [TrailRow.model_validate(row) for todo in ("wo-good", "wo-bad") for row in verified.rows(todo)]
    assert {"scope_violation_detected", "audit_completed", "check_completed"} <= {row.action for row in rows}
    assert [problem for row in rows for problem in problems(TrailEntry.model_validate(row.model_dump()))] == []


def named(project: Project, vocabulary: str, todo: str) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = project.answer("log", "show", todo, "--names", vocabulary, "--json")
    return events


def test_a_round_by_the_authoritys_names(verified: Project) -> None:
    good = named(verified, "authority", "wo-good")
    names = [event["event"] for event in good]
    assert (names[0], names[-1]) == ("VerificationStarted", "VerificationCompleted")
    assert sorted(names[1:-1]) == ["CheckCompleted"] * 2 + ["CheckStarted"] * 2
    assert {event["attempt_id"] for event in good} == {"local/wo-good/1"}
    assert good[-1]["outcome"] == "PASS"
    bad = {event["event"]: event for event in named(verified, "authority", "wo-bad")}
    assert bad["ScopeViolationDetected"]["paths"] == ["a.txt"]
    assert bad["RetryContextAssembled"]["attempt_number"] == 2
    assert bad["VerificationCompleted"]["outcome"] == "SOFT_FAIL"


def test_a_round_by_the_pipelines_names(verified: Project) -> None:
    events = named(verified, "pipeline", "wo-good")
    assert events[0]["event"] == "verify.started"
    assert events[0]["process_id"] == "round/local/wo-good/1"
    tests = {event["criterion"]: event["passed"] for event in events if event["event"] == "verify.test_executed"}
    assert tests == {"AC-1": True, "AC-2": True}
    assert (events[-1]["event"], events[-1]["verdict"]) == ("verify.verdict", "PASS")
    assert named(verified, "pipeline", "wo-bad")[-1]["verdict"] == "FAIL"


def test_a_round_by_the_auditors_names(verified: Project) -> None:
    events = named(verified, "auditor", "wo-good")
    assert [event["action"] for event in events if event["action"].startswith("audit_")] == [
        "audit_started",
        "audit_completed",
    ]
    assert events[-1]["actor"] == "auditor"
    assert events[-1]["before_state"] == {"status": "claimed", "review_status": "auditing"}
    assert events[-1]["after_state"] == {"status": "verified", "review_status": "approved"}


@pytest.mark.parametrize("more", [[], ["--follow"], ["--follow", "--json"], ["--json"]], ids=" ".join)
def test_a_reader_that_goes_is_no_error(verified: Project, more: list[str]) -> None:
    with verified.start("log", "show", *more) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline()
        process.stdout.close()
        assert process.wait(150) == 0
        assert process.stderr.read() == ""


@pytest.fixture
def alone(verified: Project, tmp_path: Path) -> Iterator[Project]:
    """A folder with an export and the heads, for a command that has no trail, no server and no engine."""
    heads = next(Path(verified.environment["XDG_STATE_HOME"]).rglob("heads.jsonl"))
    shutil.copy(heads, tmp_path / "heads.jsonl")
    assert verified.run("log", "export", "--output", str(tmp_path / "trail.jsonl")).returncode == 0
    nowhere = {"XDG_STATE_HOME": "/proc/nowhere", "DOCKER_HOST": "tcp://127.0.0.1:1", "TEMPORAL_ADDRESS": "127.0.0.1:1"}
    yield Project(root=tmp_path, environment=verified.environment | nowhere)


def test_an_export_is_checked_with_nothing_but_the_file(alone: Project) -> None:
    assert alone.run("log", "show").returncode == 3, "there is no trail here"
    checked = alone.answer("log", "verify", "trail.jsonl", "--heads", "heads.jsonl", "--json")
    assert checked["rows"] == len((alone.root / "trail.jsonl").read_bytes().splitlines()) - 1
    assert (checked["faults"], checked["unproven"]) == ([], [])
    page = (Path(__file__).parents[2] / "docs" / "trail-export.md").read_text()
    script = page.partition("```python\n")[2].partition("```")[0]
    own = subprocess.run(
        [sys.executable, "-c", script, "trail.jsonl", "heads.jsonl"],
        cwd=alone.root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert own.stdout == f"{checked['rows']} rows, 1 sessions, in order\n", own.stderr


def test_an_export_with_a_forged_verdict_is_named(alone: Project) -> None:
    file = alone.root / "trail.jsonl"
    forged = file.read_bytes().replace(b'"outcome":"changes_requested"', b'"outcome":"verified"')
    assert forged != file.read_bytes()
    file.write_bytes(forged)
    result = alone.run("log", "verify", "--file", "trail.jsonl")
    assert result.returncode == 1
    assert "is not the row that was written: its hash does not match its content" in result.stdout


def test_what_is_no_export_is_told_as_such(alone: Project) -> None:
    result = alone.run("log", "verify", "heads.jsonl")
    assert result.returncode == 2
    assert result.stderr.startswith("heads.jsonl:1: ")


def test_the_lists_are_what_the_trail_makes_of_them(verified: Project) -> None:
    result = verified.run("log", "rebuild", "--check")
    assert (result.returncode, result.stdout) == (0, "0 differences\n"), result.stderr


def entry(ordinal: int) -> TrailEntry:
    return TrailEntry(
        workflow_id="w",
        ordinal=ordinal,
        session="local",
        todo_id="x",
        actor=HARNESS,
        action="check_started",
        payload={"check": f"c{ordinal}"},
        timestamp="2026-01-15T10:05:01Z",
    )


def test_following_outlives_a_database_that_is_away(
    project: Project, tmp_path: Path, postgres_cluster: Cluster
) -> None:
    url = postgres_cluster.create_database("followed")
    project.environment["COUNTERSIGN_DATABASE_URL"] = url

    def append(ordinal: int) -> None:
        with closing(SqlTrail(url, tmp_path / "heads.jsonl", busy_timeout=60)) as trail:
            trail.append(entry(ordinal))

    append(1)
    follower = Follower(project, "--json")
    wait_for(lambda: len(follower.lines) == 1)
    postgres_cluster.stop()
    try:
        wait_for(lambda: len(follower.told) % 2 == 1)
        time.sleep(2)
    finally:
        postgres_cluster.start()
    append(2)
    wait_for(lambda: len(follower.lines) == 2)
    assert follower.interrupt() == 0
    assert [json.loads(text)["payload"]["check"] for text in follower.lines] == ["c1", "c2"]
    told = [text.partition(":")[0] for text in follower.told]
    assert len(told) >= 2
    assert set(told[::2]) == {"the trail cannot be read now"}, "once each time; a server that stands still is away, too"
    assert set(told[1::2]) == {"the trail can be read again\n"}


class CuttingServer(socketserver.ThreadingTCPServer):
    """Before the server at port `behind`. Once it is `armed`, the next client that closes a cursor is hung up on."""

    daemon_threads = True

    def __init__(self, behind: int) -> None:
        super().__init__(("127.0.0.1", 0), _Passing)
        self.behind = behind
        self.armed = threading.Event()

    @property
    def port(self) -> int:
        return int(self.server_address[1])


class _Passing(socketserver.BaseRequestHandler):
    server: CuttingServer

    def handle(self) -> None:
        with socket.create_connection(("127.0.0.1", self.server.behind)) as server, suppress(ConnectionError):
            others = {self.request: server, server: self.request}
            while True:
                for end in select.select(list(others), [], [])[0]:
                    said = end.recv(65536)
                    if not said:
                        return
                    if self.server.armed.is_set() and end is self.request and b"CLOSE " in said:
                        self.server.armed.clear()
                        return
                    others[end].sendall(said)


def test_a_connection_that_dies_when_all_is_read_is_told_in_words_alone(
    project: Project, tmp_path: Path, postgres_cluster: Cluster
) -> None:
    """What is left to do then is to close the server's cursor, and SQLAlchemy logs that it could not."""
    url = postgres_cluster.create_database("cut")
    with (
        closing(SqlTrail(url, tmp_path / "heads.jsonl", busy_timeout=60)) as trail,
        CuttingServer(postgres_cluster.port) as between,
    ):
        threading.Thread(target=between.serve_forever, daemon=True).start()
        trail.append(entry(1))
        project.environment["COUNTERSIGN_DATABASE_URL"] = url.replace(f":{postgres_cluster.port}/", f":{between.port}/")
        follower = Follower(project, "--json")
        wait_for(lambda: len(follower.lines) == 1)
        between.armed.set()
        wait_for(lambda: len(follower.told) >= 2)
        trail.append(entry(2))
        wait_for(lambda: len(follower.lines) == 2)
        assert follower.interrupt() == 0
        between.shutdown()
    assert [json.loads(text)["payload"]["check"] for text in follower.lines] == ["c1", "c2"]
    assert [text.partition(":")[0] for text in follower.told] == [
        "the trail cannot be read now",
        "the trail can be read again\n",
    ]


def test_every_command_shows_an_example(project: Project) -> None:
    for command in ("show", "verify", "export", "rebuild"):
        assert f"Example: countersign log {command}" in project.run("log", command, "--help").stdout
    assert COUNTERSIGN.exists()
