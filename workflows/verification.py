"""One round: a claim's tree is frozen, checked and decided on. The rules are `domain`'s; here is what waits for what.

Source: DESIGN 4. The nodes are data (`NODES`): the workflow runs that table and `countersign graph` draws it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Literal

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from pydantic import JsonValue

    from activities.boundary import domain_error, outside_error
    from activities.report import ReportActivities
    from activities.sandbox import SandboxActivities
    from activities.snapshot import SnapshotActivities
    from domain.checks import (
        CheckResult,
        items_of,
        subjective_of,
    )
    from domain.criteria import GitCommitExists
    from domain.decision import Decision, Facts, Policy, RoundOutcome, decide
    from domain.errors import Unavailable, WorkspaceRefused
    from domain.events import HARNESS, SYSTEM
    from domain.messages import (
        FreezeInput,
        Frozen,
        Image,
        NodeStatus,
        Progress,
        ReleaseInput,
        RoundInput,
        RoundRecord,
        RoundResult,
        ScopeInput,
        ScopeResult,
    )
    from domain.notices import notices_of
    from domain.order import Order
    from workflows import dag, options
    from workflows.board import Board
    from workflows.dag import Node
    from workflows.environment import Environment
    from workflows.items import ItemRuns, Trees
    from workflows.trail import RoundTrail

NODES = (
    Node("snapshot", (), "freeze the work and its base"),
    Node("environment", (), "make the image ready"),
    Node("scope", ("snapshot",), "sort the changes: taken, restored, refused"),
    Node("setup", ("snapshot", "environment"), "install what the base asks for"),
    Node("criteria", ("scope", "setup"), "acceptance criteria"),
    Node("checks", ("scope", "setup"), "checks in containers"),
    Node("base", ("criteria", "checks"), "what failed, once more on the base"),
    Node("decide", ("base",), "the verdict"),
)
"""A round, as a table. Roles join it here."""


def nodes_of(order: Order) -> tuple[Node, ...]:
    """The table for one order: in sequence the checks also wait for the criteria."""
    if order.verification.mode == "parallel":
        return NODES
    return tuple(
        Node(node.name, (*node.needs, "criteria"), node.title) if node.name == "checks" else node for node in NODES
    )


@workflow.defn(name="VerificationWorkflow")
class VerificationWorkflow:
    """A round. Its result is a decision and the digest of the report that explains it."""

    @workflow.init
    def __init__(self, request: RoundInput) -> None:
        """State before the first task: a query may come in it."""
        self._round = request
        self._order = request.order
        self._items = items_of(request.order)
        self._nodes = nodes_of(request.order)
        self._started_at = workflow.now()
        self._trail = RoundTrail(request)
        self._board = Board(self._nodes, self._items)
        self._frozen: Frozen | Unavailable | WorkspaceRefused | None = None
        self._scope: ScopeResult | Unavailable | None = None
        self._environment = Environment(self._order, self._items, self._trail)
        self._runs = ItemRuns(request, self._trail, self._board, self._environment)
        self._result: RoundResult | None = None

    @workflow.run
    async def run(self, request: RoundInput) -> RoundResult:
        """Run every node whose needs are met, then answer. Cancelled, it says so in the trail and decides nothing."""
        ids: list[JsonValue] = [item.id for item in self._items]
        try:
            await self._trail.record(
                "verification_started",
                request.actor,
                {"attempt": request.attempt, "items": ids, "order": request.order_digest},
            )
            await dag.run(self._nodes, self._run_node)
        except (Exception, asyncio.CancelledError) as error:
            if is_cancelled_exception(error):
                await self._trail.record("verification_cancelled", SYSTEM, {"reason": "cancelled by the caller"})
            await self._release()
            raise
        await self._release()
        assert self._result is not None, "the decide node sets the result"
        return self._result

    @workflow.query
    def progress(self) -> Progress:
        """Every node and item, as it stands."""
        return self._board.progress()

    async def _run_node(self, node: Node) -> None:
        work: dict[str, Callable[[], Awaitable[tuple[NodeStatus, str]]]] = {
            "snapshot": self._snapshot,
            "environment": self._environment.make_ready,
            "setup": self._set_up,
            "scope": self._assess,
            "criteria": self._criteria,
            "checks": self._checks,
            "base": self._compare_with_base,
            "decide": self._decide,
        }
        self._board.node(node, "running")
        status, detail = await work[node.name]()
        self._board.node(node, status, detail)

    async def _snapshot(self) -> tuple[NodeStatus, str]:
        order = self._order
        assert order.base is not None, "adapters/config refuses an order without a base"
        request = FreezeInput(
            round=self._round.workflow_id,
            workspace=order.workspace,
            base=order.base,
            include=tuple(order.snapshot.include),
            commits=any(isinstance(item.criterion, GitCommitExists) for item in self._items),
        )
        try:
            self._frozen = await workflow.execute_activity_method(
                SnapshotActivities.freeze,
                request,
                summary=f"freeze {order.workspace}",
                **options.freeze(self._round.host),
            )
        except ActivityError as error:
            self._frozen = domain_error(error)
            await self._trail.record("snapshot_frozen", SYSTEM, {"error": self._frozen.reason})
            status: NodeStatus = "failed" if isinstance(self._frozen, WorkspaceRefused) else "could_not_run"
            return status, self._frozen.reason
        frozen = self._frozen
        await self._trail.record("snapshot_frozen", SYSTEM, {"head": frozen.head, "base": frozen.base})
        return "done", f"{frozen.head_files} files, {frozen.head_bytes / 1e6:.1f} MB"

    async def _assess(self) -> tuple[NodeStatus, str]:
        if not isinstance(self._frozen, Frozen):
            return "could_not_run", "no snapshot"
        try:
            self._scope = await workflow.execute_activity_method(
                SnapshotActivities.assess,
                ScopeInput(
                    frozen=self._frozen,
                    scope=self._order.scope,
                    inputs=tuple(self._order.environment.inputs),
                ),
                summary="base plus in-scope changes",
                **options.ASSESS,
            )
        except ActivityError as error:
            self._scope = outside_error(error)
            return "could_not_run", self._scope.reason
        scope = self._scope
        await self._trail.record(
            "scope_assessed",
            SYSTEM,
            {
                "tree": scope.tree,
                "changed": scope.changed_total,
                "restored": list(scope.restored),
                "dropped": scope.dropped_total,
                "violations": [violation.path for violation in scope.violations],
                "changed_inputs": list(scope.changed_inputs),
                "report": scope.report,
            },
        )
        return ("failed" if scope.violations_total else "passed"), _scope_detail(scope)

    async def _set_up(self) -> tuple[NodeStatus, str]:
        return await self._environment.set_up(self._frozen if isinstance(self._frozen, Frozen) else None)

    async def _criteria(self) -> tuple[NodeStatus, str]:
        return await self._run_items("criterion")

    async def _checks(self) -> tuple[NodeStatus, str]:
        return await self._run_items("check")

    async def _run_items(self, spelling: Literal["criterion", "check"]) -> tuple[NodeStatus, str]:
        if isinstance(self._frozen, WorkspaceRefused):
            return "could_not_run", "no snapshot"
        return await self._runs.run([item for item in self._items if item.spelling == spelling], self._trees())

    async def _compare_with_base(self) -> tuple[NodeStatus, str]:
        if isinstance(self._frozen, WorkspaceRefused):
            return "done", "nothing to compare"
        return await self._runs.compare(self._items, self._trees())

    def _trees(self) -> Trees | Unavailable:
        """What items run on, or why there is nothing."""
        for earlier in (self._frozen, self._scope):
            if isinstance(earlier, Unavailable):
                return earlier
        assert isinstance(self._frozen, Frozen)
        assert isinstance(self._scope, ScopeResult)
        return Trees(self._frozen, self._scope)

    async def _decide(self) -> tuple[NodeStatus, str]:
        decision = decide(self._facts(), Policy.of(self._order))
        ended_at = workflow.now()
        image = self._environment.image
        record = RoundRecord(
            input=self._round,
            started_at=self._started_at,
            ended_at=ended_at,
            frozen=self._frozen if isinstance(self._frozen, Frozen) else None,
            scope=self._scope if isinstance(self._scope, ScopeResult) else None,
            image=image if isinstance(image, Image) else None,
            results=self._in_order(),
            decision=decision,
            notices=notices_of(self._order, self._round.order_file),
            head_sequence=self._trail.head.sequence if self._trail.head else 0,
            head_hash=self._trail.head.hash if self._trail.head else "",
        )
        filed = await workflow.execute_activity_method(
            ReportActivities.file, record, summary=f"report: {decision.verdict}", **options.REPORT
        )
        await self._trail.record(
            "audit_completed",
            HARNESS,
            {
                "result": decision.verdict,
                "outcome": decision.outcome,
                "criteria": [item.id for item in self._items],
                "reasons": [reason.code for reason in decision.reasons],
                "trigger": decision.trigger,
                "report": filed.report,
            },
        )
        self._result = RoundResult(decision=decision, report=filed.report)
        review = {RoundOutcome.VERIFIED: "approved", RoundOutcome.CHANGES_REQUESTED: "changes_requested"}
        workflow.upsert_search_attributes(
            [options.REVIEW_ATTRIBUTE.value_set(review.get(decision.outcome, "escalated"))]
        )
        return _node_status(decision), "; ".join(reason.text for reason in decision.reasons)

    def _facts(self) -> Facts:
        scope = self._scope if isinstance(self._scope, ScopeResult) else None
        refused = self._frozen if isinstance(self._frozen, WorkspaceRefused) else None
        return Facts(
            expected=frozenset(item.id for item in self._items),
            results=self._in_order(),
            violations=tuple(f"{v.path}: {v.kind.replace('_', ' ')}" for v in scope.violations) if scope else (),
            refused=str(refused) if refused else "",
            unknown=self._unknown(),
            changed_inputs=scope.changed_inputs if scope else (),
            subjective_required=frozenset(c.id for c in subjective_of(self._order) if c.required),
            criteria=len(self._order.acceptance_criteria),
        )

    def _unknown(self) -> str:
        """Why there is no tree to speak of, when there is none for a cause outside the worker's tree."""
        if isinstance(self._frozen, WorkspaceRefused):
            return ""
        trees = self._trees()
        return f"{trees.reason}. {trees.next_step}" if isinstance(trees, Unavailable) else ""

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


def _scope_detail(scope: ScopeResult) -> str:
    parts = [f"{scope.changed_total} changed (+{scope.lines_added} -{scope.lines_removed})"]
    for count, word in (
        (scope.restored_total, "restored"),
        (scope.dropped_total, "dropped"),
        (scope.violations_total, "out of scope"),
    ):
        if count:
            parts.append(f"{count} {word}")
    return ", ".join(parts)


def _node_status(decision: Decision) -> NodeStatus:
    if decision.outcome is RoundOutcome.VERIFIED:
        return "passed"
    return "could_not_run" if decision.outcome is RoundOutcome.INCONCLUSIVE else "failed"
