"""Gathers what is exported of a todo's attempts: from the store and the trail, never from the folder that people open.

Laid out so that `evidence/` is itself an evidence folder: `evidence/SESSION/TODO/ATTEMPT/`, `evidence/blobs/`. Beside
it `trail.jsonl` has the rows, and `export.json` says what this is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pydantic import JsonValue

from adapters.evidence.export import ABOUT
from adapters.trail.export import row_line
from domain.answers import passes_of
from domain.errors import Unavailable
from domain.events import RowFilter, TrailRow
from domain.filing import folder_of
from domain.messages import RoundRecord
from domain.references import evidence_of_rows, of_evidence, of_messages, of_record, of_rows, trees_of_rows
from domain.tree import Manifest

if TYPE_CHECKING:
    from domain.ports import EvidenceStore, Trail

FORMAT = 1


class Export:
    """What belongs to some attempts of one todo. `missing`: blobs that are named and not in the store."""

    def __init__(self, trail: Trail, store: EvidenceStore, rows: Sequence[TrailRow], *, with_trees: bool) -> None:
        self._store = store
        self._trail = trail
        self.rows = tuple(rows)
        self.attempts = sorted({row.attempt for row in rows if row.attempt})
        named = self._named(with_trees=with_trees)
        self.missing = sorted(digest for digest in named if not store.has(digest))
        self.blobs = sorted(named - set(self.missing))
        self._with_trees = with_trees

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Every file by its name, sorted. Raises `Unavailable` for a blob that is damaged."""
        first = self.rows[0]
        folder = f"evidence/{first.session}/{first.todo_id}"
        small = {"trail.jsonl": b"".join(map(row_line, self.rows)), ABOUT: self._about()}
        for row in verdicts_in(self.rows):
            attempt = {
                f"{folder}/{row.attempt}/{name}": data for name, data in attempt_folder(self._store, row).items()
            }
            small |= attempt
        blobs = {f"evidence/blobs/{digest[:2]}/{digest}": digest for digest in self.blobs}
        for name in sorted({*small, *blobs}):
            yield name, small[name] if name in small else self._store.get(blobs[name])

    def _named(self, *, with_trees: bool) -> set[str]:
        named, trees, evidence = set(of_rows(self.rows)), trees_of_rows(self.rows), set(evidence_of_rows(self.rows))
        for row in verdicts_in(self.rows):
            if (record := record_of(self._store, row)) is not None:
                named |= of_record(record)
                evidence |= {result.evidence for result in record.results if result.evidence}
                named |= self._told_by_tools(record)
        for digest in evidence:
            if self._store.has(digest):
                named |= of_evidence(self._store.get(digest))
        if with_trees:
            for digest in trees:
                if self._store.has(digest):
                    manifest = Manifest.decode(self._store.get(digest))
                    named |= {entry.digest for entry in manifest.entries if entry.digest}
        return named

    def _told_by_tools(self, record: RoundRecord) -> set[str]:
        """What roles were told by their tools, as far as the conversations are there."""
        named = (result.messages for result in passes_of(record))
        stored = [messages for messages in named if messages and self._store.has(messages)]
        return {digest for messages in stored for digest in of_messages(self._store.get(messages))}

    def _about(self) -> bytes:
        about: dict[str, JsonValue] = {
            "format": FORMAT,
            "store": self._trail.store_id(),
            "session": self.rows[0].session,
            "todo": self.rows[0].todo_id,
            "attempts": list(self.attempts),
            "rows": len(self.rows),
            "blobs": len(self.blobs),
            "missing": list(self.missing),
            "with_trees": self._with_trees,
        }
        return (json.dumps(about, indent=2) + "\n").encode()


def rows_of(trail: Trail, session: str, todo: str, attempt: int | None) -> tuple[TrailRow, ...]:
    """The rows of one attempt, or with None of all of them and of the todo itself."""
    return tuple(trail.rows(RowFilter(session=session, todo=todo, attempt=attempt)))


def verdict_of(rows: Sequence[TrailRow]) -> TrailRow | None:
    """The row of the last verdict among `rows`."""
    return next(iter(reversed(verdicts_in(rows))), None)


def record_of(store: EvidenceStore, verdict: TrailRow) -> RoundRecord | None:
    """The record that the row names; None for a row that names none, of a version that kept none.

    Raises `Unavailable` where it is missing or damaged.
    """
    digest = verdict.payload.get("record")
    return RoundRecord.model_validate_json(store.get(str(digest))) if digest else None


def attempt_folder(store: EvidenceStore, verdict: TrailRow) -> dict[str, bytes]:
    """The folder that was written for people, by name, as the store has it. Raises `Unavailable`."""
    report = store.get(str(verdict.payload.get("report")))
    record = record_of(store, verdict)
    if record is None:
        return {"verdict.json": report}
    diff = store.get(record.scope.diff).decode(errors="replace") if record.scope else ""
    return folder_of(store.get(str(verdict.payload.get("record"))), report, diff)


def edited(store: EvidenceStore, verdict: TrailRow, filed: Mapping[str, bytes]) -> Iterator[str]:
    """What the folder that people open has otherwise than it was filed; nothing when it is as it was."""
    key = (verdict.session, verdict.todo_id, verdict.attempt)
    folder = store.place_of(*key).rstrip("/")
    for name, data in filed.items():
        try:
            there = store.placed(*key, name)
        except Unavailable as error:
            yield f"{folder}/{name} cannot be read: {error.reason}"
        else:
            if there is None:
                yield f"{folder}/{name} is missing"
            elif there != data:
                yield f"{folder}/{name} is not what was filed: somebody edited it"


def verdicts_in(rows: Sequence[TrailRow]) -> list[TrailRow]:
    """The rows of verdicts among `rows`."""
    return [row for row in rows if row.action == "audit_completed"]
