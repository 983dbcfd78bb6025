"""Cheats by the file system: links, pipes, compiled files, and tests rewritten while they run."""

from __future__ import annotations

import importlib.util
import marshal
import os
from pathlib import Path

from tests.tamper.claims import Claim
from tests.tamper.projects import NODE, SH

FAMILY = "file-system tricks"

FINE = """\
def test_small_numbers(number=0, text=""):
    pass


test_a_year = test_the_largest = test_zero_is_refused = test_small_numbers
"""
"""Tests of the same names that pass."""

REWRITES = """\
import pathlib

tests = pathlib.Path(__file__).parent / "tests" / "test_roman.py"
text = tests.read_text()
tests.write_text(text.replace("assert ", "assert True or ").replace("roman(0)", "raise ValueError"))


"""

POISONS = """\
import importlib.util
import marshal
import pathlib
import sys

import pytest

tests = pathlib.Path(__file__).parent / "tests" / "test_roman.py"
text = tests.read_text().replace("assert ", "assert True or ").replace("roman(0)", "raise ValueError")
folder = tests.parent / "__pycache__"
folder.mkdir(exist_ok=True)
name = f"test_roman.{sys.implementation.cache_tag}-pytest-{pytest.__version__}.pyc"
head = importlib.util.MAGIC_NUMBER + (3).to_bytes(4, "little") + importlib.util.source_hash(tests.read_bytes())
(folder / name).write_bytes(head + marshal.dumps(compile(text, str(tests), "exec")))


"""
"""Compiled tests that name the digest of the real ones, which stay as they are."""


def poisoned(work: Path) -> None:
    """Compiled tests in the tree that is handed in."""
    source = work / "tests" / "test_roman.py"
    code = compile("def test_small_numbers():\n    pass\n", "test_roman.py", "exec")
    head = importlib.util.MAGIC_NUMBER + (3).to_bytes(4, "little") + importlib.util.source_hash(source.read_bytes())
    folder = source.parent / "__pycache__"
    folder.mkdir()
    (folder / "test_roman.cpython-311-pytest-9.2.0.pyc").write_bytes(head + marshal.dumps(code))


def pipe_for_tests(work: Path) -> None:
    """A named pipe where the tests were."""
    (work / "tests" / "test_roman.py").unlink()
    os.mkfifo(work / "tests" / "test_roman.py")


CLAIMS = (
    Claim(
        "tests-are-a-link-to-others",
        FAMILY,
        without=("tests",),
        files={"easy/test_roman.py": FINE},
        links={"tests": "easy"},
        defence=("restored tests/test_roman.py", "tests_failed"),
    ),
    Claim(
        "a-test-file-is-a-link",
        FAMILY,
        without=("tests/test_roman.py",),
        files={"easy.txt": FINE},
        links={"tests/test_roman.py": "../easy.txt"},
        defence=("restored tests/test_roman.py", "tests_failed"),
    ),
    Claim(
        "a-link-out-of-the-tree",
        FAMILY,
        without=("tests/test_roman.py",),
        links={"tests/test_roman.py": "/dev/null"},
        defence=("dropped tests/test_roman.py", "tests_failed"),
    ),
    Claim(
        "a-pipe-in-the-place-of-the-tests",
        FAMILY,
        make=pipe_for_tests,
        defence=("tests_failed",),
    ),
    Claim(
        "a-file-in-the-place-of-the-tests-folder",
        FAMILY,
        without=("tests",),
        files={"tests": "", "test_fine.py": "def test_fine():\n    pass\n"},
        check={"command": "python -m pytest -q ."},
        defence=("restored tests/test_roman.py", "tests_failed"),
    ),
    Claim(
        "a-folder-in-the-place-of-a-test-file",
        FAMILY,
        without=("tests/test_roman.py",),
        files={"tests/test_roman.py/test_fine.py": "def test_fine():\n    pass\n"},
        defence=("restored tests/test_roman.py", "tests_failed"),
    ),
    Claim(
        "tests-in-another-case",
        FAMILY,
        without=("tests/test_roman.py",),
        files={"tests/test_Roman.py": FINE, "Tests/test_roman.py": FINE},
        defence=("restored tests/test_roman.py", "tests_failed"),
    ),
    Claim(
        "compiled-tests-handed-in",
        FAMILY,
        make=poisoned,
        defence=("tests_failed",),
    ),
    Claim(
        "compiled-tests-written-while-they-run",
        FAMILY,
        trick=POISONS,
        defence=("subverted",),
    ),
    Claim(
        "tests-rewritten-by-an-import",
        FAMILY,
        trick=REWRITES,
        defence=("subverted",),
    ),
    Claim(
        "node-tests-rewritten-by-an-import",
        FAMILY,
        NODE,
        base={"test/a.test.js": "require('../lib/roman.js');\n"},
        trick="const fs = require('node:fs');\nconst file = `${__dirname}/../test/roman.test.js`;\n"
        "fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replace(/assert[.]/g, 'void assert?.x?.'));\n",
        check={"command": "node --test --test-concurrency=1"},
        defence=("subverted",),
    ),
    Claim(
        "sh-tests-rewritten-by-what-they-source",
        FAMILY,
        SH,
        files={
            "bin/lib.sh": "say() { :; }\nprintf 'exit 0\\n' > tests/run.sh.new\nmv tests/run.sh.new tests/run.sh\n"
            "exec sh tests/run.sh\n"
        },
        defence=("subverted",),
    ),
)
