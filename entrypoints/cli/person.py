"""Establishes that a person acts: no agent's environment, and a text typed at a terminal, or `--as` and `--yes`.

It cannot keep a program of the same user from pretending to be that user: docs/people.md says what it can.
"""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypeVar

from pydantic import JsonValue

from domain.actors import Established, agent_marks
from domain.errors import Refused, Unavailable
from domain.events import Actor, TrailEntry
from domain.requests import Answer, HumanRequest
from entrypoints.cli import common
from entrypoints.cli.asking import Sender, sender_of

if TYPE_CHECKING:
    from domain.ports import Trail

PROC = Path("/proc")
MOST_ANCESTORS = 256
MOST_SHOWN = 4
MOST_MARKS, MOST_CHARACTERS = 50, 200
"""What a request carries of them at most."""

H = TypeVar("H", bound=HumanRequest)


@dataclass(frozen=True)
class Person(Sender):
    """A sender who is no agent, as far as that can be seen, and how that was established."""

    established: Established = "said"


@dataclass(frozen=True)
class Agent(Sender):
    """A worker, by its own words or by the marks of its process."""

    marks: tuple[str, ...] = ()


def sender(said: str | None) -> Person | Agent:
    """Return who wants to act as a person, with no confirmation: an agent, a person at a terminal, or else `said`.

    A person at a terminal who gives no other name is established by that. Raises `Malformed` for a sender that cannot
    be read.
    """
    who = sender_of(said, "unattributed")
    found = marks()
    if who.actor.role == "worker":
        return Agent(who.actor, who.session, found)
    if found:
        return Agent(Actor(role="worker", identity=who.actor.identity), marks=found)
    return Person(who.actor, who.session, "terminal" if said is None and at_a_terminal() else "said")


def present(said: str | None, *, what: str) -> Person:
    """Return who acts where nothing has to be confirmed; `what` is the act in words, such as `restore a backup`.

    Raises `Refused` (`forbidden`) in a process that is an agent's, or for a worker; `Malformed` as `sender` does.
    """
    who = sender(said)
    if isinstance(who, Agent):
        raise forbidden(what, who)
    return who


def establish(type_this: str, said: str | None, yes: bool, *, what: str) -> Person:
    """Return who acts: `said` (`--as`) with `yes`, else the user, who types `type_this` at an interactive terminal.

    Of `SESSION/TODO` the last part is enough; with an empty `type_this` a terminal is. Raises `Refused`: `forbidden` as
    `present` does, `not_a_person` where neither a terminal nor both options are there, `not_confirmed` for another
    text; `Malformed` for a sender that cannot be read.
    """
    who = present(said, what=what)
    if said is not None and yes:
        return who
    if not at_a_terminal():
        raise Refused(
            "not_a_person",
            f"cannot {what}: there is no interactive terminal at which a person could confirm it",
            "run it in a terminal, or with --as human:NAME --yes, or sign it with --key FILE where it can be signed",
        )
    if type_this:
        _confirm(type_this, what)
    return Person(who.actor, who.session, "terminal")


def forbidden(what: str, who: Agent, recorded: str = "") -> Refused:
    """Return the refusal of an agent that wants to act as a person; `recorded` says what became of its row."""
    why = because_of(who.marks) if who.marks else f"{who.actor} is a worker"
    return Refused(
        "forbidden",
        f"cannot {what}: {why}, and that is for people alone{recorded}",
        "have a person do it in a terminal that no agent has started",
    )


def forbidden_and_recorded(what: str, command: str, who: Agent, trail: Trail, session: str) -> Refused:
    """Return the refusal of an act that no workflow takes, once its row is in the trail. Raises `Unavailable`."""
    why = forbidden(what, who)
    record_refusal(command, why, who.actor, trail, session, {"marks": list(who.marks)})
    return why


def record_refusal(
    command: str, why: Refused, actor: Actor, trail: Trail, session: str, known: Mapping[str, JsonValue]
) -> None:
    """Record the refusal of an act that no workflow takes, with what else is `known` of who asks.

    Raises `Unavailable`.
    """
    payload: dict[str, JsonValue] = {"command": command, "code": why.code, "reason": why.reason, "count": 1}
    trail.append(
        TrailEntry(
            workflow_id=f"{command}/{uuid.uuid4()}",
            ordinal=1,
            session=session,
            todo_id="",
            actor=actor,
            action="refused",
            payload={**payload, **known},
            timestamp=datetime.now(UTC),
        )
    )


def by_agent(request: H, who: Agent) -> H:
    """Return the request as an agent's, for the workflow to refuse and record: also where it was a trial, or signed."""
    return request.model_copy(
        update={"actor": who.actor, "session": who.session, "marks": who.marks, "signed": None, "dry_run": False}
    )


def refuse(what: str, who: Agent, ask: Callable[[], Answer]) -> NoReturn:
    """Raise `forbidden`, once `ask` has had the workflow record it; where it could not, the refusal says so."""
    recorded = ""
    try:
        answer = ask()
    except (Refused, Unavailable) as error:
        recorded = f" (not recorded: {error.reason})"
    else:
        if answer.refused is None:
            raise RuntimeError(f"{what}: asked by {who.actor}, and not refused")  # a defect
    raise forbidden(what, who, recorded)


def refuse_unsigned(what: str) -> None:
    """Refuse an act without a signature where the project takes no other. Raises `Refused`."""
    if common.settings().human_acts == "signed":
        raise Refused(
            "signature_required",
            f"cannot {what}: the project takes only signed acts of people ([policy] human_acts), and it is not signed",
            "sign it: --key FILE, or --print-statement and ssh-keygen -Y sign",
        )


def because_of(found: tuple[str, ...]) -> str:
    """Say of these marks that they are there."""
    more = f" and {len(found) - MOST_SHOWN} more" if len(found) > MOST_SHOWN else ""
    shown = common.visible(", ".join(found[:MOST_SHOWN]))
    return f"an agent runs this command: {shown}{more} in the environment of this process, or of one that started it"


def marks() -> tuple[str, ...]:
    """Return the agents' marks of this process and of those that started it."""
    found: dict[str, None] = {}
    extra = common.settings().agent_marks
    for environ in (os.environ, *ancestors()):
        found |= dict.fromkeys(agent_marks(environ, extra))
    return tuple(name[:MOST_CHARACTERS] for name in found)[:MOST_MARKS]


def ancestors() -> Iterator[Mapping[str, str]]:
    """Yield the environments that the processes above this one began with, the nearest first."""
    return environments_from(os.getppid())


def environments_from(pid: int) -> Iterator[Mapping[str, str]]:
    """Yield the environments that process `pid` and those above it began with.

    Those that may not be read are left out; where there is no /proc, all are.
    """
    for _ in range(MOST_ANCESTORS):
        if pid < 1:
            return
        environ, pid = _environ(pid), _parent(pid)
        if environ:
            yield environ


def at_a_terminal() -> bool:
    """Whether somebody sees what is asked on stderr and can type an answer."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def _confirm(type_this: str, what: str) -> None:
    short = type_this.rpartition("/")[2]
    either = type_this if short == type_this else f"{type_this} or {short}"
    common.stderr.print(common.visible(f"to {what}, type {either}: "), markup=False, end="")
    common.stderr.file.flush()
    typed = sys.stdin.readline().strip()
    if typed not in (type_this, short):
        raise Refused(
            "not_confirmed",
            f"cannot {what}: {common.visible(typed)[:100]!r} was typed, expected {type_this}",
            "run the command again, and type the name if it is meant",
        )


def _environ(pid: int) -> dict[str, str]:
    try:
        text = (PROC / str(pid) / "environ").read_bytes().decode(errors="surrogateescape")
    except OSError:
        return {}
    pairs = (entry.partition("=") for entry in text.split("\0") if "=" in entry)
    return {name: value for name, _, value in pairs}


def _parent(pid: int) -> int:
    """The process that started it, 0 for none that can be found. The name before it may have spaces and brackets."""
    try:
        text = (PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return 0
    return int(text.rpartition(")")[2].split()[1])
