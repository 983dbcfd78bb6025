"""The node image runs what its checks need, offline; the examples come out as their first lines promise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import Project

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PACKAGE = '{"name": "x", "version": "1.0.0", "scripts": {"test": "node --test"}}'
TEST = 'const { test } = require("node:test");\ntest("it", () => require("node:assert").equal(1, %s));\n'


def verify(project: Project, todo: str, checks: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """A round on the node image, and its checks by name."""
    order = project.order(id=todo, environment={"image": "node"}, verification={"checks": checks})
    result = project.run("verify", order, "--json")
    assert result.returncode in (0, 1), result.stdout + result.stderr
    return {check["name"]: check for check in json.loads(result.stdout)["checks"]}


def test_the_node_image_has_what_checks_need_offline_as_user_1000(shared: Project) -> None:
    for tree in ("base", "work"):
        (shared.root / tree / "package.json").write_text(PACKAGE)
        (shared.root / tree / "x.test.js").write_text(TEST % 1)
        (shared.root / tree / "red").mkdir()
        (shared.root / tree / "red" / "y.test.js").write_text(TEST % 2)
    commands = {
        "node": "node --test x.test.js",
        "npm": "npm test -- x.test.js",
        "npx": "npx --version",
        "red": "node --test red/y.test.js",
        "red-npm": "npm test",
        "git": "git init -q . && git status --short",
        "who": "id -u; node --version; npm config get fund; npm config get audit; npm config get update-notifier",
        "root": "! touch /usr/local/bin/x 2>/dev/null && ! touch /opt/node/x 2>/dev/null",
    }
    seen = verify(shared, "wo-node", [{"name": name, "command": text} for name, text in commands.items()])
    wrong = {name for name, check in seen.items() if check["outcome"] != "passed"}
    assert wrong == {"red", "red-npm"}, {name: seen[name] for name in wrong}
    user, version, *settings = seen["who"]["output"].split()
    assert (user, version.split(".")[0], settings) == ("1000", "v22", ["false"] * 3)
    assert "npm notice" not in seen["npm"]["output"]


@pytest.mark.parametrize(
    ("example", "worker", "code", "failing", "restored"),
    [
        ("slugify_js", "worker_right", 0, [], []),
        pytest.param(
            "slugify_js", "worker_wrong", 1, ["AC-1", "AC-2", "tests"], ["package.json"], marks=pytest.mark.slow
        ),
        ("greet_sh", "worker_right", 0, [], []),
        pytest.param("greet_sh", "worker_wrong", 1, ["AC-1", "AC-2"], [], marks=pytest.mark.slow),
        pytest.param("generated", "worker_right", 0, [], [], marks=pytest.mark.slow),
        pytest.param("generated", "worker_wrong", 1, ["AC-1", "AC-3"], [], marks=pytest.mark.slow),
    ],
)
def test_an_example_comes_out_as_promised(
    shared: Project, example: str, worker: str, code: int, failing: list[str], restored: list[str]
) -> None:
    folder = EXAMPLES / example
    result = shared.run("verify", str(folder / "order.yaml"), "--workspace", str(folder / worker), "--json")
    assert result.returncode == code, result.stdout + result.stderr
    report = json.loads(result.stdout)
    items = {item["id"]: item for item in report["criteria"]} | {item["name"]: item for item in report["checks"]}
    assert [name for name, item in items.items() if item["outcome"] != "passed"] == failing
    assert report["snapshot"]["restored"] == restored
