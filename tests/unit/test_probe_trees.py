"""The probe's trees, from a workspace and a base as a round makes them: the change undone, or with one fault in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.snapshot.diff import changed_lines
from adapters.snapshot.probe import MAX_TREES
from adapters.snapshot.snapshots import FileSnapshots
from domain.messages import FreezeInput, ProbeInput, ScopeInput
from domain.order import Scope
from domain.probes import ProbeTrees
from domain.tree import Manifest
from tests.fakes.evidence import MemoryStore

BASE = {
    "src/app.py": "def app(a):\n    return a\n",
    "src/gone.py": "x = 1\n",
    "tests/test_app.py": "assert app(1) == 1\n",
    "README.md": "old\n",
}


class Workshop:
    """A base, a workspace beside it, and what is stored of both."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.store = MemoryStore()
        self.snapshots = FileSnapshots(self.store)
        for where in ("base", "work"):
            for path, text in BASE.items():
                self.write(path, text, where)

    def write(self, path: str, text: str | bytes, where: str = "work") -> None:
        target = self.root / where / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode() if isinstance(text, str) else text)

    def probe(self, how: str, seed: int = 1, **scope: list[str]) -> ProbeTrees:
        request = FreezeInput(round="r", workspace=str(self.root / "work"), base=str(self.root / "base"))
        frozen = self.snapshots.freeze(request, lambda _: None)
        assessed = self.snapshots.assess(ScopeInput(frozen=frozen, scope=Scope.model_validate(scope)))
        return self.snapshots.probe(
            ProbeInput.model_validate({"how": how, "frozen": frozen, "scope": assessed, "seed": seed})
        )

    def content(self, tree: str) -> dict[str, str]:
        manifest = Manifest.decode(self.store.get(tree))
        assert manifest.digest == tree
        for entry in manifest.entries:
            assert entry.kind == "link" or entry.size == len(self.store.get(entry.digest))
        return {entry.path: self.store.get(entry.digest).decode() for entry in manifest.entries if entry.digest}


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)


def test_the_work_is_undone_and_new_tests_stay(shop: Workshop) -> None:
    shop.write("src/app.py", "def app(a):\n    return a + 0\n")
    shop.write("src/new.py", "y = 2\n")
    shop.write("tests/test_new.py", "import new\n")
    shop.write("tests/test_app.py", "assert True\n")
    (shop.root / "work/src/gone.py").unlink()
    (tree,) = shop.probe("revert").trees
    assert shop.content(tree.tree) == BASE | {"tests/test_new.py": "import new\n"}
    assert tree.what == "the change is undone: 3 files are as in the base"


def test_an_existing_test_that_may_change_stays_changed(shop: Workshop) -> None:
    shop.write("src/app.py", "def app(a):\n    return 2\n")
    shop.write("tests/test_app.py", "assert app(1) == 2\n")
    (tree,) = shop.probe("revert", unprotect=["tests/test_app.py"]).trees
    assert shop.content(tree.tree) == BASE | {"tests/test_app.py": "assert app(1) == 2\n"}
    assert tree.what == "the change is undone: 1 file is as in the base"
    (shop.root / "work/tests/test_app.py").unlink()
    (tree,) = shop.probe("revert", unprotect=["tests/test_app.py"]).trees
    assert "tests/test_app.py" not in shop.content(tree.tree)


def test_a_test_in_the_place_of_a_file_is_not_there_once_that_is_back(shop: Workshop) -> None:
    (shop.root / "work/src/gone.py").unlink()
    shop.write("src/gone.py/test_x.py", "assert True\n")
    (tree,) = shop.probe("revert").trees
    assert shop.content(tree.tree) == BASE


def test_what_is_not_in_scope_was_never_in(shop: Workshop) -> None:
    shop.write("src/app.py", "def app(a):\n    return a + 0\n")
    shop.write("other/x.py", "z = 3\n")
    trees = shop.probe("mutate", allow=["src/**"]).trees
    assert trees
    assert all("other" not in path for tree in trees for path in shop.content(tree.tree))


@pytest.mark.parametrize("how", ["revert", "mutate"])
def test_nothing_but_tests_and_documents_has_no_trees(shop: Workshop, how: str) -> None:
    expected = "the change has nothing but tests and documentation, or nothing at all"
    assert shop.probe(how) == ProbeTrees(why=expected)
    shop.write("README.md", "new\n")
    shop.write("docs/conf.py", "x = 1\n")
    shop.write("tests/test_new.py", "assert 1 < 2\n")
    assert shop.probe(how) == ProbeTrees(why=expected)


def test_one_fault_a_tree_on_lines_that_were_changed(shop: Workshop) -> None:
    shop.write("src/app.py", "def app(a):\n    if a < 3 and a != 1:\n        a = a * 2\n    return a\n")
    found = shop.probe("mutate")
    assert len(found.trees) == MAX_TREES
    assert len({tree.tree for tree in found.trees}) == MAX_TREES
    for tree in found.trees:
        assert tree.what.startswith(("src/app.py:2: `", "src/app.py:3: `"))
        content = shop.content(tree.tree)
        changed = content.pop("src/app.py").splitlines()
        assert content == {path: text for path, text in BASE.items() if path != "src/app.py"}
        before = (shop.root / "work/src/app.py").read_text().splitlines()
        assert [n for n in range(4) if changed[n] != before[n]] == [int(tree.what.split(":")[1]) - 1]
    assert shop.probe("mutate") == found
    assert any(shop.probe("mutate", seed) != found for seed in range(2, 6))


def test_faults_are_spread_over_files(shop: Workshop) -> None:
    for n in range(8):
        shop.write(f"src/new{n}.py", f"def f(a):\n    return a + {n}\n")
    shop.write("tests/test_new.py", "assert 1 < 2\n")
    chosen = [{tree.what.partition(":")[0] for tree in shop.probe("mutate", seed).trees} for seed in range(4)]
    assert all(len(files) == MAX_TREES for files in chosen)
    assert not any("test" in path for files in chosen for path in files)
    assert any(files != chosen[0] for files in chosen), "the seed chooses the files, too"


def test_a_change_without_anything_to_mutate(shop: Workshop) -> None:
    shop.write("src/app.py", "def app(a):\n")
    shop.write("src/data.bin", b"\0\1")
    shop.write("src/link", "x")
    (shop.root / "work/src/link").unlink()
    (shop.root / "work/src/link").symlink_to("app.py")
    (shop.root / "work/src/gone.py").chmod(0o755)
    assert shop.probe("mutate") == ProbeTrees(why="nothing on the changed lines can be mutated")


def test_what_is_executable_stays_so(shop: Workshop) -> None:
    shop.write("src/run.sh", "#!/bin/sh\nexit 0\n")
    (shop.root / "work/src/run.sh").chmod(0o755)
    (tree,) = shop.probe("mutate").trees
    assert tree.what == "src/run.sh:2: `0` -> `1`"
    assert Manifest.decode(shop.store.get(tree.tree)).by_path["src/run.sh"].executable


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ("", "a\nb\n", {1, 2}),
        ("a\nb\n", "a\nb\n", set()),
        ("a\nb\nc\n", "a\nx\nc\n", {2}),
        ("a\nc\n", "a\nb\nc\n", {2}),
        ("a\nb\n", "a\n", set()),
        ("a", "a\nb", {1, 2}),
    ],
)
def test_changed_lines(old: str, new: str, lines: set[int]) -> None:
    assert changed_lines(old, new) == lines
