"""The trees of a round: the work and its base frozen, and the trusted tree made of them. It judges none of it.

Source: DESIGN 4 "snapshot" and "scope".
"""

from __future__ import annotations

from dataclasses import dataclass

from temporalio import workflow
from temporalio.exceptions import ActivityError

with workflow.unsafe.imports_passed_through():
    from activities.boundary import domain_error, outside_error
    from activities.snapshot import SnapshotActivities
    from domain.errors import Unavailable, WorkspaceRefused
    from domain.events import SYSTEM
    from domain.freezing import freeze_input
    from domain.messages import Frozen, NodeStatus, RoundInput, ScopeInput, ScopeResult
    from domain.suite.scripts import scripts_of
    from workflows import options
    from workflows.trail import RoundTrail


@dataclass(frozen=True)
class Trees:
    """What a round's items run on: the trusted tree, and the base."""

    frozen: Frozen
    scope: ScopeResult

    @property
    def base(self) -> str:
        """The digest of what stands for the base when something is run: with the order's own tests."""
        return self.scope.base or self.frozen.base


class Freezing:
    """The trees of one round, as far as there are any. `refused`: why the worker's tree was not taken."""

    def __init__(self, request: RoundInput, trail: RoundTrail) -> None:
        self._round = request
        self._order = request.order
        self._trail = trail
        self._missing: Unavailable | None = None
        self.frozen: Frozen | None = None
        self.scope: ScopeResult | None = None
        self.refused: WorkspaceRefused | None = None

    @property
    def trees(self) -> Trees | Unavailable:
        """What items run on, or why there is nothing. Not to be asked for where the work was refused."""
        if self._missing:
            return self._missing
        assert self.frozen
        assert self.scope
        return Trees(self.frozen, self.scope)

    async def freeze(self) -> tuple[NodeStatus, str]:
        """Copy the workspace and its base, by path, into the store."""
        if self._round.frozen is not None:
            return await self._take(self._round.frozen, "repaired: " if self._round.loop else "frozen with the claim: ")
        request = freeze_input(self._round)
        try:
            frozen = await workflow.execute_activity_method(
                SnapshotActivities.freeze,
                request,
                summary=f"freeze {request.workspace}",
                **options.freeze(self._round.host),
            )
        except ActivityError as error:
            return await self._not_frozen(domain_error(error))
        return await self._take(frozen)

    async def _take(self, frozen: Frozen, how: str = "") -> tuple[NodeStatus, str]:
        self.frozen = frozen
        await self._trail.record("snapshot_frozen", SYSTEM, {"head": frozen.head, "base": frozen.base})
        return "done", f"{how}{frozen.head_files} files, {frozen.head_bytes / 1e6:.1f} MB"

    async def _not_frozen(self, why: Unavailable | WorkspaceRefused) -> tuple[NodeStatus, str]:
        await self._trail.record("snapshot_frozen", SYSTEM, {"error": why.reason})
        if isinstance(why, WorkspaceRefused):
            self.refused = why
            return "failed", why.reason
        self._missing = why
        return "could_not_run", why.reason

    async def assess(self) -> tuple[NodeStatus, str]:
        """Make the trusted tree: the base plus the changes in scope."""
        if self.frozen is None:
            return "could_not_run", "no snapshot"
        try:
            self.scope = await workflow.execute_activity_method(
                SnapshotActivities.assess,
                ScopeInput(
                    frozen=self.frozen,
                    scope=self._order.scope,
                    inputs=tuple(self._order.environment.inputs),
                    tests=tuple(self._order.verification.tests),
                    builds=bool(self._order.environment.build),
                    scripts=scripts_of(self._order),
                ),
                summary="base plus in-scope changes",
                **options.ASSESS,
            )
        except ActivityError as error:
            self._missing = outside_error(error)
            return "could_not_run", self._missing.reason
        await self._record_scope(self.scope)
        return ("failed" if self.scope.violations_total else "passed"), _detail(self.scope)

    async def _record_scope(self, scope: ScopeResult) -> None:
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
                "dropped_paths": [{"path": d.path, "reason": d.reason} for d in scope.dropped if not d.usual],
            },
        )
        if scope.violations_total:
            await self._trail.record(
                "scope_violation_detected",
                SYSTEM,
                {
                    "paths": [violation.path for violation in scope.violations],
                    "violations_total": scope.violations_total,
                    "report": scope.report,
                },
            )


def _detail(scope: ScopeResult) -> str:
    parts = [f"{scope.changed_total} changed (+{scope.lines_added} -{scope.lines_removed})"]
    for count, word in (
        (scope.restored_total, "restored"),
        (scope.dropped_total, "dropped"),
        (scope.violations_total, "out of scope"),
    ):
        if count:
            parts.append(f"{count} {word}")
    return ", ".join(parts)
