"""The fix loop: a round's feedback, a repair of its work, a round of the result, within a budget. The rules: `fixing`.

Source: seed `fix loop` 1, DESIGN 3 "The fix loop's rounds have counters of their own".
"""

from __future__ import annotations

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from domain.fix_messages import FixLoopInput, FixLoopResult, FixProgress


@workflow.defn(name="FixLoopWorkflow")
class FixLoopWorkflow:
    """One loop. Cancelled, it says so in the trail, and nothing of it reaches the workspace."""

    @workflow.init
    def __init__(self, request: FixLoopInput) -> None:
        """State before the first task: a message may come in it."""
        self._request = request

    @workflow.run
    async def run(self, request: FixLoopInput) -> FixLoopResult:
        """Repair and verify until the policy says that it is enough."""
        raise NotImplementedError

    @workflow.signal(name="pause")
    def pause(self) -> None:
        """Begin nothing new: the session is paused. What runs may finish."""

    @workflow.signal(name="resume")
    def resume(self) -> None:
        """Go on."""

    @workflow.query
    def progress(self) -> FixProgress:
        """How far it is."""
        raise NotImplementedError
