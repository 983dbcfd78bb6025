"""Driving a session: when it ends, what is told meanwhile, and that no worker command is started afterwards."""

from __future__ import annotations

import asyncio
import os
import signal
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from adapters.config.settings import Settings
from domain.errors import Cause, CountersignError, Unavailable
from domain.events import Action, Actor, TrailEntry
from domain.messages import Progress, Step
from domain.read_model import RoundView, SessionView, State, TodoView
from domain.requests import Answer, Refusal, Request
from domain.session import Entry, Session
from domain.status import SessionStatus, TodoStatus
from entrypoints import driving
from entrypoints.cli.run import end_as_with_ctrl_c
from entrypoints.cli.tree import TreeWatcher, duration, nested, running_nodes
from entrypoints.driving import Driver
from entrypoints.standings import Standing
from tests.fakes.trail import Memory, MemoryTrail

NOW = datetime(2026, 1, 15, 10, 0, tzinfo=UTC)
ANN = Actor(role="unattributed", identity="ann")
S = TodoStatus


def todo(name: str, status: TodoStatus = S.PENDING, **fields: Any) -> TodoView:
    times = {"created_at": NOW, "updated_at": NOW}
    return TodoView.model_validate({"session": "s", "todo": name, "status": status, **times, **fields})


def state(*todos: TodoView, status: SessionStatus = SessionStatus.RUNNING, rounds: tuple[RoundView, ...] = ()) -> State:
    return State(sessions=(SessionView(session="s", status=status, created_at=NOW),), todos=todos, rounds=rounds)


ROUND = RoundView(session="s", todo="a", attempt=1, workflow_id="round/s/a/1", started_at=NOW)


@dataclass
class Scene:
    """A session that is looked at: each look at it shows the next state, the last one for ever."""

    settings: Settings
    states: list[State]
    busy: list[bool] = field(default_factory=lambda: [False])
    refused: Refusal | None = None
    drives: list[bool] = field(default_factory=list)
    revived: int = 0
    away: int = 0
    told: list[tuple[str, ...]] = field(default_factory=list)
    failures: list[CountersignError] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.memory = Memory()
        self.now = self.states[0]

    async def ask_session(self, session: str, command: str, request: Request) -> Answer:
        """Taken down."""
        assert (session, command) == ("s", "drive")
        self.drives.append(bool(request.model_dump()["on"]))
        return Answer(refused=self.refused)

    async def progress(self, round_id: str) -> Progress:
        """Two checks that run."""
        running = [Step(id="checks", status="running"), Step(id="tests", parent="checks", status="running")]
        return Progress(steps=tuple(running))

    async def revive(self) -> None:
        """Taken down."""
        self.revived += 1

    async def session(self, session: str) -> Session:
        """What the session itself says of the state that was seen last."""
        if self.away:
            self.away -= 1
            raise Unavailable(Cause.SERVER_UNAVAILABLE, "gone", "start it")
        busy = self.busy.pop(0) if len(self.busy) > 1 else self.busy[0]
        todos = {view.todo: Entry(id=view.todo, status=view.status, busy=busy) for view in self.now.todos}
        status = self.now.sessions[0].status
        return Session(id=session, host="h", created_by=ANN, created_at=NOW, deadline=NOW, status=status, todos=todos)

    def tell(self, standing: Standing, progress: dict[str, Progress]) -> None:
        """One look."""
        nodes = {name: running_nodes(one) for name, one in progress.items()}
        self.told.append(tuple(f"{view.todo} {view.status} {nodes.get(view.todo, '')}" for view in standing.todos))

    async def run(self) -> Standing:
        """To its end, in a second or so."""
        scene = self

        class Shown(MemoryTrail):
            def state(self, *_: Any, **__: Any) -> State:
                scene.now = scene.states.pop(0) if len(scene.states) > 1 else scene.states[0]
                return scene.now

        driver = Driver(self.settings, Shown(self.memory), self, "s", self.tell)  # type: ignore[arg-type]  # the calls it makes
        async with asyncio.timeout(60):
            return await driver.drive(ANN, self.failures.append)


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setattr(driving, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(driving, "LOOK_SHARE", 0)  # or after a look that was held up it rests for minutes
    monkeypatch.setattr(driving, "REST_SECONDS", 0.05)
    return Settings(project=tmp_path, state_dir=tmp_path / "state", temporal_address="127.0.0.1:1")


async def test_a_session_is_driven_until_it_is_completed(settings: Settings) -> None:
    claimed = state(todo("a", S.CLAIMED, attempt=1), rounds=(ROUND,))
    done = state(todo("a", S.VERIFIED), status=SessionStatus.COMPLETED)
    scene = Scene(settings, [state(todo("a")), claimed, done])
    ended = await scene.run()
    assert ended.session.status is SessionStatus.COMPLETED
    assert scene.drives == [True, False]
    assert scene.told == [("a pending ",), ("a claimed tests",), ("a verified ",)]


async def test_it_ends_where_only_a_human_can_go_on(settings: Settings) -> None:
    waits = state(todo("a", S.NEEDS_HUMAN), todo("b", depends_on=("a",)), status=SessionStatus.PAUSED)
    scene = Scene(settings, [state(todo("a", S.CLAIMED)), waits])
    assert (await scene.run()).session.status is SessionStatus.PAUSED
    assert scene.drives == [True, False]


async def test_a_worker_command_that_still_runs_is_waited_for(settings: Settings) -> None:
    scene = Scene(settings, [state(todo("a", S.NEEDS_HUMAN))], busy=[True, True, False])
    await scene.run()
    assert scene.busy == [False]


async def test_a_session_that_is_over_is_told_of_and_not_driven(settings: Settings) -> None:
    refused = Refusal(code="session_completed", reason="it is over", next_step="nothing")
    scene = Scene(settings, [state(todo("a", S.VERIFIED), status=SessionStatus.COMPLETED)], refused=refused)
    assert (await scene.run()).todos[0].status is S.VERIFIED


async def test_a_server_that_died_is_waited_for(settings: Settings) -> None:
    scene = Scene(settings, [state(todo("a", S.NEEDS_HUMAN))], away=1)
    await scene.run()
    assert scene.revived == 1


async def test_each_look_knows_when_the_session_stood_still(settings: Settings) -> None:
    scene = Scene(settings, [state(todo("a", S.NEEDS_HUMAN))])
    trail = MemoryTrail(scene.memory)
    begin, end = NOW + timedelta(seconds=20), NOW + timedelta(seconds=50)
    told: tuple[tuple[Action, SessionStatus, datetime], ...] = (
        ("paused", SessionStatus.PAUSED, begin),
        ("resumed", SessionStatus.RUNNING, end),
    )
    for ordinal, (action, status, at) in enumerate(told):
        entry = {"workflow_id": "session/s", "ordinal": ordinal, "session": "s", "todo_id": "", "actor": ANN}
        trail.append(
            TrailEntry.model_validate({**entry, "action": action, "after": {"status": status}, "timestamp": at})
        )
    assert (await scene.run()).halts == ((begin, end),), "or its todos seem to have less time than they have"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
async def test_who_is_ended_leaves_nothing_driven(settings: Settings, number: signal.Signals) -> None:
    scene = Scene(settings, [state(todo("a"))])

    async def driven() -> None:
        end_as_with_ctrl_c()
        await scene.run()

    before = signal.signal(number, signal.SIG_DFL)  # whoever runs the tests may have begun them with nohup
    try:
        driving_it = asyncio.create_task(driven())
        while not (scene.told or driving_it.done()):  # noqa: ASYNC110 - a scene says nothing by itself
            await asyncio.sleep(0.01)
        os.kill(os.getpid(), number)
        with pytest.raises(asyncio.CancelledError):
            await driving_it
    finally:
        for heeded in (signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().remove_signal_handler(heeded)
        signal.signal(number, before)
    assert scene.drives == [True, False]


async def test_under_nohup_the_terminal_may_go(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()
    heeded: list[int] = []
    monkeypatch.setattr(loop, "add_signal_handler", lambda number, _: heeded.append(number))
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        end_as_with_ctrl_c()
    finally:
        signal.signal(signal.SIGHUP, before)
    assert heeded == [signal.SIGTERM]


async def test_who_stops_it_leaves_nothing_driven(settings: Settings) -> None:
    scene = Scene(settings, [state(todo("a"))])
    driven = asyncio.create_task(scene.run())
    while not (scene.told or driven.done()):  # noqa: ASYNC110 - a scene says nothing by itself
        await asyncio.sleep(0.01)
    driven.cancel()
    with pytest.raises(asyncio.CancelledError):
        await driven
    assert scene.drives == [True, False]


def told(*standings: Standing) -> list[str]:
    """The plain lines."""
    console = Console(file=StringIO(), width=200, highlight=False)
    with TreeWatcher(console) as watcher:
        for standing in standings:
            watcher.see(standing)
    assert isinstance(console.file, StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def shown(*todos: TodoView, status: SessionStatus = SessionStatus.RUNNING, **nodes: str) -> Standing:
    found = state(*todos, status=status)
    return Standing(found.sessions[0], found.todos, NOW, (), nodes)


def test_without_a_terminal_there_is_a_line_for_each_change_and_no_other() -> None:
    claimed = todo("a", S.CLAIMED, review_status="auditing", attempt=1, audit_cap=3, revision_cap=2, title="Write it")
    needs = claimed.model_copy(update={"status": S.NEEDS_HUMAN, "trigger": "timeout"})
    lines = told(
        shown(todo("a"), todo("b")),
        shown(claimed, todo("b"), a="tests"),
        shown(claimed, todo("b")),
        shown(claimed, todo("b"), a="tests"),
        shown(needs, todo("b"), status=SessionStatus.PAUSED),
    )
    assert lines == [
        "session s  running",
        "▹ a  claimed (auditing)  attempt 1  audits 0/3  revisions 0/2  Write it",
        "    a: tests",
        "session s  paused",
        "! a  needs human (auditing)  attempt 1  audits 0/3  revisions 0/2  trigger: timeout  Write it",
    ]


def test_what_a_worker_wrote_steers_no_terminal() -> None:
    lines = told(shown(todo("a", S.BLOCKED, question="\x1b[2J\nwhich?", title="\x1b]0;x\x07")))
    assert "\x1b" not in "".join(lines)
    assert "asked: \\x1b[2J which?" in lines[1]


def test_the_tree_as_json_has_subtasks_in_their_parents() -> None:
    tree = nested(shown(todo("c", parent="p"), todo("p"), todo("d", parent="c"), c="tests"))
    (parent,) = tree["todos"]
    (child,) = parent["subtasks"]
    assert (parent["todo"], child["todo"], child["node"]) == ("p", "c", "tests")
    assert [below["todo"] for below in child["subtasks"]] == ["d"]


@pytest.mark.parametrize(("seconds", "text"), [(5.9, "5s"), (65, "1m05s"), (3700, "1h01m"), (-3, "0s")])
def test_durations_are_read_at_a_glance(seconds: float, text: str) -> None:
    assert duration(seconds) == text
