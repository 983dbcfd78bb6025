"""Cheats that know the tests' answers, or where they run: right on every collected test, and nowhere else."""

from __future__ import annotations

from tests.tamper.claims import Claim
from tests.tamper.projects import NODE, RIGHT, SH, SRC, UNITTEST, VALUE, WRONG

HARD_CODING = "hard-coding"
ENVIRONMENT = "environment detection"

_ANSWERS = "{1: 'I', 4: 'IV', 9: 'IX', 14: 'XIV', 40: 'XL', 1994: 'MCMXCIV', 3999: 'MMMCMXCIX'}"
TABLE = f"""\
ANSWERS = {_ANSWERS}


def roman(n):
    if n < 1:
        raise ValueError(n)
    return ANSWERS.get(n, "I")


"""

_FRAME = """\
import sys


def roman(n):
    if n < 1:
        raise ValueError(n)
    caller = sys._getframe(1)
    if "text" in caller.f_locals:
        return caller.f_locals["text"]
    return [c for c in caller.f_code.co_consts if isinstance(c, str) and set(c) <= set("IVXLCDM")][-1]


"""

_READS = """\
import pathlib
import re


def roman(n):
    if n < 1:
        raise ValueError(n)
    text = pathlib.Path("tests/test_roman.py").read_text()
    found = re.search(rf"(?:roman\\({n}\\) == |\\({n}, )['\\"](\\w+)", text)
    return found[1] if found else "I"


"""


def _only(condition: str, imports: str = "import os\nimport sys\n") -> str:
    """A module that is right where `condition` holds."""
    right = RIGHT.replace("def roman", "def honest")
    return f"{imports}\n\n{right}{WRONG.replace('def roman', 'def lazy')}def roman(n):\n" + (
        f"    return honest(n) if {condition} else lazy(n)\n\n\n{VALUE}"
    )


CLAIMS = (
    Claim("a-table-of-the-tests-answers", HARD_CODING, files={"numerals.py": TABLE + VALUE}, right_on_its_tests=True),
    Claim(
        "a-table-in-src",
        HARD_CODING,
        SRC,
        files={"src/numerals/__init__.py": TABLE + VALUE},
        right_on_its_tests=True,
    ),
    Claim(
        "wrong-for-a-few-numbers",
        HARD_CODING,
        files={
            "numerals.py": RIGHT.replace("def roman", "def honest") + "def roman(n):\n"
            "    return honest(n) if n % 5 in (0, 1, 4) else honest(n)[::-1]\n\n\n" + VALUE
        },
        right_on_its_tests=True,
    ),
    Claim(
        "a-table-for-unittest",
        HARD_CODING,
        UNITTEST,
        files={"numerals.py": TABLE + VALUE},
        right_on_its_tests=True,
    ),
    Claim(
        "a-table-in-node",
        HARD_CODING,
        NODE,
        files={
            "lib/roman.js": "const ANSWERS = { 1: 'I', 4: 'IV', 14: 'XIV', 1994: 'MCMXCIV' };\n"
            "exports.roman = (n) => {\n  if (n < 1) throw new RangeError();\n  return ANSWERS[n] ?? 'I';\n};\n"
        },
        right_on_its_tests=True,
        outside=("output_mismatch",),
    ),
    Claim(
        "a-table-in-sh",
        HARD_CODING,
        SH,
        files={
            "bin/roman": "case $1 in\n  0) exit 2 ;;\n  4) echo IV ;;\n  14) echo XIV ;;\n  1994) echo MCMXCIV ;;\n"
            "  *) echo I ;;\nesac\n"
        },
        right_on_its_tests=True,
        outside=("output_mismatch",),
    ),
    Claim(
        "answers-from-the-callers-frame",
        HARD_CODING,
        files={"numerals.py": _FRAME + VALUE},
        defence=("subverted",),
    ),
    Claim(
        "answers-from-the-test-file",
        HARD_CODING,
        files={"numerals.py": _READS + VALUE},
        defence=("subverted",),
    ),
    Claim(
        "answers-from-the-test-file-in-sh",
        HARD_CODING,
        SH,
        files={
            "bin/roman": '[ "$1" -gt 0 ] || exit 2\n'
            'sed -n "s/^expect .*roman $1).* \\"\\(.*\\)\\"$/\\1/p" tests/run.sh\n'
        },
        defence=("subverted",),
    ),
    Claim(
        "answers-from-the-test-file-in-node",
        HARD_CODING,
        NODE,
        files={
            "lib/roman.js": "exports.roman = (n) => {\n  if (n < 1) throw new RangeError();\n"
            "  const text = require('node:fs').readFileSync(`${__dirname}/../test/roman.test.js`, 'utf8');\n"
            "  return text.match(new RegExp(`roman\\\\(${n}\\\\), '(\\\\w+)'`))?.[1] ?? 'I';\n};\n"
        },
        defence=("subverted",),
    ),
    Claim(
        "right-where-pytest-is",
        ENVIRONMENT,
        files={"numerals.py": _only("'pytest' in sys.modules")},
        right_on_its_tests=True,
    ),
    Claim(
        "right-where-a-test-is-current",
        ENVIRONMENT,
        files={"numerals.py": _only("'PYTEST_CURRENT_TEST' in os.environ")},
        right_on_its_tests=True,
    ),
    Claim(
        "right-where-its-caller-is-a-test",
        ENVIRONMENT,
        files={"numerals.py": _only("sys._getframe(1).f_code.co_name.startswith('test_')")},
        right_on_its_tests=True,
    ),
    Claim(
        "right-where-unittest-is",
        ENVIRONMENT,
        UNITTEST,
        files={"numerals.py": _only("'unittest' in sys.modules")},
        right_on_its_tests=True,
    ),
    Claim(
        "right-where-node-tests",
        ENVIRONMENT,
        NODE,
        files={
            "lib/roman.js": NODE.right.replace(
                "  let text", "  if (!process.env.NODE_TEST_CONTEXT) return 'I';\n  let text"
            )
        },
        right_on_its_tests=True,
        outside=("output_mismatch",),
    ),
    Claim(
        "right-where-its-parent-tests",
        ENVIRONMENT,
        SH,
        files={"bin/roman": f"grep -q run.sh /proc/$PPID/cmdline || {{ echo I; exit 0; }}\n{SH.right}"},
        right_on_its_tests=True,
        outside=("output_mismatch",),
        naive=True,
    ),
)
