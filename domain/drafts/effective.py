"""The criteria that join an order, from its specification and the checks that count. Pure; it rejects no check."""

from __future__ import annotations

from collections.abc import Iterable

from domain.criteria import Criterion, Subjective
from domain.drafts.lint import bounded
from domain.order import Order
from domain.roles.designed import DraftedCheck, SpecCriterion, Specification


def numbered(spec: Specification, order: Order) -> Specification:
    """`spec` with ids that are free beside those of `order`, each once: its own where it can, else the next ones.

    The strategist is given this one, so that a criterion has one id from then on.
    """
    taken = {c.id for c in order.acceptance_criteria} | {c.name for c in order.verification.checks}
    said = {criterion.id for criterion in spec.criteria}
    free = (
        name for n in range(1, len(taken | said) + len(spec.criteria) + 1) if (name := f"AC-{n}") not in taken | said
    )
    criteria: list[SpecCriterion] = []
    for criterion in spec.criteria:
        given = criterion if criterion.id not in taken else criterion.model_copy(update={"id": next(free)})
        taken.add(given.id)
        criteria.append(given)
    return spec.model_copy(update={"criteria": criteria})


def joining(spec: Specification, counting: Iterable[DraftedCheck]) -> tuple[Criterion, ...]:
    """Every criterion of `spec`, in its order: by its check where one of `counting` has its id, else for a judge."""
    checks = {check.id: check for check in counting}
    return tuple(_criterion(criterion, checks.get(criterion.id)) for criterion in spec.criteria)


def _criterion(criterion: SpecCriterion, check: DraftedCheck | None) -> Criterion:
    description = criterion.text.strip() or f"criterion {criterion.id} of the specification"
    if check is None:
        return Subjective(id=criterion.id, type="subjective", description=description)
    return bounded(check).model_copy(update={"description": description})
