"""Which expected values are changed by themselves, and which never are: what may fail without failing the run."""

from __future__ import annotations

import pytest

from domain.mutation.edits import Edit, edited
from domain.mutation.singles import singles

NODE = "const assert = require('node:assert');\nconst { test } = require('node:test');\n"


def changed(path: str, source: str) -> list[str]:
    """Each value's line, changed in the three ways that there are."""
    lines = []
    for single in singles(path, source, 1):
        edits = [single.value, single.raises, single.stop]
        after = [edited(source.encode(), [edit]).decode().splitlines() for edit in edits if edit]
        lines.append(source.splitlines()[single.line - 1].strip())
        assert all(text.splitlines() != source.splitlines() for text in ("\n".join(a) for a in after))
        assert not single.mark or single.mark in single.value.text
        assert single.raised not in single.raises.text, "what shows the source shows no error"
    return lines


@pytest.mark.parametrize(
    "line",
    [
        "assert.strictEqual(f(1), 'x');",
        "assert.deepStrictEqual([f(1)], ['a', { b: -2 }]);",
        "assert.equal(true, f(1), 'a message')",
        "assert.throws(() => f(1), TypeError);",
        "assert.throws(() => f(1), /bad/);",
    ],
)
@pytest.mark.parametrize(
    "around",
    [
        "{}\n",
        "test('a', () => { {} });\n",
        "test('a', async function named(t) {\n  f(2);\n  {}\n});\n",
        "describe('a', function () { it('b', { timeout: 5 }, async (t) => {\n {} \n}) });\n",
        "test('a', async (t) => {\n await t.test('b', () => {\n {}\n });\n});\n",
        "test('a', () => {\n  f()\n  {}\n})\n",
    ],
)
def test_assertions_that_count_in_node(line: str, around: str) -> None:
    source = NODE + around.replace("{}", line, 1)
    (found,) = changed("a.test.mjs", source)
    assert line.rstrip(";") in found


@pytest.mark.parametrize(
    "source",
    [
        "test('a', () => { assert.throws(() => { assert.equal(f(1), 'x'); }, Error) && g(); });",
        "test('a', () => { if (g()) assert.equal(f(1), 'x'); });",
        "test('a', () => { if (g())\n assert.equal(f(1), 'x'); });",
        "test('a', () => { if (g()) { assert.equal(f(1), 'x'); } });",
        "test('a', () => { try { assert.equal(f(1), 'x'); } catch {} });",
        "test('a', () => { g() && assert.equal(f(1), 'x'); });",
        "test('a', () => { const h = () =>\n assert.equal(f(1), 'x'); });",
        "test('a', () => { g(() => { assert.equal(f(1), 'x'); }); });",
        "test('a', { todo: true }, () => { assert.equal(f(1), 'x'); });",
        "test.skip('a', () => { assert.equal(f(1), 'x'); });",
        "test('a', (t) => { t.todo(); assert.equal(f(1), 'x'); });",
        "function g() { assert.equal(f(1), 'x'); }",
        "test('a', () => { assert.equal(f(1), want); });",
        "test('a', () => { assert.equal(f(1), new Set(['x'])); });",
        "test('a', () => { assert.equal(f(1), `x${y}`); });",
        "test('a', () => { assert.notEqual(f(1), 'x'); assert.match(f(1), /x/); assert.throws(f); });",
        "test('a', () => { assert.throws(f, 'a message'); equal(f(1), 'x'); is(f(1), 'x'); });",
        "test('a', () => { expect(f(1)).not.toBe('x'); expect.soft(f(1)).toBe('x'); });",
    ],
)
def test_assertions_that_may_not_count_in_node(source: str) -> None:
    assert [line for line in changed("a.test.js", NODE + source) if "x'" in line] == []


def test_a_library_of_the_projects_own_is_no_library() -> None:
    body = "test('a', () => { assert.equal(f(1), 'x'); });\ntest('b', () => { expect(f(1)).toEqual({ a: 'x' }); });\n"
    assert len(changed("a.test.js", f"{NODE}{body}")) == 2
    assert len(changed("a.test.ts", f"import {{ assert, expect }} from 'vitest';\n{body}")) == 2
    assert changed("a.test.js", f"import assert from './assert.js';\nimport {{ expect }} from '../e.js';\n{body}") == []
    assert changed("a.test.js", f"import * as all from 'node:assert';\nfunction expect(a) {{}}\n{body}") == []
    assert changed("a_test.go", body) == []


PYTHON = """
class T(unittest.TestCase):
    def test_a(self):
        self.assertEqual(f(1), 5)
        self.assertEqual(f("long"), "text")
        with self.assertRaises(ValueError):
            f(2)

    def test_b(self):
        want = 5
        self.assertEqual(f(1), want)
        if f(3):
            self.assertEqual(f(3), 5)
        try:
            self.assertEqual(f(4), 5)
        finally:
            pass

    @unittest.expectedFailure
    def test_c(self):
        self.assertEqual(f(5), 5)
"""


def test_python() -> None:
    expected = [
        "self.assertEqual(f(1), 5)",
        'self.assertEqual(f("long"), "text")',
        "with self.assertRaises(ValueError):",
    ]
    assert sorted(changed("test_a.py", PYTHON)) == sorted(expected)
    found = singles("test_a.py", PYTHON, 1)
    assert {single.test for single in found} == {"test_a"}
    assert {single.mark for single in found if "assertRaises" in PYTHON.splitlines()[single.line - 1]} == {""}
    stops = {single.stop for single in found}
    assert len(stops) == 1
    assert all(isinstance(stop, Edit) and found[0].stopped in stop.text for stop in stops)
    assert singles("test_a.py", "def broken(:", 1) == ()
    assert singles("test_a.py", PYTHON, 1) == found != singles("test_a.py", PYTHON, 2)
