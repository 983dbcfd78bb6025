"""What a reader of a round's report must know and no reason of the decision says."""

from __future__ import annotations

import posixpath

from pydantic import BaseModel

from domain.messages import Frozen
from domain.order import Order, OverridePolicy, Retry, Safeguards, Verification


def notices_of(order: Order, order_file: str = "", frozen: Frozen | None = None) -> tuple[str, ...]:
    """The notices on a standalone round of `order`: who did not judge, what it asks for in vain, who could write it.

    `frozen` says where the base has a secret in it.
    """
    notices: list[str] = []
    if order_file and posixpath.commonpath((order_file, order.workspace)) == posixpath.normpath(order.workspace):
        notices.append("the order lies in the workspace: whoever did the work could have changed what is checked")
    verification = order.verification
    if verification.auditor.enabled and not verification.objective_only:
        notices.append("no auditor model is configured: what machines can check decided alone")
    if unheeded := _unheeded(order):
        notices.append(f"a single round does not apply {', '.join(unheeded)}: they are for a todo's whole life")
    notices += [
        f"the base has the value of the secret {leak.secret} in {leak.path}: it is masked in all that is shown, and"
        " every check can read it"
        for leak in (frozen.secrets_in_base if frozen else ())
    ]
    return tuple(notices)


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
