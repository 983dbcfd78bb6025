"""How a todo stands, for people: the search attributes it is found by, and the details that the Web UI shows."""

from __future__ import annotations

from temporalio import workflow
from temporalio.common import SearchAttributeUpdate

with workflow.unsafe.imports_passed_through():
    from domain.fixing import budget_of
    from domain.status import SessionStatus
    from domain.todo import Todo
    from workflows import options
    from workflows.board import SHOWN_CHARACTERS, as_text


class Board:
    """What was shown last; only what changed is sent to the server."""

    def __init__(self) -> None:
        self._shown: dict[str, str] = {}

    def show(self, todo: Todo) -> None:
        """Let it be found and read as it stands now."""
        updates = [update for update in _attributes(todo) if self._shown.get(update.key.name) != _text(update)]
        if updates:
            workflow.upsert_search_attributes(updates)
            self._shown.update({update.key.name: _text(update) for update in updates})
        workflow.set_current_details(details(todo))


def details(todo: Todo) -> str:
    """Bullets of Markdown."""
    caps = todo.caps
    used = f"audits {todo.audits} of {caps.audits}, revisions {todo.revisions} of {caps.revisions}"
    lines = [
        f"**{as_text(todo.status.replace('_', ' ').upper())}** {as_text(todo.order.title[:SHOWN_CHARACTERS])}",
        "",
        f"- review: {as_text(f'{todo.review_status} ({todo.trigger})' if todo.trigger else todo.review_status)}",
        f"- attempt {todo.attempt}: {used}",
        f"- time: {todo.clock.spent:.0f} s of {todo.clock.limit:.0f} s until it last stood still",
    ]
    if todo.repair is not None:
        lines.append(f"- {as_text(fixing(todo, todo.repair.attempt))}")
    lines += [f"- waits for {as_text(what)}" for what in waits_for(todo)]
    if todo.feedback:
        lines.append(f"- last feedback: {as_text(todo.feedback[:SHOWN_CHARACTERS])}")
    if todo.flag:
        lines.append(f"- look again: {as_text(todo.flag[:SHOWN_CHARACTERS])}")
    return "\n".join(lines)


def fixing(todo: Todo, attempt: int) -> str:
    """That its fix loop runs, by its budget before it began."""
    used, of = todo.fixing.used.loops, budget_of(todo.order, todo.fixing.granted).loops
    return f"fix loop of attempt {attempt}: {used} of {of} loops used before"


def waits_for(todo: Todo) -> list[str]:
    """What keeps the todo from going on."""
    found = []
    if todo.gate.status is not SessionStatus.RUNNING:
        found.append(f"its session, which is {todo.gate.status}")
    found += [f"{name} to be verified" for name in todo.gate.waits_for]
    found += [f"its subtask {name}" for name in todo.gate.open_children]
    if todo.question is not None:
        found.append(f"an answer: {todo.question.question[:SHOWN_CHARACTERS]}")
    if todo.retry_at is not None:
        found.append(f"another try at {todo.retry_at.isoformat(timespec='seconds')}")
    return found


def _attributes(todo: Todo) -> list[SearchAttributeUpdate[str]]:
    escalation = options.ESCALATION_ATTRIBUTE
    return [
        options.SESSION_ATTRIBUTE.value_set(todo.session),
        options.DOMAIN_ATTRIBUTE.value_set(todo.order.domain),
        options.TODO_STATUS_ATTRIBUTE.value_set(todo.status),
        options.REVIEW_ATTRIBUTE.value_set(todo.review_status),
        escalation.value_set(todo.trigger) if todo.trigger else escalation.value_unset(),
    ]


def _text(update: SearchAttributeUpdate[str]) -> str:
    return update.value or ""
