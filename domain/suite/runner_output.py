"""Reads the counts that test runners print at their end, and what they print where there was no test to run.

What anybody can print proves nothing. So this serves to compare what a worker says with what was seen, and to take a
pass away from a command that ended with 0 (`domain.suite.counted`); it never makes one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator

from domain.base import Message

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_PART = re.compile(r"(\d{1,9}) ([a-z]+)")

_FIELDS = {
    **dict.fromkeys(("passed", "passing", "xpassed"), "passed"),
    **dict.fromkeys(("failed", "failing", "failure", "failures", "error", "errors"), "failed"),
    **dict.fromkeys(("skipped", "skip", "skips", "pending", "pendings", "todo", "ignored", "xfailed"), "skipped"),
    **dict.fromkeys(("omissions", "excluded", "undefined", "incomplete"), "skipped"),
}
"""The words of runners, by what they mean here."""


class Tally(Message):
    """How many tests passed, failed (errors included) and were skipped (expected failures included)."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.passed + self.failed + self.skipped

    @property
    def ran(self) -> int:
        """All that were not skipped."""
        return self.passed + self.failed

    def __str__(self) -> str:
        parts = [f"{self.passed} passed"]
        parts += [f"{self.failed} failed"] if self.failed else []
        parts += [f"{self.skipped} skipped"] if self.skipped else []
        return ", ".join(parts)


def tally_of(output: str) -> Tally | None:
    """The counts of the last run that `output` shows, None where it shows none that is known here."""
    lines = _lines(output)
    found = (reader(lines) for reader in _BY_THEMSELVES)
    return next((tallies[-1] for tallies in found if tallies), None)


def total_of(output: str) -> Tally | None:
    """The counts of all runs that `output` shows together, None where no runner that is known here printed any.

    A test that two forms tell of (`node --test` prints TAP, too) may count twice: the base's output is read alike.
    """
    lines = _lines(output)
    found = {reader: reader(lines) for reader in _READERS}
    if found[_node] or any(line.strip().startswith("Files=") for line in lines):
        found[_tap] = []
    tallies = [tally for each in found.values() for tally in each]
    return _added(tallies) if tallies or _without_tests(lines) else None


def names_no_tests(output: str) -> bool:
    """Whether a runner says in so many words that there was nothing to run: some then end with another code than 0."""
    return _without_tests(_lines(output))


def _lines(output: str) -> list[str]:
    return [line.rstrip() for line in _ANSI.sub("", output).splitlines()]


def _added(tallies: Iterable[Tally]) -> Tally:
    each = list(tallies)
    return Tally(
        passed=sum(tally.passed for tally in each),
        failed=sum(tally.failed for tally in each),
        skipped=sum(tally.skipped for tally in each),
    )


def _summed(parts: Iterable[tuple[str, str]]) -> Tally:
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for number, word in parts:
        if word in _FIELDS:
            counts[_FIELDS[word]] += int(number)
    return Tally(**counts)


# `=== 1 failed, 12 passed in 0.30s ===`, and without the rules where it is quiet.
_PYTEST = re.compile(r"=*\s?((?:\d{1,9} [a-z]+(?:, )?)+|no tests ran) in [\d.:]+ ?s?(?: \([\d:]+\))?\s?=*")


def _pytest(lines: list[str]) -> list[Tally]:
    found = (_PYTEST.fullmatch(line.strip()) for line in lines if " in " in line)
    return [_summed(_PART.findall(match[1])) for match in found if match]


_RAN = re.compile(r"Ran (\d{1,9}) tests? in .*")
_ENDED = re.compile(r"(?:OK|FAILED|PASSED|NO TESTS RAN)(?: \(([a-z0-9=, ]*)\))?")
_NOTED = re.compile(r"([a-z ]+)=(\d{1,9})")


def _unittest(lines: list[str]) -> list[Tally]:
    """Also of Django, nose2 and trial. A run is its count and, after it, how it ended."""
    tallies, ran = [], None
    for line in lines:
        if began := _RAN.fullmatch(line.strip()):
            ran = int(began[1])
        elif ran is not None and (ended := _ENDED.fullmatch(line.strip())):
            noted = {name.strip(): int(number) for name, number in _NOTED.findall(ended[1] or "")}
            failed = noted.get("failures", 0) + noted.get("errors", 0) + noted.get("unexpected successes", 0)
            skipped = noted.get("skipped", 0) + noted.get("skips", 0) + noted.get("expected failures", 0)
            tallies.append(Tally(passed=max(ran - failed - skipped, 0), failed=failed, skipped=skipped))
            ran = None
    return tallies


_NODE = re.compile(r"(?:#|\u2139) (pass|fail|cancelled|skipped|todo) (\d{1,9})")
_FILE_PASSED = re.compile(r"(?:ok \d{1,9} - |\u2714 )(\S+)(?: \([\d.]+ms\))?")
_FILE_BEGAN = re.compile(r"(?:# Subtest: |\u25b6 )(\S+)(?: \([\d.]+ms\))?")
_BELOW = re.compile(r"\s+(?:not )?ok \d{1,9}\b.*|\s+[\u2714\u2716\ufe63] .*")
_SOURCES = tuple(f".{kind}{language}{more}" for kind in ("", "c", "m") for language in "jt" for more in ("s", "sx"))


def _node(lines: list[str]) -> list[Tally]:
    """`node --test`, as TAP or as its own form has it. A file without tests counts there as one that passed."""
    tallies: list[Tally] = []
    counts: dict[str, int] = {}
    hollow, opened = 0, ""
    with_tests = set()
    for line in lines:
        if found := _NODE.fullmatch(line.strip()):
            counts[found[1]] = int(found[2])
            if {"pass", "fail"} <= counts.keys() and found[1] == "todo":
                tallies.append(_of_node(counts, hollow))
                counts, hollow = {}, 0
        elif begun := _FILE_BEGAN.fullmatch(line):
            opened = begun[1]
        elif opened and _BELOW.fullmatch(line):
            with_tests.add(opened)
        elif (file := _FILE_PASSED.fullmatch(line)) and _is_source(file[1]) and file[1] not in with_tests:
            hollow += 1
    return [*tallies, _of_node(counts, hollow)] if {"pass", "fail"} <= counts.keys() else tallies


def _is_source(name: str) -> bool:
    """Whether what passed is a file, as nobody calls a test of his own."""
    return name.endswith(_SOURCES) and ("/" in name or "test" in name or "spec" in name)


def _of_node(counts: dict[str, int], hollow: int) -> Tally:
    return Tally(
        passed=max(counts["pass"] - hollow, 0),
        failed=counts["fail"] + counts.get("cancelled", 0),
        skipped=counts.get("skipped", 0) + counts.get("todo", 0),
    )


_JEST = re.compile(r"Tests:\s+((?:\d{1,9} [a-z]+, )*\d{1,9} total)")
_VITEST = re.compile(r"Tests\s+((?:\d{1,9} [a-z]+(?: \| )?)+)\s?\(\d{1,9}\)")
_PEST = re.compile(r"Tests:\s+((?:\d{1,9} [a-z]+, )*\d{1,9} [a-z]+) \(\d{1,9} assertions?\)")


def _jest(lines: list[str]) -> list[Tally]:
    starts = (line.strip() for line in lines if line.lstrip().startswith("Tests"))
    found = (_JEST.fullmatch(line) or _VITEST.fullmatch(line) or _PEST.fullmatch(line) for line in starts)
    return [_summed(_PART.findall(match[1])) for match in found if match]


_MOCHA = re.compile(r"(\d{1,9}) (passing|failing|pending)(?: \([^)]*\))?")


def _mocha(lines: list[str]) -> list[Tally]:
    found = [match.groups() for line in lines if (match := _MOCHA.fullmatch(line.strip()))]
    shown = any(word == "passing" for _, word in found)
    return [_summed((number, word) for number, word in found)] if shown else []


_CARGO = re.compile(r"test result: (?:ok|FAILED)\. ((?:\d{1,9} [a-z ]+(?:; |$))+)(?:finished in .*)?")


def _cargo(lines: list[str]) -> list[Tally]:
    found = [match[1] for line in lines if (match := _CARGO.fullmatch(line.strip()))]
    return [_summed(part for text in found for part in _PART.findall(text))] if found else []


_GO = re.compile(r"--- (PASS|FAIL|SKIP): .*")
_GO_PACKAGE = re.compile(r"(ok|FAIL)\s+\S+\s+(?:[\d.]+s|\(cached\)|\[[a-z ]+\]).*")


def _go(lines: list[str]) -> list[Tally]:
    """Only with -v does it name its tests."""
    if not any(_GO_PACKAGE.fullmatch(line.strip()) for line in lines):
        return []
    seen = [match[1] for line in lines if (match := _GO.fullmatch(line.strip()))]
    if "PASS" not in seen:
        return []
    return [Tally(passed=seen.count("PASS"), failed=seen.count("FAIL"), skipped=seen.count("SKIP"))]


_GO_WITHOUT = re.compile(r"\?\s+\S+\s+\[no test files\]|\s+\S+\s+coverage: 0\.0% of statements")
_GO_EVENTS = {"pass": "passed", "fail": "failed", "skip": "skipped"}


def _go_packages(lines: list[str]) -> list[Tally]:
    """By its tests where it names them, or has them as JSON; else by packages, of which some have none."""
    if told := list(_go_events(lines)):
        return [_summed(("1", state) for state in told if state in _FIELDS)]
    seen = [match[1] for line in lines if (match := _GO.fullmatch(line))]
    if any(line.startswith("=== RUN ") for line in lines):
        return [Tally(passed=seen.count("PASS"), failed=seen.count("FAIL"), skipped=seen.count("SKIP"))]
    found = [line for line in lines if _GO_PACKAGE.fullmatch(line)]
    if not found and not any(map(_GO_WITHOUT.fullmatch, lines)):
        return []
    with_tests = [line for line in found if "[no tests to run]" not in line]
    failed = sum(line.startswith("FAIL") for line in with_tests)
    return [Tally(passed=len(with_tests) - failed, failed=failed)]


def _go_events(lines: list[str]) -> Iterator[str]:
    """What became of each test of `go test -json`, and `known` where it is that at all."""
    for line in lines:
        if line.startswith("{") and '"Action":' in line and '"Package":' in line:
            try:
                event = json.loads(line)
            except ValueError:
                continue
            yield "known"
            if isinstance(event.get("Test"), str) and "/" not in event["Test"]:
                yield _GO_EVENTS.get(str(event.get("Action")), "known")


_PLAN = re.compile(r"1\.\.\d{1,9}(?: #.*)?")
_POINT = re.compile(r"(not )?ok \d{1,9}\b(.*)")


def _tap(lines: list[str]) -> list[Tally]:
    """Only what is not indented: a subtest counts once, by its own line."""
    if not any(_PLAN.fullmatch(line) for line in lines):
        return []
    points = [match for line in lines if (match := _POINT.fullmatch(line))]
    skipped = [match for match in points if re.search(r"# (?:skip|todo)\b", match[2], re.IGNORECASE)]
    failed = [match for match in points if match[1] and match not in skipped]
    return [Tally(passed=len(points) - len(failed) - len(skipped), failed=len(failed), skipped=len(skipped))]


_COUNTED = re.compile(r"(\d{1,9}) ([a-z]+)(?: .*)?")
_TESTS = frozenset(("test", "tests", "doctest", "doctests", "example", "examples", "run", "runs", "spec", "specs"))


def _nouns(lines: list[str]) -> list[Tally]:
    """`3 examples, 0 failures, 1 pending`: RSpec, minitest, ExUnit, Jasmine, bats, Robot, ShellSpec."""
    tallies = []
    for line in lines:
        parts = [_COUNTED.fullmatch(part) for part in line.strip().split(", ")] if ", " in line else []
        found = [(part[1], part[2]) for part in parts if part]
        if len(found) < len(parts) or not found or found[0][1] not in _TESTS:
            continue
        if any(_FIELDS.get(word) == "failed" for _, word in found):
            total = sum(int(number) for number, word in found if word in _TESTS)
            other = _summed((number, word) for number, word in found if _FIELDS.get(word) != "passed")
            tallies.append(other.model_copy(update={"passed": max(total - other.total, 0)}))
    return tallies


_N = r"\d{1,9}"
_FORMS = tuple(
    re.compile(form.replace("{N}", _N).replace("{t}", f"(?P<t>{_N})").replace("{p}", f"(?P<p>{_N})"))
    for form in (
        # PHPUnit
        r"OK \({t} tests?, {N} assertions?\)",
        rf"Tests: {{t}}, Assertions: {{N}}(?:, Errors: (?P<f1>{_N}))?(?:, Failures: (?P<f2>{_N}))?"
        rf"(?:, (?:PHPUnit )?[A-RT-Z][a-z]+: {_N})*(?:, Skipped: (?P<s1>{_N}))?(?:, Incomplete: (?P<s2>{_N}))?"
        r"(?:, Risky: {N})?\.",
        # Maven, .NET, Swift, GoogleTest, Catch2
        rf"(?:\[[A-Z]+\] )?Tests run: {{t}}, Failures: (?P<f1>{_N}), Errors: (?P<f2>{_N}), Skipped: (?P<s1>{_N})",
        rf"(?:Passed|Failed|Skipped)!\s+- Failed:\s+(?P<f1>{_N}), Passed:\s+{{p}}, Skipped:\s+(?P<s1>{_N}), Total:.*",
        rf"Executed {{t}} tests?, with (?:(?P<s1>{_N}) tests? skipped and )?(?P<f1>{_N}) failures? .*",
        r"\[  PASSED  \] {p} tests?\.",
        r"All tests passed \({N} assertions? in {p} test cases?\)",
        # gotestsum, cargo-nextest, zig and tasty, Deno, bun, dart, testthat
        rf"DONE (?:{_N} runs, )?{{t}} tests?(?:, (?P<s1>{_N}) skipped)?(?:, (?P<f1>{_N}) failures?)?.* in .*",
        rf"Summary \[[^\]]*\]\s+{_N}(?:/{_N})? tests? run: {{p}} passed(?: \(.*?\))?(?:, (?P<f1>{_N}) failed)?.*",
        r"All {p} tests passed(?: \(.*\))?\.?",
        rf"(?:ok|FAILED) \| {{p}} passed(?: \(.*?\))? \| (?P<f1>{_N}) failed.*",
        r"{p} pass",
        rf"(?P<f1>{_N}) fail",
        rf"[\d:]+ \+{{p}}(?: ~(?P<s1>{_N}))?(?: -(?P<f1>{_N}))?: (?:All|Some) tests .*",
        rf"\[ FAIL (?P<f1>{_N}) \| WARN {_N} \| SKIP (?P<s1>{_N}) \| PASS {{p}} \]",
        # behave, busted, prove, meson, ava, Playwright, uvu, node-tap
        rf"{{p}} scenarios? passed, (?P<f1>{_N}) failed, (?P<s1>{_N}) skipped.*",
        rf"{{p}} successe?s? / (?P<f1>{_N}) failures? / (?P<f2>{_N}) errors? / (?P<s1>{_N}) pending : .*",
        r"Files={N}, Tests={t},.*",
        r"Ok:\s+{p}",
        r"{p} tests? passed",
        rf"(?P<s1>{_N}) (?:tests? )?(?:skipped|todo)",
        r"{p} passed \([\d.]+(?:ms|s|m|h)\)",
        r"Passed:\s+{p}",
        rf"Asserts:\s+(?:(?P<f1>{_N}) failed, )?{{p}} pass(?:ed)?\b.*",
        r"# \{ total: {N}, pass: {p}.*\}",
        # Automake
        r"# PASS:\s+{p}",
        rf"# FAIL:\s+(?P<f1>{_N})",
        rf"# SKIP:\s+(?P<s1>{_N})",
    )
)
"""One line a form, by what is counted: `t` all tests, `p` those that passed, `f` and `s` failed and skipped ones."""


_HINT = re.compile(r"(?i:pass|tests|executed|done |summary|scenario|success|skip|todo|fail)|Ok:")


def _forms(lines: list[str]) -> list[Tally]:
    told = [line.strip() for line in lines if _HINT.search(line)]
    found = (form.fullmatch(line) for line in told for form in _FORMS)
    return [_of_form(match) for match in found if match]


def _of_form(match: re.Match[str]) -> Tally:
    counts = {name: int(number) for name, number in match.groupdict().items() if number}
    failed, skipped = (sum(number for name, number in counts.items() if name[0] == kind) for kind in "fs")
    passed = counts["p"] if "p" in counts else max(counts.get("t", 0) - failed - skipped, 0)
    return Tally(passed=passed, failed=failed, skipped=skipped)


_CTEST = re.compile(r"\d{1,3}% tests passed, (\d{1,9}) tests? failed out of (\d{1,9})")
_KARMA = re.compile(r"Executed (\d{1,9}) of \d{1,9}\b.*")
_SCENARIOS = re.compile(r"\d{1,9} scenarios?(?: \(([^)]*)\))?")
_TASK = re.compile(r"> Task (?:\S*:)?(?:test|[a-z]\w*Test)(?: ([A-Z-]+))?")


def _others(lines: list[str]) -> list[Tally]:
    """ctest, karma (which counts while it runs), cucumber, and the test tasks of gradle, which names no tests."""
    tallies = []
    put_off = sum("***Skipped" in line for line in lines)
    for line in lines:
        if match := _CTEST.fullmatch(line):
            failed = int(match[1])
            tallies.append(Tally(passed=max(int(match[2]) - failed - put_off, 0), failed=failed, skipped=put_off))
        elif match := _SCENARIOS.fullmatch(line.strip()):
            tallies.append(_summed(_PART.findall(match[1] or "")))
    if karma := [match for line in lines if (match := _KARMA.fullmatch(line.strip()))]:
        tallies.append(Tally(passed=int(karma[-1][1])))
    tasks = [match[1] for line in lines if (match := _TASK.fullmatch(line))]
    ran = [task for task in tasks if task not in ("NO-SOURCE", "SKIPPED")]
    failed = ran.count("FAILED")
    return [*tallies, Tally(passed=len(ran) - failed, failed=failed)] if tasks else tallies


_WITHOUT = re.compile(
    r"no tests ran in .*|NO TESTS RAN.*|No tests (?:ran|defined|found!|executed!)\.?|Result: NOTESTS"
    r"|No test(?:s| files) found, exiting with code \d+|Error: No tests? (?:files )?found.*|No specs found.*"
    r"|No tests were found!!!|(?:error: )?no tests to run|(?:\[[A-Z]+\] )?(?:There are n|N)o tests to run\.?"
    r"|\S+ Couldn't find any files to test.*|error: No test modules found|No test is available in .*"
    r"|(?:Error: )?no test specified|npm (?:ERR!|error) Missing script: [\"']?(?:test|spec|check)\S*"
    r"|make: (?:\*\*\* No rule to make target|Nothing to be done for) \S+\.(?:  Stop\.)?|make: \S+ is up to date\."
)
"""What runners, and the tools that call them, say where there is nothing to run."""


def _without_tests(lines: list[str]) -> bool:
    return any(_WITHOUT.fullmatch(line.strip()) for line in lines)


_Reader = Callable[[list[str]], list[Tally]]
_BY_THEMSELVES: tuple[_Reader, ...] = (_pytest, _unittest, _node, _jest, _mocha, _cargo, _go, _tap)
"""The first that finds a run has found the last one."""

_READERS: tuple[_Reader, ...] = (
    *(_pytest, _unittest, _node, _jest, _mocha, _cargo, _go_packages, _tap),
    *(_nouns, _forms, _others),
)
