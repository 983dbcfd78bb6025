"""`countersign approve`, `override`, `reject`, `return` and `unblock`: what people decide about a todo.

Unsigned, they are recorded as unattributed; what that is enough for is the order's override policy's to say.
"""

from __future__ import annotations

from typing import Annotated, Literal

import typer
from pydantic import TypeAdapter

from domain.lifecycle import Command
from domain.requests import MOST_USD, Approve, Override, OverrideKind, Reject, Return, Unblock
from entrypoints.cli.asking import TodoName, find_managed, find_todo, malformed
from entrypoints.cli.human import ask
from entrypoints.cli.human_options import Human, of_a_person

_KIND: TypeAdapter[Literal["check", "verifier", "direct"]] = TypeAdapter(OverrideKind)


@of_a_person
def approve(todo: TodoName, *, human: Human) -> None:
    """Countersign a claim yourself: only where everything required passed on the tree as it is now.

    Example: countersign approve release-7/wo-login --reason "looked at it with Ann"
    """
    ask(find_todo(todo), Command.APPROVE, human.request(Approve), human)


@of_a_person
def override(
    todo: TodoName,
    *,
    kind: Annotated[
        Literal["check", "verifier", "direct", "CHECK_OVERRIDE", "VERIFIER_OVERRIDE", "DIRECT_APPROVAL"],
        typer.Option(help="What is overruled: failed checks, the auditor, or that there was no round at all."),
    ],
    acknowledge: Annotated[
        list[str] | None,
        typer.Option("--acknowledge", metavar="NAME", help="A check or criterion that failed; name each of them."),
    ] = None,
    human: Human,
) -> None:
    """Make a todo verified in spite of what was seen, as far as the order's override policy allows.

    It needs a --reason; of checks, only unless the policy says otherwise.

    Example: countersign override release-7/wo-login --kind check --acknowledge ruff --reason "the rule is wrong here"
    """
    named = tuple(dict.fromkeys(acknowledge or ()))
    request = human.request(Override, kind=_KIND.validate_python(kind), acknowledged=named)
    ask(find_todo(todo), Command.OVERRIDE, request, human)


@of_a_person
def reject(
    todo: TodoName,
    *,
    feedback: Annotated[str, typer.Option(help="What is to be changed: the next attempt is told this first.")],
    extra_attempts: Annotated[
        int, typer.Option(min=0, max=100, help="Grant that many audits and revisions with it.")
    ] = 0,
    human: Human,
) -> None:
    """Send a claim back, or a todo that was verified: one revision more.

    Example: countersign reject release-7/wo-login --feedback "the error message names the wrong field"
    """
    request = human.request(Reject, feedback=feedback, extra_attempts=extra_attempts)
    ask(find_todo(todo), Command.REJECT, request, human)


@of_a_person
def give_back(
    todo: TodoName,
    *,
    attempts: Annotated[int, typer.Option(min=1, max=100, help="How many audits and revisions more.")] = 1,
    budget: Annotated[
        float | None,
        typer.Option(metavar="USD", help="Let the fix loop go on: its loops once more, and so many US dollars."),
    ] = None,
    worker: Annotated[str | None, typer.Option(metavar="COMMAND", help="Another worker command.")] = None,
    no_worker: Annotated[bool, typer.Option("--no-worker", help="No worker command: somebody claims it.")] = False,
    human: Human,
) -> None:
    """Give a todo that waits for a human back to a worker, with more attempts and a fresh clock.

    The next attempt is told the --reason.

    Example: countersign return release-7/wo-login --attempts 2 --reason "the API has moved: see docs/api.md"
    """
    if no_worker and worker is not None:
        raise malformed("--no-worker", "is given with --worker", "expected one of the two")
    if budget is not None and not 0 < budget <= MOST_USD:
        raise malformed("--budget", f"is {budget:g}", f"expected more than 0 US dollars, at most {MOST_USD:,.0f}")
    other = "" if no_worker else worker
    request = human.request(Return, extra_attempts=attempts, cost_usd=budget or 0.0, worker=other)
    ask(find_managed(todo, "return"), Command.RETURN, request, human)


@of_a_person
def unblock(
    todo: TodoName,
    *,
    clarification: Annotated[str, typer.Option(help="The answer to what the worker asked.")],
    human: Human,
) -> None:
    """Answer a worker that cannot go on, so that it can.

    Example: countersign unblock release-7/wo-login --clarification "use the staging database"
    """
    ask(find_managed(todo, "unblock"), Command.UNBLOCK, human.request(Unblock, clarification=clarification), human)
