"""`decide`, enumerated over every combination of its input's classes, then searched for a pass that nothing earned."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.checks import NOTHING_TO_CHECK, CheckResult, Outcome, all_required_passed
from domain.decision import VERDICTS, Counters, Decision, Facts, Policy, RoundOutcome, decide
from domain.order import Order
from domain.verdict import Audit, AuditorOutcome

P, F, C = Outcome.PASSED, Outcome.FAILED, Outcome.COULD_NOT_RUN
N: Literal["nothing"] = "nothing"
"""A check that constrains nothing: it could not run, with the code that says so."""

Kind = Outcome | Literal["nothing"]
MIXTURES: tuple[tuple[Kind, ...], ...] = ((), (P,), (F,), (C,), (P, F), (P, C), (F, C), (P, F, C))
EMPTY: tuple[tuple[Kind, ...], ...] = ((N,), (P, N), (F, N), (C, N))
RATE = 0.5
OPEN = {RoundOutcome.CHANGES_REQUESTED, RoundOutcome.FAILED, RoundOutcome.NEEDS_HUMAN, RoundOutcome.INCONCLUSIVE}


def result(id: str, kind: Kind, spelling: Any = "check", required: bool = True) -> CheckResult:
    outcome = C if kind == N else kind
    return CheckResult(
        id=id,
        spelling=spelling,
        type="command_exit_zero",
        required=required,
        outcome=outcome,
        code=NOTHING_TO_CHECK if kind == N else f"code_{outcome}",
        text=f"text of {id}",
        evidence=f"evidence of {id}",
    )


def _results(spelling: str, required: bool) -> dict[tuple[Kind, ...], tuple[CheckResult, ...]]:
    return {
        mixture: tuple(
            result(f"{spelling}-{required}-{place}", outcome, spelling, required)
            for place, outcome in enumerate(mixture)
        )
        for mixture in (*MIXTURES, *EMPTY)
    }


CHECKS, CRITERIA = _results("check", True), _results("criterion", True)
ADVISORY = tuple(() if o is None else (result("advisory", o, required=False),) for o in (None, P, F, C, N))


SURE, UNSURE = 0.9, 0.3
PASSED: dict[str, dict[str, float]] = {"none": {}, "judged": {"S-1": SURE}, "unjudged": {}, "unsure": {"S-1": UNSURE}}
"""What an auditor may have judged of the criterion that only a judge can tell."""


def _audits(passed: dict[str, float]) -> tuple[Audit | None, ...]:
    def audit(outcome: AuditorOutcome, cited: bool = True, confidence: float | None = SURE) -> Audit:
        return Audit(
            outcome=outcome, cited=cited, feedback="told", confidence=confidence, passed_subjective=dict(passed)
        )

    approved = AuditorOutcome.APPROVED
    unsure = (audit(approved, confidence=confidence) for confidence in (UNSURE, None))
    return (None, *map(audit, AuditorOutcome), audit(approved, cited=False), *unsure)


AUDITS = {subjective: _audits(passed) for subjective, passed in PASSED.items()}


class Classes(NamedTuple):
    """The classes of one round's facts; `advisory` and `audit` are places in `ADVISORY` and `AUDITS`."""

    checks: tuple[Kind, ...]
    criteria: tuple[Kind, ...]
    advisory: int
    subjective: str
    audit: int


def facts(
    checks: tuple[Kind, ...] = (),
    criteria: tuple[Kind, ...] = (),
    advisory: tuple[CheckResult, ...] = (),
    subjective: str = "none",
    audit: Audit | None = None,
    violated: bool = False,
    refused: bool = False,
) -> Facts:
    results = (*CRITERIA[criteria], *CHECKS[checks], *advisory)
    return Facts.model_construct(
        expected=frozenset(r.id for r in results),
        results=results,
        violations=("out of scope: a.py",) if violated else (),
        refused="too many files" if refused else "",
        unknown="",
        subjective_required=frozenset() if subjective == "none" else frozenset({"S-1"}),
        criteria=len(criteria) + (subjective != "none"),
        audit=audit,
    )


def every_class() -> Iterator[Classes]:
    """All classes of what a round can learn: 8 x 8 mixtures, 5 advisory, 4 subjective, 12 audits.

    What constrains nothing takes the place of a check, or of a criterion, in 4 more mixtures each.
    """
    mixtures = [
        *itertools.product(MIXTURES, MIXTURES, ADVISORY),
        *itertools.product(EMPTY, MIXTURES, ADVISORY[:1]),
        *itertools.product(MIXTURES, EMPTY, ADVISORY[:1]),
    ]
    for (checks, criteria, advisory), subjective in itertools.product(mixtures, PASSED):
        for audit in range(len(AUDITS[subjective])):
            yield Classes(checks, criteria, ADVISORY.index(advisory), subjective, audit)


def every_facts(violated: bool, refused: bool) -> Iterator[Facts]:
    for checks, criteria, advisory, subjective, audit in every_class():
        yield facts(checks, criteria, ADVISORY[advisory], subjective, AUDITS[subjective][audit], violated, refused)


def every_policy(enabled: bool) -> tuple[Policy, ...]:
    knobs = itertools.product((True, False), ("needs_human", "warn"), ("soft_fail", "escalate"), (0, 9))
    return tuple(
        Policy(
            enabled=enabled,
            require_all_pass=every,
            max_fail_rate=RATE,
            without_checks=without,
            on_auditor_crash=crash,
            min_criteria=least,
        )
        for every, without, crash, least in knobs
    )


def policy_for(number: int) -> int:
    """Which of the 16 policies `make test` tries on the facts of that number, from 0, if only one.

    Each has the policy after its predecessor's, with a shift after the 48 of the same mixtures, and after 192: so every
    two classes of what a round can learn meet every policy, which `test_fewer_combinations_cover` counts.
    """
    return (number + number // 48 + number // 192) % 16


def combinations(enabled: bool, violated: bool, refused: bool, every: bool) -> Iterator[tuple[Facts, Policy]]:
    """All 18,432 facts, each with all 16 policies where `every` is set.

    Else a ninth of all: every policy where no required result holds the round back, since there it is the policy
    that decides; one policy where one does.
    """
    policies = every_policy(enabled)
    for number, of in enumerate(every_facts(violated, refused)):
        open_ = all(r.passed for r in of.results if r.required)
        for policy in policies if every or open_ else (policies[policy_for(number)],):
            yield of, policy


THINNED = pytest.mark.parametrize(
    "every", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["covering", "every"]
)
"""`make test` tries a covering part of the combinations, `make long` all of them."""

COUNTERS = (Counters(), Counters(inconclusive=2), Counters(inconclusive=3))


def within_rate(of: Facts) -> bool:
    """Whether the failures are few enough for `require_all_pass: false`, told independently of `decide`."""
    required = [r for r in of.results if r.required]
    criteria = [r for r in required if r.spelling == "criterion"]
    failed = [r for r in criteria if r.outcome is F]
    return (
        all(r.passed for r in required if r.spelling == "check")
        and all(r.outcome is not C for r in required)
        and any(r.passed for r in required)
        and len(failed) <= RATE * len(criteria)
    )


def earned(of: Facts, policy: Policy) -> bool:
    """Whether a round that was let in has earned its pass: DESIGN 4, seed `authority` 2.2, 6.2, 10 and 11."""
    required = [r for r in of.results if r.required]
    approved = of.audit is not None and of.audit.outcome is AuditorOutcome.APPROVED and of.audit.cited
    passed = of.audit.passed_subjective if of.audit else {}
    judged = {id for id, confidence in passed.items() if confidence >= policy.confidence_threshold}
    return (
        (all_required_passed(required) or (not policy.require_all_pass and within_rate(of)))
        and (bool(required) or (policy.without_checks == "warn" and approved))
        and (of.audit is None or approved)
        and of.criteria >= policy.min_criteria
        and of.subjective_required <= judged
    )


def hold(of: Facts, policy: Policy, decision: Decision) -> None:
    """What must be true of every decision on a round that was let in."""
    case = (of, policy, decision)
    failed = any(r.required and r.outcome is F for r in of.results)
    unknown = any(r.required and r.outcome is C and r.code != NOTHING_TO_CHECK for r in of.results)
    empty = any(r.required and r.code == NOTHING_TO_CHECK for r in of.results)
    hard_fail = of.audit is not None and of.audit.outcome is AuditorOutcome.FAILED
    assert decision.reasons, case
    assert decision.verdict == VERDICTS[decision.outcome], case
    assert bool(decision.trigger) == (decision.outcome in (RoundOutcome.NEEDS_HUMAN, RoundOutcome.FAILED)), case
    assert (decision.outcome is RoundOutcome.VERIFIED) == earned(of, policy), case
    if decision.outcome is RoundOutcome.FAILED:
        assert hard_fail, case
    if failed and policy.require_all_pass:
        assert decision.outcome is (RoundOutcome.FAILED if hard_fail else RoundOutcome.CHANGES_REQUESTED), case
    if unknown:
        assert failed or decision.outcome is RoundOutcome.INCONCLUSIVE, case
    if empty and not failed and not unknown:
        assert (decision.outcome, decision.trigger) == (RoundOutcome.NEEDS_HUMAN, NOTHING_TO_CHECK), case
        assert {reason.code for reason in decision.reasons} == {NOTHING_TO_CHECK}, case
    if decision.outcome is RoundOutcome.INCONCLUSIVE:
        assert unknown or (of.audit is not None and of.audit.outcome is AuditorOutcome.INCONCLUSIVE), case
    if decision.outcome is RoundOutcome.VERIFIED:
        codes = [r.code for r in decision.reasons]
        required = [r for r in of.results if r.required]
        assert ("nothing_to_check" in codes) == (not required), case
        assert ("all_required_passed" in codes) == all_required_passed(required), case
        unsure = of.audit is not None and (of.audit.confidence or 0.0) < policy.confidence_threshold
        assert ("low_confidence" in codes) == unsure, case


def test_fewer_combinations_cover() -> None:
    """Where not every combination is tried, every two classes of facts still meet every policy."""
    met: dict[Any, set[int]] = {}
    for number, classes in enumerate(every_class()):
        for two in itertools.combinations(enumerate(classes), 2):
            met.setdefault(two, set()).add(policy_for(number))
    assert {len(policies) for policies in met.values()} == {len(every_policy(enabled=True))}


@THINNED
def test_every_combination_of_a_round_that_was_let_in(every: bool) -> None:
    """294,912 combinations of facts and policies: total, explained, a pass exactly where one was earned."""
    for of, policy in combinations(enabled=True, violated=False, refused=False, every=every):
        hold(of, policy, decide(of, policy))


def test_only_what_could_not_run_counts_attempts() -> None:
    """The counters turn `inconclusive` into an escalation on the attempt after the last retry, and nothing else."""
    for of in every_facts(violated=False, refused=False):
        first, third, fourth = (decide(of, Policy(tool_retries=3), counters) for counters in COUNTERS)
        assert first == third
        if first.outcome is RoundOutcome.INCONCLUSIVE:
            assert (fourth.outcome, fourth.trigger) == (RoundOutcome.NEEDS_HUMAN, "checks_could_not_run")
            assert fourth.reasons == first.reasons
        else:
            assert fourth == first


@THINNED
@pytest.mark.parametrize(
    ("enabled", "violated", "refused"), sorted(set(itertools.product((True, False), repeat=3)) - {(True, False, False)})
)
def test_what_was_not_let_in_is_decided_by_that_alone(
    enabled: bool, violated: bool, refused: bool, every: bool
) -> None:
    """No result, no audit and no policy changes what a scope violation, a refused tree or no verification come to."""
    if not enabled:
        expected = (RoundOutcome.NEEDS_HUMAN, "verification_disabled", "nothing_to_check")
    else:
        expected = (RoundOutcome.CHANGES_REQUESTED, "workspace_refused" if refused else "scope_violation", "")
    for of, policy in combinations(enabled, violated, refused, every):
        decision = decide(of, policy, COUNTERS[2])
        assert (decision.outcome, decision.reasons[0].code, decision.trigger) == expected
        assert len(decision.reasons) == 1


@pytest.mark.parametrize("inconclusive", [0, 2, 3])
def test_without_a_tree_nothing_is_known(inconclusive: int) -> None:
    """No result and no audit makes up for a tree that could not be read; after the last retry a human looks."""
    outcome, trigger = (
        (RoundOutcome.INCONCLUSIVE, "") if inconclusive < 3 else (RoundOutcome.NEEDS_HUMAN, "checks_could_not_run")
    )
    for of in every_facts(violated=False, refused=False):
        decision = decide(of.model_copy(update={"unknown": "damaged"}), Policy(), Counters(inconclusive=inconclusive))
        assert (decision.outcome, decision.trigger) == (outcome, trigger)
        assert [reason.code for reason in decision.reasons] == ["no_tree"]


def test_checks_that_do_not_test_the_change_never_pass() -> None:
    """The probe's finding comes after what failed or could not run, and before everything but a hard fail."""
    for of in every_facts(violated=False, refused=False):
        alone, decision = decide(of, Policy()), decide(of.model_copy(update={"untested": "none goes red"}), Policy())
        hard_fail = of.audit is not None and of.audit.outcome is AuditorOutcome.FAILED
        mattered = all(r.passed for r in of.results if r.required) and not hard_fail
        if mattered:
            assert decision.outcome is RoundOutcome.CHANGES_REQUESTED
            assert decision.reasons[0].code == "change_not_tested"
        else:
            assert decision == alone


def test_a_probe_that_could_not_run_leaves_open_what_would_have_passed() -> None:
    for of in every_facts(violated=False, refused=False):
        alone, decision = decide(of, Policy()), decide(of.model_copy(update={"unprobed": "engine gone"}), Policy())
        if all(r.passed for r in of.results if r.required):
            assert (decision.outcome, decision.reasons[0].code) == (RoundOutcome.INCONCLUSIVE, "probe_could_not_run")
        else:
            assert decision == alone


def test_without_an_audit_the_checks_alone_decide() -> None:
    """Seed `authority` 10.2, and an approval changes none of it: an LLM turns no other outcome into a pass."""
    approval = Audit(outcome=AuditorOutcome.APPROVED, cited=True, confidence=SURE, passed_subjective={"S-1": SURE})
    for checks, criteria, advisory in itertools.product(MIXTURES, MIXTURES, ADVISORY):
        alone = decide(facts(checks, criteria, advisory), Policy())
        both = decide(facts(checks, criteria, advisory, audit=approval), Policy())
        assert alone.outcome is both.outcome
        earned = bool(checks or criteria) and {*checks, *criteria} == {P}
        assert (alone.outcome is RoundOutcome.VERIFIED) == earned


@THINNED
def test_an_audit_only_ever_holds_back(every: bool) -> None:
    """Whatever the auditor says, what is verified with it is verified without it, save what only a judge can tell."""
    for of, policy in combinations(enabled=True, violated=False, refused=False, every=every):
        if of.audit is None or decide(of, policy).outcome is not RoundOutcome.VERIFIED:
            continue
        only_a_judge = of.subjective_required or not any(r.required for r in of.results)
        without = decide(of.model_copy(update={"audit": None}), policy)
        assert only_a_judge or without.outcome is RoundOutcome.VERIFIED


# DESIGN 4, "decide, in order", line by line

APPROVED = Audit(outcome=AuditorOutcome.APPROVED, cited=True, confidence=SURE, passed_subjective={"S-1": SURE})
HESITANT = APPROVED.model_copy(update={"confidence": UNSURE})
NEARLY = APPROVED.model_copy(update={"passed_subjective": {"S-1": 0.69}})
UNCITED = Audit(outcome=AuditorOutcome.APPROVED)
HARD = Audit(outcome=AuditorOutcome.FAILED, feedback="wrong approach")
SOFT = Audit(outcome=AuditorOutcome.CHANGES_REQUESTED, feedback="rename it")
BLOCKED = Audit(outcome=AuditorOutcome.BLOCKED, feedback="which prime?")
CRASHED = Audit(outcome=AuditorOutcome.UNAVAILABLE)
MUDDLED = Audit(outcome=AuditorOutcome.INCONCLUSIVE, feedback="three answers cite what is not there")
SPENT = Audit(outcome=AuditorOutcome.COST_CAP, feedback="the todo's cap of $5")
LATE = Audit(outcome=AuditorOutcome.TIMED_OUT)
HALF = Policy(require_all_pass=False, max_fail_rate=RATE)
CHANGES, FAILED, HUMAN = RoundOutcome.CHANGES_REQUESTED, RoundOutcome.FAILED, RoundOutcome.NEEDS_HUMAN
UNKNOWN, VERIFIED = RoundOutcome.INCONCLUSIVE, RoundOutcome.VERIFIED


class Row(NamedTuple):
    """One line: what is given, and what it comes to."""

    given: Facts
    policy: Policy
    inconclusive: int
    expected: tuple[RoundOutcome, str, str]


def row(
    outcome: RoundOutcome,
    codes: str,
    trigger: str = "",
    policy: Policy = Policy(),  # noqa: B008 - frozen
    inconclusive: int = 0,
    **given: Any,
) -> Row:
    return Row(facts(**given), policy, inconclusive, (outcome, codes, trigger))


NO_SUBJECTIVE = Audit(outcome=AuditorOutcome.APPROVED, cited=True, confidence=SURE)
WARN = Policy(without_checks="warn")
ESCALATE = Policy(on_auditor_crash="escalate")
NOTHING = "nothing_to_check"
TRUTH_TABLE = {
    "a scope violation fails the attempt, whatever passed": row(
        CHANGES, "scope_violation", checks=(P,), violated=True, audit=APPROVED
    ),
    "a scope violation comes before a hard fail": row(
        CHANGES, "scope_violation", checks=(P,), violated=True, audit=HARD
    ),
    "a tree that was refused fails the attempt": row(CHANGES, "workspace_refused", refused=True),
    "a required check failed": row(CHANGES, "code_failed", checks=(P, F)),
    "a required criterion failed": row(CHANGES, "code_failed", criteria=(F,)),
    "a required check failed and the auditor has feedback": row(
        CHANGES, "code_failed auditor_changes_requested", checks=(F,), audit=SOFT
    ),
    "a required check failed and the auditor approved": row(CHANGES, "code_failed", checks=(F,), audit=APPROVED),
    "a required check failed and the auditor is unavailable": row(
        CHANGES, "code_failed verifier_unavailable", checks=(F,), audit=CRASHED
    ),
    "a required check failed and the auditor gave up": row(
        FAILED, "code_failed auditor_failed", "hard_fail", checks=(F,), audit=HARD
    ),
    "a required check failed and another could not run": row(CHANGES, "code_failed", checks=(F, C)),
    "a required check could not run": row(UNKNOWN, "code_could_not_run", checks=(P, C)),
    "a required check could not run, so the auditor's word does not matter": row(
        UNKNOWN, "code_could_not_run", checks=(C,), audit=HARD
    ),
    "a required check could not run on the last but one attempt": row(
        UNKNOWN, "code_could_not_run", checks=(C,), inconclusive=2
    ),
    "a required check could not run on the last attempt": row(
        HUMAN, "code_could_not_run", "checks_could_not_run", checks=(C,), inconclusive=3
    ),
    "a required check could not run and there are no retries": row(
        HUMAN, "code_could_not_run", "checks_could_not_run", Policy(tool_retries=0), checks=(C,)
    ),
    "everything passed and the auditor gave up": row(FAILED, "auditor_failed", "hard_fail", checks=(P,), audit=HARD),
    "everything passed and the auditor wants changes": row(
        CHANGES, "auditor_changes_requested", checks=(P,), audit=SOFT
    ),
    "everything passed and the auditor is blocked": row(
        HUMAN, "auditor_blocked", "auditor_blocked", checks=(P,), audit=BLOCKED
    ),
    "everything passed and the auditor is unavailable": row(
        CHANGES, "verifier_unavailable", checks=(P,), audit=CRASHED
    ),
    "everything passed, the auditor is unavailable, and the order wants a human then": row(
        HUMAN, "verifier_unavailable", "system_error", ESCALATE, checks=(P,), audit=CRASHED
    ),
    "everything passed and no answer of the auditor's held up": row(
        UNKNOWN, "auditor_inconclusive", checks=(P,), audit=MUDDLED
    ),
    "everything passed and no answer of the auditor's held up on the last attempt": row(
        HUMAN, "auditor_inconclusive", "checks_could_not_run", checks=(P,), audit=MUDDLED, inconclusive=3
    ),
    "everything passed and the auditor's money is spent": row(
        HUMAN, "cost_cap_exceeded", "cost_cap_exceeded", checks=(P,), audit=SPENT
    ),
    "everything passed and the auditor's time is over": row(
        HUMAN, "audit_timed_out", "timeout", checks=(P,), audit=LATE
    ),
    "a required check failed and no answer of the auditor's held up": row(
        CHANGES, "code_failed auditor_inconclusive", checks=(F,), audit=MUDDLED
    ),
    "a required check failed and the auditor's money is spent": row(
        CHANGES, "code_failed cost_cap_exceeded", checks=(F,), audit=SPENT
    ),
    "a required check failed and the auditor's time is over": row(
        CHANGES, "code_failed audit_timed_out", checks=(F,), audit=LATE
    ),
    "a required check could not run and the auditor's money is spent": row(
        UNKNOWN, "code_could_not_run", checks=(C,), audit=SPENT
    ),
    "a scope violation comes before the auditor's time": row(
        CHANGES, "scope_violation", checks=(P,), violated=True, audit=LATE
    ),
    "everything passed and the approval cites nothing": row(CHANGES, "uncited_approval", checks=(P,), audit=UNCITED),
    "nothing to check": row(HUMAN, NOTHING, NOTHING),
    "nothing but an advisory check": row(HUMAN, NOTHING, NOTHING, advisory=ADVISORY[1]),
    "nothing to check and an approval, where that needs a human": row(HUMAN, NOTHING, NOTHING, audit=APPROVED),
    "nothing to check and an approval, where that is a warning": row(
        VERIFIED, f"all_required_passed {NOTHING}", policy=WARN, audit=APPROVED
    ),
    "nothing to check and no auditor, where that is a warning": row(HUMAN, NOTHING, NOTHING, WARN),
    "a required check that constrains nothing": row(HUMAN, NOTHING, NOTHING, checks=(N,)),
    "a required check that constrains nothing, beside one that passed": row(HUMAN, NOTHING, NOTHING, checks=(P, N)),
    "a check that constrains nothing, where no check at all would be a warning": row(
        HUMAN, NOTHING, NOTHING, WARN, checks=(N,), audit=APPROVED
    ),
    "a required criterion that constrains nothing, whatever may fail": row(
        HUMAN, NOTHING, NOTHING, HALF, checks=(P,), criteria=(N,)
    ),
    "a required check that constrains nothing is not tried again": row(
        HUMAN, NOTHING, NOTHING, checks=(N,), inconclusive=3
    ),
    "a required check constrains nothing and another failed": row(CHANGES, "code_failed", checks=(F, N)),
    "a required check constrains nothing and another could not run": row(UNKNOWN, "code_could_not_run", checks=(C, N)),
    "a required check constrains nothing, so the auditor's word does not matter": row(
        HUMAN, NOTHING, NOTHING, checks=(P, N), audit=HARD
    ),
    "an advisory check that constrains nothing": row(
        VERIFIED, "all_required_passed", checks=(P,), advisory=ADVISORY[4]
    ),
    "a required subjective criterion that nobody judged": row(
        HUMAN, "not_judged", "not_judged", checks=(P,), subjective="unjudged"
    ),
    "a required subjective criterion that an approval does not name": row(
        HUMAN, "not_judged", "not_judged", checks=(P,), subjective="unjudged", audit=NO_SUBJECTIVE
    ),
    "a required subjective criterion that was judged": row(
        VERIFIED, "all_required_passed", checks=(P,), subjective="judged", audit=APPROVED
    ),
    "a required subjective criterion that the auditor is not sure of": row(
        HUMAN, "not_judged", "not_judged", checks=(P,), subjective="unsure", audit=NEARLY
    ),
    "a required subjective criterion that it is sure enough of for this order": row(
        VERIFIED,
        "all_required_passed",
        policy=Policy(confidence_threshold=0.69),
        checks=(P,),
        subjective="unsure",
        audit=NEARLY,
    ),
    "an approval that the auditor is not sure of": row(
        VERIFIED, "all_required_passed low_confidence", checks=(P,), audit=HESITANT
    ),
    "too few criteria": row(HUMAN, "too_few_criteria", NOTHING, Policy(min_criteria=2), criteria=(P,)),
    "just enough criteria": row(VERIFIED, "all_required_passed", policy=Policy(min_criteria=1), criteria=(P,)),
    "approved and everything required passed": row(
        VERIFIED, "all_required_passed", checks=(P,), criteria=(P,), audit=APPROVED
    ),
    "no auditor and everything required passed": row(VERIFIED, "all_required_passed", checks=(P,)),
    "an advisory failure holds nothing back": row(VERIFIED, "all_required_passed", checks=(P,), advisory=ADVISORY[2]),
    "a rate lets some criteria fail": row(
        VERIFIED, "within_max_fail_rate code_failed", policy=HALF, checks=(P,), criteria=(P, F)
    ),
    "a rate does not let more criteria fail": row(CHANGES, "code_failed", policy=HALF, checks=(P,), criteria=(F,)),
    "a rate lets no check fail": row(CHANGES, "code_failed", policy=HALF, checks=(P, F), criteria=(P,)),
    "a rate of 1 does not let everything fail": row(
        CHANGES, "code_failed", policy=Policy(require_all_pass=False, max_fail_rate=1.0), criteria=(F,)
    ),
    "a rate forgives nothing that could not run": row(
        UNKNOWN, "code_could_not_run", policy=HALF, checks=(P,), criteria=(P, C)
    ),
    "a rate without require_all_pass: false is no rate": row(
        CHANGES, "code_failed", policy=Policy(max_fail_rate=RATE), criteria=(P, F)
    ),
    "verification is disabled": row(
        HUMAN, "verification_disabled", NOTHING, Policy(enabled=False), checks=(P,), audit=APPROVED
    ),
}


@pytest.mark.parametrize("name", TRUTH_TABLE)
def test_truth_table(name: str) -> None:
    line = TRUTH_TABLE[name]
    decision = decide(line.given, line.policy, Counters(inconclusive=line.inconclusive))
    assert (decision.outcome, " ".join(r.code for r in decision.reasons), decision.trigger) == line.expected


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ((result("a", P), result("a", P)), {"a"}),
        ((result("a", P),), {"a", "b"}),
        ((result("a", P), result("b", P)), {"a"}),
        ((), {"a"}),
    ],
)
def test_a_result_too_many_or_too_few_is_a_system_error(results: tuple[CheckResult, ...], expected: set[str]) -> None:
    decision = decide(Facts(expected=frozenset(expected), results=results, audit=APPROVED), Policy())
    assert (decision.outcome, decision.trigger) == (HUMAN, "system_error")


def test_a_pass_names_the_evidence_of_what_was_required() -> None:
    of = facts(checks=(P,), criteria=(P,), advisory=ADVISORY[1])
    assert decide(of, Policy()).reasons[0].evidence == ("evidence of criterion-True-0", "evidence of check-True-0")


def test_a_failure_names_its_evidence() -> None:
    reason = decide(facts(checks=(P, F)), Policy()).reasons[0]
    assert (reason.text, reason.evidence) == ("check-True-1: text of check-True-1", ("evidence of check-True-1",))


def test_what_the_auditor_says_names_what_it_cites_and_why_there_is_no_word_is_told() -> None:
    soft = SOFT.model_copy(update={"evidence": ("ev-0123456789abcdef",)})
    (reason,) = decide(facts(checks=(P,), audit=soft), Policy()).reasons
    assert (reason.text, reason.evidence) == ("rename it", ("ev-0123456789abcdef",))
    told = {a.outcome: decide(facts(checks=(P,), audit=a), Policy()).reasons[0].text for a in (SPENT, MUDDLED, CRASHED)}
    assert told[AuditorOutcome.COST_CAP] == "asking the auditor would pass a cap on costs: the todo's cap of $5"
    assert told[AuditorOutcome.INCONCLUSIVE].endswith("held up: three answers cite what is not there")
    assert told[AuditorOutcome.UNAVAILABLE] == "verifier unavailable"


def test_the_policy_is_the_orders() -> None:
    verification = {
        *{"enabled": False, "require_all_pass": False, "max_fail_rate": 0.1, "min_criteria": 3}.items(),
        *{"without_checks": "warn", "on_auditor_crash": "escalate", "confidence_threshold": 0.8}.items(),
    }
    order = Order.model_validate(
        {"content": "x", "verification": dict(verification), "safeguards": {"tool_retries": 1}}
    )
    assert Policy.of(order) == Policy(
        enabled=False,
        require_all_pass=False,
        max_fail_rate=0.1,
        min_criteria=3,
        without_checks="warn",
        on_auditor_crash="escalate",
        tool_retries=1,
        confidence_threshold=0.8,
    )
    assert Policy.of(Order(content="x")) == Policy()


# a search for a pass that nothing earned

RESULTS = st.lists(
    st.builds(
        result,
        id=st.sampled_from("abcdef"),
        kind=st.sampled_from([*Outcome, N]),
        spelling=st.sampled_from(["criterion", "check"]),
        required=st.booleans(),
    ),
    max_size=5,
).map(tuple)
ALL_AUDITS = st.none() | st.builds(
    Audit,
    outcome=st.sampled_from(AuditorOutcome),
    cited=st.booleans(),
    confidence=st.none() | st.floats(0, 1),
    passed_subjective=st.dictionaries(st.sampled_from("st"), st.floats(0, 1)),
)
FACTS = RESULTS.flatmap(
    lambda results: st.builds(
        Facts,
        expected=st.just(frozenset(r.id for r in results)) | st.frozensets(st.sampled_from("abcdef")),
        results=st.just(results),
        violations=st.lists(st.just("a.py"), max_size=1).map(tuple),
        refused=st.sampled_from(["", "", "", "too large"]),
        subjective_required=st.frozensets(st.sampled_from("st")),
        criteria=st.integers(0, 4),
        audit=ALL_AUDITS,
    )
)
POLICIES = st.builds(
    Policy,
    enabled=st.just(True) | st.booleans(),
    require_all_pass=st.booleans(),
    max_fail_rate=st.sampled_from([0.0, 0.25, 0.34, 0.5, 1.0]) | st.floats(0, 1),
    min_criteria=st.integers(0, 3),
    without_checks=st.sampled_from(["needs_human", "warn"]),
    on_auditor_crash=st.sampled_from(["soft_fail", "escalate"]),
    tool_retries=st.integers(0, 3),
    confidence_threshold=st.sampled_from([0.0, 0.7, 1.0]) | st.floats(0, 1),
)
ATTEMPTS = st.builds(Counters, inconclusive=st.integers(0, 5))


@given(of=FACTS, policy=POLICIES, counters=ATTEMPTS)
def test_no_pass_where_something_required_did_not(of: Facts, policy: Policy, counters: Counters) -> None:
    decision = decide(of, policy, counters)
    if decision.outcome is not RoundOutcome.VERIFIED:
        assert decision.outcome in OPEN
        return
    required = [r for r in of.results if r.required]
    short = [r for r in required if not r.passed]
    if policy.require_all_pass:
        assert short == []
    criteria = [r for r in required if r.spelling == "criterion"]
    assert all(r.spelling == "criterion" and r.outcome is F for r in short)
    assert not short or len(short) / len(criteria) <= policy.max_fail_rate
    assert len(short) < len(required) or not required
    assert {r.id for r in of.results} == of.expected
    assert not of.violations
    assert not of.refused


@given(
    of=FACTS,
    policy=POLICIES,
    counters=ATTEMPTS,
    worse=st.sampled_from([F, C]),
    data=st.data(),
)
def test_a_worse_result_never_makes_a_pass(
    of: Facts, policy: Policy, counters: Counters, worse: Outcome, data: st.DataObject
) -> None:
    passed = [place for place, r in enumerate(of.results) if r.required and r.passed]
    if not passed:
        return
    place = data.draw(st.sampled_from(passed))
    results = list(of.results)
    results[place] = results[place].model_copy(update={"outcome": worse})
    then = decide(of.model_copy(update={"results": tuple(results)}), policy, counters)
    if decide(of, policy, counters).outcome is not RoundOutcome.VERIFIED:
        assert then.outcome is not RoundOutcome.VERIFIED
    if policy.require_all_pass or worse is C or results[place].spelling == "check":
        assert then.outcome is not RoundOutcome.VERIFIED


@given(of=FACTS, policy=POLICIES, counters=ATTEMPTS)
def test_a_stricter_policy_never_makes_a_pass(of: Facts, policy: Policy, counters: Counters) -> None:
    strict = policy.model_copy(
        update={"require_all_pass": True, "without_checks": "needs_human", "min_criteria": policy.min_criteria + 1}
    )
    if decide(of, strict, counters).outcome is RoundOutcome.VERIFIED:
        assert decide(of, policy, counters).outcome is RoundOutcome.VERIFIED


@pytest.mark.parametrize("outcome", [P, F, C])
def test_a_changed_input_needs_a_human_whatever_the_checks_say(outcome: Outcome) -> None:
    changed = facts((outcome,)).model_copy(update={"changed_inputs": ("requirements.txt", "setup.lock")})
    decision = decide(changed, Policy())
    assert (decision.outcome, decision.trigger) == (RoundOutcome.NEEDS_HUMAN, "high_stakes")
    assert [reason.code for reason in decision.reasons] == ["input_changed", "input_changed"]
    violated = changed.model_copy(update={"violations": ("denied: x",)})
    assert decide(violated, Policy()).outcome is RoundOutcome.CHANGES_REQUESTED


@given(of=FACTS, policy=POLICIES, counters=ATTEMPTS)
def test_what_an_agent_wrote_never_makes_a_pass(of: Facts, policy: Policy, counters: Counters) -> None:
    """Criteria of its own that pass beside what there is: as good as if they were not there, DESIGN 1.4."""
    own = tuple(result(f"own-{place}", P, "criterion") for place in range(3))
    beside = of.model_copy(
        update={
            "results": (*of.results, *own),
            "expected": of.expected | {r.id for r in own},
            "authored": frozenset(r.id for r in own),
        }
    )
    alone = decide(of, policy, counters)
    if alone.outcome is not RoundOutcome.VERIFIED:
        assert decide(beside, policy, counters).outcome is not RoundOutcome.VERIFIED


def test_what_an_agent_wrote_is_not_forgiven() -> None:
    policy = Policy(require_all_pass=False, max_fail_rate=0.5)
    of = facts((), (P, F))
    assert decide(of, policy).outcome is RoundOutcome.VERIFIED
    failed = of.results[1].id
    decision = decide(of.model_copy(update={"authored": frozenset({failed})}), policy)
    assert decision.outcome is RoundOutcome.CHANGES_REQUESTED
