"""`countersign init` as a person runs it: what it writes and prints, what it refuses."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
import yaml

from adapters.config.order_file import load_order
from domain.order import BaseRevision
from tests.forked import FORKS
from tests.integration.conftest import LIMIT_SECONDS
from tests.unit.test_survey import TEST, lay_out
from tests.unit.test_survey_base import commit, leave, repository


def init(folder: Path, *arguments: str, state: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COUNTERSIGN_")}
    environment["COUNTERSIGN_STATE_DIR"] = str(state or folder.parent / "state")
    return FORKS.run(("init", *arguments), folder, environment, LIMIT_SECONDS)


@pytest.fixture
def unpacked(tmp_path: Path) -> Path:
    """A project without a repository, as a source distribution is; its name needs care in YAML and in the shell."""
    return lay_out(tmp_path / 'it\'s a "project"', {"thing.py": "", "tests/test_thing.py": TEST})


def test_an_order_is_written_that_loads(unpacked: Path) -> None:
    result = init(unpacked)
    assert result.returncode == 0, result.stderr
    order = load_order(unpacked / ".countersign" / "order.yaml")
    assert order.workspace == str(unpacked)
    assert isinstance(order.base, str)
    assert Path(order.base).parent == unpacked.parent / "state" / "bases"
    assert (Path(order.base) / "tests/test_thing.py").read_text() == TEST
    assert "countersign verify .countersign/order.yaml" in result.stdout
    assert "python -m pytest -q tests" in result.stdout


def test_an_order_that_is_there_is_kept_unless_forced(unpacked: Path) -> None:
    first = json.loads(init(unpacked, "--json").stdout)
    order = Path(first["file"])
    order.write_text("mine")
    refused = init(unpacked, "--json")
    assert (refused.returncode, json.loads(refused.stdout)["code"]) == (1, "order_exists")
    assert "--force" in refused.stderr
    assert order.read_text() == "mine"
    assert json.loads(init(unpacked, "--force", "--json").stdout) == first, "the same tree is the same base"
    assert order.read_text() != "mine"


def test_a_repository_names_the_commit_where_the_work_began(tmp_path: Path) -> None:
    root = repository(tmp_path / "p")
    commit(root, "thing.py", "")
    left = commit(root, "tests/test_thing.py", TEST)
    leave(root)
    commit(root, "thing.py", "x = 1\n")
    result = init(root / "tests", "..", "--json", "--output", str(tmp_path / "elsewhere" / "order.yaml"))
    assert result.returncode == 0, result.stderr
    said = json.loads(result.stdout)
    assert set(said) >= {"file", "language", "image", "base", "checks", "setup", "notes"}
    assert said["base"] == {"repository": str(root), "revision": left}
    order = load_order(tmp_path / "elsewhere" / "order.yaml")
    assert order.base == BaseRevision(repository=str(root), revision=left)
    assert yaml.safe_load((tmp_path / "elsewhere" / "order.yaml").read_text())["workspace"] == "../p"


def test_a_folder_of_a_repository_gets_the_order_of_the_whole(tmp_path: Path) -> None:
    root = repository(tmp_path / "p")
    commit(root, "tests/test_thing.py", TEST)
    result = init(root / "tests")
    assert result.returncode == 0, result.stderr
    assert load_order(root / ".countersign" / "order.yaml").workspace == str(root)
    assert f"the order is for the whole repository {root}" in result.stdout


def test_what_is_no_directory_is_malformed(unpacked: Path) -> None:
    for name in ("missing", "thing.py"):
        result = init(unpacked, name)
        assert result.returncode == 2
        assert "is no directory" in result.stderr


def test_a_state_directory_that_the_worker_can_write_is_refused(unpacked: Path) -> None:
    result = init(unpacked, state=unpacked / "state")
    assert result.returncode == 2
    assert "COUNTERSIGN_STATE_DIR" in result.stderr
    assert not (unpacked / "state").exists()


def test_help_has_an_example(unpacked: Path) -> None:
    assert "Example: countersign init" in init(unpacked, "--help").stdout
