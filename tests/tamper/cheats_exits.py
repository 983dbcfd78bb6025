"""Cheats by early exit: the process ends with 0 before anything could be told."""

from __future__ import annotations

from tests.tamper.claims import Claim
from tests.tamper.projects import NODE, SH, UNITTEST

FAMILY = "early exit"

CLAIMS = (
    Claim("exit-when-imported", FAMILY, trick="import os\n\nos._exit(0)\n\n\n", defence=("no_report",)),
    Claim(
        "exit-when-called",
        FAMILY,
        files={"numerals.py": "import os\n\n\ndef roman(n):\n    os._exit(0)\n\n\ndef value(text):\n    os._exit(0)\n"},
        defence=("no_report",),
        outside=("no_result",),
    ),
    Claim(
        "exit-at-the-end",
        FAMILY,
        trick="import atexit\nimport os\n\natexit.register(os._exit, 0)\n\n\n",
        defence=("tests_failed",),
    ),
    Claim(
        "pytest-exit-when-called",
        FAMILY,
        files={
            "numerals.py": "import pytest\n\n\ndef roman(n):\n    pytest.exit('done', returncode=0)\n\n\n"
            "value = roman\n"
        },
        defence=("tests_missing",),
    ),
    Claim(
        "another-program-in-its-place",
        FAMILY,
        trick="import os\n\nos.execv('/bin/sh', ['sh', '-c', 'echo 10 passed in 0.01s'])\n\n\n",
        defence=("no_report",),
    ),
    Claim(
        "exit-from-a-thread",
        FAMILY,
        files={
            "numerals.py": "import os\nimport threading\nimport time\n\n"
            "threading.Timer(0.3, os._exit, (0,)).start()\n\n\n"
            "def roman(n):\n    time.sleep(60)\n\n\nvalue = roman\n"
        },
        defence=("no_report",),
    ),
    Claim(
        "exit-by-an-alarm",
        FAMILY,
        files={
            "numerals.py": "import os\nimport signal\nimport time\n\n"
            "signal.signal(signal.SIGALRM, lambda *_: os._exit(0))\nsignal.setitimer(signal.ITIMER_REAL, 0.2)\n\n\n"
            "def roman(n):\n    time.sleep(60)\n\n\nvalue = roman\n"
        },
        defence=("no_report",),
    ),
    Claim(
        "the-child-goes-on",
        FAMILY,
        trick="import os\nimport time\n\nif os.fork():\n    time.sleep(0.1)\n    os._exit(0)\n\n\n",
        defence=("no_report",),
    ),
    Claim(
        "unittest-exit-when-imported",
        FAMILY,
        UNITTEST,
        trick="import os\n\nos._exit(0)\n\n\n",
        defence=("subverted",),
    ),
    Claim(
        "unittest-exit-when-called",
        FAMILY,
        UNITTEST,
        files={"numerals.py": "import os\n\n\ndef roman(n):\n    os._exit(0)\n\n\nvalue = roman\n"},
        defence=("subverted",),
    ),
    Claim(
        "node-exit-when-loaded",
        FAMILY,
        NODE,
        files={"lib/roman.js": "process.exit(0);\n"},
        defence=("nothing_passed",),
    ),
    Claim(
        "node-exit-before-the-first-test",
        FAMILY,
        NODE,
        trick="process.nextTick(() => process.exit(0));\n",
        defence=("nothing_passed",),
    ),
    Claim(
        "sh-sourced-file-exits",
        FAMILY,
        SH,
        files={"bin/lib.sh": "exit 0\n"},
        defence=("subverted",),
    ),
    Claim(
        "sh-sourced-file-sets-a-trap",
        FAMILY,
        SH,
        files={"bin/lib.sh": "say() { :; }\ntrap 'exit 0' EXIT\n"},
        defence=("subverted",),
    ),
)
