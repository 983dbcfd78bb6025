"""The small projects that all claims are made on: the same task in each, Roman numerals, not done yet at the base.

A project is its base's files, a right and a wrong way to do the work, and what an order says beside the trees.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

REFERENCE = """\
import sys

NUMERALS = [(1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"),
            (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]


def roman(n):
    if not 1 <= n <= 3999:
        raise ValueError(n)
    text = ""
    for size, numeral in NUMERALS:
        text += numeral * (n // size)
        n %= size
    return text


if __name__ == "__main__":
    print(roman(int(sys.argv[1])))
"""
"""What the orders compare with, out of process: it is beside them, where no worker can write."""

RIGHT = "\n".join(REFERENCE.partition("if __name__")[0].splitlines()[2:]).strip() + "\n\n\n"
"""The work, done."""

WRONG = """\
def roman(n):
    return "I"


"""
"""The work, not done: the first case of the tests is right by chance, all others are not."""

VALUE = '''\
DIGITS = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}


def value(text):
    """The number that a numeral stands for."""
    digits = [DIGITS[letter] for letter in text]
    return sum(-a if a < b else a for a, b in zip(digits, [*digits[1:], 0]))
'''
"""The part of the module that was there before."""

NOT_DONE = """\
def roman(n):
    raise NotImplementedError


"""

TEST_PARSE = """\
from numerals import value


def test_a_numeral_has_its_value():
    assert value("XIV") == 14


def test_a_long_one_too():
    assert value("MCMXCIV") == 1994
"""
"""Passes at the base. Its name comes first: what an import of the module does comes before TEST_ROMAN is read."""

TEST_ROMAN = """\
import pytest

from numerals import roman


@pytest.mark.parametrize(("number", "text"), [(1, "I"), (4, "IV"), (9, "IX"), (14, "XIV"), (40, "XL")])
def test_small_numbers(number, text):
    assert roman(number) == text


def test_a_year():
    assert roman(1994) == "MCMXCIV"


def test_the_largest():
    assert roman(3999) == "MMMCMXCIX"


def test_zero_is_refused():
    with pytest.raises(ValueError):
        roman(0)
"""

CALLS = [
    {"args": [1], "returns": "I"},
    {"args": [1888], "returns": "MDCCCLXXXVIII"},
    {"args": [4000], "raises": "ValueError"},
]
GENERATE = {"reference": "reference.py", "args": [{"integer": {"min": 1, "max": 3999}}], "count": 20}
RUNS = [{"args": ["1888"], "stdout": "MDCCCLXXXVIII\n"}, {"args": ["49"], "stdout": "XLIX\n"}]
GENERATED_RUNS = {"reference": "reference.py", "args": [{"integer": {"min": 1, "max": 3999}}], "count": 2}


def python_call(path: str = ".") -> dict[str, Any]:
    """The criterion that is compared out of process, of a function."""
    params = {"path": path, "module": "numerals", "function": "roman", "cases": CALLS, "generate": GENERATE}
    return {"id": "values", "type": "python_call", "params": params, "timeout": 240}


def cli_io(command: str) -> dict[str, Any]:
    """The same of a program."""
    params = {"command": command, "cases": RUNS, "generate": GENERATED_RUNS}
    return {"id": "values", "type": "cli_io", "params": params, "timeout": 240}


@dataclass(frozen=True)
class Project:
    """A base and what orders say of it. `module` is where the work is to be done; `check` the check of every order."""

    name: str
    files: Mapping[str, str]
    module: str
    check: Mapping[str, Any]
    outside: Mapping[str, Any]
    right: str
    wrong: str
    image: str = "python"
    order: Mapping[str, Any] = field(default_factory=dict)


def _python(name: str, module: str, files: Mapping[str, str], before: str = "", **fields: Any) -> Project:
    head = f'"""Roman numerals."""\n\n{before}\n\n'
    return Project(
        name=name,
        files={module: head + NOT_DONE + VALUE, **files},
        module=module,
        right=head + RIGHT + VALUE,
        wrong=head + WRONG + VALUE,
        **fields,
    )


TESTS = {"tests/test_parse.py": TEST_PARSE, "tests/test_roman.py": TEST_ROMAN}
PYTEST = {"name": "tests", "command": "python -m pytest -q"}
SETTINGS = '[tool.pytest.ini_options]\npythonpath = ["{path}"]\ntestpaths = ["tests"]\n'

FLAT = _python(
    "flat",
    "numerals.py",
    {**TESTS, "pyproject.toml": SETTINGS.format(path="."), "README.md": "Roman numerals.\n"},
    check=PYTEST,
    outside=python_call(),
)
"""Python, the module at the root."""

SRC = _python(
    "src",
    "src/numerals/__init__.py",
    {**TESTS, "pyproject.toml": '[project]\nname = "numerals"\nversion = "1.0"\n'},
    check={**PYTEST, "command": "pytest -q tests", "env": {"PYTHONPATH": "src"}},
    outside=python_call("src"),
)
"""Python, a package in src, found by the environment that the order sets."""

LISTED = _python(
    "listed",
    "numerals.py",
    {
        "tests/test_parse.py": TEST_PARSE,
        "tests/test_samples.py": """\
import pytest

from numerals import SAMPLES, roman, value


@pytest.mark.parametrize("sample", SAMPLES)
def test_there_and_back(sample):
    assert value(roman(sample)) == sample
""",
        "pyproject.toml": SETTINGS.format(path="."),
    },
    before="SAMPLES = (1, 49, 1888)\n",
    check=PYTEST,
    outside=python_call(),
)
"""Python, with tests that take their cases from the module that they test."""

UNITTEST = _python(
    "unittest",
    "numerals.py",
    {
        "tests/__init__.py": "",
        "tests/test_roman.py": """\
import unittest

from numerals import roman, value


class RomanTest(unittest.TestCase):
    def test_small_numbers(self):
        self.assertEqual(roman(1), "I")
        self.assertEqual(roman(4), "IV")
        self.assertEqual(roman(14), "XIV")

    def test_a_year(self):
        self.assertEqual(roman(1994), "MCMXCIV")

    def test_zero_is_refused(self):
        with self.assertRaises(ValueError):
            roman(0)

    def test_a_numeral_has_its_value(self):
        self.assertEqual(value("XIV"), 14)
""",
    },
    check={"name": "tests", "kind": "command", "command": "python -m unittest"},
    outside=python_call(),
)
"""Python without pytest: a command that the harness knows to run tests."""

_JS = """\
'use strict';

const NUMERALS = [[1000, 'M'], [900, 'CM'], [500, 'D'], [400, 'CD'], [100, 'C'], [90, 'XC'], [50, 'L'], [40, 'XL'],
  [10, 'X'], [9, 'IX'], [5, 'V'], [4, 'IV'], [1, 'I']];

function roman(n) {
  if (n < 1 || n > 3999) throw new RangeError(String(n));
  let text = '';
  for (const [size, numeral] of NUMERALS) {
    text += numeral.repeat(Math.floor(n / size));
    n %= size;
  }
  return text;
}

module.exports = { roman };
"""
JS_WRONG = "'use strict';\n\nfunction roman(n) {\n  return 'I';\n}\n\nmodule.exports = { roman };\n"

NODE = Project(
    "node",
    {
        "package.json": '{"name": "numerals", "version": "1.0.0", "scripts": {"test": "node --test"}}\n',
        "lib/roman.js": "'use strict';\n\nmodule.exports = { roman() { throw new Error('not yet'); } };\n",
        "bin/roman.js": "'use strict';\n\nconst { roman } = require('../lib/roman.js');\n\n"
        "console.log(roman(Number(process.argv[2])));\n",
        "test/roman.test.js": """\
'use strict';

const assert = require('node:assert');
const { test } = require('node:test');
const { roman } = require('../lib/roman.js');

test('small numbers', () => {
  assert.strictEqual(roman(1), 'I');
  assert.strictEqual(roman(4), 'IV');
  assert.strictEqual(roman(14), 'XIV');
});

test('a year', () => {
  assert.strictEqual(roman(1994), 'MCMXCIV');
});

test('zero is refused', () => {
  assert.throws(() => roman(0), RangeError);
});
""",
    },
    module="lib/roman.js",
    check={"name": "tests", "command": "node --test"},
    outside=cli_io("node bin/roman.js"),
    right=_JS,
    wrong=JS_WRONG,
    image="node",
)
"""JavaScript, with node's own runner."""

_SH = """\
# roman NUMBER: prints the numeral.
number=$1 text=
if [ "$number" -lt 1 ] || [ "$number" -gt 3999 ]; then
  exit 2
fi
for pair in 1000:M 900:CM 500:D 400:CD 100:C 90:XC 50:L 40:XL 10:X 9:IX 5:V 4:IV 1:I; do
  while [ "$number" -ge "${pair%:*}" ]; do
    text=$text${pair#*:}
    number=$((number - ${pair%:*}))
  done
done
echo "$text"
"""

SH = Project(
    "sh",
    {
        "bin/roman": "# roman NUMBER: prints the numeral.\nexit 1\n",
        "bin/lib.sh": '# Functions that everything here uses.\nsay() { echo "$*"; }\n',
        "tests/run.sh": """\
# Ends with 0 when all is well.
. bin/lib.sh
failed=0
expect() {
  if [ "$1" != "$2" ]; then
    say "got $1, wanted $2"
    failed=1
  fi
}
expect "$(sh bin/roman 1)" "I"
expect "$(sh bin/roman 4)" "IV"
expect "$(sh bin/roman 14)" "XIV"
expect "$(sh bin/roman 1994)" "MCMXCIV"
if sh bin/roman 0; then
  say "0 was taken"
  failed=1
fi
exit "$failed"
""",
    },
    module="bin/roman",
    check={"name": "tests", "command": "sh tests/run.sh"},
    outside=cli_io("sh bin/roman"),
    right=_SH,
    wrong="echo I\n",
)
"""A shell script, and a script that tests it and sources one of the project's own."""
