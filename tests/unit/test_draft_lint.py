"""Which drafted checks may count, from what was seen of them; what joins an order; which orders get any."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter

from domain.checks import CheckResult
from domain.drafts.effective import joining, numbered
from domain.drafts.lint import (
    MOST_SECONDS,
    Observed,
    bounded,
    fault_before_runs,
    is_new,
    item_of,
    lint,
    name_of,
    on_an_empty_tree,
    uncovered,
    unseen,
)
from domain.drafts.messages import draft_key
from domain.drafts.record import DraftRecord, Fault
from domain.drafts.wanted import not_now, not_wanted
from domain.messages import ScopeResult
from domain.order import Order
from domain.roles.designed import MOST_PARTS, DraftedCheck, Specification

CHECK: TypeAdapter[DraftedCheck] = TypeAdapter(DraftedCheck)
SPEC = Specification.model_validate(
    {
        "summary": "s",
        "requirements": [{"id": "R1", "text": "new"}, {"id": "R2", "text": "old", "new": False}],
        "criteria": [
            {"id": "AC-1", "text": "the new", "requirements": ["R1"]},
            {"id": "AC-2", "text": "the old", "requirements": ["R2"]},
            {"id": "AC-3", "text": "both", "requirements": ["R1", "R2"]},
        ],
    }
)


def shell(criterion: str = "AC-1", command: str = "./run", **params: Any) -> DraftedCheck:
    return CHECK.validate_python(
        {"id": criterion, "type": "command_exit_zero", "params": {"command": command, **params}}
    )


def seen(outcome: str = "failed", **fields: Any) -> CheckResult:
    told: dict[str, Any] = {
        "passed": ("ok", 0),
        "failed": ("exit_code", 1),
        "could_not_run": ("engine_unavailable", None),
    }
    code, exit_code = told[outcome]
    given = {"id": "AC-1", "spelling": "criterion", "type": "command_exit_zero", "outcome": outcome, "code": code}
    return CheckResult.model_validate({**given, "exit_code": exit_code, "text": f"exit code {exit_code}", **fields})


FAILED, PASSED = seen(), seen("passed")
NOTHING = (FAILED,) * 3


def missing(what: str, code: str = "command_not_found", exit_code: int = 127) -> CheckResult:
    return seen(code=code, exit_code=exit_code, stderr=what)


def word(
    base: tuple[CheckResult, ...], empty: tuple[CheckResult, ...] = NOTHING, criterion: str = "AC-1"
) -> Fault | None:
    rejected = lint(shell(criterion), SPEC, Observed(base=base, empty=empty))
    assert rejected is None or (rejected.criterion == criterion and rejected.check == "./run" and rejected.reason)
    return rejected.code if rejected else None


SYNTAX = "  File \"<string>\", line 1\n    assert f(\n            ^\nSyntaxError: '(' was never closed\n"
THEIRS = 'Traceback:\n  File "<string>", line 1, in <module>\n  File "/work/x.py", line 3\nSyntaxError: x\n'


@pytest.mark.parametrize(
    ("criterion", "base", "empty", "code"),
    [
        ("AC-1", (FAILED,) * 3, NOTHING, None),
        ("AC-1", (PASSED,) * 3, NOTHING, "passes_on_base"),
        ("AC-2", (PASSED,) * 3, NOTHING, None),
        ("AC-2", (FAILED,) * 3, NOTHING, "fails_on_base"),
        ("AC-3", (FAILED,) * 3, NOTHING, None),
        ("AC-3", (PASSED,) * 3, NOTHING, "passes_on_base"),
        ("AC-1", (FAILED,) * 3, (PASSED,) * 3, "vacuous"),
        ("AC-2", (PASSED,) * 3, (PASSED,) * 3, "vacuous"),
        ("AC-1", (FAILED, PASSED, FAILED), NOTHING, "flaky"),
        ("AC-1", (FAILED,) * 3, (FAILED, FAILED, PASSED), "flaky"),
        ("AC-1", (FAILED, FAILED, seen(exit_code=2)), NOTHING, "flaky"),
        ("AC-1", (FAILED, seen(text="case 1: returned 0.5"), FAILED), NOTHING, "flaky"),
        ("AC-1", (seen(text="after 0.51 s"), seen(text="after 0.67 s")), NOTHING, None),
        ("AC-1", (seen(stdout="pid 1"), seen(stdout="pid 2")), NOTHING, None),
        ("AC-1", (missing("sh: 1: jq: not found"),) * 3, NOTHING, "does_not_run"),
        ("AC-1", (missing("bash: line 1: jq: command not found"),) * 3, NOTHING, "does_not_run"),
        ("AC-1", (missing("sh: 1: ./bin/new: not found"),) * 3, NOTHING, None),
        ("AC-2", (missing("sh: 1: ./bin/new: not found"),) * 3, NOTHING, "does_not_run"),
        ("AC-1", (missing("sh: 1: /opt/x: not found"),) * 3, NOTHING, "does_not_run"),
        ("AC-1", (missing("sh: 1: ./x: Permission denied", "command_not_executable", 126),) * 3, NOTHING, None),
        ("AC-1", (missing("", "command_not_executable", 126),) * 3, NOTHING, "does_not_run"),
        ("AC-1", (seen(exit_code=2, stderr='sh: 1: Syntax error: "(" unexpected'),) * 3, NOTHING, "does_not_run"),
        ("AC-1", (seen(exit_code=2, stderr='./run: 1: Syntax error: "(" unexpected'),) * 3, NOTHING, None),
        ("AC-1", (seen(stderr=SYNTAX),) * 3, NOTHING, "does_not_run"),
        ("AC-1", (seen(stderr=THEIRS),) * 3, NOTHING, None),
        ("AC-1", (seen(code="cases_too_large"),) * 3, NOTHING, "does_not_run"),
        ("AC-1", (seen(stderr="/usr/bin/python: No module named pytest"),) * 3, NOTHING, "does_not_run"),
        ("AC-1", (seen(stderr="ModuleNotFoundError: No module named 'solution'"),) * 3, NOTHING, None),
        ("AC-1", (seen(code="verification_timeout"),) * 3, (seen(code="verification_timeout"),) * 3, "does_not_run"),
        ("AC-1", (seen(code="verification_timeout"),) * 3, NOTHING, None),
        ("AC-1", (seen(stderr="curl: (6) Could not resolve host: x"),) * 3, NOTHING, "needs_network"),
        ("AC-1", (seen(stderr="[Errno -3] Temporary failure in name resolution"),) * 3, NOTHING, "needs_network"),
        ("AC-1", (FAILED,) * 3, (seen(stderr="OSError: Network is unreachable"),) * 3, "needs_network"),
        ("AC-2", (seen("passed", stdout="name or service not known: as it should"),) * 3, NOTHING, None),
        ("AC-1", (seen(stderr="Connection refused"),) * 3, NOTHING, None),
    ],
)
def test_the_word_on_a_check(
    criterion: str, base: tuple[CheckResult, ...], empty: tuple[CheckResult, ...], code: Fault | None
) -> None:
    assert word(base, empty, criterion) == code


def test_a_reason_says_what_was_seen() -> None:
    rejected = lint(shell("AC-2"), SPEC, Observed(base=(seen(stderr="one\nAssertionError: 3\n\n"),) * 3, empty=NOTHING))
    assert rejected
    assert (
        rejected.reason == "what it checks is there already, and it fails on the base: exit code 1: AssertionError: 3"
    )


def test_what_could_not_be_run_is_nobodys_fault() -> None:
    away = seen("could_not_run")
    assert unseen(Observed(base=(FAILED, away, FAILED), empty=NOTHING)) == away
    assert unseen(Observed(base=NOTHING, empty=(FAILED, FAILED, away))) == away
    assert unseen(Observed(base=NOTHING, empty=NOTHING)) is None


def test_a_check_belongs_to_one_criterion_and_a_criterion_has_one_check() -> None:
    assert fault_before_runs(shell(), SPEC) is None
    (stray, twice) = (fault_before_runs(shell("AC-9"), SPEC), fault_before_runs(shell(), SPEC, [shell()]))
    assert stray is not None
    assert twice is not None
    assert (stray.code, twice.code) == ("does_not_run", "does_not_run")
    assert "no criterion of this id" in stray.reason
    assert "has a check already" in twice.reason


def test_a_criterion_of_nothing_that_is_known_counts_as_new() -> None:
    assert [is_new(SPEC, one) for one in ("AC-1", "AC-2", "AC-3", "AC-9")] == [True, False, True, True]


def test_no_author_decides_that_a_check_is_advice_or_how_long_a_round_waits() -> None:
    lenient = shell().model_copy(update={"required": False, "timeout": 9000.0})
    assert (bounded(lenient).required, bounded(lenient).timeout) == (True, MOST_SECONDS)
    assert bounded(shell()).timeout == 60.0


def test_on_an_empty_tree_a_check_runs_in_the_root() -> None:
    assert on_an_empty_tree(shell(cwd="src")).params == shell().params
    call = CHECK.validate_python(
        {
            "id": "AC-1",
            "type": "python_call",
            "params": {"path": "src", "module": "m", "function": "f", "cases": [{"returns": 1}]},
        }
    )
    assert on_an_empty_tree(call) == call
    assert name_of(call) == "m.f"
    assert len(name_of(shell(command="x" * 500))) == 200


def test_a_run_of_pytest_is_judged_as_one() -> None:
    order = Order(content="x", acceptance_criteria=[])
    assert item_of(order, shell(command="python -m pytest tests")).criterion.type == "pytest"
    assert item_of(order, shell()).criterion.type == "command_exit_zero"


def test_requirements_are_covered_by_the_checks_that_count() -> None:
    assert uncovered(SPEC, ["AC-1", "AC-2"]) == ()
    assert uncovered(SPEC, ["AC-3"]) == ()
    assert uncovered(SPEC, ["AC-2"]) == ("R1",)
    assert uncovered(SPEC, []) == ("R1", "R2")


def test_what_has_no_check_joins_for_a_judge() -> None:
    joined = joining(SPEC, [shell("AC-3"), shell("AC-1")])
    assert [(c.id, c.type, c.description, c.required) for c in joined] == [
        ("AC-1", "command_exit_zero", "the new", True),
        ("AC-2", "subjective", "the old", True),
        ("AC-3", "command_exit_zero", "both", True),
    ]
    blank = Specification.model_validate(
        {**SPEC.model_dump(), "criteria": [{"id": "AC-1", "text": " ", "requirements": ["R1"]}]}
    )
    assert joining(blank, [])[0].description == "criterion AC-1 of the specification"


def test_ids_are_renumbered_past_what_the_order_has() -> None:
    order = Order.model_validate(
        {
            "content": "x",
            "acceptance_criteria": [{"id": "AC-1", "type": "subjective", "description": "d"}],
            "verification": {"checks": [{"name": "AC-4", "command": "make"}]},
        }
    )
    assert [c.id for c in numbered(SPEC, order).criteria] == ["AC-5", "AC-2", "AC-3"]
    assert numbered(SPEC, Order(content="x")) == SPEC
    twice = SPEC.model_copy(update={"criteria": [SPEC.criteria[0], SPEC.criteria[0], SPEC.criteria[1]]})
    assert [c.id for c in numbered(twice, Order(content="x")).criteria] == ["AC-1", "AC-3", "AC-2"]


SUBJECTIVE: Any = {"id": "AC-1", "type": "subjective", "description": "d"}
THERE: Any = {"id": "AC-2", "type": "file_exists", "params": {"path": "a"}}


@pytest.mark.parametrize(
    ("fields", "authored", "why"),
    [
        ({}, (), ""),
        ({"acceptance_criteria": [SUBJECTIVE]}, (), ""),
        ({"acceptance_criteria": [THERE]}, (), "the order says what to check"),
        ({"acceptance_criteria": [THERE]}, ("AC-2",), ""),
        ({"acceptance_criteria": [THERE]}, ("AC-1",), "the order says what to check"),
        ({"verification": {"checks": [{"name": "t", "command": "make"}]}}, (), "the order says what to check"),
        ({"verification": {"draft": "never"}}, (), "the order wants nothing drafted"),
        ({"verification": {"objective_only": True}}, (), "the order wants no role asked"),
        ({"verification": {"enabled": False}}, (), "verification is disabled"),
        (
            {"acceptance_criteria": [{**SUBJECTIVE, "id": f"x{n}"} for n in range(201 - MOST_PARTS)]},
            (),
            "the order has no room for more criteria",
        ),
        ({"acceptance_criteria": [{**SUBJECTIVE, "id": f"x{n}"} for n in range(200 - MOST_PARTS)]}, (), ""),
    ],
)
def test_which_orders_get_something_drafted(fields: Any, authored: tuple[str, ...], why: str) -> None:
    order = Order.model_validate({"content": "x", **fields})
    assert not_wanted(order, frozenset(authored)) == why


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({}, ""),
        ({"violations_total": 1}, "the changes are out of scope"),
        ({"changed_inputs": ("requirements.txt",)}, "a human has to look at the changed inputs"),
    ],
)
def test_nobody_is_paid_for_work_that_no_check_lets_pass(fields: Any, why: str) -> None:
    assert not_now(ScopeResult(tree="t", tree_bytes=0, report="r", diff="d", **fields)) == why


def test_drafted_criteria_have_the_seeds_thresholds_where_the_order_has_none() -> None:
    draft = DraftRecord(criteria=joining(SPEC, [shell()]))
    order = Order(content="x")
    completed = draft.completed(order)
    assert (completed.verification.min_criteria, completed.verification.max_fail_rate) == (3, 0.1)
    assert [c.id for c in completed.acceptance_criteria] == ["AC-1", "AC-2", "AC-3"]
    stated = Order.model_validate({"content": "x", "verification": {"min_criteria": 1, "max_fail_rate": 0.5}})
    assert draft.completed(stated).verification == stated.verification
    loose = draft.model_copy(update={"binding": False})
    assert loose.completed(order).verification == order.verification
    assert (sorted(loose.no_gate), sorted(draft.no_gate)) == (["AC-1", "AC-2", "AC-3"], [])
    assert DraftRecord(why="w").completed(order) == order


def test_a_reader_is_told_what_is_missing_of_a_draft() -> None:
    criteria = joining(SPEC, [])
    assert DraftRecord(why="w").notice == "no checks were drafted: w"
    assert DraftRecord(criteria=criteria, why="w").notice == "not everything was drafted: w"
    assert DraftRecord(criteria=criteria).notice == ""
    assert (DraftRecord(why="w").undrafted, DraftRecord(why="w", unknown=True).undrafted) == ("", "w")


def test_a_draft_is_of_an_order_and_a_base() -> None:
    order = Order(content="x")
    keys = {draft_key(order, "b"), draft_key(order, "c"), draft_key(Order(content="y"), "b")}
    assert len(keys) == 3
    assert draft_key(order, "b") == draft_key(Order(content="x"), "b")
