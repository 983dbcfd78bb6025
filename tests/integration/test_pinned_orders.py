"""Who holds the pen of an order, from the command line to the verdict: trusted by a person, or exit code 4."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.conftest import Project, make_project
from tests.terminal import at_terminal
from tests.unit.test_survey_base import commit, repository

ID = "wo-project"
CODE = "def double(n):\n    return 2 * n\n"
BUG = "def double(n):\n    return 3 * n\n"
TEST = (
    "import sys\nsys.path.insert(0, 'src')\nfrom thing import double\n\n\n"
    "def test_double():\n    assert double(2) == 4\n    assert double(5) == 10\n"
)
ORDER = Path(".countersign") / "order.yaml"


def laid_out(tmp_path: Path, state: Path) -> Project:
    root = repository(tmp_path / "project")
    commit(root, "src/thing.py", "def double(n):\n    return n\n")
    commit(root, "tests/test_thing.py", TEST)
    return make_project(root, state)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A repository whose order a person has written at a terminal, and so pinned."""
    project = laid_out(tmp_path_factory.mktemp("pinned"), tmp_path_factory.mktemp("state"))
    shutil.rmtree(project.root / "work")
    shutil.rmtree(project.root / "base")
    code, shown = at_terminal(("init",), project.root, project.environment)
    assert code == 0, shown
    assert "\npinned: " in shown
    yield project
    project.close()


@pytest.fixture
def project(made: Project) -> Iterator[Project]:
    """The same with the order and the code as they were, and the pin of that order."""
    pins = next(Path(made.environment["XDG_STATE_HOME"]).glob("countersign/*/pins"))
    kept = {path: path.read_bytes() for path in (made.root / ORDER, made.root / "src" / "thing.py", *pins.iterdir())}
    yield made
    for path in (made.root / ORDER.parent, *pins.iterdir()):
        if path.is_symlink() or path.is_file():
            path.unlink()
        else:
            shutil.rmtree(path)
    for path, data in kept.items():
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)


def verify(project: Project, *arguments: str, **environment: str) -> tuple[int, dict[str, Any]]:
    result = project.run("verify", *(arguments or (str(ORDER),)), "--json", **environment)
    assert result.stdout, result.stderr
    return result.returncode, json.loads(result.stdout)


def edit(project: Project, **fields: Any) -> None:
    path = project.root / ORDER
    path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), **fields}))


def weaken(project: Project) -> None:
    edit(project, verification={"checks": [{"name": "tests", "command": "true"}]})


def test_code_that_changed_is_verified_and_an_order_that_changed_waits_for_a_person(project: Project) -> None:
    (project.root / "src" / "thing.py").write_text(CODE)
    code, report = verify(project)
    assert (code, report["verdict"]) == (0, "PASS")
    assert not [notice for notice in report["notices"] if "order" in notice]

    (project.root / "src" / "thing.py").write_text(BUG)
    weaken(project)
    code, refused = verify(project)
    assert (code, refused["code"]) == (4, "order_changed")
    assert "command: 'true'" in refused["diff"]
    assert refused["next_step"].endswith(f"countersign trust {ORDER}")
    shown = project.run("verify", str(ORDER))
    assert (shown.returncode, shown.stdout) == (4, "")
    assert refused["diff"] in shown.stderr

    (project.root / "src" / "thing.py").write_text(CODE)
    code, said = at_terminal(("trust",), project.root, project.environment, typed="another\n")
    assert (code, "not_confirmed" in said) == (1, True), said
    assert verify(project)[0] == 4
    edit(project, verification={"checks": [{"name": "tests", "command": "python -m pytest -q tests", "timeout": 60}]})
    code, said = at_terminal(("trust",), project.root, project.environment, typed=f"{ID}\n")
    assert code == 0, said
    assert "\n+  - command: python -m pytest -q tests\n" in said
    code, report = verify(project)
    assert (code, report["verdict"]) == (0, "PASS")
    rows = [row for row in project.rows(ID) if row["action"] == "order_trusted"]
    assert [row["payload"]["established"] for row in rows] == ["terminal", "terminal"]
    assert rows[1]["payload"]["replaces"] == rows[0]["payload"]["pin"]
    assert project.run("log", "verify").returncode == 0


LATE = f"""
import sys; sys.path.insert(0, {str(Path(__file__).resolve().parents[2])!r})
from pathlib import Path
from entrypoints import pinning
admit = pinning.admit_order

def after(*given):
    found = admit(*given)
    Path(".countersign/own/test_own.py").write_text("def test_own(): pass\\n")
    return found

pinning.admit_order = after
from entrypoints.cli.app import main
main()
"""
"""The program, with a worker that writes just after the pin was looked at."""

Way = Callable[[Project], tuple[tuple[str, ...], dict[str, str]]]
"""Moves the pen; answers with what is given to `verify` then, and with which variables."""


def a_linked_order(project: Project) -> tuple[tuple[str, ...], dict[str, str]]:
    weaken(project)
    (project.root.parent / "link.yaml").unlink(missing_ok=True)
    (project.root.parent / "link.yaml").symlink_to(project.root / ORDER)
    return (str(project.root.parent / "link.yaml"),), {}


def a_linked_folder(project: Project) -> tuple[tuple[str, ...], dict[str, str]]:
    weaken(project)
    elsewhere = project.root.parent / "elsewhere" / ".countersign"
    shutil.rmtree(elsewhere.parent, ignore_errors=True)
    shutil.copytree(project.root / ORDER.parent, elsewhere)
    shutil.rmtree(project.root / ORDER.parent)
    (project.root / ORDER.parent).symlink_to(elsewhere)
    return (str(ORDER),), {}


def out_of_the_workspace_and_back(project: Project) -> tuple[tuple[str, ...], dict[str, str]]:
    weaken(project)
    return (f"src/../../{project.root.name}/{ORDER}",), {}


def a_hard_link(project: Project) -> tuple[tuple[str, ...], dict[str, str]]:
    weaken(project)
    (project.root.parent / "hard.yaml").unlink(missing_ok=True)
    (project.root.parent / "hard.yaml").hardlink_to(project.root / ORDER)
    edit_workspace = yaml.safe_load((project.root / ORDER).read_text())
    base = {**edit_workspace["base"], "repository": project.root.name}
    edit(project, workspace=f"{project.root.name}/src", base=base)
    return (str(project.root.parent / "hard.yaml"),), {}


def another_workspace_in_it(project: Project) -> tuple[tuple[str, ...], dict[str, str]]:
    edit(project, workspace="../src")
    return (str(ORDER),), {}


def an_own_commit_as_base(project: Project) -> tuple[tuple[str, ...], dict[str, str]]:
    mine = commit(project.root, "tests/test_thing.py", "import pytest\npytestmark = pytest.mark.skip\n")
    edit(project, base={"repository": "..", "revision": mine})
    return (str(ORDER),), {}


def an_own_commit_by_option(project: Project) -> tuple[tuple[str, ...], dict[str, str]]:
    commit(project.root, "tests/test_thing.py", "import pytest\npytestmark = pytest.mark.skip  # again\n")
    return (str(ORDER), "--base", "HEAD"), {}


def another_workspace_by_option(project: Project) -> tuple[tuple[str, ...], dict[str, str]]:
    other = project.root.parent / "other"
    other.mkdir(exist_ok=True)
    return (str(ORDER), "--workspace", str(other)), {}


def a_fresh_state_home(project: Project) -> tuple[tuple[str, ...], dict[str, str]]:
    return (str(ORDER),), {"XDG_STATE_HOME": str(project.root.parent / "fresh")}


def a_fresh_state_directory(project: Project) -> tuple[tuple[str, ...], dict[str, str]]:
    return (str(ORDER),), {"COUNTERSIGN_STATE_DIR": str(project.root.parent / "fresh")}


def a_fresh_home(project: Project) -> tuple[tuple[str, ...], dict[str, str]]:
    return (str(ORDER),), {"HOME": str(project.root.parent / "fresh"), "XDG_STATE_HOME": ""}


def json_beside_it(project: Project) -> tuple[tuple[str, ...], dict[str, str]]:
    order = yaml.safe_load((project.root / ORDER).read_text())
    (project.root / ORDER.parent / "order.json").write_text(json.dumps(order))
    return (str(ORDER.with_suffix(".json")),), {}


@pytest.mark.parametrize(
    "way",
    [
        a_linked_order,
        a_linked_folder,
        out_of_the_workspace_and_back,
        a_hard_link,
        another_workspace_in_it,
        an_own_commit_as_base,
        an_own_commit_by_option,
        another_workspace_by_option,
        a_fresh_state_home,
        a_fresh_state_directory,
        a_fresh_home,
        json_beside_it,
    ],
)
def test_a_way_to_move_the_pen_ends_with_4_and_starts_no_round(project: Project, way: Way) -> None:
    before = len(project.rows(ID))
    arguments, environment = way(project)
    code, refused = verify(project, *arguments, **environment)
    assert (code, refused["code"]) == (4, "order_changed"), refused
    assert "countersign trust" in refused["next_step"]
    assert len(project.rows(ID)) == before


def test_a_stored_order_is_not_reused_from_another_file(project: Project) -> None:
    """An agent verifies a file of its own by the same id, in a place that nobody watches; then the id means nothing."""
    (project.root / "src" / "thing.py").write_text(CODE)
    assert verify(project)[0] == 0
    assert verify(project, ID)[0] == 0
    apart = project.root.parent / "apart"
    for folder in ("work", "base"):
        (apart / folder).mkdir(parents=True)
    check = {"name": "tests", "command": "true"}
    order = {"id": ID, "content": "x", "workspace": "work", "base": "base", "verification": {"checks": [check]}}
    (apart / "order.yaml").write_text(yaml.safe_dump(order))
    verify(project, str(apart / "order.yaml"))
    code, refused = verify(project, ID)
    assert (code, refused["error"]) == (2, "malformed")
    assert str(apart / "order.yaml") in refused["problems"][0]["what"]


def test_an_agent_trusts_nothing(project: Project) -> None:
    weaken(project)
    for arguments in (("trust",), ("trust", "--as", "human:ann", "--yes")):
        refused = project.run(*arguments, "--json", CLAUDECODE="1")
        assert (refused.returncode, json.loads(refused.stdout)["code"]) == (1, "forbidden")
    recorded = [row for row in project.answer("log", "show", "--json") if row["action"] == "refused"]
    assert [(row["payload"]["command"], row["payload"]["marks"]) for row in recorded] == [("trust", ["CLAUDECODE"])] * 2
    refused = project.run("trust", "--json")
    assert (refused.returncode, json.loads(refused.stdout)["code"]) == (1, "not_a_person")
    assert verify(project)[0] == 4
    (listed,) = project.answer("trust", "--list", "--json")
    assert (listed["id"], listed["established"]) == (ID, "terminal")


def test_init_without_a_person_pins_nothing_and_names_the_command(project: Project) -> None:
    result = project.run("init", "--force")
    assert result.returncode == 0, result.stderr
    assert "pinned" in result.stdout
    assert f"countersign trust {ORDER}" in result.stdout
    code, shown = at_terminal(("init", "--force"), project.root, project.environment | {"CLAUDECODE": "1"})
    assert (code, "not pinned" in shown) == (0, True), shown


def test_a_session_s_file_in_the_tree_waits_for_a_person(project: Project) -> None:
    order = yaml.safe_load((project.root / ORDER).read_text())
    todo = {**order, "id": "a", "workspace": ".", "base": {**order["base"], "repository": "."}}
    (project.root / "session.yaml").write_text(yaml.safe_dump({"id": "pinned-session", "todos": [todo]}))
    try:
        for command in (("run", "session.yaml"), ("session", "create", "session.yaml")):
            refused = project.run(*command, "--json")
            assert (refused.returncode, json.loads(refused.stdout)["code"]) == (4, "order_changed")
        trusted = project.answer("trust", "session.yaml", "--as", "human:ann", "--yes", "--json")
        assert (trusted["kind"], trusted["orders"].keys()) == ("session", {"a"})
        assert project.run("session", "create", "session.yaml").returncode == 0
        (project.root / "more.yaml").write_text(yaml.safe_dump({**todo, "id": "b"}))
        create = ("todo", "create", "pinned-session", "--file", "more.yaml", "--as", "human:ann", "--yes", "--json")
        refused = project.run(*create)
        assert (refused.returncode, json.loads(refused.stdout)["code"]) == (4, "order_changed")
    finally:
        (project.root / "session.yaml").unlink()
        (project.root / "more.yaml").unlink(missing_ok=True)


def test_a_file_beside_that_is_replaced_after_the_look_at_its_pin_is_not_frozen(project: Project) -> None:
    """The digests travel with the round: what freezes it finds another content."""
    own = project.root / ORDER.parent / "own"
    own.mkdir()
    (own / "test_own.py").write_text(TEST)
    order = yaml.safe_load((project.root / ORDER).read_text())
    edit(project, workspace="../src", verification={**order["verification"], "tests": ["own"]})
    project.answer("trust", "--as", "human:ann", "--yes", "--json")
    (project.root / "src" / "thing.py").write_text(CODE)
    command = [sys.executable, "-P", "-c", LATE, "verify", str(ORDER), "--json"]
    result = subprocess.run(
        command, cwd=project.root, env=project.environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 3, result.stderr
    assert "is not what was pinned" in json.loads(result.stdout)["reasons"][0]["text"]
