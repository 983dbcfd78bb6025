"""Which todos of a session a fix loop repairs now, in words. The trail is asked: no todo's row says how far it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from domain.events import Action, RowFilter, TrailRow
from domain.ports import Trail
from domain.read_model import RoundView, TodoView
from domain.status import RoundStatus, TodoStatus

LOOP_ROWS: tuple[Action, ...] = ("fix_loop_started", "fix_iteration_started", "fix_loop_ended")
MOST_ASKED = 50
"""Todos of which the rows are read at once."""


def fix_loops_in(trail: Trail, todos: Iterable[TodoView], rounds: Iterable[RoundView]) -> Mapping[str, str]:
    """Of each todo that a loop repairs: how far that is. Raises `Unavailable`.

    Only where the claim's round has decided and the todo still is claimed there is one to ask for; `rounds` may be of
    other todos, too.
    """
    decided = {(one.session, one.todo, one.attempt) for one in rounds if one.status is RoundStatus.DECIDED}
    found = {}
    asked = [view for view in todos if view.status is TodoStatus.CLAIMED and _key(view) in decided]
    for view in asked[:MOST_ASKED]:
        rows = trail.rows(RowFilter(session=view.session, todo=view.todo, actions=LOOP_ROWS))
        if said := fix_loop_of(view, rows):
            found[view.todo] = said
    return found


def fix_loop_of(view: TodoView, rows: Iterable[TrailRow]) -> str:
    """`fix loop 2 of 3`, by the loops' rows in their order; empty where none of the todo's last round runs."""
    said = ""
    for row in rows:
        if row.action == "fix_loop_started":
            mine = row.payload["attempt"] == view.attempt
            said = f"fix loop of attempt {view.attempt}" if mine else ""
        elif row.action == "fix_loop_ended":
            said = ""
        elif said:
            said = f"fix loop {row.payload['loop']} of {row.payload['of']}"
    return said if view.status is TodoStatus.CLAIMED else ""


def _key(view: TodoView) -> tuple[str, str, int]:
    return view.session, view.todo, view.attempt
