"""All that a session knows: its todos by id, where each stands, and what may go on. Rules are `sessions`'.

It holds no order: those are the todos' own. Source: DESIGN 3 and 6.
"""

from __future__ import annotations

from datetime import datetime

from domain.base import Message
from domain.events import Actor
from domain.status import SessionStatus, TodoStatus

RESERVED_SESSIONS = frozenset({"local", "blobs", "memo", "system"})
"""No session is created under these: rounds that stand alone have the first, the evidence store's folders the next two,
what happens to the store itself the last."""


SESSION_TIMEOUT = 86400.0
"""Seconds on the wall clock, also while it is paused. DESIGN 3 "Timers"."""


class Entry(Message):
    """One todo as its session knows it. `report` numbers the last word that was heard of it, `gate` the last given.

    `workspace` names the tree that its worker changes: of those, one is changed at a time. `driven`: a worker command
    does it. `escalated`: it waits for a human, and `pauses`: the session with it. `asked`: a question of the auditor's
    waits for its worker. `turn`: its worker command may run. `reopened`: the dependency that it began after and that is
    open again, empty for none. `word`: the last gate that it said it goes by. `terms`: what nobody but a human may set
    in it (`domain.terms`). `version`: the todo's.
    """

    id: str
    parent: str = ""
    depends_on: tuple[str, ...] = ()
    order_index: int = 0
    workspace: str = ""
    driven: bool = False
    status: TodoStatus = TodoStatus.PENDING
    escalated: bool = False
    pauses: bool = True
    busy: bool = False
    report: int = 0
    gate: int = 0
    asked: bool = False
    turn: bool = False
    reopened: str = ""
    word: int = 0
    terms: str = ""
    version: int = 1


class Session(Message):
    """One session. `paused_by_human` and the escalations in `todos` are two reasons to stand still.

    `resumed_over`: escalated todos that a human resumed the session in spite of. `driving`: worker commands are
    started. `deadline`: when its time, `timeout` seconds from its creation on, is over. `refusals` counts what was
    refused, as `domain.todo.Todo` has it. `touched_at`: when anything last happened. `terms`: of its defaults,
    empty where there are none. `retired`: its workflows end. `signers` as in `domain.todo.Todo`. `version` counts
    what befell its status, from 1: each pause, resumption and end of it, whoever's.
    """

    id: str
    host: str
    store: str = ""
    order: str = ""
    created_by: Actor
    created_at: datetime
    deadline: datetime
    status: SessionStatus = SessionStatus.RUNNING
    paused_by_human: bool = False
    resumed_over: frozenset[str] = frozenset()
    driving: bool = False
    todos: dict[str, Entry] = {}
    refusals: dict[str, int] = {}
    timeout: float = SESSION_TIMEOUT
    touched_at: datetime | None = None
    terms: str = ""
    retired: bool = False
    signers: str = ""
    version: int = 1

    @property
    def workflow_id(self) -> str:
        """`session/SESSION`, CONTRACT "For Temporal's own CLI"."""
        return session_workflow_id(self.id)


def session_workflow_id(session: str) -> str:
    """The id of a session's workflow."""
    return f"session/{session}"


class TodoReport(Message):
    """A todo's word to its session: where it stands. `number` counts it; an older word changes nothing.

    `asks`: nothing changed, the session's word is wanted again. `busy`: its worker command runs. `trigger`: why it was
    escalated or failed. `word`: the number of the gate that it goes by. `asked`, `terms` and `version` as in `Entry`;
    empty terms are as they were.
    """

    todo: str
    number: int
    status: TodoStatus
    parent: str = ""
    depends_on: tuple[str, ...] = ()
    order_index: int = 0
    workspace: str = ""
    driven: bool = False
    pauses: bool = True
    busy: bool = False
    asks: bool = False
    trigger: str = ""
    word: int = 0
    asked: bool = False
    terms: str = ""
    version: int = 1
