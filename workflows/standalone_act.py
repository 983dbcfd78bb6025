"""A person's act on a round that stands alone: judged on the round as it is, stored once, answered. No rules here.

Acts on one round share the key of their rows (`domain.acts.standalone.trail_id`), and the trail stores one row for each
number: of two acts at once the second finds its number taken, and is judged again on what the first one left.
"""

from __future__ import annotations

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    from activities.boundary import outside_error
    from activities.signatures import SignatureActivities
    from activities.standalone import StandaloneActivities
    from domain.acts import standalone
    from domain.acts.standalone import Loaded, LoadInput, StandaloneActInput
    from domain.events import TrailRef
    from domain.requests import Answer
    from domain.signatures import SignatureCheck, SignatureInput
    from domain.signing import looked_at
    from workflows import options
    from workflows.trail import Writer


@workflow.defn(name="StandaloneActWorkflow")
class StandaloneActWorkflow:
    """One act. It ends with the answer, and fails with the type `unavailable` where nothing could be told or done."""

    @workflow.run
    async def run(self, request: StandaloneActInput) -> Answer:
        """Judge it on the newest round, and store its row before it is answered."""
        try:
            return await self._act(request)
        except ActivityError as error:
            meant = outside_error(error)
            details = (meant.cause.value, meant.reason, meant.next_step)
            raise ApplicationError(str(meant), *details, type="unavailable", non_retryable=True) from error

    async def _act(self, request: StandaloneActInput) -> Answer:
        before = -1
        while True:
            there = await workflow.execute_activity_method(
                StandaloneActivities.load,
                LoadInput(session=request.session, todo=request.todo, store=request.store),
                summary=f"{request.session}/{request.todo} as it is",
                **options.SIGNATURE,
            )
            check = await self._looked_at(request, there)
            settled = standalone.settle(there, request.seen, request.request, check, workflow.now())
            if settled.event is None:
                return settled.answer
            attempt = there.standing.attempt
            key = standalone.trail_id(request.session, request.todo, attempt)
            writer = Writer(key, request.session, request.todo, request.store, there.ordinal)
            try:
                ref = await writer.write(settled.event, attempt)
            except ActivityError as error:
                if not _taken(error) or there.ordinal == before:
                    raise
                before = there.ordinal
                continue
            return _with(settled.answer, ref)

    async def _looked_at(self, request: StandaloneActInput, there: Loaded) -> SignatureCheck | None:
        """Whose signature it has; None where that is not asked."""
        asked = request.request
        if there.todo is None or asked.signed is None or not looked_at(there.todo, asked):
            return None
        claimed = asked.actor.identity if asked.actor.role == "human" else ""
        look = SignatureInput(signed=asked.signed, signers=there.todo.signers, at=workflow.now(), claimed=claimed)
        return await workflow.execute_activity_method(
            SignatureActivities.check, look, summary="whose signature it is", **options.SIGNATURE
        )


def _taken(error: ActivityError) -> bool:
    """Whether another act on the same round has stored a row under that number."""
    return isinstance(error.cause, ApplicationError) and error.cause.type == "ValueError"


def _with(answer: Answer, ref: TrailRef) -> Answer:
    return answer.model_copy(update={"sequence": ref.sequence})
