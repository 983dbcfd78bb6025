"""A pass of the auditor as its activity is told of it, with everything that it names in a store."""

from __future__ import annotations

import json
from typing import Any

from domain.checks import CheckResult, Outcome
from domain.claims.claim import Claim
from domain.events import Actor
from domain.messages import Frozen, RoundInput, ScopeResult
from domain.order import Order
from domain.roles.passes import PassInput
from domain.scope import ScopeReport
from domain.tree import Change
from tests.fakes.evidence import MemoryStore

ATTEMPT = 8
ORDER = Order.model_validate(
    {
        "content": "Write a.py",
        "acceptance_criteria": [
            {"id": "AC-1", "type": "file_exists", "params": {"path": "a.py"}},
            {"id": "S-1", "type": "subjective", "description": "it reads well"},
        ],
    }
)
CLAIM = Claim.model_validate(
    {
        "explanation": "I wrote a.py, see [run].",
        "evidence": [{"label": "run", "type": "output", "data": "it ran"}],
        "files_modified": ["a.py"],
        "commands_run": [{"command": "pytest", "stdout": "1 passed", "exit_code": 0}],
    }
)
REPORT = ScopeReport(accepted=(Change(path="a.py", kind="added"),))


def seen(store: MemoryStore, stdout: str, stderr: str = "warned") -> str:
    """The evidence of a check that printed this."""
    return store.put(json.dumps({"finding": {"stdout": stdout, "stderr": stderr}}).encode())


def result(store: MemoryStore, stdout: str = "the whole output", outcome: Outcome = Outcome.PASSED) -> CheckResult:
    """What the order's criterion came to."""
    fields: dict[str, Any] = {"type": "file_exists", "outcome": outcome, "code": "ok", "stdout": "the end"}
    return CheckResult(id="AC-1", spelling="criterion", evidence=seen(store, stdout), **fields)


def asked(
    store: MemoryStore, claim: Claim | None = CLAIM, report: ScopeReport = REPORT, diff: str = "+x = 1\n", **more: Any
) -> PassInput:
    """An informed pass on an eighth attempt; `more` are fields of its input."""
    given = RoundInput(
        session="local",
        todo="wo-1",
        attempt=ATTEMPT,
        order=ORDER,
        order_digest=ORDER.digest,
        host="here",
        actor=Actor(role="unattributed"),
        claim=claim,
    )
    stored = {"report": store.put(report.model_dump_json().encode()), "diff": store.put(diff.encode())}
    fields: dict[str, Any] = {
        "round": given,
        "frozen": Frozen(head="b" * 64, base="c" * 64, head_files=1, head_bytes=1, base_files=0, dropped=""),
        "scope": ScopeResult(tree="a" * 64, tree_bytes=1, **stored),
        "results": (result(store),),
        "stage": "informed",
        "limit": 60.0,
    }
    return PassInput(**{**fields, **more})
