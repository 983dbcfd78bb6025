"""Reads the newest round of a standalone todo, for a person's act on it. What the act comes to is the domain's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from temporalio import activity

from activities.boundary import beating, speaks_temporal
from domain.acts.standalone import ROWS, Loaded, LoadInput, Standing, loaded, no_record, unavailable_reason
from domain.errors import Cause, Malformed, Unavailable
from domain.events import RowFilter
from domain.messages import RoundRecord
from domain.ports import EvidenceStore, Trail
from domain.signatures import Signers
from domain.status import RoundStatus


class StandaloneActivities:
    """Activities on rounds that stand alone. `signers`: reads who may sign now, None where nobody can."""

    def __init__(self, trail: Trail, store: EvidenceStore, signers: Callable[[], Signers | None]) -> None:
        self._trail = trail
        self._store = store
        self._signers = signers

    @activity.defn(name="standalone.load")
    @speaks_temporal
    async def load(self, request: LoadInput) -> Loaded:
        """The newest round with the acts on it, or why no act on it is possible."""
        async with beating():
            return await asyncio.to_thread(self._load, request)

    def _load(self, request: LoadInput) -> Loaded:
        if request.store and request.store != self._trail.store_id():
            raise Unavailable(
                Cause.STORE_MISMATCH,
                "this worker reads another trail than the command does",
                "give worker and command the same state directory or database: COUNTERSIGN_STATE_DIR",
            )
        rows = tuple(self._trail.rows(RowFilter(session=request.session, todo=request.todo, actions=ROWS)))
        state = self._trail.state(request.session, request.todo)
        view = next(iter(state.todos), None)
        newest = max(state.rounds, key=lambda one: one.attempt, default=None)
        running = newest is not None and newest.status is RoundStatus.RUNNING
        why_not = unavailable_reason(view, running, rows)
        if view is None or why_not is not None:
            return Loaded(standing=Standing.of(view) if view else Standing(), why_not=why_not)
        one = next((each for each in state.rounds if each.attempt == view.attempt), None)
        if one is None or not one.record:
            return Loaded(standing=Standing.of(view), why_not=no_record(view.attempt))
        record = RoundRecord.model_validate_json(self._store.get(one.record))
        return loaded(view, record, rows, self._kept_signers())

    def _kept_signers(self) -> Signers | None:
        """Who may sign, stored as the blob that `SignatureActivities` reads. Raises `Unavailable`."""
        try:
            signers = self._signers()
        except Malformed as error:
            what = f"cannot tell who may sign: {error.problems[0]}"
            raise Unavailable(Cause.SYSTEM_ERROR, what, "mend [signers], then ask again") from error
        if signers is not None:
            self._store.put(signers.blob)
        return signers
