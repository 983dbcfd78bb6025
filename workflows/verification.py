"""One round: a claim's tree is frozen, checked and decided on. The rules are `domain`'s; here is what waits for what.

Source: DESIGN 4. The nodes are data (`nodes`): the workflow runs that table and `countersign graph` draws it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Literal

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from pydantic import JsonValue

    from activities.report import ReportActivities
    from activities.sandbox import SandboxActivities
    from domain.checks import (
        CheckResult,
        items_of,
    )
    from domain.claims.claim import Contradiction
    from domain.decision import Counters, Decision, Policy, RoundOutcome, decide
    from domain.dispute_report import reasoning_of
    from domain.errors import Unavailable
    from domain.events import AUDITOR, HARNESS, SYSTEM
    from domain.facts import facts_of
    from domain.life import FollowUpAnswer
    from domain.messages import (
        FiledReport,
        Image,
        NodeStatus,
        Progress,
        ReleaseInput,
        RoundInput,
        RoundRecord,
        RoundResult,
    )
    from domain.notices import notices_of, notices_on_disputes, notices_on_programs
    from domain.read_model import RoundView, standing
    from domain.roles import course
    from domain.status import AFTER_A_ROUND, ReviewStatus, RoundStatus, TodoStatus
    from domain.verdict import TiebreakOutcome
    from workflows import dag, options
    from workflows.arguing import Arguing
    from workflows.auditing import Auditing
    from workflows.board import Board
    from workflows.contradicted import contradicted
    from workflows.dag import Node
    from workflows.drafting import Drafting
    from workflows.environment import Environment
    from workflows.fix_start import followed_by_fixes, result_of
    from workflows.items import ItemRuns
    from workflows.nodes import nodes_of
    from workflows.passes import Passes
    from workflows.probe import Probe
    from workflows.telemetry import round_ended
    from workflows.trail import RoundTrail
    from workflows.trees import Freezing, Trees


@workflow.defn(name="VerificationWorkflow")
class VerificationWorkflow:
    """A round. Its result is a decision and the digest of the report that explains it."""

    @workflow.init
    def __init__(self, request: RoundInput) -> None:
        """State before the first task: a query may come in it."""
        self._round = request
        self._order = request.order
        self._items = items_of(request.order, request.widen)
        self._nodes = nodes_of(request.order)
        self._started_at = workflow.now()
        self._trail = RoundTrail(request)
        self._board = Board(self._nodes, self._items)
        self._freezing = Freezing(request, self._trail)
        self._environment = Environment(self._order, self._items, self._trail)
        self._runs = ItemRuns(request, self._trail, self._board, self._environment)
        self._probe = Probe(request, self._trail, self._runs)
        self._passes = Passes(self._order, self._trail, request.roles_used)
        self._drafting = Drafting(request, self._trail, self._runs, self._passes, self._environment)
        self._auditing = Auditing(request, self._trail, self._runs, self._passes)
        self._arguing = Arguing(request, self._trail, self._passes)
        self._contradictions: tuple[Contradiction, ...] = ()
        self._result: RoundResult | None = None
        self._status = RoundStatus.RUNNING
        self._filed = FiledReport(report="")

    @workflow.run
    async def run(self, request: RoundInput) -> RoundResult:
        """Run every node whose needs are met, then answer. Cancelled, it says so in the trail and decides nothing."""
        ids: list[JsonValue] = [item.id for item in self._items]
        try:
            await self._trail.record(
                "verification_started",
                request.actor,
                {
                    "attempt": request.attempt,
                    "items": ids,
                    "order": request.order_digest,
                    "title": self._order.title,
                    "domain": self._order.domain,
                },
                after=self._begun(),
            )
            await dag.run(self._nodes, self._run_node)
        except (Exception, asyncio.CancelledError) as error:
            if is_cancelled_exception(error):
                await self._trail.record(
                    "verification_cancelled",
                    SYSTEM,
                    {"reason": "cancelled by the caller"},
                    before=self._standing(TodoStatus.CLAIMED, ReviewStatus.AUDITING),
                    after=self._standing(TodoStatus.CLAIMED, ReviewStatus.NOT_REQUESTED),
                )
                self._status = RoundStatus.CANCELLED
                round_ended("cancelled")
            elif workflow.is_failure_exception(error):  # any other only fails this task, which is tried again
                round_ended("error")
            await self._release()
            raise
        await self._release()
        assert self._result is not None, "the decide node sets the result"
        round_ended(self._result.decision.outcome.value, self._in_order())
        return await followed_by_fixes(self._round, self._result)

    @workflow.signal(name="answered")
    def hear_answer(self, answer: FollowUpAnswer) -> None:
        """What the worker answers the auditor, or that nobody does: from the todo."""
        self._auditing.hear(answer)

    @workflow.query
    def progress(self) -> Progress:
        """Every node and item, as it stands."""
        return self._board.progress()

    @workflow.query
    def state(self) -> RoundView:
        """The round as it stands by the workflow's own memory: the same that the trail's read model has."""
        frozen, scope = self._freezing.frozen, self._freezing.scope
        decision = self._result.decision if self._result else None
        return RoundView(
            session=self._round.session,
            todo=self._round.todo,
            attempt=self._round.attempt,
            workflow_id=self._round.workflow_id,
            status=self._status,
            order=self._round.order_digest,
            head=frozen.head if frozen else "",
            base=frozen.base if frozen else "",
            tree=scope.tree if scope else "",
            image=self._environment.recorded_id,
            verdict=decision.verdict if decision else "",
            outcome=decision.outcome if decision else "",
            trigger=decision.trigger if decision else "",
            reasons=tuple(reason.code for reason in decision.reasons) if decision else (),
            record=self._filed.record,
            report=self._filed.report,
            started_at=self._started_at,
            ended_at=None if self._status is RoundStatus.RUNNING else self._trail.recorded_at,
        )

    async def _run_node(self, node: Node) -> None:
        work: dict[str, Callable[[], Awaitable[tuple[NodeStatus, str]]]] = {
            "snapshot": self._freezing.freeze,
            "environment": self._environment.make_ready,
            "setup": lambda: self._environment.set_up(self._freezing.frozen),
            "scope": self._freezing.assess,
            "designer": lambda: self._drafting.design(self._trees),
            "strategist": self._draft,
            "criteria": self._criteria,
            "checks": self._checks,
            "base": self._compare_with_base,
            "probe": self._examine,
            "auditor": self._audit,
            "advocate": self._arguing.advocate,
            "critic": self._arguing.criticise,
            "judge": self._arguing.judge,
            "decide": self._decide,
        }
        self._board.node(node, "running")
        status, detail = await work[node.name]()
        self._board.node(node, status, detail)

    @property
    def _trees(self) -> Trees | Unavailable | None:
        """What there is to look at; None where the work was refused."""
        return None if self._freezing.refused else self._freezing.trees

    @property
    def _effective(self) -> RoundInput:
        """The round with what was drafted for its order."""
        return self._round.drafted(self._drafting.record)

    async def _draft(self) -> tuple[NodeStatus, str]:
        """Checks for the specification; what comes of it is as if the order had had it."""
        said = await self._drafting.plan()
        self._order = self._effective.order
        known = {item.id for item in self._items}
        self._items = items_of(self._order, self._round.widen)
        self._board.add(item for item in self._items if item.id not in known)
        return said

    async def _criteria(self) -> tuple[NodeStatus, str]:
        return await self._run_items("criterion")

    async def _checks(self) -> tuple[NodeStatus, str]:
        return await self._run_items("check")

    async def _run_items(self, spelling: Literal["criterion", "check"]) -> tuple[NodeStatus, str]:
        if self._freezing.refused:
            return "could_not_run", "no snapshot"
        items = [item for item in self._items if item.spelling == spelling]
        return await self._runs.run(items, self._freezing.trees)

    async def _compare_with_base(self) -> tuple[NodeStatus, str]:
        if self._freezing.refused:
            return "skipped", "nothing to compare"
        return await self._runs.compare(self._items, self._freezing.trees)

    async def _examine(self) -> tuple[NodeStatus, str]:
        trees = self._trees
        if trees is None or isinstance(trees, Unavailable):
            return "skipped", "no tree to examine"
        return await self._probe.run(self._items, self._runs.results, trees)

    async def _audit(self) -> tuple[NodeStatus, str]:
        results, scope, probe = self._in_order(), self._freezing.scope, self._probe.seen
        self._contradictions = await contradicted(self._effective, results, scope, self._trail)
        if why_not := course.unasked(self._order, scope, results, probe, undrafted=self._drafting.undrafted):
            return "skipped", why_not
        trees = self._freezing.trees
        assert not isinstance(trees, Unavailable), "there is a scope"
        auditing = self._auditing
        said = await auditing.run(self._effective, trees, results, self._contradictions)
        self._arguing.take_up(self._effective, trees, results, self._contradictions, auditing.record, auditing.answers)
        return said

    async def _decide(self) -> tuple[NodeStatus, str]:
        results = self._in_order()
        record = self._record(results)
        decision = record.decision
        filed = await workflow.execute_activity_method(
            ReportActivities.file, record, summary=f"report: {decision.verdict}", **options.REPORT
        )
        if filed.retry_context:
            await self._trail.record(
                "retry_context_assembled",
                SYSTEM,
                {
                    "attempt_number": self._round.attempt + 1,
                    "max_attempts": self._order.verification.retry.max_attempts,
                    "failures": filed.failures,
                    "retry_context": filed.retry_context,
                },
            )
        status, review = AFTER_A_ROUND[decision.outcome]
        await self._trail.record(
            "audit_completed",
            AUDITOR if _judged(record) else HARNESS,
            {
                "result": decision.verdict,
                "outcome": decision.outcome,
                "criteria": [item.id for item in self._items],
                "reasons": [reason.code for reason in decision.reasons],
                "trigger": decision.trigger,
                "record": filed.record,
                "report": filed.report,
                **_ruled(record),
            },
            before=self._standing(TodoStatus.CLAIMED, ReviewStatus.AUDITING),
            after=self._standing(status, review),
        )
        self._filed = filed
        self._status = RoundStatus.DECIDED
        self._result = result_of(record, filed)
        workflow.upsert_search_attributes([options.REVIEW_ATTRIBUTE.value_set(review)])
        why = "; ".join(reason.text for reason in decision.reasons)
        self._board.decided(decision.outcome.value, why)
        return _node_status(decision), why

    def _standing(self, status: TodoStatus, review: ReviewStatus) -> dict[str, JsonValue]:
        """Where the todo stands, for a row; nothing where the todo has a workflow of its own, which says it itself."""
        return {} if self._round.todo_workflow else standing(status, review)

    def _begun(self) -> dict[str, JsonValue]:
        """The standing of a round that begins: of a standalone todo each round is another version."""
        stands = self._standing(TodoStatus.CLAIMED, ReviewStatus.AUDITING)
        return {**stands, "version": self._round.attempt} if stands else {}

    def _record(self, results: tuple[CheckResult, ...]) -> RoundRecord:
        """Everything the round came to, and the decision that follows from it."""
        scope, unknown, probe = self._freezing.scope, self._unknown(), self._probe.seen
        refused, record = str(self._freezing.refused or ""), self._auditing.record
        audit = record.audit if record else None
        authored, undrafted = self._effective.authored, self._drafting.undrafted
        facts = facts_of(
            self._order,
            scope,
            results,
            refused,
            unknown,
            probe,
            authored,
            audit=audit,
            dispute=self._arguing.record,
            undrafted=undrafted,
            rejected=self._round.rejection(self._freezing.frozen),
        )
        image = self._environment.image
        return RoundRecord(
            input=self._round,
            started_at=self._started_at,
            ended_at=workflow.now(),
            frozen=self._freezing.frozen,
            scope=scope,
            image=image if isinstance(image, Image) else None,
            results=results,
            refused=refused,
            unknown=unknown,
            decision=decide(facts, Policy.of(self._order), Counters(inconclusive=self._round.inconclusive)),
            notices=self._notices(),
            head_sequence=self._trail.head.sequence if self._trail.head else 0,
            head_hash=self._trail.head.hash if self._trail.head else "",
            probe=probe,
            contradictions=self._contradictions,
            audit=record,
            draft=self._drafting.record,
            dispute=self._arguing.record,
        )

    def _notices(self) -> tuple[str, ...]:
        changed = [change.path for change in self._freezing.scope.changed] if self._freezing.scope else []
        drafted = self._drafting.record.notice if self._drafting.record else ""
        return (
            ((drafted,) if drafted else ())
            + notices_on_programs(self._order, changed)
            + notices_on_disputes(self._order, self._arguing.record)
            + notices_of(
                self._order,
                self._freezing.frozen,
                alone=not self._round.todo_workflow,
                scripted=self._passes.scripted,
            )
        )

    def _unknown(self) -> str:
        """Why there is no tree to speak of, when there is none for a cause outside the worker's tree."""
        if self._freezing.refused:
            return ""
        trees = self._freezing.trees
        return str(trees) if isinstance(trees, Unavailable) else ""

    def _in_order(self) -> tuple[CheckResult, ...]:
        return tuple(self._runs.results[item.id] for item in self._items if item.id in self._runs.results)

    async def _release(self) -> None:
        """Let the sealed tree go; what cannot be reached now, the reaper removes later."""
        if not isinstance(self._environment.image, Image):
            return
        try:
            await workflow.execute_activity_method(
                SandboxActivities.release,
                ReleaseInput(round=self._round.workflow_id),
                summary="remove the sealed tree",
                **options.RELEASE,
            )
        except ActivityError as error:
            workflow.logger.warning("the sealed tree could not be removed yet: %s", error.cause)


def _judged(record: RoundRecord) -> bool:
    """Whether an auditor or a judge has a word on the work."""
    audit = record.audit.audit if record.audit else None
    tiebreak = record.dispute.tiebreak if record.dispute else None
    ruled = tiebreak is not None and tiebreak.outcome is TiebreakOutcome.JUDGED
    return ruled or (audit is not None and audit.outcome in course.JUDGED)


def _ruled(record: RoundRecord) -> dict[str, JsonValue]:
    """The judge's words, for the verdict's row; nothing where it has none."""
    reasoning = reasoning_of(record.dispute)
    return {"reasoning": reasoning} if reasoning else {}


def _node_status(decision: Decision) -> NodeStatus:
    if decision.outcome is RoundOutcome.VERIFIED:
        return "passed"
    return "could_not_run" if decision.outcome is RoundOutcome.INCONCLUSIVE else "failed"
