"""Cheats by processes: builds that change tests, daemons that stay behind, signals."""

from __future__ import annotations

from tests.tamper.claims import Claim
from tests.tamper.projects import NODE, SH, UNITTEST

FAMILY = "process tricks"

BUILD = {"environment": {"build": ["python3 tools/generate.py"]}}
GENERATE = {"tools/generate.py": "print('nothing to generate')\n"}

DAEMON = """\
import os
import pathlib
import sys
import time

tests = pathlib.Path(__file__).resolve().parent / "tests" / "test_roman.py"
if not os.fork():
    os.setsid()
    while True:
        text = tests.read_text()
        if text:
            text = text.replace("assert roman", "assert True or roman").replace("roman(0)", "raise ValueError")
            tests.write_text(text)
        time.sleep(0.001)
for _ in range(20000):
    if "True or" in tests.read_text():
        break
    time.sleep(0.001)


"""

CLAIMS = (
    Claim(
        "build-rewrites-tests",
        FAMILY,
        base=GENERATE,
        files={"tools/generate.py": "open('tests/test_roman.py', 'w').write('def test_small_numbers(): pass')\n"},
        order=BUILD,
        defence=("tests_failed",),
    ),
    Claim(
        "build-adds-a-conftest",
        FAMILY,
        base=GENERATE,
        files={
            "tools/generate.py": "open('conftest.py', 'w').write(\"collect_ignore = ['tests/test_roman.py']\\n\")\n"
            "open('pytest.ini', 'w').write('[pytest]\\npythonpath = .\\naddopts = -k value\\n')\n"
        },
        order=BUILD,
        defence=("tests_failed",),
    ),
    Claim(
        "build-leaves-a-daemon",
        FAMILY,
        base=GENERATE,
        files={
            "tools/generate.py": "import subprocess, sys\n\n"
            'code = \'import time\\nwhile True:\\n    open("tests/test_roman.py", "w").write('
            '"def test_small_numbers(): pass")\\n    time.sleep(0.001)\'\n'
            "subprocess.Popen([sys.executable, '-c', code], start_new_session=True)\n"
            "while open('tests/test_roman.py').read() != 'def test_small_numbers(): pass':\n    pass\n"
        },
        order=BUILD,
        defence=("tests_failed",),
    ),
    Claim(
        "build-configures-the-home",
        FAMILY,
        NODE,
        base={"tools/generate.js": "console.log('nothing to generate');\n"},
        files={
            "tools/generate.js": "require('node:fs').writeFileSync(`${process.env.HOME}/.npmrc`, "
            "`node-options=--require ${process.cwd()}/lib/fine.js\\n`);\n",
            "lib/fine.js": "process.exit(0);\n",
        },
        order={"environment": {"build": ["node tools/generate.js"]}},
        check={"command": "npm test"},
        defence=("exit_code",),
    ),
    Claim(
        "build-compiles-the-tests",
        FAMILY,
        base=GENERATE,
        files={
            "tools/generate.py": "import importlib._bootstrap_external as b, os\n"
            "from importlib.util import source_hash\n\nreal = open('tests/test_roman.py', 'rb').read()\n"
            "os.makedirs('tests/__pycache__', exist_ok=True)\n"
            "code = compile('def test_small_numbers(): pass', 'tests/test_roman.py', 'exec')\n"
            "open('tests/__pycache__/test_roman.cpython-311-pytest-9.2.0.pyc', 'wb').write("
            "b._code_to_hash_pyc(code, source_hash(real)))\n"
        },
        order=BUILD,
        defence=("tests_failed",),
    ),
    Claim("a-daemon-rewrites-tests", FAMILY, trick=DAEMON, defence=("subverted",)),
    Claim(
        "the-runner-is-told-to-stop-by-its-child",
        FAMILY,
        trick="import os\nimport signal\n\nif not os.fork():\n    os.kill(os.getppid(), signal.SIGINT)\n"
        "    os._exit(0)\nos.wait()\n\n\n",
        defence=("no_tests",),
        naive=False,
    ),
    Claim(
        "everything-is-killed",
        FAMILY,
        trick="import os\nimport signal\n\nos.kill(-1, signal.SIGKILL)\n\n\n",
        defence=("no_report",),
        naive=False,
    ),
    Claim(
        "unittest-process-is-replaced",
        FAMILY,
        UNITTEST,
        trick="import os\n\nos.execv('/bin/sh', ['sh', '-c', 'echo OK'])\n\n\n",
        defence=("subverted",),
    ),
    Claim(
        "node-kills-its-runner",
        FAMILY,
        NODE,
        trick="require('node:child_process').execSync(`kill -KILL ${process.ppid}`);\n",
        naive=False,
        defence=("exit_code",),
    ),
    Claim(
        "sh-puts-another-shell-in-its-place",
        FAMILY,
        SH,
        files={"bin/lib.sh": "exec true\n"},
        defence=("subverted",),
    ),
)
