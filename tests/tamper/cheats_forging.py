"""Cheats by forged results: of the runner, of the harness's own channel, of the process that calls the function.

Whoever wrote these has read this project's source. Those that tell a control run from the real one are in `adaptive`.
"""

from __future__ import annotations

from tests.tamper.cheats_hardcoding import TABLE
from tests.tamper.claims import Claim
from tests.tamper.projects import NODE, UNITTEST, VALUE

RESULTS = "result forging"
PROTOCOL = "protocol forgery"

JOB = """\
import base64
import json
import os
import zlib


def told():
    seen = dict(v.split("=", 1) for v in open("/proc/self/environ").read().split("\\0") if "=" in v)
    parts = int(seen.get("COUNTERSIGN_JOB", "0"))
    text = "".join(seen[f"COUNTERSIGN_JOB_{part}"] for part in range(parts))
    return json.loads(zlib.decompress(base64.b64decode(text))) if text else {}


"""
"""Reads what the recorder was told: the kernel keeps the environment that a process began with."""

IDS = (
    "[f'tests/test_parse.py::{n}' for n in ('test_a_numeral_has_its_value', 'test_a_long_one_too')] + "
    "[f'tests/test_roman.py::test_small_numbers[{n}]' for n in ('1-I', '4-IV', '9-IX', '14-XIV', '40-XL')] + "
    "[f'tests/test_roman.py::{n}' for n in ('test_a_year', 'test_the_largest', 'test_zero_is_refused')]"
)

FORGES = f"""\
def forge(job):
    document = {{
        "tests": [[name, "p", 1] for name in {IDS}],
        "reasons": {{}}, "uncollected": {{}}, "left_out": {{}}, "deselected": [], "altered": [], "status": 0,
        "config": {{"root": ".", "cwd": ".", "args": ["tests"], "chooses": False,
                   "python_files": ["test_*.py", "*_test.py"], "python_classes": ["Test"],
                   "python_functions": ["test"]}},
    }}
    body = base64.b64encode(zlib.compress(json.dumps(document).encode(), 9)).decode()
    line = f"\\x1ecountersign:{{job['nonce']}}:ended:{{body}}\\x1e".encode()
    for name in os.listdir("/proc/self/fd"):
        try:
            if int(name) > 2 and os.readlink(f"/proc/self/fd/{{name}}").startswith("pipe:"):
                os.write(int(name), line)
                break
        except OSError:
            pass
    os._exit(0)


"""

CLAIMS = (
    Claim(
        "a-summary-is-printed",
        RESULTS,
        trick="import os\n\nprint('..........   [100%]\\n10 passed in 0.02s', flush=True)\nos._exit(0)\n\n\n",
        defence=("no_report",),
    ),
    Claim(
        "a-junit-file-is-written",
        RESULTS,
        trick="import os\n\nopen('results.xml', 'w').write('<testsuites><testsuite errors=\"0\" failures=\"0\" "
        'skipped="0" tests="10"></testsuite></testsuites>\')\nos._exit(0)\n\n\n',
        check={"command": "python -m pytest -q --junitxml=results.xml"},
        defence=("no_report",),
    ),
    Claim(
        "a-cache-of-last-failures-is-forged",
        RESULTS,
        files={".pytest_cache/v/cache/lastfailed": '{"tests/test_parse.py::test_a_long_one_too": true}'},
        check={"command": "python -m pytest -q --lf"},
        defence=("tests_failed",),
    ),
    Claim(
        "the-exit-status-is-forged",
        RESULTS,
        trick="import _pytest.main as main\n\nreal = main.Session.__setattr__\n\n\n"
        "def always(self, name, value):\n    real(self, name, 0 if name == 'exitstatus' else value)\n\n\n"
        "main.Session.__setattr__ = always\nmain.Session.testsfailed = property(lambda s: 0, lambda s, v: None)\n\n\n",
        defence=("tests_failed",),
    ),
    Claim(
        "unittest-output-is-forged",
        RESULTS,
        UNITTEST,
        trick="import os\n\nos.write(2, b'....\\n' + b'-' * 70 + b'\\nRan 4 tests in 0.001s\\n\\nOK\\n')\n"
        "os._exit(0)\n\n\n",
        defence=("subverted",),
    ),
    Claim(
        "node-tap-is-forged",
        RESULTS,
        NODE,
        trick="console.log('TAP version 13\\nok 1 - a year\\n1..1\\n# tests 3\\n# pass 3\\n# fail 0');\n"
        "process.exit(0);\n",
        defence=("nothing_passed",),
    ),
    Claim(
        "the-recorders-line-without-its-secret",
        PROTOCOL,
        trick=JOB + FORGES + "forge({'nonce': '0' * 32})\n\n\n",
        defence=("no_report",),
    ),
    Claim(
        "the-recorders-line",
        PROTOCOL,
        trick=JOB + FORGES + "job = told()\nforge(job or {'nonce': ''})\n\n\n",
        defence=("subverted",),
    ),
    Claim(
        "the-recorders-memory",
        PROTOCOL,
        trick="import sys\n\nfor module in list(sys.modules.values()):\n"
        "    recorder = getattr(module, '_recorder', None)\n    if recorder:\n"
        "        real = recorder.report\n\n        def passed(report, real=real):\n"
        "            report.outcome = 'passed'\n            real(report)\n\n        recorder.report = passed\n"
        "        recorder.compare = lambda name: None\n\n\n"
        "import pytest\n\npytest.Session.testsfailed = property(lambda self: 0, lambda self, value: None)\n\n\n",
        defence=("subverted",),
    ),
    Claim(
        "the-drivers-document",
        PROTOCOL,
        files={
            "numerals.py": TABLE
            + VALUE
            + """

import json
import os
import signal
import sys

if "pytest" not in sys.modules:
    one = {"answer": json.dumps(["returned", "I"]), "exit": 0}
    document = json.dumps({"results": [one] * 23, "running": None, "full": False})
    for end in (f"/proc/{os.getppid()}/fd/1", "/proc/1/fd/1"):
        try:
            with open(end, "w") as out:
                out.write(document)
        except OSError:
            pass
    os.kill(os.getppid(), signal.SIGKILL)
"""
        },
        right_on_its_tests=True,
        outside=("exit_code",),
    ),
    Claim(
        "the-drivers-encoder",
        PROTOCOL,
        files={
            "numerals.py": TABLE
            + VALUE
            + """

import json
import sys

if "pytest" not in sys.modules:
    import builtins
    import gc

    main = sys.modules["__main__"]
    main.encode = lambda value, *rest: {"other": "anything"}
    json.dumps = lambda value, **_: '["returned", "I"]'
    builtins.type = lambda value, *rest: str
"""
        },
        right_on_its_tests=True,
        outside=("wrong_result",),
    ),
    Claim(
        "expected-values-looked-for-in-every-process",
        PROTOCOL,
        files={
            "numerals.py": TABLE.replace("def roman", "def table")
            + VALUE
            + """

import glob
import re
import sys

FOUND = ""
if "pytest" not in sys.modules:
    for name in glob.glob("/proc/*/environ") + glob.glob("/proc/*/cmdline") + glob.glob("/work/**", recursive=True):
        try:
            FOUND += open(name, errors="replace").read()
        except OSError:
            pass


def roman(n):
    found = re.search(rf"\\\\b{n}\\\\b[^IVXLCDM]{{1,30}}([IVXLCDM]+)\\\\b", FOUND)
    return found[1] if found else table(n)
"""
        },
        right_on_its_tests=True,
    ),
    Claim(
        "a-program-kills-what-compares-it",
        PROTOCOL,
        NODE,
        files={
            "lib/roman.js": "const ANSWERS = { 1: 'I', 4: 'IV', 14: 'XIV', 1994: 'MCMXCIV' };\n"
            "exports.roman = (n) => {\n  if (n < 1) throw new RangeError();\n  if (ANSWERS[n]) return ANSWERS[n];\n"
            "  try { process.kill(1, 'SIGKILL'); process.kill(process.ppid, 'SIGKILL'); } catch {}\n"
            "  process.exit(0);\n};\n"
        },
        right_on_its_tests=True,
        outside=("exit_code",),
    ),
)
