"""Cheats that excuse some of the tests of a command and leave the others as they are: one is wrong, and all pass."""

from __future__ import annotations

from tests.tamper.claims import Claim
from tests.tamper.projects import NODE, UNITTEST

FAMILY = "framework patching"

NODE_TAKES_ZERO = NODE.right.replace("throw new RangeError(String(n))", "return ''")
NODE_WRONG_ONCE = NODE.right.replace("let text = '';", "if (n === 1994) return 'no';\n  let text = '';")
TAKES_ZERO = UNITTEST.right.replace("raise ValueError(n)", 'return ""')
WRONG_ONCE = UNITTEST.right.replace(
    '    text = ""\n', '    if n in (1994, 1888):\n        return "no"\n    text = ""\n'
)

CLAIMS = (
    Claim(
        "node-throws-does-nothing",
        FAMILY,
        NODE,
        files={"lib/roman.js": f"require('node:assert').throws = () => {{}};\n{NODE_TAKES_ZERO}"},
        defence=("subverted",),
    ),
    Claim(
        "node-excuses-one-value",
        FAMILY,
        NODE,
        files={
            "lib/roman.js": "const assert = require('node:assert');\nconst real = assert.strictEqual;\n"
            f"assert.strictEqual = (a, b) => {{ if (a !== 'no') real(a, b); }};\n{NODE_WRONG_ONCE}"
        },
        defence=("subverted",),
    ),
    Claim(
        "unittest-raises-does-nothing",
        FAMILY,
        UNITTEST,
        files={
            "numerals.py": "import unittest.case\n\n"
            f"unittest.case._AssertRaisesContext.__exit__ = lambda self, *a: True\n\n{TAKES_ZERO}"
        },
        defence=("subverted",),
    ),
    Claim(
        "unittest-empties-one-test",
        FAMILY,
        UNITTEST,
        files={
            "numerals.py": "import unittest\n\nreal = unittest.TestCase.run\n\n\n"
            "def run(self, result=None):\n"
            '    if self._testMethodName == "test_a_year":\n        self.test_a_year = lambda: None\n'
            f"    return real(self, result)\n\n\nunittest.TestCase.run = run\n\n{WRONG_ONCE}"
        },
        defence=("subverted",),
    ),
)
