"""Runs of pytest are judged test by test, beside the base's: what is missing, put off, failing, new or named."""

from __future__ import annotations

from typing import Any

import pytest

from domain.checks import Outcome
from domain.mutation.edits import Edit
from domain.suite.control import Change, canary_failed, companions, expectation, measure, sample, spared
from domain.suite.functions import Function, functions_in, is_test_file
from domain.suite.runs import Found, Ran, Run, function_of, merged, stands_for
from domain.suite.verdict import Facts, Judged, judge

FILE = "tests/test_a.py"


def ran(*states: str, ms: int = 0, **more: Any) -> Run:
    """A run from `name=state` pairs; a name without a file is of `FILE`, one without a state passed."""
    tests = {}
    for pair in states:
        name, _, state = pair.rpartition("=") if "=" in pair else (pair, "", "passed")
        tests[name if "::" in name else f"{FILE}::{name}"] = Ran.model_validate({"state": state, "ms": ms})
    return Run(tests=tests, **more)


def judged(head: Run, base: Run | None = None, exit_code: int = 0, **more: Any) -> Judged:
    return judge(Facts(exit_code=exit_code, head=head, base=base, **more))


def told(result: Judged) -> tuple[str, str]:
    assert (result.outcome is Outcome.PASSED) == (result.code == "ok")
    return result.code, result.text


def test_every_expected_test_passed() -> None:
    result = judged(ran("a", "b", "c"), ran("a=failed", "b"))
    assert told(result) == ("ok", "2 of 2 expected tests passed, 1 new")
    assert result.counts.model_dump(exclude_defaults=True) == {"expected": 2, "passed": 3, "added": 1}


FAILURES = {
    "a failing one": (ran("a", "b=failed", reasons={f"{FILE}::b": "assert 1 == 2\nmore"}), "tests_failed"),
    "an error of a fixture": (ran("a", "b=error"), "tests_failed"),
    "a new one that fails": (ran("a", "b", "c=failed"), "tests_failed"),
    "one that is gone": (ran("a"), "tests_missing"),
    "one that was collected and did not run": (ran("a", "b=not_run"), "tests_missing"),
    "one that is skipped now": (ran("a", "b=skipped"), "tests_skipped"),
    "one that may fail now": (ran("a", "b=xfailed"), "tests_skipped"),
    "nothing at all": (ran(), "no_tests"),
    "a file that cannot be read": (ran("a", "b", uncollected={"tests/test_b.py": "ImportError"}), "tests_failed"),
}


@pytest.mark.parametrize(("head", "code"), FAILURES.values(), ids=FAILURES)
def test_what_is_not_as_on_the_base(head: Run, code: str) -> None:
    assert told(judged(head, ran("a", "b")))[0] == code


def test_a_failure_has_the_first_line_of_its_reason() -> None:
    head, _ = FAILURES["a failing one"]
    assert told(judged(head, ran("a", "b")))[1] == "1 test failed of 2: tests/test_a.py::b (assert 1 == 2)"


@pytest.mark.parametrize("state", ["skipped", "xfailed"])
def test_what_was_put_off_on_the_base_may_be_put_off_or_pass(state: str) -> None:
    assert told(judged(ran("a", f"b={state}"), ran("a", f"b={state}")))[0] == "ok"
    assert told(judged(ran("a", "b"), ran("a", f"b={state}")))[0] == "ok"


def test_a_new_test_may_be_skipped_and_must_not_fail() -> None:
    assert told(judged(ran("a", "b=skipped"), ran("a")))[0] == "ok"
    assert told(judged(ran("a", "b=failed"), ran("a")))[0] == "tests_failed"


@pytest.mark.parametrize(("code", "expected"), [(0, "ok"), (1, "exit_code"), (2, "exit_code"), (139, "exit_code")])
def test_an_exit_code_that_no_test_explains(code: int, expected: str) -> None:
    assert told(judged(ran("a"), ran("a"), exit_code=code))[0] == expected


def test_an_exit_code_of_nought_hides_no_failure() -> None:
    assert told(judged(ran("a=failed"), ran("a"), exit_code=0))[0] == "tests_failed"


def test_without_a_test_of_base_or_order_nothing_is_shown() -> None:
    result = judged(ran("a"), ran())
    assert told(result)[0] == "no_trusted_tests"
    assert "verification.tests" in result.next_step
    assert told(judged(ran("a"), has_base=False)) == ("ok", "1 test passed")


def test_where_no_test_passes_nothing_is_green() -> None:
    put_off = ran("a=skipped", "b=xfailed")
    result = judged(put_off, put_off)
    assert told(result) == ("nothing_passed", "no test passed: 1 xfailed, 1 skipped")
    assert told(judged(put_off, has_base=False))[0] == "nothing_passed"
    assert told(judged(put_off, has_base=True))[0] == "nothing_passed", "the base's pytest did not come to its end"
    assert told(judged(ran("a=failed"), ran("a"), exit_code=1, pass_to_pass=()))[0] == "nothing_passed"


def test_only_the_worker_s_own_tests_pass() -> None:
    base = ran("a=skipped")
    new = judged(ran("a=skipped", "b"), base)
    assert told(new)[0] == "no_trusted_tests"
    assert "1 new test passed" in new.text
    assert told(judged(ran("a"), base, changed=(FILE,)))[0] == "no_trusted_tests", "the worker took the mark away"
    assert told(judged(ran("a"), base))[0] == "ok", "the base's own test, which passes now"
    assert told(judged(ran("a"), ran("a=failed"), changed=(FILE,)))[0] == "ok"
    assert told(judged(ran("a=skipped", "b"), base, fail_to_pass=(f"{FILE}::b",)))[0] == "ok", "the order names it"


def test_what_the_order_names_is_missing_where_nothing_is_collected() -> None:
    assert told(judged(ran(), ran(), exit_code=5))[0] == "no_tests"
    assert told(judged(ran(), ran(), exit_code=5, fail_to_pass=(f"{FILE}::b",)))[0] == "tests_missing"


def test_files_that_may_change_need_as_many_tests_and_not_the_same() -> None:
    base = ran("a", "b")
    assert told(judged(ran("x", "y"), base, changed=(FILE,)))[0] == "ok"
    assert told(judged(ran("tests/test_moved.py::a", "b"), base, changed=(FILE, "tests/test_moved.py")))[0] == "ok"
    assert told(judged(ran("x"), base, changed=(FILE,)))[0] == "tests_missing"
    assert told(judged(ran("x", "y=skipped"), base, changed=(FILE,)))[0] == "tests_skipped"
    assert told(judged(ran("x", "y"), base))[0] == "tests_missing"


FUNCTIONS = (Function(id=f"{FILE}::a"), Function(id=f"{FILE}::b", put_off=True))


def test_a_file_that_the_base_cannot_read_has_its_functions() -> None:
    base = ran(uncollected={FILE: "ImportError"}, found=(Found(args=(".",)),))
    assert told(judged(ran("a[1]", "a[2]", "b=skipped"), base, functions=FUNCTIONS))[0] == "ok"
    assert told(judged(ran("a[1]"), base, functions=FUNCTIONS))[0] == "tests_missing"
    assert told(judged(ran("a[1]=skipped", "b"), base, functions=FUNCTIONS))[0] == "tests_skipped"


def test_functions_that_the_command_leaves_out_are_not_expected() -> None:
    def base(**found: Any) -> Run:
        return ran(uncollected={FILE: "ImportError"}, found=(Found.model_validate(found),))

    named = base(args=(f"{FILE}::a",))
    assert told(judged(ran("a"), named, functions=FUNCTIONS))[0] == "ok"
    assert told(judged(ran("b"), named, functions=FUNCTIONS))[0] == "tests_missing"
    other = judged(ran("tests/other/test_o.py::o"), base(args=("tests/other",)), functions=FUNCTIONS)
    assert told(other)[0] == "no_trusted_tests"
    head = ran("a", deselected=(f"{FILE}::b",))
    assert told(judged(head, base(args=("tests",), chooses=True), functions=FUNCTIONS))[0] == "ok"
    assert told(judged(head, base(args=("tests",)), functions=FUNCTIONS))[0] == "tests_missing"


def test_named_tests_have_to_fail_before_and_pass_after() -> None:
    base = ran("a=failed", "b", "c=failed")
    named: dict[str, Any] = {"fail_to_pass": (f"{FILE}::a",)}
    result = judged(ran("a", "b", "c=failed"), base, exit_code=1, **named)
    assert told(result)[0] == "ok"
    assert result.counts.pre_existing == 1
    assert "1 failed that nothing names and that failed on the base" in result.text
    assert told(judged(ran("a", "b=failed", "c"), base, exit_code=1, **named))[0] == "tests_failed"
    assert told(judged(ran("a=failed", "b", "c"), base, exit_code=1, **named))[0] == "tests_failed"
    assert told(judged(ran("a", "b", "c=failed", "d=failed"), base, exit_code=1, **named))[0] == "tests_failed"
    assert told(judged(ran("a", "b", "c=failed"), base, exit_code=2, **named))[0] == "exit_code"
    assert told(judged(ran("a", "b", "c"), ran("a", "b", "c"), **named))[0] == "not_failing_on_base"
    assert told(judged(ran("a", "b", "c"), base, fail_to_pass=(f"{FILE}::d",)))[0] == "tests_missing"
    assert told(judged(ran("a=skipped", "b", "c"), base, **named))[0] == "tests_skipped"


def test_a_failure_is_old_only_with_a_base_that_recorded_it() -> None:
    assert told(judged(ran("a", "c=failed"), ran("a=failed"), exit_code=1, fail_to_pass=(f"{FILE}::a",)))[0] != "ok"
    assert told(judged(ran("a", "c=failed"), ran("a=failed", "c=failed"), exit_code=1))[0] == "tests_failed"


def test_a_list_of_what_must_still_pass_is_all_that_must() -> None:
    base = ran("a", "b")
    assert told(judged(ran("a", "b=failed"), base, exit_code=1, pass_to_pass=(f"{FILE}::a",)))[0] == "ok"
    assert told(judged(ran("a=failed", "b"), base, exit_code=1, pass_to_pass=(f"{FILE}::a",)))[0] == "tests_failed"
    assert told(judged(ran("a", "b"), base, pass_to_pass=(f"{FILE}::gone",)))[0] == "tests_missing"
    assert told(judged(ran("a", "b", "c=failed"), base, exit_code=1, pass_to_pass=(f"{FILE}::a",)))[0] == "tests_failed"


def test_ids_as_pytest_prints_them_where_its_root_is_another() -> None:
    found = (Found(root="sub", args=("sub",)),)
    base, head = ran("sub/t.py::a=failed", found=found), ran("sub/t.py::a[1]", "sub/t.py::a[2]", found=found)
    assert told(judged(head, base, changed=("sub/t.py",), fail_to_pass=("t.py::a",)))[0] == "ok"
    assert told(judged(head, base, changed=("sub/t.py",), fail_to_pass=("sub/t.py::a",)))[0] == "ok"
    assert told(judged(head, base, changed=("sub/t.py",), fail_to_pass=("t.py::b",)))[0] == "tests_missing"


def test_several_processes_are_one_run_with_the_worse_outcome() -> None:
    whole = merged([ran("a", "b=failed"), ran("b", "c")])
    assert {name: test.state for name, test in whole.tests.items()} == {
        f"{FILE}::a": "passed",
        f"{FILE}::b": "failed",
        f"{FILE}::c": "passed",
    }


def test_a_functions_id_stands_for_its_tests() -> None:
    assert function_of("t.py::C::m[a::b[0]]") == function_of("t.py::C::m@group") == "t.py::C::m"
    assert all(stands_for(name, "t.py::C::m[1]") for name in ("t.py", "t.py::C", "t.py::C::m", "t.py::C::m[1]"))
    assert not any(stands_for(name, "t.py::C::m[1]") for name in ("t.p", "t.py::C::", "t.py::C::m[2]"))


SOURCE = b"""
import unittest, pytest
def test_one(): ...
async def test_two(): ...
@pytest.mark.skipif(True, reason="")
def test_three(): ...
@pytest.fixture
def test_data(): ...
def helper(): ...
class TestOnes:
    def test_four(self): ...
    class TestInner:
        def test_five(self): ...
class TestMade:
    def __init__(self): ...
    def test_no(self): ...
class Cases(unittest.TestCase):
    def test_six(self): ...
class Other:
    def test_no(self): ...
"""


def test_functions_by_the_names_that_pytest_goes_by() -> None:
    found = functions_in("t.py", SOURCE, Found())
    assert [f.id.removeprefix("t.py::") for f in found] == [
        "test_one",
        "test_two",
        "test_three",
        "TestOnes::test_four",
        "TestOnes::TestInner::test_five",
        "Cases::test_six",
    ]
    assert [f.id for f in found if f.put_off] == ["t.py::test_three"]
    assert functions_in("t.py", b"-" * 100_000 + b"1", Found()) == (), "too deep for the parser"
    own = functions_in("t.py", b"def check_it(): ...\ndef test_it(): ...", Found(python_functions=("check_*",)))
    assert [f.id for f in own] == ["t.py::check_it"]
    assert functions_in("t.py", b"def test_(:", Found()) == ()
    skipped = functions_in("t.py", b"pytestmark = [pytest.mark.skip]\ndef test_it(): ...", Found())
    assert [f.put_off for f in skipped] == [True]


@pytest.mark.parametrize(
    ("path", "expected"), [("a/test_b.py", True), ("b_test.py", True), ("a/testing.py", False), ("conftest.py", False)]
)
def test_files_by_the_names_that_pytest_goes_by(path: str, expected: bool) -> None:
    assert is_test_file(path, Found()) == expected


def change(function: str, item: int | None = None, *, decisive: bool = True, items: int | None = None) -> Change:
    edit = Edit(start=0, end=1, text="2")
    return Change(function=f"{FILE}::{function}", item=item, items=items, edit=edit, decisive=decisive)


def test_changed_tests_are_matched_by_their_place() -> None:
    head = ran("a[1]", "a[2]", "b", "c=failed", "d")
    control = ran("a[9]=failed", "a[8]", "b=failed", "c=failed", "d")
    changes = [change("a", 0, items=2), change("a", 1, items=2), change("b"), change("c"), change("d", decisive=False)]
    measured = measure(changes, head, control)
    assert [name.rpartition("::")[2] for name in measured.measured] == ["a[1]", "a[2]", "b", "d"]
    assert [name.rpartition("::")[2] for name in measured.constrained] == ["a[1]", "b"]
    assert [name.rpartition("::")[2] for name in measured.blind] == ["a[2]"]
    report = expectation(measured, head.tests, 7)
    assert (report.tests, report.measured, report.constrained, report.seed) == (5, 4, 2, 7)
    assert report.unconstrained == (f"{FILE}::a[2]", f"{FILE}::d")


def test_only_the_item_that_is_changed_is_measured_and_one_red_change_is_enough() -> None:
    head, control = ran("a[1]", "a[2]"), ran("a[9]", "a[2]=failed")
    assert measure([change("a", 0, items=2)], head, control).measured == (f"{FILE}::a[1]",)
    measured = measure([change("a", 1, items=2), change("a")], head, ran("a[1]=failed", "a[2]=failed"))
    assert (len(measured.constrained), measured.blind) == (2, ())


def test_items_that_a_fixture_multiplies_are_not_measured() -> None:
    head = ran("a[x-1]", "a[y-1]")
    assert not measure([change("a", 0, items=1)], head, head).measured
    assert not measure([change("a")], head, ran("a[x-2]=failed")).measured
    assert measure([change("a")], head, head).blind == tuple(head.tests)


def test_the_sample_has_what_failed_and_then_what_the_time_allows() -> None:
    names = [f"t{n}" for n in range(10)]
    base = merged([ran("red=failed", ms=60_000), ran(*names, ms=2_000)])
    chosen = [c.function for c in sample([change(n) for n in ["red", "new", *names]], base, 1)]
    assert chosen[:2] == [f"{FILE}::new", f"{FILE}::red"]
    assert len(chosen) == 12, "six tenths of 80 s"
    short = ran(*names, ms=2_000)
    assert len(sample([change(n) for n in names], short, 1)) == 6
    drawn = [sample([change(n) for n in names], short, seed) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    quick = ran(*names, ms=100)
    assert len(sample([change(n) for n in names], quick, 1)) == 10, "two seconds in any case"


def test_what_the_sample_leaves_of_the_time_is_for_tests_as_they_are() -> None:
    names = [f"t{n}" for n in range(10)]
    base = ran(*names, "red=failed", ms=2_000)
    assert len(companions([], base, 1)) == 7, "six of 2 s each, and what was red costs nothing that is known"
    assert len(companions([change(n) for n in names[:4]], base, 1)) == 2, "two of 2 s each in the 5 s that are left"
    assert set(companions([change("t0")], ran(*names, ms=100), 1)) == {f"{FILE}::{name}" for name in names[1:]}
    assert companions([], base, 1) == companions([], base, 1)
    assert companions([], None, 1) == ()


def test_one_test_of_each_file_stays_as_it_is() -> None:
    base = ran("a", "b", "tests/test_b.py::c", "tests/test_b.py::d")
    every = [change("a"), change("b", decisive=True)]
    assert [c.function for c in spared(every, base, 1)] == [f"{FILE}::b"], "the doubtful one is left out"
    other = change("c").model_copy(update={"function": "tests/test_b.py::c"})
    assert spared([other], base, 1) == (other,), "d is not changed in any case"
    assert spared([change("a")], ran("a"), 1) == (change("a"),), "what is alone is changed"
    sets = [change("a", place, items=4, decisive=True) for place in range(4)]
    assert len(spared(sets, ran("a[1]", "a[2]", "a[3]", "a[4]"), 1)) == 3


def test_of_several_that_were_red_one_stays_as_it_is_with_all_its_items() -> None:
    """Wrong work may pass an item, or what passed on the base; the only test that the work is about is changed."""
    items = [change("a", place, items=3, decisive=True) for place in range(3)]
    base = ran("a[1]=failed", "a[2]=failed", "a[3]=failed", "b=failed", "c", "d")
    every = [*items, change("b", decisive=True), change("c", decisive=True), change("d", decisive=False)]
    for seed in range(20):
        gone = set(every) - set(spared(every, base, seed))
        assert gone in (set(items), {change("b", decisive=True)})
    alone = ran("a[1]", "a[2]", "a[3]", "b=failed", "c", "d")
    assert set(every) - set(spared(every, alone, 1)) == {change("d", decisive=False)}, "what says little goes first"
    weak = [change("b", decisive=False), change("c", decisive=True)]
    assert spared(weak, ran("b=failed", "c"), 1) == (weak[0],), "the work is about it"


def test_what_was_not_changed_has_to_do_what_it_did() -> None:
    head = ran("a", "b", "c=failed")
    assert measure([change("a")], head, ran("a=failed", "b", "c=failed")).turned == ()
    assert measure([change("a")], head, ran("a=failed", "b=error", "c=failed")).turned == (f"{FILE}::b",)
    sets, changed = ran("a[1]", "a[2]"), [change("a", 0, items=2)]
    assert measure(changed, sets, ran("a[9]=failed", "a[2]=failed")).turned == (f"{FILE}::a[2]",)
    assert measure(changed, sets, ran("a[9]=failed", "a[2]=not_run")).turned == ()


def test_a_canary_has_to_fail_and_to_say_so() -> None:
    noticed = ran("test_x=failed", reasons={f"{FILE}::test_x": "AssertionError: token"})
    assert canary_failed(noticed, "test_x", "token")
    assert not canary_failed(noticed, "test_x", "other")
    assert not canary_failed(ran("test_x", reasons=noticed.reasons), "test_x", "token")
    assert not canary_failed(ran("test_y"), "test_x", "token")


def test_a_test_into_which_a_failure_was_put_must_fail_and_is_not_measured() -> None:
    stop = change("a").model_copy(update={"stop": True})
    red = measure([stop], ran("a"), ran("a=failed"))
    assert (red.measured, red.constrained, red.blind) == ((), (), ())
    green = measure([stop], ran("a"), ran("a"))
    assert (green.measured, green.constrained, green.blind) == ((), (), (f"{FILE}::a",))
    assert measure([stop], ran("a=failed"), ran("a")).blind == ()


def test_what_passed_on_the_base_is_left_as_it_is_before_what_alone_the_work_is_about() -> None:
    every = [change("a"), change("b"), change("c").model_copy(update={"stop": True})]
    for seed in range(9):
        assert {c.function for c in spared(every[:2], ran("a", "b=failed"), seed)} == {f"{FILE}::b"}
        assert {c.function for c in spared(every[:2], ran("a"), seed)} == {f"{FILE}::b"}, "the base has no such test"
        assert {c.function for c in spared(every, ran("a", "b", "c"), seed)} == {f"{FILE}::a", f"{FILE}::b"}
