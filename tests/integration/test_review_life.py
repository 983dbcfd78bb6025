"""An escalated todo lives by the terminal review alone: by its keys, with a real server, workflows and terminal."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest
import yaml
from textual.pilot import Pilot
from textual.widgets import Checkbox, Input, Static, TextArea

from domain.events import Actor
from domain.status import SessionStatus
from entrypoints.cli import common
from entrypoints.cli.asking import Sender
from entrypoints.cli.review import loader
from entrypoints.review.app import ReviewApp
from entrypoints.review.asking import LiveAsker
from entrypoints.review.form import ActForm
from entrypoints.review.page import Page
from tests.acting import COUNTERSIGN
from tests.integration.conftest import Project, wait_for

ANN = Sender(Actor(role="unattributed", identity="ann"))
CLAIM = {
    "explanation": "rewrote the greeting in a.txt",
    "files_modified": ["a.txt"],
    "evidence": [{"label": "log", "type": "note", "data": "I read it aloud"}],
}
ENTERS, LEAVES = b"\x1b[?1049h", b"\x1b[?1049l"
"""What a program writes that takes the whole screen, and that gives it back."""


@pytest.fixture(scope="module")
def waiting(shared: Project) -> Project:
    """Two todos: one whose only audit failed, one whose worker has a question."""
    failing = {"id": "there", "type": "file_exists", "params": {"path": "b.txt"}}
    todos = [
        {
            "id": "greeting",
            "content": "A greeting",
            "acceptance_criteria": [failing],
        },
        {"id": "asked", "content": "A question"},
    ]
    defaults = {
        "workspace": "work",
        "base": "base",
        "verification": {"objective_only": True},
        "safeguards": {"pause_on_escalation": False, "audit_attempts": 1},
    }
    (shared.root / "life.yaml").write_text(yaml.safe_dump({"id": "life", "defaults": defaults, "todos": todos}))
    (shared.root / "claim.json").write_text(json.dumps(CLAIM))
    shared.answer("session", "create", "life.yaml", "--json")
    claim(shared)
    shared.answer("todo", "start", "life/asked", "--json")
    shared.answer("todo", "block", "life/asked", "--question", "which one?", "--json")
    return shared


def claim(project: Project) -> None:
    """The greeting is started if need be, and claimed, and a round says no."""
    if status(project, "greeting") == "pending":
        project.answer("todo", "start", "life/greeting", "--json")
    project.answer("todo", "claim", "life/greeting", "--claim", "claim.json", "--json")
    wait_for(lambda: status(project, "greeting") == "needs_human")


def status(project: Project, todo: str) -> str:
    return str(project.answer("todo", "show", f"life/{todo}", "--json")["status"])


@pytest.fixture
def here(waiting: Project, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """This process is in the project, as the command would be."""
    monkeypatch.chdir(waiting.root)
    for name in [name for name in os.environ if name.startswith(("COUNTERSIGN_", "TEMPORAL_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_STATE_HOME", waiting.environment["XDG_STATE_HOME"])
    common.settings.cache_clear()
    yield waiting
    common.settings.cache_clear()


@asynccontextmanager
async def review(todo: str) -> AsyncIterator[Pilot[None]]:
    load = loader(f"life/{todo}")
    app = ReviewApp(load(None), load, LiveAsker(common.settings()), ANN)
    async with app.run_test(size=(120, 50)) as pilot:
        await until(pilot, lambda: bool(app.screen.query("#head")) and bool(said(pilot, "head")))
        yield pilot
        await until(pilot, lambda: not any(worker.is_running for worker in app.workers))


async def until(pilot: Pilot[None], what: Callable[[], bool]) -> None:
    """Until it is so; what is asked comes to its end when workflow and worker do."""
    while not what():
        await pilot.pause()
        await asyncio.sleep(0.05)


def shown(pilot: Pilot[None]) -> Page:
    """The page as it was read last."""
    app = pilot.app
    assert isinstance(app, ReviewApp)
    return app.page


def paused(pilot: Pilot[None]) -> bool:
    session = shown(pilot).session
    return session is not None and session.status is SessionStatus.PAUSED


def said(pilot: Pilot[None], name: str) -> str:
    return str(pilot.app.screen.query_one(f"#{name}", Static).visual)


async def opens(pilot: Pilot[None], key: str) -> ActForm:
    """Press the key of an act; its form, once it has all its fields."""
    await until(pilot, lambda: not isinstance(pilot.app.screen, ActForm))
    await pilot.press(key)
    await until(pilot, lambda: isinstance(pilot.app.screen, ActForm) and bool(pilot.app.screen.query("#back")))
    form = pilot.app.screen
    assert isinstance(form, ActForm)
    return form


async def fill(pilot: Pilot[None], **fields: str) -> None:
    for name, text in fields.items():
        field = pilot.app.screen.query_one(f"#field-{name}")
        if isinstance(field, TextArea):
            field.text = text
        else:
            assert isinstance(field, Input)
            field.value = text


async def do(pilot: Pilot[None]) -> str:
    """Try what is in the form, then do it; what was said of the trial."""
    form = pilot.app.screen
    assert isinstance(form, ActForm)
    await pilot.press("ctrl+s")
    await until(pilot, lambda: form.stage not in ("typing", "trying"))
    tried = said(pilot, "answer")
    await pilot.press("y")
    await until(pilot, lambda: pilot.app.screen is not form)
    return tried


class TestALife:
    async def test_an_escalated_todo_is_given_back_and_overruled(self, here: Project) -> None:
        async with review("greeting") as pilot:
            assert "needs human (escalated)" in said(pilot, "head")
            await opens(pilot, "t")
            await fill(pilot, reason="say it politely")
            tried = await do(pilot)
            assert "in_progress" in tried
            await until(pilot, lambda: "in progress" in said(pilot, "head"))
            assert "✓ return: life/greeting is in progress" in said(pilot, "said")
            await pilot.press("o")
            await until(pilot, lambda: "not while the todo is in progress" in said(pilot, "said"))
            (here.root / "work" / "a.txt").write_text("good evening\n")
            await asyncio.to_thread(claim, here)
            await pilot.press("ctrl+r")
            await until(pilot, lambda: "attempt 2" in said(pilot, "head"))
            form = await opens(pilot, "o")
            await fill(pilot, reason="b.txt is not wanted any more")
            await pilot.press("ctrl+s")
            await until(pilot, lambda: form.stage == "typing" and "(" in said(pilot, "answer"))
            assert "(not_acknowledged)" in said(pilot, "answer")
            pilot.app.screen.query_one(Checkbox).value = True
            assert "verified" in await do(pilot)
            await until(pilot, lambda: "verified (overridden)" in said(pilot, "head"))
        rows = here.rows("life/greeting")
        (override,) = [row for row in rows if row["action"] == "human_override"]
        assert override["payload"]["acknowledged"] == ["there"]
        assert override["payload"]["reason"] == "b.txt is not wanted any more"
        assert override["actor"] == {"role": "unattributed", "identity": "ann"}
        (returned,) = [row for row in rows if row["action"] == "returned"]
        assert returned["payload"]["reason"] == "say it politely"
        assert [row for row in rows if row["action"] == "refused"] == [], "a trial leaves no row"

    async def test_a_question_is_answered(self, here: Project) -> None:
        async with review("asked") as pilot:
            assert "open question: which one?" in said(pilot, "head")
            await opens(pilot, "u")
            await fill(pilot, clarification="the first")
            await do(pilot)
            await until(pilot, lambda: "in progress" in said(pilot, "head"))
        assert status(here, "asked") == "in_progress"
        (row,) = [row for row in here.rows("life/asked") if row["action"] == "todo_unblocked"]
        assert row["payload"]["clarification"] == "the first"

    async def test_another_version_than_was_shown_is_refused(self, here: Project) -> None:
        async with review("asked") as pilot:
            edited = ("todo", "edit", "life/asked", "--set", "content=Another question", "--json")
            await asyncio.to_thread(here.answer, *edited)
            form = await opens(pilot, "d")
            await pilot.press("ctrl+s")
            await until(pilot, lambda: form.stage == "typing" and bool(said(pilot, "answer")))
            assert "(stale_version)" in said(pilot, "answer")
            await pilot.press("escape")
            await opens(pilot, "d")
        assert status(here, "asked") != "cancelled"

    async def test_a_session_is_paused_and_goes_on(self, here: Project) -> None:
        async with review("asked") as pilot:
            await opens(pilot, "p")
            await do(pilot)
            assert here.answer("session", "list", "--json")[0]["status"] == "paused"
            await until(pilot, lambda: paused(pilot))
            await opens(pilot, "s")
            await do(pilot)
            await until(pilot, lambda: "resume: session life is running" in said(pilot, "said"))


@contextmanager
def on_a_terminal(project: Project, *arguments: str) -> Iterator[tuple[subprocess.Popen[bytes], int, int]]:
    """`countersign ARGUMENTS` with a terminal of its own: the process, our end of the terminal, and its end."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    environment = project.environment | {"TERM": "xterm-256color"}
    process = subprocess.Popen(
        [COUNTERSIGN, *arguments], cwd=project.root, env=environment, stdin=its, stdout=its, stderr=its, close_fds=True
    )
    try:
        yield process, ours, its
    finally:
        process.kill()
        process.wait()
        os.close(its)
        os.close(ours)


def read_until(ours: int, wanted: bytes, process: subprocess.Popen[bytes], seen: bytes = b"") -> bytes:
    """What the terminal shows up to `wanted`, after `seen`, which may have it already; fails where it never comes."""
    deadline = time.monotonic() + 150
    while wanted not in seen:
        assert time.monotonic() < deadline, seen[-2000:]
        ready, _, _ = select.select([ours], [], [], 0.2)
        if ready:
            seen += os.read(ours, 65536)
        else:
            assert process.poll() is None or wanted in seen, seen[-2000:]
    return seen


class TestTheRealCommand:
    @pytest.mark.parametrize("ends", ["q", "ctrl-c", "SIGTERM"])
    def test_it_draws_and_gives_the_terminal_back(self, waiting: Project, ends: str) -> None:
        with on_a_terminal(waiting, "review", "life/greeting") as (process, ours, its):
            before = termios.tcgetattr(its)
            seen = read_until(ours, b"life/greeting", process)
            assert ENTERS in seen
            read_until(ours, b"Timeline", process, seen)
            assert termios.tcgetattr(its) != before
            if ends == "SIGTERM":
                process.send_signal(signal.SIGTERM)
            else:
                os.write(ours, b"q" if ends == "q" else b"\x03")
            read_until(ours, LEAVES, process)
            while process.poll() is None:  # it may have more to say than the terminal holds
                ready, _, _ = select.select([ours], [], [], 0.1)
                if ready:
                    os.read(ours, 65536)
            assert process.returncode == 0
            assert termios.tcgetattr(its) == before

    def test_without_a_terminal_it_prints(self, waiting: Project) -> None:
        printed = waiting.run_program("review", "life/greeting")
        assert printed.returncode == 0, printed.stderr
        assert printed.stdout == waiting.run("review", "life/greeting", "--plain").stdout
        for part in ("=== Summary", "=== Difference", "--- a.txt", "=== Checks and criteria", "=== Timeline"):
            assert part in printed.stdout
        assert "\x1b" not in printed.stdout

    def test_json_names_attempts_and_exit_codes(self, waiting: Project) -> None:
        page = waiting.answer("review", "life/greeting", "--attempt", "1", "--json")
        assert (page["attempt"], page["report"]["attempt"]) == (1, 1)
        assert page["difference"]["files"][0]["path"] == "a.txt"
        assert waiting.run("review", "life/nobody").returncode == 5
        assert waiting.run("review", "life/greeting", "--attempt", "9").returncode == 5
        assert waiting.run("review", "life/greeting", "--key", "nowhere").returncode == 2


def test_a_standalone_round_is_looked_at(shared: Project, tmp_path: Path) -> None:
    criterion = {"id": "there", "type": "file_exists", "params": {"path": "a.txt"}}
    order = shared.order(id="alone", acceptance_criteria=[criterion], verification={"objective_only": True})
    assert shared.run("verify", order).returncode == 0
    printed = shared.run("review", "local/alone", "--plain")
    assert printed.returncode == 0
    assert "none: a standalone round" in printed.stdout
    assert "✓ there  passed" in printed.stdout
