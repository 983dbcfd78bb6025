"""`countersign review`: text without a terminal, what it imports, how it ends, and which secrets it does not show."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from adapters.config.settings import Settings
from adapters.masking import known
from adapters.masking.masker import Masker
from domain.base import canonical_json
from domain.errors import Malformed, Refused
from domain.events import Actor
from domain.lifecycle import Command
from domain.order import Order
from domain.requests import AddNote, Answer, Approve, Edit, HumanRequest, Pause
from domain.signatures import Signed
from domain.signing import About
from entrypoints.cli import common, edits, review
from entrypoints.cli.person import Agent, Person
from entrypoints.review import asking, masking
from entrypoints.review.acts import ACTS, Act
from entrypoints.review.asking import LiveAsker
from tests.reviews import Managed, escalated, some_page

ANN = Actor(role="unattributed", identity="ann")
NOWHERE = Path("/nowhere")
STREAMS = ("stdin", "stdout", "stderr")
LOADS = """
import sys
import entrypoints.cli.review
print(*sorted({name.partition(".")[0] for name in sys.modules} & {"textual", "temporalio", "sqlalchemy"}))
"""


def act(name: str) -> Act:
    return next(one for one in ACTS if one.name == name)


@pytest.fixture
async def todo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Managed:
    made, _ = await escalated(tmp_path)
    monkeypatch.setattr(common, "open_trail", lambda: made.world.trail)
    monkeypatch.setattr(common, "open_evidence", lambda: made.world.store)
    settings = Settings(project=tmp_path, evidence_dir=made.world.evidence, state_dir=tmp_path / "state")
    monkeypatch.setattr(common, "settings", lambda: settings)
    monkeypatch.setattr(review, "cost_of", lambda view: None)
    monkeypatch.setattr(review, "told", lambda cost: "$0.5000")
    return made


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A secret that the work has in it, known only since it was stored."""
    masker = Masker()
    masker.learn({"WORD": b"after 2"})
    monkeypatch.setattr(known, "KNOWN", masker)
    monkeypatch.setattr(masking, "KNOWN", masker)
    yield


def said(*arguments: str) -> Any:
    app = typer.Typer(add_completion=False)
    app.command()(review.review)
    return CliRunner().invoke(app, ["s/wo-1", *arguments], catch_exceptions=False)


def test_it_imports_no_screen_before_there_is_one() -> None:
    ended = subprocess.run([sys.executable, "-c", LOADS], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == ""


def test_without_a_terminal_it_is_text(todo: Managed) -> None:
    printed = said()
    assert printed.exit_code == 0
    assert printed.stdout == said("--plain").stdout
    order = ["=== Summary", "=== Difference", "--- a.txt: modified", "--- tests/test_a.py: modified, restored"]
    order += ["=== Claim", "=== Checks and criteria", "=== Dialogue", "=== Attempts", "=== Timeline"]
    places = [printed.stdout.index(part) for part in order]
    assert places == sorted(places)
    assert "$0.5000" in printed.stdout
    assert "\x1b" not in printed.stdout
    assert "+after 1" in said("--attempt", "1").stdout


@pytest.mark.parametrize("missing", ["stdin", "stdout", "stderr"])
def test_a_screen_needs_a_whole_terminal(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stream:
        def __init__(self, name: str) -> None:
            self.name = name

        def isatty(self) -> bool:
            return self.name != missing

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(review, "sys", type("Streams", (), {name: Stream(name) for name in STREAMS}))
    assert not review.on_a_terminal()
    monkeypatch.setattr(review, "sys", type("Streams", (), {name: Stream("any") for name in STREAMS}))
    assert review.on_a_terminal()
    monkeypatch.setenv("TERM", "dumb")
    assert not review.on_a_terminal()


def test_json_is_the_page(todo: Managed) -> None:
    told = json.loads(said("--json").stdout)
    assert (told["attempt"], told["needed"]["names"]) == (2, ["tests", "scope_violation"])
    assert told["todo"]["trigger"] == "audit_cap_exceeded"


def test_a_secret_that_became_known_later_is_masked(todo: Managed, secret: None) -> None:
    page = review.loader("s/wo-1")(None)
    (file,) = [each for each in page.difference.files if each.path == "a.txt"]
    assert "after 2" not in file.diff
    assert "WORD" in file.diff
    assert page.current


def test_a_screen_that_breaks_is_no_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    class Broken:
        return_code = 1

        async def run_async(self) -> None:
            """Whatever went wrong was told by the screen itself."""

        def exit(self) -> None:
            raise AssertionError

    with pytest.raises(typer.Exit) as ended:
        review._run(Broken())
    assert ended.value.exit_code == common.EXIT_UNAVAILABLE
    assert "the screen is gone" in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_the_screen_as_its_key_does(number: signal.Signals) -> None:
    class Waits:
        return_code = 0

        def __init__(self) -> None:
            self.left = asyncio.Event()

        async def run_async(self) -> None:
            os.kill(os.getpid(), number)
            await self.left.wait()

        def exit(self) -> None:
            self.left.set()

    app = Waits()
    review._run(app)
    assert app.left.is_set()


class Lives:
    """What would be asked, and how it was."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []
        self.requests: list[HumanRequest] = []

    async def ask_todo(self, session: str, todo: str, command: str, request: HumanRequest) -> Answer:
        self.asked.append((session, todo, command))
        self.requests.append(request)
        return Answer(status="verified")

    async def ask_session(self, session: str, command: str, request: HumanRequest) -> Answer:
        self.asked.append((session, command))
        self.requests.append(request)
        return Answer(status="paused")


async def test_a_decision_is_asked_of_the_todo_or_of_its_session(monkeypatch: pytest.MonkeyPatch) -> None:
    lives, opened = Lives(), []

    class Module:
        @staticmethod
        async def open_lives(settings: Settings) -> Lives:
            opened.append(settings)
            return lives

    monkeypatch.setattr(asking, "without_collecting", lambda name: Module)
    asker = LiveAsker(Settings(project=NOWHERE))
    assert (await asker.ask(some_page(), act("approve"), Approve(actor=ANN))).status == "verified"
    assert (await asker.ask(some_page(), act("pause"), Pause(actor=ANN))).status == "paused"
    assert lives.asked == [("s", "a", "approve"), ("s", "pause")]
    assert len(opened) == 1, "one connection is enough"


async def test_the_order_that_an_edit_makes_is_stored_before_it_is_asked(
    todo: Managed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edits, "build_evidence", lambda settings: todo.world.store)
    asker = LiveAsker(Settings(project=NOWHERE))
    asker._lives = Lives()  # type: ignore[assignment] # as much of it as is asked
    edit = Edit(actor=ANN, changes={"content": "New"})
    after = Order.model_validate({**todo.order.model_dump(mode="json"), "content": "New"})
    await asker.ask(todo.page(), act("edit"), edit.model_copy(update={"dry_run": True}))
    assert not todo.world.store.has(after.digest), "a trial stores nothing"
    await asker.ask(todo.page(), act("edit"), edit)
    assert todo.world.store.get(after.digest) == canonical_json(after.model_dump(mode="json"))
    with pytest.raises(Malformed, match="content: the number 3, expected text that is not empty"):
        await asker.ask(todo.page(), act("edit"), edit.model_copy(update={"changes": {"content": 3}}))


def test_what_is_decided_is_signed_for_what_was_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Signing:
        """What `entrypoints.signing` has."""

        @staticmethod
        def about_of(view: Any) -> About:
            return About(view.session, view.todo, view.attempt, view.snapshot, view.order_digest)

        @staticmethod
        def sign(request: HumanRequest, command: Command, about: About, key: Path) -> HumanRequest:
            signed = Signed(statement=f"{command} {about.snapshot} {key.name}", signature="s")
            return request.model_copy(update={"signed": signed})

    monkeypatch.setattr(asking, "without_collecting", lambda name: Signing)
    page, request = some_page(), Approve(actor=ANN)
    asker = LiveAsker(Settings(project=NOWHERE), tmp_path / "id")
    signed = asker.signed(page, act("approve"), request).signed
    assert signed is not None
    assert signed.statement == f"approve {page.snapshot} id"
    assert [one.name for one in ACTS if not asker.signs(one)] == ["note", "pause", "resume"]
    assert LiveAsker(Settings(project=NOWHERE)).signed(page, act("approve"), request) == request
    assert asker.signed(page, act("pause"), request) == request


@pytest.mark.parametrize("name", ["approve", "override", "note", "pause"])
async def test_what_an_agent_decides_at_the_screen_is_asked_as_a_workers_and_no_trial(name: str) -> None:
    agent = Agent(Actor(role="worker", identity="ann"), marks=("CLAUDECODE",))
    asker = LiveAsker(Settings(project=NOWHERE), Path("id"), agent)
    lives, page, chosen = Lives(), some_page(), act(name)
    asker._lives = lives  # type: ignore[assignment] # as much of it as is asked
    request = HumanRequest(actor=ANN, dry_run=True)
    assert not asker.signs(chosen)
    await asker.ask(page, chosen, asker.signed(page, chosen, request))
    (sent,) = lives.requests
    assert (sent.actor, sent.marks, sent.dry_run) == (agent.actor, ("CLAUDECODE",), False)


async def test_the_screen_is_a_terminal() -> None:
    asker = LiveAsker(Settings(project=NOWHERE), None, Person(ANN, established="said"))
    lives = Lives()
    asker._lives = lives  # type: ignore[assignment] # as above
    await asker.ask(some_page(), act("approve"), Approve(actor=ANN))
    assert [request.established for request in lives.requests] == ["terminal"]


def test_where_only_signed_acts_are_taken_the_screen_asks_for_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    only = Settings(project=NOWHERE, human_acts="signed")
    monkeypatch.setattr("entrypoints.cli.common.settings", lambda: only)
    with pytest.raises(Refused, match="signature_required"):
        LiveAsker(only).signed(some_page(), act("note"), AddNote(actor=ANN, content="x"))
    with_key = LiveAsker(only, Path("id"))
    assert [one.name for one in ACTS if not with_key.signs(one)] == ["pause", "resume"]
    pause = Pause(actor=ANN)
    assert LiveAsker(only).signed(some_page(), act("pause"), pause) == pause
