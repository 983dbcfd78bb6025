"""`scripts/house` finds a planted violation of each of its rules, and nothing in a tree that keeps them."""

from __future__ import annotations

import runpy
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
HOUSE: dict[str, Any] = runpy.run_path(str(ROOT / "scripts" / "house"))
RULES = [rule for table in ("FILE_RULES", "MODULE_RULES", "TREE_RULES") for rule in HOUSE[table]]

HASH = f" \\\n    --hash=sha256:{'0' * 64}\n"
PROJECT = """[build-system]
requires = ["builder==1.0"]
[project]
dependencies = ["library[extra]==2.0"]
[project.optional-dependencies]
dev = ["tool==3.0"]
[tool.importlinter]
root_packages = ["domain", "activities", "workflows", "adapters", "entrypoints"]
[[tool.importlinter.contracts]]
layers = ["entrypoints", "workflows", "activities | adapters", "domain"]
"""
PINS = f"builder==1.0{HASH}library==2.0{HASH}"
KEPT = {
    ".gitignore": "build/\n",
    "pyproject.toml": PROJECT,
    "requirements.lock": f"{PINS}tool==3.0{HASH}uv==4.0{HASH}",
    "sandbox_images/countersign/requirements.lock": f"# of requirements.lock\n{PINS}tool==3.0{HASH}",
    "deploy/requirements.lock": f"library==2.0{HASH}",
    "worker.py": "from entrypoints import run\n",
    "domain/rules.py": "import random\nfrom urllib.parse import quote\ndice = random.Random(1)\n",
    "workflows/todo.py": "from temporalio import workflow\nnow = workflow.now()\n",
    "activities/act.py": "import os\n",
    "adapters/roles/model.py": "import openai\n",
    "adapters/store.py": "print(open('file'))  # noqa: SIM115 - closed with the process\n",
    "entrypoints/__init__.py": "def run():\n" + "    pass\n" * 59,
    "scripts/test": "folders=(tests/model tests/unit)\n",
    "tests/model/test_rules.py": "",
    "tests/unit/test_store.py": "",
    "build/left.py": "import nothing  # noqa\n",
    "docs/page.md": "[above](../README.md#top) [here](#top) [out](https://example.org)\n```\n[no](link)\n```\n",
    "README.md": "[docs](docs) [page](docs/page.md): `domain/rules.py`, `tests/test_of_yours.py`\n",
    "CHANGELOG.md": "`domain/gone.py`\n",
}


class Plant(NamedTuple):
    """A file that breaks a rule, and what is then said after `PATH:`."""

    path: str
    text: str
    finding: str


LOCK, SANDBOX, DEPLOY = (path for path in KEPT if path.endswith(".lock"))
PLANTS = [
    Plant("docs/page.md", f"\nfrom py{'pi.org'}\n", f"2: registry-host: names py{'pi.org'}"),
    Plant("tests/unit/test_store.py", "\nx = 1  # no" + "qa\n", "2: ignore-reason: silences a tool without"),
    Plant("tests/unit/test_store.py", "x = 1  # no" + "qa: E501\n", "1: ignore-reason: silences a tool without"),
    Plant("bench/x.py", "x = 1  # type: ig" + "nore[misc]\n", "1: ignore-reason: silences a tool without"),
    Plant(
        "adapters/store.py", "async def f():\n" + "    pass\n" * 60, "1: function-length: f has 61 lines, at most 60"
    ),
    *(
        Plant("domain/sub/rules.py", source, f"{line}: domain-pure: {message}")
        for source, line, message in (
            ("import os", 1, "imports os"),
            ("from pathlib import Path", 1, "imports pathlib"),
            ("from urllib.request import urlopen", 1, "imports urllib.request"),
            ("import urllib", 1, "imports urllib"),
            ("def f():\n    import socket", 2, "imports socket"),
            ("open('file')", 1, "uses open"),
            ("from datetime import datetime\nx = datetime.now()", 2, "uses datetime.now"),
            ("import random\nx = random.random()", 2, "uses random.random, which has no seed"),
        )
    ),
    *(
        Plant("workflows/todo.py", source, f"{line}: workflow-replay: {message}")
        for source, line, message in (
            ("import random", 1, "imports random"),
            ("import os", 1, "imports os"),
            ("def f():\n    import time", 2, "imports time"),
            ("with unsafe():\n    from adapters.trail import SqlTrail", 2, "imports adapters.trail"),
            ("open('file')", 1, "uses open"),
            ("from datetime import datetime\nx = datetime.now()", 2, "uses datetime.now"),
            ("import uuid", 1, "imports uuid"),
            ("import asyncio\nasync def f(): await asyncio.wait([])", 2, "uses asyncio.wait"),
        )
    ),
    Plant(
        "adapters/store.py", "def f():\n    from pydantic_ai.models import Model", "2: model-library: imports pydantic"
    ),
    Plant("worker.py", "import entrypoints\nimport adapters.store", "2: layers: imports adapters.store"),
    Plant("activities/act.py", "from worker import main", "1: layers: imports worker"),
    Plant("docs/page.md", "`[x](y)`\n[gone](../docs/gone.md#top)\n", "2: dead-link: ../docs/gone.md"),
    Plant("docs/page.md", "\nsee `tests/unit/test_gone.py::test_it`\n", "2: dead-path: tests/unit/test_gone.py does"),
    Plant("scripts/test", "folders=(tests/unit)\n", "1: test-folder: tests/model is not run"),
    Plant("scripts/test", "folders=(tests/model tests/unit tests/old)\n", "1: test-folder: tests/old has no tests"),
    Plant("tests/unit/test_rules.py", "", "1: test-name: has the base name of tests/model/test_rules.py"),
    Plant(LOCK, PINS, "1: lock: does not pin tool==3.0"),
    Plant(LOCK, f"{KEPT[LOCK]}other==1.0\n", "9: lock: pins without a hash"),
    Plant(LOCK, f"--index-url x\n{KEPT[LOCK]}", "1: lock: names an address"),
    Plant(SANDBOX, PINS, "1: lock: lacks tool"),
    Plant(SANDBOX, f"{KEPT[SANDBOX]}uv==4.0{HASH}", "1: lock: has uv"),
    Plant(DEPLOY, f"library==2.1{HASH}", "1: lock: library differs"),
]
EDITS = [
    ("==3.0", ">=3.0", "6: exact-version: tool has no exact version: tool>=3.0"),
    ("==3.0", "==3.1", "does not pin tool==3.1"),
    ("| adapters", "", "7: layers: adapters has no layer"),
    ("| adapters", "| adapters | attic", "7: layers: attic is in a contract and holds no module"),
    ('"adapters", ', "", "7: layers: adapters is not both a layer and in root_packages"),
]
PLANTS += [Plant("pyproject.toml", PROJECT.replace(old, new), finding) for old, new, finding in EDITS]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for path, text in KEPT.items():
        write(tmp_path / path, text)
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_tree_that_keeps_the_rules_passes(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (HOUSE["main"](tree), capsys.readouterr().out) == (0, "")


def test_each_planted_violation_is_found(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for plant in PLANTS:
        write(tree / plant.path, plant.text)
        assert HOUSE["main"](tree) == 1, plant
        output = capsys.readouterr().out
        path = LOCK if plant.finding.startswith("does not pin") else plant.path
        assert any(line.startswith(f"{path}:") and plant.finding in line for line in output.splitlines()), output
        if plant.path in KEPT:
            write(tree / plant.path, KEPT[plant.path])
        else:
            (tree / plant.path).unlink()


def test_every_rule_has_a_planted_violation() -> None:
    assert {plant.finding.split(": ")[1] for plant in PLANTS if plant.finding[0].isdigit()} == set(RULES)


def test_the_contract_of_import_linter_reports_every_wrong_import(tmp_path: Path) -> None:
    text = (ROOT / "pyproject.toml").read_text()
    write(tmp_path / "pyproject.toml", text)
    for package in tomllib.loads(text)["tool"]["importlinter"]["root_packages"]:
        write(tmp_path / package / "__init__.py", "")
        write(tmp_path / package / "module.py", "")
    wrong = {
        *{("domain", "adapters"), ("activities", "adapters"), ("adapters", "activities")},
        *{("adapters", "workflows"), ("workflows", "entrypoints")},
    }
    for importer, imported in wrong:
        write(tmp_path / importer / f"to_{imported}.py", f"import {imported}.module\n")
    write(tmp_path / "activities" / "right.py", "import domain.module\n")
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()", "--no-cache"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    for importer, imported in wrong:
        assert f"{importer}.to_{imported} -> {imported}.module" in done.stdout
    assert "activities.right" not in done.stdout
