"""Structured pytest with the plugins that a base's own set-up installs: asyncio, xdist, coverage, settings."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from adapters.checkers.pytest_check import PytestChecker
from adapters.sandbox.sandbox import DockerSandbox
from domain.checks import Item
from domain.command_criteria import Pytest, PytestParams
from domain.messages import SetupInput
from domain.order import Resources
from domain.ports import CheckContext, Finding
from domain.tree import Entry, Manifest
from tests.fakes.evidence import MemoryStore

IMAGES = Path(__file__).resolve().parents[2] / "sandbox_images"
PLUGINS = "pip install pytest-asyncio==1.5.0 pytest-xdist==3.8.0 pytest-cov==7.1.0"

PROJECT = """
[tool.pytest.ini_options]
pythonpath = ["src"]
asyncio_mode = "auto"
addopts = "--strict-markers --strict-config"
markers = ["slow: takes a while"]
"""
CONFTEST = """
import importlib, os, pytest

settings = importlib.import_module(os.environ["SETTINGS_MODULE"])

@pytest.fixture(autouse=True)
def configured(request):
    assert settings.READY
    assert request.module.__name__ == "test_calc", "a fixture that a stranger's test would fail"
    yield

@pytest.fixture
async def total():
    return settings.TOTAL
"""
TESTS = """
import asyncio, pytest
from calc import add

async def test_awaited(total):
    await asyncio.sleep(0)
    assert add(1, 2) == 3
    assert total == 42

@pytest.mark.slow
@pytest.mark.parametrize("n", range(4))
def test_many(n):
    assert add(n, n) == 2 * n

@pytest.mark.parametrize("a, b, expected", [(1, 1, 2), (2, 2, 4)])
def test_sums(a, b, expected):
    assert add(a, b) == expected
"""
BASE = {
    "pyproject.toml": PROJECT,
    "tests/conftest.py": CONFTEST,
    "tests/test_calc.py": TESTS,
    "src/project_settings.py": "READY = True\nTOTAL = 42\n",
    "src/calc.py": "def add(a, b):\n    raise NotImplementedError\n",
}
HONEST = "def add(a, b):\n    return a + b\n"


class Workbench:
    """The sandbox with the plugins installed, and what it reads trees from."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        owner = f"test-{uuid.uuid4().hex}"
        self.sandbox = DockerSandbox(self.store, images_dir=IMAGES, base_image=None, owner=owner)
        self.round = f"round/test/{uuid.uuid4().hex}/1"
        self.image = ""

    def tree(self, files: dict[str, str]) -> str:
        entries = [Entry(path=p, size=len(t.encode()), digest=self.store.put(t.encode())) for p, t in files.items()]
        return self.store.put(Manifest.of(entries).encode())

    async def check(self, source: str, command: str, **params: Any) -> Finding:
        tests = PytestParams(command=command, env={"SETTINGS_MODULE": "project_settings"}, **params)
        criterion = Pytest(id="tests", timeout=200, params=tests)
        trusted = ["tests/conftest.py", "tests/test_calc.py"]
        context = CheckContext(
            round=self.round,
            tree=self.tree({**BASE, "src/calc.py": source}),
            base=self.tree(BASE),
            trusted=self.store.put(json.dumps(trusted).encode()),
            image=self.image,
            resources=Resources(memory="512m", pids=64),
        )
        return await PytestChecker(self.store, self.sandbox).check(Item(spelling="check", criterion=criterion), context)


@pytest.fixture(scope="module")
async def workbench() -> AsyncIterator[Workbench]:
    bench = Workbench()
    try:
        image = await bench.sandbox.prepare("python", print)
        asked = SetupInput(image=image, base=bench.tree(BASE), setup=(PLUGINS,))
        bench.image = (await bench.sandbox.setup(asked, print)).id
        yield bench
        await bench.sandbox.release(bench.round)
    finally:
        bench.sandbox.close()


COMMANDS = {
    "in one process": "pytest -q",
    "spread over processes": "pytest -q -n 2",
    "by file": "python -m pytest -q -n 2 --dist loadfile -p no:cacheprovider",
    "with coverage": "pytest -q --cov=src --cov-fail-under=90",
    "spread, with coverage": "pytest -q -n 2 --cov=src --cov-fail-under=90",
}


IN_SHORT = ("in one process", "spread over processes", "spread, with coverage")


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(command, marks=() if name in IN_SHORT else pytest.mark.slow, id=name)
        for name, command in COMMANDS.items()
    ],
)
async def test_the_bases_configuration_and_plugins_work(workbench: Workbench, command: str) -> None:
    found = await workbench.check(HONEST, command)
    assert found.code == "ok", (found.text, found.stdout[-3000:], found.stderr[-3000:])
    assert found.text == "7 of 7 expected tests passed; 3 of 3 measured depend on what they expect"


async def test_an_exit_code_that_a_plugin_makes_counts(workbench: Workbench) -> None:
    unused = HONEST + "\n".join(f"def unused_{n}():\n    x = {n}\n    return x" for n in range(9))
    found = await workbench.check(unused, "pytest -q --cov=src --cov-fail-under=90")
    assert (found.code, found.exit_code) == ("exit_code", 1)
    assert "7 of 7 expected tests passed" in found.text


@pytest.mark.slow
async def test_a_cheat_is_caught_in_several_processes(workbench: Workbench) -> None:
    cheat = "import _pytest.python as p\np.Function.runtest = lambda self: None\ndef add(a, b): return None\n"
    assert (await workbench.check(cheat, "pytest -q -n 2")).code == "subverted"
    equal = "class Any(int):\n    def __eq__(self, o): return True\ndef add(a, b): return Any()\n"
    assert (await workbench.check(equal, "pytest -q -n 2")).code == "subverted"
