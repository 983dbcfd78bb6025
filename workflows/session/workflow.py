"""One session: who may go on, until it has ended and is forgotten. What it decides is `domain.sessions`' to say.

It is never closed by being completed, for a human may still reject a todo: it ends when nothing has happened for
`domain.sessions.RETIRES_AFTER` since. Source: DESIGN 3 and 6.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    from activities.boundary import outside_error
    from activities.packing import packed, unpacked, unpacked_all
    from domain import sessions
    from domain.acts.asked import unproven
    from domain.events import Actor
    from domain.life import PlanInput, SessionInput
    from domain.notifications import NotificationInput, session_over
    from domain.requests import Answer, Create, Drive, Pause, Refusal, Replace, Request, Resume, Stop
    from domain.session import Entry, Session, TodoReport
    from domain.sessions import RETIRES_AFTER, SessionOutcome, SessionStep
    from domain.signals import said_of, speaker_of
    from domain.standing import ENDED, holding
    from domain.status import LIVE, SessionStatus
    from workflows import options
    from workflows.session.commands import Commands, plan
    from workflows.session.keeper import AGAIN_SECONDS, Keeper
    from workflows.telling import start_telling

NEVER = Refusal(
    code="replace_forbidden",
    reason="a list of todos is never replaced: what was asked for stays on record",
    next_step="create further todos, or have a human edit or delete some",
)

R = TypeVar("R", bound=Request)


@workflow.defn(name="SessionWorkflow")
class SessionWorkflow:
    """A session. It has no result."""

    @workflow.init
    def __init__(self, request: SessionInput) -> None:
        """State before the first task: a message may come in it."""
        session = unpacked(request.packed, Session) if request.packed else request.session
        assert session is not None, "a session is new, or packed"
        self._keeper = Keeper(session, request.ordinal, request.owed)
        self._commands = Commands(self._keeper, request.answers)
        self._actor = unproven(request.actor)
        self._reports: list[TodoReport] = []
        self._heard = 0
        self._unsure: set[asyncio.Task[None]] = set()
        self._begun = bool(request.packed)

    @workflow.run
    async def run(self, request: SessionInput) -> None:
        """Begin unless an earlier run did, then see to it that everybody hears what it means to them."""
        if self._begun:
            self._keeper.show()
        minded = [
            asyncio.create_task(task) for task in (self._hear(), self._keeper.tell(), self._end(), self._retire())
        ]
        minded.append(asyncio.create_task(self._last(request)))
        for task in await self._first_of(*minded):
            task.result()
        if self._keeper.session.retired and not self._keeper.owed:
            return
        workflow.continue_as_new(self._carried())

    async def _first_of(self, *tasks: asyncio.Task[None]) -> list[asyncio.Task[None]]:
        """Those that have ended. Cancelled through Temporal itself, the session is stopped, and goes on being there."""
        while True:
            try:
                done, _ = await workflow.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            except asyncio.CancelledError:
                request = Stop(actor=Actor(role="unattributed"), reason="cancelled through Temporal")
                await self._said("stop", request, sessions.stopped)
            else:
                return done

    async def _last(self, request: SessionInput) -> None:
        """Return when this run is over."""
        if not self._begun:
            await self._open(request)
        await workflow.wait_condition(lambda: self._is_over() or self._is_full())
        self._keeper.resting = not self._is_over()
        await workflow.wait_condition(self._is_quiet)

    async def _open(self, request: SessionInput) -> None:
        """The first row, then the first todos. Fails with a refusal's code where they fit in no session."""
        assert request.session is not None
        planned = await plan(PlanInput(plan=request.plan, ids=request.ids, defaults=request.session.order))
        entries = unpacked_all(planned.entries, Entry)
        async with self._keeper.lock:
            session = self._keeper.session.model_copy(update={"terms": planned.terms})
            how = request.established
            outcome = sessions.opened(session, self._actor, entries, workflow.now(), request.signers, how)
            if isinstance(outcome, Refusal):
                raise ApplicationError(f"{outcome.reason}. {outcome.next_step}", type=outcome.code, non_retryable=True)
            await self._keeper.take(outcome)
            starting = self._commands.starting(self._actor, entries, planned, how)
            self._begun = True
        await starting

    async def _hear(self) -> None:
        """Take in what todos report, all that is there at once, for ever."""
        while True:
            await workflow.wait_condition(lambda: self._begun and bool(self._reports))
            reports = tuple(self._reports)
            await self._heard_all([report for report in reports if not report.asks])
            asking = [(report, holding(self._keeper.session, report.todo)) for report in reports if report.asks]
            await self._heard_all([report for report, others in asking if not others])
            self._unsure = {task for task in self._unsure if not task.done()}
            for report, others in asking:
                if others:
                    self._unsure.add(asyncio.create_task(self._make_sure(report, others)))
            del self._reports[: len(reports)]

    async def _heard_all(self, reports: list[TodoReport]) -> None:
        def act(session: Session, now: datetime) -> SessionStep:
            return sessions.heard_all(session, reports, now)

        if reports:
            await self._keeper.happen(act, [report.todo for report in reports])

    async def _make_sure(self, report: TodoReport, others: frozenset[str]) -> None:
        """Take in what a todo asks, once those that hold it back were asked whether they still do."""
        await self._keeper.ask(others)
        await self._heard_all([report])

    async def _end(self) -> None:
        """Time out when the session's time is over, for ever: one that is completed may live again."""
        await workflow.wait_condition(lambda: self._begun)
        while True:
            await workflow.wait_condition(lambda: self._keeper.session.status not in ENDED)
            left = (self._keeper.session.deadline - workflow.now()).total_seconds()
            if left > 0:
                await workflow.sleep(left, summary="the session's time")
            await self._keeper.happen(sessions.timed_out)
            await self._tell_once()

    async def _tell_once(self) -> None:
        """That its time is over, for all its todos, which then say nothing of that. It is over once."""
        session = self._keeper.session
        unfinished = sum(entry.status in LIVE for entry in session.todos.values())
        if session.status is SessionStatus.TIMED_OUT and unfinished:
            notice = session_over(session.id, unfinished, workflow.now())
            told = NotificationInput(workflow_id=f"notification/{session.id}", store=session.store, notice=notice)
            await start_telling(told)

    async def _retire(self) -> None:
        """Let everybody go when nothing has happened for long after the end."""
        await workflow.wait_condition(lambda: self._begun)
        while not self._keeper.session.retired:
            await workflow.wait_condition(lambda: self._keeper.session.status in ENDED)
            session = self._keeper.session
            quiet = workflow.now() - (session.touched_at or session.created_at)
            left = (RETIRES_AFTER - quiet).total_seconds()
            if left > 0:
                await workflow.sleep(left, summary="until the session is forgotten")
            await self._keeper.happen(sessions.retired)
        await workflow.wait_condition(lambda: False)

    def _is_over(self) -> bool:
        return self._keeper.session.retired and not self._keeper.owed

    def _is_full(self) -> bool:
        full = self._heard >= options.REPORTS_A_RUN or self._commands.answers.many
        return full or workflow.info().is_continue_as_new_suggested()

    def _is_quiet(self) -> bool:
        sure = all(task.done() for task in self._unsure)
        return sure and not self._reports and self._keeper.quiet and workflow.all_handlers_finished()

    def _carried(self) -> SessionInput:
        return SessionInput(
            packed=packed(self._keeper.session),
            actor=self._actor,
            answers=self._commands.answers.kept,
            ordinal=self._keeper.ordinal,
            owed=self._keeper.owed,
        )

    async def _opened(self) -> None:
        """Wait until there is a session to ask anything of."""
        await workflow.wait_condition(lambda: self._begun)

    async def _said(self, command: str, request: R, act: Callable[[Session, R, datetime], SessionOutcome]) -> None:
        """What was signalled, done or recorded as refused, however long the trail is away: nobody would ask again."""
        await self._opened()
        while True:
            try:
                await self._commands.settle(command, request, act)
                return
            except ActivityError as error:
                workflow.logger.warning("not in the trail yet: %s", outside_error(error))
            await workflow.sleep(AGAIN_SECONDS)

    async def _signalled(
        self,
        command: str,
        kind: Callable[..., R],
        act: Callable[[Session, R, datetime], SessionOutcome],
        inputs: tuple[Any, ...],
    ) -> None:
        """What people send to the workflow itself: whatever it is, it leaves a row. Nothing proves who it was."""
        said = said_of(*inputs)
        actor = Actor(role="unattributed", identity=speaker_of(*inputs))
        if isinstance(said, Refusal):
            malformed = said
            await self._said(command, Request(actor=actor), lambda *_: malformed)
        else:
            await self._said(command, kind(actor=actor, reason=said.reason), act)

    @workflow.query(name="state")
    def state(self) -> Session:
        """All that it knows, to be read. Fails beyond some thousand todos: an answer has 2 MiB at most."""
        return self._keeper.session

    @workflow.query(name="packed")
    def packed_state(self) -> str:
        """The same for programs, packed: ten thousand todos take a tenth of a megabyte."""
        return packed(self._keeper.session)

    @workflow.signal(name="report")
    def report(self, report: TodoReport) -> None:
        """A todo says where it stands."""
        self._heard += 1
        self._reports.append(report)

    @workflow.signal(name="pause")
    async def pause_signal(self, *inputs: Any) -> None:
        """`temporal workflow signal --name pause`, CONTRACT."""
        await self._signalled("pause", Pause, sessions.paused, inputs)

    @workflow.signal(name="resume")
    async def resume_signal(self, *inputs: Any) -> None:
        """`temporal workflow signal --name resume`, CONTRACT."""
        await self._signalled("resume", Resume, sessions.resumed, inputs)

    @workflow.update(name="pause")
    async def pause(self, request: Pause) -> Answer:
        """A human pauses it; answered when every todo knows."""
        await self._opened()
        return await self._commands.answers.once(
            lambda: self._commands.settle("pause", request, sessions.paused, wait=True)
        )

    @workflow.update(name="resume")
    async def resume(self, request: Resume) -> Answer:
        """A human lets it go on; a todo that has not heard of it yet asks before it refuses."""
        await self._opened()
        return await self._commands.answers.once(lambda: self._commands.settle("resume", request, sessions.resumed))

    @workflow.update(name="stop")
    async def stop(self, request: Stop) -> Answer:
        """A human ends it; answered when every todo knows."""
        await self._opened()
        return await self._commands.answers.once(
            lambda: self._commands.settle("stop", request, sessions.stopped, wait=True)
        )

    @workflow.update(name="create")
    async def create(self, request: Create) -> Answer:
        """New todos; answered when they are started."""
        await self._opened()
        return await self._commands.answers.once(lambda: self._commands.create(request))

    @workflow.update(name="replace")
    async def replace(self, request: Replace) -> Answer:
        """Never."""
        await self._opened()
        return await self._commands.answers.once(lambda: self._commands.settle("replace", request, lambda *_: NEVER))

    @workflow.update(name="drive")
    async def drive(self, request: Drive) -> Answer:
        """Worker commands are started from now on, or are no more."""
        await self._opened()
        return await self._commands.answers.once(lambda: self._commands.settle("drive", request, sessions.driven))
