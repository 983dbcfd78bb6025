"""A structured check, with its controls and its run on the base known, against a bare run of the same command."""

from __future__ import annotations

import asyncio
import json
import statistics
import uuid
from collections.abc import Coroutine, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adapters.checkers.commands import request
from adapters.checkers.pytest_check import PytestChecker
from adapters.evidence.folder import FolderStore
from adapters.sandbox.sandbox import DockerSandbox
from bench.numbers import interleaved, seconds, summary
from bench.project import CannotMeasure
from domain.checks import Item, Outcome
from domain.command_criteria import Pytest, PytestParams
from domain.order import Resources
from domain.ports import CheckContext, EvidenceStore
from domain.tree import Entry, Manifest

IMAGES = Path(__file__).resolve().parent.parent / "sandbox_images"
LIMIT_SECONDS = 120.0


@dataclass(frozen=True)
class Suite:
    """How many tests, and the CPU seconds that each takes."""

    name: str
    tests: int
    cpu_seconds: float

    def files(self, correct: bool) -> dict[str, str]:
        """The tree by path: some files of tests, and the work, of which the base has one function wrong."""
        tests = [
            f"def test_{number}():\n    assert work({number}, {self.cpu_seconds}) == {number * number}\n"
            for number in range(self.tests)
        ]
        files = {
            f"tests/test_{first:03}.py": "from work import work\n\n" + "\n".join(tests[first : first + 10])
            for first in range(0, self.tests, 10)
        }
        square = "number * number" if correct else "number * number if number else 1"
        return {**files, "pytest.ini": "[pytest]\npythonpath = src\n", "src/work.py": WORK.format(square=square)}


WORK = """
import time

def work(number, cpu_seconds):
    end = time.process_time() + cpu_seconds
    while time.process_time() < end:
        sum(range(1000))
    return {square}
"""
SUITES = (Suite("0.5 s", 20, 0.005), Suite("10 s", 100, 0.095))


def measure(folder: Path, runs: int, quick: bool) -> dict[str, Any]:
    """For each suite the seconds of (a) the bare run and (b) the check, and the median of b/a run by run."""
    store = FolderStore(folder / "store")
    with closing(
        DockerSandbox(store, images_dir=IMAGES, base_image=None, owner=f"bench-{uuid.uuid4().hex}")
    ) as sandbox:
        return {"suites": [_of(suite, store, sandbox, runs) for suite in (SUITES[:1] if quick else SUITES)]}


def _of(suite: Suite, store: EvidenceStore, sandbox: DockerSandbox, runs: int) -> dict[str, Any]:
    with asyncio.Runner() as runner:
        image = runner.run(sandbox.prepare("python", lambda _: None)).id
        head, base = (_tree(store, suite.files(correct)) for correct in (True, False))
        trusted = store.put(json.dumps([path for path in suite.files(True) if path.startswith("tests/")]).encode())
        context = CheckContext(
            round=f"round/bench/{uuid.uuid4().hex}/1",
            tree=head,
            base=base,
            trusted=trusted,
            image=image,
            resources=Resources(),
        )
        criterion = Pytest(id="tests", timeout=LIMIT_SECONDS, params=PytestParams(command="python -m pytest -q tests"))
        item = Item(spelling="check", criterion=criterion)

        def took(work: Coroutine[Any, Any, None]) -> float:
            return seconds(lambda: runner.run(work))

        try:
            times = interleaved(
                runs,
                {
                    "a": lambda: took(_bare(sandbox, item, context)),
                    "b": lambda: took(_check(PytestChecker(store, sandbox), item, context)),
                },
            )
        finally:
            runner.run(sandbox.release(context.round))
    ratios = [check / bare for bare, check in zip(times["a"], times["b"], strict=True)]
    named = {name: summary(values) for name, values in times.items()}
    return {"suite": suite.name, "tests": suite.tests, "b/a": round(statistics.median(ratios), 2), **named}


def _tree(store: EvidenceStore, files: Mapping[str, str]) -> str:
    entries = [Entry(path=p, size=len(t.encode()), digest=store.put(t.encode())) for p, t in files.items()]
    return store.put(Manifest.of(entries).encode())


async def _bare(sandbox: DockerSandbox, item: Item, context: CheckContext) -> None:
    """The command alone. Raises `CannotMeasure`."""
    assert isinstance(item.criterion, Pytest)
    observed = await sandbox.run(request(item, context, item.criterion.params, name="bare"))
    if observed.exit_code != 0:
        raise CannotMeasure(f"the bare run ended with {observed.exit_code}: {observed.stdout[-300:]}")


async def _check(checker: PytestChecker, item: Item, context: CheckContext) -> None:
    """The check with all that it does. Raises `CannotMeasure` where it did less."""
    found = await checker.check(item, context)
    controlled = (
        found.control and found.control.outcome == "noticed" and found.expectation and found.expectation.measured
    )
    if found.outcome is not Outcome.PASSED or not controlled:
        raise CannotMeasure(f"the check came to {found.outcome}, {found.code}: {found.text}")
