"""How commands create sessions and todos: read, stored, handed to the session, waited for."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from adapters.config.problems import shown_as
from adapters.config.text_file import bytes_of, text_in
from domain.errors import Cause, Refused, Unavailable
from domain.life import PlannedTodo
from domain.lifecycle import PARTIES
from domain.requests import Answer, Create, Refusal, Replace
from domain.roles.models import key_variables
from entrypoints.cli import asking, common
from entrypoints.cli.asking import Sender, malformed
from entrypoints.cli.human_options import Asked
from entrypoints.cli.person import Agent, Person, by_agent, establish, forbidden, refuse, sender
from entrypoints.imports import without_collecting

if TYPE_CHECKING:
    from adapters.config.session_file import LoadedSession
    from domain.ports import Trail
    from entrypoints.lives import Lives

Content = Annotated[str | None, typer.Option(help="What is to be done.")]
OrderFile = Annotated[Path | None, typer.Option("--file", help="An order's file (YAML or JSON), instead.")]
Ids = Annotated[list[str] | None, typer.Option("--depends-on", metavar="TODO", help="Starts after that; repeat it.")]
Criteria = Annotated[
    list[str] | None, typer.Option("--criterion", metavar="JSON", help="A further acceptance criterion; repeat it.")
]

POLL_SECONDS = 0.2
STANDSTILL_SECONDS = 60.0
"""So long no todo comes to be before somebody is told."""


def load(file: Path) -> LoadedSession:
    """The session in a file, its defaults and the project's floor applied.

    Raises `Malformed`, and `Refused` (order_changed) for a file that the worker can write and nobody trusted as it is.
    """
    loaded: LoadedSession = without_collecting("entrypoints.planning").admitted_session(file, common.settings())
    return loaded


@dataclass(frozen=True)
class Described:
    """A todo to be, as the command line has it: `content`, or the `file` of an order; and what it is a part of."""

    content: str | None
    file: Path | None
    parent: str
    depends_on: list[str] | None
    criteria: list[str] | None


def plan_todo(session: str, described: Described, asked: Asked, who: Sender) -> None:
    """Add a todo, with its subtasks, to a session, and say so. Raises `Malformed`, `Refused`, `Unavailable`."""
    name = asking.find_session(session).session
    above = _within(name, described.parent)
    text, shown, content = _written(name, described)
    who = _creator(name, above, asked, who)

    async def created(lives: Lives) -> tuple[Answer, tuple[str, ...]]:
        known = await lives.session(name)
        plans = without_collecting("entrypoints.planning")
        store = without_collecting("entrypoints.stores").build_evidence(common.settings())
        template = await plans.template_of(lives, store, known, above)
        joining = plans.joining_at(known, above)
        written = plans.Written(text, shown, described.file, content)
        planned = plans.plan(written, template, joining, who.actor, common.settings())
        by = {
            "actor": who.actor,
            "session": who.session,
            "established": who.established if isinstance(who, Person) else "said",
        }
        if isinstance(planned, Refusal):  # the session records it, and answers with it
            return await lives.ask_session(name, "create", asked.request(Create, refused=planned, **by)), ()
        await lives.need(secrets_of(planned))
        ids = tuple(todo.order.id for todo in planned)
        request = asked.request(Create, orders=plans.stored(store, planned), ids=ids, **by)
        return await lives.ask_session(name, "create", request), ids

    answer, ids = asking.run(created)
    asking.accepted(answer)
    if asked.as_json:
        facts = {"session": name, "created": ids, "status": answer.status, "sequence": answer.sequence}
        common.emit_json({**facts, "dry_run": answer.dry_run})
    for todo in () if asked.as_json else ids:
        common.out(f"would change: {name}/{todo} would be created" if answer.dry_run else f"{name}/{todo}: pending")


def _creator(session: str, above: str, asked: Asked, who: Sender) -> Sender:
    """Return who adds a todo, a person once they are established. Raises `Refused`; the session records an agent's."""
    if PARTIES[who.actor.role] == "worker":
        return who
    place = f"{session}/{above}" if above else session
    what = f"add a todo to {place}"
    found = sender(asked.sender)
    if isinstance(found, Agent):
        agent, why = found, forbidden(what, found)
        refused = Refusal(code=why.code, reason=why.reason, next_step=why.next_step)
        request = by_agent(asked.request(Create, refused=refused), agent)
        refuse(what, agent, lambda: asking.run(lambda lives: lives.ask_session(session, "create", request)))
    return establish("" if asked.dry_run else place, asked.sender, asked.yes, what=what)


def _within(session: str, todo: str) -> str:
    """The todo's id in that session, however it is spelled."""
    return todo.removeprefix(f"{session}/")


def _written(session: str, described: Described) -> tuple[str, str, bytes]:
    """What describes the todo, as YAML or JSON, what that is called, and the bytes of its file. Raises `Malformed`."""
    content, file, depends_on = described.content, described.file, described.depends_on
    if (file is None) == (content is None) or (file is not None and (depends_on or described.criteria)):
        raise malformed("--content", "the todo is described twice, or not at all", "expected --content or --file alone")
    if file is not None:
        shown = shown_as(file)
        wanted = "a todo in YAML or JSON"
        read = bytes_of(file, shown, wanted)
        return text_in(read, shown, wanted), shown, read
    fields: dict[str, Any] = {"content": content}
    if depends_on:
        fields["depends_on"] = [_within(session, one) for one in depends_on]
    if described.criteria:
        fields["acceptance_criteria"] = [_json(one) for one in described.criteria]
    return json.dumps(fields), "command line", b""


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        what = f"{common.visible(text)[:80]!r} is not JSON"
        raise malformed("--criterion", what, "expected an object such as {type, params}") from error


def secrets_of(todos: Iterable[PlannedTodo]) -> tuple[str, ...]:
    """The variables that the host's worker needs for them: their orders', and the keys of models."""
    found: tuple[str, ...] = without_collecting("entrypoints.planning").variables(todo.order for todo in todos)
    return (*found, *key_variables(common.settings().agents))


async def create_session(lives: Lives, loaded: LoadedSession, who: Person | Agent) -> bool:
    """Open the session; False where there was one of that id. Raises `Unavailable`, `Refused` for a worker.

    A session's file says how its todos are verified, and an agent writes no gate of its own (DESIGN 1.4).
    """
    if isinstance(who, Agent):
        await _refuse_agent(lives, loaded.id, who)
    planning = without_collecting("entrypoints.planning")
    store = without_collecting("entrypoints.stores").build_evidence(common.settings())
    asked = planning.new_session(loaded, store, common.open_trail().store_id(), who.actor, common.settings())
    asked = asked.model_copy(update={"established": who.established})
    return await lives.open_session(asked, f"session {loaded.id}")


async def _refuse_agent(lives: Lives, session: str, who: Agent) -> NoReturn:
    """Recorded where there is such a session, which alone has a trail to record it in. Raises `Refused`."""
    try:
        await lives.session(session)
    except Refused as error:
        if error.code != "unknown_session":
            raise
        raise forbidden(f"create session {session}", who) from error
    await refuse_existing(lives, session, Replace(actor=who.actor, session=who.session, marks=who.marks))


async def refuse_existing(lives: Lives, session: str, request: Replace) -> NoReturn:
    """Have it recorded that somebody wanted another list of todos. Raises `Refused` (session_exists)."""
    try:
        await lives.ask_session(session, "replace", request)
    except Refused as error:
        if error.code != "unknown_session":
            raise
    raise Refused(
        "session_exists",
        f"there is, or was, a session {session}, and its list of todos is never replaced",
        f"add to it (countersign todo create {session} ...), or give the file another id",
    )


def wait_until_created(trail: Trail, loaded: LoadedSession) -> None:
    """Return when every todo is in the lists. Raises `Unavailable` when they do not come to be."""
    wanted, seen, moved = len(loaded.todos), -1, time.monotonic()
    while True:
        began = time.monotonic()
        state = trail.state(loaded.id)
        if state.sessions and len(state.todos) >= wanted:
            return
        if len(state.todos) != seen:
            seen, moved = len(state.todos), time.monotonic()
        elif time.monotonic() - moved > STANDSTILL_SECONDS:
            raise Unavailable(
                Cause.SYSTEM_ERROR,
                f"{seen} of {wanted} todos have been created, and for {STANDSTILL_SECONDS:g} s no other",
                f"they come by themselves once a worker can go on: countersign session show {loaded.id}",
            )
        time.sleep(max(POLL_SECONDS, 2 * (time.monotonic() - began)))
