"""A session as the trail's lists have it at one moment, and what follows: whether it goes on without a human. Pure.

`domain.standing` knows more, and asks the session's own entries; what is said here is for those who only watch.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from domain.events import Action, TrailRow
from domain.read_model import RoundView, SessionView, TodoView
from domain.session import Session
from domain.status import RoundStatus, SessionStatus, TodoStatus

WAITS_FOR_A_HUMAN = frozenset({TodoStatus.NEEDS_HUMAN, TodoStatus.BLOCKED, TodoStatus.FAILED})
"""Where nothing but a human moves a todo."""

OVER = frozenset({SessionStatus.COMPLETED, SessionStatus.STOPPED, SessionStatus.TIMED_OUT})
_TO_DO = frozenset({TodoStatus.PENDING, TodoStatus.IN_PROGRESS})
_CLOCK_RUNS = frozenset({TodoStatus.IN_PROGRESS, TodoStatus.CLAIMED})

HALTS: tuple[Action, ...] = ("paused", "resumed", "stopped", "session_timed_out", "session_completed")
"""The events by which a session comes to stand still, or goes on."""

Halts = tuple[tuple[datetime, datetime | None], ...]
"""From when to when a session stood still; None: it still does."""


@dataclass(frozen=True)
class Standing:
    """A session at `now`: `nodes` says of claimed todos what of their round runs, `halts` when it stood still.

    `loops`: how far the fix loops of claimed todos are (`entrypoints.fix_loops`).
    """

    session: SessionView
    todos: tuple[TodoView, ...]
    now: datetime
    rounds: tuple[RoundView, ...] = ()
    nodes: Mapping[str, str] = field(default_factory=dict)
    halts: Halts = ()
    loops: Mapping[str, str] = field(default_factory=dict)

    @property
    def running_rounds(self) -> tuple[RoundView, ...]:
        """The rounds that judge the claims there are now; those of a fix loop have higher numbers than the claim's."""
        claimed = {view.todo: view.attempt for view in self.todos if view.status is TodoStatus.CLAIMED}
        running = (one for one in self.rounds if one.status is RoundStatus.RUNNING and one.todo in claimed)
        return tuple(one for one in running if one.attempt >= claimed[one.todo])


def in_tree_order(todos: Iterable[TodoView]) -> Iterator[tuple[int, TodoView]]:
    """Each todo after its parent, siblings by their place, with how deep it is."""
    listed = tuple(todos)
    known = {view.todo for view in listed}
    below: defaultdict[str, list[TodoView]] = defaultdict(list)
    for view in listed:
        below[view.parent if view.parent in known else ""].append(view)
    for siblings in below.values():
        siblings.sort(key=lambda view: (view.order_index, view.created_at, view.todo), reverse=True)
    waiting = [(0, view) for view in below[""]]
    while waiting:
        depth, view = waiting.pop()
        yield depth, view
        waiting += [(depth + 1, child) for child in below[view.todo]]


def halts_of(rows: Iterable[TrailRow]) -> Halts:
    """When a session stood still, by its own rows with the events `HALTS`, in their order."""
    found: list[tuple[datetime, datetime | None]] = []
    for row in rows:
        goes_on = row.after.get("status") == SessionStatus.RUNNING
        stands = bool(found) and found[-1][1] is None
        if stands and goes_on:
            found[-1] = (found[-1][0], row.timestamp)
        elif not stands and not goes_on:
            found.append((row.timestamp, None))
    return tuple(found)


def clock_runs(view: TodoView, halts: Halts = ()) -> bool:
    """Whether the todo's time gets less."""
    return view.status in _CLOCK_RUNS and not (halts and halts[-1][1] is None)


def time_left(view: TodoView, now: datetime, halts: Halts = ()) -> float:
    """Seconds that the todo has left; they do not get less while its clock stands still.

    `halts` of its session: its last row knows nothing of those that began or ended since.
    """
    since = view.updated_at
    stood = sum(max(0.0, (min(end or now, now) - max(begin, since)).total_seconds()) for begin, end in halts)
    if view.deadline is not None:
        left = (view.deadline - now).total_seconds() + stood
    elif halts and view.status in _CLOCK_RUNS:  # its last row is of a time when the session stood still
        left = view.time_left - (now - since).total_seconds() + stood
    else:
        left = view.time_left
    return round(max(0.0, left), 1)


def goes_on(standing: Standing) -> bool:
    """Whether something can still come of the session without a human, a running worker command left aside."""
    if standing.session.status in OVER:
        return False
    if standing.session.status is SessionStatus.PAUSED:
        return bool(standing.running_rounds)
    held = _held(standing.todos)
    return any(
        view.status is TodoStatus.CLAIMED or (view.status in _TO_DO and view.todo not in held)
        for view in standing.todos
    )


def _held(todos: Iterable[TodoView]) -> frozenset[str]:
    """The todos that cannot be done before a human has acted: those that wait, and who waits for them."""
    listed = tuple(todos)
    parents = {view.todo: view.parent for view in listed}
    dependants: defaultdict[str, list[str]] = defaultdict(list)
    for view in listed:
        for needed in view.depends_on:
            dependants[needed].append(view.todo)
    held: set[str] = set()
    deleted = {view.todo for view in listed if view.status is TodoStatus.CANCELLED}
    following = [view.todo for view in listed if view.status in WAITS_FOR_A_HUMAN]
    for todo in sorted(deleted):  # holds up who depends on it, and no parent
        following += dependants[todo]
    while following:
        todo = following.pop()
        if todo in held or todo in deleted:
            continue
        held.add(todo)
        following += [*dependants[todo], *([parents[todo]] if parents.get(todo) else [])]
    return frozenset(held)


def at_rest(session: Session, standing: Standing) -> bool:
    """Whether the session's own word is that all has been heard and nothing of it runs."""
    seen = {view.todo: view.status for view in standing.todos}
    known = {entry.id: entry.status for entry in session.todos.values()}
    return (
        known == seen
        and session.status is standing.session.status
        and not any(entry.busy for entry in session.todos.values())
    )
