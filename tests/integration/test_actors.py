"""Who acts, by the real command: an agent in a person's shell, a person at a terminal, only signed acts."""

from __future__ import annotations

import json
import os
import pty
import select
import shlex
import subprocess
import time

import pytest

from tests.acting import COUNTERSIGN, program
from tests.integration.conftest import LIMIT_SECONDS, Project, wait_for
from tests.people import becomes, claims, has, refusals, rows, session, signal, status
from tests.signing_people import ANN, people

MARKED = {"CLAUDECODE": "1", "CODEX_SANDBOX": "seatbelt"}


def in_an_agents_shell(project: Project, line: str) -> subprocess.CompletedProcess[str]:
    """What the shell of an agent makes of `line`."""
    return subprocess.run(
        ["/bin/sh", "-c", f"{line}; exit $?"],
        cwd=project.root,
        env=project.environment | MARKED,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )


def at_a_terminal(project: Project, typed: str, *arguments: str) -> tuple[int, str]:
    """`countersign ARGUMENTS` with a terminal of its own: its exit code and output. `typed` is the answer to it."""
    ours, its = pty.openpty()
    line = [*program(), *arguments]
    process = subprocess.Popen(line, cwd=project.root, env=project.environment, stdin=its, stdout=its, stderr=its)
    os.close(its)
    seen, deadline = b"", time.monotonic() + LIMIT_SECONDS
    try:
        while True:
            assert time.monotonic() < deadline, seen
            if not select.select([ours], [], [], 1.0)[0]:
                continue
            try:
                seen += os.read(ours, 65536)
            except OSError:  # the other end is closed: it has ended
                break
            if typed and b", type " in seen:
                os.write(ours, f"{typed}\n".encode())
                typed = ""
        return process.wait(), seen.decode()
    finally:
        process.kill()
        os.close(ours)


@pytest.fixture(scope="module")
def waiting(shared: Project) -> Project:
    """A session with todos, two of which wait for a person."""
    session(shared, "s", "a", "b", safeguards={"pause_on_escalation": False})
    for todo in ("s/a", "s/b"):
        claims(shared, todo, f"for {todo}")
        becomes(shared, todo, "needs_human")
    return shared


DIRECT = 's/a --kind direct --reason "I am human"'


@pytest.mark.parametrize(
    "line",
    [
        f"countersign override {DIRECT} --dry-run",
        f"env -u CLAUDECODE countersign override {DIRECT} --as human:ann --yes",
        f"env -u CLAUDECODE -u CODEX_SANDBOX countersign override {DIRECT} --as human:ann --yes --dry-run",
        "env -i PATH=$PATH XDG_STATE_HOME=$XDG_STATE_HOME countersign session stop s",
    ],
)
def test_an_agent_in_a_persons_shell_is_an_agent_and_the_trail_has_it(waiting: Project, line: str) -> None:
    place = "s/" if "session" in line else "s/a"
    before, stood = len(rows(waiting, place, "refused")), status(waiting, "s/a")
    refused = in_an_agents_shell(waiting, line.replace("countersign", shlex.quote(str(COUNTERSIGN)), 1))
    assert refused.returncode == 1, refused.stderr
    assert "(forbidden)" in refused.stderr
    told = rows(waiting, place, "refused")[before:]
    assert {row["payload"]["code"] for row in told} <= {"forbidden"}
    wait_for(lambda: bool(rows(waiting, place, "refused")))
    last = rows(waiting, place, "refused")[-1]
    assert last["actor"]["role"] == "worker"
    assert set(MARKED) & set(last["payload"]["marks"])
    assert status(waiting, "s/a") == stood


def test_an_agent_creates_no_session_and_reads_what_there_is(waiting: Project) -> None:
    for command in ("session create s.yaml", "run s.yaml", "run s", "evidence prune --older-than 1s"):
        assert in_an_agents_shell(waiting, f"{COUNTERSIGN} {command}").returncode == 1, command
    assert rows(waiting, "s/", "refused")[-1]["payload"]["command"] == "drive"
    pruned = waiting.answer("log", "show", "--session", "system", "--json")
    assert [(row["action"], row["payload"]["code"]) for row in pruned] == [("refused", "forbidden")]
    for command in ("inbox", "todo show s/a", "log show s/a", "session show s", "status", "review s/a --plain"):
        assert in_an_agents_shell(waiting, f"{COUNTERSIGN} {command}").returncode == 0, command


def test_a_person_types_the_todo_at_a_terminal(waiting: Project) -> None:
    line = ("reject", "s/b", "--feedback", "say two")
    code, seen = at_a_terminal(waiting, "s/a", *line)
    assert (code, "(not_confirmed)" in seen) == (1, True), seen
    assert status(waiting, "s/b")[0] == "needs_human"
    bare = waiting.run_bare(*line, "--json")
    assert (bare.returncode, json.loads(bare.stdout)["code"]) == (1, "not_a_person")
    code, seen = at_a_terminal(waiting, "b", *line)
    assert (code, "in_progress" in seen) == (0, True), seen
    (row,) = rows(waiting, "s/b", "changes_requested")
    assert (row["actor"]["role"], row["payload"]["established"]) == ("unattributed", "terminal")
    assert "established=terminal" in waiting.run("log", "show", "s/b").stdout
    act = waiting.answer("todo", "show", "s/b", "--json")["last_act"]
    assert (act["action"], act["established"]) == ("changes_requested", "terminal")
    assert refusals(waiting, "s/b") == [], "nothing was sent"


def test_what_is_said_and_what_is_signalled_is_recorded_as_said(waiting: Project) -> None:
    said = waiting.run_bare("todo", "note", "s/a", "--text", "read it", "--as", "human:ann", "--yes")
    assert said.returncode == 0, said.stderr
    assert rows(waiting, "s/a", "noted")[-1]["payload"]["established"] == "said"
    signal(waiting.status()["temporal_address"], "session/s", "pause", {"by": "eve", "reason": "lunch"})
    wait_for(has(waiting, "s/", "paused"))
    assert rows(waiting, "s/", "paused")[-1]["payload"]["established"] == "said"


def test_where_only_signed_acts_are_taken(project: Project) -> None:
    keys = people(project)
    with (project.root / "countersign.toml").open("a") as settings:
        settings.write('\n[policy]\nhuman_acts = "signed"\n')
    file = project.root / "less.yaml"
    less = {"content": "c", "workspace": "work", "base": "base", "override_policy": {"signatures": "off"}}
    file.write_text(json.dumps({"id": "less", "todos": [{"id": "a", **less}]}))
    assert project.run("session", "create", file.name).returncode == 2
    session(project, "t", "a", override_policy={"direct_approval_allowed": True})
    claims(project, "t/a", "for t")
    becomes(project, "t/a", "needs_human")
    line = ("override", "t/a", "--kind", "direct", "--reason", "read it")
    for options in (("--as", "human:ann", "--yes"), ("--as", "human:ann", "--yes", "--dry-run")):
        refused = project.run_bare(*line, *options, "--json")
        assert (refused.returncode, json.loads(refused.stdout)["code"]) == (1, "signature_required")
    override = {"kind": "direct", "by": "ann", "reason": "read it"}
    signal(project.status()["temporal_address"], "todo/t/a", "override", override)
    wait_for(has(project, "t/a", "refused"))
    assert refusals(project, "t/a") == [("override", "signature_required")]
    project.answer("todo", "note", "t/a", "--text", "read it", "--key", keys.key(ANN), "--json")
    assert rows(project, "t/a", "noted")[-1]["payload"]["established"] == "signed"
    assert project.run("session", "pause", "t").returncode == 0
