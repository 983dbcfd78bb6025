"""`countersign evidence`: what an attempt left to look at."""

from __future__ import annotations

import json
import re
from typing import Annotated

import typer
from rich.text import Text

from domain.report import Report
from entrypoints.cli import common
from entrypoints.cli.render import show_report

app = typer.Typer(help="What an attempt left to look at.", no_args_is_help=True)


@app.callback()
def evidence() -> None:
    """What an attempt left to look at."""


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="A todo (TODO or SESSION/TODO), or the id of one piece of evidence.")],
    attempt: Annotated[int | None, typer.Option(min=1, help="Which attempt, instead of the last.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The report, or the evidence, as JSON on stdout.")] = False,
) -> None:
    """Show an attempt's report and files, or one piece of evidence by its id.

    Example: countersign evidence show wo-is-prime --attempt 1
    """
    if re.fullmatch(r"[0-9a-f]{64}", name):
        _show_blob(name)
        return
    session, todo = common.split_todo(name)
    number = attempt or common.open_trail().last_attempt(session, todo)
    folder = common.evidence_folder(session, todo, number)
    verdict = folder / "verdict.json"
    if not verdict.exists():
        common.err(
            common.visible(f"there is no report of {session}/{todo}" + (f", attempt {attempt}" if attempt else ""))
        )
        raise typer.Exit(common.EXIT_NOT_FOUND)
    report = Report.model_validate_json(verdict.read_bytes())
    if as_json:
        common.emit_json(report)
        return
    show_report(common.stdout, report, folder, page="", verbose=False)
    common.stdout.print(Text("\nfiles", "bold"))
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        common.out(f"  {file.relative_to(folder)}  {file.stat().st_size} bytes")
    common.stdout.print(Text("\nevidence", "bold"))
    for result_id, digest in [(c.id, c.evidence.id) for c in report.criteria] + [
        (c.name, c.evidence) for c in report.checks
    ]:
        common.out(common.visible(f"  {result_id}  {digest or 'none'}"))


def _show_blob(digest: str) -> None:
    store = common.open_evidence()
    if not store.has(digest):
        common.err(f"there is no evidence {digest}")
        raise typer.Exit(common.EXIT_NOT_FOUND)
    data = store.get(digest)
    try:
        common.emit_json(json.loads(data))
    except ValueError:
        common.out(common.visible(data.decode(errors="replace")))
