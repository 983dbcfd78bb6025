"""Workflows of the same names as the real ones that do as they are told: a round, a fix loop, and a session."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ApplicationError

with workflow.unsafe.imports_passed_through():
    from domain.base import Message
    from domain.confidence import Confidence
    from domain.decision import Decision, Reason, RoundOutcome
    from domain.fix_messages import FixLoopInput, FixLoopResult
    from domain.life import FollowUp, FollowUpAnswer
    from domain.messages import RoundInput, RoundResult
    from domain.session import TodoReport
    from domain.status import TodoStatus
    from domain.todo import Gate


class Plan(Message):
    """What a round comes to. `holds`: not before it is told to `finish`; `late`: when it is cancelled, it still does.

    `asks`: the auditor's question before that, `timeout` how long it waits for the answer. `breaks`: it fails.
    """

    outcome: RoundOutcome = RoundOutcome.VERIFIED
    trigger: str = ""
    passed: bool = True
    not_passed: tuple[str, ...] = ()
    holds: bool = False
    late: bool = False
    asks: str = ""
    timeout: float = 300.0
    breaks: bool = False
    timed_out: bool = False
    confidence: Confidence | None = None


class LoopPlan(Message):
    """What a fix loop comes to. `holds`, `late` and `breaks` as of a `Plan`.

    Cancelled before its end it says that it was aborted, as `cancelled`; it is that itself where this is None.
    """

    result: FixLoopResult
    holds: bool = False
    late: bool = False
    breaks: bool = False
    cancelled: FixLoopResult | None = None


@workflow.defn(name="VerificationWorkflow")
class ScriptedRound:
    """A round as planned."""

    def __init__(self) -> None:
        self._finished = False
        self._answers: list[FollowUpAnswer] = []

    @workflow.run
    async def run(self, request: RoundInput) -> RoundResult:
        """Ask for the plan, and keep to it."""
        plan: Plan = await workflow.execute_activity(
            "script.round", request, result_type=Plan, start_to_close_timeout=timedelta(minutes=4)
        )
        if plan.breaks:
            raise ApplicationError("it broke", non_retryable=True)
        try:
            if plan.asks:
                await self._ask(request, plan)
            await workflow.wait_condition(lambda: self._finished or not plan.holds)
        except asyncio.CancelledError:
            if not plan.late:
                raise
        text = f"it says {plan.outcome}" + "".join(f", answered {answer.answer!r}" for answer in self._answers)
        return RoundResult(
            decision=Decision(
                outcome=plan.outcome, reasons=(Reason(code="scripted", text=text),), trigger=plan.trigger
            ),
            report="r" * 64,
            not_passed=plan.not_passed,
            passed=plan.passed,
            timed_out=plan.timed_out,
            confidence=plan.confidence,
        )

    async def _ask(self, request: RoundInput, plan: Plan) -> None:
        parent = workflow.info().parent
        assert parent is not None
        asked = FollowUp(attempt=request.attempt, question=plan.asks, round=1, of=3, timeout=plan.timeout)
        await workflow.get_external_workflow_handle(parent.workflow_id).signal("ask", asked)
        await workflow.wait_condition(lambda: bool(self._answers))

    @workflow.signal(name="answered")
    def answered(self, answer: FollowUpAnswer) -> None:
        """The todo's answer."""
        self._answers.append(answer)

    @workflow.signal(name="finish")
    def finish(self) -> None:
        """Go on."""
        self._finished = True


@workflow.defn(name="FixLoopWorkflow")
class ScriptedLoop:
    """A fix loop as planned, which remembers what it was told."""

    def __init__(self) -> None:
        self._finished = False
        self._heard: list[str] = []

    @workflow.run
    async def run(self, request: FixLoopInput) -> FixLoopResult:
        """Ask for the plan, and keep to it."""
        plan: LoopPlan = await workflow.execute_activity(
            "script.loop", request, result_type=LoopPlan, start_to_close_timeout=timedelta(minutes=4)
        )
        if plan.breaks:
            raise ApplicationError("it broke", non_retryable=True)
        try:
            await workflow.wait_condition(lambda: self._finished or not plan.holds)
        except asyncio.CancelledError:
            if plan.late:
                return plan.result
            if plan.cancelled is None:
                raise
            return plan.cancelled
        return plan.result

    @workflow.signal
    def pause(self) -> None:
        """Heard."""
        self._heard.append("pause")

    @workflow.signal
    def resume(self) -> None:
        """Heard."""
        self._heard.append("resume")

    @workflow.signal
    def finish(self) -> None:
        """Come to the end."""
        self._finished = True

    @workflow.query
    def heard(self) -> list[str]:
        """What it was told, in order."""
        return self._heard


@workflow.defn(name="SessionWorkflow")
class ScriptedSession:
    """A session that hears every report, and says what it is told to say."""

    def __init__(self) -> None:
        self._reports: list[TodoReport] = []
        self._words: dict[str, Gate] = {}
        self._standing: dict[str, TodoStatus] = {}
        self._number = 0
        self._hushed = False
        self._over = False

    @workflow.run
    async def run(self) -> None:
        """Until it is over."""
        await workflow.wait_condition(lambda: self._over)

    @workflow.query
    def reports(self) -> list[TodoReport]:
        """What it was told."""
        return self._reports

    @workflow.signal(name="report")
    async def report(self, report: TodoReport) -> None:
        """Heard, and answered as a session does."""
        changed = self._standing.get(report.todo, TodoStatus.PENDING) is not report.status
        self._standing[report.todo] = report.status
        self._reports.append(report)
        if changed or report.asks:
            await self._tell(report.todo)

    @workflow.signal(name="say")
    async def say(self, todo: str, gate: Gate) -> None:
        """Say that from now on."""
        self._words[todo] = gate
        self._hushed = False
        await self._tell(todo)

    @workflow.signal(name="mean")
    def mean(self, todo: str, gate: Gate) -> None:
        """The same, but only when asked."""
        self._words[todo] = gate

    @workflow.signal(name="hush")
    def hush(self) -> None:
        """Hear everything, and answer nothing before it is told to `say` something."""
        self._hushed = True

    @workflow.signal(name="end")
    def end(self) -> None:
        """It is over."""
        self._over = True

    async def _tell(self, todo: str) -> None:
        if self._hushed:
            return
        self._number += 1
        heard = max((report.number for report in self._reports if report.todo == todo), default=0)
        word = self._words.get(todo, Gate()).model_copy(update={"number": self._number, "heard": heard})
        session = workflow.info().workflow_id.removeprefix("session/")
        await workflow.get_external_workflow_handle(f"todo/{session}/{todo}").signal("gate", word)
