"""`countersign session`: sessions are created from files, listed, shown, paused, resumed and stopped."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from domain.errors import Unavailable
from domain.messages import Progress
from domain.requests import Answer, HumanRequest, Pause, Replace, Resume, Stop
from entrypoints.cli import asking, common, person
from entrypoints.cli.asking import As, Json, SessionName
from entrypoints.cli.human import tell
from entrypoints.cli.human_options import Asked, of_a_person
from entrypoints.cli.keeping import keep_up
from entrypoints.cli.planning import create_session, load, refuse_existing, secrets_of, wait_until_created
from entrypoints.cli.tree import duration, nested, running_nodes
from entrypoints.cli.tree import show as show_tree
from entrypoints.clocks import halts_in
from entrypoints.fix_loops import fix_loops_in
from entrypoints.host_files import Files
from entrypoints.standings import OVER, Standing

if TYPE_CHECKING:
    from entrypoints.lives import Lives

ASKED_ROUNDS = 8

app = typer.Typer(help="Sessions: todos that belong together, and what may go on in them.", no_args_is_help=True)


@app.callback()
def session() -> None:
    """Sessions: todos that belong together, and what may go on in them."""


@app.command()
def create(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A session's file, YAML or JSON.")],
    *,
    sender: As = None,
    as_json: Json = False,
) -> None:
    """Create a session and its todos. Nothing is started: workers claim, or `countersign run` drives them.

    Example: countersign session create examples/session.yaml
    """
    who = person.sender(sender)
    loaded = load(file)

    async def created(lives: Lives) -> None:
        if not await create_session(lives, loaded, who):
            await refuse_existing(lives, loaded.id, Replace(actor=who.actor, session=who.session))

    asking.run(created, secrets_of(loaded.todos))
    trail = common.open_trail()
    wait_until_created(trail, loaded)
    _show(_standing(loaded.id), as_json=as_json)


@app.command("list")
def list_sessions(as_json: Json = False) -> None:
    """List the sessions, the oldest first.

    Example: countersign session list --json
    """
    keep_up()
    views = sorted(common.open_trail().state().sessions, key=lambda view: (view.created_at, view.session))
    if as_json:
        common.emit_json([view.model_dump(mode="json") for view in views])
        return
    now = datetime.now(UTC)
    for view in views:
        left = ""
        if view.deadline is not None and view.status not in OVER:
            left = f"  {duration((view.deadline - now).total_seconds())} left"
        todos = common.counted((view.todos, "todo"))
        common.out(common.visible(f"{view.session}  {view.status.replace('_', ' ')}  {todos}{left}"))
    if not views:
        common.out("there is no session: countersign session create FILE makes one")


@app.command()
def show(session: SessionName, as_json: Json = False) -> None:
    """Show a session as a tree of its todos: where each stands, its counters, what runs, the time it has left.

    Example: countersign session show release-7
    """
    _show(_standing(session), as_json=as_json)


@app.command()
@of_a_person
def pause(session: SessionName, *, human: Asked) -> None:
    """Let nothing new start in a session; what runs is finished. The answer comes when every todo knows.

    Example: countersign session pause release-7 --reason "the staging database is down"
    """
    _ask(session, "pause", human.request(Pause), human)


@app.command()
@of_a_person
def resume(session: SessionName, *, human: Asked) -> None:
    """Let a session go on, also in spite of todos that wait for a human.

    Example: countersign session resume release-7
    """
    _ask(session, "resume", human.request(Resume), human)


@app.command()
@of_a_person
def stop(session: SessionName, *, human: Asked) -> None:
    """End a session for good: rounds are cancelled, workers refused; todos stay where they stand.

    Example: countersign session stop release-7 --reason "superseded by release-8"
    """
    _ask(session, "stop", human.request(Stop), human)


def _ask(session: str, command: str, request: HumanRequest, human: Asked) -> None:
    name = asking.find_session(session).session
    who = person.sender(human.sender)
    if isinstance(who, person.Agent):
        asks = person.by_agent(request, who)
        person.refuse(f"{command} session {name}", who, lambda: _sent(name, command, asks))
    answer = asking.accepted(_sent(name, command, request.model_copy(update={"established": who.established})))
    if human.as_json:
        facts = asking.facts_of(answer)
        told = {field: facts[field] for field in ("status", "version", "sequence", "changed", "dry_run")}
        common.emit_json({"session": name, **told})
    else:
        tell(name, answer)


def _sent(session: str, command: str, request: HumanRequest) -> Answer:
    return asking.run(lambda lives: lives.ask_session(session, command, request))


def _standing(session: str) -> Standing:
    """As it is now; of rounds that run it says how far they are, if a host is there to say."""
    trail = common.open_trail()
    asking.find_session(session, trail)
    keep_up()
    state = trail.state(session)
    halts = halts_in(session, trail)
    loops = fix_loops_in(trail, state.todos, state.rounds)
    standing = Standing(state.sessions[0], state.todos, datetime.now(UTC), state.rounds, halts=halts, loops=loops)
    rounds = standing.running_rounds[:ASKED_ROUNDS]
    settings = common.settings()
    if not rounds or not (settings.remote or Files(settings.state_dir).alive()):
        return standing

    async def asked(lives: Lives) -> dict[str, Progress]:
        found = {one.todo: await lives.progress(one.workflow_id) for one in rounds}
        return {todo: progress for todo, progress in found.items() if progress is not None}

    try:
        nodes = {todo: running_nodes(progress) for todo, progress in asking.run(asked).items()}
    except Unavailable as error:
        common.err(common.visible(f"what runs in the rounds cannot be told now: {error.reason}"))
        return standing
    return replace(standing, nodes=nodes)


def _show(standing: Standing, *, as_json: bool) -> None:
    if as_json:
        common.emit_json(nested(standing))
    else:
        show_tree(common.stdout, standing)
