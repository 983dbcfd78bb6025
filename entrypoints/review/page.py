"""What a reviewer needs of one attempt, as one value: both faces, the screen and `--plain`, show this and nothing else.

It reads nothing; what was left out for its size, or could not be read, it says itself.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from domain.acts.approving import Kind
from domain.base import Message
from domain.claims.claim import Claim
from domain.read_model import RoundView, SessionView, TodoView
from domain.report import Report

Mark = Literal["", "restored", "dropped", "denied", "out_of_scope"]
"""What became of a change that was not taken; empty for one that was, or that nobody has judged yet."""

Sort = Literal["added", "modified", "deleted", "left_out"]


class ChangedFile(Message):
    """One path that the worker has otherwise than the base, with its part of the unified diff.

    `left_out`: found and not frozen. `why` goes with the mark. `note`: what of it is not shown, and why not.
    """

    path: str
    sort: Sort
    mark: Mark = ""
    why: str = ""
    diff: str = ""
    added: int = 0
    removed: int = 0
    note: str = ""


class Difference(Message):
    """From the tree `base` to the tree `head`, both by their digests. `notes`: what is not shown of it, and why not."""

    base: str = ""
    head: str = ""
    files: tuple[ChangedFile, ...] = ()
    notes: tuple[str, ...] = ()


class Saying(Message):
    """Something that somebody said about the todo, to the one who works on it or the other way round."""

    at: datetime
    who: str
    what: str
    text: str


class Needed(Message):
    """What it takes to verify the todo as it is: an override of that kind, None for a plain approval.

    `names`: of what did not pass, each to be acknowledged. `unread`: why that cannot be told, empty where it can.
    """

    kind: Kind | None = None
    names: tuple[str, ...] = ()
    unread: str = ""


class Page(Message):
    """One attempt of one todo. `snapshot`: the digest of the tree that is shown, empty where none was frozen.

    `standalone`: its rounds belong to no session; people decide about the newest. `current`: what is shown is what the
    last claim, or newest round, is about. `numbers` has the attempts that there are, `round` is None before it began.
    `loop`: the rows of its fix loops, as lines; `timeline`: of everything, the oldest first. `notes`: what could not be
    read.
    """

    todo: TodoView
    session: SessionView | None
    standalone: bool
    attempt: int
    numbers: tuple[int, ...] = ()
    rounds: tuple[RoundView, ...] = ()
    round: RoundView | None = None
    snapshot: str = ""
    current: bool = True
    needed: Needed = Needed()
    cost: str = ""
    claimed_by: str = ""
    claim: Claim | None = None
    difference: Difference = Difference()
    report: Report | None = None
    dialogue: tuple[Saying, ...] = ()
    loop: tuple[str, ...] = ()
    timeline: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """SESSION/TODO."""
        return f"{self.todo.session}/{self.todo.todo}"
