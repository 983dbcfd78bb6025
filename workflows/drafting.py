"""The designer's and the strategist's part of a round: checks for an order that has none, each linted on the base.

Which orders get them and which checks may count is `domain.drafts`' to say. Source: DESIGN 4, seed `pipeline`
"Designer", "Strategist".
"""

from __future__ import annotations

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from domain.criteria import Criterion
    from domain.drafts.record import DraftRecord
    from domain.errors import Unavailable
    from domain.messages import NodeStatus, RoundInput
    from workflows.items import ItemRuns
    from workflows.passes import Passes
    from workflows.trail import RoundTrail
    from workflows.trees import Trees


class Drafting:
    """The drafting of one round. `record`: all of it, None where nothing was to be drafted."""

    def __init__(self, request: RoundInput, trail: RoundTrail, runs: ItemRuns, passes: Passes) -> None:
        self._round = request
        self._order = request.order
        self._trail = trail
        self._runs = runs
        self._passes = passes
        self.record: DraftRecord | None = None

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """What joins the order."""
        return self.record.criteria if self.record else ()

    async def design(self, trees: Trees | Unavailable | None) -> tuple[NodeStatus, str]:
        """The specification."""
        return "done", "the order says what to check"

    async def plan(self, trees: Trees | Unavailable | None) -> tuple[NodeStatus, str]:
        """The checks for it."""
        return "done", "the order says what to check"
