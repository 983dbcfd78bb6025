"""What can be asked of a session or a todo, and what is answered: one frozen input for each update and signal.

Source: DESIGN 3, CONTRACT "What workers send and get" and "For Temporal's own CLI". Whether it may be done is
`lifecycle`'s and `acts`' to say; nothing is refused here but what is malformed.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, JsonValue

from domain.actors import Established
from domain.base import Message
from domain.claims.claim import Claim, ClaimedEvidence
from domain.events import Actor
from domain.signatures import Signed

MAX_TEXT = 65_536
"""Characters of what a person or a worker says in one message."""

MOST_USD = 1_000_000.0
"""The largest budget of one message."""


def _spelled(kind: Any) -> Any:
    """Seed `authority` 5.3 has other names for the three."""
    return _OTHER_NAMES.get(kind, kind) if isinstance(kind, str) else kind


_OTHER_NAMES = {"CHECK_OVERRIDE": "check", "VERIFIER_OVERRIDE": "verifier", "DIRECT_APPROVAL": "direct"}

OverrideKind = Annotated[Literal["check", "verifier", "direct"], BeforeValidator(_spelled)]


class Request(Message):
    """Who asks. `session`: the one that the sender belongs to, empty for any; a worker of another one is refused."""

    actor: Actor
    session: str = ""
    tool_call_id: str = ""
    marks: tuple[str, ...] = ()
    """Names of the variables that made a sender who wanted to act as a person a worker (`domain.actors`)."""


class HumanRequest(Request):
    """What a person asks. `expected_version`: refused where the todo, or session, is at another one.

    `snapshot`: the digest of the tree that they looked at, refused where another one is claimed by now; empty for
    whichever there is. `dry_run`: only answered, with what would change; nothing is done or recorded.
    """

    reason: str = Field(default="", max_length=MAX_TEXT)
    expected_version: int | None = None
    snapshot: str = ""
    dry_run: bool = False
    signed: Signed | None = None
    established: Established = "said"
    """How the sender's own program established them. `signed` only counts with a signature that was verified."""


class Start(Request):
    """A worker begins; the base is frozen."""


class AddEvidence(Request):
    """A worker brings evidence before it claims, or while a question is open."""

    evidence: tuple[ClaimedEvidence, ...]


class MakeClaim(Request):
    """A worker says that the work is done."""

    claim: Claim


class Respond(Request):
    """A worker answers the auditor's question. Seed `auditor` 3.0.3."""

    answer: str = Field(max_length=MAX_TEXT)
    additional_evidence: tuple[ClaimedEvidence, ...] = ()


class Block(Request):
    """A worker cannot go on without an answer."""

    question: str = Field(max_length=MAX_TEXT)


class Unblock(HumanRequest):
    """A human's answer to that."""

    clarification: str = Field(max_length=MAX_TEXT)


class Approve(HumanRequest):
    """A human countersigns: only where everything required passed on the current snapshot."""


class Override(HumanRequest):
    """A human overrules checks, the auditor, or approves with no round at all (`direct`). DESIGN 3.

    `acknowledged`: the failed checks, by name.
    """

    kind: OverrideKind
    acknowledged: tuple[str, ...] = ()


class Reject(HumanRequest):
    """A human sends it back: one revision more. `extra_attempts` grants that many audits and revisions with it."""

    feedback: str = Field(max_length=MAX_TEXT)
    extra_attempts: int = Field(default=0, ge=0, le=100)


class Return(HumanRequest):
    """A human gives it back to a worker, with more attempts, and with another worker command if one is named.

    `cost_usd`: US dollars that its fix loop may spend on top, 0 for no further loop. `worker`: None keeps the one there
    was, empty lets nobody be started.
    """

    extra_attempts: int = Field(default=1, ge=1, le=100)
    cost_usd: float = Field(default=0.0, ge=0, le=MOST_USD, allow_inf_nan=False)
    worker: str | None = None


class Edit(HumanRequest):
    """A human changes the order: `changes` are its top-level fields with their new values.

    Of an object, such as `safeguards`, only the fields that are named change; a list is replaced.
    """

    changes: dict[str, JsonValue]


class AddNote(HumanRequest):
    """A note on a todo. Seed `auditor` 5.3."""

    content: str = Field(max_length=MAX_TEXT)
    kind: Literal["feedback", "revision_request", "clarification"] = "feedback"


class Reorder(HumanRequest):
    """Another place among its siblings, from 0."""

    order_index: int = Field(ge=0)


class Delete(HumanRequest):
    """The todo is cancelled; its record stays, and its id is never used again."""


class Pause(HumanRequest):
    """Nothing new starts; what runs finishes."""


class Resume(HumanRequest):
    """The session goes on."""


class Stop(HumanRequest):
    """Rounds are cancelled and workers refused; todos keep their status."""


class Create(HumanRequest):
    """New todos. `orders` names a blob: a JSON array of `PlannedTodo`, parents before their subtasks.

    What an agent may set in one is limited where the plan is made (`adapters/config`) and here, in `sessions`.
    `refused`: what was found there that the sender may not do; nothing is created, and the session records it.
    """

    orders: str = ""
    ids: tuple[str, ...] = ()
    refused: Refusal | None = None


class Replace(Request):
    """Another list of todos in place of the one there is: asked for, and always refused."""


class Drive(Request):
    """Whether worker commands are started now: `countersign run` says so while it is there."""

    on: bool


class Said(Message):
    """`{by, reason}`: what `temporal workflow signal` sends for pause and resume. CONTRACT."""

    by: str = ""
    reason: str = ""


class OverrideSignal(Message):
    """What `temporal workflow signal --name override` sends. CONTRACT. `signature`: a `Signed`, as JSON."""

    kind: OverrideKind
    by: str = ""
    reason: str = ""
    acknowledged: tuple[str, ...] = ()
    signature: str = ""


class Refusal(Message):
    """CONTRACT "Refused": a stable code, a sentence, and what would help."""

    code: str
    reason: str
    next_step: str


class Changed(Message):
    """One field of a todo or session, before and after an act."""

    before: JsonValue = None
    after: JsonValue = None


class Answer(Message):
    """What an update answers: where the todo or session stands now, or why not. `sequence`: of the row that says so.

    `snapshot` is the digest of the tree that a claim is about. A stale version is a refusal with the code
    `stale_version`. `changed`: what a person's act changed, by field; with `dry_run` what it would change, and
    `status` and `version` are as they would be. `signer`: whose signature it was done by, empty for none.
    """

    status: str = ""
    review_status: str = ""
    version: int = 0
    attempt: int = 0
    sequence: int = 0
    snapshot: str = ""
    evidence: dict[str, str] = {}
    refused: Refusal | None = None
    changed: dict[str, Changed] = {}
    dry_run: bool = False
    signer: str = ""
