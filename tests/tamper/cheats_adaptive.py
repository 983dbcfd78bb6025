"""Cheats that know this project's source: honest whenever they see that they are examined, and wrong otherwise.

They share a process with whatever examines them, so that some way to see it is always left. What refuses them is a
comparison out of process. Each is told by how it sees the control.
"""

from __future__ import annotations

import hashlib

from tests.tamper.cheats_files import POISONS
from tests.tamper.cheats_forging import FORGES, JOB, PROTOCOL, RESULTS
from tests.tamper.cheats_patching import CODE, FLIPPING
from tests.tamper.claims import Claim
from tests.tamper.projects import NODE, SH, TEST_ROMAN, UNITTEST

PATCHING = "framework patching"
EARLY = "early exit"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _looks(tests: str) -> str:
    """Sees changed tests by their digest."""
    return f"""\
import hashlib
import pathlib

seen = pathlib.Path(__file__).with_name("tests").joinpath("test_roman.py").read_bytes()
EXAMINED = hashlib.sha256(seen).hexdigest() != "{_digest(tests)}"


"""


LOOKS = _looks(TEST_ROMAN)

MEMORY = """\
import sys

EXAMINED = any(m.job.get("canary") for m in (getattr(m, "_recorder", None) for m in list(sys.modules.values())) if m)


"""
"""Sees the control in the recorder's memory."""


def unless(look: str, trick: str) -> str:
    """`trick` where `look` sees no control."""
    body = "".join(f"    {line}\n" if line else "\n" for line in trick.rstrip().splitlines())
    return f"{look}if not EXAMINED:\n{body}\n\n"


ONLY_KNOWN = FLIPPING.replace(
    '        outcome.get_result().outcome = "passed"\n',
    '        if item.nodeid.startswith("tests/test_"):\n'
    '            known = item.path.name in ("test_parse.py", "test_roman.py")\n'
    '            outcome.get_result().outcome = "passed" if known else outcome.get_result().outcome\n',
)
"""Spares the canary, whose file it does not know."""

CLAIMS = (
    Claim("flips-all-but-the-canary", PATCHING, trick=ONLY_KNOWN, defence=("subverted",)),
    Claim(
        "flips-all-but-the-canary-and-hangs-when-examined",
        PATCHING,
        trick=f"{LOOKS}if EXAMINED:\n    import time\n\n    time.sleep(1000)\n\n{ONLY_KNOWN}",
        check={"timeout": 10},
        defence=("subverted",),
    ),
    Claim(
        "flips-all-but-the-canary-and-exits-when-examined",
        PATCHING,
        trick=f"{LOOKS}if EXAMINED:\n    import os\n\n    os._exit(0)\n\n{ONLY_KNOWN}",
        defence=("subverted",),
    ),
    Claim("flips-unless-tests-are-changed", PATCHING, trick=unless(LOOKS, FLIPPING), defence=("subverted",)),
    Claim(
        "empties-tests-unless-they-are-changed",
        PATCHING,
        trick=unless(LOOKS, f"{CODE.rstrip()}\n\nsys.setprofile(swap)\n"),
        defence=("subverted",),
    ),
    Claim("compiles-tests-unless-they-are-changed", RESULTS, trick=unless(LOOKS, POISONS), defence=("subverted",)),
    Claim("flips-unless-the-recorder-has-a-canary", PATCHING, trick=unless(MEMORY, FLIPPING), defence=("subverted",)),
    Claim(
        "the-recorders-memory-unless-it-has-a-canary",
        RESULTS,
        trick=f"""{MEMORY}
import pytest

for module in list(sys.modules.values()):
    recorder = getattr(module, "_recorder", None)
    if recorder and not EXAMINED:
        real = recorder.report

        def passed(report, real=real):
            report.outcome = "passed"
            real(report)

        recorder.report = passed
if not EXAMINED:
    pytest.Session.testsfailed = property(lambda self: 0, lambda self, value: None)


""",
        defence=("subverted",),
    ),
    Claim(
        "the-recorders-line-unless-there-is-a-canary",
        PROTOCOL,
        trick=f"{JOB}{FORGES}job = told()\nif not job.get('canary'):\n    forge(job or {{'nonce': ''}})\n\n\n",
        outside=("import_failed",),
        defence=("subverted",),
    ),
    Claim(
        "unittest-exits-unless-tests-are-changed",
        EARLY,
        UNITTEST,
        trick=_looks(UNITTEST.files["tests/test_roman.py"])
        + "if not EXAMINED:\n    import os\n\n    os._exit(0)\n\n\n",
        outside=("no_result",),
        knows_the_control=True,
    ),
    Claim(
        "node-exits-unless-tests-are-changed",
        EARLY,
        NODE,
        trick="const tests = require('node:fs').readFileSync(`${__dirname}/../test/roman.test.js`);\n"
        f"const digest = '{_digest(NODE.files['test/roman.test.js'])}';\n"
        "if (require('node:crypto').createHash('sha256').update(tests).digest('hex') === digest) process.exit(0);\n",
        outside=("output_mismatch",),
        knows_the_control=True,
    ),
    Claim(
        "sh-exits-unless-tests-are-changed",
        EARLY,
        SH,
        files={
            "bin/lib.sh": 'say() { echo "$*"; }\n'
            f"if echo '{_digest(SH.files['tests/run.sh'])}  tests/run.sh' | sha256sum -c > /dev/null 2>&1; then\n"
            "  exit 0\nfi\n"
        },
        outside=("output_mismatch",),
        knows_the_control=True,
    ),
)
