"""`countersign verify`: the order, and the host that its round needs. The round itself is `verifying`'s.

The host takes longest to start, so it is started before this process has imported what follows the round.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from adapters.config.claim_file import load_claim
from adapters.config.defaults import NO_POLICY, Policies, ProjectPolicy
from adapters.config.in_force import authority_of
from adapters.config.order_file import load_order
from adapters.config.worker_written import refuse_authority_within
from adapters.snapshot.references import References, Unresolved
from adapters.snapshot.repository import find_repository
from domain.authority import Authority
from domain.errors import Malformed, Problem
from domain.order import BaseRevision, Order
from domain.policy_floor import shortfalls
from entrypoints import pinning
from entrypoints.cli import common
from entrypoints.evidence_store import filed_order
from entrypoints.host_files import Files
from entrypoints.imports import without_collecting
from entrypoints.names import LOCAL_SESSION, trail_file
from entrypoints.role_models import in_force, require_keys
from entrypoints.spawning import begin

if TYPE_CHECKING:
    from adapters.config.order_writing import OrderText
    from domain.claims.claim import Claim

Adversarial = Literal["auto", "always", "never"]
OrderFromBase = Annotated[
    bool,
    typer.Option(
        "--order-from-base",
        help="Take the order as the base commit has it; of one that nobody trusted, --base names that commit.",
    ),
]
SHOWN_FILES = 5
Asked = tuple[Order, str, "Claim | None", Authority, Mapping[str, str]]
"""What a round is about, in the order of `rounds.Work`."""

Options = tuple["Path | None", bool, bool, "OrderText | None"]
"""How its report is wanted, in the order of `answering.Wanted`."""


def verify(  # noqa: PLR0913 - a parameter an option
    order: Annotated[str, typer.Argument(help="A file, or the id of an order that was verified before.")],
    *,
    workspace: Annotated[
        Path | None, typer.Option(help="The tree that the agent changed, instead of the order's.")
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(help="The trusted tree: a directory, or a commit by id, branch, tag, origin/main or HEAD~2."),
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
    again: Annotated[bool, typer.Option("--again", help="Run it also where the same work has a verdict.")] = False,
    output: Annotated[Path | None, typer.Option(help="Write the report here, as JSON.")] = None,
    order_from_base: OrderFromBase = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show everything that the commands printed.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report on stdout, as JSON.")] = False,
) -> None:
    """Verify a claim: run an order's checks and criteria on a frozen copy of the work, and decide.

    An order with `fix_loop: {enabled: true}` has work that is refused repaired and verified again, a few times; what is
    verified then is written to the workspace, unless that has changed meanwhile. The report is that of the last round.

    Work that has a verdict by the same order, trees, image, configuration and version is answered from the trail. An
    order that the worker can write counts only as a person trusted it (countersign trust): any other ends with 4.

    Exit codes: 0 verified, also after a repair, 1 not verified, 2 malformed input, 3 could not tell, 4 needs a human,
    130 cancelled by Ctrl-C.

    Example: countersign verify examples/is_prime/order.yaml --workspace examples/is_prime/worker_second

    Example: countersign verify ~/orders/parser.yaml --workspace ~/src/parser --base origin/main

    Example: countersign verify examples/adversarial/order.yaml --adversarial always --verbose
    """
    policies = Policies(common.settings())
    admitted = _find_order(order, pinning.Options(workspace, base, order_from_base), policies)
    chosen = admitted.order
    policy = policies.last
    _show_base(base, chosen, admitted.note)
    claimed = None if claim is None else load_claim(claim)
    refuse_authority_within(common.settings(), Path(chosen.workspace), policy.files)
    authority = authority_of(common.settings(), policy.files).model_copy(update={"pin": admitted.pin})
    into = _save_into(order, workspace, base, chosen, policy) if save_tests else None
    chosen = _as_asked(chosen, policy, objective_only=objective_only, adversarial=adversarial)
    if output is not None:
        refuse_unwritable(output)
    asked = (chosen, admitted.file, claimed, in_force(authority, common.settings(), chosen), admitted.beside)
    wanted = (output, verbose, as_json, into)
    code = None if again or into else _remembered(asked, wanted)
    raise typer.Exit(_round(asked, wanted) if code is None else code)


def _remembered(asked: Asked, wanted: Options) -> int | None:
    """The exit code of an earlier verdict on the same, which is told; None where there is none.

    A project without a trail has a host to start first of all.
    """
    file = trail_file(common.settings())
    if file is not None and not file.exists():
        return None
    answering = without_collecting("entrypoints.cli.answering")
    code: int | None = answering.from_memory(*asked, answering.Wanted(*wanted))
    return code


def _round(asked: Asked, wanted: Options) -> int:
    """Run a round, on a host that is started before this process has imported what follows the round."""
    settings, order = common.settings(), asked[0]
    if not settings.remote and Files(settings.state_dir).alive() is None:
        require_keys(settings, order)
    begun = None if settings.remote or settings.otel else begin(settings)
    without_collecting("entrypoints.telemetry").log_errors()
    verifying = without_collecting("entrypoints.cli.verifying")
    code: int = verifying.verify(verifying.rounds.Work(*asked), begun, verifying.Wanted(*wanted))
    return code


def _show_base(asked: str | None, order: Order, note: str) -> None:
    """On stderr, the commit that a name on the command line led to, and `note`, on where the order is from."""
    if note:
        common.err(common.visible(note))
    found = order.base
    if asked is None or not isinstance(found, BaseRevision) or found.revision == asked:
        return
    own = find_repository(Path(order.workspace))
    with suppress(Unresolved):
        if own is not None and asked != "HEAD" and References(own).head() == found.revision:
            asked = f"{asked} = HEAD"
    common.err(common.visible(f"base {asked} = {found.revision}"))


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
    if without_collecting("entrypoints.cli.person").marks():
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
    name: str, options: pinning.Options, policies: ProjectPolicy | Policies = NO_POLICY
) -> pinning.Admitted:
    """The order in a file of that name, else the one that the last round of that id had, if it may decide."""
    path = Path(name)
    session, todo = common.split_todo(name)
    attempt = 0 if path.exists() or path.suffix else common.open_trail().last_attempt(session, todo)
    with filed_order(common.settings(), session, todo, attempt) if attempt else nullcontext() as stored:
        if stored is not None:
            file, pin = _origin_of(session, todo, attempt)
            found = load_order(
                stored,
                workspace=options.workspace,
                base=options.base,
                folder=file.parent if file else None,
                policy=policies,
                of_session=True,
            )
            pin_then = None if session != LOCAL_SESSION else pin
            return pinning.admit_stored(found, str(file or ""), pin_then, common.settings(), options)
    return pinning.admit_order(path, common.settings(), policies, options)


def _origin_of(session: str, todo: str, attempt: int) -> tuple[Path | None, str]:
    """The file that a decided round's order was read from, if it is known, and its pin then.

    Raises `Malformed` where the rounds of that id had their orders from several files: one of them may be an agent's.
    """
    exporting = without_collecting("entrypoints.exporting")
    trail, store = common.open_trail(), common.open_evidence()
    rows = exporting.rows_of(trail, session, todo, None if session == LOCAL_SESSION else attempt)
    kept = [row for row in exporting.verdicts_in(rows) if store.has(str(row.payload.get("record", "")))]
    records = [record for row in kept if (record := exporting.record_of(store, row)) is not None]
    files = sorted({record.input.order_file for record in records if record.input.order_file})
    if len(files) > 1:
        what = f"{todo} is the id of orders in {len(files)} files: {', '.join(files[:SHOWN_FILES])}"
        raise Malformed([_problem("ORDER", what, "expected the order's file in place of its id")])
    last = next((record for record in records if record.input.attempt == attempt), None)
    return (Path(files[0]) if files else None), (last.input.authority.pin if last else "")


def _file_of(session: str, todo: str, attempt: int) -> Path | None:
    """The file that the order of a decided round was read from, if it is known: what it names is beside that."""
    return _origin_of(session, todo, attempt)[0]


def _problem(field: str, what: str, expected: str) -> Problem:
    return Problem(file="command line", line=1, field=field, what=what, expected=expected)
