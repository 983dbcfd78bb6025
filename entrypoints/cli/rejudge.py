"""`countersign rejudge`: a decided round judged once more on its stored evidence, and whether it comes to the same.

With a model the roles are asked once more, too. What is found is `rejudging`'s and `rejudging_roles`'.
"""

from __future__ import annotations

import asyncio
import json
from typing import Annotated

import typer

from domain.errors import Malformed, Problem, Refused
from domain.rejudge import Drift, Rejudged
from domain.roles.models import EXPECTED, chosen_by, is_model
from entrypoints import exporting
from entrypoints.cli import common
from entrypoints.cli.rejudge_roles import ask, tell_roles
from entrypoints.rejudging import Rejudging

EXIT_DRIFT = 1
SHOWN = 300


def rejudge(
    name: Annotated[str, typer.Argument(metavar="TODO", help="A todo: TODO or SESSION/TODO.")],
    *,
    attempt: Annotated[int | None, typer.Option(min=1, help="Which attempt, instead of the last.")] = None,
    objective: Annotated[
        bool, typer.Option("--objective", help="Checks, decision and what was said then: no model is asked.")
    ] = False,
    model: Annotated[
        str | None, typer.Option("--model", metavar="MODEL", help="Ask the roles with this model, not with theirs.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="What was found, as JSON on stdout.")] = False,
) -> None:
    """Judge a round once more on its stored evidence: row, report, record and decision must agree.

    Without --objective its roles are asked once more, too, which costs what it costs, and held against what they said.
    No check is run and nothing is changed. Exit codes: 0 the same, 1 something differs, 3 evidence is missing or
    damaged or no model could tell, 5 there is no such round.

    Example: countersign rejudge wo-is-prime --objective
    """
    _refuse(objective=objective, model=model)
    trail, store = common.open_trail(), common.open_evidence()
    session, todo = common.split_todo(name, trail)
    number = attempt or trail.last_attempt(session, todo)
    rows = exporting.rows_of(trail, session, todo, number)
    verdict = exporting.verdict_of(rows)
    if verdict is None:
        told = f"there is no verdict on {session}/{todo}" + (f", attempt {number}" if number else "")
        common.err(common.visible(told))
        raise typer.Exit(common.EXIT_NOT_FOUND)
    found = asyncio.run(Rejudging(store, rows, verdict).run())
    if not objective and not found.damaged:
        found = found.model_copy(update={"roles": ask(rows, verdict, model or "")})
    if as_json:
        common.emit_json(found)
    else:
        _tell(found)
    if found.damaged or (found.roles and not found.roles.told):
        raise typer.Exit(common.EXIT_UNAVAILABLE)
    if found.drift or (found.roles and found.roles.drift):
        raise typer.Exit(EXIT_DRIFT)


def _refuse(*, objective: bool, model: str | None) -> None:
    """Before anything is read: a model that means nothing, or none where one would be asked."""
    agents = common.settings().agents
    problem = Problem(file="command line", line=1, field="--model", what="", expected="")
    if objective and model is not None:
        what, expected = "it is given with --objective, which asks no model", "expected one of the two"
        raise Malformed([problem.model_copy(update={"what": what, "expected": expected})])
    if model is not None and not is_model(agents, model):
        what = f"{model!r} is no model"
        raise Malformed([problem.model_copy(update={"what": what, "expected": f"expected {EXPECTED}"})])
    if not objective and model is None and not chosen_by(agents, "auditor"):
        raise Refused(
            "no_roles",
            "no model is configured that the roles could be asked with",
            "name one with --model or in [agents] of countersign.toml, or say --objective to judge the checks, the"
            " decision and what was said then",
        )


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
    if found.roles is not None:
        tell_roles(found.roles)


def _values(drift: Drift) -> str:
    if drift.where == "folder":
        return ""
    said, found = (json.dumps(value, ensure_ascii=False)[:SHOWN] for value in (drift.said, drift.found))
    return f": said {said}, found {found}"
