"""Todos on a Temporal server: started once, told while they are there, and a server that is gone says so."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode
from temporalio.testing import WorkflowEnvironment

from activities.packing import packed, unpacked, unpacked_all
from activities.todos import MOST_BYTES, TodoActivities
from adapters.todos.temporal import TemporalTodos
from domain.base import canonical_json
from domain.errors import Cause, Unavailable
from domain.life import PlanInput, PlannedTodo, StartTodosInput, TellInput, TodoInput
from domain.planning import todos_blob
from domain.session import Entry, Session
from domain.todo import Gate
from tests.fakes.evidence import MemoryStore
from tests.workflow.sittings import ANN, sitting, todo
from workflows.options import TODO_STATUS_ATTRIBUTE, WORKFLOWS_QUEUE
from workflows.session.starting import attributes_of, title_of, turn_of


class Noted:
    """`domain.ports.Todos` that notes what it is asked for; what is in `gone` cannot be reached."""

    def __init__(self) -> None:
        self.started: list[TodoInput] = []
        self.told: dict[str, Gate] = {}
        self.gone: set[str] = set()

    async def start(self, todo: TodoInput) -> bool:
        if todo.todo.id in self.gone:
            raise Unavailable(Cause.SERVER_UNAVAILABLE, "gone", "wait")
        self.started.append(todo)
        return len([one for one in self.started if one.todo.id == todo.todo.id]) == 1

    async def tell(self, session: str, todo: str, gate: Gate) -> None:
        if todo in self.gone:
            raise Unavailable(Cause.SERVER_UNAVAILABLE, "gone", "wait")
        for _ in range(5):
            await asyncio.sleep(0)
        self.told[f"{session}/{todo}"] = gate


class Away:
    """A client whose server does not answer."""

    def get_workflow_handle(self, id: str) -> Away:
        return self

    async def signal(self, *args: object, **options: object) -> None:
        raise RPCError("nobody answers", RPCStatusCode.UNAVAILABLE, b"")

    async def start_workflow(self, *args: object, **options: object) -> None:
        raise RPCError("nobody answers", RPCStatusCode.UNAVAILABLE, b"")


def started(store: MemoryStore, *todos: PlannedTodo) -> StartTodosInput:
    return StartTodosInput(
        session="s",
        host="here",
        store="x",
        actor=ANN,
        plan=store.put(todos_blob(todos)),
        ids=tuple(one.order.id for one in todos),
        siblings=200,
    )


async def test_a_todo_is_started_once_and_found(server: WorkflowEnvironment) -> None:
    todos = TemporalTodos(server.client, WORKFLOWS_QUEUE, attributes_of, title_of, turn_of)
    async with sitting(server, todo("a", content="write *it*")) as s:
        notes, store = Noted(), MemoryStore()
        await TodoActivities(store, notes)._start(started(store, todo("a")))
        (again,) = notes.started
        given = again.model_copy(update={"todo": again.todo.model_copy(update={"session": s.id})})
        assert given.siblings == 200
        assert await todos.start(given) is False
        described = await s.todo("a").describe()
        assert described.typed_search_attributes[TODO_STATUS_ATTRIBUTE] == "pending"
        assert await described.static_summary() == r"write \*it\*"
        assert described.raw_description.workflow_execution_info.priority.fairness_key == s.id
        await todos.tell(s.id, "a", Gate(number=9))
        await s.told("a", number=9)
        await todos.tell(s.id, "nobody", Gate(number=1))
        other = given.model_copy(update={"todo": given.todo.model_copy(update={"id": "z"})})
        assert await todos.start(other) is True
        await s.todo("z").terminate()
        assert await todos.start(other) is False, "an id is never used again"
        await todos.tell(s.id, "z", Gate(number=1))


async def test_a_server_that_is_gone_is_unavailable_and_may_be_asked_again() -> None:
    todos = TemporalTodos(cast(Client, Away()), WORKFLOWS_QUEUE, attributes_of, title_of, turn_of)
    notes = Noted()
    await TodoActivities(store := MemoryStore(), notes)._start(started(store, todo("a")))
    for call in (todos.tell("s", "a", Gate()), todos.start(notes.started[0])):
        with pytest.raises(Unavailable) as caught:
            await call
        assert caught.value.retryable


async def test_what_cannot_be_told_is_told_to_the_others_first() -> None:
    notes = Noted()
    notes.gone = {"b"}
    with pytest.raises(Unavailable):
        await TodoActivities(MemoryStore(), notes)._tell(
            TellInput(session="s", gates={one: Gate() for one in ("a", "b", "c")})
        )
    assert set(notes.told) == {"s/a", "s/c"}


def test_a_plan_becomes_entries_parts_and_orders() -> None:
    store = MemoryStore()
    many = [todo(f"t{n}", content=f"work {n}") for n in range(450)]
    planned = TodoActivities(store, Noted())._plan(PlanInput(plan=store.put(todos_blob(many))))
    entries = unpacked_all(planned.entries, Entry)
    assert [entry.id for entry in entries] == [one.order.id for one in many]
    assert len(planned.parts) == 3
    assert all(store.has(one.order.digest) for one in many)
    some = TodoActivities(store, Noted())._plan(PlanInput(plan=store.put(todos_blob(many)), ids=("t3", "t9")))
    assert [entry.id for entry in unpacked_all(some.entries, Entry)] == ["t3", "t9"]


def test_a_todo_that_is_not_in_the_plan_is_missed() -> None:
    store = MemoryStore()
    with pytest.raises(Unavailable, match="no todo 'b'"):
        TodoActivities(store, Noted())._plan(PlanInput(plan=store.put(todos_blob([todo("a")])), ids=("a", "b")))


@pytest.mark.parametrize("blob", [b"[]x", b"{}", canonical_json([{"order": {"id": 3}}])])
def test_what_is_no_plan_is_said_so(blob: bytes) -> None:
    store = MemoryStore()
    with pytest.raises(Unavailable, match="no plan of todos"):
        TodoActivities(store, Noted())._plan(PlanInput(plan=store.put(blob)))


def test_an_order_that_fits_in_no_message_is_refused_at_once() -> None:
    store = MemoryStore()
    huge = todo("a", content="x" * MOST_BYTES)
    with pytest.raises(Unavailable, match="at most"):
        TodoActivities(store, Noted())._plan(PlanInput(plan=store.put(todos_blob([huge]))))


def test_what_is_packed_comes_out_the_same() -> None:
    entry = Entry(id="a", depends_on=("b",), order_index=3)
    assert unpacked_all(packed([entry, entry]), Entry) == (entry, entry)
    assert unpacked_all(packed([]), Entry) == ()
    session = Session.model_validate(
        {
            "id": "s",
            "host": "h",
            "created_by": ANN,
            "created_at": "2026-01-15T10:05:01Z",
            "deadline": "2026-01-16T10:05:01Z",
            "todos": {"a": entry},
            "resumed_over": {"a"},
        }
    )
    assert unpacked(packed(session), Session) == session
