"""What a reviewer can do: a key each, what has to be typed for it, when it may be asked, and the request it makes.

Whether it is done is the todo's to say; what is said here in advance comes from the same table (`domain.lifecycle`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import JsonValue, ValidationError

from domain.acts import standalone
from domain.acts.editing import merged
from domain.lifecycle import Command, allowed
from domain.requests import (
    AddNote,
    Approve,
    Delete,
    Edit,
    HumanRequest,
    Override,
    Pause,
    Reject,
    Resume,
    Return,
    Unblock,
)
from domain.status import RoundStatus, SessionStatus
from entrypoints.cli.asking import Sender, malformed
from entrypoints.cli.edits import change_of
from entrypoints.review.page import Page

Values = Mapping[str, Any]
"""What was typed, by the names of the fields."""


@dataclass(frozen=True)
class Field:
    """Something to type. `ticks`: some of the names of what did not pass."""

    name: str
    label: str
    sort: Literal["line", "text", "number", "ticks"] = "text"
    default: str = ""


@dataclass(frozen=True)
class Act:
    """One thing to do. `command` is None for what the session is asked; `looks`: it is about the tree that is shown."""

    key: str
    name: str
    title: str
    request: type[HumanRequest]
    fields: tuple[Field, ...]
    command: Command | None
    looks: bool = False


_REASON = Field("reason", "Why, for whoever reads the trail")

ACTS: tuple[Act, ...] = (
    Act("a", "approve", "Approve", Approve, (_REASON,), Command.APPROVE, looks=True),
    Act(
        "o",
        "override",
        "Override",
        Override,
        (Field("acknowledged", "What did not pass: tick each that you answer for", "ticks"), _REASON),
        Command.OVERRIDE,
        looks=True,
    ),
    Act(
        "r",
        "reject",
        "Reject",
        Reject,
        (
            Field("feedback", "What is to be changed: the next attempt is told this first"),
            Field("extra_attempts", "Audits and revisions to grant with it", "number", "0"),
        ),
        Command.REJECT,
        looks=True,
    ),
    Act(
        "t",
        "return",
        "Return",
        Return,
        (
            Field("reason", "What the next attempt is told"),
            Field("extra_attempts", "Audits and revisions more", "number", "1"),
            Field("cost_usd", "US dollars for its fix loop to go on, 0 for none", "number", "0"),
        ),
        Command.RETURN,
    ),
    Act("u", "unblock", "Unblock", Unblock, (Field("clarification", "The answer to its question"),), Command.UNBLOCK),
    Act("e", "edit", "Edit", Edit, (Field("changes", "FIELD=YAML, a line each"), _REASON), Command.EDIT),
    Act("n", "note", "Note", AddNote, (Field("content", "What to write down"),), Command.NOTE),
    Act("d", "delete", "Delete", Delete, (_REASON,), Command.DELETE),
    Act("p", "pause", "Pause the session", Pause, (_REASON,), None),
    Act("s", "resume", "Resume the session", Resume, (_REASON,), None),
)


def why_not(act: Act, page: Page) -> str:
    """Why it cannot be asked now, in words; empty where it can."""
    if page.standalone and act.command not in standalone.COMMANDS:
        return "this is a standalone round: change the work or the order's file, and run countersign verify again"
    if act.command is None:
        return _why_not_of_session(act, page)
    view = page.todo
    possible = standalone.possible(view) if page.standalone else allowed(view.status, "unattributed")
    if page.standalone and (page.round is None or page.round.status is not RoundStatus.DECIDED):
        return "no verdict is there yet: wait for the round, or run countersign verify again"
    if act.command not in possible:
        others = [one.name for one in ACTS if one.command in possible]
        return f"not while the todo is {view.status.replace('_', ' ')}; now: {', '.join(others) or 'nothing'}"
    if act.looks and not page.current:
        return "what is shown is not what is claimed now: look at that first (the keys [ and ])"
    if act.command is Command.OVERRIDE:
        nothing = "" if page.needed.kind else "everything required passed, so that nothing is overruled: approve it"
        return page.needed.unread or nothing
    return ""


def _why_not_of_session(act: Act, page: Page) -> str:
    wanted = SessionStatus.RUNNING if act.name == "pause" else SessionStatus.PAUSED
    if page.session is None or page.session.status is wanted:
        return ""
    return f"the session is {page.session.status.replace('_', ' ')}"


def request_of(act: Act, page: Page, values: Values, sender: Sender) -> HumanRequest:
    """What is asked, of the todo as it is shown: another version, or another tree, refuses it. Raises `Malformed`."""
    fields: dict[str, Any] = {field.name: values.get(field.name, field.default) for field in act.fields}
    for field in act.fields:
        if field.sort == "number":
            fields[field.name] = _number(field, str(fields[field.name]))
        elif field.sort == "ticks":
            fields[field.name] = tuple(fields[field.name])
    if act.command is Command.OVERRIDE:
        fields["kind"] = page.needed.kind
    if act.command is Command.EDIT:
        fields["changes"] = changes_of(str(fields["changes"]))
    if act.command is not None:
        fields["expected_version"] = page.todo.version
    if act.looks:
        fields["snapshot"] = page.snapshot
    try:
        return act.request(actor=sender.actor, session=sender.session, **fields)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise malformed(place, f"is not taken: {first['msg']}", "expected another value") from error


def changes_of(text: str) -> dict[str, JsonValue]:
    """`safeguards.todo_timeout=7200`, a line each, as fields of an order. Raises `Malformed`."""
    fields: dict[str, JsonValue] = {}
    for said in filter(None, map(str.strip, text.splitlines())):
        fields = merged(fields, change_of(said, "changes"))
    if not fields:
        raise malformed("changes", "no change is named", "expected FIELD=YAML, a line each")
    return fields


def _number(field: Field, text: str) -> float | int:
    try:
        return float(text) if field.name == "cost_usd" else int(text)
    except ValueError:
        raise malformed(field.name, f"{text!r} is no number", "expected digits") from None
