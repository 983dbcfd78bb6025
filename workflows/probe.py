"""The falsifiability probe of a round: without the worker's change, or with it mutated, a required check must go red.

It runs only where everything required passed. Source: issue "falsifiability probe", DESIGN 8.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from temporalio import workflow
from temporalio.exceptions import ActivityError

with workflow.unsafe.imports_passed_through():
    from activities.boundary import outside_error
    from activities.checks import CheckActivities
    from activities.snapshot import SnapshotActivities
    from domain.base import sha256_hex
    from domain.checks import CheckResult, Item, Outcome, all_required_passed, unavailable
    from domain.events import HARNESS
    from domain.messages import NodeStatus, ProbeInput, RoundInput
    from domain.probes import ProbeSeen, ProbeTree
    from workflows import options
    from workflows.items import ItemRuns
    from workflows.trail import RoundTrail
    from workflows.trees import Trees

SEED_DIGITS = 12
"""Hexadecimal digits that make the seed: 48 bits, which every reader of JSON has exactly."""


class Probe:
    """What the probe of one round came to, None while nobody asked for one or there was nothing to examine."""

    def __init__(self, request: RoundInput, trail: RoundTrail, runs: ItemRuns) -> None:
        self._order = request.order
        self._round = request
        self._trail = trail
        self._runs = runs
        self.seen: ProbeSeen | None = None

    async def run(
        self, items: Iterable[Item], results: Mapping[str, CheckResult], trees: Trees
    ) -> tuple[NodeStatus, str]:
        """Look for a tree on which a required check fails."""
        how = self._order.verification.probe
        if how == "off":
            return "skipped", "not asked for"
        required = [item for item in items if item.criterion.required and item.depends_on_tree]
        if not all_required_passed(results.values()) or trees.scope.violations_total:
            return "skipped", "the checks failed by themselves"
        examined = [item for item in required if item.needs_sandbox] or required
        seed = int(sha256_hex(trees.scope.tree.encode())[:SEED_DIGITS], 16)
        request = ProbeInput(how=how, frozen=trees.frozen, scope=trees.scope, seed=seed)
        try:
            wanted = await workflow.execute_activity_method(
                SnapshotActivities.probe, request, summary=f"trees for the probe: {how}", **options.ASSESS
            )
        except ActivityError as error:
            why = str(outside_error(error))
            return await self._seen(ProbeSeen(how=how, seed=seed, tested=None, unknown=True, text=why))
        if not wanted.trees or not examined:
            why = wanted.why or "no required check looks at the tree"
            return await self._seen(ProbeSeen(how=how, seed=seed, tested=None, text=why))
        return await self._seen(await self._search(examined, wanted.trees, trees, request))

    async def _search(
        self, items: Sequence[Item], wanted: Sequence[ProbeTree], trees: Trees, request: ProbeInput
    ) -> ProbeSeen:
        """The first check that fails on one of the trees, or that there is none."""
        seen = ProbeSeen(how=request.how, seed=request.seed, tested=None, text="")
        unknown = ""
        for tree in wanted:
            for item in items:
                result = await self._check(item, tree, trees)
                if result.evidence:
                    seen = seen.model_copy(update={"evidence": (*seen.evidence, result.evidence)})
                if result.outcome is Outcome.FAILED:
                    return seen.model_copy(update={"tested": True, "text": f"{item.id} fails when {tree.what}"})
                if result.outcome is Outcome.COULD_NOT_RUN:
                    unknown = unknown or f"{item.id} could not be run where it has to fail: {result.text}"
        if unknown:
            return seen.model_copy(update={"unknown": True, "text": unknown})
        told = "; ".join(tree.what for tree in wanted)
        text = f"these checks do not test the change: all of them pass when {told}"
        return seen.model_copy(update={"tested": False, "text": text})

    async def _check(self, item: Item, tree: ProbeTree, trees: Trees) -> CheckResult:
        request = self._runs.input(item, tree.tree, trees, controls=False)
        try:
            return await workflow.execute_activity_method(
                CheckActivities.run,
                request,
                summary=f"{item.id}, when {tree.what}"[:180],
                **options.check(item.criterion.timeout, self._order.safeguards.tool_retries, item.runs, begun=True),
            )
        except ActivityError as error:
            return unavailable(item, outside_error(error))

    async def _seen(self, seen: ProbeSeen) -> tuple[NodeStatus, str]:
        self.seen = seen
        await self._trail.record(
            "probe_completed",
            HARNESS,
            {
                "how": seen.how,
                "tested": seen.tested,
                "text": seen.text,
                "seed": seen.seed,
                "evidence": list(seen.evidence),
            },
        )
        if seen.unknown:
            return "could_not_run", seen.text
        return "failed" if seen.tested is False else "passed" if seen.tested else "done", seen.text
