"""The ways of sessions and todos of which a history is kept: real workflows, with rounds that do as they are told.

A new one is a function here with a place in `WAYS`, and what comes of it a line in `results.RESULTS`.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable

from temporalio.client import WorkflowHandle, WorkflowHistory
from temporalio.testing import WorkflowEnvironment

from domain.decision import RoundOutcome
from domain.requests import (
    AddNote,
    Answer,
    MakeClaim,
    Override,
    Pause,
    Reject,
    Request,
    Respond,
    Resume,
    Return,
    Start,
    Stop,
)
from domain.todo import Todo, workflow_id_of
from tests.workflow.asking import answer_of, told_by
from tests.workflow.lives import Script, claim_of, living, until
from tests.workflow.scripted import Plan
from tests.workflow.scripted_role import APPROVED, LOOKED, Sayings, asking
from tests.workflow.sittings import ANN, BOT, Sitting, sitting, todo
from workflows.todo import TodoWorkflow

Histories = dict[str, str]
"""By name, as JSON."""

WRONG = Plan(outcome=RoundOutcome.CHANGES_REQUESTED)
SHORT_RUNS = "limit.historyCount.suggestContinueAsNew=60"
"""A server's setting with which a run is followed by the next after as many events, not after thousands."""

DAY = 86400.0
NOTES = 12
"""Enough of them for a run to be over."""


async def ordinary(server: WorkflowEnvironment) -> Histories:
    """A session, and of its todos one of each kind that needs no more than claims and rounds."""
    rounds = [Plan(), WRONG, Plan(), Plan(outcome=RoundOutcome.NEEDS_HUMAN, trigger="not_judged")]
    todos = (todo("verified"), todo("revised"), todo("escalated"), todo("reopened"), todo("child", parent="reopened"))
    async with sitting(server, *todos, outside=Script(rounds=rounds)) as s:
        await _claimed(s, "verified", "verified")
        await _claimed(s, "revised", "in_progress")
        await _claimed(s, "revised", "verified")
        await _claimed(s, "escalated", "needs_human")
        await _ask(s, "escalated", "return", Return(actor=ANN, reason="try again"))
        for name in ("escalated", "child", "reopened"):
            await _claimed(s, name, "verified")
        await _ask(s, "child", "reject", Reject(actor=ANN, feedback="not like that"))
        await _stands(s, "reopened", "in_progress")
        for name in ("child", "reopened"):
            await _claimed(s, name, "verified")
        await s.is_("completed")
        return await _kept(s, "verified", "revised", "escalated", "reopened", session="session")


async def capped(server: WorkflowEnvironment) -> Histories:
    """Three claims that are all found wrong."""
    async with sitting(server, todo("capped"), outside=Script(rounds=[WRONG, WRONG, WRONG])) as s:
        for leads_to in ("in_progress", "in_progress", "needs_human"):
            await _claimed(s, "capped", leads_to)
        await s.is_("paused")
        return await _kept(s, "capped")


async def paused(server: WorkflowEnvironment) -> Histories:
    """A pause in the middle, in which a claim is refused."""
    async with sitting(server, todo("paused"), outside=Script()) as s:
        await _ask(s, "paused", "start", Start(actor=BOT))
        await s.ask("pause", Pause(actor=ANN, reason="a look"))
        claim = MakeClaim(actor=BOT, claim=claim_of("too early"))
        answer = await answer_of(_handle(s, "paused"), "claim", claim, result_type=Answer)
        assert answer.refused is not None
        await s.ask("resume", Resume(actor=ANN))
        await _claimed(s, "paused", "verified")
        await s.is_("completed")
        return await _kept(s, "paused", session="session_paused")


async def timed_out(server: WorkflowEnvironment) -> Histories:
    """A todo whose hour is over, and one that is not done when its session's day is."""
    async with sitting(server, todo("timed-out"), todo("unfinished"), outside=Script()) as s:
        await _ask(s, "timed-out", "start", Start(actor=BOT))
        await server.fast_forward(_handle(s, "timed-out"), 3601)
        await _stands(s, "timed-out", "needs_human")
        await s.passes(DAY)
        await _stands(s, "unfinished", "needs_human")
        await s.is_("timed_out")
        return await _kept(s, "timed-out", "unfinished", session="session_timed_out")


async def stopped(server: WorkflowEnvironment) -> Histories:
    """Stopped while a round runs."""
    async with sitting(server, todo("stopped"), outside=Script(rounds=[Plan(holds=True)])) as s:
        await _claimed(s, "stopped", "claimed")
        await s.ask("stop", Stop(actor=ANN, reason="enough"))

        async def no_round() -> bool:
            return any(row.action == "round_ignored" for row in s.trail.rows())

        await until(no_round)
        return await _kept(s, "stopped", session="session_stopped")


async def overridden(server: WorkflowEnvironment) -> Histories:
    """What did not pass is answered for by a human."""
    failed = Plan(outcome=RoundOutcome.NEEDS_HUMAN, trigger="auditor_blocked", passed=False, not_passed=("AC-1",))
    async with sitting(server, todo("overridden"), outside=Script(rounds=[failed])) as s:
        await _claimed(s, "overridden", "needs_human")
        override = Override(actor=ANN, kind="check", reason="seen by me", acknowledged=("AC-1",))
        await _ask(s, "overridden", "override", override)
        await s.is_("completed")
        return await _kept(s, "overridden")


async def continued(server: WorkflowEnvironment) -> Histories:
    """Runs that are followed by the next, and those that follow them. Needs a server with `SHORT_RUNS`."""
    async with sitting(server, todo("a"), todo("b"), outside=Script()) as s:
        await _ask(s, "a", "start", Start(actor=BOT))
        for number in range(NOTES):
            await _ask(s, "a", "note", AddNote(actor=ANN, content=f"note {number}"))
            await s.ask("pause" if number % 2 == 0 else "resume", (Pause if number % 2 == 0 else Resume)(actor=ANN))
        for name in ("a", "b"):
            await _claimed(s, name, "verified")
        await s.is_("completed")
        found: Histories = {}
        for name, workflow_id in (("todo", workflow_id_of(s.id, "a")), ("session", f"session/{s.id}")):
            runs = await _runs(s, workflow_id)
            assert len(runs) > 1, f"{name} was not continued"
            found |= {f"{name}_continued": compact(runs[0]), f"{name}_continuing": compact(runs[-1])}
        return found


async def followed_up(server: WorkflowEnvironment) -> Histories:
    """The auditor asks twice: the worker answers, and then does not. Both the todo and its round."""
    said = Sayings([LOOKED, asking("which test?"), asking("since when?"), APPROVED])
    checks = {"checks": [{"name": "tests", "command": "true"}]}
    async with living(server, audited=said, verification=checks, safeguards={"follow_up_timeout": 2.0}) as life:
        await life.started()
        await life.claims()
        await life.has("follow_up_asked")
        await life.told(asked=True)
        answer = await life.ask("respond", Respond(actor=BOT, answer="the last one"))
        assert answer.refused is None, answer.refused
        todo = await life.becomes("verified")
        ids = {"todo_followed_up": todo.workflow_id, "followed_up": f"round/{todo.session}/{todo.id}/1"}
        return {name: compact(await life.client.get_workflow_handle(id).fetch_history()) for name, id in ids.items()}


WAYS: tuple[Callable[[WorkflowEnvironment], Awaitable[Histories]], ...] = (
    ordinary,
    capped,
    paused,
    timed_out,
    stopped,
    overridden,
    followed_up,
)


def compact(history: WorkflowHistory) -> str:
    """As JSON without what is only for the eye."""
    return json.dumps(json.loads(history.to_json()), separators=(",", ":")) + "\n"


async def _runs(s: Sitting, workflow_id: str) -> list[WorkflowHistory]:
    """The histories of a workflow's runs, the first one first."""
    listed = [one async for one in s.client.list_workflows(f"WorkflowId = '{workflow_id}'")]
    listed.sort(key=lambda one: one.start_time)
    handles = [s.client.get_workflow_handle(one.id, run_id=one.run_id) for one in listed]
    return [await handle.fetch_history() for handle in handles]


async def _kept(s: Sitting, *todos: str, session: str = "") -> Histories:
    ids = {f"todo_{name.replace('-', '_')}": workflow_id_of(s.id, name) for name in todos}
    if session:
        ids[session] = f"session/{s.id}"
    return {name: compact(await s.client.get_workflow_handle(id).fetch_history()) for name, id in ids.items()}


async def _claimed(s: Sitting, name: str, leads_to: str) -> None:
    """Start it if it was not, claim something that is new, and wait for what that comes to."""
    stands = await told_by(_handle(s, name), TodoWorkflow.state)
    if stands.status == "pending":
        await _ask(s, name, "start", Start(actor=BOT))
    await _ask(s, name, "claim", MakeClaim(actor=BOT, claim=claim_of(f"wrote part {stands.attempt + 1} of {name}")))
    await _stands(s, name, leads_to)


async def _ask(s: Sitting, name: str, command: str, request: Request) -> None:
    answer = await answer_of(_handle(s, name), command, request, result_type=Answer)
    assert answer.refused is None, answer.refused


async def _stands(s: Sitting, name: str, status: str) -> None:
    async def is_so() -> bool:
        return (await told_by(_handle(s, name), TodoWorkflow.state)).status == status

    await until(is_so)


def _handle(s: Sitting, name: str) -> WorkflowHandle[TodoWorkflow, Todo]:
    return s.client.get_workflow_handle_for(TodoWorkflow.run, workflow_id_of(s.id, name))
