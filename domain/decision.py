"""`decide`: the only place where a verdict comes from. Total, pure, read from top to bottom.

Source: DESIGN 4 "decide, in order"; seed `authority` 6.2, 10, 11; seed `pipeline` "Configuration". Caps on attempts
are the todo's (`lifecycle`), not a round's; here only the system's own retries of what could not run are counted.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from domain.base import Message
from domain.checks import NOTHING_TO_CHECK, CheckResult, Outcome
from domain.objections import JUDGE_FAILED, Reason, feedback, overruled, unjudged, unsure
from domain.order import Order
from domain.verdict import Audit, AuditorOutcome, Tiebreak

__all__ = ["VERDICTS", "Counters", "Decision", "Facts", "Policy", "Reason", "RoundOutcome", "decide", "failures"]


class RoundOutcome(StrEnum):
    """What a round comes to."""

    VERIFIED = "verified"
    CHANGES_REQUESTED = "changes_requested"
    FAILED = "failed"
    NEEDS_HUMAN = "needs_human"
    INCONCLUSIVE = "inconclusive"


VERDICTS: dict[RoundOutcome, Literal["PASS", "FAIL", "INCONCLUSIVE"]] = {
    RoundOutcome.VERIFIED: "PASS",
    RoundOutcome.CHANGES_REQUESTED: "FAIL",
    RoundOutcome.FAILED: "FAIL",
    RoundOutcome.NEEDS_HUMAN: "INCONCLUSIVE",
    RoundOutcome.INCONCLUSIVE: "INCONCLUSIVE",
}
"""CONTRACT "The report": the word for each outcome."""


class Facts(Message):
    """Everything a round learned. `expected`: ids that had to have a result; `refused`: why a tree was not taken.

    `unknown`: why there is no tree to speak of, for a cause outside the worker's tree; `undrafted`: why the checks that
    were to be drafted could not be, for such a cause. `changed_inputs`: inputs of the
    environment's set-up that the head has otherwise than the base. `untested`: that no required check depends on the
    change, empty where one does or nobody asked; `unprobed`: why that was asked and could not be told. `authored`: ids
    of criteria that an agent wrote: they can fail, and are no gate (DESIGN 1.4). `tiebreak`: None where nobody argued;
    `unargued`: why, where the order always wants it and a role has no model. `rejected`: that a person sent this very
    tree back, by the same order and base.
    """

    expected: frozenset[str] = frozenset()
    results: tuple[CheckResult, ...] = ()
    violations: tuple[str, ...] = ()
    refused: str = ""
    unknown: str = ""
    changed_inputs: tuple[str, ...] = ()
    untested: str = ""
    unprobed: str = ""
    subjective_required: frozenset[str] = frozenset()
    criteria: int = 0
    authored: frozenset[str] = frozenset()
    audit: Audit | None = None
    tiebreak: Tiebreak | None = None
    unargued: str = ""
    undrafted: str = ""
    rejected: str = ""


class Policy(Message):
    """The order's word on how to decide."""

    enabled: bool = True
    require_all_pass: bool = True
    max_fail_rate: float = 0.0
    min_criteria: int = 0
    without_checks: Literal["needs_human", "warn"] = "needs_human"
    on_auditor_crash: Literal["soft_fail", "escalate"] = "soft_fail"
    tool_retries: int = 3
    confidence_threshold: float = 0.7

    @classmethod
    def of(cls, order: Order) -> Policy:
        """The policy that `order` states."""
        v = order.verification
        return cls(
            enabled=v.enabled,
            require_all_pass=v.require_all_pass,
            max_fail_rate=v.max_fail_rate,
            min_criteria=v.min_criteria,
            without_checks=v.without_checks,
            on_auditor_crash=v.on_auditor_crash,
            tool_retries=order.safeguards.tool_retries,
            confidence_threshold=v.confidence_threshold,
        )


class Counters(Message):
    """What happened before this round: `inconclusive` rounds of the same claim, so 3 of them on the fourth attempt."""

    inconclusive: int = 0


class Decision(Message):
    """The round's outcome and why; `trigger` names the escalation where a human is needed."""

    outcome: RoundOutcome
    reasons: tuple[Reason, ...]
    trigger: str = ""

    @property
    def verdict(self) -> Literal["PASS", "FAIL", "INCONCLUSIVE"]:
        """CONTRACT's word for the outcome."""
        return VERDICTS[self.outcome]


def decide(facts: Facts, policy: Policy, counters: Counters = Counters()) -> Decision:  # noqa: B008 - frozen, so safe to share
    """The verdict on a round. The first rule that applies decides; an LLM can hold back a pass, never grant one."""
    if broken := _broken_invariant(facts):
        return _needs_human("system_error", [Reason(code="system_error", text=broken)])
    if not policy.enabled:
        text = "the order disables verification, so only a human can approve"
        return _needs_human("nothing_to_check", [Reason(code="verification_disabled", text=text)])
    if facts.refused:
        return _changes([Reason(code="workspace_refused", text=facts.refused)])
    if facts.unknown:
        return _inconclusive([Reason(code="no_tree", text=facts.unknown)], policy, counters)
    if facts.violations:
        return _changes([Reason(code="scope_violation", text=text) for text in facts.violations])
    if facts.rejected:  # people rank above checks: no further round of the same tree makes up for it
        return _changes([Reason(code="rejected_by_person", text=facts.rejected)])
    if facts.changed_inputs:
        return _needs_human("high_stakes", [_changed_input(path) for path in facts.changed_inputs])

    hard_fail = facts.audit is not None and facts.audit.outcome is AuditorOutcome.FAILED
    failed = failures(facts, policy)
    told = _feedback(facts, policy, failed)
    if failed:
        reasons = [*map(_about, failed), *told]
        if hard_fail:
            return Decision(outcome=RoundOutcome.FAILED, reasons=tuple(reasons), trigger="hard_fail")
        return _changes(reasons)
    unknown, empty = _could_not_run(facts)
    if unknown:
        return _inconclusive(unknown, policy, counters)
    if empty:
        return _needs_human(NOTHING_TO_CHECK, empty)
    if facts.undrafted:
        return _inconclusive([Reason(code="draft_could_not_run", text=facts.undrafted)], policy, counters)
    if facts.unprobed:
        return _inconclusive([Reason(code="probe_could_not_run", text=facts.unprobed)], policy, counters)
    if facts.untested and not hard_fail:
        return _changes([Reason(code="change_not_tested", text=facts.untested), *told])

    return _objection(facts, policy, counters, told) or _everything_required_passed(facts, policy, told)


def _objection(facts: Facts, policy: Policy, counters: Counters, told: list[Reason]) -> Decision | None:
    """The auditor's and the judge's words where every required check passed, or why there are none.

    The judge overrules nobody but an auditor who wants changes, and that only on every criterion it objects to.
    """
    audit = facts.audit.outcome if facts.audit else None
    if audit is AuditorOutcome.FAILED:
        return Decision(outcome=RoundOutcome.FAILED, reasons=tuple(told), trigger="hard_fail")
    if audit is AuditorOutcome.BLOCKED:
        return _needs_human("auditor_blocked", told)
    if no_word := _without_a_word(audit, told, policy, counters):
        return no_word
    wants_changes = audit is AuditorOutcome.CHANGES_REQUESTED
    if wants_changes and facts.audit and not facts.audit.objects_to:
        return _changes(told)
    if facts.unargued:
        text = f"the order wants everything argued, and {facts.unargued}"
        return _needs_human("not_judged", [Reason(code="not_judged", text=text), *told])
    if facts.tiebreak and (no_word := _without_a_word(facts.tiebreak.outcome, told, policy, counters)):
        return no_word
    if wants_changes and not overruled(facts.audit, facts.tiebreak, policy.confidence_threshold):
        return _changes(told)
    if audit is AuditorOutcome.APPROVED and facts.audit and not facts.audit.cited:
        text = "the auditor approved without citing evidence that the harness minted"
        return _changes([Reason(code="uncited_approval", text=text), *told])
    return _changes(told) if any(reason.code == JUDGE_FAILED for reason in told) else None


def _without_a_word(outcome: str | None, reasons: list[Reason], policy: Policy, counters: Counters) -> Decision | None:
    """What a round comes to whose auditor or judge was asked and has no word on the work; None where there is one."""
    match outcome:
        case "unavailable":
            crashed = policy.on_auditor_crash == "escalate"
            return _needs_human("system_error", reasons) if crashed else _changes(reasons)
        case "inconclusive":
            return _inconclusive(reasons, policy, counters)
        case "cost_cap_exceeded":
            return _needs_human("cost_cap_exceeded", reasons)
        case "timed_out":
            return _needs_human("timeout", reasons)
    return None


def _everything_required_passed(facts: Facts, policy: Policy, told: list[Reason]) -> Decision:
    """No objection is left: is there anything that speaks for the work? `told` is advice, and what was overruled."""
    gates = [result for result in facts.results if result.required]
    ours = [result for result in gates if result.id not in facts.authored]
    approved = facts.audit is not None and facts.audit.outcome is AuditorOutcome.APPROVED
    warnings: list[Reason] = []
    if not ours:
        text = "the order has no required check and no required criterion that a machine can check"
        text += ", beside those that an agent wrote" if gates else ""
        reason = Reason(code="nothing_to_check", text=text)
        if policy.without_checks == "needs_human" or not approved:
            return _needs_human("nothing_to_check", [reason])
        warnings.append(reason)
    threshold = policy.confidence_threshold
    if open_still := list(unjudged(facts.subjective_required, facts.audit, facts.tiebreak, threshold)):
        return _needs_human("not_judged", open_still)
    if facts.criteria < policy.min_criteria:
        text = f"the order asks for at least {policy.min_criteria} criteria and has {facts.criteria}"
        return _needs_human("nothing_to_check", [Reason(code="too_few_criteria", text=text)])
    criteria = {result.id for result in facts.results if result.spelling == "criterion"} | facts.subjective_required
    warnings += [*unsure(criteria, facts.audit, facts.tiebreak, threshold), *told]
    evidence = tuple(result.evidence for result in gates if result.evidence)
    passed = sum(result.passed for result in gates)
    text = f"{passed} of {len(gates)} required passed" + (", the auditor approved" if approved else "")
    forgiven = [_about(result) for result in gates if not result.passed]
    code = "within_max_fail_rate" if forgiven else "all_required_passed"
    reasons = [Reason(code=code, text=text, evidence=evidence), *forgiven, *warnings]
    return Decision(outcome=RoundOutcome.VERIFIED, reasons=tuple(reasons))


def _broken_invariant(facts: Facts) -> str:
    """What must never be: a result too many or too few, although something was run. Empty when all is well."""
    if facts.refused:
        return ""
    ids = [result.id for result in facts.results]
    if len(ids) != len(set(ids)):
        return "one id has two results"
    if set(ids) != facts.expected:
        return f"results for {sorted(ids)} where {sorted(facts.expected)} were expected"
    return ""


def failures(facts: Facts, policy: Policy) -> list[CheckResult]:
    """The required results that failed and may not.

    `require_all_pass: false` lets at most `max_fail_rate` of the required criteria fail, never a required check,
    and never everything; what could not run is not forgiven. Criteria that an agent wrote change nothing of the rate.
    """
    failed = [r for r in facts.results if r.required and r.outcome is Outcome.FAILED]
    if not policy.require_all_pass and any(r.required and r.passed for r in facts.results):
        forgivable = {r.id for r in facts.results if r.required and r.spelling == "criterion"} - facts.authored
        failed_criteria = [r for r in failed if r.id in forgivable]
        if forgivable and len(failed_criteria) / len(forgivable) <= policy.max_fail_rate:
            failed = [r for r in failed if r.id not in forgivable]
    return failed


def _could_not_run(facts: Facts) -> tuple[list[Reason], list[Reason]]:
    """What the system tries again, and what constrains nothing: another run of that would have nothing to check."""
    unknown = [_about(r) for r in facts.results if r.required and r.outcome is Outcome.COULD_NOT_RUN]
    tried_again = [reason for reason in unknown if reason.code != NOTHING_TO_CHECK]
    return tried_again, [reason for reason in unknown if reason not in tried_again]


def _changed_input(path: str) -> Reason:
    text = f"{path} is an input of environment.setup: checks ran with what the base's installs, so a human has to look"
    return Reason(code="input_changed", text=text)


def _about(result: CheckResult) -> Reason:
    evidence = (result.evidence,) if result.evidence else ()
    return Reason(code=result.code, text=f"{result.id}: {result.text}", evidence=evidence)


def _feedback(facts: Facts, policy: Policy, failed: list[CheckResult]) -> list[Reason]:
    """What the auditor and the judge say against the work; a failure that a rate forgives, no ruling brings back."""
    held: frozenset[str] = frozenset()
    if facts.tiebreak and facts.tiebreak.failed:
        stands = {result.id for result in failed}
        gates = (r for r in facts.results if r.required and (r.outcome is not Outcome.FAILED or r.id in stands))
        held = facts.subjective_required.union(result.id for result in gates)
    return feedback(facts.audit, facts.tiebreak, policy.confidence_threshold, held)


def _changes(reasons: list[Reason]) -> Decision:
    return Decision(outcome=RoundOutcome.CHANGES_REQUESTED, reasons=tuple(reasons))


def _inconclusive(reasons: list[Reason], policy: Policy, counters: Counters) -> Decision:
    """Nothing was learned: to be tried again by the system, until its retries are used up."""
    if counters.inconclusive >= policy.tool_retries:
        return _needs_human("checks_could_not_run", reasons)
    return Decision(outcome=RoundOutcome.INCONCLUSIVE, reasons=tuple(reasons))


def _needs_human(trigger: str, reasons: list[Reason]) -> Decision:
    return Decision(outcome=RoundOutcome.NEEDS_HUMAN, reasons=tuple(reasons), trigger=trigger)
