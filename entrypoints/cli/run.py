"""`countersign run`: a session from a file, or one that is there, driven until it is over or waits for a human."""

from __future__ import annotations

import asyncio
import signal
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from domain.errors import CountersignError
from domain.messages import Progress
from domain.requests import Drive
from domain.status import SessionStatus, TodoStatus
from entrypoints.cli import asking, common, inbox, person
from entrypoints.cli.asking import As, Json
from entrypoints.cli.planning import create_session, load, secrets_of
from entrypoints.cli.tree import TreeWatcher, nested, running_nodes, show
from entrypoints.imports import without_collecting
from entrypoints.standings import Standing

if TYPE_CHECKING:
    from entrypoints.lives import Lives

CANCELLED = 130


def run(
    session: Annotated[
        str, typer.Argument(metavar="SESSION", help="A session's file, or the id of one that is there.")
    ],
    *,
    sender: As = None,
    as_json: Json = False,
) -> None:
    """Run a session: its worker commands do the work, every claim is verified, until a human is needed or all is done.

    Exit codes: 0 all verified, 1 not verified, 2 malformed input, 3 could not tell, 4 needs a human.

    Example: countersign run examples/session.yaml
    """
    who = person.sender(sender)
    path = Path(session)
    loaded = load(path) if path.exists() or path.suffix else None
    name = loaded.id if loaded else asking.find_session(session).session
    if loaded is None and isinstance(who, person.Agent):
        drive = Drive(actor=who.actor, session=who.session, marks=who.marks, on=True)
        person.refuse(
            f"run session {name}", who, lambda: asking.run(lambda lives: lives.ask_session(name, "drive", drive))
        )
    secrets = secrets_of(loaded.todos) if loaded else ()
    trail = common.open_trail()
    driving = without_collecting("entrypoints.driving")
    with TreeWatcher(common.stderr) as watcher:

        def told(standing: Standing, progress: dict[str, Progress]) -> None:
            nodes = {todo: running_nodes(one) for todo, one in progress.items()}
            watcher.see(replace(standing, nodes=nodes))

        async def driven(lives: Lives) -> Standing:
            end_as_with_ctrl_c()
            if loaded is not None and not await create_session(lives, loaded, who):
                common.err(f"session {name} is there already: going on with it as it stands, not as the file has it")
            driver = driving.Driver(common.settings(), trail, lives, name, told)
            ended: Standing = await driver.drive(who.actor, _not_told)
            return ended

        try:
            standing = asking.run(driven, secrets)
        except (KeyboardInterrupt, asyncio.CancelledError):
            common.err(f"no worker command is started any more; countersign run {name} goes on with the session")
            raise typer.Exit(CANCELLED) from None
    _tell(standing, as_json=as_json)
    raise typer.Exit(exit_code(standing))


def end_as_with_ctrl_c() -> None:
    """Who is ended by `kill`, or with its terminal, tells the session, too, that nobody drives it any more."""
    task = asyncio.current_task()
    assert task is not None, "it is what ends"
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)


def exit_code(standing: Standing) -> int:
    """The first that applies, CONTRACT: could not tell, needs a human, not verified, verified.

    A todo that was deleted counts for nothing, and a session in which nothing was verified is no success.
    """
    codes = {asking.exit_code_of(view) for view in standing.todos if view.status is not TodoStatus.CANCELLED}
    if common.EXIT_UNAVAILABLE in codes:
        return common.EXIT_UNAVAILABLE
    over = standing.session.status in (SessionStatus.COMPLETED, SessionStatus.STOPPED)
    if common.EXIT_NEEDS_HUMAN in codes or not over:
        return common.EXIT_NEEDS_HUMAN
    return 0 if codes == {0} else 1


def _not_told(error: CountersignError) -> None:
    common.err(common.visible(f"the session still starts worker commands: {error}"))


def _tell(standing: Standing, *, as_json: bool) -> None:
    if as_json:
        common.emit_json(nested(standing))
        return
    show(common.stdout, standing)
    waiting = inbox.waiting_in(standing)
    if waiting:
        common.out("\nwaits for a human:")
        inbox.tell(waiting)
