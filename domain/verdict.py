"""What a role says, as the decision sees it. The roles' own outputs and the citation rules join it with the roles."""

from __future__ import annotations

from enum import StrEnum

from domain.base import Message


class AuditorOutcome(StrEnum):
    """The auditor's overall word. Seed `authority` 4.4: PASS, SOFT_FAIL, HARD_FAIL; seed `auditor` 3.3: blocked."""

    APPROVED = "approved"
    CHANGES_REQUESTED = "changes_requested"
    FAILED = "failed"
    BLOCKED = "blocked"
    UNAVAILABLE = "unavailable"


class Audit(Message):
    """One audit, done or attempted. `cited`: every citation names evidence that the harness minted."""

    outcome: AuditorOutcome
    cited: bool = False
    feedback: str = ""
    passed_subjective: frozenset[str] = frozenset()
