"""Brings planned todos to a session, new or not: the plan travels as a blob, the workflow gets its digest.

What a plan may hold was looked at where it was read (`adapters/config`), and is again by the session.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from adapters.config.agent_todo import plan_for_agent
from adapters.config.defaults import Policies
from adapters.config.in_force import authority_of
from adapters.config.session_file import LoadedSession, bytes_of_session, load_session
from adapters.config.session_todos import Joining
from adapters.config.settings import Settings
from adapters.config.signers import load_signers
from adapters.config.todo_file import plan_for_person
from adapters.config.worker_written import refuse_authority_within
from domain.events import Actor
from domain.life import PlannedTodo, SessionInput
from domain.lifecycle import PARTIES
from domain.order import Order
from domain.planning import SessionPlan, Template, todos_blob, under
from domain.ports import EvidenceStore
from domain.requests import Refusal
from domain.session import Session
from domain.todo import workflow_id_of
from entrypoints import pinning
from entrypoints.lives import Lives, not_there
from entrypoints.names import host_id
from entrypoints.rounds import variables_of


def new_session(
    loaded: LoadedSession, store: EvidenceStore, store_id: str, actor: Actor, settings: Settings
) -> SessionInput:
    """The session of a file as its workflow is started with it; what is large is stored.

    Who may sign by `settings` now may in this session, whoever is added later. Raises `Unavailable`, `Malformed`.
    """
    signers = load_signers(settings, loaded.files)
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


@dataclass(frozen=True)
class Written:
    """What describes a todo: `text`, its name for people, and the file that it was read from with its bytes, if any."""

    text: str
    shown: str
    file: Path | None = None
    content: bytes = b""


def plan(
    written: Written, template: Template | None, joining: Joining, actor: Actor, settings: Settings
) -> tuple[PlannedTodo, ...] | Refusal:
    """What is written, as far as `actor` may say it.

    Raises `Malformed`, and `Refused` (order_changed) for a file that the worker can write and nobody trusted as it is.
    """
    if PARTIES[actor.role] == "worker":
        return plan_for_agent(written.text, written.shown, template, joining)
    file = written.file
    policies = Policies(settings, signable=joining.signable)
    policy = policies.of(file)
    planned = plan_for_person(written.text, written.shown, file, template, joining, policy)
    workspaces = sorted({Path(todo.order.workspace) for todo in planned})
    if (whole := policies.of(file, workspaces)).files != policy.files:
        planned = plan_for_person(written.text, written.shown, file, template, joining, whole)
    for workspace in workspaces:
        refuse_authority_within(settings, workspace, whole.files)
    planned = under(authority_of(settings, whole.files), planned)
    if file is None:
        return planned
    orders = [todo.order for todo in planned]
    return _pinned(planned, *pinning.admit_file(file, written.content, orders, settings, part=True))


def admitted_session(file: Path, settings: Settings) -> LoadedSession:
    """The session in `file`, with what the project asks of it, if it may decide. Otherwise as `plan`."""
    content = bytes_of_session(file)
    pinning.refuse_changed(file, content, settings)
    loaded = load_session(file, settings, content)
    pin, beside = pinning.admit_file(file, content, loaded.orders, settings)
    defaults, authority = loaded.plan.defaults, loaded.plan.authority.model_copy(update={"pin": pin})
    own = pinning.beside_for(defaults, beside) if defaults else {}
    plan = loaded.plan.model_copy(update={"beside": own, "authority": authority})
    return replace(loaded, todos=_pinned(loaded.todos, pin, beside), plan=plan)


def _pinned(todos: Iterable[PlannedTodo], pin: str, beside: Mapping[str, str]) -> tuple[PlannedTodo, ...]:
    """The todos, each with the pin of their file and those of the files beside that its order names."""
    if not pin:
        return tuple(todos)
    return tuple(
        todo.model_copy(
            update={
                "authority": todo.authority.model_copy(update={"pin": pin}),
                "beside": pinning.beside_for(todo.order, beside),
            }
        )
        for todo in todos
    )


def stored(store: EvidenceStore, todos: Iterable[PlannedTodo]) -> str:
    """The digest of the blob that the todos are in now. Raises `Unavailable`."""
    return store.put(todos_blob(todos))


def variables(orders: Iterable[Order]) -> tuple[str, ...]:
    """The variables that rounds and worker commands of these orders take from their worker's environment."""
    named: dict[str, None] = {}
    for order in orders:
        named |= dict.fromkeys([*variables_of(order), *(order.worker.env if order.worker else ())])
    return tuple(named)
