"""`countersign verify`: the order, and the host that its round needs. The round itself is `verifying`'s.

The host takes longest to start, so it is started before this process has imported what follows the round.
"""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from adapters.config.claim_file import load_claim
from adapters.config.defaults import NO_POLICY, ProjectPolicy, load_policy
from adapters.config.order_file import load_order
from adapters.config.settings import refuse_authority_within
from domain.errors import Malformed, Problem
from domain.order import Order
from domain.policy_floor import shortfalls
from entrypoints.cli import common
from entrypoints.evidence_store import filed_order
from entrypoints.host_files import Files
from entrypoints.imports import without_collecting
from entrypoints.role_models import require_keys
from entrypoints.spawning import begin

if TYPE_CHECKING:
    from adapters.config.order_writing import OrderText

Adversarial = Literal["auto", "always", "never"]


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
    adversarial: Annotated[
        Adversarial | None,
        typer.Option(help="When an advocate and a critic argue before a judge, instead of what the order says."),
    ] = None,
    save_tests: Annotated[
        bool, typer.Option("--save-tests", help="Write the criteria that the round drafts into the order's file.")
    ] = False,
    output: Annotated[Path | None, typer.Option(help="Write the report here, as JSON.")] = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show everything that the commands printed.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report on stdout, as JSON.")] = False,
) -> None:
    """Verify a claim: run an order's checks and criteria on a frozen copy of the work, and decide.

    An order with `fix_loop: {enabled: true}` has work that is refused repaired and verified again, a few times; what is
    verified then is written to the workspace, unless that has changed meanwhile. The report is that of the last round.

    Exit codes: 0 verified, also after a repair, 1 not verified, 2 malformed input, 3 could not tell, 4 needs a human,
    130 cancelled by Ctrl-C.

    Example: countersign verify examples/is_prime/order.yaml --workspace examples/is_prime/worker_second

    Example: countersign verify examples/adversarial/order.yaml --adversarial always --verbose
    """
    policy = load_policy(common.settings())
    chosen, order_file = _find_order(order, workspace, base, policy)
    claimed = None if claim is None else load_claim(claim)
    refuse_authority_within(common.settings(), Path(chosen.workspace))
    into = _save_into(order, workspace, base, chosen, policy) if save_tests else None
    chosen = _as_asked(chosen, policy, objective_only=objective_only, adversarial=adversarial)
    if output is not None:
        refuse_unwritable(output)
    if not common.settings().remote and Files(common.settings().state_dir).alive() is None:
        require_keys(common.settings(), chosen)
    begun = None if common.settings().remote or common.settings().otel else begin(common.settings())
    without_collecting("entrypoints.telemetry").log_errors()
    verifying = without_collecting("entrypoints.cli.verifying")
    work = verifying.rounds.Work(chosen, order_file, claimed)
    code = verifying.verify(work, begun, verifying.Wanted(output, verbose, as_json, into))
    raise typer.Exit(code)


def _as_asked(order: Order, policy: ProjectPolicy, *, objective_only: bool, adversarial: Adversarial | None) -> Order:
    """The order with what the command asks for in its place. Raises `Malformed` for less than the project asks for."""
    verification = order.verification.model_copy(
        update={
            "objective_only": objective_only or order.verification.objective_only,
            "adversarial": adversarial or order.verification.adversarial,
        }
    )
    if adversarial == "always" and not verification.asks_auditor:
        why = "--objective-only asks no language model" if objective_only else "the order asks no auditor"
        raise Malformed(
            [_problem("--adversarial", f"always, and {why}", "expected one of the two, since nobody argues")]
        )
    asked = order.model_copy(update={"verification": verification})
    if lower := shortfalls(policy.floor, asked):
        option = "--adversarial" if lower[0].place[-1] == "adversarial" else "--objective-only"
        raise Malformed([_problem(option, str(lower[0]), "expected it to be left out")])
    return asked


def _save_into(name: str, workspace: Path | None, base: str | None, order: Order, policy: ProjectPolicy) -> OrderText:
    """The file that `order` is in, if criteria can be saved there. Raises `Malformed`."""
    option = "--save-tests"
    if without_collecting("entrypoints.cli.asking").acts_as_worker():
        raise Malformed([_problem(option, "a worker writes no gate", "expected a person to give the command")])
    path = Path(name)
    if not (path.exists() or path.suffix):
        session, todo = common.split_todo(name)
        known = _file_of(session, todo, common.open_trail().last_attempt(session, todo))
        if known is None:
            what = f"{name} is the id of a stored order, and its file is not known"
            raise Malformed([_problem(option, what, "expected the order's file in place of its id")])
        if load_order(known, workspace=workspace, base=base, policy=policy).digest != order.digest:
            raise Malformed([_problem(option, f"{known} is not the stored order any more", "expected the file itself")])
        path = known
    writing = without_collecting("adapters.config.order_writing")
    into: OrderText = writing.OrderText(path, Path(order.workspace), policy)
    return into


def refuse_unwritable(output: Path) -> None:
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
