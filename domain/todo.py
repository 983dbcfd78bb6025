"""All that a todo's workflow knows of its todo: one frozen value, carried from run to run. It moves nothing.

What moves it is `lifecycle` (the table) and `acts` (what a move asks for). Source: DESIGN 3, seed `auditor` 5.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from domain.authority import Authority
from domain.base import Message
from domain.claims.claim import Claim
from domain.claims.minted import MintedEvidence
from domain.events import Actor
from domain.fixing import Tally
from domain.messages import Frozen, RoundResult
from domain.order import Order, WorkerCommand
from domain.policy_floor import PolicyFloor
from domain.safeguards import Caps, Clock, caps_of
from domain.status import ReviewStatus, SessionStatus, TodoStatus


class Note(Message):
    """What somebody wrote down. Seed `auditor` 5.3."""

    author: Actor
    content: str
    kind: Literal["feedback", "revision_request", "clarification"]
    timestamp: datetime


class Admitted(Message):
    """A claim that was taken: its blob, the trees frozen for it, what came with it.

    `news` is the digest of the tree without white space, comments and the like: what monotonicity compares.
    """

    claim: str
    frozen: Frozen
    news: str
    evidence: tuple[MintedEvidence, ...] = ()


class OpenQuestion(Message):
    """What waits for an answer: a blocked worker's question to a human, or the auditor's to the worker (`round`, `of`).

    `deadline`: when the auditor goes on without one, `timeout` seconds after it asked. While the session stands still
    so does that time, and `left` has the seconds that are left of it.
    """

    question: str
    evidence_requested: tuple[str, ...] = ()
    reason: str = ""
    round: int = 0
    of: int = 0
    timeout: float = 0.0
    deadline: datetime | None = None
    left: float | None = None


class Gate(Message):
    """The session's word for one todo. `number` counts it: an older word changes nothing.

    `heard`: the number of the todo's last report that it takes into account. `waits_for`: dependencies that are not
    verified; `open_children`: subtasks that keep it from being claimed and verified. `turn`: its worker command may
    run. `dependency_reopened`: one of those that it started after, empty for none. `asks`: somebody waits for it, so it
    has to report once more. `retired`: the session is over and will say nothing more.
    """

    number: int = 0
    heard: int = 0
    status: SessionStatus = SessionStatus.RUNNING
    waits_for: tuple[str, ...] = ()
    open_children: tuple[str, ...] = ()
    turn: bool = False
    dependency_reopened: str = ""
    asks: bool = False
    retired: bool = False


class Repairing(Message):
    """A fix loop runs: for the round `attempt`, which ended with `result`."""

    attempt: int
    result: RoundResult


class Fixing(Message):
    """What the fix loops of a todo have `used`, and what humans `granted` on top of the order's budget.

    `closed`: one was escalated, so that no further one begins before a human grants more.
    """

    used: Tally = Tally()
    granted: Tally = Tally()
    closed: bool = False


class Todo(Message):
    """One todo. `order` has absolute paths; `authored`: ids of the criteria in it that an agent wrote,
    `content_authored`: an agent wrote its content, and no human has edited that since, `floor`: what no edit may go
    below (`policy_floor.below`), `authority`: what else decides, as it was when the todo was created.

    `base` names the frozen base (`domain.messages.FrozenBase`), empty before it was started. `attempt` numbers the last
    round, `round` is that of the round that runs now, 0 for none; `audits` counts those that came to a verdict,
    `revisions` how often it was sent back. `retry_at`: when the system tries again what could not run. `repair`: the
    fix loop that runs now, whose rounds have numbers up to `reserved`, and count as neither audits nor revisions.
    `not_passed` (what a human's override has to acknowledge), `passed`, `objected` (the auditor did not approve) and
    `outcome` are the last round's, of this order and on the tree that is `admitted` now; `claim` is what it is about.
    `evidence` was brought since the last claim. `widen`: what checks that ran out of time have their limits multiplied
    by. `no_news` counts claims in a row that brought nothing new, `waived`: the next one need not. `flag`: why somebody
    should look at it again. `reports` numbers what the session was told. `drives` counts starts of its worker command,
    `refused_drives` those in a row whose claim was refused. `signers` names the blob of the session's
    `signatures.Signers`, empty where nobody can sign; `nonces` are those of signatures that were used, with their
    expiry. `notifications` numbers what people were told of it, and `waiting_since` is when the wait that they were
    told of last began, None where it is over. `beside`: the files beside the order as they were pinned, as in
    `messages.FreezeInput`.
    """

    session: str
    id: str
    order: Order
    order_digest: str
    order_file: str = ""
    host: str
    store: str = ""
    created_by: Actor
    authored: frozenset[str] = frozenset()
    content_authored: bool = False
    floor: PolicyFloor = PolicyFloor()
    authority: Authority = Authority()
    parent: str = ""
    order_index: int = 0
    version: int = 1
    status: TodoStatus = TodoStatus.PENDING
    review_status: ReviewStatus = ReviewStatus.NOT_REQUESTED
    trigger: str = ""
    base: str = ""
    attempt: int = 0
    round: int = 0
    reserved: int = 0
    repair: Repairing | None = None
    fixing: Fixing = Fixing()
    retry_at: datetime | None = None
    inconclusive: int = 0
    audits: int = 0
    revisions: int = 0
    granted: int = 0
    clock: Clock
    gate: Gate = Gate()
    evidence: tuple[MintedEvidence, ...] = ()
    admitted: Admitted | None = None
    claim: Claim | None = None
    trees_seen: tuple[str, ...] = ()
    news_seen: tuple[str, ...] = ()
    no_news: int = 0
    waived: bool = False
    question: OpenQuestion | None = None
    clarification: str = ""
    notes: tuple[Note, ...] = ()
    feedback: str = ""
    retry_context: str = ""
    not_passed: tuple[str, ...] = ()
    passed: bool = False
    objected: bool = False
    outcome: str = ""
    widen: float = 1.0
    prior_attempts: tuple[str, ...] = ()
    worker: WorkerCommand | None = None
    drives: int = 0
    refused_drives: int = 0
    last_refusal: str = ""
    flag: str = ""
    refusals: dict[str, int] = {}
    reports: int = 0
    signers: str = ""
    nonces: dict[str, datetime] = {}
    beside: dict[str, str] = {}
    notifications: int = 0
    waiting_since: datetime | None = None

    @property
    def workflow_id(self) -> str:
        """`todo/SESSION/TODO`, CONTRACT "For Temporal's own CLI"."""
        return workflow_id_of(self.session, self.id)

    @property
    def next_attempt(self) -> int:
        """The number of the next round: none is used twice, nor one that a fix loop may have used."""
        return max(self.attempt, self.reserved) + 1

    @property
    def caps(self) -> Caps:
        """What counts now, with what a human granted."""
        return caps_of(self.order, self.granted)


def workflow_id_of(session: str, todo: str) -> str:
    """The id of a todo's workflow."""
    return f"todo/{session}/{todo}"
