"""What a build may change and may not add, by the order's scope."""

from __future__ import annotations

import fnmatch

import pytest

from adapters.snapshot.build_rules import build_rules
from adapters.snapshot.rules import rules_of
from domain.builds import STRICT, UNWANTED, BuildRules
from domain.order import Scope
from domain.tree import Entry, Manifest
from tests.fakes.evidence import MemoryStore

STORE = MemoryStore()
PATHS = (
    "src/mod.py",
    "docs/x.md",
    "tests/test_it.py",
    "tests/data/x.json",
    "conftest.py",
    "pyproject.toml",
    "Makefile",
)


def tree(*paths: str, **content: bytes) -> Manifest:
    files = dict.fromkeys(paths, b"") | {name.replace("__", "."): data for name, data in content.items()}
    return Manifest.of(Entry(path=p, size=len(data), digest=STORE.put(data)) for p, data in files.items())


def rules(scope: Scope, *trees: Manifest, kept: tuple[str, ...] = ()) -> BuildRules:
    return build_rules(rules_of(scope, STORE.get), trees[0], trees, kept, STORE.get)


def names(found: BuildRules) -> set[str]:
    return {unwanted.name for unwanted in found.unwanted}


class TestChangeable:
    def test_everything_that_is_not_protected(self) -> None:
        assert rules(Scope(), tree(*PATHS)).changeable == ("docs/x.md", "src/mod.py")

    def test_an_order_protects_and_unprotects(self) -> None:
        scope = Scope(protect=["docs/**"], unprotect=["tests/data/**", "conftest.py"])
        found = rules(scope, tree(*PATHS))
        assert found.changeable == ("conftest.py", "src/mod.py", "tests/data/x.json")
        assert "conftest.py" not in names(found)
        assert "pytest.ini" in names(found)

    def test_what_an_interpreter_runs_by_itself_is_not(self) -> None:
        assert rules(Scope(), tree("src/sitecustomize.py", "src/mod.py")).changeable == ("src/mod.py",)

    def test_all_trees_count_and_what_is_kept_does_not(self) -> None:
        found = rules(Scope(), tree("src/old.py", "src/own.py"), tree("src/new.py"), kept=("src/own.py",))
        assert found.changeable == ("src/new.py", "src/old.py")

    def test_a_link_is_never(self) -> None:
        link = Manifest.of([Entry(path="src/link", kind="link", target="mod.py")])
        assert rules(Scope(), link).changeable == ()

    def test_where_nobody_says_so_nothing_is(self) -> None:
        assert STRICT.changeable == ()
        assert STRICT.unwanted == UNWANTED


class TestUnwanted:
    @pytest.mark.parametrize(
        "name",
        [
            *("conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", "tox.ini", "setup.cfg", "pyproject.toml"),
            *("sitecustomize.py", "usercustomize.py", "sitecustomize.abi3.so", "x.pth", "mod.cpython-311.pyc"),
            *("entry_points.txt", "jest.config.js", "package.json", ".npmrc", ".pnp.cjs", "GNUmakefile", "go.mod"),
        ],
    )
    def test_what_runs_by_itself_or_is_obeyed(self, name: str) -> None:
        assert any(fnmatch.fnmatchcase(name, unwanted.name) for unwanted in UNWANTED)

    @pytest.mark.parametrize("name", ["Makefile", "rules.mk", "x.so", "gen.py", "test_new.py", "x.js", "cmake.cmake"])
    def test_what_builds_make_is_not(self, name: str) -> None:
        assert [unwanted for unwanted in UNWANTED if fnmatch.fnmatchcase(name, unwanted.name)] == []

    def test_the_script_can_read_each(self) -> None:
        """They travel as words in lines."""
        for unwanted in UNWANTED:
            assert not set(unwanted.name + unwanted.holding) & set(" \t\n/")

    @pytest.mark.parametrize("file", ["pyproject__toml", "setup__cfg", "setup__py"])
    def test_a_plugin_of_pytest_may_be_built_as_one(self, file: str) -> None:
        base = tree(**{file: b"[entry points]\npytest11 = x"})
        assert "entry_points.txt" not in names(rules(Scope(), base))
        head = rules(Scope(), tree("src/x.py"), base)
        assert "entry_points.txt" in names(head), "only the base's word counts"

    def test_the_names_of_modules_that_may_not_be_hidden(self) -> None:
        assert {"json", "pytest", "pluggy"} <= set(rules(Scope(), tree()).hiding)
