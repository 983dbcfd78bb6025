"""Takes claims in, and holds them against what the harness saw. It decides nothing: a todo says what counts."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable

from temporalio import activity

from activities.boundary import beating, speaks_temporal
from domain.base import canonical_json, sha256_hex
from domain.claims.claim import ClaimedEvidence
from domain.claims.contradictions import contradictions
from domain.claims.file_form import MAX_BYTES, VERSION, ending_of
from domain.claims.minted import MintedEvidence
from domain.claims.novelty import news_of_evidence, news_of_file, news_of_tree
from domain.life import AdmitInput, AdmitResult
from domain.messages import ClaimInput, Contradictions
from domain.ports import EvidenceStore
from domain.scope import ScopeReport
from domain.tree import Entry, Manifest

LOOKED_INTO = 8 * 2**20
"""Bytes of changed files, of base and head together, that are looked into: some 5 s. Beyond, bytes count."""


class ClaimActivities:
    """Activities on claims."""

    def __init__(self, store: EvidenceStore) -> None:
        self._store = store

    @activity.defn(name="claim.admit")
    @speaks_temporal
    async def admit(self, request: AdmitInput) -> AdmitResult:
        """Store the claim and its evidence under ids of ours, and say what of them could be news."""
        async with beating() as say:
            return await asyncio.to_thread(self._admit, request, say)

    @activity.defn(name="claim.compare")
    @speaks_temporal
    async def compare(self, request: ClaimInput) -> Contradictions:
        """Where the claim says something else than was seen."""
        async with beating():
            report = await asyncio.to_thread(self._store.get, request.report)
        scope = ScopeReport.model_validate_json(report)
        found = contradictions(request.claim, request.order, request.results, scope)
        return Contradictions(found=found)

    def _admit(self, request: AdmitInput, say: Callable[[str], None]) -> AdmitResult:
        claimed = request.claim.evidence if request.claim else []
        minted = [self._mint(request, evidence) for evidence in (*claimed, *request.evidence)]
        return AdmitResult(
            claim=self._store.put(request.claim.model_dump_json().encode()) if request.claim else "",
            news=self._news(request, say) if request.head else "",
            evidence=tuple({one.id: one for one in minted}.values()),
        )

    def _mint(self, request: AdmitInput, evidence: ClaimedEvidence) -> MintedEvidence:
        digest = self._store.put(canonical_json(evidence.model_dump(mode="json")))
        bound = [request.session, request.todo, request.attempt, request.head, evidence.label, digest]
        return MintedEvidence(
            id=f"ev-{sha256_hex(canonical_json(bound))[:16]}",
            label=evidence.label,
            type=evidence.type,
            digest=digest,
            news=news_of_evidence(evidence.type, evidence.data),
        )

    def _news(self, request: AdmitInput, say: Callable[[str], None]) -> str:
        base = Manifest.decode(self._store.get(request.base)) if request.base else Manifest()
        head = Manifest.decode(self._store.get(request.head))
        files = _Files(self._store, request, say)
        news = news_of_tree(base, head, files.news_of)
        files.remember()
        return news


class _Files:
    """What files say, each looked into once for all claims of a todo.

    One memo has them all: a memo a file would wait for the disk as often as there are files.
    """

    def __init__(self, store: EvidenceStore, request: AdmitInput, say: Callable[[str], None]) -> None:
        python = list(sys.version_info[:2])  # whose syntax trees are compared
        self._key = sha256_hex(canonical_json(["news of files", VERSION, python, request.session, request.todo]))
        self._store = store
        self._say = say
        self._known: dict[str, str] = json.loads(store.recall(self._key) or b"{}")
        self._used: dict[str, str] = {}
        self._left = LOOKED_INTO

    def news_of(self, entry: Entry) -> str:
        """As `news_of_tree` asks for it. What is looked into does not depend on what is known already."""
        if entry.size > min(MAX_BYTES, self._left):
            return entry.digest
        self._left -= entry.size
        ending = ending_of(entry.path)
        name = f"{ending} {entry.digest}"
        if name not in self._used:
            self._used[name] = self._known.get(name) or self._look(ending, entry)
        return self._used[name]

    def remember(self) -> None:
        """Keep what was found for the next claim."""
        if self._used != self._known:
            self._store.remember(self._key, canonical_json(self._used))

    def _look(self, ending: str, entry: Entry) -> str:
        self._say(f"comparing {entry.path}")
        return news_of_file(ending, self._store.get(entry.digest)) or entry.digest
