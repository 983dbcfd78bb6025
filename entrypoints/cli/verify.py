"""`countersign verify`: the order, and the host that its round needs. The round itself is `verifying`'s.

The host takes longest to start, so it is started before this process has imported what follows the round.
"""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from adapters.config.claim_file import load_claim
from adapters.config.defaults import NO_POLICY, ProjectPolicy, load_policy
from adapters.config.order_file import load_order
from adapters.config.settings import refuse_authority_within
from domain.errors import Malformed, Problem
from domain.order import Order
from domain.policy_floor import below
from entrypoints.cli import common
from entrypoints.evidence_store import filed_order
from entrypoints.host_files import Files
from entrypoints.imports import without_collecting
from entrypoints.role_models import require_keys
from entrypoints.spawning import begin


def verify(  # noqa: PLR0913 - a parameter an option
    order: Annotated[str, typer.Argument(help="A file, or the id of an order that was verified before.")],
    *,
    workspace: Annotated[
        Path | None, typer.Option(help="The tree that the agent changed, instead of the order's.")
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(help="The trusted tree: a directory, or a full commit id of the workspace's repository."),
    ] = None,
    claim: Annotated[
        Path | None, typer.Option(help="What the worker says it did, ran and saw (JSON): held against what is seen.")
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
    policy = load_policy(common.settings())
    chosen, order_file = _find_order(order, workspace, base, policy)
    claimed = None if claim is None else load_claim(claim)
    refuse_authority_within(common.settings(), Path(chosen.workspace))
    if objective_only:
        objective = chosen.verification.model_copy(update={"objective_only": True})
        chosen = chosen.model_copy(update={"verification": objective})
        if lower := below(policy.floor, chosen):
            raise Malformed([_problem("--objective-only", lower[0], "expected it to be left out")])
    if output is not None:
        _refuse_unwritable(output)
    if not common.settings().remote and Files(common.settings().state_dir).alive() is None:
        require_keys(common.settings(), chosen)
    begun = None if common.settings().remote or common.settings().otel else begin(common.settings())
    without_collecting("entrypoints.telemetry").log_errors()
    verifying = without_collecting("entrypoints.cli.verifying")
    work = verifying.rounds.Work(chosen, order_file, claimed)
    code = verifying.verify(work, begun, verifying.Wanted(output, verbose, as_json))
    raise typer.Exit(code)


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


def _find_order(
    name: str, workspace: Path | None, base: str | None, policy: ProjectPolicy = NO_POLICY
) -> tuple[Order, str]:
    """The order in a file of that name with that file, else the one that the last round of that id had."""
    path = Path(name)
    session, todo = common.split_todo(name)
    attempt = 0 if path.exists() or path.suffix else common.open_trail().last_attempt(session, todo)
    with filed_order(common.settings(), session, todo, attempt) if attempt else nullcontext() as stored:
        if stored is not None:
            file = _file_of(session, todo, attempt)
            folder = file.parent if file else None
            found = load_order(stored, workspace=workspace, base=base, folder=folder, policy=policy, of_session=True)
            return found, str(file) if file and found.files_beside else ""
    return load_order(path, workspace=workspace, base=base, policy=policy), str(path.resolve())


def _file_of(session: str, todo: str, attempt: int) -> Path | None:
    """The file that the order of a decided round was read from, if it is known: what it names is beside that."""
    exporting = without_collecting("entrypoints.exporting")
    verdict = exporting.verdict_of(exporting.rows_of(common.open_trail(), session, todo, attempt))
    record = exporting.record_of(common.open_evidence(), verdict) if verdict else None
    return Path(record.input.order_file) if record and record.input.order_file else None


def _problem(field: str, what: str, expected: str) -> Problem:
    return Problem(file="command line", line=1, field=field, what=what, expected=expected)
