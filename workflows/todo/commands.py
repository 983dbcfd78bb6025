"""What is asked of a todo, settled in the order in which it comes: done or refused, and recorded. No rules here.

Source: DESIGN 2 "A message handler", DESIGN 6 "Updates carry a stable id".
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, TypeVar

from temporalio import workflow
from temporalio.exceptions import ActivityError

with workflow.unsafe.imports_passed_through():
    from activities.boundary import domain_error
    from activities.signatures import SignatureActivities
    from domain.acts.asked import changed_by, done, told_sender, unsigned
    from domain.acts.step import GATE_CODES, Declined, Outcome, Step, refused
    from domain.events import Actor
    from domain.lifecycle import Command
    from domain.requests import Answer, HumanRequest, Override, Refusal, Request
    from domain.signals import override_of, speaker_of
    from domain.signatures import SignatureCheck, SignatureInput
    from domain.signing import looked_at
    from domain.todo import Todo
    from workflows import options
    from workflows.answers import Answers, outsider
    from workflows.todo.keeper import AGAIN_SECONDS, Keeper

R = TypeVar("R", bound=Request)
H = TypeVar("H", bound=HumanRequest)
Act = Callable[[Todo, R, datetime], Outcome | Declined]
Judge = Callable[[Todo], tuple[Outcome | Declined, Request]]
"""What an act comes to, and the request as it is recorded."""


class Commands:
    """What is asked of a todo: settled under its lock, recorded where it is refused."""

    def __init__(self, keeper: Keeper, answers: dict[str, str]) -> None:
        self._keeper = keeper
        self.answers = Answers(answers)

    async def update(self, work: Callable[[], Awaitable[Answer]]) -> Answer:
        """What `Answers.once` says to the update that is being handled, once the todo has begun."""

        async def begun() -> Answer:
            await self._keeper.begun()
            return await work()

        return await self.answers.once(begun)

    async def human(self, command: str, request: H, act: Act[H]) -> Answer:
        """What a person asks, answered once the session has heard of it; tried only, where they ask for that.

        A signature is looked at before the lock, and judged inside it. Raises `ActivityError`.
        """
        told = self._keeper.tell()
        check = await self._looked_at(request)
        answer = await self._settle(
            command,
            request,
            lambda todo: done(todo, Command(command), request, act, check, workflow.now()),
            lambda asked, outcome: self._said(command, request, asked, outcome, check),
        )
        if answer.refused is None and self._keeper.tell() != told:
            await self._keeper.ask_session()
        return answer

    async def signalled(self, command: str, request: H, act: Act[H]) -> None:
        """What a person says by a signal: nobody waits for the answer, and nobody is there to ask again."""
        await self._lasting(command, lambda: self.human(command, request, act))

    async def overridden(self, inputs: tuple[Any, ...], act: Act[Override]) -> None:
        """What `temporal workflow signal --name override` sends, whatever it is: nonsense is refused, and recorded."""
        said = override_of(*inputs)
        actor = Actor(role="unattributed", identity=speaker_of(*inputs))
        if isinstance(said, Refusal):
            await self._lasting("override", lambda: self.refuse("override", Request(actor=actor), said))
            return
        sent, signed = said
        request = Override(
            actor=actor, kind=sent.kind, reason=sent.reason, acknowledged=sent.acknowledged, signed=signed
        )
        await self.signalled("override", request, act)

    async def settle(self, command: str, request: R, act: Act[R]) -> Answer:
        """Do it, or record that it was refused. Raises `ActivityError`."""
        asked = unsigned(request)
        return await self._settle(command, asked, lambda todo: (act(todo, asked, workflow.now()), asked))

    async def refusal(self, command: str, request: R, may: Callable[[Todo, R], Refusal | None]) -> Answer | None:
        """The answer where `may` says no, which is recorded; None where what is asked may be done for now."""
        asked = unsigned(request)
        answer = await self._settle(command, asked, lambda todo: (may(todo, asked) or Step(todo=todo), asked))
        return answer if answer.refused else None

    async def refuse(self, command: str, request: Request, why: Refusal) -> Answer:
        """Record that it is refused for a reason that no act knows of. Raises `ActivityError`."""
        async with self._keeper.lock:
            return await self._taken(command, unsigned(request), why)

    async def _lasting(self, command: str, work: Callable[[], Awaitable[Answer]]) -> None:
        """Do it however long its row cannot be stored, or its signature not be looked at."""
        await self._keeper.begun()
        while True:
            try:
                await work()
                return
            except ActivityError as error:
                workflow.logger.warning("%s is tried again: %s", command, domain_error(error))
            await workflow.sleep(AGAIN_SECONDS)

    async def _looked_at(self, request: HumanRequest) -> SignatureCheck | None:
        """Whose signature it has, None where that is not asked."""
        todo = self._keeper.todo
        if request.signed is None or not looked_at(todo, request):
            return None
        claimed = request.actor.identity if request.actor.role == "human" else ""
        look = SignatureInput(signed=request.signed, signers=todo.signers, at=workflow.now(), claimed=claimed)
        return await workflow.execute_activity_method(
            SignatureActivities.check, look, summary="whose signature it is", **options.SIGNATURE
        )

    async def _settle(
        self,
        command: str,
        request: Request,
        judge: Judge,
        say: Callable[[Request, Outcome | Declined], Awaitable[Answer]] | None = None,
    ) -> Answer:
        """What `judge` comes to, under the lock; `say` records it otherwise than as `_taken` does."""
        waited = False
        while True:
            async with self._keeper.lock:
                todo = self._keeper.todo
                why = outsider(todo.session, request)
                outcome, asked = (why, unsigned(request)) if why else judge(todo)
                if waited or not isinstance(outcome, Refusal) or outcome.code not in GATE_CODES:
                    return await (say(asked, outcome) if say else self._taken(command, asked, outcome))
            await self._keeper.ask_session()
            waited = True

    async def _said(
        self,
        command: str,
        request: HumanRequest,
        asked: Request,
        outcome: Outcome | Declined,
        check: SignatureCheck | None,
    ) -> Answer:
        """What a person is answered: with what changed, or would, and by whose signature. Under the lock."""
        more: dict[str, object] = {"dry_run": request.dry_run}
        if isinstance(outcome, Step):
            signer = asked.actor.identity if asked.actor.role == "human" else ""
            more |= {"changed": changed_by(outcome), "signer": signer}
        if not request.dry_run:
            answer = await self._taken(command, asked, outcome, check)
        elif isinstance(outcome, Step):
            answer = self._keeper.answer(None, outcome.todo)
        else:
            why = outcome.refusal if isinstance(outcome, Declined) else outcome
            answer = self._keeper.answer(None).model_copy(update={"refused": why})
        return answer.model_copy(update=more)

    async def _taken(
        self, command: str, request: Request, outcome: Outcome | Declined, check: SignatureCheck | None = None
    ) -> Answer:
        if isinstance(outcome, Step):
            return self._keeper.answer(await self._keeper.take(outcome))
        if isinstance(outcome, Declined):
            step, why = outcome.step, outcome.refusal
        else:
            why = outcome
            step = refused(self._keeper.todo, command, request.actor, why, request.tool_call_id)
        ref = await self._keeper.take(told_sender(step, request, check))
        return self._keeper.answer(ref).model_copy(update={"refused": why})
