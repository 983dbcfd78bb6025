"""A command in a forked process comes out as the program itself does."""

from __future__ import annotations

import contextlib
import subprocess
import time

import psutil
import pytest

from tests.forked import FORKS
from tests.integration.conftest import Project, alive

ORDER = {"verification": {"checks": [{"name": "any", "command": "true"}]}}


def test_output_exit_code_and_variables_are_the_programs(project: Project) -> None:
    order = project.order(id="wo-graph", **ORDER)
    for arguments in (("graph", order), ("graph", "nowhere.yaml"), ("status", "--json"), ("nonsense",)):
        forked, program = project.run(*arguments), project.run_program(*arguments)
        assert (forked.returncode, forked.stdout, forked.stderr) == (
            *(program.returncode, program.stdout, program.stderr),
        ), arguments
    codes = [project.run("graph", order).returncode, project.run("graph", "nowhere.yaml").returncode]
    assert codes == [0, 2], "each is a process of its own, with an exit code of its own"
    said = project.run("log", "show", COUNTERSIGN_DATABASE_URL="mysql://x/y")
    assert (said.returncode, "mysql" in said.stderr) == (2, True)


def forks() -> list[int]:
    """The process that is forked from, and those that were forked and live."""
    found = []
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # one that has just ended, or waits to be taken note of
            found += [child.pid] if "tests.forked" in str(child.cmdline()) else []
    return found


def test_one_that_takes_too_long_is_killed(project: Project) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        FORKS.run(("log", "show", "--follow"), project.root, project.environment, 1.5)
    mine = forks()
    assert mine, "the one that is forked from"
    deadline = time.monotonic() + 60
    while len([pid for pid in mine if alive(pid)]) > 1:
        assert time.monotonic() < deadline, "the command goes on"
        time.sleep(0.05)
