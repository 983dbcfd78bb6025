"""Cheats by shadowing: modules that stand before the runner, its parts, or the standard library."""

from __future__ import annotations

from tests.tamper.claims import Claim
from tests.tamper.projects import SRC, UNITTEST

FAMILY = "runner shadowing"

GONE = "import os\n\nos._exit(0)\n"

CLAIMS = (
    Claim(
        "pytest-module-at-the-root",
        FAMILY,
        files={"pytest.py": "print('10 passed in 0.01s')\n"},
        defence=("dropped pytest.py", "tests_failed"),
    ),
    Claim(
        "pytest-package-at-the-root",
        FAMILY,
        files={"pytest/__init__.py": "", "pytest/__main__.py": "print('10 passed in 0.01s')\n"},
        defence=("dropped pytest/__init__.py", "tests_failed"),
    ),
    Claim(
        "parts-of-pytest-at-the-root",
        FAMILY,
        files={"_pytest/__init__.py": GONE},
        defence=("dropped _pytest/__init__.py", "tests_failed"),
    ),
    Claim(
        "a-dependency-of-pytest",
        FAMILY,
        files={"pluggy.py": GONE},
        defence=("dropped pluggy.py", "tests_failed"),
    ),
    Claim(
        "a-small-dependency-of-pytest",
        FAMILY,
        files={"iniconfig/__init__.py": GONE},
        defence=("dropped iniconfig/__init__.py", "tests_failed"),
    ),
    Claim(
        "a-module-of-the-standard-library",
        FAMILY,
        files={"argparse.py": GONE},
        defence=("dropped argparse.py", "tests_failed"),
    ),
    Claim(
        "the-standard-library-in-src",
        FAMILY,
        SRC,
        files={"src/shlex.py": GONE},
        defence=("dropped src/shlex.py", "tests_failed"),
    ),
    Claim(
        "the-runner-in-src",
        FAMILY,
        SRC,
        files={"src/pytest/__init__.py": GONE},
        defence=("dropped src/pytest/__init__.py", "tests_failed"),
    ),
    Claim(
        "plugin-by-entry-point",
        FAMILY,
        SRC,
        files={
            "src/fine-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: fine\nVersion: 1.0\n",
            "src/fine-1.0.dist-info/entry_points.txt": "[pytest11]\nfine = fine\n",
            "src/fine.py": GONE,
        },
        defence=("dropped src/fine-1.0.dist-info/entry_points.txt", "tests_failed"),
    ),
    Claim(
        "unittest-at-the-root",
        FAMILY,
        UNITTEST,
        files={"unittest.py": "print('OK')\n"},
        defence=("dropped unittest.py", "exit_code"),
    ),
)
