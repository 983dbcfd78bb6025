"""New modules that would be imported in the place of others, and those that only look as if they were."""

from __future__ import annotations

import pytest

from adapters.snapshot.rules import reserved
from domain.shadows import hidden
from domain.tree import Entry, Manifest


def tree(*paths: str) -> Manifest:
    """Files by path; one that ends with @ is a link."""
    return Manifest.of(
        Entry(path=path[:-1], kind="link", target="elsewhere") if path.endswith("@") else Entry(path=path)
        for path in paths
    )


def why(new: str, *others: str) -> str:
    """The reason that `new` hides one of the others or what is installed; empty when it hides nothing."""
    return hidden(tree(new, *others), [new.removesuffix("@")], reserved).get(new.removesuffix("@"), "")


FLAT = ("solution.py", "tests/test_solution.py")
SRC = ("src/solution.py", "src/app/__init__.py", "src/app/core.py", "tests/test_solution.py")


@pytest.mark.parametrize("where", ["", "src/", "lib/", "python/", "tests/", "packages/a/", "packages/a/src/"])
@pytest.mark.parametrize(
    "module",
    [
        *("json.py", "random.py", "pytest.py", "pluggy/__init__.py", "json@", "json.cpython-311-x86_64-linux-gnu.so"),
        *("json/__init__.abi3.so", "pytest_asyncio.py", "pytest_cov/__init__.py", "_pytest/__init__.py", "xdist.py"),
        *("hypothesis.py", "mock.py", "coverage.py", "freezegun.py", "responses.py", "faker.py", "factory/__init__.py"),
        *("parameterized.py", "nose.py", "unittest2.py", "attr/__init__.py", "attrs.py", "six.py", "anyio.py"),
        *("typing_extensions.py", "exceptiongroup.py", "tomli.py", "colorama.py", "ruff.py", "mypy/__init__.py"),
    ],
)
def test_a_reserved_name_is_found_wherever_tests_import_from(where: str, module: str) -> None:
    assert "standard library's" in why(f"{where}{module}", "tests/test_solution.py")


@pytest.mark.parametrize(
    "path",
    [
        *("src/app/json.py", "json/data.txt", "src/jsonx.py", "random.md", "test/__init__.py", "json/namespace.py"),
        *("src/app/python/types.py", "json", "tests/deep/json.py", "docs/json.py", "app/src/json.py"),
    ],
)
def test_a_name_that_is_imported_otherwise_hides_nothing(path: str) -> None:
    assert why(path, "tests/test_solution.py", "src/app/__init__.py") == ""


@pytest.mark.parametrize(
    ("new", "others", "told"),
    [
        ("tests/solution.py", FLAT, "solution.py"),
        ("tests/solution.py", SRC, "src/solution.py"),
        ("tests/solution/__init__.py", SRC, "src/solution.py"),
        ("tests/app/__init__.py", SRC, "src/app/__init__.py"),
        ("tests/unit/solution.py", (*SRC, "tests/unit/test_x.py"), "src/solution.py"),
        ("tests/pkg/solution.py", (*FLAT, "tests/pkg/test_x.py"), "solution.py"),
        ("checks/solution.py", (*SRC, "checks/test_x.py"), "src/solution.py"),
    ],
)
def test_a_new_module_among_the_tests_that_hides_the_source(new: str, others: tuple[str, ...], told: str) -> None:
    assert why(new, *others) == f"a new module among the tests that hides {told}"


@pytest.mark.parametrize(
    ("new", "others"),
    [
        ("tests/helpers.py", SRC),
        ("tests/factories/__init__.py", SRC),
        ("tests/test_solution_more.py", SRC),
        ("tests/app/test_core.py", SRC),
        ("tests/app/core.py", SRC),  # no package: src/app is found, wherever it comes
        ("tests/solution.py", (*SRC, "tests/__init__.py")),  # imported as tests.solution
        ("tests/app/__init__.py", (*SRC, "tests/__init__.py", "tests/app/test_core.py")),
        ("tests/data/solution.py", SRC),  # no test there: not on the path
        ("src/solution/__init__.py", FLAT),  # a refactoring
        ("solution/__init__.py", FLAT),
        ("solution.py", SRC),
        ("src/app/tests/core.py", SRC),
    ],
)
def test_helpers_and_refactorings_stay(new: str, others: tuple[str, ...]) -> None:
    assert why(new, *others) == ""


@pytest.mark.parametrize(
    ("new", "told"),
    [
        ("src/solution.cpython-311-x86_64-linux-gnu.so", "src/solution.py"),
        ("src/solution.abi3.so", "src/solution.py"),
        ("src/solution.so", "src/solution.py"),
        ("src/solution.pyd", "src/solution.py"),
        ("src/app/core.cpython-312-x86_64-linux-gnu.so", "src/app/core.py"),
        ("src/app/__init__.cpython-312-x86_64-linux-gnu.so", "src/app/__init__.py"),
        ("solution.so", "src/solution.py"),
        ("tests/solution.so", "src/solution.py"),
    ],
)
def test_a_new_extension_that_hides_source(new: str, told: str) -> None:
    assert why(new, *SRC) == f"a new extension module that hides the source {told}"


@pytest.mark.parametrize("new", ["src/app/_speed.cpython-312-x86_64-linux-gnu.so", "src/libfast.so", "src/core.so"])
def test_an_extension_that_hides_nothing_stays(new: str) -> None:
    assert why(new, *SRC) == ""


def test_only_what_was_added_is_looked_at() -> None:
    assert hidden(tree("json.py", "src/solution.so", *SRC), [], reserved) == {}
    assert hidden(tree("json.py", *SRC), ["src/solution.py"], reserved) == {}
