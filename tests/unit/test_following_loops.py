"""A round of `verify` and its fix loop are followed to their end: over lost connections, and ended with Ctrl-C."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from temporalio.client import WorkflowExecutionStatus, WorkflowFailureError
from temporalio.exceptions import ApplicationError, CancelledError
from temporalio.service import RPCError, RPCStatusCode

from adapters.config.settings import Settings
from domain.decision import Decision, Reason, RoundOutcome
from domain.errors import Unavailable
from domain.fix_messages import FixLoopResult, FixProgress, Iteration
from domain.messages import Progress, RoundResult, Step
from domain.order import FixLoop, Order
from entrypoints import following, rounds
from tests.fakes.trail import MemoryTrail

ROUND, NEXT, LOOP = "round/local/wo/1", "round/local/wo/2", "fix/local/wo/1"
ORDER = Order(id="wo", content="work", domain="refactor", fix_loop=FixLoop(enabled=True))
REFUSED = Decision(outcome=RoundOutcome.CHANGES_REQUESTED, reasons=(Reason(code="c", text="t"),))
LOST = RPCError("gone", RPCStatusCode.UNAVAILABLE, b"")
NOT_THERE = RPCError("no such workflow", RPCStatusCode.NOT_FOUND, b"")
DONE = FixLoopResult(ending="success", loops=1, of=3)
REPAIRS = FixProgress(loop=1, of=3, doing="repairs", iterations=(Iteration(loop=1),))
VERIFIES = REPAIRS.model_copy(update={"doing": "verifies", "round": NEXT})


class Workflow:
    """Answers each query with the next of `answers`, raises those that are errors, and has ended with the last."""

    def __init__(self, result: Any, *answers: Any) -> None:
        self.result_is = result
        self.answers = list(answers)
        self.cancelled = False
        self.asked = asyncio.Event()
        self.over = asyncio.Event()

    async def describe(self, **_: Any) -> Any:
        """Without anything that it waits for."""
        status = WorkflowExecutionStatus.RUNNING if len(self.answers) > 1 else WorkflowExecutionStatus.COMPLETED
        return SimpleNamespace(status=status, raw_description=SimpleNamespace(pending_activities=[]))

    async def query(self, name: str, **_: Any) -> Any:
        """The next answer; with the last of them it is over."""
        assert name == "progress"
        self.asked.set()
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def result(self, **_: Any) -> Any:
        """What it came to, once all has been asked."""
        if len(self.answers) > 1 and not self.cancelled:
            await self.over.wait()
        if isinstance(self.result_is, Exception):
            raise self.result_is
        return self.result_is

    async def cancel(self, **_: Any) -> None:
        """Taken down."""
        self.cancelled = True


class Server:
    """Workflows by id; the handle of one that is not there says so whatever it is asked."""

    def __init__(self, **workflows: Workflow) -> None:
        self.of = workflows
        self.opened = 0

    def get_workflow_handle(self, workflow_id: str, **_: Any) -> Any:
        """See the class."""
        found = {ROUND: "round", NEXT: "next", LOOP: "loop"}[workflow_id]
        if found in self.of:
            return self.of[found]

        async def missing(*_: Any, **__: Any) -> Any:
            raise NOT_THERE

        return SimpleNamespace(describe=missing, query=missing, result=missing, cancel=missing)


Run = Callable[..., Any]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`rounds.verify` on a server of the test's."""
    settings = Settings(project=tmp_path, state_dir=tmp_path / "state", temporal_address="127.0.0.1:1")
    monkeypatch.setattr(rounds, "RECONNECT_SECONDS", 0)
    monkeypatch.setattr(following, "POLL_SECONDS", 0)
    monkeypatch.setattr(following, "POLL_SHARE", 0)

    async def verify(server: Server, seen: Callable[[Any], None] = lambda _: None) -> rounds.Ended:
        async def open_server(*_: Any, **__: Any) -> Any:
            server.opened += 1
            return SimpleNamespace(client=server)

        async def start_round(*_: Any) -> Any:
            return SimpleNamespace(workflow_id=ROUND, session="local", todo="wo", attempt=1, order=ORDER), None

        monkeypatch.setattr(rounds, "open_server", open_server)
        monkeypatch.setattr(rounds, "start_round", start_round)
        work = rounds.Work(ORDER)
        return await rounds.verify(settings, MemoryTrail(), work, lambda *_: None, seen, None, seen)

    return verify


def refused(fix: str = LOOP) -> RoundResult:
    return RoundResult(decision=REFUSED, record="r", report="r", fix=fix)


def named(seen: list[Any]) -> list[str]:
    """Rounds by what runs of them, loops by what they do."""
    return [one.steps[0].id if isinstance(one, Progress) else one.progress.doing for one in seen]


def step(name: str) -> Progress:
    return Progress(steps=(Step(id=name),))


async def test_a_round_without_a_loop_is_all_there_is(run: Run) -> None:
    seen: list[Any] = []
    ended = await run(Server(round=Workflow(refused(""), step("first"))), seen.append)
    assert (ended.loop, named(seen)) == (None, ["first"])


async def test_the_loop_and_each_of_its_rounds_are_followed_in_turn(run: Run) -> None:
    seen: list[Any] = []
    server = Server(
        round=Workflow(refused(), step("first")),
        loop=Workflow(DONE, REPAIRS, VERIFIES, VERIFIES, FixProgress(doing="files")),
        next=Workflow(refused(), step("second"), step("third")),
    )
    ended = await run(server, seen.append)
    assert ended.loop == DONE
    assert ended.result.fix == LOOP
    assert named(seen) == ["first", "repairs", "verifies", "second", "third", "verifies", "files"]


async def test_a_round_that_is_named_before_it_is_there_is_asked_again(run: Run) -> None:
    seen: list[Any] = []
    server = Server(round=Workflow(refused(), step("first")), loop=Workflow(DONE, VERIFIES, VERIFIES, REPAIRS))

    def see(one: Any) -> None:
        seen.append(one)
        if named(seen).count("verifies") == 2:
            server.of["next"] = Workflow(refused(), step("second"))

    await run(server, see)
    assert named(seen) == ["first", "verifies", "verifies", "second", "repairs"]
    assert server.opened == 1, "the server was there all the time"


@pytest.mark.parametrize("lost_in", ["loop", "next"])
async def test_a_connection_that_is_lost_is_made_again(run: Run, lost_in: str) -> None:
    server = Server(
        round=Workflow(refused(), step("first")),
        loop=Workflow(DONE, VERIFIES, VERIFIES, REPAIRS),
        next=Workflow(refused(), step("second")),
    )
    lost = [LOST]
    described = server.of[lost_in].describe

    async def describe(**fields: Any) -> Any:
        if lost:
            raise lost.pop()
        return await described(**fields)

    server.of[lost_in].describe = describe  # type: ignore[method-assign]  # it answers a second time
    assert (await run(server)).loop == DONE
    assert server.opened == 2


async def test_one_that_somebody_cancelled_is_aborted_with_what_was_seen_of_it(run: Run) -> None:
    cancelled = WorkflowFailureError(cause=CancelledError())
    cancelled.__cause__ = CancelledError()
    server = Server(round=Workflow(refused(), step("first")), loop=Workflow(cancelled, REPAIRS))
    loop = (await run(server)).loop
    assert (loop.ending, loop.iterations, loop.of) == ("aborted", REPAIRS.iterations, 3)


async def test_one_that_broke_is_no_verdict(run: Run) -> None:
    broken = WorkflowFailureError(cause=ApplicationError("broken"))
    broken.__cause__ = ApplicationError("broken")
    with pytest.raises(Unavailable, match="broken"):
        await run(Server(round=Workflow(refused(), step("first")), loop=Workflow(broken, REPAIRS)))


async def test_ended_while_the_loop_runs_the_loop_is_cancelled(run: Run) -> None:
    loop = Workflow(DONE, REPAIRS, *[REPAIRS] * 100_000)
    server = Server(round=Workflow(refused(), step("first")), loop=loop)
    task = asyncio.create_task(run(server))
    await loop.asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert loop.cancelled


async def test_ended_while_the_round_runs_a_loop_that_it_began_all_the_same_is_cancelled(run: Run) -> None:
    first, loop = Workflow(refused(), *[step("first")] * 100_000), Workflow(DONE, REPAIRS)
    task = asyncio.create_task(run(Server(round=first, loop=loop)))
    await first.asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (first.cancelled, loop.cancelled) == (True, True)


async def test_ended_while_the_round_runs_and_without_a_loop_nothing_is_wrong(run: Run) -> None:
    first = Workflow(refused(), *[step("first")] * 100_000)
    task = asyncio.create_task(run(Server(round=first)))
    await first.asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert first.cancelled
