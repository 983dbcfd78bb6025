"""`countersign evidence show`: what an attempt left to look at, as the store has it. It changes nothing."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Annotated

import typer
from rich.text import Text

from domain.excerpts import DIFF
from domain.headline import name_of
from domain.ports import EvidenceStore
from domain.report import Report
from domain.report_lines import CheckReport, CriterionReport
from entrypoints import exporting
from entrypoints.cli import common
from entrypoints.cli.evidence_export import export
from entrypoints.cli.evidence_prune import prune
from entrypoints.cli.render import show_report

app = typer.Typer(help="What an attempt left to look at.", no_args_is_help=True)
app.command()(export)
app.command()(prune)


@app.callback()
def evidence() -> None:
    """What an attempt left to look at."""


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="A todo (TODO or SESSION/TODO), or the id of one piece of evidence.")],
    attempt: Annotated[int | None, typer.Option(min=1, help="Which attempt, instead of the last.")] = None,
    log: Annotated[
        str | None, typer.Option(metavar="CHECK", help="Everything that a check or criterion printed, by its name.")
    ] = None,
    names: Annotated[bool, typer.Option("--names", help="Only the names of the files and of the evidence.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The report, or the evidence, as JSON on stdout.")] = False,
) -> None:
    """Show an attempt's report and files, or one piece of evidence by its id.

    Shown is what the trail says was filed; where the folder has something else, a warning says so.

    Example: countersign evidence show wo-is-prime --attempt 1

    Example: countersign evidence show wo-is-prime --attempt 1 --log AC-4
    """
    if re.fullmatch(r"[0-9a-f]{64}", name):
        _show_blob(name)
        return
    trail, store = common.open_trail(), common.open_evidence()
    session, todo = common.split_todo(name, trail)
    number = attempt or trail.last_attempt(session, todo)
    verdict = exporting.verdict_of(exporting.rows_of(trail, session, todo, number))
    if verdict is None:
        common.err(
            common.visible(f"there is no report of {session}/{todo}" + (f", attempt {attempt}" if attempt else ""))
        )
        raise typer.Exit(common.EXIT_NOT_FOUND)
    files = exporting.attempt_folder(store, verdict)
    folder = store.place_of(session, todo, number)
    for edited in exporting.edited(store, verdict, files):
        common.err(common.visible(f"warning: {edited}; shown is what was filed"))
    report = Report.model_validate_json(files["verdict.json"])
    if log is not None:
        _show_log(report, files, store, log, as_json=as_json)
        return
    if as_json:
        common.emit_json(_names(files, report) if names else report)
        return
    if not names:
        show_report(common.stdout, report, folder, page="", verbose=False)
    _list(folder, files, report)


def _list(folder: str, files: Mapping[str, bytes], report: Report) -> None:
    common.stdout.print(Text("\nfiles", "bold"), Text(common.visible(folder), "dim"))
    for name, data in sorted(files.items()):
        common.out(f"  {name}  {len(data)} bytes")
    common.stdout.print(Text("\nevidence", "bold"))
    for result_id, digest in _ids(report).items():
        common.out(common.visible(f"  {result_id}  {digest or 'none'}"))


def _show_log(report: Report, files: Mapping[str, bytes], store: EvidenceStore, name: str, *, as_json: bool) -> None:
    """Everything that is kept of what `name` printed, run by run: head and tail of 1 MiB together where it was more."""
    lines: tuple[CriterionReport | CheckReport, ...] = (*report.criteria, *report.checks)
    stored = {name_of(line): line.evidence if isinstance(line, CheckReport) else line.evidence.id for line in lines}
    if name == DIFF:
        runs = [{"stdout": files[DIFF].decode(errors="replace"), "stderr": ""}]
    elif name in stored:
        body = json.loads(store.get(stored[name])) if stored[name] else {}
        found = body.get("findings") or [body["finding"]] if "finding" in body else []
        runs = [{key: run[key] for key in ("outcome", "exit_code", "stdout", "stderr")} for run in found]
    else:
        known = ", ".join([*stored, DIFF])
        common.err(common.visible(f"cannot show a log: {name!r} is not a check of this attempt. Name one of: {known}"))
        raise typer.Exit(common.EXIT_NOT_FOUND)
    if as_json:
        common.emit_json({"name": name, "runs": runs})
        return
    for number, run in enumerate(runs, 1):
        if len(runs) > 1:
            common.err(f"run {number} of {len(runs)}: {run['outcome']}")
        for stream in ("stdout", "stderr"):
            if run[stream]:
                common.out(common.visible(run[stream].removesuffix("\n")))
    if not any(run["stdout"] or run["stderr"] for run in runs):
        common.err(common.visible(f"{name} printed nothing"))


def _names(files: Mapping[str, bytes], report: Report) -> dict[str, object]:
    return {"files": {name: len(data) for name, data in sorted(files.items())}, "evidence": _ids(report)}


def _ids(report: Report) -> dict[str, str]:
    """The id of the evidence of each criterion and check, and of each conversation with a role and its answer."""
    asked = [(f"{audit.role}/{audit.stage}/{audit.part}", audit.said, audit.messages) for audit in report.audits]
    further = [each for part in (report.draft, report.judgement) if part for each in part.passes]
    parts: Counter[str] = Counter()
    for each in further:
        asked.append((f"{each.role}/{each.stage}/{parts[each.role]}", each.said, each.messages))
        parts[each.role] += 1
    told = {
        f"{name} {what}": digest
        for name, said, messages in asked
        for what, digest in (("said", said), ("messages", messages))
        if digest
    }
    return {**{c.id: c.evidence.id for c in report.criteria}, **{c.name: c.evidence for c in report.checks}, **told}


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
