"""Where a claim says more than was seen: told with both sides; and where honest work differs: told by nobody."""

from __future__ import annotations

from typing import Any

import pytest

from domain.base import canonical_json
from domain.checks import CheckResult, Outcome
from domain.claims.claim import Claim, Contradiction
from domain.claims.contradictions import contradictions
from domain.claims.statements import statement_in
from domain.order import Order
from domain.scope import ScopeReport, Violation
from domain.scrutiny import Counts
from domain.tree import Change, Dropped

NOTHING = ScopeReport()


def order(*commands: str, **fields: Any) -> Order:
    checks = [{"name": f"check-{n}", "command": command} for n, command in enumerate(commands, 1)]
    verification = {"checks": checks, **fields.pop("verification", {})}
    return Order.model_validate_json(canonical_json({"content": "x", "verification": verification, **fields}))


def seen(exit_code: int | None = 0, counts: dict[str, int] | None = None, **fields: Any) -> CheckResult:
    outcome = Outcome.FAILED if exit_code else Outcome.PASSED
    made = {"outcome": outcome, "code": "exit_code" if exit_code else "ok", "id": "check-1", "spelling": "check"}
    tests = Counts(**counts) if counts is not None else None
    return CheckResult(**made | {"type": "any", "exit_code": exit_code, "tests": tests, "evidence": "e" * 64} | fields)


def ran(command: str = "pytest -q", stdout: str = "", exit_code: int = 0, **fields: Any) -> dict[str, Any]:
    return {"command": command, "stdout": stdout, "exit_code": exit_code, **fields}


def found(
    *commands: dict[str, Any],
    result: CheckResult,
    about: Order | None = None,
    scope: ScopeReport = NOTHING,
    explanation: str = "Trial division in is_prime.",
    files: tuple[str, ...] = (),
) -> tuple[Contradiction, ...]:
    claim = Claim.model_validate(
        {"explanation": explanation, "files_modified": list(files), "commands_run": list(commands)}
    )
    return contradictions(claim, about or order("python -m pytest -q"), [result], scope)


def both(contradiction: Contradiction) -> tuple[str, str]:
    return contradiction.claimed, contradiction.observed


def test_a_false_exit_code_and_false_counts_are_told_with_both_sides() -> None:
    (one,) = found(ran(stdout="12 passed in 0.3s\n"), result=seen(1, {"passed": 10, "failed": 2}))
    assert both(one) == ("pytest -q: exit code 0, 12 passed", "exit code 1, 10 passed, 2 failed")
    assert (one.check, one.evidence) == ("check-1", "e" * 64)


def test_a_true_claim_contradicts_nothing() -> None:
    assert found(ran(stdout="12 passed in 0.3s\n"), result=seen(0, {"passed": 12})) == ()


@pytest.mark.parametrize(
    ("stdout", "counts", "told"),
    [
        ("13 passed in 1s", {"passed": 12}, True),
        ("11 passed in 1s", {"passed": 12}, False),
        ("12 passed in 1s", {"passed": 12, "skipped": 1}, True),
        ("12 passed, 1 skipped in 1s", {"passed": 12, "xfailed": 1}, False),
        ("12 passed, 2 skipped in 1s", {"passed": 12, "skipped": 1}, False),
        ("11 passed, 1 failed in 1s", {"passed": 10, "failed": 1, "errors": 1}, True),
        ("10 passed, 2 failed in 1s", {"passed": 11, "failed": 1}, False),
        ("nothing to read", {"passed": 0, "failed": 3}, False),
    ],
)
def test_only_what_is_better_than_what_was_seen_counts(stdout: str, counts: dict[str, int], told: bool) -> None:
    assert bool(found(ran(stdout=stdout, exit_code=1), result=seen(1, counts))) is told


@pytest.mark.parametrize(
    ("said", "saw", "told"), [(0, 1, True), (1, 1, False), (2, 1, False), (1, 0, False), (0, None, False)]
)
def test_an_exit_code_contradicts_where_it_says_all_is_well(said: int, saw: int | None, told: bool) -> None:
    result = seen(saw)
    assert bool(found(ran("ruff check src", exit_code=said), result=result, about=order("ruff check src"))) is told


def test_the_exit_code_that_is_wanted_is_the_criterion_s() -> None:
    params = {"command": "app --bad", "stderr": "no\n", "exit_code": 2}
    criteria = [{"id": "check-1", "type": "command_output", "params": params}]
    about = order(acceptance_criteria=criteria)
    assert found(ran("app --bad", exit_code=2), result=seen(0, outcome=Outcome.FAILED), about=about)
    assert not found(ran("app --bad", exit_code=0), result=seen(2, outcome=Outcome.PASSED), about=about)


@pytest.mark.parametrize(
    "fields",
    [
        {"outcome": Outcome.COULD_NOT_RUN, "code": "image_missing"},
        {"code": "command_not_found"},
        {"code": "verification_timeout"},
        {"code": "out_of_memory"},
        {"outcomes": (Outcome.FAILED, Outcome.PASSED)},
    ],
)
def test_what_the_worker_may_not_have_met_contradicts_nothing(fields: dict[str, Any]) -> None:
    assert found(ran(), result=seen(1, **fields)) == ()
    assert found(ran(), result=seen(1)) != ()


def test_only_the_last_run_of_a_command_counts() -> None:
    bad, good = ran(stdout="1 failed, 11 passed in 1s", exit_code=1), ran("pytest -v", stdout="12 passed in 1s")
    assert found(bad, good, ran("ls"), result=seen(0, {"passed": 12})) == ()
    assert found(good, bad, result=seen(1, {"passed": 11, "failed": 1})) == ()
    assert found(bad, good, result=seen(1, {"passed": 11, "failed": 1})) != ()


def test_an_exit_code_behind_a_pipe_is_not_the_command_s() -> None:
    piped = ran("pytest -q | tail -1", stdout="10 passed, 2 failed in 1s")
    assert found(piped, result=seen(1, {"passed": 10, "failed": 2})) == ()
    (one,) = found(ran("pytest -q | tail -1", stdout="12 passed in 1s"), result=seen(1, {"passed": 10, "failed": 2}))
    assert both(one) == ("pytest -q | tail -1: 12 passed", "exit code 1, 10 passed, 2 failed")


def test_counts_are_read_from_what_the_harness_s_run_printed_where_it_knows_none() -> None:
    about = order("node --test")
    result = seen(1, stdout="# pass 2\n# fail 1\n")
    (one,) = found(ran("node --test", stdout="# pass 3\n# fail 0\n"), result=result, about=about)
    assert both(one) == ("node --test: exit code 0, 3 passed", "exit code 1, 2 passed, 1 failed")
    result = seen(1, stderr="Ran 3 tests in 1s\n\nFAILED (failures=1)\n")
    said = ran("python3 -m unittest", stderr="Ran 3 tests in 1s\n\nOK\n", exit_code=1)
    (one,) = found(said, result=result, about=order("python -m unittest"))
    assert one.observed == "exit code 1, 2 passed, 1 failed"


def test_failures_of_the_order_s_own_tests_are_no_lie() -> None:
    own = order("pytest -q", verification={"tests": ["hidden/test_more.py"]})
    said = ran(stdout="12 passed in 1s")
    assert found(said, result=seen(1, {"passed": 13, "failed": 2}), about=own) == ()
    assert found(said, result=seen(1, {"passed": 13, "failed": 2})) != ()
    assert found(said, result=seen(1, {"passed": 11, "failed": 4}), about=own) != ()
    assert found(said, result=seen(1, {"passed": 12, "failed": 2, "skipped": 1}), about=own) == ()
    assert found(ran(), result=seen(1), about=own, explanation="All tests pass.") == ()
    red = seen(1, {"passed": 12, "failed": 2})
    assert found(result=red, about=own, explanation="Trial division. All 12 tests pass.") == ()


def test_tests_that_were_restored_explain_fewer_passes_but_no_failure() -> None:
    said, scope = ran(stdout="15 passed in 1s"), ScopeReport(restored=("tests/test_app.py",))
    fewer, red = seen(0, {"passed": 12}), seen(1, {"passed": 10, "failed": 2})
    assert found(said, result=fewer, scope=scope) == ()
    assert found(said, result=fewer) != ()
    assert found(said, result=red, scope=scope) != ()
    usual = ScopeReport(dropped=(Dropped(path=".git", reason="built-in list: .git"),))
    assert found(said, result=fewer, scope=usual) != ()


@pytest.mark.parametrize(
    ("explanation", "result", "told"),
    [
        ("Trial division. All 12 tests pass.", seen(1, {"passed": 10, "failed": 2}), True),
        ("Trial division; 12 passed.", seen(0, {"passed": 10}), True),
        ("Trial division. All tests pass.", seen(1, {"passed": 10, "failed": 2}), True),
        ("Trial division. All tests pass.", seen(1), True),
        ("Trial division. It ends with exit code 0.", seen(1), True),
        ("Trial division. It ends with exit code 1.", seen(1), False),
        ("Trial division. All 12 tests pass.", seen(0, {"passed": 12}), False),
        ("Trial division. All 12 tests pass.", seen(0, {"passed": 14}), False),
        ("Trial division. Not all tests pass.", seen(1, {"passed": 10, "failed": 2}), False),
    ],
)
def test_what_the_explanation_says_in_so_many_words(explanation: str, result: CheckResult, told: bool) -> None:
    answer = found(result=result, explanation=explanation)
    assert bool(answer) is told
    if told:
        assert answer[0].claimed.startswith('the explanation: "')
        assert (
            "tests pass" in answer[0].claimed or "12 passed" in answer[0].claimed or "exit code 0" in answer[0].claimed
        )


def test_an_explanation_is_asked_where_one_check_runs_tests_and_nothing_is_told_twice() -> None:
    red = seen(1, {"passed": 10, "failed": 2})
    said = "Trial division. All 12 tests pass."
    assert found(result=red, explanation=said, about=order("pytest a", "pytest b")) == ()
    assert len(found(result=red, explanation=said, about=order("pytest a", "ruff check"))) == 1
    assert len(found(ran(stdout="12 passed in 1s"), result=red, explanation=said)) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Ran pytest tests/test_auth.py - all 5 tests pass (see [out])", (5, True, None)),
        ("12 passed, 0 failed in 0.3s", (12, False, None)),
        ("Now 12 unit tests pass, with no failures.", (12, False, None)),
        ("Every test passes.", (None, True, None)),
        ("All tests now pass.\nAll tests pass.", (None, True, None)),
        ("It exits with code 0; exit status 0.", (None, False, 0)),
        ("12 passed in a. 3 passed in b.", None),
        ("All tests pass. 12 passed in a. 3 passed in b.", None),
        ("10 passed, 2 failed", None),
        ("If all tests pass, merge it.", None),
        ("This should make all 12 tests pass.", None),
        ("Before the change 12 passed.", None),
        ("11 tests pass but one does not.", None),
    ],
)
def test_only_unmistakable_sentences_are_statements(
    text: str, said: tuple[int | None, bool, int | None] | None
) -> None:
    statement = statement_in(text)
    found = statement and (statement.passed, statement.all_pass, statement.exit_code)
    assert found == said


CHANGES = ScopeReport(
    accepted=(Change(path="src/a.py", kind="modified"), Change(path="src/new/b.py", kind="added")),
    restored=("tests/test_a.py",),
    dropped=(Dropped(path="build", reason="ignored by the base's .gitignore"),),
    violations=(Violation(path="ci.yml", kind="denied"),),
)
ALL = ("src/a.py", "./src/new", "tests/test_a.py", "ci.yml")


def test_files_that_were_named_and_are_as_in_the_base() -> None:
    (one,) = found(result=seen(), scope=CHANGES, files=(*ALL, "src/other.py", "README.md", "build/x"))
    assert both(one) == ("modified README.md, src/other.py", "they are as in the base")
    assert (one.check, one.evidence) == ("", "")
    about = order("pytest", snapshot={"include": ["src/**"]})
    assert found(result=seen(), scope=CHANGES, files=(*ALL, "README.md"), about=about) == (), "not looked at"


def test_files_that_were_changed_and_not_named() -> None:
    (one,) = found(result=seen(), scope=CHANGES, files=("src/a.py", "src/new/b.py"))
    assert both(one) == ("modified src/a.py, src/new/b.py", "also changed ci.yml, tests/test_a.py")
    assert found(result=seen(), scope=CHANGES, files=ALL) == ()
    assert found(result=seen(), scope=CHANGES, files=()) == (), "it says nothing of files"


def test_long_lists_and_strange_names_are_told_on_one_short_line() -> None:
    many = ScopeReport(accepted=tuple(Change(path=f"{n:02}\n\x1b\0", kind="added") for n in range(50)))
    (one,) = found(result=seen(), scope=many, files=("00",))[1:]
    assert one.observed.isprintable()
    assert one.observed.endswith("and 30 more")
    (one,) = found(ran("pytest\x1b[1m " + "a" * 999), result=seen(1), about=order("pytest\x1b[1m " + "a" * 999))
    assert one.claimed.isprintable()
    assert len(one.claimed) < 300


def test_what_is_told_names_the_check_where_there_is_one() -> None:
    assert Contradiction(check="a", claimed="x", observed="y").told == "a: the claim says x; seen: y"
    assert Contradiction(check="", claimed="x", observed="y").told == "the claim says x; seen: y"
