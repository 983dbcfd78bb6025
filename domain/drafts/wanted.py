"""Whether an order gets criteria drafted for it, and why not, in words. Whether there is a model is not known here.

Source: DESIGN 4 "designer --> strategist --> generated tests", seed `pipeline` "Designer".
"""

from __future__ import annotations

from domain.messages import ScopeResult
from domain.order import MAX_ITEMS, Order
from domain.roles.designed import MOST_PARTS


def not_wanted(order: Order, authored: frozenset[str] = frozenset()) -> str:
    """Why nothing is drafted for `order`, whatever the work is; empty where it is.

    `authored`: the ids of criteria that an agent wrote, which speak for nothing by themselves.
    """
    verification = order.verification
    if not verification.enabled:
        return "verification is disabled"
    if verification.objective_only:
        return "the order wants no role asked"
    if verification.draft == "never":
        return "the order wants nothing drafted"
    if verification.checks or any(c.deterministic and c.id not in authored for c in order.acceptance_criteria):
        return "the order says what to check"
    if len(order.acceptance_criteria) + MOST_PARTS > MAX_ITEMS:
        return "the order has no room for more criteria"
    return ""


def not_now(scope: ScopeResult) -> str:
    """Why nothing is drafted for this work, which no check could let pass; empty where it is: models cost money."""
    if scope.violations_total:
        return "the changes are out of scope"
    return "a human has to look at the changed inputs" if scope.changed_inputs else ""
