"""The direction of imports: the contract covers everything, it would report a wrong import, and the domain is pure."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
NO_LAYER = {"tests", "examples", "docs", "scripts", "sandbox_images", "bench"}
MODULES_ABOVE = {"worker"}
"""Modules, not packages: import-linter cannot place them, so the tests here do."""

DOMAIN_MAY_IMPORT = {
    *(
        "__future__",
        "ast",
        "collections",
        "contextlib",
        "dataclasses",
        "datetime",
        "decimal",
        "difflib",
        "enum",
        "fnmatch",
        "fractions",
    ),
    *("functools", "hashlib", "itertools", "json", "math", "operator", "posixpath", "re", "string", "textwrap"),
    *("random", "shlex", "types", "typing", "unicodedata", "pydantic", "pydantic_core", "domain"),
}
PURE_PARTS = {"urllib.parse", "xml.etree"}
"""Modules that the domain may import of packages that it may not."""

IMPURE_NAMES = {"open", "print", "input", "exec", "eval", "__import__"}
IMPURE_METHODS = {"now", "utcnow", "today", "uuid1", "uuid4"}

WORKFLOWS_MAY_IMPORT = DOMAIN_MAY_IMPORT - {"random"} | {"asyncio", "graphlib", "temporalio", "activities", "workflows"}
NOT_THE_SAME_AGAIN = {"asyncio.wait", "asyncio.as_completed", "asyncio.to_thread", "asyncio.run"}
"""What may come out otherwise when a workflow is replayed: sets have no order, and threads are not its own."""


def configuration() -> dict[str, Any]:
    tools: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    return dict(tools["importlinter"])


def layers() -> list[str]:
    (contract,) = configuration()["contracts"]
    return [layer.strip() for row in contract["layers"] for layer in row.split("|")]


def ours() -> set[str]:
    """Every importable name at the top of the repository: modules, and folders with Python in them."""
    packages = {path.parts[-2] for path in ROOT.glob("*/*.py") if not path.parts[-2].startswith(".")}
    return packages | {path.stem for path in ROOT.glob("*.py")}


def imported(source: str) -> Iterator[str]:
    """The top-level names that a module imports."""
    yield from (name.partition(".")[0] for name in imported_modules(source))


def imported_modules(source: str) -> Iterator[str]:
    """The modules that a module imports, dotted."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports are not used here"
            yield node.module or ""


def impurities(source: str) -> Iterator[str]:
    """What the domain may not do: import beyond the list, touch the outside, ask for the time or a random id."""
    for name in imported_modules(source):
        if name not in PURE_PARTS and name.partition(".")[0] not in DOMAIN_MAY_IMPORT:
            yield f"imports {name}"
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in IMPURE_NAMES:
            yield f"uses {node.id}"
        elif isinstance(node, ast.Attribute) and node.attr in IMPURE_METHODS:
            yield f"uses .{node.attr}"
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "random" and node.attr != "Random":
            yield f"uses random.{node.attr}, which has no seed"


def irreproducible(source: str) -> Iterator[str]:
    """What a workflow may not do, for a replay has to come to the same: time and ids are the workflow's own."""
    for name in imported_modules(source):
        if name.partition(".")[0] not in WORKFLOWS_MAY_IMPORT:
            yield f"imports {name}"
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in IMPURE_NAMES:
            yield f"uses {node.id}"
        elif isinstance(node, ast.Attribute):
            used = ast.unparse(node)
            if used in NOT_THE_SAME_AGAIN or (node.attr in IMPURE_METHODS and not used.startswith("workflow.")):
                yield f"uses {used}"


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()", "--no-cache"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def small_house(tmp_path: Path) -> Path:
    """Packages with the real ones' names and one empty module each, under the real contract."""
    for name in layers():
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
        (tmp_path / name / "module.py").touch()
    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    return tmp_path


def test_every_package_has_a_layer() -> None:
    assert ours() - NO_LAYER == set(layers()) | MODULES_ABOVE
    assert set(layers()) == set(configuration()["root_packages"])


def test_the_contract_accepts_the_allowed_direction(small_house: Path) -> None:
    (small_house / "entrypoints" / "module.py").write_text("import workflows.module\n")
    (small_house / "workflows" / "module.py").write_text("import activities.module\nimport adapters.module\n")
    (small_house / "activities" / "module.py").write_text("import domain.module\n")
    result = lint_imports(small_house)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("importer", "imports"),
    [
        ("domain", "adapters"),
        ("activities", "adapters"),
        ("adapters", "activities"),
        ("adapters", "workflows"),
        ("workflows", "entrypoints"),
    ],
)
def test_the_contract_reports_a_wrong_import(small_house: Path, importer: str, imports: str) -> None:
    (small_house / importer / "module.py").write_text(f"import {imports}.module\n")
    result = lint_imports(small_house)
    assert result.returncode == 1, result.stdout + result.stderr
    assert f"{importer}.module -> {imports}.module" in result.stdout


def test_worker_imports_entrypoints_alone_and_nobody_imports_it() -> None:
    assert set(imported((ROOT / "worker.py").read_text())) & ours() <= {"entrypoints"}
    for package in layers():
        for path in (ROOT / package).rglob("*.py"):
            assert "worker" not in set(imported(path.read_text())), path


@pytest.mark.parametrize("path", sorted((ROOT / "domain").rglob("*.py")), ids=lambda path: path.name)
def test_the_domain_is_pure(path: Path) -> None:
    assert list(impurities(path.read_text())) == []


@pytest.mark.parametrize(
    "source",
    [
        "import os",
        "from pathlib import Path",
        "from urllib.request import urlopen",
        "import urllib",
        "def f():\n    import socket",
        "open('file')",
        "from datetime import datetime\nx = datetime.now()",
        "import random\nx = random.random()",
    ],
)
def test_an_impure_domain_would_be_seen(source: str) -> None:
    assert list(impurities(source))


@pytest.mark.parametrize("path", sorted((ROOT / "workflows").rglob("*.py")), ids=lambda path: path.name)
def test_workflows_come_to_the_same_when_they_are_replayed(path: Path) -> None:
    """The worker passes all of them through the SDK's sandbox, which would see to some of it while they run."""
    assert list(irreproducible(path.read_text())) == []


@pytest.mark.parametrize(
    "source",
    [
        "import random",
        "import os",
        "def f():\n    import time",
        "with workflow.unsafe.imports_passed_through():\n    from adapters.trail import SqlTrail",
        "open('file')",
        "from datetime import datetime\nx = datetime.now()",
        "import uuid",
        "import asyncio\nasync def f(): await asyncio.wait([])",
    ],
)
def test_a_workflow_that_would_not_is_seen(source: str) -> None:
    assert list(irreproducible(source))
