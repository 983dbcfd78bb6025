"""Workspaces made to mislead: each trick is restored, dropped with a reason or without effect, and runs no program."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from adapters.snapshot.snapshots import FileSnapshots
from domain.messages import FreezeInput, ScopeInput
from domain.order import Scope
from domain.scope import ScopeReport
from domain.tree import Manifest
from tests.fakes.evidence import MemoryStore

BASE = {
    "solution.py": "def solve():\n    return 1\n",
    "src/app/__init__.py": "",
    "src/app/core.py": "x = 1\n",
    "tests/test_solution.py": "def test_it():\n    assert solve() == 2\n",
    "tests/data/cases.json": "[]\n",
    "conftest.py": "import pytest\n",
    "pyproject.toml": "[project]\n",
    ".gitignore": "build/\n",
    "pkg/slug.go": "package pkg\n",
    "pkg/slug_test.go": "package pkg\n",
}

Change = Callable[[Path], object]


def write(path: str, text: str = "evil\n") -> Change:
    def change(root: Path) -> None:
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    return change


def link(path: str, target: str) -> Change:
    def change(root: Path) -> None:
        place = root / path
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        place.unlink(missing_ok=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(target)

    return change


def move(path: str, to: str) -> Change:
    return lambda root: shutil.move(root / path, root / to)


def remove(path: str) -> Change:
    def change(root: Path) -> None:
        place = root / path
        shutil.rmtree(place) if place.is_dir() and not place.is_symlink() else place.unlink()

    return change


class Seen(NamedTuple):
    """The base, the trusted tree, and what became of the changes."""

    base: Manifest
    tree: Manifest
    report: ScopeReport

    @property
    def reasons(self) -> dict[str, str]:
        return {dropped.path: dropped.reason for dropped in self.report.dropped}

    @property
    def accepted(self) -> list[str]:
        return [change.path for change in self.report.accepted]


def freeze(tmp_path: Path, *work: Change, base: tuple[Change, ...] = (), **scope: list[str]) -> Seen:
    """A workspace that begins as `BASE` and `base`, and is changed by `work`."""
    store = MemoryStore()
    for name, changes in (("base", base), ("work", (*base, *work))):
        for path, text in BASE.items():
            write(path, text)(tmp_path / name)
        for change in changes:
            change(tmp_path / name)
    snapshots = FileSnapshots(store)
    request = FreezeInput(round="r", workspace=str(tmp_path / "work"), base=str(tmp_path / "base"))
    frozen = snapshots.freeze(request, lambda _: None)
    result = snapshots.assess(ScopeInput(frozen=frozen, scope=Scope.model_validate(scope)))
    report = ScopeReport.model_validate_json(store.get(result.report))
    return Seen(Manifest.decode(store.get(frozen.base)), Manifest.decode(store.get(result.tree)), report)


@pytest.mark.parametrize(
    ("changes", "path", "reason"),
    [
        ((write("tests/conftest.py"),), "tests/conftest.py", "protected"),
        ((link("tests/conftest.py", "../solution.py"),), "tests/conftest.py", "protected"),
        ((link("pytest.ini", "solution.py"),), "pytest.ini", "protected"),
        ((write("pytest.ini/x"),), "pytest.ini/x", "protected"),
        ((write(".env", "PYTEST_ADDOPTS=-k nothing\n"),), ".env", "protected"),
        ((write("tests/__init__.py", "import os\nos._exit(0)\n"),), "tests/__init__.py", "code that runs before"),
        ((write("tests/__init__.py", "'''doc'''; import os"),), "tests/__init__.py", "code that runs before"),
        ((write("tests/__init__.py", "\0"),), "tests/__init__.py", "no Python"),
        ((write("src/e.py"), link("tests/__init__.py", "../src/e.py")), "tests/__init__.py", "code that runs before"),
        ((write("tests/solution.py"),), "tests/solution.py", "hides solution.py"),
        ((link("tests/solution.py", "../src/app/core.py"),), "tests/solution.py", "hides solution.py"),
        ((write("solution.cpython-311-x86_64-linux-gnu.so"),), "solution.cpython-311-x86_64-linux-gnu.so", "extension"),
        ((write("pytest_asyncio.py"),), "pytest_asyncio.py", "hides the standard"),
        ((write("tests/json.py"),), "tests/json.py", "hides the standard"),
        ((link("json", "src/app"),), "json", "hides the standard"),
        ((write("solution.pyc"),), "solution.pyc", "compiled"),
        ((write("src/x.egg-link"),), "src/x.egg-link", "by itself"),
        ((write("x.egg/EGG-INFO/entry_points.txt"),), "x.egg/EGG-INFO/entry_points.txt", "by itself"),
        ((write("x-1.dist-info/entry_points.txt"),), "x-1.dist-info/entry_points.txt", "by itself"),
        ((write("node_modules/assert/index.js"),), "node_modules", "built-in"),
        ((link("node_modules", "src"),), "node_modules", "built-in"),
        ((write("src/node_modules/x.js"),), "src/node_modules", "built-in"),
        ((write("__pycache__/solution.cpython-311.pyc"),), "__pycache__", "built-in"),
        ((link("src/__pycache__", "app"),), "src/__pycache__", "built-in"),
        ((write(".git/hooks/post-checkout"),), ".git", "built-in"),
        ((write(".GIT/config"),), ".GIT", "built-in"),
        ((write(".git", "gitdir: /elsewhere\n"),), ".git", "built-in"),
        ((write("build/evil.py"),), "build", "ignored"),
        (
            (write("pkg/a_test.go", "package pkg\nfunc TestMain(m *testing.M) { os.Exit(0) }\n"),),
            "pkg/a_test.go",
            "TestMain",
        ),
        ((write("pkg/a_test.go", "package pkg\nfunc/**/ // \n TestMain (m *T) {}\n"),), "pkg/a_test.go", "TestMain"),
        ((write("pkg/a_test.go", "\n" * (2**20 + 1)),), "pkg/a_test.go", "looked at"),
        ((write("\u0441onftest.py"),), "\u0441onftest.py", "mixes"),
        ((write("solution\u200b.py"),), "solution\\u200b.py", "invisible"),
        ((write("\uff53olution.py"),), "\uff53olution.py", "only look Latin"),
        ((write("con\ufb02ict.py"),), "con\ufb02ict.py", "only look Latin"),
        ((write("a\nb.py"),), "a\\nb.py", "control character"),
        ((link("out", "../../etc"),), "out", "leads out"),
        ((link("out", "/etc"),), "out", "absolute"),
        ((lambda root: os.mkfifo(root / "pipe"),), "pipe", "a named pipe"),
        ((remove("tests"), link("tests", "src")), "tests", "stays the base's"),
        ((remove("tests"), write("tests", "a file")), "tests", "stays the base's"),
        ((move("tests", "mine"), link("tests", "mine")), "tests", "stays the base's"),
        ((remove("conftest.py"), write("conftest.py/x.py")), "conftest.py/x.py", "protected"),
        ((remove("pkg/slug_test.go"), write("pkg/slug_test.go/x.go")), "pkg/slug_test.go/x.go", "stays the base's"),
        ((write("Makefile"),), "Makefile", "protected"),
        ((write("sub/Cargo.toml"),), "sub/Cargo.toml", "protected"),
        ((write(".cargo/config.toml"),), ".cargo/config.toml", "protected"),
        ((write("spec/spec_helper.rb"),), "spec/spec_helper.rb", "protected"),
        ((write("CMakeLists.txt"),), "CMakeLists.txt", "protected"),
        ((write("phpunit.xml"),), "phpunit.xml", "protected"),
        ((write(".rspec"),), ".rspec", "protected"),
        ((write("a/build.gradle.kts"),), "a/build.gradle.kts", "protected"),
    ],
)
def test_is_dropped_with_a_reason(tmp_path: Path, changes: tuple[Change, ...], path: str, reason: str) -> None:
    seen = freeze(tmp_path, *changes)
    assert reason in seen.reasons[path]
    assert path not in seen.tree.by_path
    for name, entry in seen.base.by_path.items():
        if name.startswith(("tests/", "pkg/")) or name in ("conftest.py", "solution.py"):
            assert seen.tree.by_path[name] == entry


@pytest.mark.parametrize(
    ("changes", "restored"),
    [
        ((write("tests/test_solution.py"),), ["tests/test_solution.py"]),
        ((remove("tests"),), ["tests/data/cases.json", "tests/test_solution.py"]),
        ((link("tests/test_solution.py", "../solution.py"),), ["tests/test_solution.py"]),
        ((lambda root: (root / "tests/test_solution.py").chmod(0o755),), ["tests/test_solution.py"]),
        ((link("conftest.py", "solution.py"),), ["conftest.py"]),
        ((move("tests", "Tests"),), ["tests/data/cases.json", "tests/test_solution.py"]),
        ((write("pkg/slug_test.go"),), ["pkg/slug_test.go"]),
    ],
)
def test_is_restored(tmp_path: Path, changes: tuple[Change, ...], restored: list[str]) -> None:
    seen = freeze(tmp_path, *changes)
    assert list(seen.report.restored) == restored
    assert all(seen.tree.by_path[path] == seen.base.by_path[path] for path in restored)


@pytest.mark.parametrize(
    "path",
    [
        *(
            "tests/helpers.py",
            "tests/data/more.json",
            "tests/fixtures/user.yaml",
            "tests/test_more.py",
            "tests/new/x.py",
        ),
        *("src/app/_speed.cpython-311-x86_64-linux-gnu.so", "solution/__init__.py", "src/app/json.py", "setup.py"),
        *("CONFTEST.py", "Tests/test_other.py", "sol\u00fction.py", "\u0440\u0435\u0448\u0435\u043d\u0438\u0435.py"),
        *("pkg/more_test.go", "other/main_test.go", ".gitattributes", "src/.gitignore", ".gitmodules", ".env.example"),
        *("tests/new/__init__.py", "src/app/environment.py", "index.js", "lib/node.js"),
    ],
)
def test_is_harmless_and_stays(tmp_path: Path, path: str) -> None:
    seen = freeze(tmp_path, write(path, "package x\n// func TestMain is somewhere else\n"))
    assert path in seen.tree.by_path
    assert seen.accepted == [path]


@pytest.mark.parametrize("text", ["", "# nothing\n", '"""Tests of the whole."""\n'])
def test_a_package_of_tests_without_code_stays(tmp_path: Path, text: str) -> None:
    assert "tests/__init__.py" in freeze(tmp_path, write("tests/__init__.py", text)).tree.by_path


def test_a_new_package_of_go_may_have_its_own_main(tmp_path: Path) -> None:
    own = write("other/a_test.go", "package other\nfunc TestMain(m *testing.M) {}\n")
    assert "other/a_test.go" in freeze(tmp_path, own).tree.by_path


def test_an_order_may_let_in_a_module_that_hides_another(tmp_path: Path) -> None:
    assert "factory.py" not in freeze(tmp_path / "1", write("factory.py")).tree.by_path
    assert "factory.py" in freeze(tmp_path / "2", write("factory.py"), unprotect=["factory.py"]).tree.by_path


def test_a_gitignore_of_the_worker_s_hides_nothing(tmp_path: Path) -> None:
    seen = freeze(tmp_path, write(".gitignore", "*\n"), write("src/.gitignore", "*\n"), write("src/evil.py"))
    assert "src/evil.py" in seen.tree.by_path


LINKED = (
    move("tests", "checks"),
    link("tests", "checks"),
    write("etc/shared.py"),
    link("a/conftest.py", "../etc/shared.py"),
)
"""The base's tests are reached by a link, and so is a conftest."""


@pytest.mark.parametrize(
    ("changes", "restored"),
    [
        ((write("checks/data/cases.json"),), ["checks/data/cases.json"]),
        ((link("tests", "src"),), ["tests"]),
        ((remove("tests"),), ["tests"]),
        ((remove("tests"), write("tests/helpers.py")), ["tests"]),
        ((write("etc/shared.py", "weaker"),), ["etc/shared.py"]),
        ((link("etc/shared.py", "../solution.py"),), ["etc/shared.py"]),
    ],
)
def test_what_a_link_of_the_base_leads_to_is_protected_like_the_link(
    tmp_path: Path, changes: tuple[Change, ...], restored: list[str]
) -> None:
    seen = freeze(tmp_path, *changes, base=LINKED)
    assert list(seen.report.restored) == restored
    assert "tests/helpers.py" not in seen.tree.by_path


def test_a_link_among_the_tests_makes_no_test_of_the_source(tmp_path: Path) -> None:
    links = (link("tests/app", "../src/app"), link("tests/sample.py", "../solution.py"))
    seen = freeze(tmp_path, write("src/app/core.py", "y"), write("solution.py", "z"), base=links)
    assert seen.accepted == ["solution.py", "src/app/core.py"]
    assert seen.tree.by_path["tests/app"].kind == "link"


def test_a_denied_folder_is_not_entered_by_a_link(tmp_path: Path) -> None:
    seen = freeze(tmp_path, link("infra", "src"), deny=["infra/**"])
    assert "infra" not in seen.tree.by_path
    assert [(v.path, v.kind) for v in seen.report.violations] == [("infra", "denied")]


HOSTILE_CONFIG = """[core]
    fsmonitor = touch RAN
    hooksPath = .git/hooks
    pager = touch RAN
    sshCommand = touch RAN
    attributesFile = .gitattributes
[filter "evil"]
    clean = touch RAN
    smudge = touch RAN
    process = touch RAN
    required = true
[diff "evil"]
    command = touch RAN
    textconv = touch RAN
[alias]
    status = !touch RAN
[include]
    path = ../evil.config
"""

WATCHED = """
import sys
STARTS = ("subprocess.", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.fork", "os.startfile", "pty.")
started = []
sys.addaudithook(lambda event, _: event.startswith(STARTS) and started.append(event))
from pathlib import Path
from adapters.snapshot.snapshots import FileSnapshots
from domain.messages import FreezeInput, ScopeInput
from domain.order import BaseRevision, Scope
from tests.fakes.evidence import MemoryStore
work, base, revision = sys.argv[1:]
loaded = set(sys.modules)
store = MemoryStore()
snapshots = FileSnapshots(store)
for trusted in (base, BaseRevision(repository=work, revision=revision)):
    request = FreezeInput(round="r", workspace=work, base=trusted, commits=True)
    frozen = snapshots.freeze(request, lambda _: None)
    result = snapshots.assess(ScopeInput(frozen=frozen, scope=Scope()))
    assert result.changed_total, "nothing was looked at"
theirs = [n for n, m in sys.modules.items() if str(getattr(m, "__file__", "") or "").startswith(work)]
print(started, theirs)
"""


def git(folder: Path, *command: str) -> str:
    """git, in a repository that is not hostile yet."""
    names = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    settings = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", **names}
    done = subprocess.run(
        ["git", "-C", str(folder), *command], env=settings, capture_output=True, check=True, text=True
    )
    return done.stdout.strip()


def test_freezing_a_hostile_repository_runs_no_program(tmp_path: Path) -> None:
    base, work = tmp_path / "base", tmp_path / "work"
    for root in (base, work):
        for path, text in BASE.items():
            write(path, text)(root)
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "base"]):
        git(work, *command)
    revision = git(work, "rev-parse", "HEAD")
    write("solution.py", "def solve():\n    return 2\n")(work)
    write("src/sitecustomize.py", "open('RAN', 'w')")(work)
    write(".gitattributes", "* filter=evil diff=evil\n")(work)
    write(".git/config", HOSTILE_CONFIG)(work)
    write("evil.config", HOSTILE_CONFIG)(work)
    for hook in ("post-checkout", "pre-commit", "post-index-change", "fsmonitor-watchman", "reference-transaction"):
        write(f".git/hooks/{hook}", "#!/bin/sh\ntouch RAN\n")(work)
        (work / ".git/hooks" / hook).chmod(0o755)
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, str(work), str(base), revision],
        cwd=root,
        env={"PATH": "", "PYTHONPATH": str(root), "HOME": str(work)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "[] []\n", done.stderr
    assert not list(tmp_path.rglob("RAN"))
    assert not (root / "RAN").exists()
