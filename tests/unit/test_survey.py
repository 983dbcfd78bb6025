"""What `init` finds in a tree: one small tree a case, and the order that is written for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adapters.config.order_file import load_order
from adapters.survey.base import Trusted, copy_base, opened
from adapters.survey.order_text import Paths, order_id, write_order
from adapters.survey.plan import Plan, PlannedCheck
from adapters.survey.survey import survey
from domain.order import Order

UV = "uv pip install --python /opt/venv/bin/python"
INSTALL = "pip install --quiet --no-deps --no-build-isolation --no-index --use-pep517 --target /work/home/site ."
TEST = "def test_it():\n    assert True\n"


def lay_out(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def plan_of(tmp_path: Path, files: dict[str, str], version: str = "") -> Plan:
    root = lay_out(tmp_path / "project", files)
    with opened(Trusted(root)) as found:
        return survey(found, version)


def order_of(tmp_path: Path, plan: Plan, folder: str = "project") -> Order:
    """The plan as an order that has been written and read again, which every plan has to survive."""
    (tmp_path / "base").mkdir(exist_ok=True)
    (tmp_path / folder / ".countersign").mkdir(parents=True, exist_ok=True)
    file = tmp_path / folder / ".countersign" / "order.yaml"
    file.write_text(write_order(folder, plan, Paths("..", str(tmp_path / "base"), because="a test")))
    return load_order(file)


def surveyed(tmp_path: Path, files: dict[str, str], version: str = "") -> Order:
    return order_of(tmp_path, plan_of(tmp_path, files, version))


def pyproject(text: str = "", requires: str = '"flit_core>=3"') -> str:
    return f'[build-system]\nrequires = [{requires}]\n[project]\nname = "thing"\nversion = "1"\n{text}'


def test_a_flat_project_needs_no_set_up(tmp_path: Path) -> None:
    order = surveyed(tmp_path, {"pyproject.toml": pyproject(), "thing.py": "", "tests/test_thing.py": TEST})
    (check,) = order.verification.checks
    assert (check.command, check.kind, check.timeout) == ("python -m pytest -q tests", "pytest", 600)
    assert check.env == {"PYTHONPATH": "/work/tree"}
    assert (order.environment.image, order.environment.setup, order.environment.build) == ("python", [], [])
    assert order.resources.memory == "1g"
    assert order.scope.allow == ["**"]
    assert order.workspace == str(tmp_path / "project")


@pytest.mark.parametrize(
    ("files", "commands", "inputs"),
    [
        (
            {"pyproject.toml": pyproject('dependencies = ["six"]\n[project.optional-dependencies]\ntests = ["mock"]')},
            [f"{UV} -r pyproject.toml --extra tests"],
            ["pyproject.toml"],
        ),
        (
            {
                "pyproject.toml": pyproject(
                    '[dependency-groups]\ndev = ["ruff"]\ntest = ["mock"]\ntest-slow = ["numpy"]'
                )
            },
            [f"{UV} --group test"],
            ["pyproject.toml"],
        ),
        (
            {"pyproject.toml": pyproject('[dependency-groups]\ndev = ["mock"]'), "uv.lock": "version = 1\n"},
            [
                "UV_PROJECT_ENVIRONMENT=/opt/venv uv sync --frozen --inexact --no-install-workspace"
                " --python /opt/venv/bin/python --no-default-groups --group dev"
            ],
            ["pyproject.toml", "uv.lock"],
        ),
        (
            {
                "pyproject.toml": '[tool.poetry]\nname = "x"\n[tool.poetry.group.test.dependencies]\nmock = "*"\n'
                "[tool.poetry.dependencies]\npython = '*'\n",
                "poetry.lock": "",
            },
            [
                "uv venv --quiet /opt/poetry",
                "uv pip install --python /opt/poetry/bin/python poetry",
                "VIRTUAL_ENV=/opt/venv /opt/poetry/bin/poetry install --no-root --no-interaction --with test",
            ],
            ["pyproject.toml", "poetry.lock"],
        ),
        (
            {"requirements.txt": "six\n", "requirements/tests.txt": "-r more.txt\n", "requirements/more.txt": "mock\n"},
            [f"{UV} -r requirements.txt", f"{UV} -r requirements/tests.txt"],
            ["requirements.txt", "requirements/tests.txt", "requirements/more.txt"],
        ),
        (
            {
                "setup.py": "from setuptools import setup\nsetup()\n",
                "dev-requirements.txt": "-e .[x]\nmock>=1  # why\n",
            },
            [f"{UV} 'mock>=1'"],
            [],
        ),
        (
            {
                "setup.cfg": "[metadata]\nname = x\n[options]\ninstall_requires =\n  six>=1\n"
                "[options.extras_require]\ntesting =\n  mock\ndocs =\n  sphinx\n"
            },
            [f"{UV} 'six>=1' mock"],
            [],
        ),
        (
            {
                "setup.py": "from setuptools import setup\nneeds = ['six']\n"
                "setup(install_requires=needs, tests_require=['mock'], version=read())\n"
            },
            [f"{UV} six mock"],
            [],
        ),
        (
            {
                "setup.py": "from setuptools import setup\nsetup(install_requires=read())\n",
                "PKG-INFO": "Name: x\nRequires-Dist: six (>=1)\nRequires-Dist: mock; extra == 'test'\n",
            },
            [f"{UV} 'six (>=1)' mock"],
            [],
        ),
        (
            {
                "pyproject.toml": '[project]\nname = "x"\ndynamic = ["dependencies", "version"]\n',
                "PKG-INFO": "Name: x\nRequires-Dist: six\n",
            },
            [f"{UV} six"],
            [],
        ),
        (
            {
                "setup.py": "from setuptools import setup\nsetup()\n",
                "tox.ini": "[testenv]\ndeps =\n  mock\n  py27: old\n  -r{toxinidir}/more.txt\n",
                "more.txt": "six\n",
            },
            [f"{UV} -r more.txt", f"{UV} mock"],
            ["more.txt"],
        ),
        (
            {"pyproject.toml": pyproject('[tool.hatch.envs.test]\ndependencies = ["mock"]')},
            [f"{UV} mock"],
            [],
        ),
    ],
)
def test_what_is_declared_is_installed(
    tmp_path: Path, files: dict[str, str], commands: list[str], inputs: list[str]
) -> None:
    order = surveyed(tmp_path, {"tests/test_thing.py": TEST, **files})
    assert order.environment.setup == commands
    assert order.environment.inputs == (inputs if commands else [])


@pytest.mark.parametrize(
    ("options", "more", "plugins"),
    [
        ('addopts = "--cov=thing -n auto"', "", "pytest-cov pytest-xdist"),
        ('asyncio_mode = "auto"\ntimeout = 5', "", "pytest-asyncio pytest-timeout"),
        ("required_plugins = ['pytest-foo>=1', '--index-url=x']", "", "'pytest-foo>=1'"),
        ("", "import hypothesis\nimport os\nimport nowhere_known\n", "hypothesis"),
        ("", "def test_x(mocker):\n    pass\n", "pytest-mock"),
    ],
)
def test_plugins_that_are_named_are_installed(tmp_path: Path, options: str, more: str, plugins: str) -> None:
    text = pyproject(f"[tool.pytest.ini_options]\n{options}\n")
    plan = plan_of(tmp_path, {"pyproject.toml": text, "tests/test_thing.py": more + TEST})
    assert plan.setup == [f"{UV} {plugins}"]
    assert any("nowhere_known" in note for note in plan.notes) == ("nowhere_known" in more)


def test_a_plugin_that_is_declared_is_not_installed_twice(tmp_path: Path) -> None:
    text = pyproject('[dependency-groups]\ntest = ["pytest_cov"]\n[tool.pytest.ini_options]\naddopts = "--cov=x"\n')
    plan = plan_of(tmp_path, {"pyproject.toml": text, "tests/test_thing.py": TEST})
    assert plan.setup == [f"{UV} --group test"]


def test_a_src_layout_is_on_the_path(tmp_path: Path) -> None:
    files = {"pyproject.toml": pyproject(), "src/thing/__init__.py": "", "tests/test_thing.py": TEST}
    assert surveyed(tmp_path, files).verification.checks[0].env == {"PYTHONPATH": "/work/tree/src:/work/tree"}


@pytest.mark.parametrize(
    ("text", "source"),
    [
        (pyproject('[project.scripts]\nthing = "thing:main"\n'), ""),
        (pyproject('[project.entry-points.pytest11]\nthing = "thing"\n'), ""),
        (pyproject(), "import importlib.metadata\n"),
        (pyproject(), "from importlib import metadata\n"),
    ],
)
def test_what_has_to_be_installed_is_built_before_each_check(tmp_path: Path, text: str, source: str) -> None:
    files = {"pyproject.toml": text, "src/thing/__init__.py": source, "tests/test_thing.py": TEST}
    order = surveyed(tmp_path, files)
    assert order.environment.build == [INSTALL]
    assert order.environment.setup == [f"{UV} 'flit_core>=3'"]
    env = order.verification.checks[0].env
    assert env["PYTHONPATH"] == "/work/tree/src:/work/tree:/work/home/site"
    assert env.get("PATH", "/work/home/site/bin:/opt/venv/bin:").startswith("/work/home/site/bin:/opt/venv/bin:")


@pytest.mark.parametrize(
    ("info", "tags", "said"),
    [
        ("Version: 4.5.6\n", "1.0", "4.5.6"),
        ("", "1.0", "1.0"),
        ("", "", "0.0.0"),
        ("Version: 1; rm -rf /\n", "", "0.0.0"),
    ],
)
def test_a_version_from_git_is_told_to_the_build(tmp_path: Path, info: str, tags: str, said: str) -> None:
    files = {
        "pyproject.toml": pyproject(requires='"hatchling", "hatch-vcs"'),
        "PKG-INFO": info,
        "tests/test_a.py": TEST,
    }
    assert surveyed(tmp_path, files, tags).environment.build == [f"SETUPTOOLS_SCM_PRETEND_VERSION={said} {INSTALL}"]


def test_an_old_set_up_gets_setuptools_and_is_protected(tmp_path: Path) -> None:
    setup = "from setuptools import setup\nsetup(entry_points={'console_scripts': ['a=a:b']})\n"
    order = surveyed(tmp_path, {"setup.py": setup, "a.py": "", "test_a.py": TEST})
    assert order.environment.setup == [f"{UV} setuptools wheel"]
    assert order.scope.protect == ["setup.py"]


@pytest.mark.parametrize(
    ("files", "command", "protect"),
    [
        ({"test/test_a.py": TEST}, "python -m pytest -q test", ["test/**"]),
        ({"thing/tests/test_a.py": TEST}, "python -m pytest -q thing/tests", ["thing/tests/**"]),
        ({"test_a.py": TEST, "docs/test_b.py": TEST}, "python -m pytest -q test_a.py", []),
        ({"tests/a.py": "import unittest\n"}, "python -m pytest -q tests/a.py", []),
        ({"tests.py": "import unittest\n"}, "python -m pytest -q tests.py", ["tests.py"]),
        ({"pytest.ini": "[pytest]\ntestpaths = checks\n", "checks/test_a.py": TEST}, "python -m pytest -q", []),
        ({"-x/test_a.py": TEST}, "python -m pytest -q ./-x/test_a.py", []),
        ({"a b/tests/test_a.py": TEST}, "python -m pytest -q 'a b/tests'", ["a b/tests/**"]),
    ],
)
def test_tests_are_found_and_protected(tmp_path: Path, files: dict[str, str], command: str, protect: list[str]) -> None:
    order = surveyed(tmp_path, {"setup.cfg": "", **files})
    assert order.verification.checks[0].command == command
    assert order.scope.protect == protect


def test_no_tests_are_no_checks_and_a_note(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, {"thing.py": ""})
    order = order_of(tmp_path, plan)
    assert order.verification.checks == []
    assert "no tests were found" in " ".join(plan.notes)
    assert "# checks:" in (tmp_path / "project/.countersign/order.yaml").read_text()


@pytest.mark.parametrize("text", ["[project\n", "\0", "[tool]\npytest = 1\n"])
def test_a_malformed_file_is_a_note_at_most(tmp_path: Path, text: str) -> None:
    bad = {"pyproject.toml": text, "setup.cfg": text, "tox.ini": text, "setup.py": "def (", "pytest.ini": text}
    order = surveyed(tmp_path, {**bad, "tests/test_a.py": TEST})
    assert order.verification.checks[0].command == "python -m pytest -q tests"


def node(**fields: object) -> str:
    return json.dumps({"name": "thing", **fields})


def test_a_node_project_is_installed_from_its_lock(tmp_path: Path) -> None:
    package = node(scripts={"test": "vitest run"}, devDependencies={"vitest": "1"})
    files = {
        "package.json": package,
        "package-lock.json": "{}",
        "vitest.config.ts": "",
        "src/a.test.ts": "",
        "test/a.js": "",
    }
    order = surveyed(tmp_path, files)
    assert order.environment.image == "node"
    assert order.environment.setup == ["npm ci --ignore-scripts --no-audit --no-fund"]
    assert order.environment.inputs == ["package.json", "package-lock.json"]
    assert [check.command for check in order.verification.checks] == ["npm test"]
    assert order.scope.protect == ["package.json", "test/**", "*.test.*", "vitest.config.ts"]


@pytest.mark.parametrize("script", [None, 'echo "Error: no test specified" && exit 1', " "])
def test_a_node_project_without_tests_is_told_so(tmp_path: Path, script: str | None) -> None:
    plan = plan_of(
        tmp_path, {"package.json": node(scripts={"test": script} if script else {}, dependencies={"a": "1"})}
    )
    assert plan.checks == []
    assert plan.setup == ["npm install --ignore-scripts --no-audit --no-fund"]
    assert "no test script" in " ".join(plan.notes)
    order_of(tmp_path, plan)


def test_a_lock_of_another_tool_is_noted(tmp_path: Path) -> None:
    files = {"package.json": node(scripts={"test": "jest"}, dependencies={"a": "1"}), "yarn.lock": ""}
    assert any("yarn.lock" in note for note in plan_of(tmp_path, files).notes)


@pytest.mark.parametrize(
    ("files", "language", "image", "commands"),
    [
        ({"Makefile": "all:\n\ntest: all\n\ttrue\n"}, "make", "python", ["make test"]),
        ({"Makefile": "test := 1\n"}, "unknown", "python", []),
        ({"run_tests.sh": "#!/bin/sh\n"}, "shell", "python", ["sh run_tests.sh"]),
        ({"tests/a.sh": "#!/bin/bash\n", "tests/b.sh": ""}, "shell", "python", ["bash tests/a.sh", "sh tests/b.sh"]),
        ({"a.bats": ""}, "shell", "python", ["bats a.bats"]),
        ({"go.mod": "", "go.sum": ""}, "go", "golang:1", ["go test ./..."]),
        ({"Cargo.toml": ""}, "rust", "rust:1", ["cargo test --offline"]),
        ({"README": "nothing"}, "unknown", "python", []),
        ({}, "unknown", "python", []),
    ],
)
def test_other_projects(tmp_path: Path, files: dict[str, str], language: str, image: str, commands: list[str]) -> None:
    (tmp_path / "project").mkdir()
    plan = plan_of(tmp_path, files)
    order = order_of(tmp_path, plan)
    assert (plan.language, order.environment.image) == (language, image)
    assert [check.command for check in order.verification.checks] == commands


def test_of_two_kinds_the_one_with_tests_is_taken_and_the_other_named(tmp_path: Path) -> None:
    files = {
        "pyproject.toml": pyproject(),
        "package.json": node(scripts={"test": "jest"}),
        "Makefile": "test:\n\ttrue\n",
    }
    plan = plan_of(tmp_path, files)
    assert plan.language == "node"
    assert any("make test" in note for note in plan.notes)


@pytest.mark.parametrize(
    "odd", ["it's", 'a "b"', "a: b # c", "ü 😀", "- x", "yes", "12", "a\x7f\x85\u2028b", "%x", "{a}"]
)
def test_odd_names_survive_the_yaml(tmp_path: Path, odd: str) -> None:
    plan = Plan(
        setup=[odd],
        inputs=[odd],
        build=[odd],
        checks=[PlannedCheck("tests", odd, {"A": odd})],
        protect=[odd],
        notes=[f"{odd}\nid: other"],
    )
    order = order_of(tmp_path, plan, folder=odd)
    assert [*order.environment.setup, *order.environment.inputs, *order.environment.build] == [odd] * 3
    assert (order.verification.checks[0].command, order.verification.checks[0].env) == (odd, {"A": odd})
    assert order.scope.protect == [odd]
    assert order.workspace == str(tmp_path / odd)


@pytest.mark.parametrize(
    ("name", "expected"), [("My Thing_2", "wo-my-thing-2"), ("ü", "wo-work"), ("x" * 300, "wo-" + "x" * 60)]
)
def test_an_id_from_any_name(name: str, expected: str) -> None:
    assert order_id(name) == expected


def test_the_same_tree_is_the_same_copy(tmp_path: Path) -> None:
    files = {
        "a.py": "1\n",
        "run": "#!/bin/sh\n",
        ".venv/x": "",
        "node_modules/y": "",
        ".countersign/order.yaml": "",
        ".git-x": "",
    }
    root = lay_out(tmp_path / "a project", files)
    (root / "run").chmod(0o755)
    (root / "link").symlink_to("a.py")
    (root / "out").symlink_to("/etc/passwd")
    copies = []
    for text in ("1\n", "1\n", "2\n"):
        (root / "a.py").write_text(text)
        with opened(Trusted(root)) as found:
            copies.append(copy_base(found, tmp_path / "bases", root.name))
    first, second, third = copies
    assert first == second
    assert third != first
    assert sorted(path.name for path in first.iterdir()) == [".git-x", "a.py", "link", "run"]
    assert (first / "run").stat().st_mode & 0o100
    assert (first / "link").readlink() == Path("a.py")
    assert (first / "a.py").read_text() == "1\n"
    assert sorted(path.name for path in (tmp_path / "bases").iterdir()) == sorted({first.name, third.name})
