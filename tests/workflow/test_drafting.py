"""The drafting of a round: who is asked what, what is linted where, what joins the order. Every answer is scripted."""

from __future__ import annotations

from typing import Any

from domain.criteria import Subjective
from domain.decision import RoundOutcome
from domain.drafts.record import DraftRecord
from domain.errors import Cause, Unavailable
from domain.messages import RoundInput, RoundRecord, RoundResult
from domain.ports import Finding
from domain.roles.designed import Specification, TestPlan
from domain.roles.names import Role
from domain.roles.results import PassResult
from domain.scope import Violation
from tests.workflow.conftest import EMPTY, FAILED, PASSED, House, order_of
from tests.workflow.scripted_role import LOOKED
from workflows.options import WORKFLOWS_QUEUE
from workflows.verification import VerificationWorkflow

HEAD_DIGESTS = ("h" * 64, "t" * 64)
SPEC = Specification.model_validate(
    {
        "summary": "a prime checker",
        "requirements": [
            {"id": "R1", "text": "primes are primes"},
            {"id": "R2", "text": "others are not"},
            {"id": "R3", "text": "it reads well"},
            {"id": "R4", "text": "the old command goes on", "new": False},
        ],
        "criteria": [
            {"id": "AC-1", "text": "is_prime(7) is true", "requirements": ["R1"]},
            {"id": "AC-2", "text": "is_prime(8) is false", "requirements": ["R2"]},
            {"id": "AC-3", "text": "names say what they are", "requirements": ["R3"], "testable": False},
            {"id": "AC-4", "text": "the old command still answers", "requirements": ["R4"]},
        ],
    }
)
AWAY = Unavailable(Cause.ENGINE_UNAVAILABLE, "no engine answers", "start it")


def shell(criterion: str, command: str, **fields: Any) -> dict[str, Any]:
    return {"id": criterion, "type": "command_exit_zero", "params": {"command": command}, **fields}


GOOD = [shell("AC-1", "python check.py 7"), shell("AC-2", "python check.py 8"), shell("AC-4", "python old.py")]


def designed(spec: Specification = SPEC) -> PassResult:
    return LOOKED.model_copy(update={"specification": spec, "seconds": 5.0})


def planned(*checks: dict[str, Any], untestable: tuple[str, ...] = ()) -> PassResult:
    told = [{"criterion": id, "reason": "only a reader can tell"} for id in untestable]
    plan = TestPlan.model_validate({"checks": list(checks), "untestable": told})
    return LOOKED.model_copy(update={"plan": plan, "seconds": 7.0})


def scripted(house: House, *plans: PassResult | Exception, spec: Specification = SPEC) -> None:
    """A designer and a strategist; on the base what is new fails, and what is old passes."""
    house.script.auditor.by_role = {"designer": [designed(spec)], "strategist": list(plans)}
    house.script.base |= {"AC-1": FAILED, "AC-2": FAILED, "AC-3": FAILED}


async def decide(house: House, request: RoundInput) -> RoundResult:
    return await house.client.execute_workflow(
        VerificationWorkflow.run, request, id=request.workflow_id, task_queue=WORKFLOWS_QUEUE
    )


def record_of(house: House) -> RoundRecord:
    decided = [row for row in house.trail.rows() if row.action == "audit_completed"]
    return RoundRecord.model_validate_json(house.store.get(str(decided[-1].payload["record"])))


def draft_of(house: House) -> DraftRecord:
    draft = record_of(house).draft
    assert draft is not None
    return draft


def rows(house: House, action: str) -> list[dict[str, Any]]:
    return [dict(row.payload) for row in house.trail.rows() if row.action == action]


def asked(house: House) -> list[str]:
    return [one.role for one in house.script.auditor.told]


async def test_a_content_only_order_gets_a_specification_and_checks_that_run(house: House) -> None:
    scripted(house, planned(*GOOD, untestable=("AC-3",)))
    result = await decide(house, house.round(order_of("wo-drafted")))
    assert asked(house) == ["designer", "strategist", "auditor"]
    assert [reason.code for reason in result.decision.reasons] == ["not_judged"], "AC-3 has no judge, the rest passed"
    record, draft = record_of(house), draft_of(house)
    assert [item.id for item in record.results] == ["AC-1", "AC-2", "AC-4"]
    assert all(item.passed and item.required for item in record.results)
    assert [(c.id, c.type) for c in record.order.acceptance_criteria] == [
        ("AC-1", "command_exit_zero"),
        ("AC-2", "command_exit_zero"),
        ("AC-3", "subjective"),
        ("AC-4", "command_exit_zero"),
    ]
    assert record.order.acceptance_criteria[0].description == "is_prime(7) is true"
    assert (draft.summary, draft.uncovered, draft.binding, draft.seconds) == ("a prime checker", ("R3",), True, 12.0)
    assert Specification.model_validate_json(house.store.get(draft.specification)) == SPEC
    (spec,) = rows(house, "spec_created")
    assert (spec["spec"], spec["criteria"], spec["summary"]) == (draft.specification, 4, "a prime checker")
    (tests,) = rows(house, "tests_generated")
    assert (tests["count"], house.store.has(tests["tests"])) == (3, True)
    made = {row.action: str(row.actor) for row in house.trail.rows()}
    assert (made["spec_created"], made["tests_generated"]) == ("auditor:designer", "auditor:strategist")
    assert house.script.prepared == ["python"], "for the lint, since the order itself had nothing to run"
    assert record.order.verification.min_criteria == 3


async def test_nothing_of_the_work_is_in_a_packet_or_a_lint(house: House) -> None:
    scripted(house, planned(shell("AC-1", "true")), planned(*GOOD))
    await decide(house, house.round(order_of("wo-blind-draft")))
    told = [one.model_dump_json() for one in house.script.auditor.told if one.role in ("designer", "strategist")]
    told += [item.model_dump_json() + context.model_dump_json() for item, context in house.script.linted]
    assert len(told) == 3 + 6, "the base has three runs of AC-1's second check, an empty tree as many"
    assert not [text for text in told for digest in HEAD_DIGESTS if digest in text]
    assert {context.tree for _, context in house.script.linted} == {"b" * 64, EMPTY}
    assert all(not context.controls for _, context in house.script.linted)
    assert {context.run for _, context in house.script.linted} == {1, 2, 3}


async def test_an_empty_tree_is_built_by_nothing_and_has_no_folders(house: House) -> None:
    elsewhere = {"id": "AC-1", "type": "command_exit_zero", "params": {"command": "python x.py", "cwd": "src"}}
    scripted(house, planned(elsewhere))
    await decide(house, house.round(order_of("wo-empty", environment={"build": ["make"]})))
    places = {
        (context.tree, item.criterion.model_dump()["params"]["cwd"], context.build)
        for item, context in house.script.linted
    }
    assert places == {("b" * 64, "src", ("make",)), (EMPTY, ".", ())}


async def test_what_may_not_count_is_rejected_by_name_and_goes_back_once(house: House) -> None:
    bad = [
        shell("AC-1", "true"),
        shell("AC-2", "test $((RANDOM % 2)) = 0"),
        shell("AC-4", "curl -sf https://service.invalid/health"),
    ]
    again = [shell("AC-1", "python check.py 7"), shell("AC-2", "python check.py 8"), bad[2]]
    scripted(house, planned(*bad), planned(*again))
    await decide(house, house.round(order_of("wo-rejected")))
    draft = draft_of(house)
    codes = [(one.criterion, one.code) for one in draft.returned]
    assert codes == [("AC-1", "vacuous"), ("AC-2", "flaky"), ("AC-4", "needs_network")]
    assert [(one.criterion, one.code) for one in draft.dropped] == [("AC-4", "needs_network")]
    told = rows(house, "check_rejected")
    assert [(row["criterion"], row["check"], row["dropped"]) for row in told] == [
        ("AC-1", "true", False),
        ("AC-2", "test $((RANDOM % 2)) = 0", False),
        ("AC-4", "curl -sf https://service.invalid/health", False),
        ("AC-4", "curl -sf https://service.invalid/health", True),
    ]
    _, _, second, *_ = house.script.auditor.told
    assert (second.role, second.part, second.rejected) == ("strategist", 1, draft.returned)
    assert (second.messages, second.specification) == ("", draft.specification)
    kinds = {c.id: c.type for c in record_of(house).order.acceptance_criteria}
    assert kinds == {
        "AC-1": "command_exit_zero",
        "AC-2": "command_exit_zero",
        "AC-3": "subjective",
        "AC-4": "subjective",
    }
    assert draft.uncovered == ("R3", "R4")
    assert asked(house).count("strategist") == 2, "once, and no more"


async def test_what_its_runs_show_is_told_by_name(house: House) -> None:
    scripted(house, planned(*GOOD, shell("AC-3", "python empty.py")), planned(untestable=("AC-2",)))
    house.script.base |= {"AC-1": PASSED, "AC-4": FAILED}
    house.script.base_runs = {"AC-2": [FAILED, PASSED, FAILED]}
    house.script.empty = {"AC-3": PASSED}
    await decide(house, house.round(order_of("wo-runs")))
    draft = draft_of(house)
    found = {one.criterion: one.code for one in draft.returned}
    assert found == {"AC-1": "passes_on_base", "AC-2": "flaky", "AC-3": "vacuous", "AC-4": "fails_on_base"}
    assert [one.criterion for one in draft.dropped] == ["AC-1", "AC-4", "AC-3"], "AC-2 was given up as untestable"
    assert {c.type for c in draft.criteria} == {"subjective"}


async def test_the_next_attempt_is_checked_by_the_same_checks(house: House) -> None:
    scripted(house, planned(*GOOD))
    order = order_of("wo-remembered")
    await decide(house, house.round(order))
    first = draft_of(house)
    before, linted = len(house.script.auditor.told), len(house.script.linted)
    await decide(house, house.round(order, attempt=2))
    second = draft_of(house)
    assert [one.role for one in house.script.auditor.told[before:]] == ["auditor"]
    assert len(house.script.linted) == linted
    assert (second.criteria, second.specification) == (first.criteria, first.specification)
    assert (second.remembered, second.passes, second.seconds) == (True, (), 0.0)
    assert [item.id for item in record_of(house).results] == ["AC-1", "AC-2", "AC-4"]
    edited = order.model_copy(update={"content": "other work"})
    await decide(house, house.round(edited, attempt=3))
    assert draft_of(house).why == "no model is configured for the designer", "another order is another draft"


async def test_a_draft_without_any_check_is_not_remembered_and_its_specification_is(house: House) -> None:
    scripted(house, planned(shell("AC-1", "true")), planned(), planned(*GOOD))
    order = order_of("wo-forgotten")
    await decide(house, house.round(order))
    assert [one.code for one in draft_of(house).dropped] == ["vacuous"]
    await decide(house, house.round(order, attempt=2))
    assert asked(house).count("designer") == 1
    assert [item.id for item in record_of(house).results] == ["AC-1", "AC-2", "AC-4"]


async def test_an_engine_that_is_away_drops_nothing_and_the_round_is_tried_again(house: House) -> None:
    scripted(house, planned(*GOOD))
    house.script.base["AC-2"] = AWAY
    order = order_of("wo-away", safeguards={"tool_retries": 1})
    result = await decide(house, house.round(order))
    assert result.decision.outcome is RoundOutcome.INCONCLUSIVE
    assert [reason.code for reason in result.decision.reasons] == ["draft_could_not_run"]
    assert "no engine answers" in result.decision.reasons[0].text
    draft = draft_of(house)
    assert (draft.unknown, draft.criteria, draft.dropped) == (True, (), ())
    assert rows(house, "check_rejected") == []
    assert "auditor" not in asked(house), "whose word would make no verdict of it"


async def test_without_an_image_no_strategist_is_paid(house: House) -> None:
    scripted(house, planned(*GOOD))
    house.script.prepare = [Unavailable(Cause.IMAGE_MISSING, "no such image", "build it")]
    result = await decide(house, house.round(order_of("wo-no-image")))
    assert result.decision.outcome is RoundOutcome.INCONCLUSIVE
    assert asked(house) == ["designer"]
    house.script.auditor.by_role["strategist"] = [planned(*GOOD)]
    await decide(house, house.round(order_of("wo-no-image"), attempt=2))
    assert asked(house) == ["designer", "strategist", "auditor"], "the specification was kept"


async def test_without_a_model_the_round_decides_by_what_there_is(house: House) -> None:
    result = await decide(house, house.round(order_of("wo-no-model")))
    assert [reason.code for reason in result.decision.reasons] == ["nothing_to_check"]
    assert draft_of(house).why == "no model is configured for the designer"
    assert "no checks were drafted: no model is configured for the designer" in record_of(house).notices
    assert house.script.prepared == [], "no image is made for nothing"


async def test_a_role_without_an_answer_leaves_the_round_without_drafts(house: House) -> None:
    cases: tuple[tuple[dict[Role, list[PassResult | Exception]], str], ...] = (
        ({"designer": [PassResult(outcome="inconclusive", why="no JSON")]}, "the designer has no answer: no JSON"),
        ({"designer": [designed()]}, "no model is configured for the strategist"),
        (
            {"designer": [designed()], "strategist": [PassResult(outcome="cost_cap_exceeded", why="$5 are spent")]},
            "the strategist has no answer: $5 are spent",
        ),
        ({"designer": [PassResult(outcome="timed_out")]}, "the designer has no answer: timed out"),
    )
    for number, (roles, why) in enumerate(cases):
        house.script.auditor.by_role = roles
        result = await decide(house, house.round(order_of(f"wo-role-{number}")))
        assert [reason.code for reason in result.decision.reasons] == ["nothing_to_check"]
        assert (draft_of(house).why, draft_of(house).criteria) == (why, ())


async def test_a_strategist_that_is_not_heard_again_leaves_what_passed(house: House) -> None:
    scripted(house, planned(shell("AC-1", "true"), *GOOD[1:]), PassResult(outcome="unavailable", why="it is down"))
    order = order_of("wo-once")
    await decide(house, house.round(order))
    draft = draft_of(house)
    assert [c.type for c in draft.criteria] == ["subjective", "command_exit_zero", "subjective", "command_exit_zero"]
    assert [(one.criterion, one.code) for one in draft.dropped] == [("AC-1", "vacuous")]
    assert draft.why == "the strategist has no answer: it is down"
    house.script.auditor.by_role["strategist"] = [planned(*GOOD)]
    await decide(house, house.round(order, attempt=2))
    assert len(draft_of(house).criteria) == 4
    assert not draft_of(house).remembered, "it was not made to its end"


async def test_nobody_is_asked_about_work_that_no_check_could_let_pass(house: House) -> None:
    scripted(house, planned(*GOOD))
    house.script.violations = (Violation(path=".github/ci.yml", kind="denied"),)
    result = await decide(house, house.round(order_of("wo-out")))
    assert result.decision.outcome is RoundOutcome.CHANGES_REQUESTED
    assert asked(house) == []


async def test_an_agents_content_leads_to_no_gate(house: House) -> None:
    scripted(house, planned(*GOOD, untestable=("AC-3",)))
    request = house.round(order_of("wo-agents")).model_copy(update={"content_authored": True})
    result = await decide(house, request)
    assert [reason.code for reason in result.decision.reasons] == ["nothing_to_check"]
    record = record_of(house)
    assert record.effective.authored == {"AC-1", "AC-2", "AC-3", "AC-4"}
    assert (record.draft is not None and record.draft.binding, record.order.verification.min_criteria) == (False, 0)
    house.script.items = {"AC-1": [FAILED]}
    result = await decide(house, request.model_copy(update={"attempt": 2}))
    assert result.decision.outcome is RoundOutcome.CHANGES_REQUESTED, "what fails still fails"


async def test_ids_that_the_order_has_stay_its_own(house: House) -> None:
    mine: Any = [{"id": "AC-1", "type": "subjective", "description": "it is elegant"}]
    scripted(house, planned(shell("AC-5", "python check.py 7")))
    house.script.base["AC-5"] = FAILED
    await decide(house, house.round(order_of("wo-ids", acceptance_criteria=mine)))
    criteria = record_of(house).order.acceptance_criteria
    assert [(c.id, c.description) for c in criteria][:2] == [("AC-1", "it is elegant"), ("AC-5", "is_prime(7) is true")]
    assert isinstance(criteria[0], Subjective)
    (_, strategist, *_) = house.script.auditor.told
    given = Specification.model_validate_json(house.store.get(strategist.specification))
    assert [c.id for c in given.criteria] == ["AC-5", "AC-2", "AC-3", "AC-4"]


async def test_an_outcome_that_carries_output_of_a_missing_network(house: House) -> None:
    scripted(house, planned(GOOD[0]), planned())
    house.script.base["AC-1"] = Finding(
        **{**FAILED.model_dump(), "stderr": "urllib.error.URLError: Temporary failure in name resolution\n"}
    )
    await decide(house, house.round(order_of("wo-dns")))
    assert [one.code for one in draft_of(house).returned] == ["needs_network"]
