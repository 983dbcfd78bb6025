"""What a reader of a round's report must know and no reason of the decision says."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from pydantic import BaseModel

from domain.messages import Frozen
from domain.order import Order, OverridePolicy, Retry, Safeguards, Verification
from domain.roles.names import Role
from domain.roles.results import DisputeRecord
from domain.suite.scripts import run_by_checks


def notices_of(
    order: Order,
    frozen: Frozen | None = None,
    *,
    alone: bool = True,
    scripted: Collection[Role] = (),
) -> tuple[str, ...]:
    """Return the notices on a round of `order`: what it asks for in vain, secrets in the base, scripted roles.

    `frozen` says where the base has a secret in it. `alone`: no todo's life applies what a single round does not.
    `scripted`: the roles in whose place a file answered. What is so in every honest round is not a notice: who
    judged, and in which process, is in the report's own fields.
    """
    notices: list[str] = []
    if scripted:
        notices.append(f"{_whose(scripted)} scripted: no model judged")
    if alone and (unheeded := _unheeded(order)):
        notices.append(f"a single round does not apply {', '.join(unheeded)}: they are for a todo's whole life")
    notices += [
        f"the base has the value of the secret {leak.secret} in {leak.path}: it is masked in all that is shown, and"
        " every check can read it"
        for leak in (frozen.secrets_in_base if frozen else ())
    ]
    return tuple(notices)


def notices_on_disputes(order: Order, dispute: DisputeRecord | None) -> tuple[str, ...]:
    """Where nobody argued about what is disputed; where `always` has it that somebody must, it is a reason instead."""
    verification = order.verification
    if verification.adversarial == "always" and not verification.asks_auditor:
        return ("nothing is argued, although adversarial is always: the order wants no role asked",)
    if verification.adversarial == "always" or dispute is None or dispute.tiebreak:
        return ()
    named = ", ".join(each.criterion for each in dispute.disputes)
    return (f"disputed and not argued, since {dispute.why}: {named}; the auditor's word stands",)


def _whose(roles: Iterable[Role]) -> str:
    """Whose answers, as the beginning of a sentence."""
    *others, last = roles
    return f"the answers of the {', the '.join(others)} and the {last} are" if others else f"the {last}'s answers are"


def notices_on_programs(order: Order, changed: Iterable[str]) -> tuple[str, ...]:
    """Where the work decides what a check says: files that one runs, of the paths that the work changed."""
    return tuple(f"`{check}` runs {path}, which the work changed" for check, path in run_by_checks(order, changed))


def _unheeded(order: Order) -> list[str]:
    """The fields that belong to a todo's life and that the order sets, by name; a single round heeds the others."""
    verification = order.verification
    parts: tuple[tuple[str, BaseModel, BaseModel, set[str]], ...] = (
        ("safeguards", order.safeguards, Safeguards(), {"tool_retries"}),
        ("override_policy", order.override_policy, OverridePolicy(), set()),
        ("verification.retry", verification.retry, Retry(), {"include_check_output", "include_verifier_feedback"}),
    )
    found = [
        f"{name}.{field}"
        for name, given, default, heeded in parts
        for field, value in given
        if field not in heeded and value != getattr(default, field)
    ]
    if verification.on_auditor_crash != Verification().on_auditor_crash:
        found.append("verification.on_auditor_crash")
    return found
