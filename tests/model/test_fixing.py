"""The fix loop's policy, enumerated against a table that is written here anew, then walked by whole loops."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.checks import CheckResult, Outcome
from domain.confidence import Confidence, confidence_of, remarks
from domain.decision import Decision, Reason, RoundOutcome
from domain.domains import FILES, FOLDERS, guessed_domain
from domain.fixing import (
    Budget,
    Escalate,
    Next,
    Repair,
    Success,
    Tally,
    after_fix,
    after_round,
    begins,
    budget_of,
    estimated,
    high_stakes,
)
from domain.messages import Frozen, RoundResult, ScopeResult
from domain.order import Domain, FixLoop, Order
from domain.roles.results import Fixed, PassOutcome, PassResult
from domain.safeguards import Trigger
from domain.tree import Change

DOMAINS: tuple[Domain, ...] = get_args(Domain)
MENDED = ("docs", "system", "refactor", "polish")
ESCALATED = ("security", "finance", "legal", "deploy", "infra", "unknown")
HEAD = Frozen(head="h", base="b", head_files=1, head_bytes=1, base_files=1, dropped="d")
TOLD = "AC-1: returned True"


def order(domain: str, enabled: bool = True, **loop: Any) -> Order:
    fix_loop = FixLoop(enabled=enabled, **loop)
    return Order.model_validate({"content": "c", "domain": domain, "fix_loop": fix_loop.model_dump()})


def decision(outcome: RoundOutcome, trigger: str = "") -> Decision:
    return Decision(outcome=outcome, reasons=(Reason(code="c", text=TOLD),), trigger=trigger)


def scope(*paths: str, total: int | None = None) -> ScopeResult:
    changed = tuple(Change(path=path, kind="modified") for path in paths)
    whole = len(paths) if total is None else total
    return ScopeResult(tree="t", tree_bytes=1, report="r", diff="d", changed=changed, changed_total=whole)


class Seen(NamedTuple):
    """A round, and what follows where work is mended by itself, and where not; `REPAIR`: by the budget."""

    confidence: Confidence | None
    outcome: RoundOutcome
    trigger: str
    mended: str
    high: str


REPAIR = "repair"
ROUNDS = (
    Seen(Confidence.PERFECT, RoundOutcome.VERIFIED, "", "success", "success"),
    Seen(Confidence.VERIFIED, RoundOutcome.VERIFIED, "", "success", "success"),
    Seen(Confidence.PARTIAL, RoundOutcome.VERIFIED, "", "notes", "high_stakes"),
    Seen(Confidence.FEEDBACK, RoundOutcome.CHANGES_REQUESTED, "", REPAIR, "high_stakes"),
    Seen(Confidence.FAILED, RoundOutcome.INCONCLUSIVE, "", *("checks_could_not_run",) * 2),
    Seen(None, RoundOutcome.FAILED, "hard_fail", *("hard_fail",) * 2),
    *(
        Seen(None, RoundOutcome.NEEDS_HUMAN, trigger, trigger, trigger)
        for trigger in ("auditor_blocked", "nothing_to_check", "not_judged", "cost_cap_exceeded", "timeout")
    ),
    Seen(None, RoundOutcome.NEEDS_HUMAN, "", *("system_error",) * 2),
)


class Means(NamedTuple):
    """What is used of 3 loops and 100 micros, what another may cost, and what follows where it may be mended."""

    tally: Tally
    estimate: int
    follows: str


MEANS = (
    Means(Tally(), 0, REPAIR),
    Means(Tally(), 100, REPAIR),
    Means(Tally(), 101, "cost_cap_exceeded"),
    Means(Tally(loops=1, micros=60), 40, REPAIR),
    Means(Tally(loops=2, micros=60), 41, "cost_cap_exceeded"),
    Means(Tally(loops=2, micros=99), 0, REPAIR),
    Means(Tally(loops=2, micros=100), 0, "cost_cap_exceeded"),
    Means(Tally(loops=2, micros=150), 0, "cost_cap_exceeded"),
    Means(Tally(loops=3, micros=0), 0, "revision_cap_exceeded"),
    Means(Tally(loops=3, micros=150), 9, "revision_cap_exceeded"),
    Means(Tally(loops=4, micros=0), 0, "revision_cap_exceeded"),
)
BUDGET = Budget(loops=3, micros=100)


def kind(step: Next) -> str:
    match step:
        case Repair():
            return REPAIR
        case Success(notes=notes):
            return "notes" if notes else "success"
        case Escalate(trigger=trigger):
            return trigger


def result_of(seen: Seen, **more: Any) -> RoundResult:
    trees = {"frozen": HEAD, "scope": scope("src/a.py"), **more}
    judged = decision(seen.outcome, seen.trigger)
    return RoundResult(decision=judged, report="r", confidence=seen.confidence, **trees)


def test_the_two_kinds_of_domain_are_all_of_them() -> None:
    assert {*MENDED, *ESCALATED} == set(DOMAINS)
    assert [domain for domain in DOMAINS if not high_stakes(order(domain))] == list(MENDED)
    assert high_stakes(Order(content="c")), "an order that says nothing is of high stakes"


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_round_under_every_budget(domain: str) -> None:
    for seen, means in itertools.product(ROUNDS, MEANS):
        step = after_round(order(domain), result_of(seen), means.tally, BUDGET, means.estimate)
        expected = seen.mended if domain in MENDED else seen.high
        if expected == REPAIR:
            expected = means.follows
        assert kind(step) == expected, (seen, means)
        if isinstance(step, Repair):
            assert (step.loop, step.of) == (means.tally.loops + 1, 3)
        if isinstance(step, Escalate):
            assert TOLD in step.reason
            assert step.trigger in get_args(Trigger)


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_loop_begins_with_feedback_and_where_partial_is_not_enough(domain: str) -> None:
    for seen in ROUNDS:
        wanted = seen.confidence is Confidence.FEEDBACK
        wanted = wanted or (seen.confidence is Confidence.PARTIAL and domain in ESCALATED)
        assert begins(order(domain), result_of(seen)) == wanted, seen
        assert not begins(order(domain, enabled=False), result_of(seen)), seen


def test_feedback_on_work_without_a_tree_is_a_humans() -> None:
    feedback = ROUNDS[3]
    for missing in ({"frozen": None}, {"scope": None}):
        step = after_round(order("docs"), result_of(feedback, **missing), Tally(), BUDGET, 0)
        assert kind(step) == "could_not_apply"
        step = after_round(order("legal"), result_of(feedback, **missing), Tally(), BUDGET, 0)
        assert kind(step) == "high_stakes"


def test_what_partial_leaves_is_told() -> None:
    partial = result_of(ROUNDS[2], remarks=("lint (advisory): exit code 1",))
    assert after_round(order("docs"), partial, Tally(), BUDGET, 0) == Success(notes=("lint (advisory): exit code 1",))
    step = after_round(order("finance"), partial, Tally(), BUDGET, 0)
    assert isinstance(step, Escalate)
    assert "lint (advisory): exit code 1" in step.reason


def test_the_reasons_name_the_numbers() -> None:
    feedback, usd = result_of(ROUNDS[3]), 1_000_000
    spent = after_round(
        order("docs"), feedback, Tally(loops=1, micros=4 * usd), Budget(loops=3, micros=5 * usd), 2 * usd
    )
    assert isinstance(spent, Escalate)
    assert "$4.0000 spent, another loop may cost $2.0000, and at most $5.0000 may be" in spent.reason
    used = after_round(order("docs"), feedback, Tally(loops=3), Budget(loops=3, micros=5 * usd), 0)
    assert isinstance(used, Escalate)
    assert "3 of 3 loops used" in used.reason


ROUND = st.sampled_from(ROUNDS)
AMOUNT = st.integers(min_value=0, max_value=200)


@given(
    domain=st.sampled_from(DOMAINS),
    rounds=st.lists(st.tuples(ROUND, AMOUNT), min_size=1, max_size=12),
    budget=st.builds(Budget, loops=st.integers(0, 6), micros=AMOUNT),
    verifying=AMOUNT,
    used=st.builds(Tally, loops=st.integers(0, 4), micros=AMOUNT),
)
def test_a_whole_loop_keeps_its_budget(
    domain: str, rounds: list[tuple[Seen, int]], budget: Budget, verifying: int, used: Tally
) -> None:
    """Whatever rounds come to and cost: loops are bounded, no estimate passes the cap, high stakes are never mended."""
    tally, costs = used, list[int]()
    for seen, cost in rounds:
        estimate = estimated(verifying, costs)
        step = after_round(order(domain), result_of(seen), tally, budget, estimate)
        if not isinstance(step, Repair):
            assert isinstance(step, Success | Escalate)
            return
        assert domain in MENDED
        assert seen.confidence is Confidence.FEEDBACK
        assert step.loop == tally.loops + 1 <= step.of == budget.loops
        assert tally.micros + estimate <= budget.micros
        costs.append(cost)
        tally = Tally(loops=step.loop, micros=tally.micros + cost)
    assert tally.loops <= max(budget.loops, used.loops)


@given(
    confidence=st.sampled_from([None, *Confidence]),
    outcome=st.sampled_from(RoundOutcome),
    trigger=st.sampled_from(["", *get_args(Trigger)]),
    domain=st.sampled_from(DOMAINS),
    tally=st.builds(Tally, loops=st.integers(0, 9), micros=AMOUNT),
)
def test_every_round_has_an_answer(
    confidence: Confidence | None, outcome: RoundOutcome, trigger: str, domain: str, tally: Tally
) -> None:
    """Those that no round comes to, too: only a word that says so is a success, only feedback is repaired."""
    step = after_round(order(domain), result_of(Seen(confidence, outcome, trigger, "", "")), tally, BUDGET, 0)
    assert isinstance(step, Repair | Success | Escalate)
    if isinstance(step, Success):
        assert confidence in (Confidence.PERFECT, Confidence.VERIFIED, Confidence.PARTIAL)
    if isinstance(step, Repair):
        assert (confidence, domain in MENDED) == (Confidence.FEEDBACK, True)


def test_the_estimate_is_the_dearest_so_far() -> None:
    assert estimated(7, ()) == 7
    assert estimated(7, (3,)) == 3
    assert estimated(7, (3, 9, 5)) == 9


def test_a_budget_is_the_orders_and_what_was_granted() -> None:
    assert budget_of(order("docs")) == Budget(loops=3, micros=5_000_000)
    own = order("docs", max_loops=2, max_cost_usd=0.1)
    assert budget_of(own) == Budget(loops=2, micros=100_000)
    assert budget_of(own, Tally(loops=2, micros=50_000)) == Budget(loops=4, micros=150_000)


FIXED = Fixed(kind="partial", answer="PARTIAL:1/2", head="h", edits=1)
NOT_FIXED = Fixed(kind="could_not_apply", answer="COULD_NOT_APPLY: a new file", reason="a new file")
ENDS: dict[PassOutcome, Trigger] = {"timed_out": "timeout", "cost_cap_exceeded": "cost_cap_exceeded"}


@pytest.mark.parametrize("outcome", get_args(PassOutcome))
@pytest.mark.parametrize("fixed", [FIXED, NOT_FIXED, None])
def test_only_an_answer_with_a_tree_goes_to_a_round(outcome: PassOutcome, fixed: Fixed | None) -> None:
    end = after_fix(PassResult(outcome=outcome, why="since", fixed=fixed))
    if outcome == "answered" and fixed is FIXED:
        assert end is None
        return
    assert end is not None
    assert end.trigger == (ENDS.get(outcome, "could_not_apply"))
    if outcome != "answered":
        assert end.reason == "the fix builder: since"
    elif fixed is NOT_FIXED:
        assert end.reason == "a new file"


def check(outcome: Outcome, required: bool = True) -> CheckResult:
    return CheckResult(
        id="tests", spelling="check", type="pytest", outcome=outcome, required=required, code="c", text="3 failed"
    )


P, F = Outcome.PASSED, Outcome.FAILED


def judged(outcome: RoundOutcome, *codes: str, trigger: str = "") -> Decision:
    reasons = tuple(Reason(code=code, text=f"text of {code}") for code in codes)
    return Decision(outcome=outcome, reasons=reasons, trigger=trigger)


@pytest.mark.parametrize(
    ("decided", "results", "notices", "word"),
    [
        (judged(RoundOutcome.VERIFIED, "all_required_passed"), [check(P)], (), Confidence.PERFECT),
        (judged(RoundOutcome.VERIFIED, "all_required_passed"), [check(P)], ("no auditor",), Confidence.VERIFIED),
        (judged(RoundOutcome.VERIFIED, "all_required_passed", "low_confidence"), [check(P)], (), Confidence.VERIFIED),
        (judged(RoundOutcome.VERIFIED, "all_required_passed"), [check(P), check(F, False)], (), Confidence.PARTIAL),
        (judged(RoundOutcome.VERIFIED, "within_max_fail_rate"), [check(P), check(F)], ("n",), Confidence.PARTIAL),
        (judged(RoundOutcome.VERIFIED, "all_required_passed", "advised_against"), [check(P)], (), Confidence.PARTIAL),
        (judged(RoundOutcome.CHANGES_REQUESTED, "exit_code"), [check(F)], (), Confidence.FEEDBACK),
        (judged(RoundOutcome.INCONCLUSIVE, "no_tree"), [], (), Confidence.FAILED),
        (judged(RoundOutcome.NEEDS_HUMAN, "c", trigger="checks_could_not_run"), [], (), Confidence.FAILED),
        (judged(RoundOutcome.NEEDS_HUMAN, "c", trigger="auditor_blocked"), [check(P)], (), None),
        (judged(RoundOutcome.FAILED, "auditor_failed", trigger="hard_fail"), [check(F)], (), None),
    ],
)
def test_the_word_for_a_round(
    decided: Decision, results: list[CheckResult], notices: tuple[str, ...], word: Confidence | None
) -> None:
    assert confidence_of(decided, iter(results), notices) is word


def test_what_is_remarked_on_is_named() -> None:
    decided = judged(RoundOutcome.VERIFIED, "all_required_passed", "advised_against", "low_confidence")
    seen = remarks(decided, [check(P), check(F, required=False)])
    assert seen == ("tests (advisory): 3 failed", "text of advised_against")


@pytest.mark.parametrize(
    ("paths", "domain"),
    [
        (["README.md"], "docs"),
        (["docs/api/index.html", "CHANGELOG.rst"], "docs"),
        (["docs/security/keys.md"], "security"),
        (["src/auth/token.py", "src/Login/form.py"], "security"),
        (["app/billing/invoice.py"], "finance"),
        (["LICENSE"], "legal"),
        (["deploy/prod.yaml", "Dockerfile"], "deploy"),
        ([".github/workflows/ci.yml", "net/main.tf"], "infra"),
        (["README.md", "src/a.py"], ""),
        (["README.md", "deploy/prod.yaml"], ""),
        (["src/a.py"], ""),
        (["document.py", "authors.py"], ""),
        ([], ""),
    ],
)
def test_a_domain_is_guessed_where_all_paths_agree(paths: list[str], domain: str) -> None:
    assert guessed_domain(paths) == domain
    assert {*FOLDERS, *FILES} <= set(DOMAINS)


def test_a_guess_is_advice_and_changes_nothing() -> None:
    docs = scope("README.md", "docs/a.md")
    for seen in (ROUNDS[2], ROUNDS[3]):
        told = after_round(order("unknown"), result_of(seen, scope=docs), Tally(), BUDGET, 0)
        assert isinstance(told, Escalate)
        assert told.trigger == "high_stakes"
        assert told.reason.endswith(
            "; the changed paths look like docs: say `domain: docs` in the order if they are"
        ), told.reason
        silent = (
            (order("legal"), docs),
            (order("unknown"), scope("README.md", "src/a.py")),
            (order("unknown"), scope("README.md", total=51)),
            (order("unknown"), None),
        )
        for asked, changed in silent:
            step = after_round(asked, result_of(seen, scope=changed), Tally(), BUDGET, 0)
            assert isinstance(step, Escalate)
            assert "look like" not in step.reason
