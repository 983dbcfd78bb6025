"""`countersign verify`: one round of one order, from the file to the verdict."""

from __future__ import annotations

import asyncio
import errno
import json
import os
from pathlib import Path
from typing import Annotated

import typer

from adapters.config.order_file import load_order
from adapters.config.settings import refuse_authority_within
from domain.decision import RoundOutcome
from domain.errors import Cause, Malformed, Problem, Unavailable
from domain.messages import RoundInput, RoundResult
from domain.order import Order
from domain.ports import Trail
from domain.report import Report
from entrypoints import rounds
from entrypoints.cli import common
from entrypoints.cli.render import Watcher, show_report
from entrypoints.names import LOCAL_SESSION

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
    chosen, order_file = _find_order(order, trail, workspace, base)
    refuse_authority_within(common.settings(), Path(chosen.workspace))
    if objective_only:
        objective = chosen.verification.model_copy(update={"objective_only": True})
        chosen = chosen.model_copy(update={"verification": objective})
    if output is not None:
        _refuse_unwritable(output)

    page: list[str] = []
    inputs: list[RoundInput] = []

    def started(request: RoundInput, server: rounds.Server) -> None:
        inputs.append(request)
        page.append(server.page(request.workflow_id))
        common.err(f"{request.workflow_id}  {page[0]}")

    with Watcher(common.stderr) as watcher:
        try:
            result = asyncio.run(rounds.verify(common.settings(), trail, chosen, started, watcher.see, order_file))
        except KeyboardInterrupt:
            common.err("cancelled: the round was ended and nothing was decided")
            raise typer.Exit(CANCELLED) from None
    report = _report(result)
    if output is not None:
        _write(output, report)
    if as_json:
        common.emit_json(report)
    else:
        folder = common.evidence_folder(LOCAL_SESSION, chosen.id, inputs[0].attempt)
        show_report(common.stdout, report, folder, page[0], verbose)
    raise typer.Exit(EXIT_CODES[result.decision.outcome])


def _refuse_unwritable(output: Path) -> None:
    """Before anything runs: a file that exists must be writable, a new one needs a folder to be in."""
    if output.is_dir() or not output.name:
        what = f"{str(output)!r} is a folder"
    elif not output.parent.is_dir():
        what = f"there is no folder {str(output.parent)!r}"
    elif not os.access(output if output.exists() else output.parent, os.W_OK):
        what = f"{str(output)!r} cannot be written"
    else:
        return
    raise Malformed([_problem("--output", what, "expected a file that can be written")])


def _write(output: Path, report: Report) -> None:
    try:
        output.write_text(json.dumps(report.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n")
    except OSError as error:
        raise Unavailable(
            Cause.DISK_FULL if error.errno == errno.ENOSPC else Cause.STORE_UNAVAILABLE,
            f"the verdict is {report.verdict}, but the report cannot be written to {output}: {error.strerror}",
            f"countersign evidence show {report.work_order_id} --json prints it",
        ) from error


def _report(result: RoundResult) -> Report:
    return Report.model_validate_json(common.open_evidence().get(result.report))


def _find_order(name: str, trail: Trail, workspace: Path | None, base: str | None) -> tuple[Order, str]:
    """The order in a file of that name with that file, else the one that the last round of that id had."""
    path = Path(name)
    session, todo = common.split_todo(name)
    attempt = 0 if path.exists() or path.suffix else trail.last_attempt(session, todo)
    stored = common.evidence_folder(session, todo, attempt) / "spec.json"
    if attempt and stored.exists():
        return load_order(stored, workspace=workspace, base=base), ""
    return load_order(path, workspace=workspace, base=base), str(path.resolve())


def _problem(field: str, what: str, expected: str) -> Problem:
    return Problem(file="command line", line=1, field=field, what=what, expected=expected)
