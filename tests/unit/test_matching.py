"""Patterns asked together say what pathspec says of the list, path by path."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec
from pydantic import ValidationError

from adapters.snapshot.matching import matcher, without
from domain.order import Scope
from domain.protected import CONFIGURATION, INTEGRATION, NEW_TESTS, PROTECTED, START_UP, TESTS

NAMES = st.sampled_from(
    [
        *("src", "tests", "test", "t", "packages", "a", "conftest.py", "test_a.py", "a_test.go", "a.test.js", ".env"),
        *(".github", ".cargo", "__tests__", "x.pth", "x.egg-info", "Makefile", "BUILD", "gradle", ".config", "b.t"),
        *("nextest.toml", "jest.config.js", "tsconfig.x.json", "scripts", ".yarn", "cypress", "support", "x.cmake"),
    ]
)
PATHS = st.lists(NAMES, min_size=1, max_size=5).map("/".join)
PATTERNS = st.lists(
    st.sampled_from(
        [
            "a",
            "/a",
            "a/",
            "a/**",
            "**/a",
            "*.py",
            "src/*/t",
            "!a",
            "!*.py",
            "# no",
            "src/**/x.pth",
            "[ab]?.py",
            "a/b",
            "",
        ]
    ),
    max_size=5,
)


LISTS = [(matcher(each), GitIgnoreSpec.from_lines(each)) for each in (PROTECTED, TESTS, CONFIGURATION, START_UP)]


@given(path=PATHS)
def test_the_built_in_lists_mean_what_they_do_to_gitignore(path: str) -> None:
    for ours, spec in LISTS:
        assert ours(path) == spec.match_file(path)


@given(patterns=PATTERNS, path=PATHS)
def test_so_does_any_list_also_one_that_takes_something_back(patterns: list[str], path: str) -> None:
    assert matcher(patterns)(path) == GitIgnoreSpec.from_lines(patterns).match_file(path)


@given(text=st.text(alphabet="ab]-![^\\/*? \t#", min_size=1, max_size=8))
@example(text="[b-a]")
@example(text="[a]/[b")
def test_what_an_order_may_say_is_a_pattern_that_can_match(text: str) -> None:
    try:
        scope = Scope.model_validate({"deny": ["a", text]})
    except ValidationError:
        return
    matcher(scope.deny)("a/b")
    assert all(pattern.regex is not None for pattern in GitIgnoreSpec.from_lines(scope.deny).patterns)


NEW_TEST = without(matcher(TESTS), matcher([*CONFIGURATION, *INTEGRATION]))
NEW_TEST_TO_GIT = GitIgnoreSpec.from_lines(NEW_TESTS)


@given(path=PATHS)
def test_a_new_test_is_what_no_configuration_is(path: str) -> None:
    if NEW_TEST(path):
        assert NEW_TEST_TO_GIT.match_file(path)
    elif NEW_TEST_TO_GIT.match_file(path):
        assert matcher([*CONFIGURATION, *INTEGRATION])(path.rpartition("/")[0]), "below a folder of such a name"


def test_nothing_matches_nothing() -> None:
    assert not matcher([])("a")
    assert not matcher(["# a"])("a")


@pytest.mark.parametrize(("path", "taken"), [("tests/a.py", True), ("tests/conftest.py", False), ("b.py", False)])
def test_one_list_without_another(path: str, taken: bool) -> None:
    assert without(matcher(["tests/**"]), matcher(["conftest.py"]))(path) == taken
