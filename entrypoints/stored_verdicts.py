"""Finds the verdicts that are stored of a claim: of the same order, the same trees and the same words of its worker.

It looks at no model, image or version: a verdict stands for those that it was made with. It runs no check.
"""

from __future__ import annotations

import posixpath

from adapters.config.dataset_file import LoadedClaim
from adapters.config.settings import Settings
from adapters.masking.known import masker_of
from adapters.snapshot.found import SnapshotLimits
from adapters.snapshot.snapshots import FileSnapshots
from domain.checks import items_of
from domain.criteria import GitCommitExists
from domain.decision import RoundOutcome
from domain.errors import Cause, Unavailable, WorkspaceRefused
from domain.events import RowFilter, TrailRow
from domain.messages import FreezeInput, Frozen, RoundRecord
from domain.ports import EvidenceStore, Trail
from domain.report import Report
from entrypoints.exporting import record_of
from entrypoints.names import LOCAL_SESSION

OF_THE_TREES = (Cause.BASE_UNREADABLE, Cause.WORKSPACE_UNREADABLE, Cause.ORDER_FILES_UNUSABLE)
"""Why trees cannot be taken for reasons of their own: a round would not have decided on them either."""


class StoredVerdicts:
    """The decided rounds of the trail, by claim. What could not be told is no verdict."""

    def __init__(self, settings: Settings, trail: Trail, store: EvidenceStore) -> None:
        self._trail = trail
        self._store = store
        limits = SnapshotLimits(
            max_files=settings.max_files,
            max_file_bytes=settings.max_file_bytes,
            max_total_bytes=settings.max_total_bytes,
        )
        self._snapshots = FileSnapshots(store, limits, masker_of(settings))

    def reports(self, claim: LoadedClaim, most: int) -> list[Report]:
        """At most so many, the newest, in the order in which they were made. Raises `Unavailable`."""
        wanted = RowFilter(session=LOCAL_SESSION, todo=claim.order.id, actions=("audit_completed",))
        rows = sorted(self._trail.rows(wanted), key=lambda row: row.sequence, reverse=True)
        frozen = self._frozen(claim) if rows else None
        found: list[Report] = []
        for row in rows if frozen else ():
            if len(found) < most and frozen and self._is_of(row, claim, frozen):
                found.append(Report.model_validate_json(self._store.get(str(row.payload["report"]))))
        return found[::-1]

    def _is_of(self, row: TrailRow, claim: LoadedClaim, frozen: Frozen) -> bool:
        if row.payload.get("outcome") == RoundOutcome.INCONCLUSIVE:
            return False
        record = record_of(self._store, row)
        return record is not None and (record.input.order_digest, record.input.claim, _trees(record)) == (
            claim.order.digest,
            claim.claim,
            (frozen.head, frozen.base, frozen.order_files),
        )

    def _frozen(self, claim: LoadedClaim) -> Frozen | None:
        """The trees as a round would take them now; None where it would find none that it can use."""
        order = claim.order
        assert order.base is not None, "adapters/config refuses an order without a base"
        request = FreezeInput(
            round=f"eval/{claim.label.id}",
            workspace=order.workspace,
            base=order.base,
            include=tuple(order.snapshot.include),
            commits=any(isinstance(item.criterion, GitCommitExists) for item in items_of(order)),
            secrets=tuple(order.environment.secrets),
            order_folder=posixpath.dirname(claim.order_file),
            order_files=order.files_beside,
        )
        try:
            return self._snapshots.freeze(request, lambda _: None)
        except WorkspaceRefused:
            return None
        except Unavailable as error:
            if error.cause in OF_THE_TREES:
                return None
            raise


def _trees(record: RoundRecord) -> tuple[str, str, str] | None:
    found = record.frozen
    return (found.head, found.base, found.order_files) if found else None
