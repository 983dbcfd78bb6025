"""Brings planned todos to a session, new or not: the plan travels as a blob, the workflow gets its digest.

What a plan may hold was looked at where it was read (`adapters/config`), and is again by the session.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from adapters.config.agent_todo import plan_for_agent
from adapters.config.defaults import load_policy
from adapters.config.session_file import LoadedSession
from adapters.config.session_todos import Joining
from adapters.config.settings import Settings, refuse_authority_within
from adapters.config.signers import load_signers
from adapters.config.todo_file import plan_for_person
from domain.events import Actor
from domain.life import PlannedTodo, SessionInput
from domain.lifecycle import PARTIES
from domain.order import Order
from domain.planning import SessionPlan, Template, todos_blob
from domain.ports import EvidenceStore
from domain.requests import Refusal
from domain.session import Session
from domain.todo import workflow_id_of
from entrypoints.lives import Lives, not_there
from entrypoints.names import host_id
from entrypoints.rounds import variables_of


def new_session(
    loaded: LoadedSession, store: EvidenceStore, store_id: str, actor: Actor, settings: Settings
) -> SessionInput:
    """The session of a file as its workflow is started with it; what is large is stored.

    Who may sign by `settings` now may in this session, whoever is added later. Raises `Unavailable`, `Malformed`.
    """
    signers = load_signers(settings)
    now = datetime.now(UTC)
    opened = Session(
        id=loaded.id,
        host=host_id(),
        store=store_id,
        order=store.put(loaded.plan.blob),
        created_by=actor,
        created_at=now,
        deadline=now + timedelta(seconds=loaded.session_timeout),
        timeout=loaded.session_timeout,
        signers=store.put(signers.blob) if signers else "",
    )
    ids = tuple(todo.order.id for todo in loaded.todos)
    return SessionInput(session=opened, plan=stored(store, loaded.todos), ids=ids, actor=actor, signers=signers)


async def template_of(lives: Lives, store: EvidenceStore, session: Session, parent: str) -> Template | None:
    """What a todo below `parent` begins with, empty for none. Raises `Refused` (unknown_todo), `Unavailable`."""
    if parent and parent not in session.todos:
        raise not_there(workflow_id_of(session.id, parent))
    if parent:
        return Template.of_parent(await lives.todo(session.id, parent))
    if not session.order:
        return None
    return Template.of_session(SessionPlan.model_validate_json(store.get(session.order)))


def joining_at(session: Session, parent: str) -> Joining:
    """The place behind the last todo below `parent`."""
    taken = [entry.order_index for entry in session.todos.values() if entry.parent == parent]
    return Joining(
        parent=parent,
        order_index=max(taken, default=-1) + 1,
        taken=frozenset(session.todos),
        signable=bool(session.signers),
    )


def plan(
    text: str,
    shown: str,
    file: Path | None,
    template: Template | None,
    joining: Joining,
    actor: Actor,
    settings: Settings,
) -> tuple[PlannedTodo, ...] | Refusal:
    """What `text` describes, as far as `actor` may say it. Raises `Malformed`."""
    if PARTIES[actor.role] == "worker":
        return plan_for_agent(text, shown, template, joining)
    planned = plan_for_person(text, shown, file, template, joining, load_policy(settings, signable=joining.signable))
    for workspace in sorted({todo.order.workspace for todo in planned}):
        refuse_authority_within(settings, Path(workspace))
    return planned


def stored(store: EvidenceStore, todos: Iterable[PlannedTodo]) -> str:
    """The digest of the blob that the todos are in now. Raises `Unavailable`."""
    return store.put(todos_blob(todos))


def variables(orders: Iterable[Order]) -> tuple[str, ...]:
    """The variables that rounds and worker commands of these orders take from their worker's environment."""
    named: dict[str, None] = {}
    for order in orders:
        named |= dict.fromkeys([*variables_of(order), *(order.worker.env if order.worker else ())])
    return tuple(named)
