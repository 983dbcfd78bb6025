"""What a worker may ask of a todo: start, add evidence, claim, respond, block. What it may never ask has no function.

Each has a `may_`, asked before trees are frozen and blobs stored; the act itself asks it again. Source: DESIGN 3, seed
`auditor` 3 and 4.2.
"""

from __future__ import annotations

from datetime import datetime

from domain.acts.gate import children_refusal, dependencies_refusal, session_refusal
from domain.acts.standing import NO_ROUND, UNJUDGED, audit_begun, escalated
from domain.acts.step import Declined, Outcome, Step, cut, joined, move, placed, refused, stepped
from domain.claims.claim import Fault, faults
from domain.claims.minted import MintedEvidence
from domain.lifecycle import Command, Transition
from domain.messages import FrozenBase
from domain.requests import AddEvidence, Block, MakeClaim, Refusal, Respond, Start
from domain.status import TodoStatus
from domain.todo import Admitted, OpenQuestion, Todo

MOST_EVIDENCE = 200
"""Pieces of evidence beside one claim: a todo carries their digests with it."""

NO_NEWS = 2
"""Claims in a row that bring nothing new, and a human has to look."""


def may_start(todo: Todo, request: Start) -> Refusal | None:
    """Why the work may not begin. A parent may begin with subtasks open."""
    return _not_from_here(todo, Command.START, request) or dependencies_refusal(todo)


def start(todo: Todo, request: Start, base: str, now: datetime) -> Outcome:
    """The work begins, from `base`: a `FrozenBase` as JSON."""
    if why := may_start(todo, request):
        return why
    moved = _moved(todo, Command.START, request)
    frozen = FrozenBase.model_validate_json(base)
    after = placed(todo, moved, now, base=base)
    payload = {"base": frozen.manifest, "blobs": [frozen.rest]}
    return stepped(todo, after, moved.event, request.actor, payload, request.tool_call_id)


def may_add_evidence(todo: Todo, request: AddEvidence) -> Refusal | None:
    """Why no evidence is taken: there is none, or too much, or the todo is claimed and nobody asked."""
    if why := _not_from_here(todo, Command.ADD_EVIDENCE, request):
        return why
    if todo.status is TodoStatus.CLAIMED and todo.question is None:
        return Refusal(
            code="illegal_transition",
            reason="the todo is claimed, and no question is open",
            next_step="wait for the verdict: evidence can be added again when there is a question or a revision",
        )
    return _evidence_refusal(todo, len(request.evidence)) if request.evidence else _no_evidence()


def add_evidence(todo: Todo, request: AddEvidence, minted: tuple[MintedEvidence, ...], now: datetime) -> Outcome:
    """Evidence under the ids that the harness gave it; it goes with the next claim or answer."""
    if why := may_add_evidence(todo, request):
        return why
    moved = _moved(todo, Command.ADD_EVIDENCE, request)
    after = placed(todo, moved, now, evidence=(*todo.evidence, *minted))
    payload = {"evidence": _ids(minted), "blobs": _blobs(minted)}
    return stepped(todo, after, moved.event, request.actor, payload, request.tool_call_id)


def may_claim(todo: Todo, request: MakeClaim) -> Refusal | None:
    """Why a claim is not looked at: not from here, not now, not admissible as it is, or nothing to show."""
    why = _not_from_here(todo, Command.CLAIM, request) or children_refusal(todo)
    if why:
        return why
    if found := faults(request.claim):
        return _inadmissible(found)
    if not request.claim.evidence and not todo.evidence:
        return _no_evidence()
    return _evidence_refusal(todo, len(request.claim.evidence))


def claim(
    todo: Todo, request: MakeClaim, admitted: Admitted, now: datetime, base: str = ""
) -> Step | Declined | Refusal:
    """The claim is taken, and audited without anybody asking; declined where it brings nothing new.

    `base`: what was frozen now, as JSON, where nothing was at the start: a human gave back what had never begun.
    """
    if why := may_claim(todo, request):
        return why
    if not (todo.waived or _is_new(todo, admitted)):
        return _declined(todo, request, now)
    moved = _moved(todo, Command.CLAIM, request)
    everything = (*todo.evidence, *admitted.evidence)
    changes = {
        **NO_ROUND,
        **UNJUDGED,
        "base": todo.base or base,
        "claim": request.claim,
        "admitted": admitted.model_copy(update={"evidence": everything}),
        "evidence": (),
        "trees_seen": _with(todo.trees_seen, admitted.news),
        "news_seen": _with(todo.news_seen, *(piece.news for piece in everything)),
        "no_news": 0,
        "waived": False,
        "refused_drives": 0,
        "last_refusal": "",
    }
    after = placed(todo, moved, now, **changes)
    frozen = admitted.frozen
    with_it = (frozen.base, frozen.dropped, frozen.commits, frozen.order_files)
    payload = {
        "snapshot": frozen.head,
        "claim": admitted.claim,
        "explanation": cut(request.claim.explanation),
        "evidence": _ids(everything),
        "files_modified": list(request.claim.files_modified),
        "commands": len(request.claim.commands_run),
        "blobs": [*_blobs(everything), *(digest for digest in with_it if digest)],
    }
    return joined(
        stepped(todo, after, moved.event, request.actor, payload, request.tool_call_id), audit_begun(after, now)
    )


def may_respond(todo: Todo, request: Respond) -> Refusal | None:
    """Why there is nothing to answer."""
    if why := _not_from_here(todo, Command.RESPOND, request):
        return why
    if todo.question is None:
        return Refusal(
            code="nothing_asked", reason="no question is open", next_step="wait for the verdict, or for a question"
        )
    return _evidence_refusal(todo, len(request.additional_evidence))


def respond(todo: Todo, request: Respond, minted: tuple[MintedEvidence, ...], now: datetime) -> Outcome:
    """The answer, with all that was brought since the question was asked: from now on the claim's evidence, too."""
    if why := may_respond(todo, request):
        return why
    moved = _moved(todo, Command.RESPOND, request)
    assert todo.question is not None
    brought = (*todo.evidence, *minted)
    changes: dict[str, object] = {
        "question": None,
        "refused_drives": 0,
        "evidence": (),
        "news_seen": _with(todo.news_seen, *(piece.news for piece in brought)),
    }
    if todo.admitted:
        changes["admitted"] = todo.admitted.model_copy(update={"evidence": (*todo.admitted.evidence, *brought)})
    after = placed(todo, moved, now, **changes)
    payload = {
        "answer": cut(request.answer),
        "evidence": _ids(brought),
        "blobs": _blobs(brought),
        "round": todo.question.round,
    }
    return stepped(todo, after, moved.event, request.actor, payload, request.tool_call_id)


def block(todo: Todo, request: Block, now: datetime) -> Outcome:
    """The worker cannot go on before a human has answered."""
    if why := _not_from_here(todo, Command.BLOCK, request):
        return why
    if not request.question.strip():
        return Refusal(code="reason_required", reason="no question", next_step="say what you need to know")
    moved = _moved(todo, Command.BLOCK, request)
    after = placed(todo, moved, now, question=OpenQuestion(question=request.question), clarification="")
    payload = {"question": cut(request.question)}
    return stepped(todo, after, moved.event, request.actor, payload, request.tool_call_id)


_Asked = Start | AddEvidence | MakeClaim | Respond | Block


def _not_from_here(todo: Todo, command: Command, request: _Asked) -> Refusal | None:
    moved = move(todo, command, request.actor.role)
    return moved if isinstance(moved, Refusal) else session_refusal(todo)


def _moved(todo: Todo, command: Command, request: _Asked) -> Transition:
    moved = move(todo, command, request.actor.role)
    assert not isinstance(moved, Refusal)
    return moved


def _is_new(todo: Todo, admitted: Admitted) -> bool:
    """DESIGN 3 "Monotonicity": another tree, or evidence that says something else."""
    if not todo.trees_seen or admitted.news not in todo.trees_seen:
        return True
    return any(piece.news not in todo.news_seen for piece in (*todo.evidence, *admitted.evidence))


def _declined(todo: Todo, request: MakeClaim, now: datetime) -> Declined:
    last = todo.no_news + 1 >= NO_NEWS
    why = _no_news(last=last)
    counted = todo.model_copy(update={"no_news": todo.no_news + 1})
    step = refused(counted, Command.CLAIM, request.actor, why, request.tool_call_id, told=last)
    if last:
        reason = f"{NO_NEWS} claims in a row brought nothing new"
        step = joined(step, escalated(step.todo, "no_progress", reason, now, no_news=0))
    return Declined(step=step, refusal=why)


def _no_news(*, last: bool) -> Refusal:
    reason = "neither the tree nor the evidence says anything that the last claim did not"
    next_step = "change the work, or bring evidence of something else; white space, comments and times do not count"
    if last:
        reason += f", {NO_NEWS} claims in a row: the todo is escalated (no_progress)"
        next_step = "wait for a human, who decides what becomes of the todo; until then no claim of it is taken"
    return Refusal(code="no_new_evidence", reason=reason, next_step=next_step)


def _inadmissible(found: tuple[Fault, ...]) -> Refusal:
    told = [f"{'.'.join(str(part) for part in fault.at) or 'claim'} {fault.what}" for fault in found]
    expected = dict.fromkeys(f"expected {fault.expected}" for fault in found)
    return Refusal(code="inadmissible_claim", reason=cut("; ".join(told)), next_step=cut("; ".join(expected)))


def _no_evidence() -> Refusal:
    return Refusal(
        code="no_evidence",
        reason="there is no evidence",
        next_step="bring at least one piece of evidence: what was seen, run or changed",
    )


def _evidence_refusal(todo: Todo, more: int) -> Refusal | None:
    if len(todo.evidence) + more <= MOST_EVIDENCE:
        return None
    return Refusal(
        code="too_much_evidence",
        reason=f"{len(todo.evidence) + more} pieces of evidence since the last claim",
        next_step=f"at most {MOST_EVIDENCE}: put together what belongs together",
    )


def _ids(minted: tuple[MintedEvidence, ...]) -> list[str]:
    return [piece.id for piece in minted]


def _blobs(minted: tuple[MintedEvidence, ...]) -> list[str]:
    return [piece.digest for piece in minted]


def _with(seen: tuple[str, ...], *more: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*seen, *more)))
