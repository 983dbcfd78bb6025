"""What the payload of each event holds: field by field, for writers to keep to. Who may write it is in `event_kinds`.

A field with a default may be missing. Readers meet rows of other versions: what they read they take with `get`, and no
row is refused for its payload. Digests name blobs of the evidence store; durations are seconds unless the name says
`_ms`. Source: seed `auditor` 3.0.3, 5.3 and 6, seed `authority` 5.3, 7.1 and 8, seed `pipeline` "Events Emitted",
DESIGN 3 and 4.
"""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, model_validator

from domain.checks import Outcome
from domain.decision import RoundOutcome

_EITHER = "either what was found or the error, and never both"


class Payload(BaseModel):
    """A payload as its writer makes it: no other fields, no other types."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Nothing(Payload):
    """Everything there is to say is in the row itself."""


class Reason(Payload):
    """Why, in the words of whoever did it."""

    reason: str = ""


class SessionCreated(Payload):
    """A session as it begins. `order`: digest of its file; `timeout`: of the whole session."""

    todos: int
    timeout: float
    order: str = ""


class Paused(Reason):
    """`escalation`: the todo whose escalation paused the session, empty when a human did."""

    escalation: str = ""


class SessionTimedOut(Payload):
    """`unfinished`: the todos that now need a human."""

    timeout: float
    unfinished: list[str]


class SessionCompleted(Payload):
    """How many todos ended in each way."""

    verified: int
    failed: int
    cancelled: int


class TodoCreated(Payload):
    """A new todo. `order`: digest of what it is to be; `parent`: the todo that it is a subtask of."""

    content: str
    title: str = ""
    domain: str = ""
    order: str = ""
    parent: str = ""
    depends_on: list[str] = []
    criteria: list[str] = []


class TodoStarted(Payload):
    """`base`: the trusted tree, frozen now."""

    base: str


class EvidenceAdded(Payload):
    """Evidence by its ids, which the harness mints."""

    evidence: list[str]


class TodoClaimed(Payload):
    """A claim. `snapshot`: the tree that it is about; `claim`: all of it, as a blob; `commands`: how many were run."""

    snapshot: str
    claim: str
    explanation: str
    evidence: list[str] = []
    files_modified: list[str] = []
    commands: int = 0


class AuditStarted(Payload):
    """`attempt`: the number of the audit, from 1."""

    attempt: int


class FollowUpAsked(Payload):
    """The auditor's question; `round` of at most `of`."""

    question: str
    evidence_requested: list[str]
    reason: str
    round: int
    of: int


class FollowUpAnswered(Payload):
    """The worker's answer to the question of `round`; `evidence`: what came with it, by id."""

    answer: str
    evidence: list[str] = []
    round: int


class Blocked(Payload):
    """What the worker needs to know."""

    question: str


class Unblocked(Payload):
    """The human's answer."""

    clarification: str


class Approved(Reason):
    """`snapshot`: the tree that was approved."""

    snapshot: str


class ChangesRequested(Payload):
    """What to do otherwise; `revision`: how many times a human sent it back, this one included."""

    feedback: str
    revision: int = 0


class Escalated(Reason):
    """`trigger`: one of DESIGN 3 "Escalation triggers"."""

    trigger: str


class Failed(Payload):
    """`reasons`: codes, as `decide` gave them."""

    reasons: list[str]


class HumanOverride(Payload):
    """Who may do this: the override policy. `acknowledged`: the failed checks, by name."""

    kind: Literal["check", "verifier", "direct"]
    reason: str
    acknowledged: list[str] = []
    signature: str = ""


class Returned(Reason):
    """Given back to a worker, with more to spend."""

    attempts: int = 0
    cost_usd: float = 0.0
    worker: str = ""


class Edited(Payload):
    """`fields` that were changed, their values in the row's before and after; `version` that the edit made."""

    fields: list[str]
    version: int


class Noted(Payload):
    """A note on a todo."""

    content: str
    kind: Literal["feedback", "revision_request", "clarification"] = "feedback"


class Reordered(Payload):
    """The place in the list, from 0."""

    order_index: int


class VerificationStarted(Payload):
    """A round begins. `items`: its checks and criteria by id; `order`: digest of the order."""

    attempt: int
    items: list[str]
    order: str
    title: str
    domain: str


class SnapshotFrozen(Payload):
    """The two trees, or the reason why there are none."""

    head: str = ""
    base: str = ""
    error: str = ""

    @model_validator(mode="after")
    def _one_or_the_other(self) -> Self:
        if bool(self.head and self.base) is bool(self.error):
            raise ValueError(_EITHER)
        return self


class ScopeAssessed(Payload):
    """What became of the changes. Lists are cut, `report` names the blob with everything."""

    tree: str
    changed: int
    restored: list[str]
    dropped: int
    violations: list[str]
    changed_inputs: list[str]
    report: str


class ScopeViolationDetected(Payload):
    """Changes that the order does not let the worker make. `paths` is cut, `violations_total` is not."""

    paths: list[str]
    violations_total: int
    report: str


class ImageReady(Payload):
    """The image by name and by the engine's id, or the reason why there is none."""

    image: str = ""
    id: str = ""
    error: str = ""

    @model_validator(mode="after")
    def _one_or_the_other(self) -> Self:
        if bool(self.image and self.id) is bool(self.error):
            raise ValueError(_EITHER)
        return self


class CheckStarted(Payload):
    """`check`: a check's name or a criterion's id."""

    check: str


class CheckCompleted(Payload):
    """A result. `exit_code` is null where no command was run; `evidence`: the blob with everything that was seen."""

    check: str
    outcome: Outcome
    passed: bool
    code: str
    exit_code: int | None
    duration_ms: int
    required: bool
    evidence: str


class BaseCompared(Payload):
    """What failed, once more on the base; `outcome` and `code` are the check's after that."""

    check: str
    outcome: Outcome
    code: str
    base_outcome: Outcome
    base_code: str
    evidence: str


class SpecCreated(Payload):
    """The designer's specification, a blob."""

    spec: str
    summary: str
    criteria: int


class GeneratedTests(Payload):
    """The strategist's tests, a blob."""

    tests: str
    count: int


class CriterionAudited(Payload):
    """The auditor on one criterion."""

    criterion: str
    assessment: Literal["PASS", "FAIL", "UNPROVED"]
    confidence: float
    evidence: str


class RetryContextAssembled(Payload):
    """What the next attempt is told: the number of failures named in it, and the blob that holds it."""

    attempt_number: int
    max_attempts: int
    failures: int
    retry_context: str


class AuditCompleted(Payload):
    """The verdict. `reasons`: codes; `record` and `report`: blobs, what it was decided on and what people read."""

    result: Literal["PASS", "FAIL", "INCONCLUSIVE"]
    outcome: RoundOutcome
    criteria: list[str]
    reasons: list[str]
    trigger: str
    record: str
    report: str


class EvidencePruned(Payload):
    """How much was removed of each kind: unused and older than `cutoff`. `list` names the blob that has them all."""

    older_than_seconds: float
    cutoff: str
    blobs: int
    memos: int
    folders: int
    bytes: int
    list: str
