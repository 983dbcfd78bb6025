"""The tools that search the frozen tree: bounded in time, memory and what they answer, whatever pattern a model has."""

from __future__ import annotations

import time

import pytest

from adapters.roles import searching
from adapters.roles.snapshot_tools import Limits
from adapters.roles.tool import Tool
from domain.errors import Unavailable
from tests.fakes.evidence import MemoryStore
from tests.frozen_trees import PATIENT_SECONDS, TREE, call, refused, stored, tools_of, usual_tools
from tests.processes import children


@pytest.fixture(scope="module")
def tools() -> dict[str, Tool]:
    return usual_tools()


class TestGrep:
    def test_lines_with_path_and_number(self, tools: dict[str, Tool]) -> None:
        told = call(tools, "grep", pattern=r"\bfirst\b", glob="*.py")
        assert told.split("\n")[:2] == ["src/deep/er/x.py:1:first = 2\r", "src/one.py:4:def first():"]

    def test_case_is_ignored_when_asked_for(self, tools: dict[str, Tool]) -> None:
        for ignored, count in ((False, 1), (True, 2)):
            answer = call(tools, "grep", pattern="FIRST|first", glob="src/deep/", ignore_case=ignored)
            assert answer.count("src/deep/er/x.py:") == count

    def test_links_are_not_searched_twice_and_what_is_left_out_is_said(self, tools: dict[str, Tool]) -> None:
        answer = call(tools, "grep", pattern="import os")
        assert answer == (
            "src/one.py:1:import os\n[not searched: 1 binary files]\n[not searched: 2 files of more than 4000 bytes]\n"
        )

    def test_what_is_beyond_all_that_is_read_is_said(self) -> None:
        store = MemoryStore()
        tree = stored(store, {"a": b"x" * 60, "b": b"x" * 60, "c": b"x" * 30})
        answer = call(
            tools_of(store, tree, tree, limits=Limits(seconds=PATIENT_SECONDS, search_bytes=100)), "grep", pattern="x"
        )
        assert [line[:1] for line in answer.splitlines()] == ["a", "c", "["]
        assert "1 files beyond 100 bytes" in answer

    def test_at_most_500_lines_and_each_cut(self) -> None:
        store = MemoryStore()
        tree = stored(store, {"a": (b"z" * 900 + b"\n") * 501, "b": b"z\n" * 200_000})
        answer = call(tools_of(store, tree, tree), "grep", pattern="z").splitlines()
        assert len(answer) == 501
        assert answer[0] == f"a:1:{'z' * 400}..."
        assert answer[500] == "[cut: more than 500 lines match]"
        exactly = stored(store, {"a": b"z\n" * 500})
        assert "cut" not in call(tools_of(store, exactly, exactly), "grep", pattern="z")

    def test_nothing_found_is_an_answer(self, tools: dict[str, Tool]) -> None:
        assert call(tools, "grep", pattern="nowhere", glob="src/one.py") == "no match in 1 files\n"
        assert call(tools, "grep", pattern="^$", glob="src/empty.py") == "no match in 1 files\n"

    @pytest.mark.parametrize("pattern", ["(", "a{99999999999999999999}", "(?P<x", "*"])
    def test_what_is_no_pattern_is_refused(self, tools: dict[str, Tool], pattern: str) -> None:
        assert refused(tools, "grep", pattern=pattern) == "bad_pattern"

    def test_a_pattern_that_would_take_for_ever_ends_in_time_and_leaves_no_process(self) -> None:
        store = MemoryStore()
        tree = stored(store, {"a": b"a" * 60 + b"b\n"})
        slow = tools_of(store, tree, tree, limits=Limits(seconds=0.5))
        started, before = time.monotonic(), children()
        assert refused(slow, "grep", pattern="(a+)+$") == "too_slow"
        assert time.monotonic() - started < 60, "it would take years"
        assert children() <= before

    def test_a_search_that_takes_all_memory_is_ended(self, monkeypatch: pytest.MonkeyPatch) -> None:
        less = searching._SEARCH.replace(str(searching.MEMORY), str(200 * 2**20))
        monkeypatch.setattr(searching, "_SEARCH", less)
        store = MemoryStore()
        tree = stored(store, {"a": b"ab" * 1_000_000})
        assert refused(tools_of(store, tree, tree), "grep", pattern="(?:(a|b)(a|b)?)*c") == "search_failed"

    @pytest.mark.parametrize("glob", ["/etc/*", "../**", "src/../*", "a\0b"])
    def test_a_glob_that_names_a_place_outside_is_refused(self, tools: dict[str, Tool], glob: str) -> None:
        assert refused(tools, "grep", pattern="root", glob=glob) == "outside_tree"
        assert refused(tools, "glob", pattern=glob) == "outside_tree"

    def test_a_store_that_is_away_is_no_answer(self) -> None:
        store = MemoryStore()
        tree = stored(store, {"a": b"1", "b": b"2"})
        reading = tools_of(store, tree, tree)
        del store.blobs[tree.by_path["b"].digest]
        for name, arguments in (("grep", {"pattern": "x"}), ("Read", {"path": "b"})):
            with pytest.raises(Unavailable):
                call(reading, name, **arguments)


class TestGlob:
    def test_paths_in_order_with_links_told(self, tools: dict[str, Tool]) -> None:
        assert call(tools, "glob", pattern="src/*.py").splitlines() == [
            "src/empty.py",
            "src/lien.py -> one.py",
            "src/one.py",
            "src/two.py",
            "src/up.py -> ../README.md",
        ]
        assert call(tools, "glob", pattern="deep/") == "src/deep/er/x.py\n"
        assert call(tools, "glob", pattern="**").count("\n") == len(TREE)

    def test_nothing_matches(self, tools: dict[str, Tool]) -> None:
        assert call(tools, "glob", pattern="*.rs") == f"no path of {len(TREE)} matches\n"

    def test_at_most_2000_paths(self) -> None:
        store = MemoryStore()
        tree = stored(store, {f"f/{number:04}.py": b"" for number in range(2_001)})
        for pattern in ("*.py", "**"):
            answer = call(tools_of(store, tree, tree), "glob", pattern=pattern).splitlines()
            assert (len(answer), answer[0], answer[-1]) == (2_001, "f/0000.py", "[cut: more than 2000 paths match]")

    @pytest.mark.parametrize("pattern", ["", "  ", "#x", "!x", "[", "a[b", "[z-a]"])
    def test_what_is_no_pattern_is_refused(self, tools: dict[str, Tool], pattern: str) -> None:
        assert refused(tools, "glob", pattern=pattern) == "bad_pattern"

    def test_a_pattern_that_would_take_for_ever_ends_in_time(self) -> None:
        store = MemoryStore()
        tree = stored(store, {"a" * 250: b""})
        slow = tools_of(store, tree, tree, limits=Limits(seconds=0.5))
        assert refused(slow, "glob", pattern="*a" * 40 + "b") == "too_slow"
