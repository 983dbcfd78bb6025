"""The course of an audit: whether the auditor is asked, how long it has left, what a pass comes to. Pure.

What it may answer is `opinion`'s, what its word comes to `decision`'s. Source: DESIGN 4 and 3 "Timers", seed `auditor`
3.0.3 and 4.
"""

from __future__ import annotations

from collections.abc import Iterable

from domain.checks import NOTHING_TO_CHECK, CheckResult, Outcome
from domain.life import FollowUp
from domain.messages import ScopeResult
from domain.order import Order
from domain.probes import ProbeSeen
from domain.roles.opinion import Question
from domain.roles.results import PassOutcome, PassResult
from domain.verdict import Audit, AuditorOutcome

MOST_TESTS = 10
"""Checks that the auditor may have run once more in a round."""

JUDGED = frozenset(
    {AuditorOutcome.APPROVED, AuditorOutcome.CHANGES_REQUESTED, AuditorOutcome.FAILED, AuditorOutcome.BLOCKED}
)
"""What is a word on the work."""

_NO_WORD: dict[PassOutcome, AuditorOutcome] = {
    "unavailable": AuditorOutcome.UNAVAILABLE,
    "inconclusive": AuditorOutcome.INCONCLUSIVE,
    "cost_cap_exceeded": AuditorOutcome.COST_CAP,
    "timed_out": AuditorOutcome.TIMED_OUT,
}


def unasked(
    order: Order,
    scope: ScopeResult | None,
    results: Iterable[CheckResult] = (),
    probe: ProbeSeen | None = None,
    *,
    undrafted: str = "",
) -> str:
    """Why the auditor is not asked, in words; empty where it is.

    `scope`: None where there is no tree to speak of; `undrafted`: why checks could not be drafted, as in `Facts`. What
    could not run is tried again first: no word of the auditor's would make a verdict of such a round, and each try
    would pay for another one.
    """
    if not order.verification.asks_auditor:
        return "not asked for"
    if scope is None:
        return "no tree to look at"
    if scope.violations_total:
        return "the changes are out of scope"
    gates = [result for result in results if result.required]
    if any(result.code == NOTHING_TO_CHECK for result in gates) and not any(r.outcome is Outcome.FAILED for r in gates):
        return "a required check has nothing to check: a person decides"
    required = [result.outcome for result in gates]
    unknown = Outcome.COULD_NOT_RUN in required or (probe is not None and probe.unknown) or bool(undrafted)
    return "what could not run is tried again first" if unknown and Outcome.FAILED not in required else ""


def most_passes(order: Order) -> int:
    """How many passes a stage may take: one that answers, and one for each pause that it may make."""
    return 1 + order.safeguards.follow_ups + MOST_TESTS


def time_left(order: Order, passes: Iterable[PassResult]) -> float:
    """Seconds that are left of the audit's: only passes take of them, no open question and no check."""
    return order.safeguards.audit_timeout - sum(result.seconds for result in passes)


def follow_up(order: Order, attempt: int, number: int, asked: Question) -> FollowUp:
    """The question as the todo is asked it; `number` counts those of the round from 1."""
    return FollowUp(
        attempt=attempt,
        question=asked.question,
        evidence_requested=tuple(asked.evidence_requested),
        reason=asked.reason,
        round=number,
        of=order.safeguards.follow_ups,
        timeout=order.safeguards.follow_up_timeout,
    )


def audit_of(last: PassResult) -> Audit | None:
    """What an audit comes to that ended with this pass; None where nobody judges, since no model is configured.

    A pass that ends it without an answer, or with none to be heard, is inconclusive.
    """
    if last.outcome == "not_configured":
        return None
    if last.outcome == "answered" and last.audit is not None:
        return last.audit
    outcome = _NO_WORD.get(last.outcome, AuditorOutcome.INCONCLUSIVE)
    return Audit(outcome=outcome, feedback=last.why or f"a pass of the auditor's ended with {last.outcome!r}")
