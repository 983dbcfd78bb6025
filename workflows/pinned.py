"""The round as a worker of a deployment runs it: to its end on the version that began it. It changes nothing else.

A definition of its own, since the server refuses one that says what it does about versions from a worker without any.
Sessions and todos, which live for days, go on with the next version: that is such a worker's default.
"""

from __future__ import annotations

from temporalio import workflow
from temporalio.common import VersioningBehavior

with workflow.unsafe.imports_passed_through():
    from domain.messages import RoundInput, RoundResult
    from workflows.verification import VerificationWorkflow


@workflow.defn(name="VerificationWorkflow", versioning_behavior=VersioningBehavior.PINNED)
class PinnedVerificationWorkflow(VerificationWorkflow):
    """A round, pinned."""

    @workflow.init
    def __init__(self, request: RoundInput) -> None:
        """As the round's own: the SDK takes only a class's own method."""
        super().__init__(request)

    @workflow.run
    async def run(self, request: RoundInput) -> RoundResult:
        """As the round's own."""
        return await super().run(request)
