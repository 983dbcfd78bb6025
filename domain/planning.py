"""What a session is made of before it runs: its file's shape, what is kept of it. It starts and reads nothing.

Source: CONTRACT "An order", DESIGN 3 "Parents". One todo's order is `order`'s.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from typing import Annotated

from pydantic import AfterValidator, JsonValue

from domain.authority import Authority
from domain.base import Message, Part, canonical_json, sha256_hex
from domain.fields import OrderId, Seconds, quoted, wrong
from domain.life import PlannedTodo
from domain.order import Order
from domain.policy_floor import NO_FLOOR, PolicyFloor
from domain.session import RESERVED_SESSIONS, SESSION_TIMEOUT
from domain.todo import Todo

MAX_NESTING = 10
"""Levels of todos, the first included."""

OWN_FIELDS = ("id", "depends_on", "subtasks")
"""What each todo says for itself: no default has it."""


def _not_reserved(name: str) -> str:
    if name in RESERVED_SESSIONS:
        raise wrong(f"{quoted(name)} is a name of Countersign's own", "another id")
    return name


class SessionFile(Part):
    """A session's file: `defaults` is any part of an order, each todo an order. `session_timeout` in seconds."""

    id: Annotated[OrderId, AfterValidator(_not_reserved)] = ""
    session_timeout: Seconds = SESSION_TIMEOUT
    defaults: dict[str, JsonValue] = {}
    todos: list[dict[str, JsonValue]] = []


class SessionPlan(Message):
    """What a session has beside its todos, as a blob: `domain.session.Session.order` is its digest.

    `defaults` is what a todo begins with that is created later, whole, with absolute paths: None where the file has
    none, and without a base where they name none. `order_file` is the session's file, empty for none. `authority`: what
    was in force when it was created; `beside` as in `PlannedTodo`.
    """

    session_timeout: float = SESSION_TIMEOUT
    defaults: Order | None = None
    order_file: str = ""
    floor: PolicyFloor = NO_FLOOR
    authority: Authority = Authority()
    beside: dict[str, str] = {}

    @property
    def blob(self) -> bytes:
        """What is stored of it."""
        return canonical_json(self.model_dump(mode="json"))

    @property
    def digest(self) -> str:
        """The name of its blob."""
        return sha256_hex(self.blob)


def under(authority: Authority, todos: Iterable[PlannedTodo]) -> tuple[PlannedTodo, ...]:
    """`todos` that are created while `authority` is in force."""
    return tuple(todo.model_copy(update={"authority": authority}) for todo in todos)


def todos_blob(todos: Iterable[PlannedTodo]) -> bytes:
    """The plan of `todos` as `SessionInput.plan` and `Create.orders` name it: a JSON array of `PlannedTodo`."""
    return canonical_json([todo.model_dump(mode="json") for todo in todos])


def generated_id(content: str, place: str, taken: Collection[str]) -> str:
    """An id for the todo that somebody described with `content` at `place` of a file: the same for the same file."""
    for again in range(len(taken) + 1):
        found = f"todo-{sha256_hex(json.dumps([content, place, again]).encode())[:10]}"
        if found not in taken:
            return found
    raise AssertionError("there are more ids than are taken")


class Template(Message):
    """What a todo begins with that joins a session: the order of its parent, else the session's defaults.

    `order_file`, `authored`, `floor`, `authority` and `beside` as in `PlannedTodo`; `parent` is empty for none.
    """

    order: Order
    order_file: str = ""
    authored: frozenset[str] = frozenset()
    floor: PolicyFloor = NO_FLOOR
    authority: Authority = Authority()
    parent: str = ""
    beside: dict[str, str] = {}

    @classmethod
    def of_session(cls, plan: SessionPlan) -> Template | None:
        """The session's defaults; None where it has none."""
        if plan.defaults is None:
            return None
        return cls(
            order=plan.defaults,
            order_file=plan.order_file,
            floor=plan.floor,
            authority=plan.authority,
            beside=plan.beside,
        )

    @classmethod
    def of_parent(cls, todo: Todo) -> Template:
        """The order of `todo`, which the new one is a part of."""
        return cls(
            order=todo.order,
            order_file=todo.order_file,
            authored=todo.authored,
            floor=todo.floor,
            authority=todo.authority,
            parent=todo.id,
            beside=todo.beside,
        )
