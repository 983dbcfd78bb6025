"""What a person asks of a todo, done as whoever they are known to be. The rules of signatures are `signing`'s.

Source: DESIGN 5, issue "Human authority".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import TypeVar

from pydantic import JsonValue

from domain.acts.step import Declined, Event, Outcome, Step
from domain.events import Actor
from domain.lifecycle import Command
from domain.requests import Changed, HumanRequest, Refusal, Request
from domain.signatures import SignatureCheck
from domain.signing import Permit, judge, spent
from domain.todo import Todo

H = TypeVar("H", bound=HumanRequest)
R = TypeVar("R", bound=Request)
Act = Callable[[Todo, H, datetime], Outcome | Declined]


def unsigned(request: R) -> R:
    """The request as it is recorded where no signature says who asks."""
    return request.model_copy(update={"actor": unproven(request.actor)})


def unproven(actor: Actor) -> Actor:
    """Who acts, unsigned: nobody is known to be a person of that name, whatever a sender says of itself."""
    return Actor(role="unattributed", identity=actor.identity) if actor.role == "human" else actor


def done(
    todo: Todo, command: Command, request: H, act: Act[H], check: SignatureCheck | None, now: datetime
) -> tuple[Outcome | Declined, H]:
    """What it comes to, and the request as it is recorded. Only where it is done the signature is used up."""
    permit = judge(todo, command, request, check, now)
    if isinstance(permit, Refusal):
        return permit, unsigned(request)
    asked = request.model_copy(update={"actor": permit.actor})
    outcome = act(todo, asked, now)
    return (_recorded(outcome, permit, now) if isinstance(outcome, Step) else outcome), asked


def changed_by(step: Step) -> dict[str, Changed]:
    """What the step's rows say that it changed, by field: as it was before the first, and is after the last.

    Of a field that has fields, those that changed: `safeguards.todo_timeout`.
    """
    before: dict[str, JsonValue] = {}
    after: dict[str, JsonValue] = {}
    for event in step.events:
        before = {**event.before, **before}
        after |= event.after
    return dict(_differences({name: before.get(name) for name in after}, after))


def _differences(
    before: Mapping[str, JsonValue], after: Mapping[str, JsonValue], prefix: str = ""
) -> Iterator[tuple[str, Changed]]:
    for name in dict.fromkeys((*after, *before)):
        old, new = before.get(name), after.get(name)
        if isinstance(old, dict) and isinstance(new, dict):
            yield from _differences(old, new, f"{prefix}{name}.")
        elif old != new:
            yield f"{prefix}{name}", Changed(before=old, after=new)


def told_sender(step: Step, request: Request, check: SignatureCheck | None) -> Step:
    """Return a refusal's step whose row says what else is known of the sender.

    That is whose signature it had, and by which key, also where that is not good for this; and an agent's marks.
    """
    known: dict[str, JsonValue] = {"marks": list(request.marks)}
    if check is not None:
        known |= {"signer": check.signer, "fingerprint": check.fingerprint}
    told = {name: value for name, value in known.items() if value}
    if not told or not step.events:
        return step
    last = step.events[-1]
    return step.model_copy(update={"events": (*step.events[:-1], _with(last, told))})


def _recorded(step: Step, permit: Permit, now: datetime) -> Step:
    """With how the person was established in their own row; with the signature, whose nonce is used up."""
    if permit.established is None:
        return step
    place = next((at for at, event in enumerate(step.events) if event.actor == permit.actor), None)
    if place is None:  # nothing has happened, so that nothing is used up
        return step
    more: dict[str, JsonValue] = {"established": permit.established}
    if permit.record is not None:
        more["signature"] = permit.record.model_dump(mode="json", exclude_none=True)
    events = (*step.events[:place], _with(step.events[place], more), *step.events[place + 1 :])
    return Step(todo=spent(step.todo, permit, now), events=events)


def _with(event: Event, more: Mapping[str, JsonValue]) -> Event:
    return event.model_copy(update={"payload": {**event.payload, **more}})
