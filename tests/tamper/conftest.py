"""A project whose host judges claims, and the table that is printed while it does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from entrypoints import client
from tests.integration.conftest import Project, make_project
from tests.tamper import table
from tests.tamper.claims import Claim
from tests.tamper.judging import Court, Judged


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test's own client does not give up a server, or itself, that stands still for a while."""
    monkeypatch.setattr(client, "CONNECT_SECONDS", 120.0)
    monkeypatch.setattr(client, "RPC", timedelta(seconds=120))


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """Its host ends with the test."""
    folder = tmp_path / "project"
    folder.mkdir()
    made = make_project(folder, tmp_path / "state")
    yield made
    assert made.close().returncode == 0


def judge(project: Project, claims: Sequence[Claim], short: bool = False) -> list[Judged]:
    """What becomes of the claims, printed as it comes."""
    print(f"\n{table.line(table.HEADS)}")

    def seen(judged: Judged) -> None:
        print(table.line(table.cells(judged)), flush=True)
        for problem in judged.problems:
            print(f"    {problem}", flush=True)

    judged = Court(project).judge(claims, seen, short)
    print(table.summary(judged))
    return judged
