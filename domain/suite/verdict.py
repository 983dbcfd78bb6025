"""Judges a run of pytest by its tests, one by one, beside that of the base: pure, so that it can be done again.

Codes: `tests_failed`, `tests_missing`, `tests_skipped`, `not_failing_on_base`, `no_tests`, `nothing_passed`,
`no_trusted_tests`, `exit_code`, `subverted`, `unconstrained`. What kept a command from running its tests is
`classify`'s; what is so on the base, too, is `beside_the_base`'s.
Source: DESIGN 8 "Structured checks", "Base and head".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from domain.base import Message
from domain.checks import Outcome
from domain.scrutiny import Counts
from domain.suite import doctests
from domain.suite.functions import Function
from domain.suite.runs import BY_SEVERITY, PUT_OFF, RED, Run, State, file_of, function_of, rooted, stands_for

SHOWN = 5  # ids in a text
REASON = 200  # characters of pytest's reason

NO_TRUSTED_TESTS = "add verification.tests to the order, or a test to the base"

Verdict = tuple[Outcome, str, str]
"""Outcome, code and text."""


class Facts(Message):
    """Everything that the verdict follows from. `base` is None where there is none to compare with.

    `functions`: those of trusted files whose tests the base cannot collect. `changed`: files that differ between the
    base and the tree. `lost`: the base's examples for doctest that are gone, by file. `has_base`: whether there is one
    at all, though its pytest may not have come to an end.
    """

    exit_code: int
    head: Run
    base: Run | None = None
    has_base: bool = True
    functions: tuple[Function, ...] = ()
    changed: tuple[str, ...] = ()
    lost: dict[str, tuple[str, ...]] = {}
    fail_to_pass: tuple[str, ...] = ()
    pass_to_pass: Literal["base"] | tuple[str, ...] = "base"


class Judged(Message):
    """The verdict, and what it counted. `expected`: the ids that passed and had to."""

    outcome: Outcome
    code: str
    text: str
    next_step: str = ""
    counts: Counts = Counts()
    expected: tuple[str, ...] = ()


class Judge:
    """One judgement. The base's ids are expected; of files that may change, only as many."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.head = facts.head
        base = facts.base or Run()
        self.before = base.tests
        self.exact = {name: ran.state for name, ran in base.tests.items() if file_of(name) not in facts.changed}
        by_function = facts.head.functions()
        self.functions = [function for function in facts.functions if not self._chosen_away(function)]
        self.of_functions = {name: f for f in self.functions for name in by_function.get(f.id, ())}
        self.fail_to_pass = rooted(self.head, facts.fail_to_pass)
        listed = facts.pass_to_pass
        self.pass_to_pass = None if listed == "base" else rooted(self.head, listed)
        self.named = bool(self.fail_to_pass) or self.pass_to_pass is not None
        self.failing = [name for name, ran in self.head.tests.items() if ran.state in RED]
        self.pre_existing = [name for name in self.failing if self._tolerated(name)]
        self.uncollected = [name for name in self.head.uncollected if not (self.named and name in base.uncollected)]

    def verdict(self) -> Judged:
        """The first that applies."""
        lost = doctests.verdict(self._lost())
        found = (
            self._nothing()
            or self._failed()
            or lost
            or self._missing()
            or self._skipped()
            or self._not_failing_on_base()
            or self._none_passed()
            or self._exit()
        )
        outcome, code, text = found or (Outcome.PASSED, "ok", self._summary())
        step = NO_TRUSTED_TESTS if code == "no_trusted_tests" else doctests.NEXT_STEP if lost and found is lost else ""
        return Judged(
            outcome=outcome, code=code, text=text, next_step=step, counts=self.counts(), expected=self.passed_expected()
        )

    def counts(self) -> Counts:
        """Of the head's tests, and of those that were expected."""
        states = [ran.state for ran in self.head.tests.values()]
        return Counts(
            expected=len(self._expected()),
            passed=states.count("passed"),
            failed=states.count("failed"),
            errors=states.count("error") + len(self.head.uncollected),
            skipped=states.count("skipped"),
            xfailed=states.count("xfailed"),
            xpassed=states.count("xpassed"),
            missing=len(self._absent()) + self._fewer(),
            added=len(self._added()),
            pre_existing=len(self.pre_existing),
        )

    def passed_expected(self) -> tuple[str, ...]:
        """The ids that were expected, exactly or as a function's, and passed."""
        return tuple(
            name
            for name, ran in self.head.tests.items()
            if ran.state in ("passed", "xpassed") and (name in self.exact or name in self.of_functions)
        )

    def _expected(self) -> list[str]:
        """Ids and functions, and the tests of files that may change."""
        inexact = [name for name in self.before if name not in self.exact]
        found = {function_of(name) for name in self.of_functions}
        unseen = [f.id for f in self.functions if f.id not in found]
        return [*dict.fromkeys([*self.exact, *self.of_functions]), *unseen, *inexact]

    def _passed_inexact(self) -> int:
        """How many pass of the tests that files have which may change: no more than the base has there."""
        names = {name for name in self.head.tests if file_of(name) in self.facts.changed} - set(self.of_functions)
        passed = sum(self.head.tests[name].state in ("passed", "xpassed") for name in names)
        return min(passed, sum(name not in self.exact and name not in self.of_functions for name in self.before))

    def _added(self) -> list[str]:
        expected = {*self.exact, *self.of_functions, *self.before}
        return [name for name in self.head.tests if name not in expected]

    def _chosen_away(self, function: Function) -> bool:
        """Whether the command itself leaves the function out: by an option, or by what it names."""
        found = (self.facts.base or self.head).found or self.head.found
        if any(f.chooses for f in found) and any(function_of(name) == function.id for name in self.head.deselected):
            return True
        return bool(found) and not any(_covers(arg, function.id) for f in found for arg in f.args)

    def _required(self, name: str) -> bool:
        """Whether the test has to pass, where some are named."""
        if any(stands_for(wanted, name) for wanted in self.fail_to_pass) or self._is_new(name):
            return True
        if self.pass_to_pass is not None:
            return any(stands_for(wanted, name) for wanted in self.pass_to_pass)
        return self._on_base(name) not in RED

    def _is_new(self, name: str) -> bool:
        return name not in self.before and name not in self.of_functions

    def _on_base(self, name: str) -> State | None:
        """What became of it there; a file that could not be read for its tests failed there."""
        if name in self.of_functions:
            return "error"
        ran = self.before.get(name)
        return ran.state if ran else None

    def _tolerated(self, name: str) -> bool:
        return self.named and not self._required(name)

    def _nothing(self) -> Verdict | None:
        """Where the order names tests, those are missing: no base excuses that."""
        if self.head.tests or self.head.uncollected or self.fail_to_pass or self.pass_to_pass:
            return None
        why = "".join(f"; {_told(self.head.left_out, [name])}" for name in list(self.head.left_out)[:1])
        return Outcome.FAILED, "no_tests", f"pytest collected no test{_of(self._expected())}{why}"

    def _failed(self) -> Verdict | None:
        failed = [name for name in self.failing if name not in self.pre_existing]
        if not failed and not self.uncollected:
            return None
        reasons = self.head.reasons | self.head.uncollected
        what = [_number(len(failed), "test failed", "tests failed")] if failed else []
        what += [f"{_number(len(self.uncollected), 'file', 'files')} not collected"] if self.uncollected else []
        told = _told(reasons, [*self.uncollected, *failed])
        return Outcome.FAILED, "tests_failed", f"{', '.join(what)}{_of(self._expected())}: {told}"

    def _absent(self) -> list[str]:
        """What was expected by name and has not run: ids, functions, and what the order names."""
        ran = {name for name, test in self.head.tests.items() if test.state != "not_run"}
        functions = {function_of(name) for name in ran}
        named = {**self.fail_to_pass, **(self.pass_to_pass or {})}
        found = {wanted for wanted in named if any(stands_for(wanted, name) for name in ran)}
        return [
            *(name for name in self.exact if name not in ran),
            *(f.id for f in self.functions if f.id not in functions),
            *(shown for wanted, shown in named.items() if wanted not in found and wanted not in self.exact),
        ]

    def _fewer(self) -> int:
        """How many tests the files that may change have fewer, all together."""
        before = [name for name in self.before if name not in self.exact]
        after = [name for name in self.head.tests if file_of(name) in self.facts.changed]
        return max(0, len(before) - len(after))

    def _lost(self) -> doctests.Lost:
        """The base's examples that are gone from files that were run as doctests."""
        files = {file_of(name) for name in (*self.before, *self.head.tests) if doctests.is_doctest(name)}
        return doctests.of_files(self.facts.lost, [*files, *(self.facts.base or Run()).uncollected])

    def _missing(self) -> Verdict | None:
        absent = list(dict.fromkeys(self._absent()))
        if absent:
            text = f"{_number(len(absent), 'expected test', 'expected tests')} did not run{_of(self._expected())}"
            return Outcome.FAILED, "tests_missing", f"{text}: {_names(absent)}"
        if fewer := self._fewer():
            text = f"{_number(fewer, 'test', 'tests')} fewer than on the base, in files that may change"
            return Outcome.FAILED, "tests_missing", text
        return None

    def _skipped(self) -> Verdict | None:
        skipped = [name for name, ran in self.head.tests.items() if ran.state in PUT_OFF and self._had_to_run(name)]
        if skipped:
            text = f"{_number(len(skipped), 'expected test was', 'expected tests were')} skipped or marked to fail"
            return Outcome.FAILED, "tests_skipped", f"{text}: {_names(skipped)}"
        changed = self.facts.changed
        before = [r for name, r in self.before.items() if file_of(name) in changed and r.state not in PUT_OFF]
        after = [r for name, r in self.head.tests.items() if file_of(name) in changed and r.state not in PUT_OFF]
        if len(after) < len(before):
            text = f"{len(before) - len(after)} fewer that are not skipped than on the base, in files that may change"
            return Outcome.FAILED, "tests_skipped", text
        return None

    def _had_to_run(self, name: str) -> bool:
        if any(stands_for(wanted, name) for wanted in self.fail_to_pass):
            return True
        if name in self.of_functions:
            return not self.of_functions[name].put_off and not self._tolerated(name)
        return name in self.exact and self.exact[name] not in PUT_OFF and not self._tolerated(name)

    def _not_failing_on_base(self) -> Verdict | None:
        passed = [
            name
            for name, ran in self.before.items()
            if ran.state in ("passed", "xpassed") and any(stands_for(wanted, name) for wanted in self.fail_to_pass)
        ]
        if not passed:
            return None
        text = f"named in fail_to_pass, but {_number(len(passed), 'test passes', 'tests pass')} on the base"
        return Outcome.FAILED, "not_failing_on_base", f"{text}: {_names(passed)}"

    def _none_passed(self) -> Verdict | None:
        """Whether no test passed but, perhaps, those that came with the work."""
        passed = [name for name, ran in self.head.tests.items() if ran.state in ("passed", "xpassed")]
        if not passed:
            states = [ran.state for ran in self.head.tests.values()]
            counted = ", ".join(f"{states.count(state)} {state}" for state in BY_SEVERITY if state in states)
            return Outcome.FAILED, "nothing_passed", f"no test passed: {counted}"
        if not self.facts.has_base or self.passed_expected() or any(map(self._is_named, passed)):
            return None
        kinds = {ran.state for name, ran in self.before.items() if name not in self.exact}
        if self._passed_inexact() and kinds - PUT_OFF:
            return None
        which = "neither the base nor the order has a test that passes here"
        return (
            Outcome.FAILED,
            "no_trusted_tests",
            f"{_number(len(passed), 'new test', 'new tests')} passed, but {which}",
        )

    def _is_named(self, name: str) -> bool:
        return any(stands_for(wanted, name) for wanted in (*self.fail_to_pass, *(self.pass_to_pass or ())))

    def _exit(self) -> Verdict | None:
        code = self.facts.exit_code
        if code == 0 or (code == 1 and self.pre_existing):
            return None
        return Outcome.FAILED, "exit_code", f"exit code {code}, though no test failed: {self._summary()}"

    def _summary(self) -> str:
        expected = self._expected()
        passed, added = len(self.passed_expected()) + self._passed_inexact(), len(self._added())
        told = f"{passed} of {_number(len(expected), 'expected test', 'expected tests')} passed"
        if not self.facts.has_base:
            told = _number(sum(r.state == "passed" for r in self.head.tests.values()), "test passed", "tests passed")
        told += f", {added} new" if added and self.facts.has_base else ""
        failed = len(self.pre_existing)
        return told + (f", {failed} failed that nothing names and that failed on the base" if failed else "")


def judge(facts: Facts) -> Judged:
    """What the run comes to."""
    return Judge(facts).verdict()


def _covers(arg: str, function: str) -> bool:
    """Whether pytest looks at a function when it is given `arg`, a path or an id of the tree."""
    if "::" in arg:
        return stands_for(arg, function) or function_of(arg) == function
    return arg == "." or file_of(function) == arg or function.startswith(f"{arg}/")


def _of(expected: Iterable[str]) -> str:
    return f" of {number}" if (number := len(list(expected))) else ""


def _number(count: int, one: str, more: str) -> str:
    return f"{count} {one if count == 1 else more}"


def _names(names: list[str]) -> str:
    rest = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + rest


def _told(reasons: dict[str, str], names: list[str]) -> str:
    """The first names, with the first line of pytest's reason."""
    shown = [f"{name} ({_line(reasons[name])})" if reasons.get(name) else name for name in names[:SHOWN]]
    rest = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(shown) + rest


def _line(text: str) -> str:
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return first[:REASON]
