"""Runs drafted checks on the base and on an empty tree, to tell which may count. Nothing of the work is run or named.

What a run means is `domain.drafts.lint`'s to say. Source: issue "Designer, Strategist", 1.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from temporalio import workflow
from temporalio.exceptions import ActivityError

with workflow.unsafe.imports_passed_through():
    from activities.boundary import outside_error
    from activities.checks import CheckActivities
    from domain.checks import CheckResult, unavailable
    from domain.drafts.lint import RUNS, Observed, bounded, fault_before_runs, item_of, lint, on_an_empty_tree, unseen
    from domain.drafts.record import Rejected
    from domain.errors import Cause, Unavailable
    from domain.messages import CheckInput
    from domain.order import Order
    from domain.roles.designed import DraftedCheck, Specification
    from workflows import dag, options
    from workflows.items import ItemRuns
    from workflows.trees import Trees

AT_ONCE = 12
"""Runs that wait for an engine at the same time: a draft is not to be in the way of all other rounds."""


@dataclass(frozen=True)
class Linted:
    """What may count, and what may not, each in the order of the plan."""

    counting: tuple[DraftedCheck, ...]
    rejected: tuple[Rejected, ...]


class Linting:
    """The lint of one round's drafted checks. `base` are trees in which the base stands for the work, too."""

    def __init__(self, order: Order, spec: Specification, runs: ItemRuns, base: Trees, empty: str) -> None:
        self._order = order
        self._spec = spec
        self._runs = runs
        self._base = base
        self._empty = empty
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._run = 0

    async def of(self, plan: Sequence[DraftedCheck]) -> Linted | Unavailable:
        """Each check's word; or why one of them could not be run, for a cause outside of it: then nothing is told."""
        checks = [bounded(check) for check in plan]
        faults = [fault_before_runs(check, self._spec, checks[:n]) for n, check in enumerate(checks)]
        left = [check for check, fault in zip(checks, faults, strict=True) if fault is None]
        seen: dict[str, Observed] = {}
        await dag.together(self._observe(check, seen) for check in left)
        if missing := next((one for check in left if (one := unseen(seen[check.id]))), None):
            cause = Cause(missing.code) if missing.code in set(Cause) else Cause.SYSTEM_ERROR
            next_step = missing.next_step or "run the round again"
            return Unavailable(cause, f"{missing.id} could not be tried out: {missing.text}", next_step)
        faults = [fault or lint(check, self._spec, seen[check.id]) for check, fault in zip(checks, faults, strict=True)]
        return Linted(
            counting=tuple(check for check, fault in zip(checks, faults, strict=True) if fault is None),
            rejected=tuple(fault for fault in faults if fault is not None),
        )

    async def _observe(self, check: DraftedCheck, seen: dict[str, Observed]) -> None:
        """All its runs: each in a container of its own, and never on what was handed in."""
        item = item_of(self._order, check)
        on_base = self._runs.input(item, self._base.base, self._base, controls=False)
        nothing = item_of(self._order, on_an_empty_tree(check))
        bare = {"item": nothing, "tree": self._empty, "base": "", "build": (), "trusted": "", "build_rules": ""}
        on_nothing = on_base.model_copy(update={**bare, "doctests": ""})
        results: dict[tuple[str, int], CheckResult] = {}

        async def one(where: str, request: CheckInput, number: int) -> None:
            async with self._slots:
                results[where, number] = await self._result(request)

        work: list[Coroutine[Any, Any, None]] = []
        for number in range(RUNS):
            self._run += 1  # a second plan's check of the same id is another run
            work += [
                one("base", on_base.model_copy(update={"run": self._run}), number),
                one("empty", on_nothing.model_copy(update={"run": self._run}), number),
            ]
        await dag.together(work)
        seen[check.id] = Observed(
            base=tuple(results["base", number] for number in range(RUNS)),
            empty=tuple(results["empty", number] for number in range(RUNS)),
        )

    async def _result(self, request: CheckInput) -> CheckResult:
        item = request.item
        where = "an empty tree" if request.tree == self._empty else "the base"
        try:
            return await workflow.execute_activity_method(
                CheckActivities.run,
                request,
                summary=f"lint of {item.id} on {where}: {item.label}"[:180],
                **options.check(item.criterion.timeout, self._order.safeguards.tool_retries, item.runs, begun=True),
            )
        except ActivityError as error:
            return unavailable(item, outside_error(error))
