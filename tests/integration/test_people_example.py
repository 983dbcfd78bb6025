"""The example of todos that need a person: what its page tells to run is run, and comes to what the page says."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.conftest import LIMIT_SECONDS, Project, make_project
from tests.people import becomes, refusals, rows, status

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "people"
ANN = {"role": "human", "identity": "ann@example.org"}


@pytest.fixture
def copied(tmp_path: Path) -> Iterator[Project]:
    """The example's own folder, copied."""
    project = make_project(tmp_path / "people", tmp_path / "state")
    shutil.rmtree(project.root)
    shutil.copytree(EXAMPLE, project.root)
    project.environment["PATH"] = f"{Path(sys.executable).parent}:{project.environment['PATH']}"
    yield project
    project.close()


def told(page: str) -> str:
    """The page's commands, but for those that copy the example and end its host."""
    lines = [line for block in re.findall(r"^```\n(.*?)^```", page, re.S | re.M) for line in block.splitlines()]
    return "\n".join(line for line in lines if not line.startswith(("mkdir ", "countersign down")))


def test_it_goes_as_its_page_says(copied: Project) -> None:
    ran = subprocess.run(
        ["bash", "-c", told((EXAMPLE / "README.md").read_text())],
        cwd=copied.root,
        env=copied.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert status(copied, "people/notes") == ("verified", "approved"), ran.stdout + ran.stderr
    becomes(copied, "people/rule", "verified")
    assert status(copied, "people/rule") == ("verified", "overridden")
    assert status(copied, "people/question")[0] == "in_progress"
    assert refusals(copied, "people/notes") == [("approve", "forbidden"), ("approve", "signature_required")]
    acts = [("notes", "approved"), ("question", "todo_unblocked"), ("rule", "human_override")]
    assert [row["actor"] for todo, action in acts for row in rows(copied, f"people/{todo}", action)] == [ANN] * 3
