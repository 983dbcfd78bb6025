"""Which literals of tests are changed, into what, and that a decisive change fails every honest implementation."""

from __future__ import annotations

import ast
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.mutation.edits import edited
from domain.mutation.literals import Constraint, constraints

SEED = 7


def only(body: str, seed: int = SEED) -> Constraint | None:
    """The constraint of a file with one test function, of these lines."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    found = constraints(f"def test_a(x=1):\n{lines}".encode(), seed)
    assert len(found) <= 1
    return found[0] if found else None


def changed(expression: str) -> str:
    """What `expression` becomes as the operand of an assertion."""
    source = f"def test_a():\n    assert f() == {expression}\n".encode()
    (constraint,) = constraints(source, SEED)
    assert constraint.decisive
    return edited(source, [constraint.edit]).decode().partition("== ")[2].removesuffix("\n")


DECISIVE = (
    "assert f(2) == 4",
    "assert 4 == f(2)",
    "assert f(2) == -4, 'a message'",
    "assert f() is True",
    "assert f() is None",
    "assert f() == None",
    "assert f() == {'a': 1, 'b': [2, {'c': 3}]}",
    "assert f() == [g(), 3]",
    "assert f() == {*g(), 3}",
    "assert f() == []",
    "assert f() == pytest.approx(0.1)",
    "assert x and f() == 4",
    "with open('file') as file:\n    assert file.read() == 'text'",
    "async with session() as s:\n    assert s.get() == 'text'",
    "with pytest.raises(ValueError):\n    f(-1)\nassert f(2) == 4",
    "for i in range(3):\n    f(i)\nassert f(2) == 4",
    "def inner():\n    return 3\nassert f(inner) == 4",
    "expected = 'text'\nassert f(2) == expected",
    "expected: int = 4\nassert f(2) == expected",
    "self.assertEqual(f(2), 4)",
    "self.assertEqual(4, f(2), 'a message')",
    "self.assertEqual(f(2), 4, msg='a message')",
    "self.assertListEqual(f(2), [4])",
    "self.assertCountEqual(f(2), [4])",
    "self.assertTrue(f(2) == 4)",
    "self.assertIs(f(2), False)",
    "self.assertAlmostEqual(f(2), 0.5)",
)


@pytest.mark.parametrize("body", DECISIVE)
def test_comparisons_that_have_to_hold_are_decisive(body: str) -> None:
    found = only(body)
    assert found
    assert found.decisive
    assert "message" not in found.shown


DOUBTFUL = (
    "assert f(2) != 4",
    "assert f(2) < 4",
    "assert 4 in f(2)",
    "assert not f(2) == 4",
    "assert f(2) == 4 or x",
    "assert 3 < f(2) == 4",
    "assert f(4)",
    "assert f(2) is 4.0",
    "assert 4 == 4",
    "assert 2 + 2 == 4",
    "assert f(2) == 'a' + 'b'",
    "assert f() == pytest.approx(0.1, abs=5)",
    "assert pytest.approx(f(), abs=1e9) == 4",
    "assert ANY == 4",
    "assert mock.ANY == 4",
    "assert IsInt() == 4",
    "is_int = IsInt()\nassert is_int == 4",
    "assert f() == {'a': 1, **g()}",
    "assert f() == {'a': 1, 'a': g()}",
    "assert f() == {KEY: 1, 'a': g()}",
    "if x:\n    assert f(2) == 4",
    "for y in f():\n    assert y == 4",
    "while x:\n    assert f(2) == 4",
    "try:\n    assert f(2) == 4\nfinally:\n    f()",
    "def inner():\n    assert f(2) == 4\nassert inner(3) < 4",
    "with pytest.raises(error):\n    assert f(2) == 4",
    "with pytest.raises(KeyboardInterrupt):\n    assert f(2) == 4",
    "with pytest.raises(pytest.skip.Exception):\n    assert f(2) == 4",
    "with self.assertRaises((ValueError, SystemExit)):\n    assert f(2) == 4",
    "with contextlib.suppress(OSError), pytest.raises(ValueError):\n    assert f(2) == 4",
    "with contextlib.suppress(AssertionError):\n    assert f(2) == 4",
    "with self.subTest():\n    assert f(2) == 4",
    "with expectation:\n    assert f(2) == 4",
    "with trio.move_on_after(1):\n    assert f(2) == 4",
    "if not f:\n    return\nassert f(2) == 4",
    "if not f:\n    pytest.skip('no f')\nassert f(2) == 4",
    "pytest.importorskip('numpy')\nassert f(2) == 4",
    "self.skipTest('no')\nassert f(2) == 4",
    "with open('file'):\n    if x:\n        return\nassert f(2) == 4",
    "try:\n    f()\nexcept OSError:\n    return\nassert f(2) == 4",
    "if x:\n    raise ValueError\nassert f(2) == 4",
    "self.assertNotEqual(f(2), 4)",
    "self.assertIn(4, f(2))",
    "self.assertTrue(f(2) > 4, 'a message')",
    "self.assertAlmostEqual(f(2), 4, delta=10**9)",
    "self.assertAlmostEqual(f(2), 4, -9)",
    "other.assertEqual(f(2), 4)",
    "self.assertEqual(*f(2), 4, 5)",
    "mock.assert_called_once_with(4)",
)


@pytest.mark.parametrize("body", DOUBTFUL)
def test_in_doubt_a_change_is_not_decisive(body: str) -> None:
    found = only(body)
    assert found
    assert not found.decisive
    assert "message" not in found.shown


@pytest.mark.parametrize(
    ("body", "after"),
    [
        ("with pytest.raises(ValueError):\n    f(-1)", "with pytest.raises(BytesWarning):"),
        (
            "with pytest.raises(ValueError, match='-1') as e:\n    f(-1)",
            "with pytest.raises(BytesWarning, match='-1') as e:",
        ),
        ("with pytest.raises((ValueError, a.Error)):\n    f(-1)", "with pytest.raises(BytesWarning):"),
        ("with raises(expected_exception=a.Error):\n    f(-1)", "with raises(expected_exception=BytesWarning):"),
        ("with pytest.raises(AssertionError):\n    assert f(2) == 4", "with pytest.raises(BytesWarning):"),
        ("with self.assertRaises(AssertionError):\n    assert f(2) == 4", "with self.assertRaises(BytesWarning):"),
        ("with pytest.warns(UserWarning), open('file'):\n    f()", "with pytest.warns(BytesWarning), open('file'):"),
        ("self.assertRaises(ValueError, f, -1)", "self.assertRaises(BytesWarning, f, -1)"),
        ("e = pytest.raises(ValueError, f, -1)\nassert e", "e = pytest.raises(BytesWarning, f, -1)"),
        (
            "with open('file') as f:\n    with pytest.raises(OSError):\n        f()",
            "    with pytest.raises(BytesWarning):",
        ),
    ],
)
def test_another_exception_is_expected(body: str, after: str) -> None:
    found = only(body)
    assert found
    assert found.decisive
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    changed = edited(f"def test_a(x=1):\n{lines}".encode(), [found.edit])
    assert f"    {after}\n" in changed.decode()


@pytest.mark.parametrize(
    "body",
    [
        "expected = 4\nassert f(expected) == expected",
        "expected = other = 4\nassert f(other) == expected",
        "expected = 4\nif x:\n    expected = 5\nassert f(2) == expected",
        "if x:\n    expected = 4\nassert f(2) == expected",
        "global expected\nexpected = 4\nassert f(2) == expected",
        "expected = 4\nassert f(**locals()) == expected",
    ],
)
def test_a_name_that_something_else_sees_decides_nothing(body: str) -> None:
    found = only(body)
    assert found is None or not found.decisive


@pytest.mark.parametrize(
    "body",
    ["f(4)", "assert f()", "assert f()['key']", "assert f'{x}4' == g()", "assert f() == 2j", "x = 4", "f(...)"],
)
def test_without_a_literal_in_an_assertion_nothing_is_measured(body: str) -> None:
    assert only(body) is None


@pytest.mark.parametrize(
    ("body", "before"),
    [
        ("assert f(1) < 2\nassert f(3) == 4\nassert g(5)", "4"),
        ("assert f(3) == {'a': 1, **g()}\nassert f(3) == 4", "4"),
        ("if x:\n    assert f(1) == 2\nassert g(5)", "2"),
        ("assert f(1)\nassert f(x) < 2", "2"),
    ],
)
@pytest.mark.parametrize("seed", range(5))
def test_what_decides_comes_first_then_what_is_compared(body: str, before: str, seed: int) -> None:
    found = only(body, seed)
    assert found
    assert f": {before} -> " in found.shown


@pytest.mark.parametrize(
    ("literal", "pattern"),
    [
        ("'text'", "'[a-z]{8}text'"),
        ('r"\\d"', r'r"[a-z]{8}\\d"'),
        ("b'\\x00'", r"b'[a-z]{8}\\x00'"),
        ('""', '"[a-z]{8}"'),
        ('"""a\nb"""', '"""[a-z]{8}a\nb"""'),
        ('("a"\n  "b")', '\\("[a-z]{8}a"\n  "b"\\)'),
        ("4", r"\d{5}"),
        ("-4", r"-\d{5}"),
        ("0x10", r"\d{5}"),
        ("1_000", r"\d{5,6}"),
        ("0.25", r"\d{5}\.25"),
        ("-0.5", r"-\d{5}\.5"),
        ("1e400", r"\d{5}\.5"),
        ("True", "False"),
        ("None", r"\d{5}"),
        ("[]", r"\[\d{5}\]"),
        ("()", r"\(\d{5},\)"),
        ("{}", r"\{'[a-z]{8}': \d{5}\}"),
        ("[  # none\n]", r"\[\d{5}  # none\n\]"),
        ("[1, 2]", r"\[1, \d{5}\]"),
        ("(1, (2, 3), ...)", r"\(1, \(2, \d{5}\), ...\)"),
        ("{'a': 1, 'b': ''}", r"\{'a': 1, 'b': '[a-z]{8}'\}"),
        ("{1, -2}", r"\{1, -\d{5}\}"),
    ],
)
def test_only_the_literal_changes_and_keeps_its_form(literal: str, pattern: str) -> None:
    assert re.fullmatch(pattern, changed(literal))


@pytest.mark.parametrize("literal", ["1000000000000", "-1000000000000", "2e12", "-1e300", "0x" + 5_000 * "f"])
def test_large_numbers_change_by_more_than_a_tolerance(literal: str) -> None:
    before, after = ast.literal_eval(literal), ast.literal_eval(changed(literal))
    assert abs(after - before) * 3 > abs(before)


def test_identity_with_none_becomes_no_warning_of_the_compiler() -> None:
    found = only("assert f() is None")
    assert found
    assert found.edit.text == "True"


@pytest.mark.parametrize(
    ("before", "decisive"),
    [
        ("@pytest.mark.xfail", None),
        ("@pytest.mark.xfail(strict=False)", None),
        ("@pytest.mark.skip(reason='no')", None),
        ("@unittest.expectedFailure", None),
        ("@unittest.skip('no')", None),
        ("pytestmark = pytest.mark.xfail", None),
        ("pytestmark = [pytest.mark.slow, pytest.mark.xfail()]", None),
        ("@pytest.mark.skipif(sys.platform == 'win32', reason='no')", True),
        ("@pytest.mark.filterwarnings('ignore')", True),
        ("@mock.patch('module.name')", True),
        ("@given(st.integers())", True),
        ("@retry(3)", False),
        ("@expect_failure", False),
        ("pytestmark = pytest.mark.slow", True),
    ],
)
def test_marks_and_decorators(before: str, decisive: bool | None) -> None:
    found = constraints(f"{before}\nasync def test_a():\n    assert f() == 4\n".encode(), SEED)
    assert [constraint.decisive for constraint in found] == ([] if decisive is None else [decisive])


NAMES = """
import pytest

def helper():
    assert f() == 1

class TestA:
    def test_b(self):
        assert f() == 2

    class TestInner:
        async def test_c(self):
            assert f() == 3

    @staticmethod
    def helper():
        assert f() == 4

@pytest.mark.xfail
class TestB:
    def test_b(self):
        assert f() == 5

class Cases(unittest.TestCase):
    pytestmark = [pytest.mark.skip]
    def test_d(self):
        self.assertEqual(f(), 6)

def test_twice():
    assert f() == 7

def test_twice():
    assert f() == 8

def test_generator():
    yield 9
    assert f() == 9
"""


def test_functions_are_named_as_pytest_names_them() -> None:
    found = {c.function: c.shown.partition(" -> ")[0] for c in constraints(NAMES.encode(), SEED)}
    assert found == {
        "TestA::test_b": "line 9: 2",
        "TestA::TestInner::test_c": "line 13: 3",
        "test_twice": "line 33: 8",
    }


DEEP = "def test_a():\n    assert f() == " + "-" * 5_000 + "4\n"
LONG = "def test_a():\n    assert f(" + "1 + " * 700 + "1) < 4\n"


@pytest.mark.parametrize(
    "source",
    [
        b"",
        b"def test_a(:",
        b"def test_a():\n    assert f() == 4\x00\n",
        b"def test_a():\n    assert f() == '\xe9'\n",
        b"# -*- coding: latin-1 -*-\ndef test_a():\n    assert f() == 4\n",
        b"#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\ndef test_a():\n    assert f() == 4\n",
        DEEP.encode(),
        b"(" * 10_000,
    ],
    ids=range(8),
)
def test_what_cannot_be_read_has_none(source: bytes) -> None:
    assert constraints(source, SEED) == ()


def test_long_expressions_are_read() -> None:
    assert [c.decisive for c in constraints(LONG.encode(), SEED)] == [False]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_places_are_bytes_whatever_the_newlines(newline: str, mark: bytes) -> None:
    lines = ["# coding: utf-8", "x = 'ä€😀'", "def test_a():", "    assert f('ä') == 'ö'", "", "", ""]
    source = mark + newline.join(lines).encode()
    (constraint,) = constraints(source, SEED)
    expected = source.replace("'ö'".encode(), f"'{constraint.edit.text}ö'".encode())
    assert edited(source, [constraint.edit]) == expected
    first = mark + "def test_a(): assert 'ä' + f() == 4".encode()
    (constraint,) = constraints(first, SEED)
    assert edited(first, [constraint.edit]) == first.replace(b"4", constraint.edit.text.encode())


literals = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False),
        st.text(st.characters(exclude_categories=["Cs"])),
        st.binary(),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    ),
    max_leaves=6,
).map(lambda value: repr(value).replace("inf", "1e999"))


@given(st.lists(st.tuples(literals, literals), min_size=1, max_size=4), st.integers(0, 99))
def test_every_change_is_another_value_and_nothing_else_changes(pairs: list[tuple[str, str]], seed: int) -> None:
    source = "".join(
        f"@pytest.mark.parametrize('x', [{left}, {left}])\n"
        f"def test_{number}(x):\n    assert f() == x\n\n"
        f"class Test{number}:\n    def test(self):\n        assert f({left}) == {right}\n"
        for number, (left, right) in enumerate(pairs)
    ).encode()
    found = constraints(source, seed)
    assert len(found) == 3 * len(pairs)
    assert found == constraints(source, seed)
    after = edited(source, [constraint.edit for constraint in found])
    assert ast.unparse(ast.parse(after)) != ast.unparse(ast.parse(source))
    for constraint in found:
        start, end = constraint.edit.start, constraint.edit.end
        one = edited(source, [constraint.edit])
        assert (one[:start], one[len(one) - len(source) + end :]) == (source[:start], source[end:])
        assert len(one.splitlines()) == len(source.splitlines())
        assert asserted_values(one) != asserted_values(source)


def asserted_values(source: bytes) -> list[object]:
    """The values of every literal after `==` and of every parameter set."""
    found: list[object] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare) and not isinstance(node.comparators[0], ast.Name):
            found.append(ast.literal_eval(node.comparators[0]))
        elif isinstance(node, ast.FunctionDef):
            calls = [call for call in node.decorator_list if isinstance(call, ast.Call)]
            found += [ast.literal_eval(call.args[1]) for call in calls]
    return found
