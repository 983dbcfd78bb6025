"""What is asked of a session, settled as it comes: done or refused, and recorded. It has no rules.

Source: DESIGN 2 "A message handler", DESIGN 6 "Updates carry a stable id".
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TypeVar

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from activities.packing import unpacked_all
    from activities.todos import TodoActivities
    from domain import sessions
    from domain.actors import Established
    from domain.acts.asked import unsigned
    from domain.events import Actor, TrailRef
    from domain.life import PART_TODOS, PlanInput, Planned, StartTodosInput
    from domain.requests import Answer, Create, HumanRequest, Refusal, Request
    from domain.session import Entry, Session
    from domain.sessions import SessionOutcome, SessionStep
    from domain.signing import established_of
    from workflows import options
    from workflows.answers import Answers, outsider
    from workflows.session.keeper import Keeper

R = TypeVar("R", bound=Request)


class Commands:
    """What is asked of a session: settled under its lock, recorded where it is refused."""

    def __init__(self, keeper: Keeper, answers: dict[str, str]) -> None:
        self._keeper = keeper
        self.answers = Answers(answers)

    async def settle(
        self, command: str, request: R, act: Callable[[Session, R, datetime], SessionOutcome], wait: bool = False
    ) -> Answer:
        """Do it, or record that it was refused; `wait` until all todos that it means something to know of it.

        A trial is only answered. Nothing asked of a session is signed. Raises `ActivityError` where no row could be
        stored.
        """
        request = unsigned(request)
        async with self._keeper.lock:
            session = self._keeper.session
            outcome = outsider(session.id, request) or act(session, request, workflow.now())
            if _is_trial(request):
                return _tried(session, outcome)
            if isinstance(outcome, Refusal):
                return await self._refused(command, request, outcome)
            ref = await self._keeper.take(outcome)
        if wait:
            await self._keeper.told(outcome.told)
        return self._answer(ref, session, outcome)

    async def create(self, request: Create) -> Answer:
        """New todos, answered once they are started; a trial starts none. Raises `ActivityError`."""

        request = unsigned(request)
        answer = await self.settle("create", request, _may_create)
        if answer.refused:
            return answer
        planned = await plan(PlanInput(plan=request.orders, ids=request.ids))
        entries = unpacked_all(planned.entries, Entry)

        async with self._keeper.lock:
            session = self._keeper.session
            outcome = sessions.created(session, request.actor, entries, workflow.now(), request.expected_version)
            if request.dry_run:
                return _tried(session, outcome)
            if isinstance(outcome, Refusal):
                return await self._refused("create", request, outcome)
            ref = await self._keeper.take(outcome)
            start = self.starting(request.actor, entries, planned, established_of(request), request.reason)
        await start
        return self._answer(ref, session, outcome)

    def starting(
        self,
        actor: Actor,
        entries: tuple[Entry, ...],
        planned: Planned,
        established: Established | None = None,
        reason: str = "",
    ) -> Awaitable[None]:
        """Start todos that have joined, with the session's word as it is now. For whoever holds the lock."""
        ids = tuple(entry.id for entry in entries)
        gates = self._keeper.starts(ids)
        session = self._keeper.session
        inputs = []
        for number, part in enumerate(planned.parts):
            these = ids[number * PART_TODOS : (number + 1) * PART_TODOS]
            inputs.append(
                StartTodosInput(
                    session=session.id,
                    host=session.host,
                    store=session.store,
                    actor=actor,
                    plan=part,
                    ids=these,
                    siblings=len(session.todos),
                    gates={todo: gates[todo] for todo in these if todo in gates},
                    reason=reason,
                    established=established,
                    signers=session.signers,
                )
            )
        return self._start(inputs)

    async def _start(self, inputs: list[StartTodosInput]) -> None:
        """One part after the other; each is told of what happened meanwhile as soon as it has begun."""
        for one in inputs:
            await workflow.execute_activity_method(
                TodoActivities.start, one, summary=f"start {len(one.ids)} todos", **options.TODOS
            )
            self._keeper.started(one.ids)

    async def _refused(self, command: str, request: Request, why: Refusal) -> Answer:
        """Record the refusal. For whoever holds the lock."""
        step = sessions.refused(self._keeper.session, command, request, why)
        ref = await self._keeper.take(step)
        session = self._keeper.session
        return Answer(status=session.status, version=session.version, sequence=ref.sequence if ref else 0, refused=why)

    def _answer(self, ref: TrailRef | None, before: Session, step: SessionStep) -> Answer:
        """Where it stands now, which may be further on than where the step led, and what the step changed."""
        session = self._keeper.session
        return Answer(
            status=session.status,
            version=session.version,
            sequence=ref.sequence if ref else 0,
            changed=sessions.changed(before, step.session),
        )


async def plan(request: PlanInput) -> Planned:
    """What of a plan the session has to know. Raises `ActivityError`."""
    return await workflow.execute_activity_method(TodoActivities.plan, request, summary="read the plan", **options.PLAN)


def _may_create(session: Session, request: Create, _: datetime) -> SessionOutcome:
    """Before the plan is read, which takes a while."""
    refused = request.refused or sessions.closed(session.status, request.actor)
    return refused or sessions.SessionStep(session=session)


def _is_trial(request: Request) -> bool:
    return isinstance(request, HumanRequest) and request.dry_run


def _tried(before: Session, outcome: SessionOutcome) -> Answer:
    """What would come of it."""
    if isinstance(outcome, Refusal):
        return Answer(status=before.status, version=before.version, refused=outcome, dry_run=True)
    after = outcome.session
    changed = sessions.changed(before, after)
    return Answer(status=after.status, version=after.version, changed=changed, dry_run=True)
