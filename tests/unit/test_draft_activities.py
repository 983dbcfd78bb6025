"""What is kept of a draft, and what the next attempt finds of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import TypeAdapter
from temporalio.testing import ActivityEnvironment

from activities.drafts import DraftActivities
from activities.todos import TodoActivities
from domain.drafts.messages import DraftAsked, DraftFound, DraftKept, DraftStored
from domain.drafts.record import DraftRecord
from domain.events import Actor
from domain.life import PlannedTodo, StartTodosInput, TodoInput
from domain.order import Order
from domain.planning import todos_blob
from domain.roles.designed import DraftedCheck, Specification
from domain.todo import Gate
from domain.tree import Manifest
from tests.fakes.evidence import MemoryStore
from workflows.todo.rounds import round_of

KEY = "a" * 64
SPEC = Specification.model_validate(
    {
        "summary": "s",
        "requirements": [{"id": "R1", "text": "r"}],
        "criteria": [{"id": "AC-1", "text": "t", "requirements": ["R1"]}],
    }
)
CHECK: DraftedCheck = TypeAdapter[DraftedCheck](DraftedCheck).validate_python(
    {"id": "AC-1", "type": "command_exit_zero", "params": {"command": "./run"}}
)


async def found(store: MemoryStore) -> DraftFound:
    result: DraftFound = await ActivityEnvironment().run(DraftActivities(store).find, DraftAsked(key=KEY))
    return result


async def test_nothing_is_found_of_a_first_attempt_but_an_empty_tree() -> None:
    store = MemoryStore()
    nothing = await found(store)
    assert (nothing.specification, nothing.record) == (None, None)
    assert Manifest.decode(store.get(nothing.empty)).entries == ()


async def test_what_was_kept_is_found_with_its_blobs() -> None:
    store = MemoryStore()
    kept = DraftKept(key=KEY, specification=SPEC, checks=(CHECK,), record=DraftRecord(criteria=(CHECK,)))
    stored: DraftStored = await ActivityEnvironment().run(DraftActivities(store).keep, kept)
    assert Specification.model_validate_json(store.get(stored.specification)) == SPEC
    assert [check["params"]["command"] for check in json.loads(store.get(stored.checks))] == ["./run"]
    store.blobs.clear()
    again = await found(store)
    assert (again.specification, again.record) == (SPEC, kept.record)
    assert store.has(stored.specification), "a memo may outlive what was swept away"
    assert store.has(stored.checks)


@pytest.mark.parametrize(("role", "agents"), [("worker", True), ("human", False)])
async def test_a_todo_knows_whether_an_agent_wrote_its_content(role: Any, agents: bool) -> None:
    store, started = MemoryStore(), list[TodoInput]()

    class Todos:
        async def start(self, todo: TodoInput) -> bool:
            started.append(todo)
            return True

        async def tell(self, session: str, todo: str, gate: Gate) -> None:
            raise AssertionError(todo)

    plan = store.put(todos_blob([PlannedTodo(order=Order(id="part", content="x", workspace="/w"))]))
    actor = Actor(role=role, identity="who")
    request = StartTodosInput(session="s", plan=plan, ids=("part",), actor=actor, host="h", store="st")
    await ActivityEnvironment().run(TodoActivities(store, Todos()).start, request)
    (one,) = started
    assert one.todo.content_authored is agents
    assert round_of(one.todo, 1).content_authored is agents
