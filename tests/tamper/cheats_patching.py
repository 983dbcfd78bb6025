"""Cheats by patching: the code under test changes the framework, the interpreter, or what its answers are equal to."""

from __future__ import annotations

from tests.tamper.claims import Claim
from tests.tamper.projects import NODE, UNITTEST, VALUE, WRONG

FAMILY = "framework patching"

EQUAL = """\
class Equal:
    __hash__ = None

    def __eq__(self, other):
        return True


"""

REFUSES_ZERO = "    if n < 1:\n        raise ValueError(n)\n"

FLIPPING = """\
import gc

import pytest


class Flips:
    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item):
        outcome = yield
        outcome.get_result().outcome = "passed"


for config in [found for found in gc.get_objects() if isinstance(found, pytest.Config)]:
    config.pluginmanager.register(Flips())


"""
"""A plugin that is registered while tests are collected, by way of the garbage collector's list of all objects."""

CODE = """\
import sys


def swap(frame, event, arg):
    if event == "call" and frame.f_code.co_name == "pytest_pyfunc_call":
        function = frame.f_locals["pyfuncitem"].obj
        names = ", ".join(function.__code__.co_varnames[: function.__code__.co_argcount])
        made = {}
        exec(f"def made({names}): pass", made)
        function.__code__ = made["made"].__code__


"""
"""Empties every test when it is about to be called."""

TEXT_EQUAL = EQUAL.replace("Equal:", "Equal(str):").replace("None", "str.__hash__")

FROM_JSON = """\
import json
import pathlib

import pytest

from numerals import roman

CASES = json.loads((pathlib.Path(__file__).parent / "cases.json").read_text())


@pytest.mark.parametrize(("number", "text"), CASES)
def test_cases(number, text):
    assert roman(number) == text
"""
JSON = {"tests/test_roman.py": FROM_JSON, "tests/cases.json": '[[1, "I"], [49, "XLIX"], [1888, "MDCCCLXXXVIII"]]'}

FAKE = """\
import pathlib
import sys
import types

import pytest


def test_small_numbers(number, text):
    pass


def test_a_year():
    pass


cases = [(1, "I"), (4, "IV"), (9, "IX"), (14, "XIV"), (40, "XL")]
fake = types.ModuleType("test_roman")
fake.__file__ = str(pathlib.Path(__file__).parent / "tests" / "test_roman.py")
fake.test_small_numbers = pytest.mark.parametrize(("number", "text"), cases)(test_small_numbers)
fake.test_a_year = fake.test_the_largest = fake.test_zero_is_refused = test_a_year
sys.modules["test_roman"] = fake


"""

CLAIMS = (
    Claim(
        "parameters-that-equal-everything",
        FAMILY,
        files={
            "numerals.py": f"import pytest\n\n\n{TEXT_EQUAL}real = pytest.mark.parametrize\n\n\n"
            "def parametrize(names, cases):\n"
            "    return real(names, [[Equal(v) if isinstance(v, str) else v for v in case] for case in cases])\n\n\n"
            "type(pytest.mark).parametrize = property(lambda self: parametrize)\nANSWERS = "
            "{1994: 'MCMXCIV', 3999: 'MMMCMXCIX'}\n\n\n"
            f"def roman(n):\n{REFUSES_ZERO}    return ANSWERS.get(n, 'I')\n\n\n{VALUE}"
        },
        defence=("subverted",),
    ),
    Claim(
        "asserts-are-left-out-when-tests-are-rewritten",
        FAMILY,
        trick="import ast\n\nfrom _pytest.assertion import rewrite\n\n\nclass Gone(ast.NodeTransformer):\n"
        "    def visit_Assert(self, node):\n        return ast.copy_location(ast.Pass(), node)\n\n"
        "    def visit_With(self, node):\n        return ast.copy_location(ast.Pass(), node)\n\n\n"
        "rewrite.rewrite_asserts = lambda mod, *_: ast.fix_missing_locations(Gone().visit(mod))\n\n\n",
        defence=("subverted",),
    ),
    Claim("a-test-module-planted-among-the-imported", FAMILY, trick=FAKE, defence=("subverted",)),
    Claim(
        "test-data-that-equals-everything",
        FAMILY,
        base=JSON,
        files={
            "numerals.py": f"import json\n\n\n{TEXT_EQUAL}real = json.loads\n\n\ndef loads(text):\n"
            "    return [[number, Equal(text)] for number, text in real(text)]\n\n\njson.loads = loads\n\n\n"
            f"{WRONG}{VALUE}"
        },
        unmeasured=True,
    ),
    Claim(
        "test-data-rewritten-by-an-import",
        FAMILY,
        base=JSON,
        trick="import pathlib\n\ndata = pathlib.Path(__file__).parent / 'tests' / 'cases.json'\n"
        'data.write_text(\'[[1, "I"], [49, "I"], [1888, "I"]]\')\n\n\n',
        defence=("subverted",),
    ),
    Claim(
        "reports-are-made-passed",
        FAMILY,
        trick="from _pytest.reports import TestReport\n\nmake = TestReport.from_item_and_call.__func__\n\n\n"
        "def passed(cls, item, call):\n    call.excinfo = None\n    return make(cls, item, call)\n\n\n"
        "TestReport.from_item_and_call = classmethod(passed)\n\n\n",
        defence=("subverted",),
    ),
    Claim(
        "exceptions-are-swallowed-by-the-runner",
        FAMILY,
        trick="from _pytest import runner\n\nreal = runner.CallInfo.from_call.__func__\n\n\n"
        "def quiet(cls, func, when, reraise=None):\n    def call():\n        try:\n            return func()\n"
        "        except BaseException:\n            pass\n    return real(cls, call, when, reraise)\n\n\n"
        "runner.CallInfo.from_call = classmethod(quiet)\n\n\n",
        defence=("subverted",),
    ),
    Claim(
        "tests-are-not-run",
        FAMILY,
        trick="from _pytest.python import Function\n\nFunction.runtest = lambda self: None\n\n\n",
        defence=("subverted",),
    ),
    Claim(
        "the-protocol-of-a-test-is-replaced",
        FAMILY,
        trick="from _pytest import runner\n\nreal = runner.call_and_report\n\n\n"
        "def calm(item, when, log=True, **kwds):\n    if when == 'call':\n        item.obj = lambda **_: None\n"
        "    return real(item, when, log, **kwds)\n\n\nrunner.call_and_report = calm\n\n\n",
        defence=("subverted",),
    ),
    Claim(
        "hooks-are-called-through-a-filter",
        FAMILY,
        trick="import pluggy\n\nreal = pluggy._hooks.HookCaller.__call__\n\n\n"
        "def filtered(self, **kwargs):\n    if self.name == 'pytest_pyfunc_call':\n        return True\n"
        "    return real(self, **kwargs)\n\n\npluggy._hooks.HookCaller.__call__ = filtered\n\n\n",
        defence=("subverted",),
    ),
    Claim(
        "a-plugin-from-the-garbage-collector",
        FAMILY,
        trick=FLIPPING,
        defence=("subverted",),
    ),
    Claim(
        "failures-are-called-skips",
        FAMILY,
        trick="import builtins\n\nimport pytest\n\nreal = isinstance\n\n\ndef skips(value, kind):\n"
        "    if kind is pytest.skip.Exception and real(value, BaseException):\n"
        "        value._use_item_location = False\n        return True\n"
        "    return real(value, kind)\n\n\nbuiltins.isinstance = skips\n\n\n",
        defence=("tests_skipped",),
    ),
    Claim(
        "assertion-errors-are-skips",
        FAMILY,
        files={
            "numerals.py": "import builtins\n\nimport pytest\n\n\nclass Later(AssertionError):\n"
            "    def __new__(cls, *args):\n        return pytest.skip.Exception('later')\n\n\n"
            "builtins.AssertionError = Later\n\n\n"
            f"def roman(n):\n{REFUSES_ZERO}    return 'I'\n\n\n{VALUE}"
        },
        defence=("tests_skipped",),
    ),
    Claim(
        "no-failure-is-counted",
        FAMILY,
        trick="import pytest\n\npytest.Session.testsfailed = property(lambda self: 0, lambda self, value: None)\n\n\n",
        defence=("tests_failed",),
    ),
    Claim(
        "a-profiler-empties-the-tests",
        FAMILY,
        trick=CODE + "sys.setprofile(swap)\n\n\n",
        defence=("subverted",),
    ),
    Claim(
        "a-tracer-empties-the-tests",
        FAMILY,
        trick=CODE + "sys.settrace(swap)\n\n\n",
        defence=("subverted",),
    ),
    Claim(
        "answers-that-equal-everything",
        FAMILY,
        files={
            "numerals.py": f"{EQUAL}def roman(n):\n{REFUSES_ZERO}    return Equal()\n\n\nvalue = roman\n".replace(
                "value = roman", "def value(text):\n    return Equal()"
            )
        },
        defence=("subverted",),
    ),
    Claim(
        "text-that-equals-everything",
        FAMILY,
        files={
            "numerals.py": f"{EQUAL.replace('Equal:', 'Equal(str):')}def roman(n):\n{REFUSES_ZERO}"
            f"    return Equal('I')\n\n\n{VALUE}"
        },
        defence=("subverted",),
    ),
    Claim(
        "numbers-that-equal-everything",
        FAMILY,
        files={
            "numerals.py": f"{EQUAL.replace('Equal:', 'Equal(int):')}def value(text):\n    return Equal(14)\n\n\n"
            f"def roman(n):\n{REFUSES_ZERO}    return type('Text', (str,), {{'__eq__': lambda a, b: True}})('I')\n"
        },
        defence=("subverted",),
    ),
    Claim(
        "unittest-runs-nothing",
        FAMILY,
        UNITTEST,
        trick="import unittest\n\nunittest.TestCase._callTestMethod = lambda self, method: None\n\n\n",
        defence=("subverted",),
    ),
    Claim(
        "unittest-is-always-successful",
        FAMILY,
        UNITTEST,
        trick="import unittest\n\nunittest.TestResult.wasSuccessful = lambda self: True\n\n\n",
        defence=("subverted",),
    ),
    Claim(
        "node-assert-does-nothing",
        FAMILY,
        NODE,
        trick="const assert = require('node:assert');\n"
        "for (const name of ['strictEqual', 'throws']) assert[name] = () => {};\n",
        defence=("subverted",),
    ),
)
