"""Which verdicts answer again: each part of the key that changes forgets, and so does whatever chance had a part in."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from domain.authority import Authority, ConfigurationFile
from domain.checks import CheckResult, Outcome
from domain.claims.claim import Claim
from domain.criteria import ApiResponse, PrMerged
from domain.decision import Decision, Reason, RoundOutcome
from domain.events import Actor
from domain.messages import Frozen, RoundInput, RoundRecord
from domain.order import FixLoop
from domain.probes import ProbeSeen
from domain.remembering import answered, changed_authority, same_work, unlasting
from domain.report import Remembered, build
from domain.roles.results import AuditRecord, DisputeRecord
from domain.scope import ScopeReport
from domain.verdict import Audit, AuditorOutcome, Tiebreak, TiebreakOutcome
from tests.model.todos import order

NOW = datetime(2026, 1, 15, 10, 0, tzinfo=UTC)
FROZEN = Frozen(
    head="1" * 64, base="2" * 64, head_files=1, head_bytes=1, base_files=1, dropped="d" * 64, order_files="3" * 64
)
IN_FORCE = Authority(
    configuration=(ConfigurationFile(path="/p/countersign.toml", digest="a"),),
    pin="p",
    signers="s",
    environment={"COUNTERSIGN_DOCKER_HOST": "h"},
    program="1",
    models="m",
)
PASSED = CheckResult(id="t", spelling="check", type="command_exit_zero", outcome=Outcome.PASSED, code="ok")


def request(**changed: Any) -> RoundInput:
    of = changed.pop("order", order())
    given = {
        "session": "local",
        "todo": of.id,
        "attempt": 1,
        "order": of,
        "order_digest": of.digest,
        "host": "h",
        "actor": Actor(role="unattributed"),
        "authority": IN_FORCE,
    }
    return RoundInput.model_validate({**given, **changed})


def record(outcome: RoundOutcome = RoundOutcome.VERIFIED, **changed: Any) -> RoundRecord:
    asked = {name: changed.pop(name) for name in ("order", "claim", "loop") if name in changed}
    return RoundRecord(
        input=request(**asked),
        started_at=NOW,
        ended_at=NOW,
        frozen=changed.pop("frozen", FROZEN),
        results=changed.pop("results", (PASSED,)),
        decision=Decision(outcome=outcome, reasons=(Reason(code="c", text="because"),)),
        **changed,
    )


def test_the_same_order_claim_and_trees_are_the_same_work() -> None:
    assert same_work(record(), request(), FROZEN)
    assert same_work(record(), request(attempt=7, host="elsewhere"), FROZEN)


@pytest.mark.parametrize("name", ["head", "base", "order_files", "commits"])
def test_another_tree_is_other_work(name: str) -> None:
    assert not same_work(record(), request(), FROZEN.model_copy(update={name: "9" * 64}))


def test_another_order_another_claim_and_no_tree_are_other_work() -> None:
    other = order().model_copy(update={"content": "something else"})
    assert not same_work(record(), request(order=other), FROZEN)
    assert not same_work(record(), request(claim=Claim(explanation="it is done as asked")), FROZEN)
    assert not same_work(record(frozen=None), request(), FROZEN)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"configuration": ()}, "the configuration changed: /p/countersign.toml"),
        (
            {"configuration": (ConfigurationFile(path="/p/countersign.toml", digest="b"),)},
            "the configuration changed: /p/countersign.toml",
        ),
        (
            {"configuration": (*IN_FORCE.configuration, ConfigurationFile(path="/countersign.toml", digest="b"))},
            "the configuration changed: /countersign.toml",
        ),
        ({"pin": "q"}, "the pin changed"),
        ({"signers": ""}, "the signers are others"),
        ({"environment": {}}, "other variables decide: COUNTERSIGN_DOCKER_HOST"),
        ({"environment": {"COUNTERSIGN_DOCKER_HOST": "i"}}, "other variables decide: COUNTERSIGN_DOCKER_HOST"),
        ({"program": "2"}, "Countersign itself changed"),
        ({"models": ""}, "the models are others"),
    ],
)
def test_whatever_else_decides_forgets_when_it_changes(changed: dict[str, Any], why: str) -> None:
    assert changed_authority(IN_FORCE, IN_FORCE) == ""
    assert changed_authority(IN_FORCE, IN_FORCE.model_copy(update=changed)) == why
    assert changed_authority(IN_FORCE.model_copy(update=changed), IN_FORCE) == why


def test_every_field_of_the_authority_counts() -> None:
    """One that is added later is compared, too."""

    class Later(Authority):
        more: str = ""

    then, now = (Later(**IN_FORCE.model_dump(), more=said) for said in ("a", "b"))
    assert changed_authority(then, then) == ""
    assert changed_authority(then, now) == "the authority changed"


def test_what_was_decided_under_an_unknown_authority_is_forgotten() -> None:
    assert changed_authority(Authority(), Authority()) == "what decided then was not recorded"


def test_a_verdict_that_only_the_work_decided_lasts() -> None:
    failed = PASSED.model_copy(update={"outcome": Outcome.FAILED, "code": "exit_code"})
    for one in (record(), record(RoundOutcome.CHANGES_REQUESTED, results=(failed,)), record(RoundOutcome.FAILED)):
        assert unlasting(one) == ""
    audit = AuditRecord(audit=Audit(outcome=AuditorOutcome.APPROVED, cited=True))
    tiebreak = DisputeRecord(tiebreak=Tiebreak(outcome=TiebreakOutcome.JUDGED))
    probe = ProbeSeen(how="revert", tested=True, text="it fails without", seed=1)
    assert unlasting(record(audit=audit, dispute=tiebreak, probe=probe)) == ""


def changed_result(**update: Any) -> CheckResult:
    return PASSED.model_copy(update=update)


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (record(results=(changed_result(outcomes=(Outcome.FAILED, Outcome.PASSED)),)), "t was flaky"),
        (record(results=(changed_result(outcome=Outcome.COULD_NOT_RUN, required=False),)), "t could not be run"),
        (record(results=(changed_result(outcome=Outcome.FAILED, code="verification_timeout"),)), "t ran out of time"),
        (record(audit=AuditRecord(ran=(changed_result(outcome=Outcome.COULD_NOT_RUN),))), "t could not be run"),
        (record(loop=1), "a fix loop belongs to it"),
        (
            record(
                RoundOutcome.CHANGES_REQUESTED,
                order=order().model_copy(update={"fix_loop": FixLoop(enabled=True), "domain": "refactor"}),
            ),
            "a fix loop belongs to it",
        ),
        *(
            (record(audit=AuditRecord(audit=Audit(outcome=outcome))), "the auditor had no word on it")
            for outcome in AuditorOutcome
            if outcome.value in ("unavailable", "inconclusive", "cost_cap_exceeded", "timed_out")
        ),
        *(
            (record(dispute=DisputeRecord(tiebreak=Tiebreak(outcome=outcome))), "the judge had no word on it")
            for outcome in TiebreakOutcome
            if outcome is not TiebreakOutcome.JUDGED
        ),
        (
            record(probe=ProbeSeen(how="revert", tested=None, unknown=True, text="no", seed=1)),
            "the probe could not be run",
        ),
    ],
)
def test_what_chance_or_the_outside_had_a_part_in_does_not_last(one: RoundRecord, why: str) -> None:
    assert unlasting(one) == why


@pytest.mark.parametrize(
    "criterion",
    [
        ApiResponse.model_validate(
            {"id": "AC-9", "type": "api_response", "params": {"url": "https://s.example/v", "status": 200}}
        ),
        PrMerged.model_validate({"id": "AC-9", "type": "pr_merged", "params": {"repository": "o/n", "number": 1}}),
    ],
)
def test_what_asks_the_outside_does_not_last(criterion: Any) -> None:
    assert unlasting(record(order=order().with_criteria([criterion]))) == "AC-9 asks a service outside"


def test_a_report_that_answers_again_says_where_from_and_a_person_outranks_it() -> None:
    report = build(record(RoundOutcome.NEEDS_HUMAN), {}, ScopeReport(), None)
    again = answered(report, Remembered(attempt=4, at=NOW))
    assert again.model_copy(update={"remembered": None}) == report
    assert again.remembered == Remembered(attempt=4, at=NOW)
    approved = answered(report, Remembered(attempt=4, at=NOW, kind="approved", by="human:ann"), "looked at it")
    assert (approved.outcome, approved.verdict, approved.trigger) == ("verified", "PASS", "")
    assert approved.reasons[0] == Reason(code="approved_by_person", text="human:ann approved it: looked at it")
    assert approved.reasons[1:] == report.reasons
    rejected = answered(report, Remembered(attempt=4, at=NOW, kind="rejected", by="human:ann"))
    assert (rejected.outcome, rejected.verdict) == ("changes_requested", "FAIL")
    assert (approved.retry_context, again.retry_context) == (None, report.retry_context)
    told = answered(report, Remembered(attempt=4, at=NOW, kind="rejected", by="human:ann"), "rename it").retry_context
    assert told is not None
    assert (told.human_feedback, told.attempt_number) == ("rename it", 5)
    assert told.specific_failures == ("human:ann rejected it: rename it",)
    failed = report.model_copy(update={"retry_context": told.model_copy(update={"specific_failures": ("tests: x",)})})
    both = answered(failed, Remembered(attempt=4, at=NOW, kind="rejected", by="human:ann"), "no").retry_context
    assert both is not None
    assert (both.human_feedback, both.specific_failures) == ("no", ("tests: x",))
