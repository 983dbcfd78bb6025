"""What commands on sessions and todos share: which one is meant, who asks, and what is said of the answer.

Nothing is decided here: the workflow answers, and what it refuses it has recorded.
"""

from __future__ import annotations

import asyncio
import getpass
import re
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeVar

import typer

from domain.actors import ACTOR_VARIABLE
from domain.errors import Malformed, Problem, Refused
from domain.events import Actor, Role
from domain.read_model import SessionView, TodoView
from domain.requests import Answer, Request
from domain.status import TodoStatus
from entrypoints.cli import common
from entrypoints.imports import without_collecting
from entrypoints.names import LOCAL_SESSION
from entrypoints.standalone import refuse_standalone

if TYPE_CHECKING:
    from domain.ports import Trail
    from entrypoints.lives import Lives

T = TypeVar("T")

ROLES: dict[str, Role] = {"worker": "worker", "human": "unattributed", "unattributed": "unattributed"}
"""Who may be spoken as: without a signature a human is unattributed (DESIGN 5). The other roles are Countersign's."""

As = Annotated[
    str | None,
    typer.Option(
        "--as",
        metavar="ROLE:NAME[@SESSION]",
        envvar=ACTOR_VARIABLE,
        help="Who asks: worker or human, with a name, and the session that a worker belongs to.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Machine-readable on stdout.")]
TodoName = Annotated[str, typer.Argument(metavar="TODO", help="SESSION/TODO, or TODO where one session has it.")]
SessionName = Annotated[str, typer.Argument(metavar="SESSION", help="The id of a session.")]

_SENDER = re.compile(r"(?P<role>[a-z]+)(?::(?P<name>[^@]*)(?:@(?P<session>[^@]+))?)?")


@dataclass(frozen=True)
class Sender:
    """Who asks, and the session that they belong to, empty for any."""

    actor: Actor
    session: str = ""


def sender_of(said: str | None, role: Role) -> Sender:
    """Who `--as` names, else the user in that role. Raises `Malformed`."""
    if said is None:
        return Sender(Actor(role=role, identity=getpass.getuser()))
    role_said, colon, name = said.partition(":")
    if ROLES.get(role_said) == "unattributed" and colon:  # a person's name may well be an address
        return Sender(Actor(role="unattributed", identity=name or getpass.getuser()))
    found = _SENDER.fullmatch(said)
    if found is None or found["role"] not in ROLES:
        raise malformed(
            "--as", f"{common.visible(said)!r} names nobody", "expected worker:NAME[@SESSION] or human:NAME"
        )
    actor = Actor(role=ROLES[found["role"]], identity=found["name"] or getpass.getuser())
    return Sender(actor, found["session"] or "")


def malformed(field: str, what: str, expected: str) -> Malformed:
    """Something wrong on the command line."""
    return Malformed([Problem(file="command line", line=1, field=field, what=what, expected=expected)])


def find_session(name: str, trail: Trail | None = None) -> SessionView:
    """The session of that id. Raises `Refused` (unknown_session, exit code 5), `Unavailable`."""
    found = (trail or common.open_trail()).state(name).sessions
    if not found:
        next_step = "countersign session list says which there are; session create makes one"
        raise Refused("unknown_session", f"there is no session {name}", next_step)
    return found[0]


def find_todo(name: str, trail: Trail | None = None) -> TodoView:
    """The todo of that name: SESSION/TODO, or TODO where one session has it, else a standalone round of that id.

    Raises `Refused` (unknown_todo, exit code 5), `Malformed` for a name that several have, `Unavailable`.
    """
    session, slash, todo = name.rpartition("/")
    found = (trail or common.open_trail()).state(session if slash else None, todo).todos
    if not slash:
        found = tuple(view for view in found if view.session != LOCAL_SESSION) or found
    if len(found) == 1:
        return found[0]
    if not found:
        next_step = "countersign session list, then countersign todo list SESSION, say which there are"
        raise Refused("unknown_todo", f"there is no todo {name}", next_step)
    spelled = ", ".join(f"{view.session}/{view.todo}" for view in found)
    raise malformed("TODO", f"{name} is a todo of {len(found)} sessions", f"expected one of {spelled}")


def find_managed(name: str, command: str, trail: Trail | None = None) -> TodoView:
    """The todo of a session of that name, for what a standalone round does not take. Raises as `find_todo` does, and
    `Refused` (stands_alone).
    """
    view = find_todo(name, trail)
    refuse_standalone(view, command)
    return view


def run(ask: Callable[[Lives], Coroutine[Any, Any, T]], secrets: tuple[str, ...] = ()) -> T:
    """What `ask` comes to, with the server and worker that it needs, up if need be."""
    lives = without_collecting("entrypoints.lives")

    async def opened() -> T:
        return await ask(await lives.open_lives(common.settings(), secrets))

    return asyncio.run(opened())


def ask_todo(name: str, command: str, request: Request, *, as_json: bool) -> Answer:
    """Ask the todo, and say what it answers. Raises `Refused` with what it refuses."""
    view = find_managed(name, command)
    answer = run(lambda lives: lives.ask_todo(view.session, view.todo, command, request))
    tell_todo(view.session, view.todo, answer, as_json=as_json)
    return answer


def tell_todo(session: str, todo: str, answer: Answer, *, as_json: bool) -> None:
    """Where the todo stands now. Raises `Refused` with what was refused."""
    accepted(answer)
    if as_json:
        common.emit_json({"session": session, "todo": todo, **facts_of(answer)})
        return
    common.out(f"{session}/{todo}: {answer.status} ({answer.review_status}), version {answer.version}")
    if answer.snapshot:
        common.out(f"snapshot {answer.snapshot}")
    for label, evidence in answer.evidence.items():
        common.out(common.visible(f"evidence [{label}] {evidence}"))


def facts_of(answer: Answer) -> dict[str, Any]:
    """An answer as JSON has it."""
    return answer.model_dump(mode="json", exclude={"refused"})


def accepted(answer: Answer) -> Answer:
    """The answer, if it is none that refuses. Raises `Refused`."""
    if answer.refused is not None:
        refuse(answer)
    return answer


def refuse(answer: Answer) -> NoReturn:
    """Say what was refused, with the workflow's own words."""
    assert answer.refused is not None
    raise Refused(answer.refused.code, answer.refused.reason, answer.refused.next_step)


EXIT_AT: dict[TodoStatus, int] = {
    TodoStatus.VERIFIED: 0,
    TodoStatus.FAILED: 1,
    TodoStatus.IN_PROGRESS: 1,
    TodoStatus.PENDING: 1,
    TodoStatus.CANCELLED: 1,
    TodoStatus.NEEDS_HUMAN: common.EXIT_NEEDS_HUMAN,
    TodoStatus.BLOCKED: common.EXIT_NEEDS_HUMAN,
}
"""What a verdict that left a todo there ends with, as `verify` does; a claimed one has none yet."""

COULD_NOT_TELL = frozenset({"checks_could_not_run", "system_error"})
"""Triggers of escalations that say nothing of the work: could not tell comes before needs a human (CONTRACT)."""


def exit_code_of(view: TodoView) -> int:
    """The exit code for where one todo stands."""
    if view.status is TodoStatus.NEEDS_HUMAN and view.trigger in COULD_NOT_TELL:
        return common.EXIT_UNAVAILABLE
    return EXIT_AT.get(view.status, 1)
