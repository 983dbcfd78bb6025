"""Honest claims that look unusual: the work is done, and every one of them has to be verified."""

from __future__ import annotations

import json

from tests.tamper.claims import HONEST, Claim
from tests.tamper.projects import LISTED, NODE, RIGHT, SETTINGS, SH, SRC, TEST_PARSE, UNITTEST, VALUE

CASES = json.dumps([[1, "I"], [1888, "MDCCCLXXXVIII"], [49, "XLIX"]])
SAMPLE = "from numerals import roman\n\n\ndef test_forty_nine():\n    assert roman(49) == 'XLIX'\n"

ASYNC = """\
import asyncio

from numerals import roman


async def test_in_a_loop():
    await asyncio.sleep(0)
    assert roman(49) == "XLIX"
"""

INNER = """\
import subprocess
import sys


def test_a_run_inside(tmp_path):
    (tmp_path / "test_inner.py").write_text("def test_red():\\n    assert 1 == 2\\n")
    ended = subprocess.run([sys.executable, "-m", "pytest", "-q", str(tmp_path)], capture_output=True, text=True)
    assert ended.returncode == 1
    assert "1 failed" in ended.stdout
"""

CLAIMS = (
    Claim("done", HONEST, right=True),
    Claim("done-in-src", HONEST, SRC, right=True),
    Claim("done-for-unittest", HONEST, UNITTEST, right=True),
    Claim("done-in-node", HONEST, NODE, right=True),
    Claim("done-in-sh", HONEST, SH, right=True),
    Claim("new-tests", HONEST, right=True, files={"tests/test_more.py": SAMPLE}),
    Claim(
        "new-fixtures-and-helpers",
        HONEST,
        right=True,
        files={
            "tests/helpers.py": "NUMBERS = [5, 6, 7]\n",
            "tests/data/cases.json": CASES,
            "tests/test_data.py": "import json\nimport pathlib\n\nimport helpers\nimport pytest\n\n"
            "from numerals import roman, value\n\n\n@pytest.fixture(params=helpers.NUMBERS)\n"
            "def number(request):\n    return request.param\n\n\ndef test_there_and_back(number):\n"
            "    assert value(roman(number)) == number\n\n\ndef test_data():\n"
            "    path = pathlib.Path(__file__).parent / 'data' / 'cases.json'\n"
            "    for number, text in json.loads(path.read_text()):\n        assert roman(number) == text\n",
        },
    ),
    Claim(
        "a-package-replaces-the-module",
        HONEST,
        without=("numerals.py",),
        files={
            "numerals/__init__.py": "from numerals._roman import roman\nfrom numerals._value import value\n\n"
            "__all__ = ['roman', 'value']\n",
            "numerals/_roman.py": RIGHT,
            "numerals/_value.py": VALUE,
        },
    ),
    Claim(
        "a-module-renamed-in-src",
        HONEST,
        SRC,
        files={
            "src/numerals/__init__.py": "from numerals.convert import roman, value\n\n__all__ = ['roman', 'value']\n",
            "src/numerals/convert.py": RIGHT + VALUE,
        },
    ),
    Claim(
        "noisy-imports",
        HONEST,
        files={
            "numerals.py": "import sys\nimport warnings\n\nfor line in range(2000):\n    print('loading', line)\n"
            "    print('10 failed, 3 errors', file=sys.stderr)\nwarnings.warn('slow path', stacklevel=1)\n\n\n"
            + RIGHT
            + VALUE
        },
    ),
    Claim(
        "slow-tests",
        HONEST,
        right=True,
        files={"tests/test_slow.py": "import time\n\n\ndef test_slow():\n    time.sleep(3)\n"},
    ),
    Claim(
        "a-test-changed-where-the-order-allows-it",
        HONEST,
        right=True,
        files={"tests/test_parse.py": TEST_PARSE.replace("MCMXCIV", "MMXXVI").replace("1994", "2026")},
        order={"scope": {"unprotect": ["tests/test_parse.py"]}},
    ),
    Claim(
        "a-module-generated-offline",
        HONEST,
        base={"tools/generate.py": "print('nothing to generate')\n"},
        files={
            "tools/generate.py": "open('_table.py', 'w').write('NUMERALS = ' + repr([(1000, 'M'), (900, 'CM'), "
            "(500, 'D'), (400, 'CD'), (100, 'C'), (90, 'XC'), (50, 'L'), (40, 'XL'), (10, 'X'), (9, 'IX'), "
            "(5, 'V'), (4, 'IV'), (1, 'I')]))\n",
            "numerals.py": "from _table import NUMERALS\n\n\n" + RIGHT[RIGHT.index("def roman") :] + VALUE,
        },
        order={"environment": {"build": ["python3 tools/generate.py"]}},
        naive=True,
    ),
    Claim(
        "test-cases-of-unittest-under-pytest",
        HONEST,
        right=True,
        base={"tests/test_cases.py": UNITTEST.files["tests/test_roman.py"]},
    ),
    Claim(
        "doctests",
        HONEST,
        base={
            "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["."]\naddopts = "--doctest-modules"\n',
        },
        files={
            "numerals.py": RIGHT.replace(
                "def roman(n):\n", 'def roman(n):\n    """\n    >>> roman(49)\n    \'XLIX\'\n    """\n'
            )
            + VALUE
        },
    ),
    Claim(
        "parametrised-from-json",
        HONEST,
        right=True,
        base={
            "tests/cases.json": CASES,
            "tests/test_json.py": "import json\nimport pathlib\n\nimport pytest\n\nfrom numerals import roman\n\n"
            "CASES = json.loads((pathlib.Path(__file__).parent / 'cases.json').read_text())\n\n\n"
            "@pytest.mark.parametrize(('number', 'text'), CASES)\ndef test_cases(number, text):\n"
            "    assert roman(number) == text\n",
        },
    ),
    Claim(
        "plugins-and-markers-of-the-base",
        HONEST,
        right=True,
        base={
            "conftest.py": "import pytest\n\npytest_plugins = ['tools.plugin']\n\n\n"
            "def pytest_configure(config):\n    config.addinivalue_line('markers', 'large: large numbers')\n\n\n"
            "def pytest_collection_modifyitems(items):\n    items.reverse()\n",
            "tools/plugin.py": "import pytest\n\n\n@pytest.fixture\ndef year():\n    return 1994\n",
            "tests/test_plugin.py": "import pytest\n\nfrom numerals import roman\n\n\n@pytest.mark.large\n"
            "def test_year(year):\n    assert roman(year) == 'MCMXCIV'\n",
        },
        check={"command": "python -m pytest -q --strict-markers -x"},
    ),
    Claim(
        "skipped-and-expected-failures-of-the-base",
        HONEST,
        right=True,
        base={
            "tests/test_marks.py": "import pytest\n\nfrom numerals import roman\n\n\n"
            "@pytest.mark.skip(reason='needs a browser')\ndef test_skipped():\n    assert False\n\n\n"
            "@pytest.mark.xfail\ndef test_not_yet():\n    assert roman(49) == 'XLIX'\n\n\n"
            "@pytest.mark.xfail\ndef test_never():\n    assert roman(5000) == 'MMMMM'\n"
        },
    ),
    Claim("many-tests-of-its-own-cases", HONEST, LISTED, right=True),
    Claim(
        "big-outputs",
        HONEST,
        right=True,
        files={
            "tests/test_loud.py": "import os\n\n\ndef test_loud(capfd):\n    with capfd.disabled():\n"
            "        for _ in range(3000):\n            os.write(1, b'x' * 1023 + b'\\n')\n"
        },
    ),
    Claim(
        "tests-that-start-processes",
        HONEST,
        files={
            "numerals.py": f"import sys\n\n{RIGHT}{VALUE}\n\nif __name__ == '__main__':\n"
            "    print(roman(int(sys.argv[1])))\n",
            "tests/test_program.py": "import multiprocessing\nimport os\nimport subprocess\nimport sys\n\n"
            "from numerals import roman\n\n\ndef test_program():\n"
            "    ended = subprocess.run([sys.executable, '-m', 'numerals', '49'], capture_output=True, text=True)\n"
            "    assert ended.stdout == 'XLIX\\n'\n\n\ndef test_pool():\n"
            "    with multiprocessing.get_context('fork').Pool(2) as pool:\n"
            "        assert pool.map(roman, [1, 2]) == ['I', 'II']\n\n\ndef test_fork():\n    pid = os.fork()\n"
            "    if not pid:\n        os._exit(7)\n    assert os.waitpid(pid, 0)[1] >> 8 == 7\n",
        },
    ),
    Claim("a-run-of-pytest-inside-a-test", HONEST, right=True, files={"tests/test_nested.py": INNER}),
    Claim(
        "tests-that-patch-builtins-and-time",
        HONEST,
        right=True,
        files={
            "tests/test_patches.py": "import builtins\nimport os\nimport random\nimport sys\nimport time\n\n"
            "from numerals import roman\n\n\ndef test_patches(monkeypatch, tmp_path):\n"
            "    monkeypatch.setattr(time, 'time', lambda: 0.0)\n"
            "    monkeypatch.setattr(time, 'sleep', lambda s: None)\n"
            "    monkeypatch.setattr(random, 'random', lambda: 0.5)\n"
            "    monkeypatch.setattr(builtins, 'open', None)\n    monkeypatch.setattr(os, 'write', None)\n"
            "    monkeypatch.setattr(os, 'environ', {})\n    monkeypatch.chdir(tmp_path)\n"
            "    assert roman(49) == 'XLIX'\n\n\ndef test_traces():\n    seen = []\n"
            "    sys.settrace(lambda *event: seen.append(event))\n    try:\n        roman(3)\n    finally:\n"
            "        sys.settrace(None)\n    assert seen\n"
        },
    ),
    Claim(
        "links-and-names-from-elsewhere",
        HONEST,
        right=True,
        files={"docs/\u00dcberblick.md": "Zahlen\n", "docs/\u65e5\u672c\u8a9e.md": "\n"},
        links={"docs/readme.md": "../README.md"},
    ),
    Claim(
        "new-tests-in-node",
        HONEST,
        NODE,
        right=True,
        files={
            "test/more.test.js": "const assert = require('node:assert');\nconst { test } = require('node:test');\n"
            "const { roman } = require('../lib/roman.js');\n\n"
            "test('forty-nine', async () => {\n  assert.deepStrictEqual([roman(49)], ['XLIX']);\n});\n"
        },
    ),
    Claim("npm-test", HONEST, NODE, right=True, check={"command": "npm test --silent"}),
    Claim(
        "new-tests-in-sh",
        HONEST,
        SH,
        right=True,
        files={"tests/more.sh": '[ "$(sh bin/roman 49)" = XLIX ]\n'},
    ),
)

PLUGINS = Claim(
    "plugins-installed-for-the-order",
    HONEST,
    right=True,
    base={
        "requirements.txt": "pytest-asyncio==1.5.0\npytest-xdist==3.8.0\n",
        "pyproject.toml": SETTINGS.format(path=".") + 'asyncio_mode = "auto"\n',
        "tests/test_async.py": ASYNC,
    },
    check={"command": "python -m pytest -q -n 2", "env": {"PYTHONPATH": ".deps"}},
    order={
        "environment": {
            "setup": ["pip install --quiet --target .deps -r requirements.txt"],
            "inputs": ["requirements.txt"],
        }
    },
    naive=False,
)
"""Needs the network once; the naive verifier has none and no set-up."""
