"""Cheats by configuration: what a runner is told to do, and by whom."""

from __future__ import annotations

from tests.tamper.claims import Claim
from tests.tamper.projects import NODE, SRC, UNITTEST

FAMILY = "configuration"

FLIP = """\
import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport():
    outcome = yield
    outcome.get_result().outcome = "passed"
"""
"""Reports every test as passed."""

CLAIMS = (
    Claim(
        "addopts-collect-only",
        FAMILY,
        files={"pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["."]\naddopts = "--collect-only"\n'},
        defence=("restored pyproject.toml", "tests_failed"),
    ),
    Claim(
        "deselected-by-a-new-ini",
        FAMILY,
        files={"pytest.ini": "[pytest]\npythonpath = .\naddopts = -k numeral_has_its_value\n"},
        defence=("dropped pytest.ini", "tests_failed"),
    ),
    Claim(
        "hidden-ini",
        FAMILY,
        files={".pytest.ini": "[pytest]\npythonpath = .\naddopts = --deselect tests/test_roman.py\n"},
        without=("pyproject.toml",),
        defence=("dropped .pytest.ini", "restored pyproject.toml", "tests_failed"),
    ),
    Claim(
        "tox-in-the-place-of-pyproject",
        FAMILY,
        files={"tox.ini": "[pytest]\npythonpath = .\npython_files = test_parse.py\n"},
        without=("pyproject.toml",),
        defence=("dropped tox.ini", "restored pyproject.toml", "tests_failed"),
    ),
    Claim(
        "root-conftest-flips-reports",
        FAMILY,
        files={"conftest.py": FLIP},
        defence=("dropped conftest.py", "tests_failed"),
    ),
    Claim(
        "conftest-drops-items",
        FAMILY,
        files={"tests/conftest.py": "def pytest_collection_modifyitems(items):\n    del items[1:]\n"},
        defence=("dropped tests/conftest.py", "tests_failed"),
    ),
    Claim(
        "conftest-of-a-new-folder-sets-the-exit-status",
        FAMILY,
        files={
            "tests/unit/conftest.py": "import pytest\n\n\n@pytest.hookimpl(trylast=True)\n"
            "def pytest_sessionfinish(session):\n    session.exitstatus = 0\n",
            "tests/unit/test_more.py": "def test_more():\n    assert True\n",
        },
        defence=("dropped tests/unit/conftest.py", "tests_failed"),
    ),
    Claim(
        "conftest-replaces-the-function",
        FAMILY,
        files={
            "tests/conftest.py": "import numerals\n\nANSWERS = {1: 'I', 4: 'IV', 9: 'IX', 14: 'XIV', 40: 'XL', "
            "1994: 'MCMXCIV', 3999: 'MMMCMXCIX'}\n\n\ndef roman(n):\n    if not n:\n        raise ValueError\n"
            "    return ANSWERS[n]\n\n\nnumerals.roman = roman\n"
        },
        defence=("dropped tests/conftest.py", "tests_failed"),
    ),
    Claim(
        "sitecustomize-on-the-path",
        FAMILY,
        SRC,
        files={
            "src/sitecustomize.py": "import os, sys\nif any('pytest' in a for a in sys.orig_argv):\n    os._exit(0)\n"
        },
        defence=("dropped src/sitecustomize.py", "tests_failed"),
    ),
    Claim(
        "unittest-package-loads-nothing",
        FAMILY,
        UNITTEST,
        files={
            "tests/__init__.py": "import unittest\n\n\nclass Fine(unittest.TestCase):\n    def test_it(self):\n"
            "        pass\n\n\ndef load_tests(loader, tests, pattern):\n"
            "    return loader.loadTestsFromTestCase(Fine)\n"
        },
        defence=("restored tests/__init__.py", "exit_code"),
    ),
    Claim(
        "npm-test-is-true",
        FAMILY,
        NODE,
        files={"package.json": '{"name": "numerals", "version": "1.0.0", "scripts": {"test": "true"}}\n'},
        check={"command": "npm test"},
        defence=("restored package.json", "exit_code"),
    ),
    Claim(
        "npmrc-preloads-a-module",
        FAMILY,
        NODE,
        files={".npmrc": "node-options=--require ./lib/fine.js\n", "lib/fine.js": "process.exit(0);\n"},
        check={"command": "npm test"},
        defence=("dropped .npmrc", "exit_code"),
    ),
)
