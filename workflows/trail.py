"""A workflow's hand on the trail: numbers its events and stores each before anything goes on."""

from __future__ import annotations

from datetime import datetime

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from pydantic import JsonValue

    from activities.trail import TrailActivities
    from domain.acts.step import Event
    from domain.events import Action, Actor, TrailEntry, TrailRef
    from domain.messages import AppendInput, RoundInput
    from workflows import options


class Writer:
    """The events of one workflow. `ordinal` numbers the last; `head` is the last row stored, in its session's order.

    `todo` is empty for what is the session's own. `recorded_at` is the time of the last event that was recorded.
    """

    def __init__(self, workflow_id: str, session: str, todo: str, store: str, ordinal: int = 0) -> None:
        self._workflow_id = workflow_id
        self._session = session
        self._todo = todo
        self._store = store
        self.ordinal = ordinal
        self.head: TrailRef | None = None
        self.recorded_at: datetime | None = None

    async def write(self, event: Event, attempt: int = 0, caused_by: str = "") -> TrailRef:
        """Store one event under its number, which makes it the same event however often it is sent.

        `caused_by`: the id of the event that it follows from. Raises `ActivityError` where the worker writes to another
        trail; a trail that cannot be reached is waited for.
        """
        self.ordinal += 1
        entry = TrailEntry(
            workflow_id=self._workflow_id,
            ordinal=self.ordinal,
            session=self._session,
            todo_id=self._todo,
            attempt=attempt,
            actor=event.actor,
            action=event.action,
            before=event.before,
            after=event.after,
            payload=event.payload,
            tool_call_id=event.tool_call_id,
            correlation_id=self._workflow_id,
            caused_by=caused_by,
            timestamp=workflow.now(),
        )
        ref = await workflow.execute_activity_method(
            TrailActivities.append,
            AppendInput(entry=entry, store=self._store),
            summary=f"{event.action} {event.payload.get('check', '')}".strip()[:180],
            **options.TRAIL,
        )
        self.recorded_at = entry.timestamp
        if self.head is None or ref.sequence > self.head.sequence:
            self.head = ref
        return ref


class AttemptTrail(Writer):
    """The events of one workflow that is about an `attempt` of a todo's."""

    def __init__(self, workflow_id: str, request: RoundInput) -> None:
        super().__init__(workflow_id, request.session, request.todo, request.store)
        self.attempt = request.attempt

    async def record(
        self,
        action: Action,
        actor: Actor,
        payload: dict[str, JsonValue],
        before: dict[str, JsonValue] | None = None,
        after: dict[str, JsonValue] | None = None,
    ) -> None:
        """Store one event, as `write` does.

        `before` and `after`: what it changed of the todo, by the names of `domain.read_model.TodoView`.
        """
        event = Event(action=action, actor=actor, before=before or {}, after=after or {}, payload=payload)
        await self.write(event, self.attempt)


class RoundTrail(AttemptTrail):
    """The events of one round."""

    def __init__(self, request: RoundInput) -> None:
        super().__init__(request.workflow_id, request)
