"""`countersign todo list` and `todo show`: what agents poll. Only the trail's lists, store and ledger are read."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from pydantic import JsonValue
from rich.text import Text

from domain.base import Message
from domain.brief import criteria_of
from domain.event_kinds import HUMAN
from domain.events import RowFilter
from domain.feedback import RetryContext
from domain.order import Order
from domain.read_model import TodoView
from domain.status import TodoStatus
from entrypoints.cli import asking, common, costs
from entrypoints.cli.asking import Json, SessionName, TodoName
from entrypoints.cli.costs import cost_of
from entrypoints.cli.keeping import keep_up
from entrypoints.cli.tree import MARKS, UNFINISHED, duration, line, nested, one_line
from entrypoints.clocks import halts_in
from entrypoints.fix_loops import LOOP_ROWS, fix_loop_of, fix_loops_in
from entrypoints.standings import Standing, clock_runs, in_tree_order, time_left

DONE = frozenset({TodoStatus.VERIFIED, TodoStatus.CANCELLED})


class Told(Message):
    """What a worker is told of its todo beside where it stands: the criteria, and what the last attempt came to."""

    criteria: tuple[dict[str, JsonValue], ...] = ()
    retry_context: dict[str, JsonValue] | None = None


def list_todos(session: SessionName, as_json: Json = False) -> None:
    """List a session's todos, each below its parent.

    Example: countersign todo list release-7 --json
    """
    trail = common.open_trail()
    view = asking.find_session(session, trail)
    keep_up()
    state = trail.state(session)
    loops = fix_loops_in(trail, state.todos, state.rounds)
    standing = Standing(view, state.todos, datetime.now(UTC), halts=halts_in(session, trail), loops=loops)
    if as_json:
        common.emit_json(nested(standing)["todos"])
        return
    for depth, todo in in_tree_order(standing.todos):
        common.stdout.print(line(todo, standing, depth))


def show(todo: TodoName, as_json: Json = False) -> None:
    """Show what a todo asks for and where it stands: what an agent polls, with --json.

    Example: countersign todo show release-7/wo-login --json
    """
    view = asking.find_todo(todo)
    keep_up()
    if as_json:
        common.emit_json(facts_of(view))
    else:
        show_todo(view)


def facts_of(view: TodoView) -> dict[str, Any]:
    """A todo as JSON has it. `retry_context` is the whole of it, and no digest."""
    told = _told(view)
    return {
        "name": f"{view.session}/{view.todo}",
        **view.model_dump(mode="json"),
        "time_left": time_left(view, datetime.now(UTC), halts_in(view.session, common.open_trail())),
        "criteria": told.criteria,
        "retry_context": told.retry_context,
        "last_act": _last_act(view),
        "fix_loop": _fix_loop(view),
        "cost": cost_of(view).model_dump(mode="json"),
    }


def show_todo(view: TodoView) -> None:
    """A todo as people read it."""
    told = _told(view)
    mark, style = MARKS[view.status]
    console = common.stdout
    console.print(Text(f"{mark} {common.visible(f'{view.session}/{view.todo}')}", style), Text(view.status, style))
    halts = halts_in(view.session, common.open_trail())
    act = _last_act(view)
    left = duration(time_left(view, datetime.now(UTC), halts))
    facts = {
        "review": view.review_status,
        "repair": _fix_loop(view),
        "version": str(view.version),
        "attempt": str(view.attempt),
        "audits": f"{view.audits} of {view.audit_cap}",
        "revisions": f"{view.revisions} of {view.revision_cap}",
        "time left": (left if clock_runs(view, halts) else f"{left}, standing still")
        if view.status in UNFINISHED
        else "",
        "parent": view.parent,
        "depends on": ", ".join(view.depends_on),
        "trigger": view.trigger,
        "question": view.question,
        "flag": view.flag,
        "cost": costs.told(cost_of(view)),
        "last act": f"{act['action']} by {act['actor']}, established: {act['established'] or 'unknown'}" if act else "",
        "feedback": view.feedback,
        "why": "\n".join(view.reasons),
        "evidence": ", ".join(view.evidence),
        "snapshot": view.snapshot,
    }
    for name, value in facts.items():
        if value:
            console.print(Text(f"{name:10}", "bold"), Text(common.visible(value)))
    console.print()
    console.print(Text(common.visible(view.content or view.title)))
    _show_told(told, again=view.status not in DONE)


def _show_told(told: Told, *, again: bool) -> None:
    console = common.stdout
    if told.criteria:
        console.print(Text("\ncriteria", "bold"))
    for criterion in told.criteria:
        text = f"  {criterion.get('id')}  {criterion.get('type')}  {criterion.get('description') or ''}"
        console.print(Text(common.visible(text.rstrip())))
    if told.retry_context is None or not again:
        return
    context = RetryContext.model_validate(told.retry_context)
    console.print(Text("\nthe last attempt", "bold"))
    if context.human_feedback:
        console.print(Text(common.visible(f"  a human said: {context.human_feedback}")))
    for path in context.restored_paths:
        console.print(Text(common.visible(f"  restored from the base: {path}")))
    for failure in context.specific_failures:
        console.print(Text(common.visible(f"  - {one_line(failure, 300)}")))
    for said in (context.verifier_feedback or "").splitlines():
        console.print(Text(common.visible(f"  {one_line(said, 300)}")))
    for name, output in context.outputs.items():
        lines = common.visible(output).strip().splitlines()
        console.print(Text(f"\n  {common.visible(name)} printed", "bold"))
        console.print(Text("\n".join(f"    {each}" for each in lines)))


def _fix_loop(view: TodoView) -> str:
    """How far its fix loop is, if one runs."""
    if view.status is not TodoStatus.CLAIMED:
        return ""
    return fix_loop_of(
        view, common.open_trail().rows(RowFilter(session=view.session, todo=view.todo, actions=LOOP_ROWS))
    )


def _last_act(view: TodoView) -> dict[str, str] | None:
    """What a person did last with the todo, who it was and how that was established; None where nobody has."""
    rows = common.open_trail().rows(RowFilter(session=view.session, todo=view.todo, roles=HUMAN))
    found = None
    for row in rows:
        if row.action not in ("refused", "verification_started"):
            found = row
    if found is None:
        return None
    established = str(found.payload.get("established", ""))
    return {"action": found.action, "actor": str(found.actor), "established": established}


def _told(view: TodoView) -> Told:
    """Nothing for a round that stood alone: no order of it is stored under the digest that the list would have."""
    if not view.order_digest:
        return Told()
    store = common.open_evidence()
    order = Order.model_validate_json(store.get(view.order_digest))
    context = json.loads(store.get(view.retry_context)) if view.retry_context else None
    return Told(criteria=criteria_of(order), retry_context=context)
