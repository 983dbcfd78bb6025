"""Which files of the tree an order's commands run as scripts that test: they are the base's, whatever the worker did.

A script is told by its name, as `domain.suite.commands` does: `verify.sh`, `scripts/check_links.py`, `e2e/run.js`. One
with another name may be the work itself, such as `python app.py`; the report says so where the work changed it, and an
order protects it if it is not.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator

from domain.checks import items_of
from domain.command_criteria import CommandExitZero, CommandOutput, CommandParams, Pytest
from domain.order import Order
from domain.suite.commands import programs_in, scripts_in


def scripts_of(order: Order) -> tuple[str, ...]:
    """Their paths in the tree, none outside of it, each once."""
    return tuple(dict.fromkeys(_scripts(order)))


def run_by_checks(order: Order, changed: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """The id of each item whose exit code counts, with a file that it runs and that is one of `changed`."""
    paths = frozenset(changed)
    found = [
        (item.id, path)
        for item in items_of(order)
        if isinstance(item.criterion, CommandExitZero | Pytest)
        for path in _paths(item.criterion.params, programs_in(item.criterion.params.command))
        if path in paths
    ]
    return tuple(dict.fromkeys(found))


def _scripts(order: Order) -> Iterator[str]:
    for item in items_of(order):
        criterion = item.criterion
        if isinstance(criterion, CommandExitZero | CommandOutput | Pytest):
            yield from _paths(criterion.params, scripts_in(criterion.params.command))


def _paths(params: CommandParams, found: Iterable[tuple[str, str]]) -> Iterator[str]:
    """As the tree has them, without what is outside of it."""
    for folder, script in found:
        path = posixpath.normpath(posixpath.join(params.cwd, folder, script))
        if not path.startswith(("/", "../")):
            yield path
