"""Rounds that stand alone, as commands of people meet them: the view completed by its round, and who answers.

A todo of a session is asked by its workflow; a standalone round has none, and each act on it is a workflow of its own.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import TYPE_CHECKING

from domain.acts.standalone import StandaloneActInput, Standing
from domain.errors import Cause, Refused, Unavailable
from domain.messages import RoundRecord
from domain.order import Order
from domain.ports import EvidenceStore
from domain.read_model import RoundView, Table, TodoView
from domain.requests import AddNote, Answer, Approve, Override, Reject, Request
from entrypoints.names import LOCAL_SESSION

if TYPE_CHECKING:
    from entrypoints.lives import Lives

ROUNDS: tuple[Table, ...] = ("rounds",)

_INSTEAD = {
    "return": (
        "no worker waits to get it back",
        "say what is wanted with countersign reject --feedback, then change the work and run countersign verify again",
    ),
    "unblock": ("no worker has asked anything", "countersign todo note writes something down"),
    "edit": ("its order is a file", "edit the order's file, then run countersign verify again"),
    "delete": ("its record stays in the trail", "countersign reject sends it back, so that it waits no longer"),
}
_OTHERWISE = ("it has no place in a session", "countersign verify ORDER runs the next round")


def stands_alone(view: TodoView) -> bool:
    """Whether its rounds are standalone."""
    return view.session == LOCAL_SESSION


def completed(view: TodoView, rounds: Iterable[RoundView]) -> TodoView:
    """The view with the order and the tree of its round, which the list of a standalone todo does not have."""
    if not stands_alone(view):
        return view
    one = next((each for each in rounds if each.attempt == view.attempt), None)
    return view.model_copy(update={"order_digest": one.order, "snapshot": one.head}) if one else view


def order_of(view: TodoView, last: RoundView | None, store: EvidenceStore) -> Order:
    """The order that the todo has now; of a standalone one that of its round `last`. Raises `Unavailable`."""
    if stands_alone(view):
        if last is None or not last.record:
            raise Unavailable(
                Cause.STORE_UNAVAILABLE,
                f"attempt {view.attempt} of {view.session}/{view.todo} has no record",
                "run countersign verify again",
            )
        return RoundRecord.model_validate_json(store.get(last.record)).input.order
    return Order.model_validate_json(store.get(view.order_digest))


def refuse_standalone(view: TodoView, command: str) -> None:
    """Refuse what only a todo of a session takes. Raises `Refused` (stands_alone)."""
    if stands_alone(view):
        why, instead = _INSTEAD.get(command, _OTHERWISE)
        name = f"{view.session}/{view.todo}"
        raise Refused("stands_alone", f"cannot {command} {name}: it is a standalone round, and {why}", instead)


async def ask(lives: Lives, view: TodoView, command: str, request: Request, store: str) -> Answer:
    """What the todo, or the act on the standalone round, answers. `store`: the id of the trail that was read.

    Raises `Refused` for what a standalone round does not take or a todo that is not there, `Unavailable`.
    """
    if not stands_alone(view):
        return await lives.ask_todo(view.session, view.todo, command, request)
    if not isinstance(request, Approve | Override | Reject | AddNote):
        refuse_standalone(view, command)
        raise AssertionError("it was refused")
    act = StandaloneActInput(
        session=view.session,
        todo=view.todo,
        store=store,
        seen=Standing.of(view),
        request=request,
        key=uuid.uuid4().hex,
    )
    return await lives.act(act)
