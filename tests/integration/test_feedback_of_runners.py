"""What an agent learns of a failure: which test, why, where all of it is; what was changed; what an image lacks."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from tests.integration.conftest import Project

WARNINGS = "".join(
    f"\n/work/tree/index.js\n  {n}:5  warning  Unexpected console statement  no-console\n" for n in range(150)
)
PACKAGE = {"name": "options", "version": "1.0.0", "scripts": {"pretest": "cat lint.txt", "test": "node test/run.js"}}
RUNNER = """
const assert = require('assert');
let number = 0, failed = 0;
console.log('TAP version 13');
module.exports = function test(name, actual, expected) {
  console.log(`# ${name}`);
  let same = true;
  try { assert.deepStrictEqual(actual, expected); } catch { same = false; failed++; }
  console.log(`${same ? 'ok' : 'not ok'} ${++number} should be deeply equivalent`);
  if (same) return;
  const at = new Error().stack.split('\\n')[2].replace(/.*\\(|\\)/g, '');
  console.log('  ---\\n    operator: deepEqual\\n    expected: |-\\n      ' + JSON.stringify(expected));
  console.log('    actual: |-\\n      ' + JSON.stringify(actual) + '\\n    at: run (' + at + ')\\n  ...');
};
process.on('exit', () => {
  console.log(`\\n1..${number}\\n# tests ${number}\\n# fail  ${failed}`);
  process.exitCode = failed ? 1 : 0;
});
"""
TESTS = """
const test = require('./tap'), parse = require('..');
test('numbers', parse(['--n=1']), {n: 1});
test('empty values', parse(['--s=']), {s: ''});
for (let n = 0; n < 80; n++) test(`letters ${n}`, parse([`--a=x${n}`]), {a: `x${n}`});
"""
RIGHT = """
const split = a => a.map(o => o.slice(2).split('='));
module.exports = a => Object.fromEntries(split(a).map(([k, v]) => [k, +v && v ? +v : v]));
"""
WRONG = RIGHT.replace("+v && v ? +v : v", "isNaN(v) ? v : +v")
FAILING = 'empty values > should be deeply equivalent (deepEqual: expected {"s":""}, actual {"s":0}; test/run.js:4)'
CHECK = {"name": "tests", "command": "npm test"}
ORDER: dict[str, Any] = {
    "environment": {"image": "node"},
    "verification": {"auditor": {"enabled": False}, "checks": [CHECK]},
}


@pytest.fixture
def npm(project: Project) -> Project:
    """A package whose tests and lint warnings are many, and whose work breaks one test."""
    (project.root / "work" / "a.txt").write_text("before\n")
    files = {"package.json": json.dumps(PACKAGE), "lint.txt": WARNINGS, "test/tap.js": RUNNER, "test/run.js": TESTS}
    for folder, program in (("base", RIGHT), ("work", WRONG)):
        for name, text in {**files, "index.js": program}.items():
            path = project.root / folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return project


def test_the_failing_test_is_named_wherever_an_agent_looks(npm: Project) -> None:
    (npm.root / "work" / "package.json").write_text(json.dumps({**PACKAGE, "scripts": {"test": "true"}}))
    (npm.root / "work" / "test" / "run.js").write_text("")
    name = npm.order(id="wo-npm", **ORDER)
    result = npm.run("verify", name, "--output", "report.json")
    assert result.returncode == 1, result.stderr
    headline = "NOT VERIFIED: 1 test failed; 2 protected files were changed by the worker and restored"
    assert result.stdout.strip().splitlines()[0] == headline
    assert result.stdout.count('actual {"s":0}') == 1, "a failure is printed once"
    command = "countersign evidence show wo-npm --attempt 1 --log tests"
    assert f"  all of it: {command}\n" in result.stdout
    assert "- auditor" in result.stderr, "what nobody asked for is no green tick"

    report = json.loads((npm.root / "report.json").read_text())
    assert report["headline"] == headline
    assert report["reasons"][0]["text"] == f"tests: exit code 1, expected 0; 1 test failed: {FAILING}"
    assert report["checks"][0]["failed_tests"]["count"] == 1
    told = report["retry_context"]
    assert told["specific_failures"][-1] == report["reasons"][0]["text"]
    assert "not ok 2 should be deeply equivalent" in told["outputs"]["tests"]
    assert f"[... what is left out: {command}]" in told["outputs"]["tests"]

    whole = npm.run(*command.split()[1:])
    assert whole.returncode == 0, whole.stderr
    assert WARNINGS.strip() in whole.stdout
    assert "not ok 2" in whole.stdout
    (first, *_) = npm.answer(*command.split()[1:], "--json")["runs"]
    assert (first["outcome"], first["exit_code"]) == ("failed", 1)
    assert WARNINGS in first["stdout"]
    assert npm.run("evidence", "show", "wo-npm", "--log", "changes.diff").stdout.startswith("diff --git a/index.js")
    unknown = npm.run("evidence", "show", "wo-npm", "--log", "test")
    assert unknown.returncode == 5
    assert "Name one of: tests, changes.diff" in unknown.stderr
    assert json.loads(npm.run("rejudge", "wo-npm", "--objective", "--json").stdout)["drift"] == []


def test_a_session_s_worker_gets_it_in_its_brief(npm: Project) -> None:
    worker = {
        "command": "n=$(ls brief-* 2>/dev/null | wc -l); cp $COUNTERSIGN_BRIEF brief-$n; echo '//' $n >> index.js"
    }
    todo = {"id": "wo", "content": "c", "workspace": "work", "base": "base", "worker": worker, **ORDER}
    todo["safeguards"] = {"audit_attempts": 2}
    (npm.root / "session.yaml").write_text(yaml.safe_dump({"id": "se", "todos": [todo]}))
    assert npm.run("run", "session.yaml").returncode == 4
    first, second = (json.loads((npm.root / "work" / f"brief-{n}").read_text())["retry_context"] for n in (0, 1))
    assert first is None
    assert any(each.endswith(f"1 test failed: {FAILING}") for each in second["specific_failures"])
    assert "countersign evidence show se/wo --attempt 1 --log tests" in second["outputs"]["tests"]


def test_a_round_that_a_person_decides_has_what_was_seen(npm: Project) -> None:
    nice = {"id": "AC-1", "type": "subjective", "description": "it reads well"}
    order = {**ORDER, "verification": {"auditor": {"enabled": False}, "checks": [{**CHECK, "required": False}]}}
    result = npm.run("verify", npm.order(id="wo-nice", acceptance_criteria=[nice], **order), "--json")
    assert result.returncode == 4, result.stderr
    told = json.loads(result.stdout)["retry_context"]
    assert told["specific_failures"][0] == f"tests (advisory): exit code 1, expected 0; 1 test failed: {FAILING}"
    assert "no required check" in told["specific_failures"][1]
    assert "index.js" in told["prior_diff"]
    (row,) = (row for row in npm.rows("wo-nice") if row["action"] == "retry_context_assembled")
    assert row["payload"]["failures"] == 2


def test_an_image_that_lacks_a_tool_is_named_where_the_base_fails_the_same_way(npm: Project) -> None:
    (npm.root / "work" / "index.js").write_text(RIGHT)
    lint = {"name": "lint", "command": "sh -c 'shellcheck run.sh || exit 1'"}
    order = {**ORDER, "verification": {"auditor": {"enabled": False}, "checks": [lint]}}
    result = npm.run("verify", npm.order(id="wo-lint", **order))
    assert result.returncode == 1, result.stderr
    said = " ".join(result.stdout.split())
    assert "nothing was changed, and the base fails in the same way: the order or the environment is wrong." in said
    assert "shellcheck is not in the image. Install it (environment: {setup: [" in said
