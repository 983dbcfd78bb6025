"""What a run of pytest is held against, from the stored trees: tests that the worker did not write, what changed.

It parses trusted files only, and runs nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from adapters.checkers.facts import lost_examples
from domain.base import sha256_hex
from domain.command_criteria import CommandParams
from domain.mutation.edits import edited
from domain.mutation.literals import constraints
from domain.mutation.stops import stops
from domain.ports import CheckContext, EvidenceStore
from domain.suite.control import Change, edits_of
from domain.suite.functions import Function, functions_in, is_test_file
from domain.suite.runs import Found, Run, file_of
from domain.tree import Entry, Manifest, changes

WATCHED = 8000
"""Files that a recorder compares: what it is told has to fit the 2 MiB that a program can be started with."""

CHANGED = 8000
"""Literals that are changed in one control, for the same reason."""


class Plan:
    """The trees of one check. `tests`: the files of tests that the tree has as the base does, by path.

    `lost`: the base's examples for doctest that the tree has no more.

    Raises `Unavailable` where a blob is missing.
    """

    def __init__(self, store: EvidenceStore, context: CheckContext) -> None:
        self._store = store
        tree = Manifest.decode(store.get(context.tree))
        self.base = Manifest.decode(store.get(context.base)) if context.base else None
        self.changed = frozenset(change.path for change in changes(self.base, tree)) if self.base else frozenset()
        self.lost = lost_examples(store, context)
        trusted = frozenset(json.loads(store.get(context.trusted))) if context.trusted else None
        self.tests: Mapping[str, Entry] = {
            entry.path: entry
            for entry in tree.entries
            if entry.kind == "file"
            and entry.path not in self.changed
            and (entry.path in trusted if trusted is not None else is_test_file(entry.path, Found()))
        }

    def functions(self, run: Run | None) -> tuple[Function, ...]:
        """Those of the trusted files whose tests the base could not collect; of all where its pytest did not end."""
        found = run.found[0] if run and run.found else Found()
        broken = tuple(run.uncollected) if run else ("",)
        paths = [
            path
            for path in self.tests
            if is_test_file(path, found)
            and any(name in ("", ".", path) or path.startswith(f"{name}/") for name in broken)
        ]
        return tuple(f for path in paths for f in functions_in(path, self._source(path), found))

    def changes(self, run: Run | None, functions: Iterable[Function], seed: int, params: CommandParams) -> list[Change]:
        """What can be changed in the trusted files that have expected tests; where nothing can, a failure is put in.

        Parameters stay as they are where the command names tests by them: their ids would change.
        """
        ids = [*(run.tests if run else ()), *(function.id for function in functions)]
        files = dict.fromkeys(file_of(name) for name in ids)
        taken = {path: self._source(path) for path in files if path in self.tests and path.endswith(".py")}
        found = [
            Change(
                function=f"{path}::{c.function}",
                item=c.item,
                items=c.items,
                edit=c.edit,
                decisive=c.decisive,
                shown=c.shown,
            )
            for path, source in taken.items()
            for c in constraints(source, seed)
        ]
        found = [change for change in found if change.item is None or "[" not in params.command]
        measured = {change.function for change in found}
        found += [
            Change(function=name, item=None, edit=stop.edit, decisive=True, stop=True)
            for path, source in taken.items()
            for stop in stops(source, seed, late=True)
            if (name := f"{path}::{stop.function}") not in measured
        ]
        return found[:CHANGED]

    def digests(self, changes: Iterable[Change] = ()) -> dict[str, str]:
        """The digests of the trusted files, once the changes are made: of Python first, where there are many."""
        edits = edits_of(changes)
        watched = sorted(self.tests, key=lambda path: (path not in edits, not path.endswith(".py"), path))[:WATCHED]
        return {
            path: sha256_hex(edited(self._source(path), edits[path])) if path in edits else self.tests[path].digest
            for path in watched
        }

    def _source(self, path: str) -> bytes:
        return self._store.get(self.tests[path].digest)
