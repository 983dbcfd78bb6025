"""The auditor's part of a round: its passes, the questions it asks of the worker, the checks it has run once more.

What its word comes to is `domain`'s to say. Source: DESIGN 4 "Role passes", seed `auditor` 3.0.2 and 3.0.3.
"""

from __future__ import annotations

from collections.abc import Iterable

from temporalio import workflow
from temporalio.exceptions import ApplicationError

with workflow.unsafe.imports_passed_through():
    from domain.checks import CheckResult, Item, could_not_run, items_of
    from domain.claims.claim import Contradiction
    from domain.errors import Cause
    from domain.events import AUDITOR
    from domain.life import FollowUpAnswer
    from domain.messages import NodeStatus, RoundInput
    from domain.roles import course
    from domain.roles.opinion import Question
    from domain.roles.passes import PassInput, RanTest
    from domain.roles.results import Answered, AuditRecord, PassResult, WantedTest
    from domain.verdict import Audit, AuditorOutcome
    from workflows.items import ItemRuns
    from workflows.passes import Passes
    from workflows.trail import RoundTrail
    from workflows.trees import Trees

_STATUS: dict[AuditorOutcome, NodeStatus] = {
    AuditorOutcome.APPROVED: "passed",
    AuditorOutcome.CHANGES_REQUESTED: "failed",
    AuditorOutcome.FAILED: "failed",
}


class Auditing:
    """The audit of one round. `record`: all of it, None before it has ended and where nobody was asked."""

    def __init__(self, request: RoundInput, trail: RoundTrail, runs: ItemRuns, passes: Passes) -> None:
        self._round = request
        self._order = request.order
        self._items: dict[str, Item] = {}
        self._trail = trail
        self._runs = runs
        self._all_passes = passes
        self._passes: list[PassResult] = []
        self._dialogue: list[Answered] = []
        self._answers: list[FollowUpAnswer] = []
        self._ran: list[CheckResult] = []
        self._open = 0
        self.record: AuditRecord | None = None

    @property
    def scripted(self) -> bool:
        """Whether a file answered in a model's place."""
        return any(result.provenance.scripted for result in self._passes)

    @property
    def answers(self) -> tuple[FollowUpAnswer, ...]:
        """What the worker answered so far, and where it did not."""
        return tuple(self._answers)

    @property
    def _most_questions(self) -> int:
        """How many may be asked: none of a repair, since whoever made it is not there to answer."""
        return 0 if self._round.loop else self._order.safeguards.follow_ups

    def hear(self, answer: FollowUpAnswer) -> None:
        """The todo's answer to the question that is open; one to any other is none."""
        if self._open and answer.round == self._open:
            self._open = 0
            self._answers.append(answer)

    async def run(
        self,
        effective: RoundInput,
        trees: Trees,
        results: tuple[CheckResult, ...],
        contradictions: tuple[Contradiction, ...],
    ) -> tuple[NodeStatus, str]:
        """First the blind look, then with everything that the worker says. `effective`: with what was drafted, too."""
        self._round = effective
        self._items = {item.id: item for item in items_of(effective.order, effective.widen)}
        unframed = self._round.model_copy(update={"claim": None, "brought": ()})  # what is not sent frames no look
        blind = PassInput(
            round=unframed,
            frozen=trees.frozen,
            scope=trees.scope,
            results=results,
            stage="blind",
            limit=self._order.safeguards.audit_timeout,
        )
        last = await self._stage(blind, trees)
        if last.outcome == "answered":
            informed = blind.model_copy(
                update={
                    "round": self._round,
                    "stage": "informed",
                    "contradictions": contradictions,
                    "first_look": last.said,
                    "questions": self._most_questions,
                }
            )
            last = await self._stage(informed, trees)
        audit = course.audit_of(last)
        self.record = AuditRecord(
            passes=tuple(self._passes),
            dialogue=tuple(self._dialogue),
            ran=tuple(self._ran),
            audit=audit,
            seconds=sum(result.seconds for result in self._passes),
        )
        return self._told(audit)

    def _told(self, audit: Audit | None) -> tuple[NodeStatus, str]:
        if audit is None:
            return "skipped", "no model is configured"
        said = ": ".join(part for part in (audit.outcome.value.replace("_", " "), audit.feedback) if part)
        return _STATUS.get(audit.outcome, "could_not_run"), f"scripted: {said}" if self.scripted else said

    async def _stage(self, asked: PassInput, trees: Trees) -> PassResult:
        """The pass that ends the stage: those before it paused for the worker, or for a check."""
        last = PassResult(outcome="inconclusive")
        for part in range(course.most_passes(self._order)):
            last = await self._pass(asked.model_copy(update={"part": part, "messages": last.messages}))
            if last.outcome == "asks" and last.question and asked.questions > 0:
                asked = asked.model_copy(update={"ran": (), **await self._answered(last.question)})
            elif last.outcome == "wants_tests" and all(wanted.item in self._items for wanted in last.tests):
                asked = asked.model_copy(update={"ran": await self._run_tests(last.tests, trees)})
            else:
                return last
        return last

    async def _pass(self, asked: PassInput) -> PassResult:
        """One pass, with what it says of each criterion once it knows everything."""
        result = await self._all_passes.ask(asked)
        self._passes.append(result)
        if asked.stage == "informed" and result.outcome == "answered":
            for assessed in result.assessed:
                await self._trail.record("criterion_audited", AUDITOR, assessed.model_dump(mode="json"))
        return result

    async def _answered(self, question: Question) -> dict[str, object]:
        """Ask the worker, and wait for its todo's word. What the next pass has to know, by field."""
        number = len(self._dialogue) + 1
        self._open = number
        if not await self._put_to_worker(number, question):
            self.hear(FollowUpAnswer(round=number))
        await workflow.wait_condition(lambda: self._open == 0)
        answer = self._answers[-1]
        self._dialogue.append(
            Answered(
                round=number,
                question=question,
                answer=answer.answer,
                evidence=tuple(piece.id for piece in answer.evidence),
            )
        )
        return {"answers": tuple(self._answers), "questions": self._order.safeguards.follow_ups - number}

    async def _put_to_worker(self, number: int, question: Question) -> bool:
        """Whether there is a todo that was asked: it has the timer, and answers, too, where nobody does."""
        if not self._round.todo_workflow:
            return False
        asked = course.follow_up(self._order, self._round.attempt, number, question)
        try:
            await workflow.get_external_workflow_handle(self._round.todo_workflow).signal("ask", asked)
        except ApplicationError as error:
            workflow.logger.warning("the todo could not be asked: %s", error)
            return False
        return True

    async def _run_tests(self, wanted: Iterable[WantedTest], trees: Trees) -> tuple[RanTest, ...]:
        ran = []
        for test in wanted:
            result = await self._run_test(self._items[test.item], trees)
            self._ran.append(result)
            ran.append(RanTest(call=test.call, result=result))
        return tuple(ran)

    async def _run_test(self, item: Item, trees: Trees) -> CheckResult:
        if len(self._ran) < course.MOST_TESTS:
            return await self._runs.observe(item, trees)
        reason = f"the auditor has had {course.MOST_TESTS} checks run in this round, and no more are"
        return could_not_run(item, Cause.NOT_ALLOWED, reason, "decide by what was seen")
