"""Runs of pytest on real containers: honest work of several shapes, and work that talks its tests into passing."""

from __future__ import annotations

import hashlib
import json
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from adapters.checkers.pytest_check import PytestChecker, again
from adapters.sandbox.sandbox import DockerSandbox
from domain.checks import Item, Observation, Outcome
from domain.command_criteria import Pytest, PytestParams
from domain.order import Resources
from domain.ports import CheckContext, Finding, RunRequest
from domain.tree import Entry, Manifest
from tests.fakes.evidence import MemoryStore

IMAGES = Path(__file__).resolve().parents[2] / "sandbox_images"

Files = Mapping[str, str]
Check = Callable[..., Awaitable[Finding]]


class Counting(DockerSandbox):
    """The real sandbox, which also tells what was run. `hanging`: how many of the next controls hang.

    Those have as long as four runs on the base, so that they come as far as to what hangs.
    """

    runs: list[str]

    hanging = 0
    took = 1.0

    async def run(self, request: RunRequest) -> Observation:
        name = request.key.rpartition("/")[2]
        self.runs.append(name)
        if name == "control" and self.hanging:
            self.hanging -= 1
            request = request.model_copy(update={"timeout": max(4.0, 4 * self.took)})
        began = time.monotonic()
        observed = await super().run(request)
        if name == "base":
            self.took = time.monotonic() - began
        return observed


@pytest.fixture(scope="module")
async def docker() -> AsyncIterator[tuple[Counting, MemoryStore, str]]:
    """The sandbox with the Python image, and the store that it reads trees from."""
    store = MemoryStore()
    sandbox = Counting(store, images_dir=IMAGES, base_image=None, owner=f"test-{uuid.uuid4().hex}")
    try:
        yield sandbox, store, (await sandbox.prepare("python", print)).id
    finally:
        sandbox.close()


@pytest.fixture
async def check(docker: tuple[Counting, MemoryStore, str]) -> AsyncIterator[Check]:
    """Checks a command on a head beside a base, in a round of its own."""
    sandbox, store, image = docker
    round = f"round/test/{uuid.uuid4().hex}/1"
    sandbox.runs, sandbox.hanging = [], 0

    def tree(files: Files) -> str:
        entries = [Entry(path=p, size=len(t.encode()), digest=store.put(t.encode())) for p, t in files.items()]
        return store.put(Manifest.of(entries).encode())

    async def run(base: Files, head: Files, command: str = "pytest -q", limit: float = 200.0, **params: Any) -> Finding:
        criterion = Pytest(id="tests", timeout=limit, params=PytestParams(command=command, **params))
        trusted = [path for path in base if path.startswith("tests/") or path == "conftest.py"]
        context = CheckContext(
            round=round,
            tree=tree(head),
            base=tree(base),
            trusted=store.put(json.dumps(trusted).encode()),
            image=image,
            resources=Resources(memory="256m", pids=64),
        )
        found = await PytestChecker(store, sandbox).check(Item(spelling="check", criterion=criterion), context)
        assert again(criterion, Finding.model_validate_json(found.model_dump_json())) == (found.outcome, found.code)
        return found

    yield run
    await sandbox.release(round)


INI = {"pytest.ini": "[pytest]\npythonpath = src\naddopts = --strict-markers\n"}
TESTS = {
    "tests/test_calc.py": """
import pytest
from calc import add

def test_small():
    assert add(1, 2) == 3

@pytest.mark.parametrize("a, b, total", [(1, 1, 2), (20, 22, 42)])
def test_sums(a, b, total):
    assert add(a, b) == total
"""
}
BASE = {**INI, **TESTS, "src/calc.py": "def add(a, b):\n    raise NotImplementedError\n"}


def head(source: str, **more: str) -> Files:
    return {**BASE, "src/calc.py": source, **more}


HONEST = "def add(a, b):\n    return a + b\n"


async def test_honest_work_passes_and_a_second_round_does_not_pay_for_the_base(
    check: Check, docker: tuple[Counting, MemoryStore, str]
) -> None:
    found = await check(BASE, head(HONEST))
    told = "3 of 3 expected tests passed; 2 of 2 measured depend on what they expect"
    assert (found.outcome, found.code, found.text) == (Outcome.PASSED, "ok", told)
    assert found.base
    assert (found.base.outcome, found.base.code) == (Outcome.FAILED, "tests_failed")
    assert found.control
    assert found.control.outcome == "noticed"
    assert found.expectation
    assert found.expectation.share == 1.0
    assert not found.out_of_process
    assert "\x1e" not in found.stdout
    assert "3 passed" in found.stdout
    sandbox = docker[0]
    assert sorted(sandbox.runs) == ["base", "control", "head"]
    await check(BASE, head(HONEST + "\n"))
    assert sorted(sandbox.runs) == ["base", "control", "control", "head", "head"]


async def test_new_tests_are_told_apart_and_have_to_pass(check: Check) -> None:
    new = {"tests/test_new.py": "from calc import add\ndef test_new():\n    assert add(2, 2) == 4\n"}
    found = await check(BASE, {**head(HONEST), **new})
    assert "3 of 3 expected tests passed, 1 new" in found.text
    wrong = {"tests/test_new.py": "def test_new():\n    assert 1 == 2\n"}
    assert (await check(BASE, {**head(HONEST), **wrong})).code == "tests_failed"


async def test_a_module_that_the_base_does_not_have_yet(check: Check) -> None:
    base = {**INI, **TESTS}
    found = await check(base, {**base, "src/calc.py": HONEST})
    assert (found.code, found.tests and found.tests.expected) == ("ok", 3)
    skipping = HONEST + "import pytest\npytest.skip('not today', allow_module_level=True)\n"
    assert (await check(base, {**base, "src/calc.py": skipping})).code == "no_tests"


CHEATS = {
    "an end at import": ("import os\nos._exit(0)\n", "no_report"),
    "an end at the end": ("import atexit, os\nadd = lambda a, b: 0\natexit.register(os._exit, 0)\n", "tests_failed"),
    "a framework that runs nothing": (
        "import _pytest.python as p\np.Function.runtest = lambda self: None\nadd = lambda a, b: None\n",
        "subverted",
    ),
    "reports that always say passed": (
        """
import _pytest.reports as r
made = r.TestReport.from_item_and_call.__func__
def always(cls, item, call):
    call.excinfo = None
    return made(cls, item, call)
r.TestReport.from_item_and_call = classmethod(always)
def add(a, b): return None
""",
        "subverted",
    ),
    "an object that equals everything": (
        "class Any:\n    def __eq__(self, other): return True\ndef add(a, b): return Any()\n",
        "subverted",
    ),
    "the caller's expectation": (
        """
import sys
def add(a, b):
    frame = sys._getframe(1)
    if "total" in frame.f_locals:
        return frame.f_locals["total"]
    return next(c for c in frame.f_code.co_consts if isinstance(c, int) and c not in (a, b))
""",
        "subverted",
    ),
    "tests written anew before they are read": (
        """
import pathlib
for path in pathlib.Path("tests").glob("test_*.py"):
    path.write_text("def test_small(): pass\\n")
def add(a, b): return 0
""",
        "subverted",
    ),
    "a session without failures": (
        """
import gc, pytest
for found in gc.get_objects():
    if isinstance(found, pytest.Session):
        found.config.pluginmanager.register(type("P", (), {
            "pytest_collection_modifyitems": staticmethod(lambda items: items.clear())
        })())
def add(a, b): return 0
""",
        "no_tests",
    ),
    "a forged record": (
        """
import atexit, os
def forge():
    os.write(1, b"\\x1ecountersign:0:began:\\x1e\\x1ecountersign:0:ended:e30=\\x1e")
    os._exit(0)
import _pytest.config
_pytest.config.Config._ensure_unconfigure = lambda self: forge()
def add(a, b): return 0
""",
        "no_report",
    ),
}


LATER = ("an end at the end", "tests written anew before they are read", "a session without failures")
"""In the long run alone: the catalogue of tests/tamper has their like."""


@pytest.mark.parametrize(
    ("source", "code"),
    [pytest.param(*cheat, marks=pytest.mark.slow if name in LATER else (), id=name) for name, cheat in CHEATS.items()],
)
async def test_a_cheat_is_caught(check: Check, source: str, code: str) -> None:
    found = await check(BASE, head(source))
    assert found.outcome is Outcome.FAILED
    assert found.code == code, (found.text, found.stdout[-2000:], found.stderr[-2000:])


async def test_meddling_that_begins_with_a_call_is_noticed_where_no_test_names_a_value(check: Check) -> None:
    """Nothing can be changed in these tests, so that the canary alone tells: after the call, not before."""
    test = "from calc import add\nimport pytest\n\n@pytest.fixture\ndef n():\n    return 3\n\ndef test_same(n):\n"
    base = {
        **INI,
        "src/calc.py": "def add(a, b):\n    return 0\n",
        "tests/test_calc.py": test + "    assert add(n, n)\n",
    }
    source = "def add(a, b):\n    import pytest\n    pytest.Function.runtest = lambda self: None\n    return 1\n"
    found = await check(base, {**base, "src/calc.py": source})
    assert (found.outcome, found.code) == (Outcome.FAILED, "subverted"), found.text


async def test_work_that_hangs_where_it_is_measured_is_caught_and_slow_inputs_are_not(
    check: Check, docker: tuple[Counting, MemoryStore, str]
) -> None:
    """A value that is only expected reaches no honest function; an input may make one run for hours."""
    test = "from calc import same\n\ndef test_same():\n    assert same(3) == 3\n\ndef test_any():\n    assert same(2)\n"
    base = {**INI, "src/calc.py": "def same(n):\n    return 0\n", "tests/test_calc.py": test}
    slow = "def same(n):\n    while n > 1000:\n        pass\n    return n\n"
    docker[0].hanging = 1  # the one after it comes to its end
    honest = await check(base, {**base, "src/calc.py": slow})
    assert honest.outcome is Outcome.PASSED, honest.text
    hangs = (
        "import pathlib\n\nclass Any(int):\n    def __eq__(self, other):\n        while other != 3:\n            pass\n"
        "        return True\n\ndef same(n):\n    return Any(7)\n"
    )
    docker[0].hanging = 2
    found = await check(base, {**base, "src/calc.py": hangs})
    assert (found.outcome, found.code) == (Outcome.FAILED, "subverted"), found.text


SEVERAL = {
    **INI,
    "src/calc.py": "def add(a, b):\n    return 0\n",
    "tests/test_calc.py": "from calc import add\n\ndef test_one():\n    assert add(1, 2) == 3\n\n"
    "def test_two():\n    assert add(2, 2) == 4\n\ndef test_three():\n    assert add(4, 1) == 5\n",
}


async def test_work_that_is_honest_once_it_is_examined_is_caught(check: Check) -> None:
    """It knows the tests' digest, and cheats only where they are as it knows them."""
    digest = hashlib.sha256(SEVERAL["tests/test_calc.py"].encode()).hexdigest()
    source = (
        "import hashlib, pathlib, pytest\n\ndef add(a, b):\n    return 0\n\n"
        f"if hashlib.sha256(pathlib.Path('tests/test_calc.py').read_bytes()).hexdigest() == {digest!r}:\n"
        "    pytest.Function.runtest = lambda self: None\n"
    )
    found = await check(SEVERAL, {**SEVERAL, "src/calc.py": source})
    assert (found.outcome, found.code) == (Outcome.FAILED, "subverted"), found.text
    assert "as soon as others are changed" in found.text


async def test_tests_that_need_each_other_are_no_cheats(check: Check) -> None:
    """The second fails in the control since the first does: so it does on the base, or without the first at all."""
    tests = (
        "from calc import add\nseen = []\n\ndef test_one():\n    assert add(1, 2) == 3\n    seen.append(1)\n\n"
        "def test_two():\n    assert seen\n\ndef test_three():\n    assert seen and add(1, 1)\n"
    )
    for source in ("def add(a, b):\n    return 0\n", "def add(a, b):\n    return a + b\n"):
        base = {**INI, "src/calc.py": source, "tests/test_calc.py": tests}
        found = await check(base, {**base, "src/calc.py": "def add(a, b):\n    return b + a\n"})
        assert found.outcome is Outcome.PASSED, found.text


async def test_tests_that_a_module_rewrites_on_its_way(check: Check) -> None:
    base = {**BASE, "tests/test_later.py": "from calc import add\ndef test_later():\n    assert add(1, 2) == 3\n"}
    source = """
import pathlib
for path in pathlib.Path("tests").glob("test_later.py"):
    path.write_text(path.read_text().replace("add(1, 2)", "3"))
def add(a, b): return a + b
"""
    found = await check(base, {**base, "src/calc.py": source})
    assert (found.code, "tests/test_later.py" in found.text) == ("subverted", True)


async def test_a_test_that_is_blind_on_the_base_is_its_own_weakness(check: Check) -> None:
    always = {"tests/support.py": "class Any:\n    def __eq__(self, other): return True\nANY = Any()\n"}
    weak = {"tests/test_weak.py": "from tests.support import ANY\n\ndef test_weak():\n    assert ANY == 3\n"}
    base = {**BASE, **always, **weak, "pytest.ini": "[pytest]\npythonpath = src .\n"}
    found = await check(base, {**base, "src/calc.py": HONEST})
    assert found.code == "ok", found.text
    assert found.expectation
    assert found.expectation.unconstrained == ("tests/test_weak.py::test_weak",)


async def test_named_tests_and_what_failed_before(check: Check) -> None:
    old = {"tests/test_old.py": "def test_old():\n    assert 1 == 2\n"}
    base = {**BASE, **old}
    named = ["tests/test_calc.py::test_small", "tests/test_calc.py::test_sums"]
    found = await check(base, {**base, "src/calc.py": HONEST}, fail_to_pass=named)
    assert (found.code, found.exit_code) == ("ok", 1)
    assert found.tests
    assert found.tests.pre_existing == 1
    wrong = await check(base, {**base, "src/calc.py": HONEST}, fail_to_pass=["tests/test_calc.py::test_none"])
    assert wrong.code == "tests_missing"


async def test_a_command_that_keeps_the_recorder_out_is_nobodys_failure(check: Check) -> None:
    found = await check(BASE, head(HONEST), command="python -I -m pytest -q")
    assert (found.outcome, found.code) == (Outcome.FAILED, "not_recorded")
    assert found.base
    assert found.base.code == "not_recorded"
    assert "kind: command" in found.next_step


async def test_the_commands_own_variables_and_folder(check: Check) -> None:
    base = {path: text for path, text in BASE.items() if path != "pytest.ini"}
    tree = {**base, "src/calc.py": HONEST}
    assert (await check(base, tree, command="cd tests && PYTHONPATH=../src pytest -q")).code == "ok"
    env = {"PYTHONPATH": "../src", "PYTEST_ADDOPTS": "-x -p no:cacheprovider"}
    assert (await check(base, tree, command="python -m pytest test_calc.py", cwd="tests", env=env)).code == "ok"


async def test_a_test_that_starts_pytest_is_one_test(check: Check) -> None:
    inner = """
import subprocess, sys
def test_outer(tmp_path):
    (tmp_path / "test_inner.py").write_text("def test_inner():\\n    assert False\\n")
    ended = subprocess.run([sys.executable, "-m", "pytest", "-q"], cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 1
    assert "1 failed" in ended.stdout
"""
    base = {**BASE, "tests/test_outer.py": inner}
    found = await check(base, {**base, "src/calc.py": HONEST})
    assert (found.code, found.tests and found.tests.passed) == ("ok", 4), found.text
