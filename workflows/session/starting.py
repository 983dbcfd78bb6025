"""How a todo's workflow is started: what it is found by, its line in lists, and its turn among all others."""

from __future__ import annotations

from temporalio.common import Priority, SearchAttributePair, TypedSearchAttributes

from domain.life import TodoInput
from domain.todo import Todo
from workflows import options
from workflows.board import summary_of


def attributes_of(todo: Todo) -> TypedSearchAttributes:
    """The search attributes of a todo that begins; it keeps them up itself from then on."""
    return TypedSearchAttributes(
        [
            SearchAttributePair(options.SESSION_ATTRIBUTE, todo.session),
            SearchAttributePair(options.DOMAIN_ATTRIBUTE, todo.order.domain),
            SearchAttributePair(options.TODO_STATUS_ATTRIBUTE, todo.status),
            SearchAttributePair(options.REVIEW_ATTRIBUTE, todo.review_status),
        ]
    )


def title_of(todo: Todo) -> str:
    """What it is about, as the server takes it."""
    return summary_of(todo.order.title)


def turn_of(todo: TodoInput) -> Priority:
    """Its session's turn, for all that it does."""
    return options.priority(todo.todo.session, todos=todo.siblings)
