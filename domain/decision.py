"""`decide`: the only place where a verdict comes from. Total, pure, read from top to bottom.

Source: DESIGN 4 "decide, in order"; seed `authority` 6.2, 10, 11; seed `pipeline` "Configuration". Caps on attempts
are the todo's (`lifecycle`), not a round's; here only the system's own retries of what could not run are counted.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from domain.base import Message
from domain.checks import CheckResult, Outcome
from domain.order import Order
from domain.verdict import Audit, AuditorOutcome


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

    `unknown`: why there is no tree to speak of, for a cause outside the worker's tree. `changed_inputs`: inputs of the
    environment's set-up that the head has otherwise than the base. `untested`: that no required check depends on the
    change, empty where one does or nobody asked; `unprobed`: why that was asked and could not be told. `authored`: ids
    of criteria that an agent wrote: they can fail, and are no gate (DESIGN 1.4).
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


class Reason(Message):
    """One reason of a decision: a stable code, a sentence, and the ids of the evidence that shows it."""

    code: str
    text: str
    evidence: tuple[str, ...] = ()


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
    if facts.changed_inputs:
        return _needs_human("high_stakes", [_changed_input(path) for path in facts.changed_inputs])

    audit = facts.audit.outcome if facts.audit else None
    feedback = _feedback(facts.audit)
    if failed := failures(facts, policy):
        reasons = [*map(_about, failed), *feedback]
        if audit is AuditorOutcome.FAILED:
            return Decision(outcome=RoundOutcome.FAILED, reasons=tuple(reasons), trigger="hard_fail")
        return _changes(reasons)
    if unknown := _could_not_run(facts):
        return _inconclusive(unknown, policy, counters)
    if facts.unprobed:
        return _inconclusive([Reason(code="probe_could_not_run", text=facts.unprobed)], policy, counters)
    if facts.untested and audit is not AuditorOutcome.FAILED:
        return _changes([Reason(code="change_not_tested", text=facts.untested), *feedback])

    return _objection(facts, policy, counters) or _everything_required_passed(facts, policy)


def _objection(facts: Facts, policy: Policy, counters: Counters) -> Decision | None:
    """The auditor's word where every required check passed, or why there is none although one was asked."""
    audit = facts.audit.outcome if facts.audit else None
    feedback = _feedback(facts.audit)
    if audit is AuditorOutcome.FAILED:
        return Decision(outcome=RoundOutcome.FAILED, reasons=tuple(feedback), trigger="hard_fail")
    if audit is AuditorOutcome.CHANGES_REQUESTED:
        return _changes(feedback)
    if audit is AuditorOutcome.BLOCKED:
        return _needs_human("auditor_blocked", feedback)
    if audit is AuditorOutcome.UNAVAILABLE:
        return _needs_human("system_error", feedback) if policy.on_auditor_crash == "escalate" else _changes(feedback)
    if audit is AuditorOutcome.INCONCLUSIVE:
        return _inconclusive(feedback, policy, counters)
    if audit is AuditorOutcome.COST_CAP:
        return _needs_human("cost_cap_exceeded", feedback)
    if audit is AuditorOutcome.TIMED_OUT:
        return _needs_human("timeout", feedback)
    if audit is AuditorOutcome.APPROVED and facts.audit and not facts.audit.cited:
        text = "the auditor approved without citing evidence that the harness minted"
        return _changes([Reason(code="uncited_approval", text=text)])
    return None


def _everything_required_passed(facts: Facts, policy: Policy) -> Decision:
    """No objection is left: is there anything that speaks for the work?"""
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
    if unjudged := _unjudged(facts, policy):
        return _needs_human("not_judged", unjudged)
    if facts.criteria < policy.min_criteria:
        text = f"the order asks for at least {policy.min_criteria} criteria and has {facts.criteria}"
        return _needs_human("nothing_to_check", [Reason(code="too_few_criteria", text=text)])
    warnings += _unsure(facts.audit, policy)
    evidence = tuple(result.evidence for result in gates if result.evidence)
    passed = sum(result.passed for result in gates)
    text = f"{passed} of {len(gates)} required passed" + (", the auditor approved" if approved else "")
    forgiven = [_about(result) for result in gates if not result.passed]
    code = "within_max_fail_rate" if forgiven else "all_required_passed"
    reasons = [Reason(code=code, text=text, evidence=evidence), *forgiven, *warnings]
    return Decision(outcome=RoundOutcome.VERIFIED, reasons=tuple(reasons))


def _unjudged(facts: Facts, policy: Policy) -> list[Reason]:
    """The required criteria that only a judge can tell and that no judge was sure enough are met."""
    sure = facts.audit.passed_subjective if facts.audit else {}
    reasons = []
    if unnamed := sorted(facts.subjective_required - sure.keys()):
        text = f"nobody judged {', '.join(unnamed)}, and only a judge can"
        reasons.append(Reason(code="not_judged", text=text))
    for id in sorted(facts.subjective_required & sure.keys()):
        if sure[id] < policy.confidence_threshold:
            text = f"the auditor is not sure enough of {id}: {_compared(sure[id], policy)}"
            reasons.append(Reason(code="not_judged", text=text))
    return reasons


def _unsure(audit: Audit | None, policy: Policy) -> list[Reason]:
    """An approval that the auditor is not sure of: told beside the pass, which the checks have earned."""
    if audit is None or (audit.confidence or 0.0) >= policy.confidence_threshold:
        return []
    text = f"the auditor is not sure of its approval: {_compared(audit.confidence or 0.0, policy)}"
    return [Reason(code="low_confidence", text=text)]


def _compared(confidence: float, policy: Policy) -> str:
    return f"a confidence of {confidence:g}, and the order wants {policy.confidence_threshold:g}"


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


def _could_not_run(facts: Facts) -> list[Reason]:
    return [_about(r) for r in facts.results if r.required and r.outcome is Outcome.COULD_NOT_RUN]


def _changed_input(path: str) -> Reason:
    text = f"{path} is an input of environment.setup: checks ran with what the base's installs, so a human has to look"
    return Reason(code="input_changed", text=text)


def _about(result: CheckResult) -> Reason:
    evidence = (result.evidence,) if result.evidence else ()
    return Reason(code=result.code, text=f"{result.id}: {result.text}", evidence=evidence)


_NO_WORD = {
    AuditorOutcome.UNAVAILABLE: ("verifier_unavailable", "verifier unavailable"),
    AuditorOutcome.INCONCLUSIVE: ("auditor_inconclusive", "no answer of the auditor's held up"),
    AuditorOutcome.COST_CAP: ("cost_cap_exceeded", "asking the auditor would pass a cap on costs"),
    AuditorOutcome.TIMED_OUT: ("audit_timed_out", "the auditor came to no verdict within its time"),
}
"""Why the auditor has no word on the work: the code, and what comes before the reason."""


def _feedback(audit: Audit | None) -> list[Reason]:
    """What the auditor has to say where it did not approve, or why it says nothing."""
    if audit is None or audit.outcome is AuditorOutcome.APPROVED:
        return []
    if audit.outcome in _NO_WORD:
        code, text = _NO_WORD[audit.outcome]
        return [Reason(code=code, text=f"{text}: {audit.feedback}" if audit.feedback else text)]
    text = audit.feedback or f"the auditor's word is {audit.outcome}"
    return [Reason(code=f"auditor_{audit.outcome}", text=text, evidence=audit.evidence)]


def _changes(reasons: list[Reason]) -> Decision:
    return Decision(outcome=RoundOutcome.CHANGES_REQUESTED, reasons=tuple(reasons))


def _inconclusive(reasons: list[Reason], policy: Policy, counters: Counters) -> Decision:
    """Nothing was learned: to be tried again by the system, until its retries are used up."""
    if counters.inconclusive >= policy.tool_retries:
        return _needs_human("checks_could_not_run", reasons)
    return Decision(outcome=RoundOutcome.INCONCLUSIVE, reasons=tuple(reasons))


def _needs_human(trigger: str, reasons: list[Reason]) -> Decision:
    return Decision(outcome=RoundOutcome.NEEDS_HUMAN, reasons=tuple(reasons), trigger=trigger)
