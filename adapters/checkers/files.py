"""Checks criteria about files on the trusted tree as it is stored; nothing of the worker's runs, nothing is executed.

Codes: `ok`, `not_found`, `is_directory`, `file_too_large`, `no_match`, `search_failed`, `verification_timeout`.
"""

from __future__ import annotations

import asyncio
import time

from pydantic import JsonValue

from adapters.checkers.facts import seen
from adapters.checkers.search import Found, SearchFailed, search
from domain.checks import Item, Outcome
from domain.criteria import FileContains, FileExists
from domain.ports import CheckContext, EvidenceStore, Finding
from domain.tree import Entry, Manifest

LARGEST = 64 * 1024**2  # bytes of a file that is searched


class FileExistsChecker:
    """A path is there; a directory counts, and a link that leads to something inside the tree."""

    type = "file_exists"

    def __init__(self, store: EvidenceStore) -> None:
        self._store = store

    async def check(self, item: Item, context: CheckContext) -> Finding:
        """Whether the path is in the tree. Raises `Unavailable` (store_unavailable)."""
        criterion = item.criterion
        assert isinstance(criterion, FileExists)
        path = criterion.params.path
        there = await asyncio.to_thread(_lookup, self._store, context.tree, path)
        facts = seen(item, context, entry=_facts(there))
        if there is None:
            return _finding(Outcome.FAILED, "not_found", f"{path} is not in the tree", facts)
        if isinstance(there, Entry):
            return _finding(Outcome.PASSED, "ok", f"{path} is there, {there.size} bytes", facts)
        return _finding(Outcome.PASSED, "ok", f"{path} is there, a directory", facts)


class FileContainsChecker:
    """A file's text has a match of a pattern; what is not UTF-8 is replaced, not refused."""

    type = "file_contains"

    def __init__(self, store: EvidenceStore) -> None:
        self._store = store

    async def check(self, item: Item, context: CheckContext) -> Finding:
        """Whether the file has a match, within the criterion's limit. Raises `Unavailable` (store_unavailable)."""
        criterion = item.criterion
        assert isinstance(criterion, FileContains)
        path, pattern = criterion.params.path, criterion.params.pattern
        there = await asyncio.to_thread(_lookup, self._store, context.tree, path)
        facts = seen(item, context, entry=_facts(there))
        if there is None:
            return _finding(Outcome.FAILED, "not_found", f"{path} is not in the tree", facts)
        if not isinstance(there, Entry):
            return _finding(Outcome.FAILED, "is_directory", f"{path} is a directory, so it has no text", facts)
        if there.size > LARGEST:
            text = f"{path} has {there.size} bytes, more than the {LARGEST} that are searched"
            return _finding(Outcome.FAILED, "file_too_large", text, facts)
        data = await asyncio.to_thread(self._store.get, there.digest)
        started = time.monotonic()
        try:
            match = await search(pattern, data, criterion.timeout)
        except TimeoutError:
            text = f"still searching {path} for {pattern!r:.300} after {criterion.timeout:g} s"
            return _finding(Outcome.FAILED, "verification_timeout", text, facts, started)
        except SearchFailed as error:
            text = f"searching {path} for {pattern!r:.300} ended without an answer: {error}"
            return _finding(Outcome.FAILED, "search_failed", text, facts, started)
        facts = {**facts, "match": match.model_dump(mode="json") if match else None}
        return _matched(path, pattern, match, facts, started)


def _matched(path: str, pattern: str, match: Found | None, facts: dict[str, JsonValue], started: float) -> Finding:
    if match is None:
        return _finding(Outcome.FAILED, "no_match", f"{path} has no match of {pattern!r:.300}", facts, started)
    return _finding(Outcome.PASSED, "ok", f"{path}:{match.line}: {match.text!r}", facts, started)


def _finding(
    outcome: Outcome, code: str, text: str, facts: dict[str, JsonValue], started: float | None = None
) -> Finding:
    duration = 0 if started is None else int((time.monotonic() - started) * 1000)
    return Finding(outcome=outcome, code=code, text=text, duration_ms=duration, out_of_process=True, seen=facts)


def _facts(there: Entry | str | None) -> dict[str, JsonValue] | None:
    """What a path led to, as plain data: where links ended, the size and the content's digest."""
    if there is None:
        return None
    if isinstance(there, Entry):
        return {"kind": "file", "path": there.path, "size": there.size, "digest": there.digest}
    return {"kind": "directory"}


def _lookup(store: EvidenceStore, tree: str, path: str) -> Entry | str | None:
    return Manifest.decode(store.get(tree)).resolve(path)
