"""`countersign approve`, `override`, `reject`, `return` and `unblock`: what people decide about a todo.

Unsigned, they are recorded as unattributed; what that is enough for is the order's override policy's to say.
"""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from domain.requests import MOST_USD, Approve, Override, Reject, Return, Unblock
from entrypoints.cli.asking import As, Json, Sender, TodoName, ask_todo, malformed, sender_of

Reason = Annotated[str, typer.Option(help="Why, for whoever reads the trail.")]


def approve(todo: TodoName, *, reason: Reason = "", sender: As = None, as_json: Json = False) -> None:
    """Countersign a claim yourself: only where everything required passed on the tree as it is now.

    Example: countersign approve release-7/wo-login --reason "looked at it with Ann"
    """
    who = _human(sender)
    ask_todo(todo, "approve", Approve(actor=who.actor, session=who.session, reason=reason), as_json=as_json)


def override(
    todo: TodoName,
    *,
    kind: Annotated[
        Literal["check", "verifier", "direct"],
        typer.Option(help="What is overruled: failed checks, the auditor, or that there was no round at all."),
    ],
    reason: Reason = "",
    acknowledge: Annotated[
        list[str] | None,
        typer.Option("--acknowledge", metavar="NAME", help="A check or criterion that failed; name each of them."),
    ] = None,
    sender: As = None,
    as_json: Json = False,
) -> None:
    """Make a todo verified in spite of what was seen, as far as the order's override policy allows.

    Example: countersign override release-7/wo-login --kind check --acknowledge ruff --reason "the rule is wrong here"
    """
    who = _human(sender)
    named = tuple(dict.fromkeys(acknowledge or ()))
    request = Override(actor=who.actor, session=who.session, kind=kind, reason=reason, acknowledged=named)
    ask_todo(todo, "override", request, as_json=as_json)


def reject(
    todo: TodoName,
    *,
    feedback: Annotated[str, typer.Option(help="What is to be changed: the next attempt is told this first.")],
    extra_attempts: Annotated[
        int, typer.Option(min=0, max=100, help="Grant that many audits and revisions with it.")
    ] = 0,
    sender: As = None,
    as_json: Json = False,
) -> None:
    """Send a claim back, or a todo that was verified: one revision more.

    Example: countersign reject release-7/wo-login --feedback "the error message names the wrong field"
    """
    who = _human(sender)
    request = Reject(actor=who.actor, session=who.session, feedback=feedback, extra_attempts=extra_attempts)
    ask_todo(todo, "reject", request, as_json=as_json)


def give_back(  # noqa: PLR0913 - a parameter an option
    todo: TodoName,
    *,
    reason: Annotated[str, typer.Option(help="What the next attempt is told.")] = "",
    attempts: Annotated[int, typer.Option(min=1, max=100, help="How many audits and revisions more.")] = 1,
    budget: Annotated[
        float | None,
        typer.Option(metavar="USD", help="Let the fix loop go on: its loops once more, and so many US dollars."),
    ] = None,
    worker: Annotated[str | None, typer.Option(metavar="COMMAND", help="Another worker command.")] = None,
    no_worker: Annotated[bool, typer.Option("--no-worker", help="No worker command: somebody claims it.")] = False,
    sender: As = None,
    as_json: Json = False,
) -> None:
    """Give a todo that waits for a human back to a worker, with more attempts and a fresh clock.

    Example: countersign return release-7/wo-login --attempts 2 --reason "the API has moved: see docs/api.md"
    """
    if no_worker and worker is not None:
        raise malformed("--no-worker", "is given with --worker", "expected one of the two")
    if budget is not None and not 0 < budget <= MOST_USD:
        raise malformed("--budget", f"is {budget:g}", f"expected more than 0 US dollars, at most {MOST_USD:,.0f}")
    who = _human(sender)
    request = Return(
        actor=who.actor,
        session=who.session,
        reason=reason,
        extra_attempts=attempts,
        cost_usd=budget or 0.0,
        worker="" if no_worker else worker,
    )
    ask_todo(todo, "return", request, as_json=as_json)


def unblock(
    todo: TodoName,
    *,
    clarification: Annotated[str, typer.Option(help="The answer to what the worker asked.")],
    sender: As = None,
    as_json: Json = False,
) -> None:
    """Answer a worker that cannot go on, so that it can.

    Example: countersign unblock release-7/wo-login --clarification "use the staging database"
    """
    who = _human(sender)
    ask_todo(
        todo, "unblock", Unblock(actor=who.actor, session=who.session, clarification=clarification), as_json=as_json
    )


def _human(said: str | None) -> Sender:
    return sender_of(said, "unattributed")
