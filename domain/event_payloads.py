"""What the payload of each event of sessions, todos and the store holds: field by field, for writers to keep to.

Who may write it is in `event_kinds`; what a round's events hold is in `round_payloads`.

A field with a default may be missing. Readers meet rows of other versions: what they read they take with `get`, and no
row is refused for its payload. Digests name blobs of the evidence store; durations are seconds unless the name says
`_ms`. Source: seed `auditor` 3.0.3, 5.3 and 6, seed `authority` 5.3, 7.1 and 8, seed `pipeline` "Events Emitted",
DESIGN 3 and 4.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from domain.actors import Established
from domain.signatures import SignatureRecord, Signers


class Payload(BaseModel):
    """A payload as its writer makes it: no other fields, no other types."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Nothing(Payload):
    """Everything there is to say is in the row itself."""


class Reason(Payload):
    """Why, in the words of whoever did it."""

    reason: str = ""


class ByPerson(Reason):
    """What a person may have done: `established` says how they were, and is not there for who is no person."""

    established: Established | None = None


class Act(ByPerson):
    """What a person did; signed, with all that it takes to check that again from the trail alone."""

    signature: SignatureRecord | None = None


class SessionCreated(Payload):
    """A session as it begins. `order`: digest of its file; `timeout`: of the whole session.

    `signers`: who may sign in it, where anybody may; as a blob the same is `signers_digest`.
    """

    todos: int
    timeout: float
    order: str = ""
    signers: Signers | None = None
    signers_digest: str = ""
    established: Established | None = None


class Paused(ByPerson):
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


class TodoCreated(ByPerson):
    """A new todo. `order`: digest of what it is to be; `parent`: the todo that it is a subtask of."""

    content: str
    title: str = ""
    domain: str = ""
    order: str = ""
    parent: str = ""
    depends_on: list[str] = []
    criteria: list[str] = []


class TodoStarted(Payload):
    """`base`: the trusted tree, frozen now. `blobs`: what else was stored with it."""

    base: str
    blobs: list[str] = []


class EvidenceAdded(Payload):
    """Evidence by its ids, which the harness mints. `blobs`: the evidence itself, in the same order."""

    evidence: list[str]
    blobs: list[str] = []


class TodoClaimed(Payload):
    """A claim. `snapshot`: the tree that it is about; `claim`: all of it, as a blob; `commands`: how many were run.

    `blobs`: its evidence and what else was frozen with it.
    """

    snapshot: str
    claim: str
    explanation: str
    evidence: list[str] = []
    files_modified: list[str] = []
    commands: int = 0
    blobs: list[str] = []


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
    """The worker's answer to the question of `round`; `evidence`: what came with it, by id, and `blobs`: as blobs."""

    answer: str
    evidence: list[str] = []
    round: int
    blobs: list[str] = []


class FollowUpExpired(Payload):
    """Nobody answered the question of `round` within `timeout` seconds: the auditor goes on with what there is."""

    round: int
    of: int
    timeout: float


class Reopened(Reason):
    """`child`: the subtask that is open, so that its parent cannot be done."""

    child: str = ""


class RefusedCommand(Payload):
    """What somebody asked for and may not do. `count`: how often by now; told at 1, 10, 100.

    `signer`: whose signature it had, where that was one; `fingerprint`: of the key, whoever's it is.
    """

    command: str
    code: str
    reason: str
    count: int = 1
    signer: str = ""
    fingerprint: str = ""
    marks: list[str] = []
    """The variables by which a sender who wanted to act as a person was found to be an agent."""


class WorkerStarted(Payload):
    """A worker command is started for the `drive`th time."""

    drive: int
    command: str


class WorkerEnded(Payload):
    """A worker command is over. `exit_code` is null where it was ended; `output` names the blob of what it printed."""

    drive: int
    exit_code: int | None
    timed_out: bool
    resumed: bool
    output: str
    isolation: str
    problems: list[str] = []


class RoundIgnored(Reason):
    """The result of a round that nobody waits for any more."""

    outcome: str


class Blocked(Payload):
    """What the worker needs to know."""

    question: str


class Unblocked(Act):
    """The human's answer."""

    clarification: str


class Approved(Act):
    """`snapshot`: the tree that was approved."""

    snapshot: str


class ChangesRequested(Act):
    """What to do otherwise; `revision`: how many times it was sent back, this one included."""

    feedback: str
    revision: int = 0


class Escalated(Reason):
    """`trigger`: one of DESIGN 3 "Escalation triggers"."""

    trigger: str


class Failed(Payload):
    """`reasons`: codes, as `decide` gave them, or the cap that was used up; `trigger` as in `Escalated`."""

    reasons: list[str]
    trigger: str = ""


class HumanOverride(Act):
    """Who may do this: the override policy. `acknowledged`: the failed checks, by name."""

    kind: Literal["check", "verifier", "direct"]
    acknowledged: list[str] = []


class Returned(Act):
    """Given back to a worker, with more to spend."""

    attempts: int = 0
    cost_usd: float = 0.0
    worker: str = ""


class Edited(Act):
    """`fields` that were changed, their values in the row's before and after; `version` that the edit made."""

    fields: list[str]
    version: int


class Noted(Act):
    """A note on a todo."""

    content: str
    kind: Literal["feedback", "revision_request", "clarification"] = "feedback"


class Reordered(Act):
    """The place in the list, from 0."""

    order_index: int


class Reminded(Payload):
    """The `number`th reminder (1 or 2) of a wait that began at `since`, to these addresses, by name."""

    number: int
    since: str
    addresses: list[str] = []


class Notified(Payload):
    """An address has taken a message about the todo. `tries`: how often it was sent for that."""

    kind: Literal["escalated", "question", "reminder", "resolved"]
    address: str
    delivery: str
    tries: int = 1


class NotificationFailed(Reason):
    """An address has not taken it for so long that it is sent no more."""

    kind: Literal["escalated", "question", "reminder", "resolved"]
    address: str
    delivery: str


class EvidencePruned(Payload):
    """How much was removed of each kind: unused and older than `cutoff`. `list` names the blob that has them all."""

    older_than_seconds: float
    cutoff: str
    blobs: int
    memos: int
    folders: int
    bytes: int
    list: str
    established: Established | None = None


class OrderTrusted(Act):
    """A file that says how work is verified, as a person pinned it, or as they took the pin back.

    `pin` is the pin's digest, `digest` that of the file's bytes, `replaces` the pin that the file had before, empty for
    none. `bases` and `workspaces` are those that its orders name, the first of them. `established`: how it was
    established that a person did it.
    """

    pin: str
    path: str
    kind: Literal["order", "session", "part"]
    digest: str
    bases: list[str]
    workspaces: list[str]
    established: Established
    replaces: str = ""
