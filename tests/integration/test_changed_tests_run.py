"""Test files in JavaScript, shell and unittest, each expected value changed alone: honest work fails every time."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from domain.mutation.edits import edited
from domain.mutation.text_literals import text_edits

MODULE = """
export const square = (n) => n * n;
export const words = (text) => text.split(' ');
export const label = (n) => { if (n > 2) throw new Error('unknown ' + n); return ['zero', 'one', 'two'][n]; };
"""
NODE = """
// assert.equal(square(2), 5)
import test from 'node:test';
import assert from 'node:assert/strict';
import { square, words, label } from './src.mjs';

const cases = [{ n: 2, expected: 4 }, { n: 3, expected: 9 }];

test("squares aren't 'wrong'", () => {
  assert.equal(square(2), 4, "of two");
  assert.strictEqual(square(-3), 9);
  for (const c of cases) assert.equal(square(c.n), c.expected);
  if (square(2) !== 4) { throw new Error('no'); }
  if (process.platform !== 'linux') return;
});
test('words', () => {
  assert.deepEqual(words('ä b'.replace(/['"]/g, '')), ['ä', 'b']);
  assert(words('a b').length === 2 && words('')[0] === '');
  assert.ok(square(2) === 4 || square(2) === 5);
});
test('label', { skip: false }, () => { assert.equal(label(1), `one`); });
test.skip('later', () => { assert.equal(square(2), 5); });
test('throws', () => {
  assert.throws(() => label(9), /unknown 9/);
  assert.equal(label(2) === 'two', true);
  assert.equal(label(-1), undefined);
});
"""
SHELL = """
set -e
out=$(echo hello | tr a-z A-Z)
[ "$out" = "HELLO" ]  # it's "fine"
test "$(echo "a b" | wc -w)" -eq 2
if [ "$out" != HELLO ]; then
  echo "FAIL: $out"
  exit 1
fi
[ "$(uname)" = "Linux" ] || exit 0
[ "$1" = "--verbose" ] && set -x
echo hello | grep -q '^hel'
cat <<EOT
[ "$x" = "no" ]
EOT
if [ "$out" = "HELLO" ]; then echo fine; else echo bad; exit 1; fi
check() { [ "$2" = "$3" ] || exit 1; }
check upper "$out" HELLO
"""
UNITTEST = """
import unittest
from src import square

class Cases(unittest.TestCase):
    def test_square(self):
        self.assertEqual(square(2), 4)

    def test_equal(self):
        expected = [1, 4]
        self.assertListEqual([square(n) for n in (1, 2)], expected)

    def test_sign(self):
        self.assertNotEqual(square(2), -4)

if __name__ == "__main__":
    unittest.main()
"""

CASES = {
    "a.test.mjs": (NODE, "src.mjs", MODULE, ("node", "--test"), 11),
    "run.sh": (SHELL, "unused", "", ("sh",), 6),
    "test_a.py": (UNITTEST, "src.py", "def square(n):\n    return n * n\n", (sys.executable,), 2),
}


@pytest.mark.parametrize("name", CASES)
def test_honest_work_fails_when_any_expected_value_is_another(name: str, tmp_path: Path) -> None:
    source, module, implementation, command, number = CASES[name]
    if shutil.which(command[0]) is None:
        pytest.skip(f"there is no {command[0]}")
    (tmp_path / module).write_text(implementation)
    edits = text_edits(name, source, 5)
    assert len(edits) == number
    assert passes(tmp_path / name, source.encode(), command)
    for edit in edits:
        assert not passes(tmp_path / name, edited(source.encode(), [edit]), command), edit
    assert not passes(tmp_path / name, edited(source.encode(), edits), command)


def passes(path: Path, source: bytes, command: tuple[str, ...]) -> bool:
    path.write_bytes(source)
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("NODE_", "PYTEST_"))}
    ended = subprocess.run(
        [*command, path.name], cwd=path.parent, env=kept, capture_output=True, timeout=300, check=False
    )
    return ended.returncode == 0
