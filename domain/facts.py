"""The facts of a round from its parts: what `decide` is given, by the workflow and whenever a round is judged again."""

from __future__ import annotations

from domain.checks import CheckResult, items_of, subjective_of
from domain.decision import Facts
from domain.messages import RoundRecord, ScopeResult
from domain.order import Order
from domain.probes import ProbeSeen
from domain.roles.results import DisputeRecord
from domain.verdict import Audit


def facts_of(  # noqa: PLR0913 - a round learns as many things, and each has a name
    order: Order,
    scope: ScopeResult | None,
    results: tuple[CheckResult, ...],
    refused: str = "",
    unknown: str = "",
    probe: ProbeSeen | None = None,
    authored: frozenset[str] = frozenset(),
    *,
    audit: Audit | None = None,
    dispute: DisputeRecord | None = None,
    undrafted: str = "",
    rejected: str = "",
) -> Facts:
    """Everything a round of `order` learned; `refused`, `unknown`, `authored`, `undrafted` and `rejected`
    as in `Facts`.

    `audit`: None where nobody was asked; `dispute`: None where nothing was disputed.
    """
    always = order.verification.adversarial == "always"
    return Facts(
        expected=frozenset(item.id for item in items_of(order)),
        results=results,
        violations=tuple(f"{v.path}: {v.kind.replace('_', ' ')}" for v in scope.violations) if scope else (),
        refused=refused,
        unknown=unknown,
        changed_inputs=scope.changed_inputs if scope else (),
        untested=probe.text if probe and probe.tested is False else "",
        unprobed=probe.text if probe and probe.unknown else "",
        subjective_required=frozenset(c.id for c in subjective_of(order) if c.required),
        criteria=sum(criterion.id not in authored for criterion in order.acceptance_criteria),
        authored=authored,
        audit=audit,
        tiebreak=dispute.tiebreak if dispute else None,
        unargued=dispute.why if always and dispute and not dispute.tiebreak else "",
        undrafted=undrafted,
        rejected=rejected,
    )


def passed(record: RoundRecord) -> tuple[tuple[str, ...], bool]:
    """The required checks and criteria that did not pass, in order, and whether the work could be looked at without
    any of those.
    """
    not_passed = tuple(result.id for result in record.results if result.required and not result.passed)
    return not_passed, not not_passed and record.scope is not None and not record.scope.violations_total
