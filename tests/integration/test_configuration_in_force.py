"""A project's floor stays in force, whatever a worker makes nearer to where somebody stands. With the real engine."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from tests.integration.conftest import Project, make_project

FLOOR = "[policy_floor]\nchecks = [{name = 'no-bug', command = '! grep -q after a.txt'}]\n"
EASY = {"checks": [{"name": "easy", "command": "true"}]}


@pytest.fixture(scope="module")
def floored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A project whose floor refuses the work; commands are given in `sub`, which is no workspace."""
    folder = tmp_path_factory.mktemp("floored")
    made = make_project(folder, tmp_path_factory.mktemp("state"))
    made.environment["COUNTERSIGN_STATE_DIR"] = str(tmp_path_factory.mktemp("kept"))
    yield made
    assert made.close().returncode == 0


def make_git(sub: Path) -> None:
    (sub / ".git").mkdir()


def init(sub: Path) -> None:
    subprocess.run(["git", "init", "-q", str(sub)], check=True)


def lower(sub: Path) -> None:
    (sub / "countersign.toml").write_text("[policy_floor]\nmin_criteria = 0\n")


def other_check(sub: Path) -> None:
    (sub / "countersign.toml").write_text("[policy_floor]\nchecks = [{name = 'no-bug', command = 'true'}]\n")


def link(sub: Path) -> None:
    (sub / "countersign.toml").symlink_to("/dev/null")


def directory(sub: Path) -> None:
    (sub / "countersign.toml").mkdir()


def nothing(_: Path) -> None:
    """As it is."""


MOVES: list[tuple[Callable[[Path], None], int, str]] = [
    (nothing, 1, "no-bug"),
    (make_git, 1, "no-bug"),
    (init, 1, "no-bug"),
    (lower, 1, "no-bug"),
    (other_check, 2, "policy_floor.checks: the check no-bug is another one, expected what"),
    (link, 2, "countersign.toml:1: file: is a link, expected"),
    (directory, 2, "countersign.toml:1: file: is a directory, expected"),
]


@pytest.mark.parametrize(("move", "code", "said"), MOVES, ids=lambda value: getattr(value, "__name__", ""))
def test_what_is_made_nearer_takes_nothing_away(
    floored: Project, tmp_path: Path, move: Callable[[Path], None], code: int, said: str
) -> None:
    (floored.root / "countersign.toml").write_text(FLOOR)
    floored.order(id="wo-nearer", verification=EASY)
    sub = floored.root / f"sub-{tmp_path.name}"
    sub.mkdir()
    move(sub)
    result = replace(floored, root=sub).run("verify", "../wo-nearer.yaml", "--again")
    assert result.returncode == code, result.stdout + result.stderr
    assert said in result.stdout + result.stderr


@pytest.mark.parametrize("above", ["nothing", "order", "workspace", "cwd", "cwd, and another project"])
def test_a_floor_above_one_of_them_alone(floored: Project, tmp_path: Path, above: str) -> None:
    """Without it the same work is verified: it is what refuses."""
    (floored.root / "countersign.toml").unlink(missing_ok=True)
    places = {name: tmp_path / name for name in ("order", "workspace", "cwd", "empty")}
    for folder in places.values():
        folder.mkdir()
    (places["workspace"] / "work").mkdir()
    (places["workspace"] / "work" / "a.txt").write_text("after\n")
    order = {"content": "x", "id": "wo-above", "verification": EASY, "base": str(floored.root / "base")}
    order["workspace"] = str(places["workspace"] / "work")
    (places["order"] / "order.json").write_text(json.dumps(order))
    variables = {"COUNTERSIGN_PROJECT": str(places["empty"])} if "another" in above else {}
    configured = places.get(above.partition(",")[0])
    if configured:
        (configured / "countersign.toml").write_text(FLOOR)
    result = replace(floored, root=places["cwd"]).run("verify", "../order/order.json", "--json", "--again", **variables)
    report = json.loads(result.stdout)
    assert result.returncode == (1 if configured else 0), result.stderr
    assert [check["name"] for check in report["checks"] if not check["passed"]] == (["no-bug"] if configured else [])
    digest = sha256(FLOOR.encode()).hexdigest()
    assert report["authority"]["configuration"] == (
        [{"path": f"{configured}/countersign.toml", "digest": digest}] if configured else []
    )
    assert ("COUNTERSIGN_PROJECT" in report["authority"]["environment"]) is bool(variables)
    assert "COUNTERSIGN_STATE_DIR" in report["authority"]["environment"]


def test_the_trail_is_not_in_the_worker_s_tree(floored: Project) -> None:
    floored.order(id="wo-state", verification=EASY)
    result = floored.run("verify", "wo-state.yaml", COUNTERSIGN_STATE_DIR=str(floored.root / "work" / "state"))
    assert result.returncode == 2
    assert "COUNTERSIGN_STATE_DIR: " in result.stderr
    assert "expected a place that no worker can write" in result.stderr


def test_a_session_keeps_what_was_in_force_when_it_was_created(floored: Project) -> None:
    (floored.root / "countersign.toml").write_text(FLOOR)
    (floored.root / "s.yaml").write_text(
        json.dumps(
            {
                "id": "s-kept",
                "todos": [
                    {"id": "t1", "content": "x", "workspace": "work", "base": "base", "verification": EASY},
                ],
            }
        )
    )
    assert floored.run("session", "create", "s.yaml").returncode == 0
    (floored.root / "countersign.toml").unlink()
    evidence = [{"label": "diff", "type": "diff", "data": "-before +after"}]
    claim = {"explanation": "I changed the one line of a.txt, see [diff].", "evidence": evidence}
    (floored.root / "claim.json").write_text(json.dumps(claim))
    assert floored.run("todo", "start", "s-kept/t1").returncode == 0
    claimed = floored.run("todo", "claim", "s-kept/t1", "--claim", "claim.json", "--wait")
    assert claimed.returncode == 1, claimed.stdout + claimed.stderr
    assert "no-bug" in claimed.stdout + claimed.stderr
    shown = floored.run("evidence", "show", "s-kept/t1", "--json")
    (one,) = json.loads(shown.stdout)["authority"]["configuration"]
    assert one["path"] == f"{floored.root}/countersign.toml"
