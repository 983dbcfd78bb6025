"""What one run of pytest came to, test by test, as it was recorded where it ran. It judges nothing.

Source: DESIGN 8 "Structured checks". Ids are pytest's own, from the tree's root where pytest's root is another.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from domain.base import Message

State = Literal["passed", "failed", "error", "skipped", "xfailed", "xpassed", "not_run"]
"""What became of a test. `error`: it failed before or after its own code."""

BY_SEVERITY: tuple[State, ...] = ("passed", "xpassed", "xfailed", "skipped", "not_run", "failed", "error")
RED = frozenset[State]({"failed", "error"})
PUT_OFF = frozenset[State]({"skipped", "xfailed"})


class Ran(Message):
    """One test, and how long it took in milliseconds, fixtures included."""

    state: State
    ms: int = 0


class Found(Message):
    """How pytest found tests: `root`, where its ids begin, `args`, the paths and ids that it looked into (both as the
    tree has them, `.` for all of it), whether options choose among what is there, and what names it goes by.
    """

    root: str = "."
    args: tuple[str, ...] = ()
    chooses: bool = False
    python_files: tuple[str, ...] = ("test_*.py", "*_test.py")
    python_classes: tuple[str, ...] = ("Test",)
    python_functions: tuple[str, ...] = ("test",)


class Run(Message):
    """All processes of pytest that one command started, to their ends.

    `tests` in the order in which they were found. `uncollected` and `left_out`: files (or folders, classes) whose tests
    are not known because of an error, or a skip, with pytest's reason. `altered`: files that were not what the frozen
    tree has when their tests were read. `found` has one entry a process.
    """

    tests: dict[str, Ran] = {}
    reasons: dict[str, str] = {}
    uncollected: dict[str, str] = {}
    left_out: dict[str, str] = {}
    deselected: tuple[str, ...] = ()
    altered: tuple[str, ...] = ()
    found: tuple[Found, ...] = ()

    def functions(self) -> dict[str, tuple[str, ...]]:
        """The ids of each function, in the order in which they were found."""
        grouped: dict[str, list[str]] = {}
        for name in self.tests:
            grouped.setdefault(function_of(name), []).append(name)
        return {function: tuple(names) for function, names in grouped.items()}

    @property
    def ms(self) -> int:
        """Milliseconds of all tests together."""
        return sum(test.ms for test in self.tests.values())


def file_of(name: str) -> str:
    """The file of a test's id."""
    return name.partition("::")[0]


def function_of(name: str) -> str:
    """A test's id without its parameters."""
    file, separator, rest = name.partition("::")
    return file + separator + rest.partition("[")[0].partition("@")[0]


def stands_for(name: str, test: str) -> bool:
    """Whether the id `name`, of a test, function, class or file, has the test `test` in it."""
    return test == name or test.startswith((f"{name}[", f"{name}::", f"{name}@"))


def rooted(run: Run, names: Iterable[str]) -> dict[str, str]:
    """The ids `names` as a person has them from pytest's output, by how `run` has them."""
    roots = {found.root for found in run.found} - {".", "outside"}
    known: dict[str, str] = {}
    for name in names:
        moved = [f"{root}/{name}" for root in sorted(roots)]
        known[next((m for m in moved if any(stands_for(m, test) for test in run.tests)), name)] = name
    return known


def merged(runs: Iterable[Run]) -> Run:
    """Several processes as one run; what became of a test twice is the worse of the two."""
    tests: dict[str, Ran] = {}
    whole = list(runs)
    for run in whole:
        for name, ran in run.tests.items():
            known = tests.get(name)
            if known is None or BY_SEVERITY.index(ran.state) > BY_SEVERITY.index(known.state):
                tests[name] = ran
    return Run(
        tests=tests,
        reasons={name: text for run in whole for name, text in run.reasons.items()},
        uncollected={name: text for run in whole for name, text in run.uncollected.items()},
        left_out={name: text for run in whole for name, text in run.left_out.items()},
        deselected=tuple(name for run in whole for name in run.deselected),
        altered=tuple(dict.fromkeys(name for run in whole for name in run.altered)),
        found=tuple(found for run in whole for found in run.found),
    )
