"""The order's own rules: defaults, aliases, numbering, unique names, bounds, and what a later version brings."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from domain.order import MAX_ITEMS, BaseRevision, Check, Order, Scope
from domain.python_criteria import PythonCase


def order(**fields: Any) -> Order:
    return Order.model_validate_json(json.dumps({"content": "do it", **fields}))


def told(**fields: Any) -> str:
    """What the only error of an order says."""
    with pytest.raises(ValidationError) as caught:
        order(**fields)
    (error,) = caught.value.errors()
    return f"{'.'.join(map(str, (*error['loc'], *error['ctx'].get('at', ()))))}: {error['msg']}"


FILE = {"type": "file_exists", "params": {"path": "a"}}


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("pytest", "pytest"),
        ("python -m pytest -q tests/", "pytest"),
        (".venv/bin/pytest tests", "pytest"),
        ("cd a && pytest", "pytest"),
        ("(pytest;true)", "pytest"),
        ("sh -c 'pytest -q'", "pytest"),
        ("ruff check src", "command"),
        ("python run_pytest.py", "command"),
        ("echo pytest-cov", "command"),
    ],
)
def test_a_check_that_runs_pytest_is_of_that_kind(command: str, kind: str) -> None:
    assert Check(name="c", command=command).kind == kind


def test_what_is_to_be_done_is_text_that_a_database_can_hold() -> None:
    with pytest.raises(ValidationError, match="NUL character"):
        order(content="do\0it")
    assert order(content="\n do it\nnow").title == "do it"


def test_a_check_may_say_its_kind() -> None:
    assert Check(name="c", kind="command", command="pytest").kind == "command"


def test_criteria_without_an_id_are_named_after_their_place() -> None:
    ids = [
        c.id for c in order(acceptance_criteria=[FILE, {**FILE, "id": "mine"}, {**FILE, "id": ""}]).acceptance_criteria
    ]
    assert ids == ["AC-1", "mine", "AC-3"]


@pytest.mark.parametrize(
    ("verification", "asks"),
    [
        ({}, True),
        ({"enabled": False}, False),
        ({"objective_only": True}, False),
        ({"auditor": {"enabled": False}}, False),
        ({"verifier": {"enabled": True}}, True),
    ],
)
def test_whether_the_auditor_is_asked_at_all(verification: dict[str, Any], asks: bool) -> None:
    assert order(verification=verification).verification.asks_auditor is asks


def test_verifier_is_another_name_of_auditor() -> None:
    assert order(verification={"verifier": {"enabled": False}}).verification.auditor.enabled is False
    assert "one of the two" in told(verification={"verifier": {}, "auditor": {}})


def test_names_are_unique_over_criteria_and_checks() -> None:
    problem = told(
        acceptance_criteria=[{**FILE, "id": "same"}], verification={"checks": [{"name": "same", "command": "x"}]}
    )
    assert problem.startswith("verification.checks.0.name: 'same' names two")


def test_the_number_of_items_is_bounded() -> None:
    checks = [{"name": f"c{n}", "command": "true"} for n in range(MAX_ITEMS - 1)]
    assert len(order(acceptance_criteria=[FILE], verification={"checks": checks}).verification.checks) == 199
    problem = told(acceptance_criteria=[FILE, FILE], verification={"checks": checks})
    assert problem == "verification.checks: 201 criteria and checks, expected at most 200"


def test_the_cases_are_bounded() -> None:
    cases = [{"args": ["x" * 600_000], "returns": 1}] * 2
    params = {"module": "m", "function": "f", "cases": cases}
    problem = told(acceptance_criteria=[{"type": "python_call", "params": params}])
    assert problem.startswith("acceptance_criteria.0.python_call.params.cases: 12000")


@pytest.mark.parametrize("case", [{}, {"returns": 1, "raises": "X"}, {"raises": None}])
def test_a_case_has_one_expectation(case: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        PythonCase.model_validate(case)


@pytest.mark.parametrize("case", [{"returns": None}, {"raises": "ValueError"}, {"args": [1], "returns": {"a": [1.5]}}])
def test_a_case_comes_back_as_it_was(case: dict[str, Any]) -> None:
    dumped = PythonCase.model_validate(case).model_dump(mode="json")
    assert {name: value for name, value in dumped.items() if value or name in case} == case
    assert PythonCase.model_validate(dumped).model_dump(mode="json") == dumped


def test_a_fix_loop_is_off_and_bounded() -> None:
    assert order().fix_loop.model_dump() == {"enabled": False, "max_loops": 3, "max_cost_usd": 5.0}
    assert order(fix_loop={"enabled": True}).fix_loop.enabled
    for wrong in (
        {"max_loops": 0},
        {"max_cost_usd": -0.1},
        {"max_cost_usd": float("nan")},
        {"max_cost_usd": float("inf")},
    ):
        with pytest.raises(ValidationError):
            order(fix_loop={"enabled": True, **wrong})


@pytest.mark.parametrize("path", ["/etc/passwd", "../up", "a/../../b", "", "C:\\x", "a\0b"])
def test_paths_stay_inside_the_tree(path: str) -> None:
    assert "path" in told(acceptance_criteria=[{"type": "file_exists", "params": {"path": path}}])


@pytest.mark.parametrize("size", ["512", "5m", "0m", "-1m", "1.5g", "m", "2000g", "9" * 5000 + "g", 512])
def test_memory_is_a_size_that_the_engine_takes(size: object) -> None:
    with pytest.raises(ValidationError):
        order(resources={"memory": size})
    assert order(resources={"memory": "6M"}).resources.memory == "6M"


def test_a_revision_is_a_full_commit_id() -> None:
    base = order(base={"repository": "r", "revision": "0" * 40}).base
    assert base == BaseRevision(repository="r", revision="0" * 40)
    for name in ("main", "v1.0", "0" * 39, "A" * 40, "HEAD~1"):
        assert "a name that can move" in told(base={"repository": "r", "revision": name})


@pytest.mark.parametrize("pattern", ["(", "a{99999999999999999999}", "[", "(?P<a>x)(?P<a>y)"])
def test_a_pattern_compiles(pattern: str) -> None:
    assert "does not compile" in told(
        acceptance_criteria=[{"type": "file_contains", "params": {"path": "a", "pattern": pattern}}]
    )


def test_an_order_survives_its_own_json() -> None:
    first = order(
        acceptance_criteria=[FILE, {"type": "subjective", "description": "nice"}],
        verification={"checks": [{"name": "t", "command": "pytest"}]},
        base={"repository": "r", "revision": "0" * 40},
    )
    assert Order.model_validate_json(first.model_dump_json()) == first


@pytest.mark.parametrize(
    "pattern",
    [
        *("", "   ", "#c", "!n", "[x", "a\\", "/abs", "a/../b"),
        *("[z-a]", "x[!b-a]", "src/[a-c9-0].py", "[a-\\]", "[a]/[b", "x]-[a", "[]", "a\\/b", "a\\\t"),
    ],
)
def test_a_scope_pattern_that_can_match_nothing_is_refused(pattern: str) -> None:
    with pytest.raises(ValidationError):
        Scope.model_validate({"deny": [pattern]})


@pytest.mark.parametrize(
    "pattern",
    [
        *("src/**", "a[0-9].py", "\\#c", "\\!n", "\\[x", "*.py"),
        *("\\[z-a\\]", "x]-[a]", "x]z-a[b]", "[a-]", "[z-]a", "[]-a]", "[!-a]", "[a-c-a]", "a\\\\/b", "a\\ "),
    ],
)
def test_other_scope_patterns_are_taken(pattern: str) -> None:
    assert Scope.model_validate({"deny": [pattern, "!src/keep.py"]}).deny[0] == pattern


def test_inputs_and_secrets_are_for_a_set_up() -> None:
    for name in ("inputs", "secrets"):
        assert "there is no setup" in told(environment={name: ["X"]})
    environment = order(
        environment={"setup": ["x"], "inputs": ["a/b"], "secrets": ["TOKEN"], "build": ["y"]}
    ).environment
    assert (environment.inputs, environment.secrets, environment.build) == (["a/b"], ["TOKEN"], ["y"])
    assert "no variable name" in told(environment={"setup": ["x"], "secrets": ["A B"]})
    assert "climbs out" in told(environment={"setup": ["x"], "inputs": ["../up"]})


@pytest.mark.parametrize(
    ("kind", "params", "said"),
    [
        ("http_response", {"serve": "x", "url": "http://service.example/"}, "leads out of the container"),
        ("http_response", {"serve": "x", "url": "https://127.0.0.1:1/"}, "leads out of the container"),
        ("http_response", {"serve": "x", "url": "http://127.0.0.1:99999/"}, "is no URL"),
        ("http_response", {"serve": "x", "url": "http://127.0.0.1/", "headers": {"A B": "x"}}, "no name of a header"),
        ("http_response", {"serve": "x", "url": "http://127.0.0.1/", "headers": {"A": "x\ny"}}, "line break"),
        ("http_response", {"serve": "x", "url": "http://127.0.0.1/", "status": 20}, "greater than or equal to 100"),
        ("api_response", {"url": "ftp://service.example/"}, "no address of a service"),
        ("api_response", {"url": "https://me:secret@service.example/"}, "user name or password"),
        ("api_response", {"url": "https://service.example/ x"}, "no URL"),
        ("pr_exists", {"repository": "name", "head": "branch"}, "no repository"),
        ("pr_exists", {"repository": "../..", "head": "branch"}, "no repository"),
        ("pr_exists", {"repository": "owner/name", "head": ""}, "no branch"),
        ("pr_merged", {"repository": "owner/name", "number": 0}, "greater than or equal to 1"),
        ("cli_io", {"command": "x", "cases": [{"stdin": "a\0b"}]}, "NUL"),
        ("cli_io", {"command": "x", "cases": [{"stdin": "x" * 100_000}]}, "at most"),
        ("cli_io", {"command": "x", "cases": []}, "expected cases or generate"),
        ("git_commit_exists", {"message": ""}, "at least 1"),
    ],
)
def test_what_a_criterion_cannot_be(kind: str, params: dict[str, Any], said: str) -> None:
    assert said in told(acceptance_criteria=[{"type": kind, "params": params}])


def test_an_answer_s_json_keeps_its_name() -> None:
    params = {"url": "https://service.example/version", "json": {"version": "1.2"}}
    first = order(acceptance_criteria=[{"type": "api_response", "params": params}])
    dumped = first.model_dump(mode="json")
    assert dumped["acceptance_criteria"][0]["params"]["json"] == {"version": "1.2"}
    assert Order.model_validate_json(json.dumps(dumped)) == first
