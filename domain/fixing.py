"""The policy of the fix loop: repaired, a success, or a person's to look at. Pure; what it counts, others keep.

Source: seed `fix loop` 1 (domains, budget, termination), DESIGN 3 "Escalation triggers". Money is in micros.
"""

from __future__ import annotations

from collections.abc import Sequence

from domain.base import Message
from domain.confidence import Confidence
from domain.decision import RoundOutcome
from domain.domains import guessed_domain
from domain.messages import RoundResult
from domain.order import Order
from domain.roles.results import PassOutcome, PassResult
from domain.roles.spending import MICROS
from domain.safeguards import Trigger

LOOPED = frozenset({"docs", "system", "refactor", "polish"})
"""Domains whose work may be repaired without a person. All others are of high stakes, `unknown` among them."""


class Tally(Message):
    """What loops of a todo have used: `loops` repairs whose result went to a round or not, and what they cost."""

    loops: int = 0
    micros: int = 0


class Budget(Message):
    """The most of it: the order's, with what a human's `return --budget` added."""

    loops: int
    micros: int


class Repair(Message):
    """Another iteration: the `loop`th of at most `of`."""

    loop: int
    of: int


class Success(Message):
    """The work is verified. `notes`: what is worth saying all the same."""

    notes: tuple[str, ...] = ()


class Escalate(Message):
    """A person has to look."""

    trigger: Trigger
    reason: str


Next = Repair | Success | Escalate


def high_stakes(order: Order) -> bool:
    """Whether nothing of the order's work is to be corrected without a person."""
    return order.domain not in LOOPED


def begins(order: Order, result: RoundResult) -> bool:
    """Whether a round that ended so is the loop's to go on with: changes are requested, or PARTIAL is not enough."""
    if not order.fix_loop.enabled:
        return False
    return result.confidence is Confidence.FEEDBACK or (result.confidence is Confidence.PARTIAL and high_stakes(order))


def budget_of(order: Order, granted: Tally | None = None) -> Budget:
    """The order's budget with what was `granted` on top."""
    more = granted or Tally()
    micros = round(order.fix_loop.max_cost_usd * MICROS) + more.micros
    return Budget(loops=order.fix_loop.max_loops + more.loops, micros=micros)


def after_round(order: Order, result: RoundResult, tally: Tally, budget: Budget, estimate: int) -> Next:
    """What follows a round, of the worker's work or of a repair. `estimate`: micros that another iteration may cost."""
    told = "; ".join(reason.text for reason in result.decision.reasons)
    match result.confidence:
        case Confidence.PERFECT | Confidence.VERIFIED:
            return Success()
        case Confidence.PARTIAL if high_stakes(order):
            why = "; ".join(result.remarks) or told
            reason = f"PARTIAL is not enough in domain {order.domain}: {why}{_advice(order, result)}"
            return Escalate(trigger="high_stakes", reason=reason)
        case Confidence.PARTIAL:
            return Success(notes=result.remarks or tuple(reason.text for reason in result.decision.reasons))
        case Confidence.FAILED:
            return Escalate(trigger="checks_could_not_run", reason=f"the harness could not tell: {told}")
        case Confidence.FEEDBACK if high_stakes(order):
            reason = f"nothing of domain {order.domain} is corrected by itself: {told}{_advice(order, result)}"
            return Escalate(trigger="high_stakes", reason=reason)
        case Confidence.FEEDBACK if result.frozen is None or result.scope is None:
            return Escalate(trigger="could_not_apply", reason=f"there is no tree that could be repaired: {told}")
        case Confidence.FEEDBACK:
            return _within_the_budget(tally, budget, estimate, told)
    return Escalate(trigger=_trigger_of(result), reason=told)


def _within_the_budget(tally: Tally, budget: Budget, estimate: int, told: str) -> Next:
    """Another repair, where a loop and the money for it are left."""
    if tally.loops >= budget.loops:
        return Escalate(trigger="revision_cap_exceeded", reason=f"{tally.loops} of {budget.loops} loops used: {told}")
    nothing_left = tally.micros > 0 and tally.micros >= budget.micros
    if nothing_left or tally.micros + estimate > budget.micros:
        spent, more, most = (f"${micros / MICROS:.4f}" for micros in (tally.micros, estimate, budget.micros))
        reason = f"{spent} spent, another loop may cost {more}, and at most {most} may be: {told}"
        return Escalate(trigger="cost_cap_exceeded", reason=reason)
    return Repair(loop=tally.loops + 1, of=budget.loops)


def _advice(order: Order, result: RoundResult) -> str:
    """For an order that names no domain: which it could be, for a person to say. Nothing follows from it by itself."""
    if order.domain != "unknown" or result.scope is None or result.scope.changed_total > len(result.scope.changed):
        return ""
    domain = guessed_domain(change.path for change in result.scope.changed)
    return f"; the changed paths look like {domain}: say `domain: {domain}` in the order if they are" if domain else ""


def _trigger_of(result: RoundResult) -> Trigger:
    """Of a round that is no repair's to answer: a hard fail, or what it asks a human for itself."""
    if result.decision.outcome is RoundOutcome.FAILED:
        return "hard_fail"
    return result.decision.trigger or "system_error"  # type: ignore[return-value] # a Trigger by `decide`


_NOT_FIXED: dict[PassOutcome, Trigger] = {
    "timed_out": "timeout",
    "cost_cap_exceeded": "cost_cap_exceeded",
}


def after_fix(passed: PassResult) -> Escalate | None:
    """Why a pass of the fix builder is the loop's end; None where its result goes to a round."""
    if passed.outcome != "answered":
        trigger = _NOT_FIXED.get(passed.outcome, "could_not_apply")
        return Escalate(trigger=trigger, reason=f"the fix builder: {passed.why or passed.outcome}")
    if passed.fixed is None:
        return Escalate(trigger="could_not_apply", reason="the fix builder answered and repaired nothing")
    if not passed.fixed.head:
        return Escalate(trigger="could_not_apply", reason=passed.fixed.reason or passed.fixed.answer)
    return None


def estimated(verifying: int, iterations: Sequence[int]) -> int:
    """Micros that another iteration may cost: as much as the dearest so far, else what verifying the work has cost."""
    return max(iterations, default=verifying)
