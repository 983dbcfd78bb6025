"""`countersign log`: the trail, shown, checked, exported, and what was derived from it made anew. No row is changed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from domain.event_lines import plain
from domain.events import TrailCheck
from domain.read_model import Difference
from entrypoints.cli import common
from entrypoints.cli.log_export import check_file, export
from entrypoints.cli.log_show import show
from entrypoints.cli.log_signatures import with_signatures

EXIT_FAULTS = 1

app = typer.Typer(help="The trail: who did what, and whether it is still what was written.", no_args_is_help=True)
app.command()(show)
app.command()(export)


@app.callback()
def log() -> None:
    """The trail: who did what, and whether it is still what was written."""


@app.command()
def verify(
    exported: Annotated[
        Path | None, typer.Argument(metavar="EXPORT", help="A file of `log export`, instead of this project's trail.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", metavar="EXPORT", help="The same: a file of `log export`.")
    ] = None,
    heads: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="For an EXPORT: a copy of heads.jsonl, which proves its last rows."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="What was found as JSON on stdout.")] = False,
) -> None:
    """Check that no row was changed, removed or added behind Countersign's back; exit code 1 if one was.

    Signatures are checked again, with ssh-keygen; without it they are unproven: exit code 3.
    An EXPORT is checked offline, by nothing but the file. "tail unproven" is no fault: no head outside the database
    (or the EXPORT) confirms the last rows of that session.

    Example: countersign log verify --json
    Example: countersign log verify trail.jsonl --heads heads.jsonl
    """
    if exported and file and exported != file:
        raise typer.BadParameter(f"two exports are named, {str(exported)!r} and {str(file)!r}: give one")
    export_file = exported or file
    if heads and not export_file:
        raise typer.BadParameter("--heads goes with an EXPORT; the trail's own heads are looked at by themselves")
    for given in (export_file, heads):
        if given and not given.is_file():
            raise typer.BadParameter(f"{common.visible(str(given))!r} is no file")
    if export_file:
        check = with_signatures(check_file(export_file, heads), export_file)
    else:
        trail = common.open_trail()
        check = with_signatures(trail.verify(), trail)
    if as_json:
        common.emit_json(check)
    else:
        tell_check(check, no_heads=export_file is not None and heads is None)
    if check.faults:
        raise typer.Exit(EXIT_FAULTS)
    if check.unchecked:
        raise typer.Exit(common.EXIT_UNAVAILABLE)


@app.command()
def rebuild(
    check: Annotated[bool, typer.Option("--check", help="Repair nothing; exit code 1 when something differs.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The differences as JSON on stdout.")] = False,
) -> None:
    """Derive the lists of sessions, todos and rounds anew from the trail, and say what in the stored ones differed.

    Example: countersign log rebuild --check
    """
    found = common.open_trail().rebuild(repair=not check)
    if as_json:
        repaired = bool(found) and not check
        common.emit_json({"differences": [each.model_dump(mode="json") for each in found], "repaired": repaired})
    else:
        for each in found:
            common.out(_difference(each))
        common.out(common.counted((len(found), "difference")) + (", repaired" if found and not check else ""))
    if found and check:
        raise typer.Exit(EXIT_FAULTS)


def tell_check(check: TrailCheck, *, no_heads: bool = False) -> None:
    """Each fault, each tail that nothing proves, then how many there were of what."""
    for fault in check.faults:
        where = f"{plain(fault.session)}/{fault.sequence}" if fault.sequence else plain(fault.session)
        common.out(common.visible(f"{where if fault.session else 'trail'}: {fault.what}"))
    if no_heads and check.unproven:
        common.out(
            "tails unproven: no file of heads was given (--heads), so rows may be missing at every session's end"
        )
    else:
        for session in check.unproven:
            common.out(f"{plain(session)}: tail unproven: no head outside the database confirms its last row")
    counts = [(check.rows, "row"), (check.sessions, "session"), (len(check.faults), "fault")]
    signatures = [(check.signatures, "signature")] if check.signatures else []
    common.out(common.counted(*counts, *signatures))


def _difference(difference: Difference) -> str:
    """One line: which view, and its fields that differ, stored -> derived."""
    name = "/".join(plain(part if isinstance(part, str) else str(part)) for part in difference.key)
    where = f"{difference.table} {name}"
    stored, derived = difference.stored, difference.derived
    if stored is None or derived is None:
        return f"{where}: {'missing' if stored is None else 'not in the trail'}"
    fields = [key for key in {**stored, **derived} if stored.get(key) != derived.get(key)]
    told = ", ".join(f"{key}={plain(stored.get(key))} -> {plain(derived.get(key))}" for key in fields)
    return f"{where}: {told}"
