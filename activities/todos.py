"""Plans todos, starts their workflows, and brings them their session's word. It decides nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable

from pydantic import TypeAdapter, ValidationError
from temporalio import activity

from activities.boundary import beating, speaks_temporal
from activities.packing import packed
from domain.base import canonical_json
from domain.errors import Cause, Unavailable
from domain.life import (
    PART_TODOS,
    PlanInput,
    Planned,
    PlannedTodo,
    StartedTodos,
    StartTodosInput,
    TellInput,
    TodoInput,
)
from domain.lifecycle import PARTIES
from domain.planning import SessionPlan
from domain.ports import EvidenceStore, Todos
from domain.safeguards import Clock
from domain.session import Entry
from domain.terms import terms_of
from domain.todo import Gate, Todo

AT_ONCE = 32
"""Calls to the server that are under way together."""

MOST_BYTES = 1_000_000
"""Of one order as JSON: with what comes to it in a todo's life it stays below what the server takes in a message."""

_PLAN: TypeAdapter[tuple[PlannedTodo, ...]] = TypeAdapter(tuple[PlannedTodo, ...])


class TodoActivities:
    """Activities on the todos of a session."""

    def __init__(self, store: EvidenceStore, todos: Todos) -> None:
        self._store = store
        self._todos = todos

    @activity.defn(name="todos.plan")
    @speaks_temporal
    async def plan(self, request: PlanInput) -> Planned:
        """What the session has to know of the plan; the plan in parts, and every order, become blobs."""
        async with beating():
            return await asyncio.to_thread(self._plan, request)

    @activity.defn(name="todos.start")
    @speaks_temporal
    async def start(self, request: StartTodosInput) -> StartedTodos:
        """Start the workflows; those that are there already are left as they are."""
        async with beating():
            return await self._start(request)

    @activity.defn(name="todos.tell")
    @speaks_temporal
    async def tell(self, request: TellInput) -> None:
        """Bring each todo its gate; one that has heard a later word takes no notice."""
        async with beating():
            await self._tell(request)

    async def _start(self, request: StartTodosInput) -> StartedTodos:
        planned = await asyncio.to_thread(_read, self._store, request.plan)
        inputs = [_todo(request, one) for one in planned if one.order.id in request.ids]
        began = await _together(self._todos.start(one) for one in inputs)
        started = [one.todo.id for one, new in zip(inputs, began, strict=True) if new]
        return StartedTodos(started=tuple(started))

    async def _tell(self, request: TellInput) -> None:
        await _together(self._todos.tell(request.session, todo, gate) for todo, gate in request.gates.items())

    def _plan(self, request: PlanInput) -> Planned:
        planned = [one for one in _read(self._store, request.plan) if not request.ids or one.order.id in request.ids]
        if missing := set(request.ids) - {one.order.id for one in planned}:
            raise _unreadable(f"blob {request.plan} has no todo {min(missing)!r}")
        with self._store.bulk() as bulk:
            for one in planned:
                bulk.add([_order_json(one)])
            begins = range(0, len(planned), PART_TODOS)
            parts = [bulk.add([_PLAN.dump_json(tuple(planned[at : at + PART_TODOS]))]) for at in begins]
        terms = _terms_of_defaults(self._store, request.defaults) if request.defaults else ""
        return Planned(entries=packed(_entry(one) for one in planned), parts=tuple(parts), terms=terms)


async def _together(calls: Iterable[Awaitable[bool | None]]) -> list[bool | None]:
    """All of them, a few at a time; the first that fails is raised once the others have ended."""
    free = asyncio.Semaphore(AT_ONCE)

    async def one(call: Awaitable[bool | None]) -> bool | None:
        async with free:
            return await call

    answers = await asyncio.gather(*(one(call) for call in calls), return_exceptions=True)
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
    return [answer for answer in answers if not isinstance(answer, BaseException)]


def _read(store: EvidenceStore, plan: str) -> tuple[PlannedTodo, ...]:
    try:
        return _PLAN.validate_json(store.get(plan))
    except ValidationError as error:
        raise _unreadable(f"blob {plan} is no plan of todos: {error.errors(include_url=False)[0]['msg']}") from error


def _terms_of_defaults(store: EvidenceStore, digest: str) -> str:
    try:
        plan = SessionPlan.model_validate_json(store.get(digest))
    except ValidationError as error:
        raise _unreadable(f"blob {digest} is no session's: {error.errors(include_url=False)[0]['msg']}") from error
    return terms_of(plan.defaults, frozenset(), plan.order_file, plan.floor) if plan.defaults else ""


def _unreadable(what: str) -> Unavailable:
    return Unavailable(Cause.SYSTEM_ERROR, what, "create it again, with the same version of command and worker")


def _order_json(one: PlannedTodo) -> bytes:
    """The blob whose digest is the order's. Raises `Unavailable` (system_error) for one that is too large."""
    data = canonical_json(one.order.model_dump(mode="json"))
    if len(data) > MOST_BYTES:
        what = f"the order of {one.order.id!r} has {len(data)} bytes, at most {MOST_BYTES} are taken"
        raise Unavailable(Cause.SYSTEM_ERROR, what, "move long texts and cases into files beside it")
    return data


def _entry(one: PlannedTodo) -> Entry:
    return Entry(
        id=one.order.id,
        parent=one.parent,
        depends_on=tuple(one.order.depends_on),
        order_index=one.order_index,
        workspace=one.order.workspace,
        driven=one.order.worker is not None,
        pauses=one.order.safeguards.pause_on_escalation,
        terms=terms_of(one.order, one.authored, one.order_file, one.floor),
    )


def _todo(request: StartTodosInput, one: PlannedTodo) -> TodoInput:
    return TodoInput(
        siblings=request.siblings,
        reason=request.reason,
        established=request.established,
        todo=Todo(
            session=request.session,
            id=one.order.id,
            order=one.order,
            order_digest=one.order.digest,
            order_file=one.order_file,
            host=request.host,
            store=request.store,
            created_by=request.actor,
            authored=one.authored,
            content_authored=PARTIES[request.actor.role] == "worker",
            floor=one.floor,
            authority=one.authority,
            parent=one.parent,
            order_index=one.order_index,
            clock=Clock(limit=one.order.safeguards.todo_timeout),
            gate=request.gates.get(one.order.id, Gate()),
            worker=one.order.worker,
            signers=request.signers,
            beside=one.beside,
        ),
    )
