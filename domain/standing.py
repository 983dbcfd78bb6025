"""Who waits for whom in a session: read off its entries as they stand. It changes none; whose turn it is says `turns`.

Source: DESIGN 3 "Parents", CONTRACT "depends_on". A todo is open while it is neither verified nor cancelled, or while a
subtask of it is: what a subtask that opens again does to every ancestor follows from that alone. Of a session of very
many todos only what moved is looked at again (`standing_after`): the whole of it for each report would be most of what
a todo costs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice

from domain.session import Entry, Session
from domain.status import SessionStatus, TodoStatus
from domain.todo import Gate

ENDED = frozenset({SessionStatus.STOPPED, SessionStatus.TIMED_OUT, SessionStatus.COMPLETED})
"""Where a session has ended; from the last of them it comes back when a todo of it lives again."""

MOST_ASKED = 20
"""Of so many that hold a todo back, each may be about to report that it does not; of more, not all at once."""

MOST_NAMED = 50
"""So many of the subtasks that hold a todo back are named to it: that there are some is what counts."""

_CLOSED = frozenset({TodoStatus.VERIFIED, TodoStatus.CANCELLED})
_MOST_KNOWN = 32


@dataclass(frozen=True)
class Standing:
    """What follows from the entries, by id. `done`: verified, and every subtask with it.

    `trees`: by `tree_of`, the todos that change that workspace, in the order of the tree of todos, depth first.
    `counts`: how many stand at each status. `escalated`: those that wait for a human.
    """

    children: Mapping[str, tuple[str, ...]]
    dependants: Mapping[str, tuple[str, ...]]
    trees: Mapping[str, tuple[str, ...]]
    open: frozenset[str]
    done: frozenset[str]
    counts: Mapping[TodoStatus, int]
    escalated: frozenset[str]


class _Recent:
    """The last standing of each of some sessions, by the very entries that it was read off."""

    known: tuple[tuple[Mapping[str, Entry], Standing], ...] = ()


def standing_of(todos: Mapping[str, Entry]) -> Standing:
    """The standing of all of them, who are not changed any more."""
    return _known(todos) or _remembered(todos, _read_off(todos))


def standing_after(before: Mapping[str, Entry], after: Mapping[str, Entry], moved: Collection[str] = ()) -> Standing:
    """The standing of `after`, where none but `moved` are otherwise than in `before`: what `standing_of` says of it.

    Of `before` nothing is kept: who needs its standing asks for it first.
    """
    known = _known(before)
    if known is None or any(_place_of(before.get(todo)) != _place_of(after[todo]) for todo in moved):
        return standing_of(after)
    return _remembered(after, _moved_on(known, before, after, moved), before)


def _known(todos: Mapping[str, Entry]) -> Standing | None:
    return next((standing for entries, standing in _Recent.known if entries is todos), None)


def _remembered(todos: Mapping[str, Entry], standing: Standing, before: Mapping[str, Entry] | None = None) -> Standing:
    others = (one for one in _Recent.known if one[0] is not before and one[0] is not todos)
    _Recent.known = ((todos, standing), *islice(others, _MOST_KNOWN - 1))
    return standing


def _place_of(entry: Entry | None) -> tuple[str, tuple[str, ...], int, str] | None:
    """What of an entry says whom it waits for, and where it comes among the others."""
    return (entry.parent, entry.depends_on, entry.order_index, entry.workspace) if entry else None


def _read_off(todos: Mapping[str, Entry]) -> Standing:
    """One pass over each relation."""
    below: defaultdict[str, list[str]] = defaultdict(list)
    dependants: defaultdict[str, list[str]] = defaultdict(list)
    opened: set[str] = set()
    for entry in todos.values():
        below[entry.parent].append(entry.id)
        for needed in entry.depends_on:
            dependants[needed].append(entry.id)
        if entry.status not in _CLOSED:
            _open_upwards(todos, entry, opened)
    children = {parent: tuple(sorted(ids, key=lambda id: _place(todos[id]))) for parent, ids in below.items()}
    trees: defaultdict[str, list[str]] = defaultdict(list)
    for id in _depth_first(children):
        trees[tree_of(todos[id])].append(id)
    return Standing(
        children=children,
        dependants={needed: tuple(by) for needed, by in dependants.items()},
        trees={tree: tuple(ids) for tree, ids in trees.items()},
        open=frozenset(opened),
        done=frozenset(e.id for e in todos.values() if e.status is TodoStatus.VERIFIED and e.id not in opened),
        counts=Counter(entry.status for entry in todos.values()),
        escalated=frozenset(entry.id for entry in todos.values() if entry.escalated),
    )


def _depth_first(children: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    ahead = list(reversed(children.get("", ())))
    while ahead:
        at = ahead.pop()
        yield at
        ahead += reversed(children.get(at, ()))


def _open_upwards(todos: Mapping[str, Entry], entry: Entry | None, opened: set[str]) -> None:
    """Mark `entry` and its ancestors, up to one that was deleted: what is below that holds nobody back."""
    while entry is not None and entry.id not in opened and entry.status is not TodoStatus.CANCELLED:
        opened.add(entry.id)
        entry = todos.get(entry.parent)


def _moved_on(
    standing: Standing, before: Mapping[str, Entry], todos: Mapping[str, Entry], moved: Iterable[str]
) -> Standing:
    """The same with what has changed of those that moved."""
    changed = [todo for todo in moved if before[todo].status is not todos[todo].status]
    called = {todo for todo in moved if before[todo].escalated is not todos[todo].escalated}
    if called:
        standing = replace(standing, escalated=standing.escalated ^ called)
    if not changed:
        return standing
    counts = Counter(standing.counts)
    counts.subtract(before[todo].status for todo in changed)
    counts.update(todos[todo].status for todo in changed)
    return _with_statuses(replace(standing, counts=counts), todos, changed)


def _with_statuses(standing: Standing, todos: Mapping[str, Entry], changed: Iterable[str]) -> Standing:
    """With the statuses that have changed, and what that means to their ancestors."""
    opened, done = set(standing.open), set(standing.done)
    for todo in changed:
        at = todos.get(todo)
        while at is not None:
            was = at.id in opened
            is_open = at.status is not TodoStatus.CANCELLED and (
                at.status not in _CLOSED or any(child in opened for child in standing.children.get(at.id, ()))
            )
            (opened.add if is_open else opened.discard)(at.id)
            (done.add if at.status is TodoStatus.VERIFIED and not is_open else done.discard)(at.id)
            at = todos.get(at.parent) if is_open is not was else None
    if opened == standing.open and done == standing.done:
        return standing
    return replace(standing, open=frozenset(opened), done=frozenset(done))


def tree_of(entry: Entry) -> str:
    """What of a workspace's kind it changes; a todo without one is alone in its own."""
    return entry.workspace or f"\0{entry.id}"


def _place(entry: Entry) -> tuple[int, str]:
    return entry.order_index, entry.id


def waits_for(entry: Entry, standing: Standing) -> tuple[str, ...]:
    """The dependencies that are not done."""
    return tuple(needed for needed in entry.depends_on if needed not in standing.done)


def open_children(entry: Entry, standing: Standing) -> tuple[str, ...]:
    """The first `MOST_NAMED` subtasks that are open, in their order."""
    still = (child for child in standing.children.get(entry.id, ()) if child in standing.open)
    return tuple(islice(still, MOST_NAMED))


def holding(session: Session, todo: str) -> frozenset[str]:
    """The todos whose next report may open that todo's gate: what it waits for, and open subtasks, all the way down.

    None where nobody holds it back, and where more than `MOST_ASKED` do.
    """
    standing, entry = standing_of(session.todos), session.todos.get(todo)
    found: set[str] = set()
    ahead = [*waits_for(entry, standing), *open_children(entry, standing)] if entry else []
    while ahead and len(found) <= MOST_ASKED:
        at = ahead.pop()
        if at in session.todos and at not in found:
            found.add(at)
            ahead += open_children(session.todos[at], standing)
    return frozenset(found if len(found) <= MOST_ASKED else ())


def gate_of(session: Session, todo_id: str, heard: int) -> Gate:
    """The session's next word for one todo, which takes its report number `heard` into account."""
    return _gate(session, standing_of(session.todos), todo_id, heard)


def said(session: Session, todos: Iterable[str], asked: Collection[str] = ()) -> tuple[Session, dict[str, Gate]]:
    """The next words for several todos, and the session that has said them; those in `asked` shall answer."""
    standing = standing_of(session.todos)
    gates = {todo: _gate(session, standing, todo, session.todos[todo].report) for todo in todos}
    gates = {todo: gate.model_copy(update={"asks": todo in asked}) for todo, gate in gates.items()}
    told = {todo: session.todos[todo].model_copy(update={"gate": gate.number}) for todo, gate in gates.items()}
    todos = {**session.todos, **told}
    standing_after(session.todos, todos)
    return session.model_copy(update={"todos": todos}), gates


def _gate(session: Session, standing: Standing, todo: str, heard: int) -> Gate:
    entry = session.todos[todo]
    return Gate(
        number=entry.gate + 1,
        heard=heard,
        status=session.status,
        waits_for=waits_for(entry, standing),
        open_children=open_children(entry, standing),
        turn=entry.turn,
        dependency_reopened=entry.reopened,
        retired=session.retired,
    )
