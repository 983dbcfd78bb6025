"""Which values of parameter sets are changed, and when that decides."""

from __future__ import annotations

import pytest

from domain.mutation.literals import constraints

SEED = 7

SETS = """
@pytest.mark.parametrize({names}, {sets})
def test_a(n, expected):
    {body}
"""


def of_sets(
    sets: str, body: str = "assert f(n) == expected", names: str = "'n, expected'", before: str = ""
) -> list[tuple[int | None, str, bool]]:
    """Item, literal before and decisiveness of each change."""
    found = constraints((before + SETS.format(names=names, sets=sets, body=body)).encode(), SEED)
    return [(c.item, c.shown.partition(": ")[2].partition(" -> ")[0], c.decisive) for c in found]


@pytest.mark.parametrize(
    ("sets", "names"),
    [
        ("[(2, 4), (3, 9)]", "'n, expected'"),
        ("[(2, 4), (3, 9)]", "['n', 'expected']"),
        ("([2, 4], [3, 9])", "('n', 'expected')"),
        ("[pytest.param(2, 4), pytest.param(3, 9, id='three')]", "'n,expected'"),
        ("argvalues=[(2, 4), (3, 9)], ids=['two', 'three']", "argnames='n,expected'"),
    ],
)
def test_of_parameter_sets_the_expected_value_changes(sets: str, names: str) -> None:
    assert of_sets(sets, names=names) == [(0, "4", True), (1, "9", True)]


@pytest.mark.parametrize(
    "body",
    [
        "assert f(n) is expected",
        "assert f(n) == pytest.approx(expected)",
        "with open(n):\n        assert f(n) == expected",
        "assert f(n) == expected, 'a message'",
    ],
)
def test_a_parameter_that_is_compared_once_decides(body: str) -> None:
    assert of_sets("[(2, True), (3, False)]", body) == [(0, "True", True), (1, "False", True)]


@pytest.mark.parametrize(
    ("sets", "body", "before", "found"),
    [
        ("[(2, 4), pytest.param(3, 9, marks=pytest.mark.xfail), (4, g())]", "", "", [(0, "4", True)]),
        ("[(2, 4), (3, {'a': 1, **g()})]", "", "", [(0, "4", True), (1, "1", False)]),
        ("[(2, 4)]", "assert f(expected) == expected", "", [(0, "4", False)]),
        ("[(2, 4)]", "for i in n:\n        assert f(i) == expected", "", [(0, "4", False)]),
        ("[(2, 4)]", "expected = f(n)\n    assert g(n) == expected", "", [(0, "2", False)]),
        ("[(2, 4)]", "assert f(n)", "", [(0, "2", False)]),
        ("[(2, 4)]", "assert f(n, expected) == 5", "", [(None, "5", True)]),
        ("[(2, 4)]", "assert f(request) == expected", "", [(0, "4", False)]),
        ("[(2, 4)]", "", "@pytest.fixture\ndef f(expected):\n    return expected\n", [(0, "4", False)]),
        ("[(2, 4)], indirect=True", "", "", []),
        ("[(2, 4)], ['expected']", "", "", []),
        ("[*SETS, (2, 4)]", "", "", []),
        ("[(2, 4), (3, *REST)]", "", "", [(0, "4", True)]),
        ("[(2, 4), (*REST, 9)]", "", "", [(0, "4", True)]),
        ("SETS", "", "", []),
        ("SETS", "assert f(n) == 5", "", [(None, "5", True)]),
        ("[(2, 4)]", "", "pytestmark = [pytest.mark.parametrize('x', [1, 2])]\n", []),
        ("[(2, 4)]", "", "@pytest.mark.parametrize('x', [1, 2])", []),
    ],
)
def test_what_parameter_sets_cannot_decide(
    sets: str, body: str, before: str, found: list[tuple[int | None, str, bool]]
) -> None:
    assert of_sets(sets, body or "assert f(n) == expected", before=before) == found


def test_decorators_multiply_their_sets() -> None:
    two = "@pytest.mark.parametrize('expected', [4])\n@pytest.mark.parametrize('n', [2, -2])\n"
    assert constraints(f"{two}def test_a(n, expected):\n    assert f(n) == expected\n".encode(), SEED) == ()


def test_the_number_of_sets_is_told() -> None:
    (one,) = constraints(
        SETS.format(names="'n, expected'", sets="[(2, g()), (3, 9)]", body="assert f(n) == expected").encode(), 1
    )
    assert (one.item, one.items) == (1, 2)
