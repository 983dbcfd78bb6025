"""The adversarial part of a round: an advocate and a critic on what is disputed, then a judge who has read both.

What is disputed is `domain.roles.disputes`' to say, what a ruling comes to `decide`'s. Source: DESIGN 4, seed
`pipeline` "Advocate", "Critic", "Judge".
"""

from __future__ import annotations

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from domain.messages import NodeStatus, RoundInput
    from domain.roles.results import DisputeRecord
    from workflows.passes import Passes
    from workflows.trail import RoundTrail


class Arguing:
    """The adversarial stage of one round. `record`: all of it, None where nothing was disputed."""

    def __init__(self, request: RoundInput, trail: RoundTrail, passes: Passes) -> None:
        self._round = request
        self._trail = trail
        self._passes = passes
        self.record: DisputeRecord | None = None

    async def advocate(self) -> tuple[NodeStatus, str]:
        """The case for PASS."""
        return "done", "nothing is disputed"

    async def criticise(self) -> tuple[NodeStatus, str]:
        """The case for FAIL."""
        return "done", "nothing is disputed"

    async def judge(self) -> tuple[NodeStatus, str]:
        """The rulings."""
        return "done", "nothing is disputed"
