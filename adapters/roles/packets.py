"""Loads what a pass is shown from the evidence store: the packet of its stage, and what joins it in later passes.

What a stage may be shown is `domain.roles.packet`'s to say. Source: seed `auditor` 3.4, DESIGN 8.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from adapters.roles.earlier import Said, told
from domain.base import canonical_json, sha256_hex
from domain.checks import CheckResult
from domain.claims.claim import Claim, ClaimedEvidence
from domain.claims.minted import MintedEvidence
from domain.life import FollowUpAnswer
from domain.ports import EvidenceStore
from domain.roles import pieces
from domain.roles.opinion import FirstLook
from domain.roles.packet import Asserted, Observed, Packet, Piece, blind_packet, changes_text, informed_packet
from domain.roles.passes import PassInput
from domain.scope import ScopeReport


def load_packet(store: EvidenceStore, request: PassInput, earlier: tuple[Said, ...] = ()) -> Packet:
    """What the pass is shown, and may cite; a blind one is shown nothing of `earlier` attempts.

    Raises `Unavailable` (store_unavailable) for a blob that is not there.
    """
    blind = blind_packet(request.round.todo, request.round.order, _observed(store, request))
    if request.stage == "blind":
        return blind
    look = FirstLook.model_validate_json(store.get(request.first_look)) if request.first_look else None
    return informed_packet(
        blind,
        _asserted(store, request),
        request.round.attempt,
        request.contradictions,
        look,
        list(told(store, earlier)),
    )


def ran_pieces(store: EvidenceStore, request: PassInput) -> dict[str, tuple[Piece, ...]]:
    """What came of each check that the pass before asked for, by its call's id. Raises `Unavailable`."""
    size = pieces.room(2 * len(request.ran))
    return {each.call: _of_result(store, request, each.result, size) for each in request.ran}


def answer_pieces(store: EvidenceStore, request: PassInput, answer: FollowUpAnswer) -> tuple[Piece, ...]:
    """An answer of the worker's, or that there was none, then the evidence that came with it. Raises `Unavailable`."""
    text = "nobody answered in time" if answer.answer is None else answer.answer
    said = pieces.said_piece(_origin(request), "answer", f"the answer to question {answer.round}", text)
    return (said, *_brought(store, answer.evidence, pieces.room(len(answer.evidence))))


def _origin(request: PassInput) -> pieces.Origin:
    given = request.round
    return pieces.Origin(given.session, given.todo, given.attempt, request.scope.tree, request.frozen.head)


def _observed(store: EvidenceStore, request: PassInput) -> Observed:
    origin, scope = _origin(request), request.scope
    report = ScopeReport.model_validate_json(store.get(scope.report))
    diff = store.get(scope.diff).decode(errors="replace")
    size = pieces.room(2 * len(request.results))
    results = [piece for result in request.results for piece in _of_result(store, request, result, size)]
    changes = pieces.changes_piece(origin, scope.report, changes_text(report))
    return Observed(
        tree=scope.tree, report=report, diff=pieces.diff_piece(origin, scope.diff, diff), others=(changes, *results)
    )


def _of_result(store: EvidenceStore, request: PassInput, result: CheckResult, size: int) -> tuple[Piece, ...]:
    """With whole outputs from the evidence: what travelled with the result is only their end."""
    printed: dict[str, str] = {}
    if result.evidence:
        finding = json.loads(store.get(result.evidence))["finding"]
        printed = {name: finding[name] for name in ("stdout", "stderr")}
    return pieces.result_pieces(_origin(request), result, printed, size)


def _asserted(store: EvidenceStore, request: PassInput) -> Asserted:
    answers = tuple(piece for one in request.answers for piece in answer_pieces(store, request, one))
    claim = request.round.claim
    if claim is None:
        return Asserted(answers=answers)
    # What was brought before the claim is evidence for it, too; a round of its own has what the claim says alone.
    brought = request.round.brought
    origin, size = _origin(request), pieces.room(len(brought or claim.evidence) + 2 * len(claim.commands_run))
    return Asserted(
        explanation=pieces.said_piece(origin, "explanation", "the worker's explanation", claim.explanation),
        evidence=tuple(_brought(store, brought, size) if brought else _of_evidence(origin, claim, size)),
        commands=tuple(
            pieces.command_piece(origin, place, log, size) for place, log in enumerate(claim.commands_run, start=1)
        ),
        answers=answers,
        claimed_files=tuple(claim.files_modified),
    )


def _brought(store: EvidenceStore, evidence: Iterable[MintedEvidence], size: int) -> Iterator[Piece]:
    for one in evidence:
        yield pieces.evidence_piece(one.id, ClaimedEvidence.model_validate_json(store.get(one.digest)), size)


def _of_evidence(origin: pieces.Origin, claim: Claim, size: int) -> Iterator[Piece]:
    for evidence in claim.evidence:
        digest = sha256_hex(canonical_json(evidence.model_dump(mode="json")))
        yield pieces.evidence_piece(origin.claimed_id(evidence.label, digest), evidence, size)
