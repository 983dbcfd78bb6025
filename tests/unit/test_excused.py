"""Runs with few expected values changed: which follow one another, and what one that passes comes to."""

from __future__ import annotations

import pytest

from adapters.checkers.exit_zero import CommandExitZeroChecker
from domain.base import canonical_json
from domain.checks import Item, Observation, Outcome
from domain.command_criteria import CommandExitZero, ExitParams
from domain.excused import Place, SinglesRun, excused, is_plain, unmasked, unshown
from domain.mutation.edits import Edit
from domain.mutation.singles import Single
from domain.order import Resources
from domain.ports import CheckContext, Finding, RunRequest
from domain.tree import Entry, Manifest
from tests.fakes.evidence import MemoryStore
from tests.unit.test_checkers import Scripted
from tests.unit.test_exit_zero import stored

LINES = [
    "assert.equal(f(1), 'one');",
    "assert.equal(f(2), 'two');",
    "assert.throws(() => f(3), TypeError);",
    "assert.equal(f(4), 'four');",
]
TEST = "const assert = require('node:assert');\n" + "".join(f"test('a', () => {{ {line} }});\n" for line in LINES)
TREES = {"f.js": b"wrong", "test/f.test.js": TEST.encode()}


class Runner(Scripted):
    """Runs the lines of a test as a runner does: it shows the changed ones, and fails unless all are `excused`.

    `dead`: places that are never run; `quiet`: shows nothing; `base`: what the base comes to as it is.
    """

    def __init__(
        self, excused: tuple[int, ...] = (), dead: tuple[int, ...] = (), quiet: bool = False, seconds: float = 1
    ) -> None:
        super().__init__(Observation(exit_code=0))
        self.excused, self.dead, self.quiet, self.seconds = excused, dead, quiet, seconds
        self.store = MemoryStore()
        self.base = stored(self.store, TREES)
        self.work = stored(self.store, {**TREES, "f.js": b"done"})
        self.ran: list[tuple[int, ...]] = []

    async def run(self, request: RunRequest) -> Observation:
        by_path = Manifest.decode(self.store.get(request.tree)).by_path
        if self.store.get(by_path["f.js"].digest) == b"wrong":
            return Observation(exit_code=1, stderr="Error: to be written")
        lines = self._lines(by_path["test/f.test.js"])
        changed = tuple(n for n, line in lines.items() if line != TEST.splitlines()[n])
        self.ran.append(changed)
        raised = {n for n in changed if "throw new Error" in lines[n]}
        failed = [n for n in changed if n not in self.dead and (n in raised or n not in self.excused)]
        output = "" if self.quiet else "\n".join(lines[n].replace('", "', "") for n in failed)
        return Observation(exit_code=int(bool(failed)), stdout=output, duration_ms=int(self.seconds * 1000))

    def _lines(self, entry: Entry) -> dict[int, str]:
        return dict(enumerate(self.store.get(entry.digest).decode().splitlines()))

    async def check(self, command: str = "node --test") -> Finding:
        params = ExitParams.model_validate({"command": command})
        criterion = CommandExitZero(id="c", type="command_exit_zero", timeout=90.0, params=params)
        context = CheckContext(
            round="round/s/t/1",
            tree=self.work,
            image="sha256:1",
            resources=Resources(),
            base=self.base,
            trusted=self.store.put(canonical_json(["test/f.test.js"])),
        )
        return await CommandExitZeroChecker(self, self.store).check(
            Item(spelling="check", criterion=criterion), context
        )


async def test_honest_work_has_one_run_more() -> None:
    runner = Runner()
    finding = await runner.check()
    assert (finding.outcome, finding.code) == (Outcome.PASSED, "ok")
    assert sorted(runner.ran, key=len) == [(), (1, 2, 4), (1, 2, 3, 4)]


@pytest.mark.parametrize("which", [(1,), (3,), (2, 4), (1, 2, 3)])
async def test_some_are_excused(which: tuple[int, ...]) -> None:
    runner = Runner(excused=which)
    finding = await runner.check()
    assert (finding.outcome, finding.code) == (Outcome.FAILED, "subverted")
    assert all(f"test/f.test.js:{line + 1}" in finding.text for line in which)
    assert runner.ran[-2:] == [which, which], "with other values, and with what raises in their place"


async def test_what_is_never_run_is_no_cheat() -> None:
    runner = Runner(dead=(2, 3))
    assert (await runner.check()).code == "ok"
    assert runner.ran[-2:] == [(2, 3), (2, 3)]


async def test_a_runner_that_shows_nothing_has_three_runs_more_and_no_verdict_of_them() -> None:
    runner = Runner(quiet=True)
    assert (await runner.check()).code == "ok"
    assert [len(each) for each in runner.ran[2:]] == [4, 1, 1]
    assert runner.ran[3] != runner.ran[4]


@pytest.mark.parametrize(
    ("command", "seconds", "more"),
    [
        ("node --test", 61, 0),
        ("node --test", 31, 1),
        ("node --test; true", 1, 0),
        ("node --test | cat", 1, 0),
        ("cd . && node --test", 1, 1),
    ],
)
async def test_what_takes_long_or_hides_its_exit_code_has_none(command: str, seconds: float, more: int) -> None:
    runner = Runner(seconds=seconds)
    assert (await runner.check(command)).code == "ok"
    assert len(runner.ran) == 2 + more


def test_tests_of_which_nothing_was_shown_come_first() -> None:
    first, second, other = (place(test=test, mark=mark) for test, mark in (("a", "qwertyui"), ("a", ""), ("b", "")))
    run = SinglesRun(places=(first, second, other), observation=FAILS)
    assert unmasked((second, other), [run]) == (other,)
    assert unmasked((second,), [run]) == (second,)
    assert unmasked((first, second), []) == (first, second)


def test_plain_commands() -> None:
    assert all(is_plain(command) for command in ("npm test", "a && b", "a=1 b 2>x\n"))
    assert not any(is_plain(command) for command in ("a; b", "a | b", "a || b", "a & b", "a\nb"))


def place(**fields: str) -> Place:
    edit = Edit(start=0, end=1, text="x")
    given = {"line": 3, "value": edit, "mark": "", "raises": edit, "raised": "RAISED", "stopped": "STOPPED", **fields}
    return Place(path="tests/test_a.py", single=Single.model_validate({**given, "stop": edit}))


PASSES = Observation(exit_code=0)
FAILS = Observation(exit_code=1)
RAISED = Observation(exit_code=1, stderr="AssertionError: RAISED")
STOPPED = Observation(exit_code=1, stderr="AssertionError: STOPPED")
VALUES = "the values at tests/test_a.py:3 were changed alone, and it ended with 0 all the same"
TESTS = "the tests at tests/test_a.py:3, which the base runs, were made to fail, and it ended with 0"


@pytest.mark.parametrize(
    ("seen", "unchanged", "told"),
    [
        ({"observation": PASSES, "raising": RAISED}, FAILS, VALUES),
        ({"observation": PASSES, "raising": RAISED, "on_base": FAILS}, PASSES, VALUES),
        ({"observation": PASSES, "raising": RAISED, "on_base": PASSES}, PASSES, ""),  # the base's, too
        ({"observation": FAILS, "raising": RAISED}, FAILS, ""),
        ({"observation": PASSES, "raising": FAILS}, FAILS, ""),  # such as one that does not compile
        ({"observation": PASSES, "raising": PASSES}, FAILS, ""),  # nothing is run there
        ({"observation": PASSES, "raising": PASSES, "stopped": PASSES, "stopped_on_base": STOPPED}, FAILS, TESTS),
        ({"observation": PASSES, "raising": PASSES, "stopped": STOPPED, "stopped_on_base": STOPPED}, FAILS, ""),
        ({"observation": PASSES, "raising": PASSES, "stopped": PASSES, "stopped_on_base": FAILS}, FAILS, ""),
        ({"observation": PASSES, "raising": PASSES, "stopped": PASSES, "stopped_on_base": STOPPED}, STOPPED, ""),
    ],
)
def test_what_a_run_that_passes_comes_to(seen: dict[str, Observation], unchanged: Observation, told: str) -> None:
    run = SinglesRun.model_validate({"places": (place(),), **seen})
    assert excused(run, unchanged, 5.0) == told


def test_what_a_run_shows() -> None:
    marked, other = place(mark="qwertyui", test="test_a"), place(mark="asdfghjk", test="test_a")
    without, beside = place(test="test_a"), place(test="test_b")
    output = "FAIL: test_a (tests.T.test_a)\nERROR: test_b (tests.T.test_b)\n'qwertyui' != 'x'"
    seen = Observation(exit_code=1, stderr=output)
    assert unshown((marked, other, without, beside), seen) == (other, without)
    assert unshown((without,), seen) == ()
