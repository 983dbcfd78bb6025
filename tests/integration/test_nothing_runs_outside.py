"""A tree full of traps is verified: none of them may spring outside a container, whatever git or a tool would run.

Each leaves a mark in a folder that no container has; a test shows that they do where somebody falls into them.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.conftest import Project
from tests.integration.test_hostile_input import git

HOOKS = (
    *("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-checkout", "post-merge", "pre-push"),
    *("post-index-change", "reference-transaction", "pre-auto-gc", "post-rewrite", "fsmonitor-watchman", "update"),
    *("pre-receive", "post-receive", "post-update", "sendemail-validate", "applypatch-msg", "pre-rebase"),
)
SETTINGS = (
    *("core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.askPass", "core.alternateRefsCommand"),
    *("filter.x.clean", "filter.x.smudge", "filter.x.process", "diff.x.command", "diff.x.textconv", "diff.external"),
    *("merge.x.driver", "credential.helper", "gpg.program", "gpg.ssh.program", "sequence.editor", "pager.log"),
    *("pager.show", "pager.diff", "interactive.diffFilter", "uploadpack.packObjectsHook", "core.gitProxy"),
    *("web.browser", "browser.x.cmd", "difftool.x.cmd", "mergetool.x.cmd", "submodule.sub.update"),
)
ALIASES = ("status", "log", "show", "diff", "rev-parse", "cat-file", "ls-tree", "ls-files", "archive")
PYTHON = (
    *("sitecustomize.py", "usercustomize.py", "conftest.py", "tests/conftest.py", "json.py", "yaml.py", "pytest.py"),
    *("setup.py", "noxfile.py", "worker.py", "entrypoints/__init__.py", "backend.py", "src/pluggy/__init__.py"),
)
PROGRAMS = ("git", "docker", "python", "python3", "temporal", "pytest", "sh", "make", "node_modules/.bin/eslint")


@dataclass(frozen=True)
class Trapped:
    """A repository of which a worker has everything in hand, its base, and where the traps leave their marks."""

    work: Path
    revision: str
    marks: Path

    def sprung(self) -> list[str]:
        return sorted(path.name for path in self.marks.iterdir())

    def trap(self, name: str) -> str:
        """A command that leaves the mark `name`."""
        return f"touch {self.marks}/{name}"


def write(path: Path, text: str, *, executable: bool = False) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755 if executable else 0o644)


@pytest.fixture(scope="module")
def trapped(shared: Project) -> Trapped:
    made = Trapped(shared.root / "trapped", "", shared.root / "marks")
    made.marks.mkdir()
    work = made.work
    write(work / "src/solution.py", "def answer(n):\n    return 0\n")
    write(work / "src/app.py", "from solution import answer\n\nprint(answer(3))\n")
    write(work / "tests/test_it.py", "from solution import answer\n\n\ndef test_it():\n    assert answer(2) == 4\n")
    git(work, "init", "-q")
    git(work, "add", ".")
    git(work, "commit", "-qm", "base")
    revision = git(work, "rev-parse", "HEAD")
    write(work / "src/solution.py", "def answer(n):\n    return 2 * n\n")
    git(work, "commit", "-qam", "doubled")
    trap_git(made)
    trap_python(made)
    trap_tools(made)
    return Trapped(work, revision, made.marks)


def trap_git(made: Trapped) -> None:
    folder = made.work / ".git"
    for hook in HOOKS:
        write(folder / "hooks" / hook, f"#!/bin/sh\n{made.trap(f'hook-{hook}')}\n", executable=True)
    lines = [f"[include]\n\tpath = {made.work}/more.config\n[core]\n\tattributesFile = {made.work}/attributes\n"]
    write(made.work / "more.config", f'[alias]\n\tlog = "!{made.trap("included-alias")}"\n')
    write(made.work / "attributes", "* filter=x diff=x merge=x\n")
    for setting in SETTINGS:
        section, _, key = setting.rpartition(".")
        first, _, second = section.partition(".")
        header = f'[{first} "{second}"]' if second else f"[{first}]"
        trap = write_program(made, f"setting-{setting}")
        lines.append(f"{header}\n\t{key} = {'!' if setting.startswith('submodule') else ''}{trap}\n")
    lines += [f'[alias]\n\t{alias} = "!{made.trap(f"alias-{alias}")}"\n' for alias in ALIASES]
    with (folder / "config").open("a") as config:
        config.writelines(lines)
    write(folder / "info/attributes", "* filter=x diff=x merge=x\n")
    write(made.work / ".gitattributes", "* filter=x diff=x merge=x\n")
    write(
        made.work / ".gitmodules", f'[submodule "sub"]\n\tpath = sub\n\turl = ext::sh -c "{made.trap("submodule")}"\n'
    )


def write_program(made: Trapped, name: str) -> Path:
    path = made.work.parent / "programs" / name
    write(path, f"#!/bin/sh\n{made.trap(name)}\ncat\n", executable=True)
    return path


def trap_python(made: Trapped) -> None:
    for name in PYTHON:
        mark = made.marks / f"python-{name.replace('/', '-')}"
        line = f"import pathlib\ntry:\n    pathlib.Path({str(mark)!r}).touch()\nexcept OSError:\n    pass\n"
        write(made.work / name, line)
    for where in ("x.pth", "src/x.pth", ".venv/lib/python3.11/site-packages/x.pth"):
        write(made.work / where, f"import os; os.system({made.trap('pth')!r})\n")
    write(
        made.work / "pyproject.toml", '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    )
    write(made.work / "evil.egg-info/entry_points.txt", "[pytest11]\nevil = sitecustomize\n")
    write(made.work / "pytest.ini", "[pytest]\naddopts = -p sitecustomize\n")


def trap_tools(made: Trapped) -> None:
    work, trap = made.work, made.trap
    for name in PROGRAMS:
        write(work / name, f"#!/bin/sh\n{trap(f'program-{Path(name).name}')}\n", executable=True)
    write(work / "GNUmakefile", f"$(shell {trap('makefile')})\nall:\n\t{trap('make')}\n")
    write(work / ".envrc", f"{trap('envrc')}\n")
    write(work / ".env", "NODE_OPTIONS=--require=./evil.js\nPYTEST_ADDOPTS=-p sitecustomize\n")
    scripts = {name: trap(f"npm-{name}") for name in ("preinstall", "install", "postinstall", "prepare", "test")}
    write(work / "package.json", json.dumps({"name": "x", "version": "1.0.0", "scripts": scripts}))
    write(work / ".npmrc", f"script-shell={write_program(made, 'npmrc')}\n")
    task = {"label": "x", "command": trap("vscode"), "type": "shell", "runOptions": {"runOn": "folderOpen"}}
    write(work / ".vscode/tasks.json", json.dumps({"version": "2.0.0", "tasks": [task]}))
    hook = {"id": "x", "name": "x", "language": "system", "entry": trap("pre-commit"), "always_run": True}
    write(work / ".pre-commit-config.yaml", yaml.safe_dump({"repos": [{"repo": "local", "hooks": [hook]}]}))
    write(work / "Dockerfile", f"FROM scratch\nRUN {trap('dockerfile')}\n")
    write(work / "tox.ini", f"[testenv]\ncommands = {trap('tox')}\n")
    (work / "passwd").symlink_to("/etc/passwd")
    (work / "out").symlink_to(made.marks)


@pytest.fixture
def unsprung(trapped: Trapped) -> Iterator[Trapped]:
    """The traps, set anew."""
    shutil.rmtree(trapped.marks)
    trapped.marks.mkdir()
    yield trapped


@pytest.fixture(scope="module")
def inside(shared: Project, trapped: Trapped) -> Iterator[Project]:
    """Where somebody would be who looks at the work: a project of its own, with a host of its own."""
    made = Project(trapped.work, shared.environment)
    yield made
    assert made.close().returncode == 0


@pytest.mark.parametrize(
    ("command", "mark"),
    [
        (["git", "status"], "setting-core.fsmonitor"),
        (["git", "add", "-A", "--dry-run"], "setting-filter"),
        (["git", "commit", "--allow-empty", "--dry-run"], "setting-core.fsmonitor"),
        (["git", "checkout", "-q", "HEAD"], "hook-post-checkout"),
        (["make"], "makefile"),
        ([sys.executable, "-c", "import sys; sys.path.insert(0, '.'); import sitecustomize, conftest"], "python-"),
        ([sys.executable, "-m", "pytest", "--version"], "python-pytest.py"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_the_traps_spring_where_somebody_falls_into_them(
    unsprung: Trapped, tmp_path: Path, command: list[str], mark: str
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(unsprung.work, copy, symlinks=True)
    if shutil.which(command[0]) is None:
        pytest.skip(f"there is no {command[0]} on this machine")
    subprocess.run(command, cwd=copy, capture_output=True, timeout=300, check=False)
    assert [name for name in unsprung.sprung() if name.startswith(mark)], unsprung.sprung()


def order(trapped: Trapped, base: Any) -> dict[str, Any]:
    """One item of each kind that looks at the tree or runs something of it."""
    return {
        "id": "wo-trapped",
        "content": "double it",
        "workspace": str(trapped.work),
        "base": base,
        "environment": {"build": ["test ! -e setup.py || python3 setup.py; true"]},
        "acceptance_criteria": [
            {"type": "file_contains", "params": {"path": "src/solution.py", "pattern": "2 [*] n"}},
            {"type": "git_commit_exists", "params": {"message": "doubled"}, "required": False},
            {"type": "command_exit_zero", "params": {"command": "make || true; python3 -c 'import setup' || true"}},
            {
                "type": "python_call",
                "params": {
                    "path": "src",
                    "module": "solution",
                    "function": "answer",
                    "cases": [{"args": [2], "returns": 4}],
                },
            },
            {
                "type": "cli_io",
                "params": {
                    "command": "python3 src/app.py",
                    "cases": [{"stdout": "6\n"}],
                },
            },
        ],
        "verification": {
            "checks": [
                {"name": "tests", "command": "python -m pytest -q tests", "env": {"PYTHONPATH": "src"}, "timeout": 120},
                {"name": "git", "command": "git status || true"},
            ]
        },
    }


@pytest.mark.parametrize("where", ["a folder", pytest.param("the repository itself", marks=pytest.mark.slow)])
def test_no_trap_springs_outside_a_container(shared: Project, inside: Project, unsprung: Trapped, where: str) -> None:
    base: Any = {"repository": str(unsprung.work), "revision": unsprung.revision}
    if where == "a folder":
        base = str(shared.root / "trapped-base")
        shutil.copytree(unsprung.work, base, symlinks=True, dirs_exist_ok=True)
        write(Path(base) / "src/solution.py", "def answer(n):\n    return 0\n")
        for name in PYTHON:
            (Path(base) / name).unlink()
        (Path(base) / "pytest.ini").unlink()
    path = shared.root / "trapped.yaml"
    path.write_text(yaml.safe_dump(order(unsprung, base)))
    result = inside.run_program("verify", str(path), "--json")
    assert unsprung.sprung() == [], "a trap sprang outside"
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]
    report = json.loads(result.stdout)
    ran = {line["name"]: line["outcome"] for line in report["checks"]}
    assert ran == {"tests": "passed", "git": "passed"}
    assert [line["outcome"] for line in report["criteria"]] == ["passed"] * 5
