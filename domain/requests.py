"""What can be asked of a session or a todo, and what is answered: one frozen input for each update and signal.

Source: DESIGN 3, CONTRACT "What workers send and get" and "For Temporal's own CLI". Whether it may be done is
`lifecycle`'s and `acts`' to say; nothing is refused here but what is malformed.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from domain.base import Message
from domain.claims.claim import Claim, ClaimedEvidence
from domain.events import Actor

MAX_TEXT = 65_536
"""Characters of what a person or a worker says in one message."""

MOST_USD = 1_000_000.0
"""The largest budget of one message."""


class Request(Message):
    """Who asks. `session`: the one that the sender belongs to, empty for any; a worker of another one is refused."""

    actor: Actor
    session: str = ""
    tool_call_id: str = ""


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


class Unblock(Request):
    """A human's answer to that."""

    clarification: str = Field(max_length=MAX_TEXT)


class Approve(Request):
    """A human countersigns: only where everything required passed on the current snapshot."""

    reason: str = Field(default="", max_length=MAX_TEXT)


class Override(Request):
    """A human overrules checks, the auditor, or approves with no round at all (`direct`). DESIGN 3.

    `acknowledged`: the failed checks, by name.
    """

    kind: Literal["check", "verifier", "direct"]
    reason: str = Field(default="", max_length=MAX_TEXT)
    acknowledged: tuple[str, ...] = ()
    signature: str = ""


class Reject(Request):
    """A human sends it back: one revision more. `extra_attempts` grants that many audits and revisions with it."""

    feedback: str = Field(max_length=MAX_TEXT)
    extra_attempts: int = Field(default=0, ge=0, le=100)


class Return(Request):
    """A human gives it back to a worker, with more attempts, and with another worker command if one is named.

    `cost_usd`: US dollars that its fix loop may spend on top, 0 for no further loop. `worker`: None keeps the one there
    was, empty lets nobody be started.
    """

    reason: str = Field(default="", max_length=MAX_TEXT)
    extra_attempts: int = Field(default=1, ge=1, le=100)
    cost_usd: float = Field(default=0.0, ge=0, le=MOST_USD, allow_inf_nan=False)
    worker: str | None = None


class Edit(Request):
    """A human changes the order: `changes` are its top-level fields with their new values.

    Of an object, such as `safeguards`, only the fields that are named change; a list is replaced.
    """

    expected_version: int
    changes: dict[str, JsonValue]


class AddNote(Request):
    """A note on a todo. Seed `auditor` 5.3."""

    content: str = Field(max_length=MAX_TEXT)
    kind: Literal["feedback", "revision_request", "clarification"] = "feedback"


class Reorder(Request):
    """Another place among its siblings, from 0."""

    order_index: int = Field(ge=0)
    expected_version: int


class Delete(Request):
    """The todo is cancelled; its record stays, and its id is never used again."""

    reason: str = Field(default="", max_length=MAX_TEXT)
    expected_version: int | None = None


class Pause(Request):
    """Nothing new starts; what runs finishes."""

    reason: str = Field(default="", max_length=MAX_TEXT)


class Resume(Request):
    """The session goes on."""

    reason: str = Field(default="", max_length=MAX_TEXT)


class Stop(Request):
    """Rounds are cancelled and workers refused; todos keep their status."""

    reason: str = Field(default="", max_length=MAX_TEXT)


class Create(Request):
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
    """What `temporal workflow signal --name override` sends. CONTRACT."""

    kind: Literal["check", "verifier", "direct"]
    by: str = ""
    reason: str = ""
    acknowledged: tuple[str, ...] = ()
    signature: str = ""


class Refusal(Message):
    """CONTRACT "Refused": a stable code, a sentence, and what would help."""

    code: str
    reason: str
    next_step: str


class Answer(Message):
    """What an update answers: where the todo or session stands now, or why not. `sequence`: of the row that says so.

    `snapshot` is the digest of the tree that a claim is about. A stale version is a refusal with the code
    `stale_version`.
    """

    status: str = ""
    review_status: str = ""
    version: int = 0
    attempt: int = 0
    sequence: int = 0
    snapshot: str = ""
    evidence: dict[str, str] = {}
    refused: Refusal | None = None
