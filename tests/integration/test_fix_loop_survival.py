"""What dies at each step of an iteration: the same end, one set of edits, and no request is paid for twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.ledger import SqlLedger
from tests.fix_loops import configured, repairing, rows, workspace, wrong_work
from tests.integration.conftest import LIMIT_SECONDS, Project, alive, wait_for
from tests.provider import Provider, Received, Turn, providing

STEPS = ("fix_iteration_started", "role_pass_completed", "verification_started", "check_completed")
"""Of the first iteration, in their order; a kill as soon as each is in the trail."""

ENDS = ("audit_completed", "fix_iteration_completed", "patch_applied")
"""The same, towards its end."""


@pytest.fixture
def provider() -> Iterator[Provider]:
    with providing() as serving:
        yield serving


def spent(project: Project, todo: str) -> tuple[int, int, int]:
    """Requests, and micros that were settled and lost."""
    (state,) = Path(project.environment["XDG_STATE_HOME"]).glob("countersign/*")
    ledger = SqlLedger(f"sqlite:///{state}/trail.db")
    try:
        found = ledger.spent("local", todo)
    finally:
        ledger.close()
    return found.requests, found.micros, found.lost


def killed(project: Project, victim: str, running: subprocess.Popen[str]) -> None:
    """End it the hard way, as soon as there is one, and see it gone; somebody starts another. Not once all is over."""

    def there() -> int | None:
        status = project.run("status", "--json")
        pid: int | None = json.loads(status.stdout)[victim] if status.returncode == 0 else None
        return pid

    wait_for(lambda: running.poll() is not None or there() is not None, LIMIT_SECONDS)
    pid = there()
    if running.poll() is None and pid is not None:
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not alive(pid))


def seen(project: Project, todo: str, action: str) -> bool:
    """Whether the first repair has come so far."""
    found = rows(project, todo, action)
    if action in ("verification_started", "check_completed", "audit_completed"):
        return any(row["attempt"] == 2 for row in found)
    return bool(found)


def same_end(project: Project, name: str, out: str) -> None:
    """What comes of one loop that nothing happened to."""
    report = json.loads(out)
    loop = report["fix_loop"]
    assert (report["attempt"], report["verdict"], loop["ending"]) == (2, "PASS", "success"), loop
    assert [(one["answer"], one["edits"], one["attempt"]) for one in loop["iterations"]] == [("APPLIED:1", 1, 2)]
    assert (workspace(project, name) / "a.txt").read_text() == "right\n"
    assert sorted(file.name for file in workspace(project, name).iterdir()) == ["a.txt"]
    told = Counter(row["action"] for row in project.rows(name) if row["workflow_id"].startswith("fix/"))
    assert set(told.values()) == {1}, told
    assert project.run("log", "verify").returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("steps", [STEPS, ENDS], ids=["repair", "end"])
@pytest.mark.parametrize("victim", ["worker_pid", "host_pid"])
def test_killed_at_each_step_the_end_is_the_same(
    project: Project, provider: Provider, victim: str, steps: tuple[str, ...]
) -> None:
    configured(project, provider)
    provider.answers(repairing("after", "right"))
    name = "wo-killed"
    running = project.start("verify", wrong_work(project, name), "--json")
    for action in steps:
        wait_for(lambda action=action: seen(project, name, action), LIMIT_SECONDS)  # type: ignore[misc]  # its default binds
        killed(project, victim, running)
    out, err = running.communicate(timeout=LIMIT_SECONDS)
    assert running.returncode == 0, err
    same_end(project, name, out)


@pytest.mark.slow
def test_killed_while_the_fix_builder_is_asked_nothing_is_sent_or_edited_twice(
    project: Project, provider: Provider
) -> None:
    """The edit is made and the answer under way when the worker dies: what asked for the edit is not sent again."""
    configured(project, provider)
    done, asked, dead = repairing("after", "right"), threading.Event(), threading.Event()

    def script(received: Received) -> Turn:
        if received.answered == 1 and not asked.is_set():
            asked.set()
            dead.wait(LIMIT_SECONDS)
        return done(received)

    provider.answers(script)
    name = "wo-asked"
    running = project.start("verify", wrong_work(project, name), "--json")
    assert asked.wait(LIMIT_SECONDS)
    killed(project, "worker_pid", running)
    dead.set()
    out, err = running.communicate(timeout=LIMIT_SECONDS)
    assert running.returncode == 0, err
    same_end(project, name, out)
    assert [one.answered for one in provider.received] == [0, 1, 1]
    requests, micros, lost = spent(project, name)
    assert requests == 3, "the one that was lost is another"
    assert micros == 2 * (100 + 200)
    assert lost > 0
