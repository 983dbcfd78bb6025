"""`countersign eval`: labelled claims in, how often the verifier is right out. The rounds are `evaluating`'s.

Nothing runs before the whole data set is read and every order in it is one that a round may have.
"""

from __future__ import annotations

import asyncio
import errno
import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from adapters.config.dataset_file import LoadedClaim, LoadedDataset, load_dataset
from adapters.config.defaults import Policies
from adapters.config.worker_written import refuse_authority_within
from domain.errors import Cause, Malformed, Problem, Unavailable
from domain.policy_floor import below
from entrypoints.cli import common
from entrypoints.cli.verify import refuse_unwritable
from entrypoints.imports import without_collecting
from entrypoints.role_models import require_keys

EXIT_UNTOLD = 3
CANCELLED = 130


def evaluate(  # noqa: PLR0913 - a parameter an option
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="A file of labelled claims (YAML or JSON).")],
    *,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="STRATUM", help="Only the claims of it; repeat it.")
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, max=100, help="How many rounds each claim has.")] = 1,
    at_once: Annotated[int, typer.Option("--at-once", min=1, max=64, help="How many rounds run at once.")] = 2,
    objective_only: Annotated[bool, typer.Option("--objective-only", help="Ask no language model.")] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Take what is decided already on the same order and work; run the rest.")
    ] = False,
    from_stored: Annotated[
        bool, typer.Option("--from-stored", help="Take what is decided already, and run nothing.")
    ] = False,
    output: Annotated[Path | None, typer.Option(help="Write figures and verdicts here, as JSON.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print figures and verdicts on stdout, as JSON.")] = False,
) -> None:
    """Measure how often verdicts are right: run claims whose truth is known, and count.

    Exit codes: 0 done, 2 malformed input, 3 some claim could not be told.

    Example: countersign eval examples/evaluation/dataset.yaml
    """
    loaded = load_dataset(dataset, Policies(common.settings()))
    claims = _chosen(loaded, only)
    if objective_only:
        claims = [_objective(claim) for claim in claims]
    for claim in claims:
        refuse_authority_within(common.settings(), Path(claim.order.workspace), claim.policy.files)
    if output is not None:
        refuse_unwritable(output)
    if not from_stored:
        for claim in claims:
            require_keys(common.settings(), claim.order)
    evaluating = without_collecting("entrypoints.evaluating")
    plan = evaluating.Plan(rounds, at_once, stored=resume or from_stored, run=not from_stored)
    telling = without_collecting("entrypoints.cli.render_eval")
    seen = telling.Progress(common.stderr, rounds * len(claims))
    evaluation = evaluating.Evaluation(common.settings(), common.open_trail(), common.open_evidence(), plan, seen.see)
    try:
        verdicts = asyncio.run(evaluation.run(claims))
    except KeyboardInterrupt:
        common.err("cancelled: what is decided is stored, and --resume takes it")
        raise typer.Exit(CANCELLED) from None
    found = telling.Evaluated.of(loaded.id, plan.rounds, verdicts)
    if output is not None:
        _write(output, json.dumps(found.model_dump(mode="json"), indent=2) + "\n")
    if as_json:
        common.emit_json(found)
    else:
        telling.show(common.stdout, found)
    if found.figures.all.untold:
        raise typer.Exit(EXIT_UNTOLD)


def _write(output: Path, text: str) -> None:
    try:
        output.write_text(text)
    except OSError as error:
        raise Unavailable(
            Cause.DISK_FULL if error.errno == errno.ENOSPC else Cause.STORE_UNAVAILABLE,
            f"the figures cannot be written to {output}: {error.strerror}",
            "run it again with --from-stored: every verdict is stored",
        ) from error


def _chosen(loaded: LoadedDataset, only: list[str] | None) -> list[LoadedClaim]:
    """The claims of the strata that are wanted. Raises `Malformed` for one that no claim is of."""
    strata = list(dict.fromkeys(claim.label.stratum for claim in loaded.claims))
    unknown = [name for name in only or () if name not in strata]
    if unknown:
        expected = f"expected one of {', '.join(strata)}"
        raise Malformed([_problem("--only", f"no claim is of {name!r}", expected) for name in unknown])
    return [claim for claim in loaded.claims if not only or claim.label.stratum in only]


def _objective(claim: LoadedClaim) -> LoadedClaim:
    """The same claim with no model asked, as far as the project allows that."""
    verification = claim.order.verification.model_copy(update={"objective_only": True})
    order = claim.order.model_copy(update={"verification": verification})
    if lower := below(claim.policy.floor, order):
        raise Malformed([_problem("--objective-only", lower[0], "expected it to be left out")])
    return replace(claim, order=order)


def _problem(field: str, what: str, expected: str) -> Problem:
    return Problem(file="command line", line=1, field=field, what=what, expected=expected)
