"""What the Temporal server has of a project's sessions, todos and rounds. It judges nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowExecutionStatus

from adapters.config.settings import Settings
from domain.events import TrailRow
from entrypoints.client import connect
from entrypoints.host_state import ensure_up
from entrypoints.lives import open_lives
from entrypoints.names import ROUNDS
from entrypoints.stores import build_trail
from tests.chaos.check import ANSWERED, SETTLED_SECONDS
from tests.chaos.todo_check import Found, of_states

ROUND, TODO, SESSION = "WorkflowType = 'VerificationWorkflow'", "todo/", "session/"
BEGINS, ENDS = (
    EventType.EVENT_TYPE_TIMER_STARTED,
    (
        EventType.EVENT_TYPE_TIMER_FIRED,
        EventType.EVENT_TYPE_TIMER_CANCELED,
    ),
)


async def found_after(settings: Settings) -> tuple[Found, list[TrailRow]]:
    """What there is once no round runs and everybody has heard of everything, or `SETTLED_SECONDS` later; the rows."""
    deadline = time.monotonic() + SETTLED_SECONDS
    client = await connect(settings, (await ensure_up(settings)).address)
    while True:
        if not (await client.count_workflows(ROUNDS, rpc_timeout=ANSWERED)).count:
            found, rows = await _states(settings), _rows(settings)
            if not list(of_states(found, rows)) or time.monotonic() > deadline:
                break
        assert time.monotonic() < deadline, "rounds do not end"
        await asyncio.sleep(0.5)
    for workflow_id in (f"session/{id}" for id in found.sessions):
        found.timers[workflow_id] = await _timers(client, workflow_id)
    for todo in found.todos.values():
        found.timers[todo.workflow_id] = await _timers(client, todo.workflow_id)
    async for one in client.list_workflows(ROUND):
        found.rounds[one.id] = WorkflowExecutionStatus(one.status).name if one.status else "?"
    return found, rows


def _rows(settings: Settings) -> list[TrailRow]:
    trail = build_trail(settings)
    try:
        return list(trail.rows())
    finally:
        trail.close()


async def _states(settings: Settings) -> Found:
    """What each says of itself; which there are, the trail says."""
    lives = await open_lives(settings)
    found = Found()
    for session in sorted({row.session for row in _rows(settings)}):
        found.sessions[session] = await lives.session(session)
        for todo in found.sessions[session].todos:
            found.todos[session, todo] = await lives.todo(session, todo)
    return found


async def _timers(client: Client, workflow_id: str) -> int:
    """How many of them run in the last run of a workflow."""
    running: set[int] = set()
    async for event in client.get_workflow_handle(workflow_id).fetch_history_events():
        if event.event_type == BEGINS:
            running.add(event.event_id)
        elif event.event_type in ENDS:
            fired = event.timer_fired_event_attributes.started_event_id
            running.discard(fired or event.timer_canceled_event_attributes.started_event_id)
    return len(running)


def recoveries(asked_and_answered: Sequence[tuple[float, float]], kills: Sequence[float]) -> list[float]:
    """For each kill, the seconds until a command that was asked after it was answered; none where nobody asked."""
    found = []
    for kill in kills:
        after = [answered for asked, answered in asked_and_answered if asked >= kill]
        found += [min(after) - kill] if after else []
    return found
