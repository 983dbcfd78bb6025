"""`countersign inbox`: what waits for a human, the oldest first, with the commands that would answer it.

It reads the lists that the trail keeps, reports and the ledger, and asks no workflow: it works with no host running.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from shlex import quote
from typing import Annotated, Any

import typer

from domain.base import Message
from domain.ports import EvidenceStore
from domain.read_model import SessionView, State, TodoView
from domain.status import SessionStatus, TodoStatus
from entrypoints.cli import common
from entrypoints.cli.asking import Json, find_session
from entrypoints.cli.costs import costs_of
from entrypoints.cli.keeping import keep_up
from entrypoints.cli.overruling import Rounds, by_attempt, overruled
from entrypoints.cli.tree import one_line
from entrypoints.standings import WAITS_FOR_A_HUMAN, Standing


class Waiting(Message):
    """One thing that waits: a todo, or with an empty `todo` a session that a human paused. `next`: commands.

    `cost_usd`: what models have cost it, in US dollars.
    """

    session: str
    todo: str = ""
    since: datetime
    status: str
    why: str
    title: str = ""
    cost_usd: float = 0.0
    next: tuple[str, ...]


def inbox(
    session: Annotated[str | None, typer.Option(help="Only this session.")] = None,
    as_json: Json = False,
) -> None:
    """List what waits for a human, the oldest first, and what to do about each.

    Example: countersign inbox --session release-7
    """
    trail = common.open_trail()
    keep_up()
    if session is not None:
        find_session(session, trail)
    state = trail.state(session)
    found = with_costs(waiting(state), state)
    if as_json:
        common.emit_json(facts(found))
    else:
        tell(found)


def tell(found: Iterable[Waiting]) -> None:
    """Each in a few lines; that there is nothing, if there is nothing."""
    listed = list(found)
    for each in listed:
        name = f"{each.session}/{each.todo}" if each.todo else f"session {each.session}"
        since = f"{each.since:%Y-%m-%d %H:%M}Z"
        common.out(common.visible(f"{since}  {name}  {each.status.replace('_', ' ')}: {one_line(each.why, 300)}"))
        if each.title:
            common.out(common.visible(f"    {one_line(each.title)}"))
        if each.cost_usd:
            common.out(f"    models have cost ${each.cost_usd:.4f}")
        for command in each.next:
            common.out(common.visible(f"    {command}"))
    if not listed:
        common.out("nothing waits for a human")


def waiting(state: State) -> tuple[Waiting, ...]:
    """All that waits, the oldest first; nothing of sessions that a human has stopped."""
    stopped = {view.session for view in state.sessions if view.status is SessionStatus.STOPPED}
    waits = [view for view in state.todos if _waits(view) and view.session not in stopped]
    rounds, store = by_attempt(state.rounds), common.open_evidence()
    todos = [_todo(view, rounds, store) for view in waits]
    sessions = [
        _session(view, state)
        for view in state.sessions
        if view.status is SessionStatus.PAUSED and view.paused_for == "human"
    ]
    return tuple(sorted([*todos, *sessions], key=lambda each: (each.since, each.session, each.todo)))


def with_costs(found: Iterable[Waiting], state: State) -> tuple[Waiting, ...]:
    """The same, each with what models have cost it. Raises `Unavailable`."""
    listed = tuple(found)
    named = {(each.session, each.todo) for each in listed}
    spent = costs_of(view for view in state.todos if (view.session, view.todo) in named)
    return tuple(
        each.model_copy(update={"cost_usd": spent[each.session, each.todo].cost_usd})
        if (each.session, each.todo) in spent
        else each
        for each in listed
    )


def waiting_in(standing: Standing) -> tuple[Waiting, ...]:
    """What of one session waits."""
    return waiting(State(sessions=(standing.session,), todos=standing.todos, rounds=standing.rounds))


def _waits(view: TodoView) -> bool:
    """A round that stood alone is verified again by whoever ran it: no workflow waits."""
    managed = bool(view.order_digest)
    return managed and (
        view.status in WAITS_FOR_A_HUMAN or (bool(view.flag) and view.status is not TodoStatus.CANCELLED)
    )


def _todo(view: TodoView, rounds: Rounds, store: EvidenceStore) -> Waiting:
    why = (
        view.question
        or "; ".join(dict.fromkeys(filter(None, (view.trigger, view.flag, *view.reasons))))
        or "no reason is recorded"
    )
    return Waiting(
        session=view.session,
        todo=view.todo,
        since=view.waiting_since or view.updated_at,
        status=view.status if view.status in WAITS_FOR_A_HUMAN else "flagged",
        why=why,
        title=view.title,
        next=_next(view, rounds, store),
    )


def _session(view: SessionView, state: State) -> Waiting:
    since = max((todo.updated_at for todo in state.todos if todo.session == view.session), default=view.created_at)
    return Waiting(
        session=view.session,
        since=since,
        status="paused",
        why="a human paused it",
        next=(f"countersign session resume {quote(view.session)}",),
    )


def _next(view: TodoView, rounds: Rounds, store: EvidenceStore) -> tuple[str, ...]:
    name = quote(f"{view.session}/{view.todo}")
    look = f"countersign todo show {name}" + (f"; countersign evidence show {name}" if view.attempt else "")
    if view.status is TodoStatus.BLOCKED:
        return (look, f"countersign unblock {name} --clarification TEXT")
    if view.status not in WAITS_FOR_A_HUMAN:
        return (look, f"countersign reject {name} --feedback TEXT", f"countersign todo note {name} --text TEXT")
    back = f"countersign return {name} --reason TEXT"
    verdict = overruled(view, rounds, store)
    possible = verdict.kind is not None and verdict.allowed
    over = (f"countersign override {name} {verdict.options} --reason TEXT",) if possible else ()
    if view.status is TodoStatus.FAILED:
        return (look, back, *over, f"countersign todo delete {name}")
    approve = (f"countersign approve {name}",) if verdict.kind is None else ()
    return (look, back, *approve, *over, f"countersign reject {name} --feedback TEXT")


def facts(found: Iterable[Waiting]) -> list[dict[str, Any]]:
    """The same as JSON has it."""
    return [each.model_dump(mode="json") for each in found]
