"""The facts of a round from its parts: what `decide` is given, by the workflow and whenever a round is judged again."""

from __future__ import annotations

from domain.checks import CheckResult, items_of, subjective_of
from domain.decision import Facts
from domain.messages import ScopeResult
from domain.order import Order


def facts_of(
    order: Order, scope: ScopeResult | None, results: tuple[CheckResult, ...], refused: str = "", unknown: str = ""
) -> Facts:
    """Everything a round of `order` learned; `refused` and `unknown` as in `Facts`."""
    return Facts(
        expected=frozenset(item.id for item in items_of(order)),
        results=results,
        violations=tuple(f"{v.path}: {v.kind.replace('_', ' ')}" for v in scope.violations) if scope else (),
        refused=refused,
        unknown=unknown,
        changed_inputs=scope.changed_inputs if scope else (),
        subjective_required=frozenset(c.id for c in subjective_of(order) if c.required),
        criteria=len(order.acceptance_criteria),
    )
