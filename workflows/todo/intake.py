"""What a worker hands in, one after the other: frozen and admitted first, then judged by the acts. No rules here.

The trees are frozen without the todo's lock: a person can act meanwhile, and the claim is looked at again afterwards.
"""

from __future__ import annotations

import asyncio
from datetime import datetime

from temporalio import workflow
from temporalio.exceptions import ActivityError

with workflow.unsafe.imports_passed_through():
    from activities.boundary import domain_error
    from activities.claims import ClaimActivities
    from activities.snapshot import SnapshotActivities
    from domain.acts import workers
    from domain.acts.step import Declined, Outcome
    from domain.claims.claim import Claim, ClaimedEvidence
    from domain.errors import WorkspaceRefused
    from domain.freezing import freeze_input
    from domain.life import AdmitInput, AdmitResult, FollowUpAnswer
    from domain.messages import Frozen, FrozenBase
    from domain.requests import AddEvidence, Answer, MakeClaim, Refusal, Respond, Start
    from domain.todo import Admitted, Todo
    from workflows import options
    from workflows.todo.commands import Commands
    from workflows.todo.keeper import Keeper
    from workflows.todo.rounds import Rounds, round_of


class Intake:
    """The worker's commands that need an activity before they can be judged."""

    def __init__(self, keeper: Keeper, commands: Commands, rounds: Rounds) -> None:
        self._keeper = keeper
        self._commands = commands
        self._rounds = rounds
        self._one_at_a_time = asyncio.Lock()

    @property
    def idle(self) -> bool:
        """Whether nothing is being handed in."""
        return not self._one_at_a_time.locked()

    async def start(self, request: Start) -> Answer:
        """Freeze the base, then begin. Raises `ActivityError`."""
        async with self._one_at_a_time:
            refused = await self._commands.refusal("start", request, workers.may_start)
            if refused:
                return refused
            try:
                base = await _freeze_base(self._keeper.todo)
            except ActivityError as error:
                return await self._not_frozen("start", request, error)

            def act(todo: Todo, request: Start, now: datetime) -> Outcome:
                return workers.start(todo, request, base.model_dump_json(), now)

            return await self._commands.settle("start", request, act)

    async def claim(self, request: MakeClaim) -> Answer:
        """Freeze the work, admit what came with it, then let it be judged. Raises `ActivityError`."""
        async with self._one_at_a_time:
            refused = await self._commands.refusal("claim", request, workers.may_claim)
            if refused:
                return refused
            try:
                base, frozen = await self._freeze()
            except ActivityError as error:
                return await self._not_frozen("claim", request, error)
            taken = await _admit(self._keeper.todo, frozen, request.claim, ())
            admitted = Admitted(claim=taken.claim, frozen=frozen, news=taken.news, evidence=taken.evidence)

            def act(todo: Todo, request: MakeClaim, now: datetime) -> Outcome | Declined:
                return workers.claim(todo, request, admitted, now, base)

            answer = await self._commands.settle("claim", request, act)
            minted = {piece.label: piece.id for piece in taken.evidence}
            return answer if answer.refused else answer.model_copy(update={"snapshot": frozen.head, "evidence": minted})

    async def add_evidence(self, request: AddEvidence) -> Answer:
        """Mint what the worker brings. Raises `ActivityError`."""
        async with self._one_at_a_time:
            refused = await self._commands.refusal("add_evidence", request, workers.may_add_evidence)
            if refused:
                return refused
            taken = await _admit(self._keeper.todo, None, None, request.evidence)

            def act(todo: Todo, request: AddEvidence, now: datetime) -> Outcome:
                return workers.add_evidence(todo, request, taken.evidence, now)

            answer = await self._commands.settle("add_evidence", request, act)
            return answer.model_copy(update={"evidence": {piece.label: piece.id for piece in taken.evidence}})

    async def respond(self, request: Respond) -> Answer:
        """Mint what comes with an answer, and pass it on to the round that asked. Raises `ActivityError`."""
        async with self._one_at_a_time:
            refused = await self._commands.refusal("respond", request, workers.may_respond)
            if refused:
                return refused
            taken = await _admit(self._keeper.todo, None, None, request.additional_evidence)
            answered: list[FollowUpAnswer] = []

            def act(todo: Todo, request: Respond, now: datetime) -> Outcome:
                asked = todo.question.round if todo.question else 0
                brought = (*todo.evidence, *taken.evidence)
                answered[:] = [FollowUpAnswer(round=asked, answer=request.answer, evidence=brought)]
                return workers.respond(todo, request, taken.evidence, now)

            answer = await self._commands.settle("respond", request, act)
            if not answer.refused:
                await self._rounds.answer(answered[0])
            return answer.model_copy(update={"evidence": {piece.label: piece.id for piece in taken.evidence}})

    async def _freeze(self) -> tuple[str, Frozen]:
        """The base as it was frozen when the todo started, and the work as it is now, for the order as it is now."""
        while True:
            todo = self._keeper.todo
            base = todo.base or (await _freeze_base(todo)).model_dump_json()
            frozen = await _freeze(todo, FrozenBase.model_validate_json(base))
            if self._keeper.todo.order_digest == todo.order_digest:
                return base, frozen

    async def _not_frozen(self, command: str, request: Start | MakeClaim, error: ActivityError) -> Answer:
        why = domain_error(error)
        if not isinstance(why, WorkspaceRefused):
            raise error
        refusal = Refusal(code="workspace_refused", reason=why.reason, next_step=why.next_step)
        return await self._commands.refuse(command, request, refusal)


async def _freeze_base(todo: Todo) -> FrozenBase:
    return await workflow.execute_activity_method(
        SnapshotActivities.freeze_base,
        freeze_input(round_of(todo, todo.next_attempt)),
        summary="freeze the base",
        **options.freeze(todo.host),
    )


async def _freeze(todo: Todo, base: FrozenBase) -> Frozen:
    return await workflow.execute_activity_method(
        SnapshotActivities.freeze,
        freeze_input(round_of(todo, todo.next_attempt), base.rest),
        summary=f"freeze {todo.order.workspace}",
        **options.freeze(todo.host),
    )


async def _admit(
    todo: Todo, frozen: Frozen | None, claim: Claim | None, evidence: tuple[ClaimedEvidence, ...]
) -> AdmitResult:
    request = AdmitInput(
        session=todo.session,
        todo=todo.id,
        attempt=todo.round or todo.next_attempt,
        head=frozen.head if frozen else "",
        base=frozen.base if frozen else "",
        claim=claim,
        evidence=evidence,
    )
    summary = "admit a claim" if claim else f"admit {len(evidence)} pieces of evidence"
    return await workflow.execute_activity_method(ClaimActivities.admit, request, summary=summary, **options.ADMIT)
