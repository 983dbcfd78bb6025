"""`decide` with a judge: enumerated beside every audit, then searched for a pass that a ruling gave away."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.checks import CheckResult, Outcome, subjective_of
from domain.decision import Counters, Decision, Facts, Policy, RoundOutcome, decide
from domain.facts import facts_of
from domain.order import Order
from domain.roles.disputes import Dispute
from domain.roles.results import DisputeRecord
from domain.verdict import Audit, AuditorOutcome, Ruled, Tiebreak, TiebreakOutcome
from tests.model.test_decision import APPROVED, ATTEMPTS, FACTS, POLICIES, SURE, UNSURE, facts, result

P, F, C = Outcome.PASSED, Outcome.FAILED, Outcome.COULD_NOT_RUN
VERIFIED, CHANGES, FAILED = RoundOutcome.VERIFIED, RoundOutcome.CHANGES_REQUESTED, RoundOutcome.FAILED
HUMAN, UNKNOWN = RoundOutcome.NEEDS_HUMAN, RoundOutcome.INCONCLUSIVE
JUDGED = TiebreakOutcome.JUDGED
CRITERION, CHECK = "criterion-True-0", "check-True-0"
POLICY = Policy()
HALF = Policy(require_all_pass=False, max_fail_rate=0.5)


def ruled(id: str, verdict: Literal["PASS", "FAIL"], confidence: float = SURE) -> Ruled:
    return Ruled(criterion=id, verdict=verdict, confidence=confidence, reasoning="why", evidence=("ev-1",))


def judged(*rulings: Ruled, settled: tuple[str, ...] = ()) -> Tiebreak:
    return Tiebreak(outcome=JUDGED, rulings=rulings, settled=settled)


def objecting(*ids: str, outcome: AuditorOutcome = AuditorOutcome.CHANGES_REQUESTED, **more: Any) -> Audit:
    return Audit(outcome=outcome, cited=True, feedback="told", confidence=SURE, objects_to=ids, **more)


def after(of: Facts, tiebreak: Tiebreak | None, policy: Policy = POLICY, unargued: str = "") -> Decision:
    return decide(of.model_copy(update={"tiebreak": tiebreak, "unargued": unargued}), policy)


def told(decision: Decision) -> tuple[RoundOutcome, str, str]:
    return decision.outcome, " ".join(reason.code for reason in decision.reasons), decision.trigger


IDS = (CRITERION, CHECK, "S-1")
WORDS: tuple[tuple[Literal["PASS", "FAIL"], float], ...] = (("PASS", SURE), ("PASS", UNSURE), ("FAIL", UNSURE))
TIEBREAKS = (
    *(Tiebreak(outcome=outcome, feedback="why not") for outcome in TiebreakOutcome if outcome is not JUDGED),
    *(
        judged(*(ruled(id, *word) for id, word in zip(IDS, words, strict=True)), settled=settled)
        for words in itertools.product(WORDS, repeat=3)
        for settled in ((), IDS)
    ),
    judged(ruled("S-1", "PASS")),
    judged(ruled(CRITERION, "PASS")),
)
AUDITS = (
    None,
    APPROVED,
    APPROVED.model_copy(update={"passed_subjective": {}}),
    APPROVED.model_copy(update={"confidence": UNSURE}),
    Audit(outcome=AuditorOutcome.APPROVED),
    *(objecting(outcome=outcome) for outcome in AuditorOutcome if outcome is not AuditorOutcome.APPROVED),
    objecting(CRITERION),
    objecting("S-1", CRITERION),
    objecting(CRITERION, outcome=AuditorOutcome.FAILED),
    objecting(CRITERION, outcome=AuditorOutcome.BLOCKED),
)
RESULTS = ((), (P,), (F,), (C,), (P, F))


def every_case() -> Iterator[tuple[Facts, Policy]]:
    policies = (POLICY, HALF, Policy(without_checks="warn", on_auditor_crash="escalate"))
    for checks, criteria, subjective in itertools.product(RESULTS, RESULTS, ("none", "unjudged")):
        for audit, policy in itertools.product(AUDITS, policies):
            yield facts(checks, criteria, (), subjective, audit), policy


def without_overruling(of: Facts) -> Facts:
    """The same with an auditor who does not object: what an overruled objection comes to at best."""
    audit = of.audit
    if audit is None or audit.outcome is not AuditorOutcome.CHANGES_REQUESTED or not audit.objects_to:
        return of
    return of.model_copy(update={"audit": None})


def test_a_judge_gives_away_no_pass() -> None:
    """Beside every audit: what failed stays failed, and a pass is new only where the judge was asked for just that."""
    for of, policy in every_case():
        alone = decide(of, policy)
        required = [r for r in of.results if r.required]
        for tiebreak in TIEBREAKS:
            decision = after(of, tiebreak, policy)
            case = (of, policy, tiebreak, decision)
            assert decision.reasons, case
            if decision.outcome is not VERIFIED:
                continue
            assert of.audit is None or of.audit.outcome in ("approved", "changes_requested"), case
            assert all(r.outcome is not C for r in required), case
            assert policy is HALF or all(r.passed for r in required), case
            assert all(r.passed for r in required if r.spelling == "check"), case
            assert tiebreak.outcome is JUDGED, case
            passed = tiebreak.passed(policy.confidence_threshold).keys()
            assert not {r.criterion for r in tiebreak.failed} & (
                {CHECK, "S-1"} & {*of.expected, *of.subjective_required}
            )
            if alone.outcome is VERIFIED:
                continue
            objects = set(of.audit.objects_to) if of.audit and of.audit.outcome == "changes_requested" else set()
            unheard = of.subjective_required - passed
            assert objects <= passed, case
            assert not unheard, case
            assert objects or of.subjective_required, case
            # with nothing left that only a judge can tell, and no objection, it is what the checks come to alone
            rest = without_overruling(of).model_copy(update={"subjective_required": frozenset()})
            assert decide(rest, policy).outcome is VERIFIED, case


def test_without_anything_disputed_nothing_changes() -> None:
    for of, policy in every_case():
        assert after(of, judged(), policy) == decide(of, policy)


def test_a_failed_check_is_the_first_reason_whatever_the_judge_says() -> None:
    """AC-4 of the seed: the judge says PASS, and it is still not verified."""
    of = facts(criteria=(F,), audit=APPROVED)
    assert told(after(of, judged(ruled(CRITERION, "PASS")))) == (CHANGES, "code_failed", "")
    decision = after(of, judged(ruled(CRITERION, "FAIL")))
    assert told(decision) == (CHANGES, "code_failed judge_failed", "")
    assert (decision.reasons[1].text, decision.reasons[1].evidence) == (f"{CRITERION}: why", ("ev-1",))


@pytest.mark.parametrize("audit", [APPROVED, None])
def test_a_ruling_of_fail_holds_back_what_is_required_and_advises_on_the_rest(audit: Audit | None) -> None:
    advisory = (result("advisory", P, "criterion", required=False),)
    of = facts(checks=(P,), criteria=(P,), advisory=advisory, audit=audit)
    for id in (CRITERION, CHECK):
        for confidence in (SURE, UNSURE):
            assert told(after(of, judged(ruled(id, "FAIL", confidence)))) == (CHANGES, "judge_failed", "")
    assert told(after(of, judged(ruled("advisory", "FAIL")))) == (VERIFIED, "all_required_passed advised_against", "")
    subjective = facts(checks=(P,), subjective="judged", audit=APPROVED)
    assert told(after(subjective, judged(ruled("S-1", "FAIL")))) == (CHANGES, "judge_failed", "")
    both = judged(ruled(CHECK, "FAIL"), ruled("advisory", "FAIL"))
    assert told(after(of, both)) == (CHANGES, "judge_failed advised_against", "")


def test_a_failure_that_a_rate_forgives_no_ruling_brings_back() -> None:
    of = facts(criteria=(P, F), audit=APPROVED)
    forgiven = judged(ruled("criterion-True-1", "FAIL"))
    codes = "within_max_fail_rate code_failed advised_against"
    assert told(after(of, forgiven, HALF)) == (VERIFIED, codes, "")
    passing = judged(ruled(CRITERION, "FAIL"))
    assert told(after(of, passing, HALF)) == (CHANGES, "judge_failed", ""), "of what passed, the judge's word counts"


@pytest.mark.parametrize(
    ("outcome", "crash", "inconclusive", "expected"),
    [
        (TiebreakOutcome.INCONCLUSIVE, "soft_fail", 0, (UNKNOWN, "judge_inconclusive", "")),
        (TiebreakOutcome.INCONCLUSIVE, "soft_fail", 3, (HUMAN, "judge_inconclusive", "checks_could_not_run")),
        (TiebreakOutcome.UNAVAILABLE, "soft_fail", 0, (CHANGES, "judge_unavailable", "")),
        (TiebreakOutcome.UNAVAILABLE, "escalate", 0, (HUMAN, "judge_unavailable", "system_error")),
        (TiebreakOutcome.COST_CAP, "soft_fail", 0, (HUMAN, "cost_cap_exceeded", "cost_cap_exceeded")),
        (TiebreakOutcome.TIMED_OUT, "soft_fail", 0, (HUMAN, "judge_timed_out", "timeout")),
    ],
)
@pytest.mark.parametrize("audit", [APPROVED, None, objecting(CRITERION)])
def test_a_stage_without_a_word_is_no_pass(
    audit: Audit | None, outcome: TiebreakOutcome, crash: Any, inconclusive: int, expected: tuple[Any, str, str]
) -> None:
    silent = Tiebreak(outcome=outcome, feedback="why not")
    of = facts(criteria=(P,), audit=audit).model_copy(update={"tiebreak": silent})
    decision = decide(of, Policy(on_auditor_crash=crash), Counters(inconclusive=inconclusive))
    before = "auditor_changes_requested " if audit and audit.objects_to else ""
    assert told(decision) == (expected[0], f"{before}{expected[1]}", expected[2])
    assert decision.reasons[-1].text.endswith("why not")
    failed = facts(criteria=(F,), audit=audit).model_copy(update={"tiebreak": silent})
    assert decide(failed, Policy()).outcome is CHANGES, "a failed check comes first"


@pytest.mark.parametrize(
    ("objects_to", "tiebreak", "overruled"),
    [
        ((CRITERION,), judged(ruled(CRITERION, "PASS")), True),
        ((CRITERION, "S-1"), judged(ruled(CRITERION, "PASS"), ruled("S-1", "PASS")), True),
        ((CRITERION,), judged(ruled(CRITERION, "PASS", UNSURE), settled=(CRITERION,)), True),
        ((CRITERION,), judged(ruled(CRITERION, "PASS", UNSURE)), False),
        ((CRITERION,), judged(ruled("S-1", "PASS")), False),
        ((CRITERION, "S-1"), judged(ruled(CRITERION, "PASS")), False),
        ((CRITERION,), judged(ruled(CRITERION, "PASS"), ruled(CRITERION, "FAIL")), False),
        ((), judged(ruled(CRITERION, "PASS")), False),
    ],
)
def test_what_overrules_an_objection(objects_to: tuple[str, ...], tiebreak: Tiebreak, overruled: bool) -> None:
    of = facts(checks=(P,), criteria=(P,), audit=objecting(*objects_to, evidence=("ev-0",)))
    decision = after(of, tiebreak)
    if overruled:
        assert told(decision) == (VERIFIED, "all_required_passed objection_overruled", "")
        assert all(id in decision.reasons[1].text for id in objects_to)
        assert decision.reasons[1].evidence == ("ev-0",)
    else:
        assert decision.outcome is CHANGES
        assert decision.reasons[0].code == "auditor_changes_requested"


def test_a_judge_overrules_one_objection_and_has_another() -> None:
    of = facts(checks=(P,), criteria=(P,), audit=objecting(CRITERION))
    decision = after(of, judged(ruled(CRITERION, "PASS"), ruled(CHECK, "FAIL")))
    assert told(decision) == (CHANGES, "objection_overruled judge_failed", "")


@pytest.mark.parametrize("outcome", [AuditorOutcome.FAILED, AuditorOutcome.BLOCKED])
def test_a_hard_fail_and_a_block_stand(outcome: AuditorOutcome) -> None:
    of = facts(criteria=(P,), audit=objecting(CRITERION, outcome=outcome))
    assert after(of, judged(ruled(CRITERION, "PASS"))) == decide(of, POLICY)
    assert decide(of, POLICY).outcome in (FAILED, HUMAN)


@pytest.mark.parametrize("confidence", [SURE, UNSURE])
def test_what_only_a_judge_can_tell_is_judged_by_the_judge(confidence: float) -> None:
    """Whatever the auditor's confidence was, and without an auditor, too."""
    settled = ("S-1",) if confidence == UNSURE else ()
    word = judged(ruled("S-1", "PASS", confidence), settled=settled)
    unsure = APPROVED.model_copy(update={"passed_subjective": {"S-1": UNSURE}})
    for audit in (APPROVED, unsure, APPROVED.model_copy(update={"passed_subjective": {}}), None):
        of = facts(checks=(P,), subjective="unjudged", audit=audit)
        assert told(after(of, word)) == (VERIFIED, "all_required_passed", "")
    of = facts(checks=(P,), subjective="unjudged", audit=None)
    assert told(after(of, judged(ruled("S-1", "PASS", UNSURE)))) == (HUMAN, "not_judged", "not_judged")


def test_an_unsure_approval_is_no_warning_where_a_judge_ruled_on_everything() -> None:
    hesitant = APPROVED.model_copy(update={"confidence": UNSURE})
    of = facts(checks=(P,), criteria=(P,), subjective="judged", audit=hesitant)
    everything = judged(ruled(CRITERION, "PASS"), ruled("S-1", "PASS"))
    assert told(after(of, everything)) == (VERIFIED, "all_required_passed", "")
    assert told(after(of, judged(ruled("S-1", "PASS")))) == (VERIFIED, "all_required_passed low_confidence", "")
    none = facts(checks=(P,), audit=hesitant)
    assert told(after(none, judged())) == (VERIFIED, "all_required_passed low_confidence", "")


def test_where_everything_is_to_be_argued_and_is_not_a_human_decides() -> None:
    why = "no model is configured for the judge"
    of = facts(checks=(P,), audit=APPROVED)
    decision = after(of, None, unargued=why)
    assert told(decision) == (HUMAN, "not_judged", "not_judged")
    assert why in decision.reasons[0].text
    assert told(after(facts(checks=(F,), audit=APPROVED), None, unargued=why)) == (CHANGES, "code_failed", "")
    assert after(facts(checks=(P,), audit=objecting()), None, unargued=why).outcome is CHANGES, "it needs no tie broken"
    hard = facts(checks=(P,), audit=objecting(outcome=AuditorOutcome.FAILED))
    assert after(hard, None, unargued=why).outcome is FAILED


@pytest.mark.parametrize(("mode", "unargued"), [("auto", ""), ("always", "no model is configured for the critic")])
def test_the_facts_have_the_dispute(mode: str, unargued: str) -> None:
    order = Order.model_validate({"content": "x", "verification": {"adversarial": mode}})
    dispute = Dispute(criterion="AC-1", why=("always",), required=True)
    left_out = DisputeRecord(disputes=(dispute,), why="no model is configured for the critic")
    of = facts_of(order, None, (), dispute=left_out)
    assert (of.tiebreak, of.unargued) == (None, unargued)
    argued = left_out.model_copy(update={"tiebreak": judged(ruled("AC-1", "PASS")), "why": ""})
    of = facts_of(order, None, (), dispute=argued)
    assert (of.tiebreak, of.unargued) == (argued.tiebreak, "")
    assert facts_of(order, None, ()).tiebreak is None
    assert subjective_of(order) == ()


# a search for a pass that nothing earned

RULINGS = st.lists(
    st.builds(
        Ruled,
        criterion=st.sampled_from("abcdefst"),
        verdict=st.sampled_from(["PASS", "FAIL"]),
        confidence=st.sampled_from([0.0, 0.3, 0.7, 1.0]),
    ),
    max_size=5,
).map(tuple)
ANY_TIEBREAK = st.builds(
    Tiebreak,
    outcome=st.just(JUDGED) | st.sampled_from(TiebreakOutcome),
    rulings=RULINGS,
    settled=st.lists(st.sampled_from("abcdefst"), max_size=3).map(tuple),
)
OBJECTING = st.lists(st.sampled_from("abcdefst"), max_size=2).map(lambda ids: objecting(*ids))


@given(of=FACTS, audit=st.none() | OBJECTING, tiebreak=ANY_TIEBREAK, policy=POLICIES, counters=ATTEMPTS)
def test_no_ruling_makes_a_pass_of_what_did_not(
    of: Facts, audit: Audit | None, tiebreak: Tiebreak, policy: Policy, counters: Counters
) -> None:
    of = of.model_copy(update={"audit": audit or of.audit})
    argued = of.model_copy(update={"tiebreak": tiebreak})
    if decide(argued, policy, counters).outcome is not VERIFIED:
        return
    assert _earned_by_checks(of.results, policy)
    assert tiebreak.outcome is JUDGED
    assert of.audit is None or of.audit.outcome in ("approved", "changes_requested")
    if decide(of, policy, counters).outcome is not VERIFIED:
        objects = of.audit is not None and of.audit.outcome is AuditorOutcome.CHANGES_REQUESTED
        assert objects or of.subjective_required


def _earned_by_checks(results: tuple[CheckResult, ...], policy: Policy) -> bool:
    short = [r for r in results if r.required and not r.passed]
    criteria = [r for r in results if r.required and r.spelling == "criterion"]
    forgiven = all(r.spelling == "criterion" and r.outcome is F for r in short)
    return not short or (
        not policy.require_all_pass and forgiven and len(short) / len(criteria) <= policy.max_fail_rate
    )
