"""Whether a person may ask it of the todo as it is now: the table's word, then whether they saw what is there.

Every act of people begins here. Source: DESIGN 3 "edit, reorder", issue "Human authority".
"""

from __future__ import annotations

from domain.acts.step import move
from domain.lifecycle import Command, Transition
from domain.requests import HumanRequest, Refusal
from domain.todo import Todo

OF_A_VERSION = frozenset({Command.EDIT, Command.REORDER})
"""What changes the order or its place is always made of a version, and says of which."""


def seen(todo: Todo, command: Command, request: HumanRequest) -> Transition | Refusal:
    """Where it leads, or why it is not for that person, not there, or not for a todo that they have not seen."""
    moved = move(todo, command, request.actor.role)
    if isinstance(moved, Refusal):
        return moved
    return _another_version(todo, command, request) or _another_tree(todo, request) or moved


def tree_of(todo: Todo) -> str:
    """The digest of the tree that is claimed, or was last; empty where nothing was."""
    return todo.admitted.frozen.head if todo.admitted else ""


def _another_version(todo: Todo, command: Command, request: HumanRequest) -> Refusal | None:
    said = request.expected_version
    if said is None and command in OF_A_VERSION:
        return Refusal(
            code="stale_version",
            reason=f"the todo is at version {todo.version}, and {command} does not say which one it is made of",
            next_step=f"look at it, and ask with expected_version: {command} is done to that version alone",
        )
    if said is None or said == todo.version:
        return None
    return Refusal(
        code="stale_version",
        reason=f"the todo is at version {todo.version}, and {command} was asked of version {said}",
        next_step="look at it as it is now, and ask again",
    )


def _another_tree(todo: Todo, request: HumanRequest) -> Refusal | None:
    claimed = tree_of(todo)
    if not request.snapshot or request.snapshot == claimed:
        return None
    return Refusal(
        code="stale_snapshot",
        reason=f"the tree that was looked at is {request.snapshot}, and {claimed or 'none'} is claimed",
        next_step="look at what is claimed now, and ask again",
    )
