"""`countersign review`: everything a person needs to decide about a todo, on one screen, with a key for every decision.

What is shown is read from the trail's lists, store and ledger, with no host running; only a decision asks the todo.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from entrypoints.cli import common, person
from entrypoints.cli.asking import As, Json, TodoName, find_todo, malformed
from entrypoints.cli.costs import cost_of, told
from entrypoints.cli.human_options import KEY_VARIABLE
from entrypoints.cli.keeping import keep_up
from entrypoints.imports import without_collecting
from entrypoints.review.masking import masked
from entrypoints.review.page import Page
from entrypoints.review.reading import Load, read_page
from entrypoints.review.sections import sections


def review(
    todo: TodoName,
    *,
    attempt: Annotated[int | None, typer.Option(min=1, help="Which attempt, instead of the last claim's.")] = None,
    plain: Annotated[bool, typer.Option("--plain", help="Print the same as text, and ask for nothing.")] = False,
    key: Annotated[
        Path | None,
        typer.Option(metavar="FILE", envvar=KEY_VARIABLE, help="Sign what is decided with this SSH key."),
    ] = None,
    sender: As = None,
    as_json: Json = False,
) -> None:
    """Review a todo on one screen: difference, checks, arguments, dialogue, timeline, and a key for every decision.

    Without a terminal it prints the same as text, as with --plain.

    Example: countersign review release-7/wo-login
    """
    who = person.sender(sender)
    if key is not None and not key.is_file():
        raise malformed(
            "--key", f"there is no file {common.visible(str(key))}", "expected an SSH key, private or public"
        )
    keep_up()
    load = loader(todo)
    page = load(attempt)
    if as_json:
        common.emit_json(page)
    elif plain or not on_a_terminal():
        tell(page)
    else:
        app = without_collecting("entrypoints.review.app")
        asker = without_collecting("entrypoints.review.asking").LiveAsker(
            common.settings(), key, who, named=sender is not None
        )
        _run(app.ReviewApp(page, load, asker, who))


def loader(todo: str) -> Load:
    """Reads the page of the todo of that name. Raises `Refused` where there is none, `Malformed`, `Unavailable`."""

    def load(attempt: int | None) -> Page:
        trail = common.open_trail()
        view = find_todo(todo, trail)
        return masked(read_page(trail, common.open_evidence(), view, attempt, cost=told(cost_of(view))))

    return load


def tell(page: Page) -> None:
    """The page as text: everything that the screen has, section by section."""
    for number, section in enumerate(sections(page, full=True, syntax=common.stdout.is_terminal)):
        common.stdout.print(
            Text(f"{chr(10) if number else ''}{'---' if section.below else '==='} {section.title}", "bold")
        )
        for line in section.lines:
            common.stdout.print(line)


def on_a_terminal() -> bool:
    """Whether there is somebody who sees a screen and can type. It is drawn on stderr, so that has to be one, too."""
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return all(stream.isatty() for stream in streams) and os.environ.get("TERM", "dumb") != "dumb"


def _run(app: object) -> None:
    """To its end. A signal ends it as `q` does, so that the terminal is as it was; a defect of it is no verdict."""
    asyncio.run(_until_it_ends(app))
    if getattr(app, "return_code", 0):
        common.err("could not tell: Countersign itself failed, and the screen is gone; please report the lines above")
        raise typer.Exit(common.EXIT_UNAVAILABLE)


async def _until_it_ends(app: object) -> None:
    leave: Callable[[], None] = app.exit  # type: ignore[attr-defined] # textual is imported only where it is needed
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        loop.add_signal_handler(number, leave)
    await app.run_async()  # type: ignore[attr-defined] # as above
