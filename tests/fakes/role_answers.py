"""Answers that hold up of the five roles beside the auditor, and passes of each at `Desk`: a test changes them."""

from __future__ import annotations

from typing import Any

from domain.base import canonical_json
from domain.roles.disputes import Dispute
from domain.roles.evidence import minted
from domain.roles.names import STAGES, Role, Side
from domain.roles.passes import PassInput
from domain.tree import Entry, Manifest
from tests.fakes.role_desk import DIFF, Desk

DISPUTES = (
    Dispute(criterion="prints", why=("disagreement",), required=True),
    Dispute(criterion="S-1", why=("subjective", "unsure"), required=True),
)
CRITERIA = [{"id": "S-1", "type": "subjective", "description": "it reads well"}]
SPECIFICATION: dict[str, Any] = {
    "summary": "is_prime tells primes from other numbers.",
    "requirements": [
        {"id": "R1", "text": "is_prime(n) is True for a prime"},
        {"id": "R2", "text": "the program still starts", "new": False},
    ],
    "edge_cases": ["0"],
    "criteria": [
        {"id": "AC-1", "text": "is_prime(2) returns True", "requirements": ["R1"]},
        {"id": "AC-2", "text": "python app.py ends with 0", "requirements": ["R2"]},
        {"id": "AC-3", "text": "its docstring says what a prime is", "requirements": ["R1"], "testable": False},
    ],
}
CALLS: dict[str, Any] = {
    "id": "AC-1",
    "type": "python_call",
    "params": {"module": "prime", "function": "is_prime", "cases": [{"args": [2], "returns": True}]},
}
STARTS: dict[str, Any] = {"id": "AC-2", "type": "command_exit_zero", "params": {"command": "python app.py"}}
PLAN: dict[str, Any] = {"checks": [CALLS, STARTS], "untestable": []}
OPINION: dict[str, Any] = {
    "verdict": "changes_requested",
    "confidence": 0.5,
    "reasons": [],
    "evidence_citations": [],
    "assessments": [
        {"criterion": "S-1", "assessment": "UNPROVED", "confidence": 0.4, "reason": "who could tell", "quotes": []}
    ],
}
CALLED: dict[Role, str] = {
    **{"designer": "specification", "strategist": "test_plan", "advocate": "case", "critic": "case"},
    "judge": "judgement",
}
"""What each calls to answer."""


def blob(desk: Desk, value: Any) -> str:
    """The digest of a stored answer."""
    return desk.store.put(canonical_json(value))


def base_of(desk: Desk, *paths: str) -> str:
    """A stored tree with these files."""
    digest = desk.store.put(b"print('no')\n")
    return desk.store.put(Manifest.of(Entry(path=path, kind="file", size=12, digest=digest) for path in paths).encode())


def diff_id(request: PassInput) -> str:
    """The id of the diff, which everybody but the drafting roles is shown."""
    given = request.round
    return minted(given.session, given.todo, given.attempt, request.scope.tree, "the diff", request.scope.diff)


def pass_of(desk: Desk, role: Role, **more: Any) -> PassInput:
    """A pass of one of the five, with all that it wants to know."""
    order = {"acceptance_criteria": CRITERIA, **more.pop("order", {})}
    request = desk.pass_of(STAGES[role][-1], role=role, order=order, **more)
    if role in ("designer", "strategist"):
        base = base_of(desk, "app.py", "src/prime.py")
        scope = request.scope.model_copy(update={"tree": base, "report": "", "diff": ""})
        known: dict[str, Any] = {"scope": scope, "results": (), "specification": blob(desk, SPECIFICATION)}
        return request.model_copy(update={**known, **more})
    known = {"disputes": DISPUTES, "opinion": blob(desk, OPINION)}
    request = request.model_copy(update={**known, **more})
    if role != "judge" or request.cases:
        return request
    sides: tuple[Side, ...] = ("critic", "advocate")
    cases = [{"side": side, "said": blob(desk, case(request, f"as the {side} sees it"))} for side in sides]
    return PassInput.model_validate({**request.model_dump(), "cases": cases})


def quote(request: PassInput, words: str = "+print('yes')") -> dict[str, str]:
    """Words of the diff."""
    assert words in DIFF
    return {"evidence_id": diff_id(request), "quote": words}


def case(request: PassInput, words: str = "It is so.") -> dict[str, Any]:
    """A case on what is disputed."""
    said = {"argument": words, "objections": "none", "quotes": [quote(request)]}
    return {"arguments": [{"criterion": one.criterion, **said} for one in DISPUTES]}


def judgement(request: PassInput, verdict: str = "PASS") -> dict[str, Any]:
    """A judgement on what is disputed."""
    said = {"verdict": verdict, "confidence": 0.8, "reasoning": "as observed", "quotes": [quote(request)]}
    return {"rulings": [{"criterion": one.criterion, **said} for one in DISPUTES]}


def answer_of(role: Role, request: PassInput) -> dict[str, Any]:
    """What holds up."""
    drafted = {"designer": SPECIFICATION, "strategist": PLAN}
    if role in drafted:
        return drafted[role]
    return judgement(request) if role == "judge" else case(request)
