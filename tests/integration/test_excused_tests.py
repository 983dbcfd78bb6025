"""Commands whose tests are excused in part, on real containers: the cheats that do it, and honest work beside."""

from __future__ import annotations

import pytest

from domain.checks import Outcome
from tests.integration.test_command_controls import CAUGHT, HONEST, Check, Files, came_to, check, docker

__all__ = ["check", "docker"]

SLUG_JS = """
const assert = require('node:assert');
const { test } = require('node:test');
const { slug } = require('../slug.js');
test('one', () => { assert.strictEqual(slug('One'), 'one'); });
test('spaces', () => {
  assert.strictEqual(slug('Two'), 'two');
  assert.strictEqual(slug('a   b'), 'a-b');
});
test('list', () => { assert.deepStrictEqual([slug('A'), slug('B')], ['a', 'b']); });
test('type', () => { assert.throws(() => slug(3), TypeError); });
"""
NODE: Files = {"slug.js": "exports.slug = () => { throw new Error('todo'); };\n", "test/slug.test.js": SLUG_JS}
RIGHT_JS = """exports.slug = (text) => {
  if (typeof text !== 'string') throw new TypeError('text');
  return text.toLowerCase().split(/ +/).join('-');
};
"""

EXCUSES_JS = {
    "throws": "require('node:assert').throws = () => {};\n"
    + RIGHT_JS.replace("throw new TypeError('text')", "return ''"),
    "deepStrictEqual": "require('node:assert').deepStrictEqual = () => {};\n"
    + RIGHT_JS.replace("return text.", "if (text === 'A') return 'x'; return text."),
    "one value": "const a = require('node:assert');\nconst real = a.strictEqual;\n"
    "a.strictEqual = (x, y) => { if (x !== 'a---b') real(x, y); };\n" + RIGHT_JS.replace("split(/ +/)", "split(' ')"),
}


@pytest.mark.parametrize(
    "which", ["throws", *(pytest.param(name, marks=pytest.mark.slow) for name in [*EXCUSES_JS][1:])]
)
async def test_a_cheat_that_excuses_some_in_node(check: Check, which: str) -> None:
    finding = await check("node --test", NODE, {"slug.js": EXCUSES_JS[which]})
    assert finding.exit_code == 0, "it cheats"
    assert (came_to(finding), finding.outcome) == (CAUGHT, Outcome.FAILED)
    assert "some of its tests" in finding.text
    assert "test/slug.test.js:" in finding.text


ODD_JS = """
test('an assertion that has to fail', () => {
  assert.throws(() => { assert.strictEqual(slug('One'), 'two'); }, assert.AssertionError);
});
test('one that may', () => { try { assert.strictEqual(slug('One'), 'one'); } catch {} });
test('for later', { todo: true }, () => { assert.strictEqual(slug('One'), 'uno'); });
test('for the day', (t) => { t.todo(); assert.strictEqual(slug('One'), 'eins'); });
test('left out', { skip: true }, () => { assert.strictEqual(slug('One'), 'un'); });
test('left early', () => {
  if (slug('One') === 'one') return;
  assert.strictEqual(slug('One'), 'one');
});
test('swallowed later', () => new Promise((done) => { slug('One'); done(); }));
function later() { assert.strictEqual(slug('One'), 'never'); }
test('one more', () => { assert.throws(() => slug(3), /text/); assert.deepStrictEqual({ a: slug('B') }, { a: 'b' }); });
"""


@pytest.mark.slow
async def test_honest_work_beside_tests_that_cannot_fail_in_node(check: Check) -> None:
    base = {**NODE, "test/slug.test.js": SLUG_JS + ODD_JS}
    assert came_to(await check("node --test", base, {"slug.js": RIGHT_JS})) == HONEST


UNITTEST: Files = {
    "slug.py": "def slug(text):\n    raise NotImplementedError\n",
    "tests/__init__.py": "",
    "tests/test_slug.py": """
import unittest
from slug import slug

class SlugTest(unittest.TestCase):
    def test_simple(self):
        self.assertEqual(slug("Hello World"), "hello-world")
        self.assertEqual(slug("Hello"), "hello")

    def test_one(self):
        self.assertEqual(slug("One"), "one")

    def test_type(self):
        with self.assertRaises(TypeError):
            slug(3)
""",
}
RIGHT_PY = """def slug(text):
    if not isinstance(text, str):
        raise TypeError("text")
    return "-".join(text.lower().split())
"""
EXCUSES_PY = {
    "a test": """import unittest

real = unittest.TestCase.run
def run(self, result=None):
    if self._testMethodName == "test_simple":
        self.test_simple = lambda: None
    return real(self, result)
unittest.TestCase.run = run
"""
    + RIGHT_PY.replace('"-"', '"_"'),
    "exceptions": "import unittest.case\n\nunittest.case._AssertRaisesContext.__exit__ = lambda self, *a: True\n\n"
    + RIGHT_PY.replace('raise TypeError("text")', 'return ""'),
    "one value": """import unittest

real = unittest.TestCase.assertEqual
def excuse(self, first, second, msg=None):
    if first != "hello_world":
        real(self, first, second, msg)
unittest.TestCase.assertEqual = excuse
"""
    + RIGHT_PY.replace('"-"', '"_"'),
}


@pytest.mark.parametrize(
    "which", ["a test", *(pytest.param(name, marks=pytest.mark.slow) for name in [*EXCUSES_PY][1:])]
)
async def test_a_cheat_that_excuses_some_in_unittest(check: Check, which: str) -> None:
    finding = await check("python3 -m unittest", UNITTEST, {"slug.py": EXCUSES_PY[which]})
    assert finding.exit_code == 0, "it cheats"
    assert (came_to(finding), finding.outcome) == (CAUGHT, Outcome.FAILED)
    assert "tests/test_slug.py:" in finding.text


ODD_PY = """
class Odd(unittest.TestCase):
    @unittest.expectedFailure
    def test_for_later(self):
        self.assertEqual(slug("One"), "uno")

    @unittest.skip("not today")
    def test_left_out(self):
        self.assertEqual(slug("One"), "eins")

    def test_left_early(self):
        helper(self)
        self.assertEqual(slug("One"), "un")

    def test_that_has_to_fail(self):
        with self.assertRaises(AssertionError):
            self.assertEqual(slug("One"), "two")

    def test_that_may(self):
        try:
            self.assertEqual(slug("One"), "two")
        except AssertionError:
            pass

class NoTest:
    def test_nothing(self):
        self.assertEqual(slug("One"), "nothing")

def helper(test):
    test.skipTest("no such machine")

def load_tests(loader, tests, pattern):
    return tests
"""


@pytest.mark.slow
async def test_honest_work_beside_tests_that_cannot_fail_in_unittest(check: Check) -> None:
    odd = UNITTEST["tests/test_slug.py"] + ODD_PY
    finding = await check("python3 -m unittest", {**UNITTEST, "tests/test_slug.py": odd}, {"slug.py": RIGHT_PY})
    assert came_to(finding) == HONEST
