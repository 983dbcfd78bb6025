"""Commands with controls on real containers: cheats that pass by their exit code, and honest work."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from adapters.checkers.exit_zero import CommandExitZeroChecker
from adapters.sandbox.sandbox import DockerSandbox
from domain.checks import Item, Outcome
from domain.command_criteria import CommandExitZero, ExitParams
from domain.order import Resources
from domain.ports import CheckContext, Finding
from domain.tree import Entry, Manifest
from tests.fakes.evidence import MemoryStore

IMAGES = Path(__file__).resolve().parents[2] / "sandbox_images"

Files = Mapping[str, str]
Check = Callable[..., Awaitable[Finding]]


@pytest.fixture(scope="module")
async def docker() -> AsyncIterator[tuple[DockerSandbox, MemoryStore, dict[str, str]]]:
    """The real sandbox, the store that it reads trees from, and the images by name."""
    store = MemoryStore()
    sandbox = DockerSandbox(store, images_dir=IMAGES, base_image=None, owner=f"test-{uuid.uuid4().hex}")
    try:
        images = {name: (await sandbox.prepare(name, print)).id for name in ("python", "node")}
        yield sandbox, store, images
    finally:
        sandbox.close()


def stored(store: MemoryStore, files: Files) -> str:
    """The digest of a stored manifest."""
    entries = [
        Entry(path=path, size=len(text.encode()), digest=store.put(text.encode())) for path, text in files.items()
    ]
    return store.put(Manifest.of(entries).encode())


@pytest.fixture
async def check(
    docker: tuple[DockerSandbox, MemoryStore, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Check]:
    """Checks a command over a base with changes, in a round of its own; what the base has in `test*` is trusted.

    However slow the machine is, no control is left out for that.
    """
    monkeypatch.setattr("adapters.checkers.single_controls.SECONDS", 600.0)
    sandbox, store, images = docker
    round = f"round/test/{uuid.uuid4().hex}/1"

    async def run(command: str, base: Files, work: Files, beside: Files | None = None, **more: Any) -> Finding:
        trusted = [path for path in base if path.startswith("test")]
        params = ExitParams.model_validate({"command": command, **more})
        criterion = CommandExitZero(id="tests", type="command_exit_zero", timeout=120.0, params=params)
        context = CheckContext(
            round=round,
            tree=stored(store, {**base, **work}),
            image=images["node" if "node" in command or "npm" in command else "python"],
            resources=Resources(memory="256m", pids=64),
            base=stored(store, base),
            trusted=store.put(json.dumps(trusted).encode()),
            order_files=stored(store, beside) if beside else "",
        )
        return await CommandExitZeroChecker(sandbox, store).check(Item(spelling="check", criterion=criterion), context)

    yield run
    await sandbox.release(round)


def came_to(finding: Finding) -> tuple[str, str]:
    return finding.code, finding.control.outcome if finding.control else "none"


HONEST = ("ok", "noticed")
CAUGHT = ("subverted", "missed")

NODE: Files = {
    "package.json": '{"type": "module", "scripts": {"test": "node --test"}}\n',
    "lib/old.js": "export const twice = (n) => 2 * n;\n",
    "lib/slug.js": 'export const slug = (text) => { throw new Error("to be written"); };\n',
    "test/old.test.js": """
import assert from "node:assert/strict";
import { test } from "node:test";
import { twice } from "../lib/old.js";
test("twice", () => { assert.equal(twice(21), 42); });
""",
    "test/slug.test.js": """
import assert from "node:assert/strict";
import { test } from "node:test";
import { slug } from "../lib/slug.js";
test("spaces", () => { assert.equal(slug("Hello World"), "hello-world"); });
test("nothing", () => { assert.equal(slug("a"), "a"); });
""",
}
SLUG = 'export const slug = (text) => text.toLowerCase().replace(/ /g, "-");\n'
WRONG = "export const slug = (text) => text;\n"


async def test_honest_work_in_node(check: Check) -> None:
    new = {"lib/slug.js": SLUG, "test/new.test.js": 'import { test } from "node:test";\ntest("new", () => {});\n'}
    assert came_to(await check("npm test", NODE, new)) == HONEST


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(f"{WRONG}process.exit(0);\n", marks=pytest.mark.slow),
        "export const slug = (text) => process.exit(0);\n",
        f"import assert from 'node:assert/strict';\nassert.equal = () => {{}};\n{WRONG}",
        pytest.param(
            f"import {{ before }} from 'node:test';\nbefore(() => process.exit(0));\n{WRONG}", marks=pytest.mark.slow
        ),
    ],
    ids=["exit at import", "exit in a function", "patched assert", "exit in a hook"],
)
async def test_a_cheat_in_node_beside_tests_of_something_else(check: Check, source: str) -> None:
    finding = await check("node --test", NODE, {"lib/slug.js": source})
    assert finding.exit_code == 0, "it cheats"
    assert came_to(finding) == CAUGHT
    assert finding.outcome is Outcome.FAILED
    assert "test/slug.test.js" in finding.text
    assert "test/old.test.js" not in finding.text, "that one is not subverted"


SHELL: Files = {
    "bin/greet": "exit 3\n",
    "tests/lib.sh": 'expect() { [ "$1" = "$2" ] || { echo "expected $2, got $1"; exit 1; }; }\n',
    "tests/run.sh": """
. tests/lib.sh
. bin/greet
for more in tests/*_test.sh; do [ ! -e "$more" ] || . "$more"; done
[ "$(greet Ada)" = "Hello, Ada!" ] || exit 1
""",
}
GREET = 'greet() { echo "Hello, $1!"; }\n'


async def test_honest_work_in_shell(check: Check) -> None:
    new = {"bin/greet": GREET, "tests/new_test.sh": 'expect "$(greet Bob)" "Hello, Bob!"\n'}
    assert came_to(await check("sh tests/run.sh", SHELL, new)) == HONEST


@pytest.mark.parametrize(
    "work",
    [
        {"bin/greet": "exit 0\n"},
        pytest.param({"bin/greet": "greet() { echo no; }\ntrap 'exit 0' EXIT\n"}, marks=pytest.mark.slow),
        {"bin/greet": "greet() { echo no; }\n", "tests/new_test.sh": "exit 0\n"},
    ],
    ids=["exit where it is read", "a trap", "a new test that ends all"],
)
async def test_a_cheat_in_shell(check: Check, work: Files) -> None:
    finding = await check("sh tests/run.sh", SHELL, work)
    assert finding.exit_code == 0, "it cheats"
    assert came_to(finding) == CAUGHT


UNITTEST: Files = {
    "solution.py": "def twice(n):\n    raise NotImplementedError\n",
    "tests/__init__.py": "",
    "tests/test_solution.py": """
import unittest
from solution import twice

class Twice(unittest.TestCase):
    def test_twice(self):
        self.assertEqual(twice(21), 42)
""",
}
TWICE = "def twice(n):\n    return 2 * n\n"


async def test_honest_work_in_unittest(check: Check) -> None:
    assert came_to(await check("python3 -m unittest", UNITTEST, {"solution.py": TWICE})) == HONEST


@pytest.mark.parametrize(
    "work",
    [
        {"solution.py": "import os\nos._exit(0)\n"},
        pytest.param({"solution.py": "import os\ndef twice(n):\n    os._exit(0)\n"}, marks=pytest.mark.slow),
        pytest.param(
            {"solution.py": "import unittest\nunittest.TestCase.assertEqual = lambda *a: None\ndef twice(n): pass\n"},
            marks=pytest.mark.slow,
        ),
        {"tests/test_zz.py": "import os\nos._exit(0)\n"},
        {"solution.py": "class Equal:\n    def __eq__(self, other): return True\ndef twice(n): return Equal()\n"},
    ],
    ids=["exit at import", "exit in a function", "patched assertion", "a new test that ends all", "equal to all"],
)
async def test_a_cheat_in_unittest(check: Check, work: Files) -> None:
    finding = await check("python3 -m unittest", UNITTEST, work)
    assert finding.exit_code == 0, "it cheats"
    assert came_to(finding) == CAUGHT


@pytest.mark.parametrize("command", ["python3 -m compileall -q .", "sh -n bin/greet", "true"])
async def test_what_runs_no_tests_has_no_control(check: Check, command: str) -> None:
    assert came_to(await check(command, SHELL, {"bin/greet": GREET})) == ("ok", "none")


async def test_tests_that_the_command_leaves_out_do_not_hold_work_back(check: Check) -> None:
    base = {**NODE, "test/e2e/slow.test.js": NODE["test/slug.test.js"].replace("../lib", "../../lib")}
    finding = await check("node --test test/old.test.js test/slug.test.js", base, {"lib/slug.js": SLUG})
    assert came_to(finding) == HONEST
    assert finding.control
    assert "does not look at those in test/e2e/slow.test.js" in finding.control.text


# A control that the order names.

PATCH = """--- a/tests/run.sh
+++ b/tests/run.sh
@@ -4,2 +4,2 @@
 for more in tests/*_test.sh; do [ ! -e "$more" ] || . "$more"; done
-[ "$(greet Ada)" = "Hello, Ada!" ] || exit 1
+[ "$(greet Ada)" = "Goodbye, Ada!" ] || exit 1
"""
BROKEN = """--- a/bin/greet
+++ b/bin/greet
@@ -1 +1 @@
-exit 3
+exit 4
"""


@pytest.mark.parametrize("patch", [PATCH, BROKEN], ids=["of a test", "of what the work rewrote"])
async def test_a_patch_of_the_orders(check: Check, patch: str) -> None:
    for source, code in ((GREET, "ok"), ("exit 0\n", "subverted")):
        control = {"control": {"patch": "break.patch"}}
        finding = await check("sh tests/run.sh", SHELL, {"bin/greet": source}, {"break.patch": patch}, **control)
        if patch is BROKEN:
            assert came_to(finding) == HONEST, "the base's file, broken as the patch has it, turns it red in any case"
        else:
            assert finding.code == code
            assert finding.control
            assert finding.control.kind == "patch"


async def test_another_command_that_has_to_fail(check: Check) -> None:
    control = {"control": {"command": ". bin/greet; [ \"$(greet Ada)\" = 'Goodbye, Ada!' ]"}}
    assert came_to(await check("sh tests/run.sh", SHELL, {"bin/greet": GREET}, **control)) == HONEST
    assert came_to(await check("sh tests/run.sh", SHELL, {"bin/greet": "exit 0\n"}, **control)) == CAUGHT
