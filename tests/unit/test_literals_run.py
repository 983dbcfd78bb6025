"""Changed tests, run: an honest implementation fails where the change is decisive, what equals everything does not."""

from __future__ import annotations

import asyncio
import unittest
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from domain.mutation.edits import edited
from domain.mutation.literals import constraints

HONEST = """
def square(n):
    return n * n

def half(n):
    return n / 2

def is_even(n):
    return n % 2 == 0

def words(text):
    return text.split()

def count(text):
    return {word: text.split().count(word) for word in text.split()}

def missing(n):
    if n < 0:
        raise ValueError(n)
    return None
"""

CHEAT = """
class Equal(str):
    __hash__ = str.__hash__
    def __eq__(self, other):
        return True
    def __bool__(self):
        return True

def square(n):
    return Equal()

half = is_even = words = count = missing = square
"""

TESTS = """
import contextlib
import unittest
import unittest.mock
import pytest
from hypothesis import given, settings, strategies as st

@pytest.mark.parametrize("n, expected", [(2, 4), (-3, 9), pytest.param(0, 0, id="zero"), (0.5, 0.25)])
def test_square(n, expected):
    assert square(n) == expected

@pytest.mark.parametrize(("n", "even"), [(2, True), (3, False)])
def test_is_even(n, even):
    assert is_even(n) is even

@pytest.mark.parametrize("n", [3, 5])
def test_odd(n):
    assert not is_even(n)

@pytest.mark.parametrize("n, expected", [(2, 4)])
def test_all_at_once(n, expected):
    for each in [n]:
        assert square(each) == expected

def test_half():
    assert half(3) == pytest.approx(1.5)
    assert half(2e9) == pytest.approx(1e9)
    assert half(2e300) == 1e300

def test_large():
    assert square(10**40) == 100000000000000000000000000000000000000000000000000000000000000000000000000000000

def test_words():
    expected = ["a", "b"]
    assert words("a b") == expected and words("") == []

def test_text():
    assert words("caf\\u00e9 'au' lait")[1] == "'au'"
    assert " ".join(words("a  b")) == 'a b'

def test_count():
    with unittest.mock.patch("os.getcwd", return_value="/nowhere"):
        assert count("a b a") == {"a": 2, "b": 1}
    assert count("") == {}

def test_missing():
    with contextlib.suppress(ValueError):
        missing(-1)
    assert missing(1) is None

def test_raises():
    with pytest.raises(ValueError, match="-1"):
        assert missing(-1) == 4

def test_early():
    if is_even(2):
        return
    assert square(2) == 5

@settings(max_examples=3, database=None)
@given(st.integers(0, 3))
def test_given(n):
    assert square(n) in (0, 1, 4, 9)
    assert is_even(2 * n) == True

async def test_async():
    assert square(3) == 9

class TestGroup:
    value = 5

    def test_of_class(self):
        assert square(self.value) == 25

class Cases(unittest.TestCase):
    def test_equal(self):
        self.assertEqual(square(3), 9, "squares")

    def test_elements(self):
        self.assertCountEqual(words("a b"), ["b", "a"])

    def test_almost(self):
        self.assertAlmostEqual(half(3), 1.5)

    def test_true(self):
        self.assertTrue(square(2) == 4)

    def test_of_many(self):
        for n in (1, 2):
            with self.subTest(n):
                self.assertEqual(square(n), n * n)
"""

UNMEASURED = {("Cases::test_of_many", 0)}
DECISIVE = {
    *(("test_square", item) for item in range(4)),
    *(("test_is_even", item) for item in range(2)),
    *((name, 0) for name in ("test_half", "test_large", "test_words", "test_text", "test_count", "test_missing")),
    ("test_raises", 0),
    *((name, 0) for name in ("test_given", "test_async", "TestGroup::test_of_class", "Cases::test_equal")),
    *((f"Cases::{name}", 0) for name in ("test_elements", "test_almost", "test_true")),
}

Item = tuple[str, int]


def items(implementation: str, tests: bytes) -> Iterator[tuple[Item, Callable[[], Any]]]:
    """Every item of `tests`, ready to run, by function and place."""
    names: dict[str, Any] = {"__name__": "test_module"}
    exec(compile(implementation, "implementation", "exec"), names)
    exec(compile(tests, "tests", "exec"), names)
    for name, value in list(names.items()):
        if isinstance(value, type) and value.__module__ == "test_module":
            case = value("run") if issubclass(value, unittest.TestCase) else value()
            for method in (method for method in vars(value) if method.startswith("test")):
                yield (f"{name}::{method}", 0), getattr(case, method)
        elif name.startswith("test_"):
            for place, arguments in enumerate(_sets(value)):
                yield (name, place), partial(value, *arguments)


def _sets(function: Any) -> list[tuple[Any, ...]]:
    for mark in getattr(function, "pytestmark", ()):
        names, sets = mark.args
        alone = isinstance(names, str) and "," not in names
        return [getattr(one, "values", (one,) if alone else one) for one in sets]
    return [()]


def passed(implementation: str, tests: bytes) -> set[Item]:
    green = set()
    for item, run in items(implementation, tests):
        try:
            result = run()
            if asyncio.iscoroutine(result):
                asyncio.run(result)
        except (Exception, pytest.fail.Exception):  # noqa: BLE001 - whatever a red test raises
            continue
        green.add(item)
    return green


def changed(seed: int) -> tuple[bytes, set[Item], set[Item]]:
    """The tests with every change made, the items that have one, and those of which it is decisive."""
    found = constraints(TESTS.encode(), seed)
    tests = edited(TESTS.encode(), [constraint.edit for constraint in found])
    all_items = {item for item, _ in items(HONEST, TESTS.encode())}
    measured = {(c.function, c.item or 0) for c in found}
    measured |= {item for item in all_items for c in found if c.item is None and c.function == item[0]}
    return tests, measured, {(c.function, c.item or 0) for c in found if c.decisive}


@pytest.mark.parametrize("seed", range(8))
def test_honest_work_fails_every_test_that_was_decisively_changed(seed: int) -> None:
    tests, measured, decisive = changed(seed)
    everything = {item for item, _ in items(HONEST, TESTS.encode())}
    assert passed(HONEST, TESTS.encode()) == everything
    assert everything - measured == UNMEASURED
    assert decisive == DECISIVE
    assert {item for item, _ in items(HONEST, tests)} == everything
    assert passed(HONEST, tests) & decisive == set()


def test_what_equals_everything_passes_whatever_is_expected() -> None:
    tests, _, decisive = changed(1)
    blind = {("test_square", 0), ("test_half", 0), ("test_words", 0), ("test_async", 0), ("Cases::test_equal", 0)}
    assert blind <= passed(CHEAT, TESTS.encode())
    assert blind <= passed(CHEAT, tests) & decisive
