"""Keeps a todo's worker command in line with it: it runs while it is its turn, once for each drive.

What it hands in goes the way of any worker's. A pause lets it finish; its claim waits until the session goes on.
Source: DESIGN 3 "Pause", CONTRACT "Brief".
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from activities.boundary import domain_error
    from activities.work import WorkActivities
    from domain.acts import system, workers
    from domain.claims.claim import Claim
    from domain.events import Actor
    from domain.life import WorkInput, WorkResult
    from domain.requests import Answer, Block, MakeClaim, Refusal, Respond, Start
    from domain.status import SessionStatus, TodoStatus
    from domain.todo import Todo
    from workflows import options
    from workflows.todo.commands import Commands
    from workflows.todo.intake import Intake
    from workflows.todo.keeper import Keeper

COMMAND = Actor(role="worker", identity="command")
WORKABLE = (TodoStatus.PENDING, TodoStatus.IN_PROGRESS)
NO_CLAIM = Claim(explanation="")
LONGEST_WAIT_SECONDS = 300.0


class Drives:
    """The worker command that runs, if one does."""

    def __init__(self, keeper: Keeper, commands: Commands, intake: Intake) -> None:
        self._keeper = keeper
        self._commands = commands
        self._intake = intake
        self._open = False

    @property
    def idle(self) -> bool:
        """Whether no worker command runs or hands in."""
        return not self._open

    async def mind(self) -> None:
        """See that the worker command runs when it is its turn, for ever."""
        while True:
            await workflow.wait_condition(lambda: may_begin(self._keeper.todo))
            self._open = True
            if await self._started():
                await self._drive()
                self._open = False
            else:
                self._open = False
                await self._something_else()

    async def _started(self) -> bool:
        """Whether the todo has begun: its command may be the first that comes to it."""
        if self._keeper.todo.status is not TodoStatus.PENDING:
            return may_begin(self._keeper.todo)
        answer = await self._hand_in(lambda: self._intake.start(Start(actor=COMMAND)))
        return answer is not None and answer.refused is None

    async def _something_else(self) -> None:
        """Wait until a start that was refused may come to something else."""
        before = _place(self._keeper.todo)
        try:
            await workflow.wait_condition(
                lambda: _place(self._keeper.todo) != before,
                timeout=LONGEST_WAIT_SECONDS,
                timeout_summary="another start of the worker command",
            )
        except TimeoutError:
            return

    async def _drive(self) -> None:
        await self._keeper.happen(system.drive_started)
        self._busy(True)
        result = await self._run()
        await self._keeper.happen(lambda todo, now: system.drive_ended(todo, result, now))
        if may_go_on(self._keeper.todo):
            await self._deliver(result)
        self._busy(False)

    def _busy(self, busy: bool) -> None:
        self._keeper.busy = busy
        self._keeper.tell()

    async def _run(self) -> WorkResult:
        """What the command came to; ended early where it is no longer wanted."""
        todo, began = self._keeper.todo, workflow.now()
        assert todo.worker is not None, "it has a turn"
        running = workflow.start_activity_method(
            WorkActivities.run,
            WorkInput(todo=todo, attempt=todo.next_attempt, drive=todo.drives),
            summary=todo.worker.command[:180],
            **options.work(todo.host, todo.worker.timeout),
        )
        await workflow.wait_condition(lambda: running.done() or not may_go_on(self._keeper.todo))
        if not running.done():
            running.cancel()
        try:
            return await running
        except ActivityError as error:
            why = "nobody waits for it any more" if is_cancelled_exception(error) else str(domain_error(error))
        return WorkResult(problems=(why,), started_at=began, ended_at=workflow.now())

    async def _deliver(self, result: WorkResult) -> None:
        """Hand in what it wrote, once the session goes on."""
        await workflow.wait_condition(
            lambda: self._keeper.todo.gate.status is SessionStatus.RUNNING or not may_go_on(self._keeper.todo)
        )
        if not may_go_on(self._keeper.todo):
            return
        answer = await self._hand_in(lambda: self._handed_in(result))
        if answer is not None and answer.refused is not None:
            why = f"{answer.refused.code}: {answer.refused.reason}"
            await self._keeper.happen(lambda todo, now: system.drive_refused(todo, why, now))

    async def _handed_in(self, result: WorkResult) -> Answer:
        if result.question:
            return await self._commands.settle("block", Block(actor=COMMAND, question=result.question), workers.block)
        if result.answer is not None:
            request = Respond(actor=COMMAND, answer=result.answer, additional_evidence=result.evidence)
            return await self._intake.respond(request)
        if result.claim is not None and not result.problems:
            return await self._intake.claim(MakeClaim(actor=COMMAND, claim=result.claim))
        return await self._commands.refuse("claim", MakeClaim(actor=COMMAND, claim=NO_CLAIM), _no_claim(result))

    async def _hand_in(self, work: Callable[[], Awaitable[Answer]]) -> Answer | None:
        """The answer; where nobody can tell now, it is tried again until it is not wanted any more, which is None."""
        wait = 1.0
        while may_go_on(self._keeper.todo):
            try:
                return await work()
            except ActivityError as error:
                workflow.logger.warning("not handed in yet: %s", domain_error(error))
            await workflow.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT_SECONDS)
        return None


def may_begin(todo: Todo) -> bool:
    """Whether its worker command may be started now. A question of the auditor's is answered by it, too."""
    asked = _asked(todo) and todo.refused_drives < system.MOST_REFUSED_DRIVES
    turn = todo.gate.turn and todo.gate.status is SessionStatus.RUNNING
    return todo.worker is not None and turn and (todo.status in WORKABLE or asked)


def may_go_on(todo: Todo) -> bool:
    """Whether a worker command that runs may finish: what a pause finds running does."""
    wanted = todo.gate.turn or todo.gate.status is SessionStatus.PAUSED
    alive = todo.gate.status in (SessionStatus.RUNNING, SessionStatus.PAUSED)
    return alive and wanted and (todo.status in WORKABLE or _asked(todo))


def _asked(todo: Todo) -> bool:
    return todo.status is TodoStatus.CLAIMED and todo.question is not None


def _place(todo: Todo) -> tuple[str, int, int]:
    return todo.status, todo.version, todo.gate.number


def _no_claim(result: WorkResult) -> Refusal:
    said = "; ".join(result.problems) or ("it ran out of time" if result.timed_out else "it wrote nothing")
    return Refusal(
        code="inadmissible_claim",
        reason=f"the worker command claimed nothing: {said}",
        next_step="write the claim to the brief's claim_path, as its claim_schema has it",
    )
