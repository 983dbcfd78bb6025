"""`countersign rejudge`: a decided round judged once more on its stored evidence, and whether it comes to the same."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated

import typer

from domain.errors import Refused
from domain.rejudge import Drift, Rejudged
from entrypoints import exporting
from entrypoints.cli import common
from entrypoints.rejudging import Rejudging

EXIT_DRIFT = 1
SHOWN = 300


def rejudge(
    name: Annotated[str, typer.Argument(metavar="TODO", help="A todo: TODO or SESSION/TODO.")],
    attempt: Annotated[int | None, typer.Option(min=1, help="Which attempt, instead of the last.")] = None,
    objective: Annotated[
        bool, typer.Option("--objective", help="Checks and decision only: no model is asked.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="What was found, as JSON on stdout.")] = False,
) -> None:
    """Judge a round once more on its stored evidence: row, report, record and decision must agree.

    Nothing is run and nothing is changed. Exit codes: 0 the same, 1 something differs, 3 evidence is missing or
    damaged, 5 there is no such round.

    Example: countersign rejudge wo-is-prime --objective
    """
    if not objective:
        raise Refused(
            "no_roles",
            "rounds have no roles yet that could be asked once more",
            "say --objective to judge the checks and the decision again",
        )
    trail, store = common.open_trail(), common.open_evidence()
    session, todo = common.split_todo(name)
    number = attempt or trail.last_attempt(session, todo)
    rows = exporting.rows_of(trail, session, todo, number)
    verdict = exporting.verdict_of(rows)
    if verdict is None:
        told = f"there is no verdict on {session}/{todo}" + (f", attempt {number}" if number else "")
        common.err(common.visible(told))
        raise typer.Exit(common.EXIT_NOT_FOUND)
    folder = common.evidence_folder(session, todo, number)
    found = asyncio.run(Rejudging(store, rows, verdict, folder).run())
    if as_json:
        common.emit_json(found)
    else:
        _tell(found)
    if found.damaged:
        raise typer.Exit(common.EXIT_UNAVAILABLE)
    if found.drift:
        raise typer.Exit(EXIT_DRIFT)


def _tell(found: Rejudged) -> None:
    for digest, reason in found.damaged.items():
        common.out(common.visible(f"damaged: {digest}: {reason}"))
    for drift in found.drift:
        common.out(common.visible(f"drift: {drift.where}: {drift.field}{_values(drift)}"))
    counts = f"{len(found.rederived)} judged again from what was seen, {len(found.compared)} taken as recorded"
    common.out(common.visible(f"{found.session}/{found.todo}, attempt {found.attempt}: {counts}"))
    came = f"now it comes to {found.decided}" if found.decided else "it cannot be decided again"
    same = not found.damaged and not found.drift
    common.out(
        f"{'no drift' if same else 'DRIFT' if found.drift else 'INCOMPLETE'}: recorded as {found.recorded}, {came}"
    )


def _values(drift: Drift) -> str:
    if drift.where == "folder":
        return ""
    said, found = (json.dumps(value, ensure_ascii=False)[:SHOWN] for value in (drift.said, drift.found))
    return f": said {said}, found {found}"
