"""Runs the items of a round, and once more on the base those that failed. What a result means is `domain`'s."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any

from temporalio import workflow
from temporalio.exceptions import ActivityError

with workflow.unsafe.imports_passed_through():
    from activities.boundary import outside_error
    from activities.checks import CheckActivities
    from domain.checks import BaseOutcome, CheckResult, Item, Outcome, beside_the_base, unavailable
    from domain.errors import Unavailable
    from domain.events import HARNESS
    from domain.messages import CheckInput, Image, NodeStatus, RoundInput
    from workflows import dag, options
    from workflows.board import Board
    from workflows.environment import Environment
    from workflows.trail import RoundTrail
    from workflows.trees import Trees


class ItemRuns:
    """The results of one round's items, by id."""

    def __init__(self, request: RoundInput, trail: RoundTrail, board: Board, environment: Environment) -> None:
        self._round = request
        self._order = request.order
        self._trail = trail
        self._board = board
        self._environment = environment
        self.results: dict[str, CheckResult] = {}

    async def run(self, items: Sequence[Item], trees: Trees | Unavailable) -> tuple[NodeStatus, str]:
        """Run them all, at once or one after another as the order says."""
        await self._each(items, lambda item: self._run_item(item, trees))
        passed = sum(self.results[item.id].passed for item in items)
        status: NodeStatus = "passed" if passed == len(items) else "failed"
        return ("skipped" if not items else status), f"{passed} of {len(items)} passed" if items else "none"

    async def compare(self, items: Iterable[Item], trees: Trees | Unavailable) -> tuple[NodeStatus, str]:
        """Run those that failed in a container once more on the base, and say beside each what came of it."""
        failed = [
            item
            for item in items
            if item.needs_sandbox and item.id in self.results and _of_unknown_origin(self.results[item.id])
        ]
        if not failed or isinstance(trees, Unavailable):
            return "skipped", "nothing to compare"
        await self._each(failed, lambda item: self._compare(item, trees))
        same = sum(self.results[item.id].base_outcome is Outcome.FAILED for item in failed)
        return "done", f"{same} of {len(failed)} fail on the base, too"

    async def _each(self, items: Iterable[Item], work: Callable[[Item], Coroutine[Any, Any, None]]) -> None:
        if self._order.verification.mode == "parallel":
            await dag.together(work(item) for item in items)
            return
        for item in items:
            await work(item)

    async def _run_item(self, item: Item, trees: Trees | Unavailable) -> None:
        self._board.item(item, "running")
        await self._trail.record("check_started", HARNESS, {"check": item.id})
        result = await self.observe(item, trees)
        self.results[item.id] = result
        await self._trail.record(
            "check_completed",
            HARNESS,
            {
                "check": item.id,
                "outcome": result.outcome,
                "passed": result.passed,
                "code": result.code,
                "exit_code": result.exit_code,
                "duration_ms": result.duration_ms,
                "required": result.required,
                "evidence": result.evidence,
                "outcomes": list(result.outcomes),
                "control": result.control.outcome if result.control else None,
                "base_outcome": result.base_outcome,
            },
        )
        self._board.item(item, result.outcome.value, result.text)

    async def observe(self, item: Item, trees: Trees | Unavailable) -> CheckResult:
        """The item's result now, whatever became of the nodes before it and of the activity; it is kept nowhere."""
        if isinstance(trees, Unavailable):
            return unavailable(item, trees)
        if missing := self._environment.why_not(item):
            return unavailable(item, missing)
        request = self.input(item, trees.scope.tree, trees, controls=True)
        retries = self._order.safeguards.tool_retries
        try:
            return await workflow.execute_activity_method(
                CheckActivities.run,
                request,
                summary=f"{item.id}: {item.label}"[:180],
                **options.check(
                    item.criterion.timeout, retries, item.runs * (1 + request.retries), begun=bool(self.results)
                ),
            )
        except ActivityError as error:
            return unavailable(item, outside_error(error))

    def input(self, item: Item, tree: str, trees: Trees, *, controls: bool) -> CheckInput:
        """What an activity has to know to run `item` on `tree`. `controls`: whether the check is examined, too."""
        image, probe_image = self._environment.image, self._environment.probe_image
        verification = self._order.verification
        again = verification.retries_on_failure if controls and item.criterion.required else 0
        return CheckInput(
            session=self._round.session,
            todo=self._round.todo,
            attempt=self._round.attempt,
            round=self._round.workflow_id,
            item=item,
            tree=tree,
            image=image.id if isinstance(image, Image) else "",
            resources=self._order.resources,
            build=tuple(self._order.environment.build),
            probe_image=probe_image.id if isinstance(probe_image, Image) else "",
            commits=trees.frozen.commits,
            secrets=tuple(self._order.environment.secrets),
            base="" if tree == trees.base else trees.base,
            trusted=trees.scope.trusted,
            build_rules=trees.scope.build_rules,
            doctests=trees.scope.doctests if tree == trees.scope.tree else "",
            order_files=trees.frozen.order_files,
            retries=again,
            flaky_passes=verification.on_flaky == "pass",
            controls=controls,
            reference=image.reference if isinstance(image, Image) else "",
            set_up=self._environment.installed,
            probe_reference=probe_image.reference if isinstance(probe_image, Image) else "",
        )

    async def _compare(self, item: Item, trees: Trees) -> None:
        """Whose failure is it? Where the base cannot be run, nothing is known of it and the failure stands."""
        result = self.results[item.id]
        base = await self._observe_on_base(item, result, trees)
        if base is None:
            return
        self.results[item.id] = result = beside_the_base(result, base)
        await self._trail.record(
            "base_compared",
            HARNESS,
            {
                "check": item.id,
                "outcome": result.outcome,
                "code": result.code,
                "base_outcome": base.outcome,
                "base_code": base.code,
                "evidence": base.evidence,
            },
        )
        self._board.item(item, result.outcome.value, result.text)

    async def _observe_on_base(self, item: Item, result: CheckResult, trees: Trees) -> BaseOutcome | None:
        if trees.scope.tree == trees.base:
            return BaseOutcome(outcome=result.outcome, code=result.code, evidence=result.evidence)
        try:
            return await workflow.execute_activity_method(
                CheckActivities.run_on_base,
                self.input(item, trees.base, trees, controls=False),
                summary=f"{item.id} on the base: {item.label}"[:180],
                **options.check(item.criterion.timeout, self._order.safeguards.tool_retries, item.runs, begun=True),
            )
        except ActivityError as error:
            workflow.logger.warning("%s could not be run on the base: %s", item.id, outside_error(error))
            return None


def _of_unknown_origin(result: CheckResult) -> bool:
    """Whether it failed and nobody knows yet what the base comes to."""
    return result.outcome is Outcome.FAILED and result.base_outcome is None
