"""Whose turn it is in a session to have its worker command run: one todo a workspace. It starts none.

Source: DESIGN 3 "Pause", CONTRACT "worker".
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from domain.session import Entry, Session
from domain.standing import ENDED, Standing, open_children, standing_of, tree_of, waits_for
from domain.status import SessionStatus, TodoStatus

_WORKABLE = frozenset({TodoStatus.PENDING, TodoStatus.IN_PROGRESS})


def turns(session: Session, trees: Iterable[str] | None = None) -> frozenset[str]:
    """The todos whose worker command may run: per workspace one, the first in the tree's order that can go on.

    Who has the turn keeps it until its part is done; paused, nobody else gets one. `trees`: only these are looked at.
    """
    if not session.driving or session.status in ENDED:
        return frozenset()
    standing = standing_of(session.todos)
    looked_at = standing.trees if trees is None else trees
    return frozenset(todo for tree in looked_at for todo in _turn_in(session, standing, standing.trees[tree]))


def trees_about(todos: Mapping[str, Entry], old: Standing, new: Standing, moved: Collection[str]) -> Collection[str]:
    """The trees in which the turn may be another's, now that `moved` are not as they were: all after a new order."""
    if old.trees is not new.trees:
        return new.trees.keys()
    above = {todos[todo].parent for todo in old.open ^ new.open} - {""}
    waiting = {by for todo in old.done ^ new.done for by in new.dependants.get(todo, ())}
    return {tree_of(todos[todo]) for todo in (*moved, *above, *waiting)}


def _turn_in(session: Session, standing: Standing, ids: Iterable[str]) -> tuple[str, ...]:
    """The one of a tree, or none; `ids` in their order."""
    entries = [session.todos[id] for id in ids]
    busy = any(entry.busy for entry in entries)
    wanted = (entry for entry in entries if entry.busy or (entry.turn and not busy))
    kept = [entry.id for entry in wanted if _can_go_on(entry, standing)]
    if kept or busy or session.status is not SessionStatus.RUNNING:
        return tuple(kept[-1:])
    return tuple(next(([entry.id] for entry in entries if _can_go_on(entry, standing)), ()))


def _can_go_on(entry: Entry, standing: Standing) -> bool:
    at_work = entry.status in _WORKABLE or (entry.status is TodoStatus.CLAIMED and entry.asked)
    return entry.driven and at_work and not waits_for(entry, standing) and not open_children(entry, standing)
