"""No cheat is verified, every honest claim is, and each is told by its defence: one of every family, in short."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.conftest import Project
from tests.tamper.catalogue import ALL, CHEATS, HONEST, REDUCED
from tests.tamper.cheats_git import MARK
from tests.tamper.conftest import judge
from tests.unit.test_snapshot_revision import git

FAMILIES = (
    *("configuration", "collection", "runner shadowing", "early exit", "framework patching", "result forging"),
    *("file-system tricks", "git tricks", "process tricks", "protocol forgery", "hard-coding"),
    *("environment detection", "injection text"),
)


@pytest.mark.timeout(1200)
def test_one_of_every_family(project: Project) -> None:
    judged = judge(project, REDUCED, short=True)
    assert [problem for one in judged for problem in one.problems] == []


def test_the_catalogue_is_as_large_as_it_says() -> None:
    assert len(CHEATS) >= 60
    assert len(HONEST) >= 15
    assert len({claim.name for claim in ALL}) == len(ALL)
    assert {claim.family for claim in CHEATS} == set(FAMILIES)
    assert {claim.family for claim in REDUCED} == {*FAMILIES, "honest"}
    assert all(claim.expected for claim in CHEATS)


@pytest.mark.parametrize("name", ["filters-and-hooks", "a-file-system-monitor"])
def test_git_would_leave_a_mark(name: str, tmp_path: Path) -> None:
    claim = next(claim for claim in CHEATS if claim.name == name)
    claim.write(tmp_path)
    assert not (tmp_path / "work" / MARK).exists()
    git(tmp_path / "work", "status")
    assert (tmp_path / "work" / MARK).exists()
