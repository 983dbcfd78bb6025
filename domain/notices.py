"""What a reader of a round's report must know and no reason of the decision says."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable

from pydantic import BaseModel

from domain.checks import CheckResult
from domain.messages import Frozen
from domain.order import Order, OverridePolicy, Retry, Safeguards, Verification
from domain.roles.names import Role
from domain.roles.results import DisputeRecord
from domain.suite.scripts import run_by_checks


def notices_of(
    order: Order,
    order_file: str = "",
    frozen: Frozen | None = None,
    results: Iterable[CheckResult] = (),
    *,
    alone: bool = True,
    audited: bool = False,
    scripted: Collection[Role] = (),
) -> tuple[str, ...]:
    """The notices on a round of `order`: who did not judge, what it asks for in vain, who could write it.

    `frozen` says where the base has a secret in it, `results` whether anything was compared out of the work's reach.
    `alone`: no todo's life applies what a single round does not. `audited`: an auditor judged, or was not asked for
    another reason than that there is none; `scripted`: the roles in whose place a file answered.
    """
    notices: list[str] = []
    if order_file and posixpath.commonpath((order_file, order.workspace)) == posixpath.normpath(order.workspace):
        notices.append("the order lies in the workspace: whoever did the work could have changed what is checked")
    verification = order.verification
    if verification.auditor.enabled and not verification.objective_only and not audited:
        notices.append("no auditor model is configured: what machines can check decided alone")
    if scripted:
        notices.append(f"{_whose(scripted)} scripted: no model judged")
    if alone and (unheeded := _unheeded(order)):
        notices.append(f"a single round does not apply {', '.join(unheeded)}: they are for a todo's whole life")
    notices += [
        f"the base has the value of the secret {leak.secret} in {leak.path}: it is masked in all that is shown, and"
        " every check can read it"
        for leak in (frozen.secrets_in_base if frozen else ())
    ]
    ran = [result for result in results if result.required and result.isolation != "not_run"]
    if ran and all(result.isolation == "in_process" for result in ran):
        notices.append(
            "everything required ran in one process with the code under test (in_process): a python_call, cli_io or"
            " http_response criterion is compared where that code has no say"
        )
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
