"""When people are told that a todo waits for them, and in which words. Pure: nobody is told here.

What comes from workers and models is one line of text in a message, cut, and means nothing to whatever shows it: no
control character, no mention, no link with another name. Source: issue "Human authority", DESIGN 3 "Escalation".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from domain.acts.step import Event
from domain.addresses import NoticeKind
from domain.base import Message
from domain.shown_text import one_line
from domain.status import SessionStatus, TodoStatus
from domain.todo import Todo

WAITS: dict[TodoStatus, NoticeKind] = {
    TodoStatus.NEEDS_HUMAN: "escalated",
    TodoStatus.FAILED: "escalated",
    TodoStatus.BLOCKED: "question",
}
"""Where a todo goes no further without a person, and what people are told of it."""

REASON_CHARACTERS = 1000
TITLE_CHARACTERS = 200

_LIVE_MARKS = re.compile(r"[@<]|\](?=[(\[])")
_NOTHING = "\u200b"
"""Between two characters: it shows nothing, and parts what would be a mention or a link."""


class Notice(Message):
    """What people are told: facts as they are, of which nothing is masked or cut yet. `title`: the todo's.

    `since`: when the wait began, or was over; `by`: who ended it, `how`: with which act; `waited`: for how many seconds
    it did by then. `number`: of a reminder.
    """

    kind: NoticeKind
    session: str
    todo: str = ""
    status: str = ""
    trigger: str = ""
    reason: str = ""
    title: str = ""
    attempt: int = 0
    since: datetime
    by: str = ""
    how: str = ""
    waited: float = 0.0
    number: int = 0

    @property
    def place(self) -> str:
        """`SESSION/TODO`, or the session."""
        return f"{self.session}/{self.todo}" if self.todo else self.session

    @property
    def next_step(self) -> str:
        """The command to give now; none where nothing is left to do."""
        if self.kind == "resolved":
            return ""
        return f"countersign review {self.place}" if self.todo else "countersign inbox"


class NotificationInput(Message):
    """What a `NotificationWorkflow` is about. `reminds`: while the wait lasts, which a signal ends.

    `secrets`: the variables that the todo's order names as secrets, for whoever masks what is sent.
    """

    workflow_id: str
    store: str = ""
    notice: Notice
    reminds: bool = False
    secrets: tuple[str, ...] = ()


class WhomInput(Message):
    """Who is to be told of this? `waited`: of `resolved`, for how many seconds it did."""

    kind: NoticeKind
    session: str
    waited: float = 0.0


class Whom(Message):
    """Addresses by name: told at `first`, by each reminder, and by the second, too. Seconds since the wait began."""

    first: tuple[str, ...] = ()
    reminded: tuple[str, ...] = ()
    second: tuple[str, ...] = ()
    remind_after: float = 0.0
    second_after: float = 0.0


class Delivery(Message):
    """One message to one address. `id` is the same however often it is sent, `secrets` as in `NotificationInput`."""

    id: str
    address: str
    notice: Notice
    secrets: tuple[str, ...] = ()


class Sent(Message):
    """It was taken. `tries`: how often it was sent for that."""

    tries: int


def waits(todo: Todo) -> bool:
    """Whether it goes no further without a person."""
    return todo.status in WAITS


def same_wait(before: Todo, after: Todo) -> bool:
    """Whether people still wait for the same: another cause, or another question, is another wait."""
    return waits(before) and _wait(before) == _wait(after)


def begun(before: Todo, after: Todo, events: Sequence[Event], at: datetime) -> Notice | None:
    """What people are told now that it waits for them; None where it does not, or did so before.

    Nor of those that wait because their session's time is over: that is told once, by the session.
    """
    if not waits(after) or same_wait(before, after) or _one_of_many(after):
        return None
    return _notice(after, WAITS[after.status], at, reason=_reason(after, events))


def ended(before: Todo, after: Todo, events: Sequence[Event], at: datetime) -> Notice | None:
    """What people are told now that it waits for nobody any more; None where it still does, or never did."""
    if not waits(before) or waits(after):
        return None
    last = events[-1] if events else None
    notice = _notice(after, "resolved", at, reason=_reason(after, events))
    return notice.model_copy(update={"by": str(last.actor) if last else "", "how": last.action if last else ""})


def session_over(session: str, unfinished: int, at: datetime) -> Notice:
    """What people are told, once, when a session's time is over."""
    reason = f"the session's time is over, and {unfinished} of its todos are not finished"
    return Notice(kind="escalated", session=session, status="timed_out", trigger="timeout", reason=reason, since=at)


def shown(notice: Notice) -> Notice:
    """The same with its texts on a line each, cut. Secrets are masked before: half of one is not found."""
    texts = {"reason": REASON_CHARACTERS, "title": TITLE_CHARACTERS, "by": TITLE_CHARACTERS}
    return notice.model_copy(update={name: one_line(getattr(notice, name), most) for name, most in texts.items()})


def heading(notice: Notice) -> str:
    """One line that says it all."""
    return f"{notice.place} {_SAYS[notice.kind].format(number=notice.number)}"


def text_of(notice: Notice) -> str:
    """The message for people, of a `shown` notice: plain lines, in which what others wrote means nothing."""
    facts = {
        "todo": notice.title,
        "status": f"{notice.status} ({notice.trigger})" if notice.trigger else notice.status,
        "question" if notice.status == TodoStatus.BLOCKED else "why": notice.reason,
        "by": f"{notice.by}, {notice.how}" if notice.by else "",
        "attempt": str(notice.attempt) if notice.attempt else "",
        "at" if notice.kind == "resolved" else "since": notice.since.isoformat(timespec="seconds"),
        "next": notice.next_step,
    }
    return "\n".join([heading(notice), *(f"{name}: {plain(value)}" for name, value in facts.items() if value)])


def plain(text: str) -> str:
    """One line, of which no chat or mail program makes a mention, a link or a control character."""
    return _LIVE_MARKS.sub(lambda found: found[0] + _NOTHING, one_line(text, REASON_CHARACTERS))


_SAYS: dict[NoticeKind, str] = {
    "escalated": "waits for a person",
    "question": "has a question",
    "reminder": "still waits for a person (reminder {number})",
    "resolved": "waits for nobody any more",
}


def _wait(todo: Todo) -> tuple[str, str, str]:
    return todo.status, todo.trigger, todo.question.question if todo.question else ""


def _one_of_many(todo: Todo) -> bool:
    return todo.trigger == "timeout" and todo.gate.status is SessionStatus.TIMED_OUT


def _notice(todo: Todo, kind: NoticeKind, at: datetime, *, reason: str) -> Notice:
    return Notice(
        kind=kind,
        session=todo.session,
        todo=todo.id,
        status=todo.status,
        trigger=todo.trigger,
        reason=reason,
        title=todo.order.title,
        attempt=todo.attempt,
        since=at,
    )


def _reason(todo: Todo, events: Sequence[Event]) -> str:
    """What the last row that gives one says; of a worker's question that."""
    if todo.status is TodoStatus.BLOCKED and todo.question is not None:
        return todo.question.question
    for event in reversed(events):
        for name in ("reason", "feedback", "clarification"):
            if said := event.payload.get(name):
                return str(said)
        if isinstance(reasons := event.payload.get("reasons"), list) and reasons:
            return "; ".join(map(str, reasons))
    return ""
