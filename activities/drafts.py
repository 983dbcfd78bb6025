"""Stores what was drafted for an order, and finds it again for its next attempt. It drafts and judges nothing."""

from __future__ import annotations

import asyncio

from temporalio import activity

from activities.boundary import beating, speaks_temporal
from domain.base import canonical_json
from domain.drafts.messages import DraftAsked, DraftFound, DraftKept, DraftStored
from domain.ports import EvidenceStore
from domain.tree import Manifest


class DraftActivities:
    """Activities on drafts."""

    def __init__(self, store: EvidenceStore) -> None:
        self._store = store

    @activity.defn(name="draft.find")
    @speaks_temporal
    async def find(self, request: DraftAsked) -> DraftFound:
        """What an earlier attempt drafted, if it did, and the tree on which no check may pass."""
        async with beating():
            return await asyncio.to_thread(self._find, request)

    @activity.defn(name="draft.keep")
    @speaks_temporal
    async def keep(self, request: DraftKept) -> DraftStored:
        """Store specification and checks as blobs, and remember them for the next attempt."""
        async with beating():
            return await asyncio.to_thread(self._keep, request)

    def _find(self, request: DraftAsked) -> DraftFound:
        empty = self._store.put(Manifest.of(()).encode())
        known = self._store.recall(request.key)
        if known is None:
            return DraftFound(empty=empty)
        kept = DraftKept.model_validate_json(known)
        self._stored(kept)  # what is remembered may have outlived its blobs
        return DraftFound(empty=empty, specification=kept.specification, record=kept.record)

    def _keep(self, request: DraftKept) -> DraftStored:
        stored = self._stored(request)
        self._store.remember(request.key, request.model_dump_json().encode())
        return stored

    def _stored(self, kept: DraftKept) -> DraftStored:
        checks = [check.model_dump(mode="json") for check in kept.checks]
        return DraftStored(
            specification=self._store.put(canonical_json(kept.specification.model_dump(mode="json"))),
            checks=self._store.put(canonical_json(checks)),
        )
