"""What the payload of each event of a round holds: field by field, for writers to keep to.

As in `event_payloads`, whose rules are these, too. Source: seed `auditor` 3.0.3, seed `authority` 7.1 and 8, seed
`pipeline` "Events Emitted", DESIGN 4.
"""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from domain.checks import Outcome
from domain.decision import RoundOutcome
from domain.event_payloads import Payload
from domain.roles.names import Role, Stage
from domain.roles.results import PassOutcome

_EITHER = "either what was found or the error, and never both"


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


class DroppedPath(Payload):
    """A path of the worker's tree that did not count, and why."""

    path: str
    reason: str


class ScopeAssessed(Payload):
    """What became of the changes. Lists are cut, `report` names the blob with everything.

    `dropped` counts repositories, caches and the like, too; `dropped_paths` does not list them.
    """

    tree: str
    changed: int
    restored: list[str]
    dropped: int
    violations: list[str]
    changed_inputs: list[str]
    report: str
    dropped_paths: list[DroppedPath] = []


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
    """A result. `exit_code` is null where no command was run; `evidence`: the blob with everything that was seen.

    `outcomes`: of each run, where a failure was run again. `control`: whether the run that must fail did.
    `base_outcome`: null where the check did not have to know it.
    """

    check: str
    outcome: Outcome
    passed: bool
    code: str
    exit_code: int | None
    duration_ms: int
    required: bool
    evidence: str
    outcomes: list[Outcome] = []
    control: Literal["noticed", "missed", "not_applicable"] | None = None
    base_outcome: Outcome | None = None


class BaseCompared(Payload):
    """What failed, once more on the base; `outcome` and `code` are the check's after that."""

    check: str
    outcome: Outcome
    code: str
    base_outcome: Outcome
    base_code: str
    evidence: str


class ProbeCompleted(Payload):
    """The falsifiability probe. `tested` is null where there was nothing to try; `evidence`: the blobs of its runs."""

    how: Literal["revert", "mutate"]
    tested: bool | None
    text: str
    seed: int
    evidence: list[str]


class ClaimContradicted(Payload):
    """Both sides: what the claim says of `check`, and what the harness saw."""

    check: str
    claimed: str
    observed: str
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


class CheckRejected(Payload):
    """A drafted check that did not pass its lint. `dropped`: for good, else it went back to the strategist once."""

    criterion: str
    check: str
    code: str
    reason: str
    dropped: bool


class CriterionAudited(Payload):
    """The auditor on one criterion."""

    criterion: str
    assessment: Literal["PASS", "FAIL", "UNPROVED"]
    confidence: float
    evidence: str


class CriterionJudged(Payload):
    """The judge on one disputed criterion, once for each time that it was asked. `first`: whose argument it read first.

    `evidence` is what its first quote cites.
    """

    criterion: str
    verdict: Literal["PASS", "FAIL"]
    confidence: float
    first: Literal["advocate", "critic"]
    evidence: str


class RolePassCompleted(Payload):
    """One pass of a role, `part` of its stage from 0. `said` and `messages`: blobs, its answer and the conversation.

    `scripted`: no model answered, a file did. `requests` were sent, `remembered` are those that an earlier try had
    sent. `cost_usd` in US dollars. `prompt`, `tools`, `policy` and `packet`: digests of what the answer follows from.
    `why`: in words, where nothing was answered. `first`: whose argument a judge read first.
    """

    role: Role
    stage: Stage
    part: int
    outcome: PassOutcome
    model: str
    scripted: bool
    requests: int
    remembered: int
    input_tokens: int
    output_tokens: int
    cost_usd: float
    said: str
    messages: str
    prompt: str
    tools: str
    policy: str
    packet: str
    why: str
    first: str = ""


class ToolRefused(Payload):
    """What a role tried and may not do. `arguments` as it gave them, cut."""

    role: Role
    tool: str
    arguments: str
    code: str
    reason: str


class RetryContextAssembled(Payload):
    """What the next attempt is told: the number of failures named in it, and the blob that holds it."""

    attempt_number: int
    max_attempts: int
    failures: int
    retry_context: str


class AuditCompleted(Payload):
    """The verdict. `reasons`: codes; `record` and `report`: blobs, what it was decided on and what people read.

    `reasoning`: the judge's words on what was disputed, empty where no judge has a word.
    """

    result: Literal["PASS", "FAIL", "INCONCLUSIVE"]
    outcome: RoundOutcome
    criteria: list[str]
    reasons: list[str]
    trigger: str
    record: str
    report: str
    reasoning: str = ""
