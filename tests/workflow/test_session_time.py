"""A session's time: its end after a day, its next runs, and when it is forgotten."""

from __future__ import annotations

import asyncio

import pytest
from temporalio.client import WorkflowExecutionStatus
from temporalio.testing import WorkflowEnvironment

from domain.errors import Cause, Unavailable
from domain.events import TrailEntry, TrailRef
from domain.requests import Pause, Resume
from domain.status import SessionStatus
from tests.workflow.lives import until
from tests.workflow.sittings import ANN, Sitting, sitting, todo
from workflows import options
from workflows.session import keeper

DAY = 86400.0


async def test_after_a_day_what_is_unfinished_is_told_also_while_paused(server: WorkflowEnvironment) -> None:
    async with sitting(server, todo("a"), todo("b")) as s:
        await s.becomes("a", "verified")
        await s.ask("pause", Pause(actor=ANN))
        await s.passes(DAY - 600)
        assert (await s.state()).status is SessionStatus.PAUSED
        await s.passes(600)
        await s.told("b", status=SessionStatus.TIMED_OUT)
        (row,) = s.rows("session_timed_out")
        assert row.payload == {"timeout": DAY, "unfinished": ["b"]}
        refused = (await s.ask("resume", Resume(actor=ANN))).refused
        assert refused is not None
        assert refused.code == "session_timed_out"


async def test_what_is_completed_has_no_time_to_run_out(server: WorkflowEnvironment) -> None:
    async with sitting(server, todo("a"), seconds=1000) as s:
        await s.becomes("a", "verified")
        await s.passes(2000)
        assert (await s.state()).status is SessionStatus.COMPLETED
        assert (await s.becomes("a", "in_progress")).status is SessionStatus.RUNNING
        await s.passes(500)
        assert (await s.state()).status is SessionStatus.RUNNING
        await s.passes(501)
        await s.is_("timed_out")


async def test_thirty_days_after_its_end_everything_ends(server: WorkflowEnvironment) -> None:
    async with sitting(server, todo("a"), todo("b")) as s:
        await s.becomes("a", "verified")
        await s.becomes("b", "cancelled")
        await s.passes(20 * DAY)
        await s.asks("a", "verified")
        await s.passes(20 * DAY)
        assert (await s.handle.describe()).status is WorkflowExecutionStatus.RUNNING, "something happened since"
        await s.passes(11 * DAY)
        await asyncio.gather(s.handle.result(), *(s.todo(one).result() for one in ("a", "b")))
        assert (await s.gates("a"))[-1].retired


@pytest.fixture
def short_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of few reports, and batches of few todos."""
    monkeypatch.setattr(options, "REPORTS_A_RUN", 7)
    monkeypatch.setattr(keeper, "TOLD_AT_ONCE", 5)


async def test_the_next_run_goes_on_where_the_last_one_was(server: WorkflowEnvironment, short_runs: None) -> None:
    six = [f"t{n}" for n in range(6)]
    async with sitting(server, *(todo(one) for one in six), todo("last", *six), patched=True) as s:
        paused = await s.ask("pause", Pause(actor=ANN), update_id="once")
        await s.ask("resume", Resume(actor=ANN))
        await asyncio.gather(*(_worked(s, f"t{n}") for n in range(6)))
        await s.told("last", waits_for=())
        await s.becomes("last", "verified")
        state = await s.is_("completed")
        assert {entry.report for entry in state.todos.values()} == {1, 4}
        assert len(await s.runs()) >= 3
        assert await s.ask("pause", Pause(actor=ANN), update_id="once") == paused, "the answer is carried"
        assert [row.ordinal for row in s.rows()] == list(range(1, len(s.rows()) + 1))
        assert [row.action for row in s.rows()] == ["session_created", "paused", "resumed", "session_completed"]


async def _worked(s: Sitting, one: str) -> None:
    for status in ("in_progress", "claimed", "in_progress", "verified"):
        await s.becomes(one, status)


async def test_a_pause_reaches_everybody_while_runs_change(server: WorkflowEnvironment, short_runs: None) -> None:
    async with sitting(server, *(todo(f"t{n}") for n in range(12)), patched=True) as s:
        moves = [s.becomes(f"t{n}", "in_progress") for n in range(12)]
        await asyncio.gather(s.ask("pause", Pause(actor=ANN)), *moves)
        gates = await asyncio.gather(*(s.gates(f"t{n}") for n in range(12)))
        assert {found[-1].status for found in gates} == {SessionStatus.PAUSED}
        for found in gates:
            numbers = [gate.number for gate in found]
            assert numbers == sorted(set(numbers))

        async def all_heard() -> bool:
            return all(entry.report == 1 for entry in (await s.state()).todos.values())

        await until(all_heard)


async def test_a_report_outlives_a_trail_that_does_not_take_it(
    server: WorkflowEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(options, "REPORTS_A_RUN", 1)
    async with sitting(server, todo("a"), todo("b"), patched=True) as s:
        tried: list[str] = []

        def refuse(entry: TrailEntry) -> TrailRef:
            tried.append(entry.action)
            raise Unavailable(Cause.STORE_MISMATCH, "another store", "use the same")

        with monkeypatch.context() as away:
            away.setattr(s.trail, "append", refuse)
            await s.reports("a", "needs_human")
            await until(lambda: _is_in(tried, "paused"))
        await s.passes(keeper.AGAIN_SECONDS + 1)
        await s.told("b", status=SessionStatus.PAUSED)
        assert [row.action for row in s.rows()] == ["session_created", "paused"]


async def _is_in(tried: list[str], action: str) -> bool:
    return action in tried
