"""Reads the options of `log show` into what is asked of the trail. What is nonsense is a usage error, exit code 2."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import get_args

import typer

from domain.event_kinds import KINDS
from domain.event_lines import LABELS
from domain.event_names import NAMES, VOCABULARIES, Vocabulary
from domain.events import Action, Role
from domain.retention import seconds_of
from entrypoints.cli import common

ROLES: tuple[Role, ...] = get_args(Role)

NAMED: dict[str, tuple[Action, ...]] = {action: (action,) for action in KINDS} | {
    word: (action,)
    for words in (LABELS, *({name.name: action for action, name in table.items()} for table in NAMES.values()))
    for word, action in words.items()
}
"""Every word that an event goes by: its own name, its label in a line, its names in the seeds' vocabularies."""


def todo_and_session(todo: str | None, session: str | None) -> tuple[str | None, str | None]:
    """Session and todo to look for; None for any. Bytes of the command line that are no text name nothing."""
    for given in (todo, session):
        if given and not given.isprintable() and any("\ud800" <= c <= "\udfff" for c in given):
            raise typer.BadParameter(f"{given!r} is no text")
    if todo is None:
        return session, None
    if "/" not in todo and session is not None:
        return session, todo
    named, name = common.split_todo(todo, common.open_trail())
    if session not in (None, named):
        raise typer.BadParameter(f"{todo!r} is not of the session {session!r}", param_hint="--session")
    return named, name


def actions_of(words: Iterable[str]) -> tuple[Action, ...]:
    """The actions that these words name; several may stand in one, with commas between them."""
    return tuple(dict.fromkeys(action for word in _apart(words) for action in _actions(word)))


def roles_of(words: Iterable[str]) -> tuple[Role, ...]:
    """The roles that these words name; several may stand in one, with commas between them."""
    found = []
    for word in _apart(words):
        role = next((role for role in ROLES if role == word), None)
        if role is None:
            raise typer.BadParameter(f"{word!r} is no role, expected one of {', '.join(ROLES)}", param_hint="--actor")
        found.append(role)
    return tuple(found)


def moment_of(text: str | None, now: datetime, option: str) -> datetime | None:
    """The time that `text` names: in ISO 8601, UTC where it names no zone, or so long before `now`."""
    if text is None:
        return None
    with suppress(ValueError, OverflowError):  # what is no duration may be a moment
        return now - timedelta(seconds=seconds_of(text))
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        expected = "expected a time such as 2026-01-15T10:05:00Z, or how long ago, such as 90s, 30m, 2h, 7d"
        raise typer.BadParameter(f"{text!r} is no time, {expected}", param_hint=option) from None


def vocabulary_of(text: str | None) -> Vocabulary | None:
    """Whose names are wanted; None for ours."""
    if text is None:
        return None
    for vocabulary in VOCABULARIES:
        if vocabulary == text:
            return vocabulary
    raise typer.BadParameter(f"{text!r} is none, expected one of {', '.join(VOCABULARIES)}", param_hint="--names")


def _actions(word: str) -> tuple[Action, ...]:
    if word in NAMED:
        return NAMED[word]
    near = difflib.get_close_matches(word, NAMED, n=3)
    expected = f"did you mean {' or '.join(near)}?" if near else f"expected one of {', '.join(KINDS)}"
    raise typer.BadParameter(f"{word!r} is no event, {expected}", param_hint="--action")


def _apart(words: Iterable[str]) -> list[str]:
    return [part.strip() for word in words for part in word.split(",")]
