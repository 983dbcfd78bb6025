"""Which criteria and checks of a round are disputed, and why. Pure; what the judge says of them is `tiebreak`'s.

Source: DESIGN 4: the adversarial stage is a tiebreak, per disputed criterion.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from domain.checks import CheckResult, Outcome
from domain.order import Order
from domain.roles.course import JUDGED
from domain.roles.disputes import Dispute, Why
from domain.roles.results import Assessed, AuditRecord


def disputes_of(
    order: Order, results: Iterable[CheckResult], contradicted: Iterable[str], audit: AuditRecord | None
) -> tuple[Dispute, ...]:
    """What is argued about in a round of `order`, as effective there, in the order in which it is written.

    `contradicted`: the checks and criteria of which the claim says something else than was seen. `audit`: None where
    nobody was to be asked. An auditor that was asked and has no word leaves nothing to break a tie of; without a
    model for one, only `always` has anything argued.
    """
    mode = order.verification.adversarial
    if mode == "never" or not order.verification.asks_auditor or audit is None:
        return ()
    if audit.audit is None and mode == "auto":
        return ()
    if audit.audit is not None and audit.audit.outcome not in JUDGED:
        return ()
    said = {one.criterion: one for one in assessed_of(audit)}
    seen = {result.id: result.outcome for result in results}
    named, threshold = frozenset(contradicted), order.verification.confidence_threshold
    disputes = []
    for id, subjective, required in _parts(order):
        reasons: list[Why] = ["always"] if mode == "always" else []
        reasons += ["subjective"] if subjective else []
        reasons += _doubts(id, said.get(id), seen.get(id), named, threshold)
        if reasons:
            disputes.append(Dispute(criterion=id, why=tuple(reasons), required=required))
    return tuple(disputes)


def assessed_of(audit: AuditRecord) -> tuple[Assessed, ...]:
    """The auditor on each criterion, once it knew everything; the blind first look counts for none."""
    return next((result.assessed for result in reversed(audit.passes) if result.audit is not None), ())


def _parts(order: Order) -> Iterator[tuple[str, bool, bool]]:
    """Each criterion and check: its id, whether only a judge can tell, whether it is required."""
    for criterion in order.acceptance_criteria:
        yield criterion.id, not criterion.deterministic, criterion.required
    for check in order.verification.checks:
        yield check.name, False, check.required


def _doubts(
    id: str, said: Assessed | None, seen: Outcome | None, contradicted: Collection[str], threshold: float
) -> Iterator[Why]:
    """What speaks against taking the word that there is."""
    if said is not None and (said.assessment == "UNPROVED" or said.confidence < threshold):
        yield "unsure"
    if id in contradicted:
        yield "contradicted"
    if said is not None and (said.assessment, seen) in (("PASS", Outcome.FAILED), ("FAIL", Outcome.PASSED)):
        yield "disagreement"
