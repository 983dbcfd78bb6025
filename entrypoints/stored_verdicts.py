"""Finds the verdicts that are stored of a claim: of the same order, the same trees and the same words of its worker.

It looks at no model, image or version: a verdict stands for those that it was made with. It runs no check.
"""

from __future__ import annotations

from adapters.config.dataset_file import LoadedClaim
from adapters.config.settings import Settings
from domain.decision import RoundOutcome
from domain.events import RowFilter, TrailRow
from domain.messages import Frozen, RoundInput
from domain.ports import EvidenceStore, Trail
from domain.remembering import same_work
from domain.report import Report
from entrypoints.exporting import record_of
from entrypoints.names import LOCAL_SESSION
from entrypoints.remembered import request_of, trees_now


class StoredVerdicts:
    """The decided rounds of the trail, by claim. What could not be told is no verdict."""

    def __init__(self, settings: Settings, trail: Trail, store: EvidenceStore) -> None:
        self._settings = settings
        self._trail = trail
        self._store = store

    def reports(self, claim: LoadedClaim, most: int) -> list[Report]:
        """At most so many, the newest, in the order in which they were made. Raises `Unavailable`."""
        wanted = RowFilter(session=LOCAL_SESSION, todo=claim.order.id, actions=("audit_completed",))
        rows = sorted(self._trail.rows(wanted), key=lambda row: row.sequence, reverse=True)
        asked = request_of(claim.order, claim.order_file, claim.claim)
        frozen = trees_now(self._settings, self._store, asked) if rows else None
        found: list[Report] = []
        for row in rows if frozen else ():
            if len(found) < most and frozen and self._is_of(row, asked, frozen):
                found.append(Report.model_validate_json(self._store.get(str(row.payload["report"]))))
        return found[::-1]

    def _is_of(self, row: TrailRow, asked: RoundInput, frozen: Frozen) -> bool:
        if row.payload.get("outcome") == RoundOutcome.INCONCLUSIVE:
            return False
        record = record_of(self._store, row)
        return record is not None and same_work(record, asked, frozen)
