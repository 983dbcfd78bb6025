"""`countersign verify`: one round of one order, from the file to the verdict."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Annotated

import typer

from adapters.config.order_file import load_order
from domain.decision import RoundOutcome
from domain.errors import Malformed, Problem
from domain.messages import RoundInput, RoundResult
from domain.order import Order
from domain.ports import Trail
from domain.report import Report
from entrypoints import rounds
from entrypoints.cli import common
from entrypoints.cli.render import Watcher, show_report
from entrypoints.client import LOCAL_SESSION

EXIT_CODES = {
    RoundOutcome.VERIFIED: 0,
    RoundOutcome.CHANGES_REQUESTED: 1,
    RoundOutcome.FAILED: 1,
    RoundOutcome.INCONCLUSIVE: 3,
    RoundOutcome.NEEDS_HUMAN: 4,
}
CANCELLED = 130


def verify(
    order: Annotated[str, typer.Argument(help="A file, or the id of an order that was verified before.")],
    workspace: Annotated[
        Path | None, typer.Option(help="The tree that the agent changed, instead of the order's.")
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(help="The trusted tree: a directory, or a full commit id of the workspace's repository."),
    ] = None,
    objective_only: Annotated[bool, typer.Option("--objective-only", help="Ask no language model.")] = False,
    output: Annotated[Path | None, typer.Option(help="Write the report here, as JSON.")] = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show everything that the commands printed.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report on stdout, as JSON.")] = False,
) -> None:
    """Verify a claim: run an order's checks and criteria on a frozen copy of the work, and decide.

    Exit codes: 0 verified, 1 not verified, 2 malformed input, 3 could not tell, 4 needs a human.

    Example: countersign verify examples/is_prime/order.yaml --workspace examples/is_prime/worker_second
    """
    trail = common.open_trail()
    chosen = _find_order(order, trail, workspace, base)
    if objective_only:
        objective = chosen.verification.model_copy(update={"objective_only": True})
        chosen = chosen.model_copy(update={"verification": objective})
    if output is not None and not output.resolve().parent.is_dir():
        raise Malformed([_problem("--output", f"there is no folder {output.parent}", "a file in an existing folder")])

    page: list[str] = []
    inputs: list[RoundInput] = []

    def started(request: RoundInput, server: rounds.Server) -> None:
        inputs.append(request)
        page.append(server.page(request.workflow_id))
        common.err(f"{request.workflow_id}  {page[0]}")

    with Watcher(common.stderr) as watcher:
        try:
            result = asyncio.run(rounds.verify(common.settings(), trail, chosen, started, watcher.see))
        except KeyboardInterrupt:
            common.err("cancelled: the round was ended and nothing was decided")
            raise typer.Exit(CANCELLED) from None
    report = _report(result)
    if output is not None:
        output.write_text(json.dumps(report.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n")
    if as_json:
        common.emit_json(report)
    else:
        folder = common.evidence_folder(LOCAL_SESSION, chosen.id, inputs[0].attempt)
        show_report(common.stdout, report, folder, page[0], verbose)
    raise typer.Exit(EXIT_CODES[result.decision.outcome])


def _report(result: RoundResult) -> Report:
    return Report.model_validate_json(common.open_evidence().get(result.report))


def _find_order(name: str, trail: Trail, workspace: Path | None, base: str | None) -> Order:
    """The order in a file of that name, else the one that the last round of that id had."""
    path = Path(name)
    session, todo = common.split_todo(name)
    attempt = 0 if path.exists() or path.suffix else trail.last_attempt(session, todo)
    stored = common.evidence_folder(session, todo, attempt) / "spec.json"
    if attempt and stored.exists():
        path = stored
    return load_order(path, workspace=workspace, base=base)


def _problem(field: str, what: str, expected: str) -> Problem:
    return Problem(file="command line", line=1, field=field, what=what, expected=expected)
