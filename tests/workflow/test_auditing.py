"""The auditor's part of a round: who is asked what, what is in the trail, what ends it. Its answers are scripted."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from temporalio.testing import WorkflowEnvironment

from domain.claims.claim import Claim, CommandLog
from domain.claims.minted import MintedEvidence
from domain.decision import RoundOutcome
from domain.errors import Cause, Unavailable, WorkspaceRefused
from domain.events import SYSTEM
from domain.life import FollowUpAnswer
from domain.messages import RoundInput, RoundRecord, RoundResult
from domain.roles.results import AuditRecord, PassResult
from domain.scope import Violation
from domain.verdict import Audit, AuditorOutcome
from tests.fakes.evidence import MemoryStore
from tests.workflow.conftest import FAILED, House, Script, StrictTrail, order_of, working
from tests.workflow.scripted_role import APPROVED, CAPPED, LOOKED, asking, refused, wanting
from workflows import options
from workflows.options import ROLES_QUEUE, WORKFLOWS_QUEUE
from workflows.verification import VerificationWorkflow

CRITERIA: Any = [{"id": "AC-1", "type": "file_exists", "params": {"path": "a"}}]
CHECKED: Any = {"checks": [{"name": "tests", "command": "run tests"}]}
LIED = Claim(
    explanation="all tests pass", commands_run=[CommandLog(command="run tests", stdout="", stderr="", exit_code=0)]
)
BROUGHT = MintedEvidence(id="ev-0123456789abcdef", label="log", type="command_output", digest="d" * 64, news="n")
BROKE = Unavailable(Cause.SYSTEM_ERROR, "a defect", "report it")


async def decide(house: House, request: RoundInput) -> RoundResult:
    return await house.client.execute_workflow(
        VerificationWorkflow.run, request, id=request.workflow_id, task_queue=WORKFLOWS_QUEUE
    )


def record_of(house: House) -> RoundRecord:
    *_, decided = house.trail.rows()
    return RoundRecord.model_validate_json(house.store.get(str(decided.payload["record"])))


def audit_of(house: House) -> AuditRecord:
    audit = record_of(house).audit
    assert audit is not None
    return audit


def rows(house: House, *actions: str) -> list[dict[str, Any]]:
    """The payloads of these actions, all of which are the auditor's."""
    found = [row for row in house.trail.rows() if row.action in actions]
    assert {str(row.actor) for row in found} <= {"auditor"}
    return [dict(row.payload) for row in found]


async def test_without_a_model_nothing_is_in_the_trail(house: House) -> None:
    result = await decide(house, house.round(order_of("wo-none", verification=CHECKED)))
    assert result.decision.outcome is RoundOutcome.VERIFIED
    assert [asked.stage for asked in house.script.auditor.asked] == ["blind"]
    assert rows(house, "role_pass_completed") == []
    (decided,) = (row for row in house.trail.rows() if row.action == "audit_completed")
    assert str(decided.actor) == "harness"
    record = record_of(house)
    assert record.audit is not None
    assert record.audit.audit is None
    assert record.notices == ()


async def test_an_approval_is_the_auditors_verdict_and_every_pass_is_in_the_trail(house: House) -> None:
    looked = LOOKED.model_copy(update={"refused": refused("Write", "bash")})
    house.script.auditor.passes = [looked, APPROVED]
    order = order_of("wo-approved", acceptance_criteria=CRITERIA, verification=CHECKED)
    result = await decide(house, house.round(order))
    assert result.decision.outcome is RoundOutcome.VERIFIED
    assert "the auditor approved" in result.decision.reasons[0].text
    passes = rows(house, "role_pass_completed")
    assert [(row["stage"], row["part"], row["outcome"]) for row in passes] == [
        ("blind", 0, "answered"),
        ("informed", 0, "answered"),
    ]
    assert (passes[1]["cost_usd"], passes[1]["requests"], passes[1]["input_tokens"]) == (0.0025, 2, 1000)
    assert (passes[0]["model"], passes[0]["scripted"], passes[0]["said"]) == ("script:auditor.yaml", True, LOOKED.said)
    assert [row["tool"] for row in rows(house, "tool_refused")] == ["Write", "bash"]
    assert [row["criterion"] for row in rows(house, "criterion_audited")] == ["AC-1"]
    *_, decided = house.trail.rows()
    assert (decided.action, str(decided.actor)) == ("audit_completed", "auditor")
    audit = audit_of(house)
    assert audit.audit == APPROVED.audit
    assert (len(audit.passes), audit.seconds) == (2, 30.0)
    assert [notice for notice in record_of(house).notices if "scripted" in notice] != []


async def test_the_first_look_is_sent_nothing_of_what_the_worker_says(house: House) -> None:
    house.script.items = {"tests": [FAILED]}
    house.script.auditor.passes = [LOOKED, APPROVED]
    request = house.round(order_of("wo-blind", verification=CHECKED)).model_copy(
        update={"claim": LIED, "brought": (BROUGHT,)}
    )
    result = await decide(house, request)
    assert result.decision.outcome is RoundOutcome.CHANGES_REQUESTED, "what failed is the reason, whoever approves"
    blind, informed = house.script.auditor.asked
    assert (blind.round.claim, blind.round.brought, blind.contradictions, blind.questions) == (None, (), (), 0)
    assert (blind.first_look, blind.answers, informed.round.brought) == ("", (), (BROUGHT,))
    assert [each.outcome for each in blind.results] == ["failed"]
    assert (informed.round.claim, informed.first_look, informed.questions) == (LIED, LOOKED.said, 3)
    assert [one.check for one in informed.contradictions] == ["tests"]
    assert (blind.limit, informed.limit) == (300.0, 290.0)
    assert blind.key != informed.key
    assert house.actions().count("claim_contradicted") == 1


@pytest.mark.parametrize(
    ("name", "verification", "script"),
    [
        ("objective", {"objective_only": True, **CHECKED}, {}),
        ("refused", CHECKED, {"freeze": [WorkspaceRefused("too many", "less")]}),
        ("no-tree", CHECKED, {"freeze": [Unavailable(Cause.BASE_UNREADABLE, "damaged", "repair it")]}),
        ("scope", CHECKED, {"violations": (Violation(path=".github/x", kind="denied"),)}),
        ("unknown", CHECKED, {"prepare": [Unavailable(Cause.IMAGE_MISSING, "no image", "build it")]}),
    ],
)
async def test_nobody_is_asked_where_no_answer_would_count(
    house: House, name: str, verification: Any, script: dict[str, Any]
) -> None:
    house.script.auditor.passes = [LOOKED, APPROVED]
    for field, value in script.items():
        setattr(house.script, field, value)
    await decide(house, house.round(order_of(f"wo-unasked-{name}", verification=verification)))
    assert house.script.auditor.asked == []
    assert record_of(house).audit is None


async def test_alone_nobody_answers_and_after_three_questions_there_is_no_fourth(house: House) -> None:
    house.script.auditor.passes = [LOOKED, *(asking(f"question {number}") for number in range(1, 5)), APPROVED]
    result = await decide(house, house.round(order_of("wo-alone", verification=CHECKED)))
    assert (result.decision.outcome, result.decision.reasons[0].code) == (
        RoundOutcome.INCONCLUSIVE,
        "auditor_inconclusive",
    )
    informed = house.script.auditor.asked[1:]
    assert [(asked.part, asked.questions, len(asked.answers)) for asked in informed] == [
        (0, 3, 0),
        (1, 2, 1),
        (2, 1, 2),
        (3, 0, 3),
    ]
    assert [asked.messages for asked in informed] == ["", LOOKED.messages, LOOKED.messages, LOOKED.messages]
    assert informed[-1].answers == tuple(FollowUpAnswer(round=number) for number in (1, 2, 3))
    dialogue = audit_of(house).dialogue
    assert [(each.round, each.question.question, each.answer) for each in dialogue] == [
        (number, f"question {number}", None) for number in (1, 2, 3)
    ]


async def test_a_check_is_run_once_more_for_the_auditor(house: House) -> None:
    house.script.items = {"lint": [FAILED]}
    house.script.auditor.passes = [wanting("tests", "lint"), LOOKED, asking("why?"), APPROVED]
    checks: Any = [{"name": name, "command": f"run {name}", "required": name == "tests"} for name in ("tests", "lint")]
    result = await decide(house, house.round(order_of("wo-again", verification={"checks": checks})))
    assert result.decision.outcome is RoundOutcome.VERIFIED
    assert house.script.ran.count("tests") == 2, "in the round, and for the auditor"
    again = house.script.auditor.asked[1]
    assert (again.stage, again.part, again.messages) == ("blind", 1, LOOKED.messages)
    assert [(ran.call, ran.result.id, ran.result.outcome) for ran in again.ran] == [
        ("call-1", "tests", "passed"),
        ("call-2", "lint", "failed"),
    ]
    assert [asked.ran for asked in house.script.auditor.asked[2:]] == [(), ()]
    audit = audit_of(house)
    assert [ran.id for ran in audit.ran] == ["tests", "lint"]
    assert [each.id for each in record_of(house).results] == ["tests", "lint"], "the round's own results stand"
    assert house.actions().count("check_completed") == 2


async def test_no_more_than_ten_checks_are_run_for_the_auditor(house: House) -> None:
    house.script.auditor.passes = [wanting(*["tests"] * 6), wanting(*["tests"] * 6), LOOKED, APPROVED]
    await decide(house, house.round(order_of("wo-many", verification=CHECKED)))
    assert house.script.ran.count("tests") == 11
    last = house.script.auditor.asked[2].ran
    assert [ran.result.code for ran in last] == ["ok"] * 4 + ["not_allowed"] * 2


@pytest.mark.parametrize(
    ("name", "passes", "outcome", "code"),
    [
        ("no-such", [wanting("made-up")], RoundOutcome.INCONCLUSIVE, "auditor_inconclusive"),
        ("blind", [asking("may I?")], RoundOutcome.INCONCLUSIVE, "auditor_inconclusive"),
        ("endless", [wanting()] * 20, RoundOutcome.INCONCLUSIVE, "auditor_inconclusive"),
        ("broke", [LOOKED, BROKE], RoundOutcome.CHANGES_REQUESTED, "verifier_unavailable"),
        ("capped", [LOOKED, CAPPED], RoundOutcome.NEEDS_HUMAN, "cost_cap_exceeded"),
        ("late", [LOOKED.model_copy(update={"seconds": 300.0}), APPROVED], RoundOutcome.NEEDS_HUMAN, "audit_timed_out"),
    ],
)
async def test_what_ends_an_audit_without_a_word_is_never_a_pass(
    house: House, name: str, passes: list[PassResult | Exception], outcome: RoundOutcome, code: str
) -> None:
    house.script.auditor.passes = passes
    result = await decide(house, house.round(order_of(f"wo-ends-{name}", verification=CHECKED)))
    assert (result.decision.outcome, result.decision.reasons[0].code) == (outcome, code)
    *_, decided = house.trail.rows()
    assert str(decided.actor) == "harness", "nobody has a word on the work"
    told = rows(house, "role_pass_completed")
    assert len(told) == len(audit_of(house).passes) <= 14
    if name == "late":
        assert (told[-1]["outcome"], told[-1]["why"]) == ("timed_out", "the audit's 300 s are used up")
        assert len(house.script.auditor.asked) == 1, "no pass begins without time"


async def test_a_pass_that_is_lost_is_run_again(house: House) -> None:
    gone = Unavailable(Cause.STORE_UNAVAILABLE, "the store is away", "start it")
    house.script.auditor.passes = [LOOKED, gone, gone, APPROVED]
    result = await decide(house, house.round(order_of("wo-lost", verification=CHECKED)))
    assert result.decision.outcome is RoundOutcome.VERIFIED
    keys = [asked.key for asked in house.script.auditor.asked]
    assert (len(keys), len(set(keys))) == (4, 2)
    assert len(rows(house, "role_pass_completed")) == 2


async def test_where_nobody_takes_the_pass_the_auditor_is_unavailable(
    server: WorkflowEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(options, "NO_ROLES_WORKER", timedelta(seconds=0.5))
    script, trail, store = Script(), StrictTrail(), MemoryStore()
    house = House(client=server.client, script=script, trail=trail, store=store)
    async with working(server.client, script, trail, store, without=ROLES_QUEUE):
        result = await decide(house, house.round(order_of("wo-nobody", verification=CHECKED)))
    assert result.decision.outcome is RoundOutcome.CHANGES_REQUESTED
    assert "no worker took 'role.pass'" in result.decision.reasons[0].text


async def test_a_todo_that_is_gone_answers_nothing(house: House) -> None:
    house.script.auditor.passes = [LOOKED, asking("which test?"), APPROVED]
    request = house.round(order_of("wo-gone", verification=CHECKED))
    request = request.model_copy(update={"todo_workflow": "todo/local/nobody", "actor": SYSTEM})
    assert (await decide(house, request)).decision.outcome is RoundOutcome.VERIFIED
    assert house.script.auditor.asked[-1].answers == (FollowUpAnswer(round=1),)


async def test_a_hard_fail_is_the_auditors_to_say(house: House) -> None:
    word = Audit(outcome=AuditorOutcome.FAILED, cited=True, feedback="a back door")
    house.script.auditor.passes = [LOOKED, APPROVED.model_copy(update={"audit": word})]
    result = await decide(house, house.round(order_of("wo-hard", verification=CHECKED)))
    assert (result.decision.outcome, result.decision.trigger) == (RoundOutcome.FAILED, "hard_fail")
    *_, decided = house.trail.rows()
    assert str(decided.actor) == "auditor"
