"""A workflow's hand on the trail: numbers its events and stores each before anything goes on."""

from __future__ import annotations

from datetime import datetime

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from pydantic import JsonValue

    from activities.trail import TrailActivities
    from domain.events import Action, Actor, TrailEntry, TrailRef
    from domain.messages import AppendInput, RoundInput
    from workflows import options


class RoundTrail:
    """The events of one round. `head` is the last row stored, in the session's order.

    `recorded_at` is the time of the last event that was recorded.
    """

    def __init__(self, request: RoundInput) -> None:
        self._round = request
        self._ordinal = 0
        self.head: TrailRef | None = None
        self.recorded_at: datetime | None = None

    async def record(
        self,
        action: Action,
        actor: Actor,
        payload: dict[str, JsonValue],
        before: dict[str, JsonValue] | None = None,
        after: dict[str, JsonValue] | None = None,
    ) -> None:
        """Store one event under its number, which makes it the same event however often it is sent.

        `before` and `after`: what it changed of the todo, by the names of `domain.read_model.TodoView`.
        """
        self._ordinal += 1
        entry = TrailEntry(
            workflow_id=self._round.workflow_id,
            ordinal=self._ordinal,
            session=self._round.session,
            todo_id=self._round.todo,
            attempt=self._round.attempt,
            actor=actor,
            action=action,
            before=before or {},
            after=after or {},
            payload=payload,
            correlation_id=self._round.workflow_id,
            timestamp=workflow.now(),
        )
        ref = await workflow.execute_activity_method(
            TrailActivities.append,
            AppendInput(entry=entry, store=self._round.store),
            summary=f"{action} {payload.get('check', '')}".strip()[:180],
            **options.TRAIL,
        )
        self.recorded_at = entry.timestamp
        if self.head is None or ref.sequence > self.head.sequence:
            self.head = ref
