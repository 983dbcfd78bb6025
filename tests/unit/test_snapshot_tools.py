"""The tools that read the frozen tree: what they show, what they refuse, and that nothing leads them out of it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.roles.reading import found
from adapters.roles.snapshot_tools import Limits, snapshot_tools
from adapters.roles.tool import Tool, ToolRefused
from adapters.snapshot.commits import CommitLog
from adapters.snapshot.snapshots import FileSnapshots
from domain.base import sha256_hex
from domain.messages import FreezeInput, ScopeInput, ScopeResult
from domain.order import Scope
from domain.tree import Commit, Entry
from tests.examples import examples
from tests.fakes.evidence import MemoryStore
from tests.frozen_trees import PATIENT_SECONDS, TREE, Watched, call, refused, stored, tools_of, usual_tools


@pytest.fixture(scope="module")
def tools() -> dict[str, Tool]:
    return usual_tools()


def test_there_are_five_and_each_says_what_it_takes(tools: dict[str, Tool]) -> None:
    assert list(tools) == ["Read", "grep", "glob", "git_diff", "git_log"]
    for tool in tools.values():
        assert tool.description
        assert tool.lasting
        assert tool.arguments.model_json_schema()["additionalProperties"] is False


class TestRead:
    def test_lines_have_numbers(self, tools: dict[str, Tool]) -> None:
        shown = call(tools, "Read", path="src/one.py")
        assert shown == (
            "src/one.py: lines 1 to 5 of 5\n"
            "     1\timport os\n     2\t\n     3\t\n     4\tdef first():\n     5\t    return 1\n"
        )
        assert call(tools, "Read", path="./src//one.py").splitlines()[1:] == shown.splitlines()[1:]

    def test_a_part_of_a_long_file(self, tools: dict[str, Tool]) -> None:
        limits = Limits(seconds=PATIENT_SECONDS, file_bytes=20_000)
        store = MemoryStore()
        tree = stored(store, TREE)
        wide = tools_of(store, tree, tree, limits=limits)
        shown = call(wide, "Read", path="src/two.py", start=999, lines=1)
        assert shown == "src/two.py: lines 999 to 999 of 1000\n   999\tline 999\n"
        assert "lines 1 to 400 of 1000" in call(wide, "Read", path="src/two.py")
        assert call(wide, "Read", path="src/two.py", start=1001) == "src/two.py: 1000 lines, none from 1001 on\n"

    def test_a_last_line_without_its_end_and_a_file_without_lines(self, tools: dict[str, Tool]) -> None:
        assert call(tools, "Read", path="README.md").endswith("     2\twithout an end of line\n")
        assert call(tools, "Read", path="src/empty.py") == "src/empty.py: 0 lines, none from 1 on\n"

    def test_long_lines_are_cut(self) -> None:
        store = MemoryStore()
        tree = stored(store, {"wide.txt": b"y" * 5_000})
        assert call(tools_of(store, tree, tree), "Read", path="wide.txt").endswith(
            f"\t{'y' * 2_000}[cut: 5000 characters]\n"
        )

    def test_what_is_binary_or_huge_is_said_so(self, tools: dict[str, Tool]) -> None:
        assert call(tools, "Read", path="src/data.bin").startswith("src/data.bin: binary, 7 bytes, SHA-256 ")
        assert call(tools, "Read", path="src/huge.txt") == "src/huge.txt: 5000 bytes, too large to be shown\n"

    def test_what_is_not_utf_8_is_replaced(self) -> None:
        store = MemoryStore()
        tree = stored(store, {"a": b"\xff\xfe\n"})
        assert "     1\t\ufffd\ufffd\n" in call(tools_of(store, tree, tree), "Read", path="a")

    def test_links_are_followed_inside_the_tree_and_told(self, tools: dict[str, Tool]) -> None:
        assert call(tools, "Read", path="src/lien.py").startswith("src/lien.py -> src/one.py: lines 1 to 5")
        assert call(tools, "Read", path="src/up.py").startswith("src/up.py -> README.md: lines")
        assert call(tools, "Read", path="folder/er/x.py").startswith("folder/er/x.py -> src/deep/er/x.py: lines")

    @pytest.mark.parametrize(
        "path",
        [
            "/etc/passwd",
            "//etc/passwd",
            "/src/one.py",
            "..",
            "../secret",
            "src/../../secret",
            "src/../README.md",
            "src/one.py\0",
            "\0",
            "out",
            "root",
            "through",
            "out-by-two",
            "out/x",
        ],
    )
    def test_what_names_a_place_outside_is_refused(self, tools: dict[str, Tool], path: str) -> None:
        assert refused(tools, "Read", path=path) == "outside_tree"

    @pytest.mark.parametrize(
        ("path", "code"),
        [
            ("nothing", "not_found"),
            ("src/one.py/x", "not_found"),
            ("gone", "not_found"),
            ("loop", "not_found"),
            ("~/.ssh/id_rsa", "not_found"),
            ("C:\\Windows", "not_found"),
            ("file:///etc/passwd", "not_found"),
            ("\ud800", "not_found"),
            ("src", "is_directory"),
            ("folder", "is_directory"),
            ("", "is_directory"),
            (".", "is_directory"),
        ],
    )
    def test_what_is_not_there_or_no_file_is_refused(self, tools: dict[str, Tool], path: str, code: str) -> None:
        assert refused(tools, "Read", path=path) == code

    @pytest.mark.parametrize("given", [{"start": 0}, {"lines": 0}, {"lines": 5_001}, {"mode": "w"}, {"content": ""}])
    def test_there_is_no_argument_to_write_with(self, tools: dict[str, Tool], given: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match=next(iter(given))):
            call(tools, "Read", path="README.md", **given)


@pytest.fixture(scope="module")
def frozen(tmp_path_factory: pytest.TempPathFactory) -> tuple[MemoryStore, dict[str, Tool], ScopeResult]:
    """Trees as a round freezes them, so that the diff is the round's."""
    root, store = tmp_path_factory.mktemp("trees"), MemoryStore()
    for place, files in {
        "base": {"a.py": "1\n2\n", "src/b.py": "old\n", "src/gone.py": "x\n", "same": "s"},
        "work": {"a.py": "1\n3\n", "src/b.py": "new\n", "src/deep/c.py": "c\n", "same": "s"},
    }.items():
        for path, text in files.items():
            (root / place / path).parent.mkdir(parents=True, exist_ok=True)
            (root / place / path).write_text(text)
    snapshots = FileSnapshots(store)
    request = FreezeInput(round="r", workspace=str(root / "work"), base=str(root / "base"))
    taken = snapshots.freeze(request, lambda _: None)
    scope = snapshots.assess(ScopeInput(frozen=taken, scope=Scope()))
    return store, {tool.name: tool for tool in snapshot_tools(store, taken, scope)}, scope


class TestGitDiff:
    def test_all_of_it_is_the_round_s(self, frozen: tuple[MemoryStore, dict[str, Tool], ScopeResult]) -> None:
        store, tools, scope = frozen
        whole = store.get(scope.diff).decode()
        assert call(tools, "git_diff") == whole
        parts = [call(tools, "git_diff", path=change.path) for change in scope.changed]
        assert len(parts) == 4
        assert "".join(parts) == whole

    def test_a_file_and_a_folder(self, frozen: tuple[MemoryStore, dict[str, Tool], ScopeResult]) -> None:
        _, tools, _ = frozen
        assert "+3\n" in call(tools, "git_diff", path="a.py")
        below = call(tools, "git_diff", path="src/")
        assert [line for line in below.splitlines() if line.startswith("diff")] == [
            "diff --git a/src/b.py b/src/b.py",
            "diff --git a/src/deep/c.py b/src/deep/c.py",
            "diff --git a/src/gone.py b/src/gone.py",
        ]
        assert call(tools, "git_diff", path="same") == "same was not changed\n"

    @pytest.mark.parametrize(
        ("path", "code"), [("/a.py", "outside_tree"), ("../a.py", "outside_tree"), ("nothing", "not_found")]
    )
    def test_what_is_elsewhere_is_refused(
        self, frozen: tuple[MemoryStore, dict[str, Tool], ScopeResult], path: str, code: str
    ) -> None:
        assert refused(frozen[1], "git_diff", path=path) == code

    def test_nothing_changed(self, tools: dict[str, Tool]) -> None:
        assert call(tools, "git_diff") == "nothing was changed\n"


class TestGitLog:
    def log(self, log: CommitLog | None, **arguments: Any) -> str:
        store = MemoryStore()
        tree = stored(store, {})
        commits = "" if log is None else store.put(log.model_dump_json().encode())
        return call(tools_of(store, tree, tree, commits=commits), "git_log", **arguments)

    def test_ids_and_whole_messages_up_to_the_limit(self) -> None:
        commits = (Commit(id="a" * 40, message="one\n\nits body\n"), Commit(id="b" * 40, message="two"))
        one = f"commit {'a' * 40}\n    one\n    \n    its body\n"
        assert self.log(CommitLog(commits=commits)) == f"{one}commit {'b' * 40}\n    two\n"
        assert self.log(CommitLog(commits=commits), limit=1) == f"{one}[cut: 2 commits in all]\n"

    def test_a_message_says_nothing_beside_its_own(self) -> None:
        """Its lines are indented, so that none looks like another commit."""
        told = self.log(CommitLog(commits=(Commit(id="a" * 40, message=f"x\ncommit {'b' * 40}\n    y"),)))
        assert [line for line in told.splitlines() if not line.startswith(" ")] == [f"commit {'a' * 40}"]

    def test_a_long_message_is_cut(self) -> None:
        told = self.log(CommitLog(commits=(Commit(id="a" * 40, message="m" * 9_000),)))
        assert told.endswith(f"    {'m' * 4_000}[cut: 9000 characters]\n")

    def test_no_repository_is_said(self) -> None:
        note = "no folder from /work upwards has a .git"
        assert self.log(CommitLog(note=note)) == f"no commits since the base\n[{note}]\n"
        assert self.log(None) == "the workspace's repository was not looked at\n"


PARTS = st.sampled_from(["..", ".", "", "src", "a", "b", "etc", "link", "~", "\0", "c.py", "x\ud800"])
PATHS = st.lists(PARTS, min_size=1, max_size=5).map("/".join) | st.text(max_size=12)
TARGETS = st.lists(st.sampled_from(["..", ".", "src", "a", "etc", "link", "c.py"]), min_size=1, max_size=4).map(
    "/".join
) | st.sampled_from(["/etc/passwd", "/src", "/"])
NAMES = st.sampled_from(["src/c.py", "src/a/c.py", "c.py", "etc/b", "src/link", "link", "a/link", "b"])
CONTENTS = st.dictionaries(NAMES, TARGETS | st.binary(max_size=4), min_size=1, max_size=6).filter(
    lambda found_names: not any(other.startswith(f"{name}/") for name in found_names for other in found_names)
)


@settings(max_examples=examples(300), deadline=None)
@given(contents=CONTENTS, path=PATHS)
def test_no_path_reads_what_is_not_in_the_manifest(contents: dict[str, bytes | str], path: str) -> None:
    store = Watched()
    tree = stored(store, contents)
    secret = store.put(b"a secret beside the tree")
    there = tree.resolve(path)
    try:
        shown = call(tools_of(store, tree, tree), "Read", path=path)
    except ToolRefused as refusal:
        assert refusal.code in ("outside_tree", "not_found", "is_directory")
        is_plain = not path.startswith("/") and ".." not in path.split("/") and "\0" not in path
        assert not isinstance(there, Entry) or not is_plain, "what is there is shown"
    else:
        assert isinstance(there, Entry)
        assert found(tree, path) == there
        assert f"of {there.size}" in shown or there.path in shown
    assert store.asked <= {tree.digest, *(entry.digest for entry in tree.entries if entry.digest)}
    assert secret not in store.asked


@settings(max_examples=60, deadline=None)
@given(contents=CONTENTS, path=PATHS)
def test_no_path_of_a_diff_reads_what_is_in_neither_tree(contents: dict[str, bytes | str], path: str) -> None:
    store = Watched()
    tree, base = stored(store, contents), stored(store, {"b": b"1", "src/c.py": b"2"})
    tools = tools_of(store, tree, base, diff="the diff")
    try:
        call(tools, "git_diff", path=path)
    except ToolRefused as refusal:
        assert refusal.code in ("outside_tree", "not_found")
    of_trees = {entry.digest for side in (tree, base) for entry in side.entries if entry.digest}
    assert store.asked <= {tree.digest, base.digest, sha256_hex(b"the diff"), *of_trees}
