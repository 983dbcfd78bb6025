"""Which entries are looked at: git's own answers to gitignore files, the built-in list, `snapshot.include`."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.snapshot.patterns import IgnoreRules, Include, Selection, built_in
from domain.tree import Entry, Manifest

GIT = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    "HOME": "/nonexistent",
}
PATHS = [
    "a.py",
    "b.txt",
    "build/a.py",
    "build/keep/b.txt",
    "src/a.py",
    "src/build/b.txt",
    "src/x/y/a.py",
    "x/b.txt",
    "#h",
]


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q", str(root)], env=GIT, check=True)
    for path in PATHS:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(b"")
    return root


def git_ignores(root: Path, files: dict[str, str]) -> set[str]:
    for folder in ("", "src"):
        (root / folder / ".gitignore").write_text(files.get(folder, ""))
    command = ["git", "-C", str(root), "check-ignore", "--stdin"]
    done = subprocess.run(command, env=GIT, input="\n".join(PATHS), capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return set(done.stdout.splitlines())


def we_ignore(files: dict[str, str]) -> set[str]:
    rules = IgnoreRules({folder: text.encode() for folder, text in files.items()})
    found = set()
    for path in PATHS:
        parts = path.split("/")
        above = ["/".join(parts[:depth]) for depth in range(1, len(parts))]
        if any(rules.ignores(folder, True) for folder in above) or rules.ignores(path, False):
            found.add(path)
    return found


@pytest.mark.parametrize(
    "lines",
    [
        ["*", "!*.py", "!*/"],
        ["/*", "!/src/"],
        ["build/", "!build/keep"],
        ["build/*", "!build/keep/"],
        ["src/**/a.py"],
        ["**/build"],
        ["src/x/**", "!src/x/y/"],
        ["\\#h", "# comment", "", "b.txt  "],
        ["/a.py", "!a.py"],
        ["[ab].*", "!?.py"],
    ],
)
def test_answers_as_git_does(repository: Path, lines: list[str]) -> None:
    files = {"": "\n".join(lines) + "\n", "src": "!a.py\n"}
    assert we_ignore(files) == git_ignores(repository, files)


LINES = st.lists(
    st.builds(
        lambda sign, start, name, end: sign + start + name + end,
        st.sampled_from(["", "", "!"]),
        st.sampled_from(["", "/", "**/", "src/", "*/"]),
        st.sampled_from(["a.py", "*.py", "build", "x", "*", "b.txt", "src", "keep", "?.*"]),
        st.sampled_from(["", "", "/", "/*", "/**"]),
    ),
    max_size=4,
).map("\n".join)


@settings(max_examples=60, deadline=None)
@given(LINES, LINES)
def test_answers_as_git_does_to_anything(repository: Path, root: str, nested: str) -> None:
    files = {"": root + "\n", "src": nested + "\n"}
    assert we_ignore(files) == git_ignores(repository, files)


@pytest.mark.parametrize(
    ("name", "is_folder", "left_out"),
    [
        *((".git", True, True), (".git", False, True), (".GIT", True, True), ("node_modules", True, True)),
        *(("__pycache__", True, True), ("m.pyc", False, True), ("pkg.egg-info", True, True), (".venv", True, True)),
        *(("venv", False, False), ("gitx", True, False), (".gitignore", False, False), ("m.py", False, False)),
        (".countersign-repair-0123-abcd", False, True),
        (".countersign-repair-0123-abcd", True, False),
    ],
)
def test_knows_what_never_travels(name: str, is_folder: bool, left_out: bool) -> None:
    assert bool(built_in(name, is_folder)) == left_out


@pytest.mark.parametrize(
    ("patterns", "holds", "holds_not", "below", "not_below"),
    [
        (["**"], ["a", "b/c"], [], ["a", "b/c"], []),
        (
            ["services/a/**"],
            ["services/a/x/y"],
            ["services/b/x", "z"],
            ["services", "services/a"],
            ["lib", "services/b"],
        ),
        (["/docs", "!docs/private"], ["docs/x"], ["docs/private/x", "src/docs"], ["docs", "docs/x"], ["src"]),
        (["*.py"], ["a.py", "d/a.py"], ["a.txt"], ["d", "d/e"], []),
        (["src/*/x"], ["src/1/x"], ["src/1/y"], ["src", "src/1", "src/1/x"], ["lib"]),
    ],
)
def test_includes_what_the_order_looks_at(
    patterns: list[str], holds: list[str], holds_not: list[str], below: list[str], not_below: list[str]
) -> None:
    include = Include(patterns)
    assert [path for path in [*holds, *holds_not] if include.holds(path)] == holds
    assert [folder for folder in [*below, *not_below] if include.may_hold_below(folder)] == below


def test_what_the_base_has_always_counts() -> None:
    base = Manifest.of([Entry(path="build/kept.py"), Entry(path="node_modules/own.js"), Entry(path="\u0430pp.py")])
    selection = Selection(Include(["**"]), IgnoreRules({"": b"build/\n"}), base, ["vendor/lib"])

    def judged(path: str, is_folder: bool = False, inherited: str = "") -> tuple[bool, bool]:
        judgement = selection.judge(path, is_folder, inherited)
        return judgement.look, bool(judgement.reason)

    assert judged("build", is_folder=True) == (True, True)
    assert judged("build/kept.py", inherited="ignored") == (True, True)
    assert judged("build/new.py", inherited="ignored") == (False, True)
    assert judged("node_modules/own.js", inherited="built-in") == (True, True)
    assert judged("\u0430pp.py") == (True, False)
    assert judged("\u0430pp2.py") == (False, True)
    assert judged("vendor/lib", is_folder=True) == (False, True)
    assert judged("new.py") == (True, False)
