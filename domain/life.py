"""What crosses a process boundary in the life of sessions and todos: one frozen input and one result each.

Only added to. What people and workers ask is `requests`; what a round is told and answers is `messages`.
"""

from __future__ import annotations

from datetime import datetime

from domain.actors import Established
from domain.authority import Authority
from domain.base import Message
from domain.claims.claim import Claim, ClaimedEvidence
from domain.claims.minted import MintedEvidence
from domain.events import Actor
from domain.order import Order
from domain.policy_floor import PolicyFloor
from domain.session import Session
from domain.signatures import Signers
from domain.todo import Gate, Todo


class PlannedTodo(Message):
    """A todo that is to be: its whole order (defaults and floor applied, paths absolute) and its place in the tree.

    `floor` is what no edit of the order may go below, `authority` what was in force when it was planned, `beside` the
    files beside the order as they were pinned, as in `messages.FreezeInput`.
    """

    order: Order
    order_file: str = ""
    parent: str = ""
    order_index: int = 0
    authored: frozenset[str] = frozenset()
    floor: PolicyFloor = PolicyFloor()
    authority: Authority = Authority()
    beside: dict[str, str] = {}


class SessionInput(Message):
    """A session: new with `plan` (a blob, a JSON array of `PlannedTodo`), or as its last run left it.

    `packed` is a `Session` as canonical JSON, compressed and in base64: ten thousand todos stay below the server's
    limit of a message. `answers`: the ids of updates that were answered, with the answers as JSON. `ordinal` numbers
    the last row. `owed`: the todos that have not heard the session's last word. `signers`: who may sign, for the first
    row to say; the blob of the same is the session's.
    """

    session: Session | None = None
    packed: str = ""
    plan: str = ""
    ids: tuple[str, ...] = ()
    actor: Actor
    answers: dict[str, str] = {}
    ordinal: int = 0
    owed: tuple[str, ...] = ()
    signers: Signers | None = None
    established: Established | None = None
    """How the person was who creates it, None for a worker."""


class TodoInput(Message):
    """A todo: new (`created` false), or as its last run left it. `answers` and `ordinal` as in `SessionInput`.

    `siblings`: how many todos its session has when it is started. `reason`: why it was created, for its first row.
    """

    todo: Todo
    created: bool = False
    siblings: int = 1
    answers: dict[str, str] = {}
    ordinal: int = 0
    reason: str = ""
    established: Established | None = None
    """How the person was who created it, for its first row; None for a worker."""


class PlanInput(Message):
    """Todos to be: the blob `plan`, a JSON array of `PlannedTodo`, of which only `ids` are wanted; empty: all.

    `defaults` names the blob of the session, a `planning.SessionPlan`; empty where there is none.
    """

    plan: str
    ids: tuple[str, ...] = ()
    defaults: str = ""


class Planned(Message):
    """What a session has to know of todos to be. `entries` is packed, a JSON array of `domain.session.Entry`.

    `parts`: the plan in blobs of `PART_TODOS` todos each, in the same order. `terms`: of the session's defaults.
    """

    entries: str
    parts: tuple[str, ...]
    terms: str = ""


PART_TODOS = 200
"""How many todos are started at once."""


class StartTodosInput(Message):
    """Todos to start: those of the blob `plan`, a part of what was planned. Who has no gate here has an open one.

    `siblings`, `reason` and `established` as in `TodoInput`, `signers` as in `domain.todo.Todo`.
    """

    session: str
    host: str
    store: str
    actor: Actor
    plan: str
    ids: tuple[str, ...]
    gates: dict[str, Gate] = {}
    siblings: int = 1
    signers: str = ""
    reason: str = ""
    established: Established | None = None


class StartedTodos(Message):
    """What was started; a todo that was there already is not started again."""

    started: tuple[str, ...] = ()


class TellInput(Message):
    """The session's word for several todos, by id."""

    session: str
    gates: dict[str, Gate]


class AdmitInput(Message):
    """A claim or evidence to be taken: `claim` None where only evidence is brought.

    `head` names the manifest of the frozen work, empty where nothing was frozen, `base` that of its base: files that
    are the same in both need not be looked into. Ids are bound to session, todo, attempt and snapshot (DESIGN 8).
    """

    session: str
    todo: str
    attempt: int
    head: str = ""
    base: str = ""
    claim: Claim | None = None
    evidence: tuple[ClaimedEvidence, ...] = ()


class AdmitResult(Message):
    """Blobs and digests of what was taken. `news`: of the tree, as `domain.todo.Admitted` has it.

    `evidence`: what came with the claim, then what came beside it, each once.
    """

    claim: str = ""
    news: str = ""
    evidence: tuple[MintedEvidence, ...] = ()


class WorkInput(Message):
    """A todo's worker command, to be run once for one drive: the `drive`th start, for round `attempt` to come."""

    todo: Todo
    attempt: int
    drive: int


class WorkResult(Message):
    """What came of a worker command. `claim`: what it claims, made of its own output where it wrote no claim file.

    Where a question of the auditor's was open, `answer` and `evidence` instead; `question`: what it wants to know of a
    human before it goes on. `problems`: why what it wrote is none of these. `output` names the blob of what it printed.
    `exit_code` is None where it was ended (`timed_out`). `isolation`: how it was kept from what is not its own.
    """

    claim: Claim | None = None
    answer: str | None = None
    question: str = ""
    evidence: tuple[ClaimedEvidence, ...] = ()
    problems: tuple[str, ...] = ()
    output: str = ""
    exit_code: int | None = None
    timed_out: bool = False
    resumed: bool = False
    isolation: str = ""
    started_at: datetime
    ended_at: datetime


class FollowUp(Message):
    """The auditor's question, from a round to its todo. CONTRACT "Follow-up"."""

    attempt: int
    question: str
    evidence_requested: tuple[str, ...] = ()
    reason: str = ""
    round: int
    of: int
    timeout: float


class FollowUpAnswer(Message):
    """The worker's answer, from the todo to its round; `answer` is None where the time was over."""

    round: int
    answer: str | None = None
    evidence: tuple[MintedEvidence, ...] = ()
