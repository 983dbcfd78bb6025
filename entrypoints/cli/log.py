"""`countersign log`: the trail, shown and checked. It changes nothing."""

from __future__ import annotations

from typing import Annotated

import typer

from adapters.trail.chain import utc_text
from domain.events import TrailCheck, TrailRow, line, plain
from entrypoints.cli import common

EXIT_FAULTS = 1

app = typer.Typer(help="The trail: who did what, and whether it is still what was written.", no_args_is_help=True)


@app.callback()
def log() -> None:
    """The trail: who did what, and whether it is still what was written."""


@app.command()
def show(
    todo: Annotated[
        str | None, typer.Argument(metavar="TODO", help="A todo: SESSION/TODO, or TODO of the session 'local'.")
    ] = None,
    session: Annotated[str | None, typer.Option(help="Only this session.")] = None,
    attempt: Annotated[int | None, typer.Option(min=0, help="Only this attempt.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The rows as a JSON array on stdout.")] = False,
) -> None:
    """Show the trail's rows, the oldest first; everything when nothing is named.

    With --json a row's hash is the SHA-256 of the row without it, in the form of RFC 8785.

    Example: countersign log show local/wo-is-prime --attempt 1
    """
    session, name = _named(todo, session)
    rows = list(common.open_trail().rows(session, name, attempt))
    if not rows and (todo is not None or session is not None or attempt is not None):
        wanted = "/".join(plain(part) for part in (session, name) if part is not None) or "any todo"
        common.err(f"the trail has nothing of {wanted}" + (f", attempt {attempt}" if attempt is not None else ""))
        raise typer.Exit(common.EXIT_NOT_FOUND)
    if as_json:
        common.emit_json([_as_hashed(row) for row in rows])
        return
    for row in rows:
        common.out(line(row))


@app.command()
def verify(
    as_json: Annotated[bool, typer.Option("--json", help="What was found as JSON on stdout.")] = False,
) -> None:
    """Check that no row was changed, removed or added behind Countersign's back; exit code 1 if one was.

    "tail unproven" is no fault: no head outside the database confirms the last rows of that session.

    Example: countersign log verify --json
    """
    check = common.open_trail().verify()
    if as_json:
        common.emit_json(check)
    else:
        _tell(check)
    if check.faults:
        raise typer.Exit(EXIT_FAULTS)


def _named(todo: str | None, session: str | None) -> tuple[str | None, str | None]:
    """Session and todo to look for; None for any. Bytes of the command line that are no text name nothing."""
    for given in (todo, session):
        if given and not given.isprintable() and any("\ud800" <= c <= "\udfff" for c in given):
            raise typer.BadParameter(f"{given!r} is no text")
    if todo is None:
        return session, None
    if "/" not in todo and session is not None:
        return session, todo
    named, name = common.split_todo(todo)
    if session not in (None, named):
        raise typer.BadParameter(f"{todo!r} is not of the session {session!r}", param_hint="--session")
    return named, name


def _as_hashed(row: TrailRow) -> dict[str, object]:
    return {**row.model_dump(mode="json"), "timestamp": utc_text(row.timestamp)}


def _tell(check: TrailCheck) -> None:
    for fault in check.faults:
        where = f"{plain(fault.session)}/{fault.sequence}" if fault.sequence else plain(fault.session)
        common.out(common.visible(f"{where if fault.session else 'trail'}: {fault.what}"))
    for session in check.unproven:
        common.out(f"{plain(session)}: tail unproven: no head outside the database confirms its last row")
    counts = [(check.rows, "row"), (check.sessions, "session"), (len(check.faults), "fault")]
    common.out(", ".join(f"{number} {word}{'' if number == 1 else 's'}" for number, word in counts))
