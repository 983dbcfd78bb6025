"""Who waits for whom in a file of todos: refuses names of nobody, a todo's own line of descent, and circles."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping
from itertools import pairwise

from adapters.config.problems import Place
from adapters.config.yaml_document import Document
from domain.errors import Problem
from domain.fields import quoted
from domain.new_todos import cycle_of
from domain.order import Order
from domain.session import Entry

MOST_GUESSED = 1000
"""With more todos than that, nobody is asked whether another was meant: it takes too long."""

MOST_CIRCLES = 20
"""How many are told of at once."""


def problems_of_links(
    document: Document, orders: Mapping[Place, Order], parents: Mapping[Place, str], taken: Collection[str]
) -> list[Problem]:
    """What is wrong with `depends_on` of the orders, by their place in the file; `taken` are the session's other todos.

    Circles through todos of the session are not seen here: the session refuses them.
    """
    places = {order.id: place for place, order in orders.items()}
    above = {orders[place].id: parent for place, parent in parents.items() if place in orders}
    known = {*places, *taken}
    problems: list[Problem] = []
    entries: dict[str, Entry] = {}
    for place, order in orders.items():
        fine = []
        for index, needed in enumerate(order.depends_on):
            if said := _unfit(order.id, needed, known, above):
                problems.append(document.problem((*place, "depends_on", index), *said))
            elif needed in places:
                fine.append(needed)
        entries[order.id] = Entry(id=order.id, parent=parents[place], depends_on=tuple(fine))
    return [*problems, *_circles(document, entries, places, orders)]


def _unfit(todo: str, needed: str, known: Collection[str], above: Mapping[str, str]) -> tuple[str, str] | None:
    if needed not in known:
        nearest = difflib.get_close_matches(needed, known if len(known) <= MOST_GUESSED else (), n=1, cutoff=0.6)
        return (
            f"there is no todo {quoted(needed)}",
            f"did you mean {nearest[0]!r}?" if nearest else "expected the id of one",
        )
    if needed == todo:
        return "is the todo itself", "expected another todo"
    if needed in _line_of(todo, above):
        return f"{quoted(needed)} has this todo as a subtask, and waits for it", "expected a todo beside it"
    if todo in _line_of(needed, above):
        return f"{quoted(needed)} is a subtask of this todo, which waits for it anyway", "expected a todo beside it"
    return None


def _line_of(todo: str, above: Mapping[str, str]) -> Iterator[str]:
    while todo := above.get(todo, ""):
        yield todo


def _circles(
    document: Document, entries: dict[str, Entry], places: Mapping[str, Place], orders: Mapping[Place, Order]
) -> Iterator[Problem]:
    """Each circle at one dependency in it, which is then left out to find the next."""
    for _ in range(MOST_CIRCLES):
        found = cycle_of(entries, entries)
        if not found:
            return
        todo, needed = next((here, there) for here, there in pairwise(found) if there in entries[here].depends_on)
        place = places[todo]
        index = orders[place].depends_on.index(needed)
        what = f"these wait for one another: {' -> '.join(found)}"
        yield document.problem(
            (*place, "depends_on", index), what, "expected no circle; a todo also waits for its subtasks"
        )
        left = tuple(name for name in entries[todo].depends_on if name != needed)
        entries[todo] = entries[todo].model_copy(update={"depends_on": left})
