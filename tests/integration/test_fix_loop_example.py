"""examples/fix_loop comes out as its first lines promise; the repository's own copy stays as it is."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.conftest import Project, make_project

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "fix_loop"
WRONG = (EXAMPLE / "worker" / "src" / "solution.py").read_text()
RIGHT = WRONG.replace('raise ValueError("Input must be positive")', "return False")


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A project whose models are the script `fix_loop/play.yaml`, whichever of the example's that is."""
    project = make_project(tmp_path_factory.mktemp("example"), tmp_path_factory.mktemp("state"))
    project.environment["COUNTERSIGN_MODEL"] = f"script:{project.root / 'play.yaml'}"
    yield project
    assert project.close().returncode == 0


def copied(house: Project, script: str) -> Path:
    """A new copy of the example, to be played by that script."""
    folder = house.root / "fix_loop"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(EXAMPLE / script, house.root / "play.yaml")
    return folder


@pytest.mark.parametrize(
    ("script", "code", "trigger", "loops", "left"),
    [
        ("roles.yaml", 0, "", 1, RIGHT),
        pytest.param("three_loops.yaml", 0, "", 3, RIGHT, marks=pytest.mark.slow),
        pytest.param("never.yaml", 4, "revision_cap_exceeded", 3, WRONG, marks=pytest.mark.slow),
        pytest.param("could_not_apply.yaml", 4, "could_not_apply", 1, WRONG, marks=pytest.mark.slow),
        pytest.param("refused.yaml", 0, "", 1, RIGHT, marks=pytest.mark.slow),
    ],
)
def test_each_script_comes_to_what_is_said_of_it(
    house: Project, script: str, code: int, trigger: str, loops: int, left: str
) -> None:
    folder = copied(house, script)
    result = house.run("verify", str(folder / "order.yaml"), "--json")
    assert result.returncode == code, result.stdout + result.stderr
    loop = json.loads(result.stdout)["fix_loop"]
    assert (loop["trigger"], len(loop["iterations"])) == (trigger, loops)
    assert (folder / "worker" / "src" / "solution.py").read_text() == left
    assert (EXAMPLE / "worker" / "src" / "solution.py").read_text() == WRONG
    if script == "refused.yaml":
        assert loop["iterations"][0]["refused"] == 6


@pytest.mark.slow
def test_the_session_ends_with_the_agent_s_work_repaired(house: Project) -> None:
    folder = copied(house, "roles.yaml")
    result = house.run("run", str(folder / "session.yaml"), "--json")
    assert result.returncode == 0, result.stdout + result.stderr
    actions = [row["action"] for row in house.rows("primes/is-prime")]
    assert actions.count("todo_claimed") == 1
    assert actions.count("fix_iteration_completed") == 1
    assert actions[-1] == "approved"
    assert (folder / "worker" / "src" / "solution.py").read_text() == RIGHT
