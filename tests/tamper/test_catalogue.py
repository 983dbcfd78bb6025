"""The whole catalogue of claims: `make tamper`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.integration.conftest import Project
from tests.tamper import dataset, evaluation, table
from tests.tamper.catalogue import ALL
from tests.tamper.conftest import judge

CHOSEN = [name for name in os.environ.get("TAMPER", "").split(",") if name]
"""Names of claims or families; without any, all are judged."""

PAGE = os.environ.get("TAMPER_PAGE", "")
"""Where the table is kept, if all is as it should be."""


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_whole_catalogue(project: Project) -> None:
    claims = dataset.chosen(ALL, CHOSEN)
    judged = judge(project, claims)
    assert [problem for one in judged for problem in one.problems] == []
    evaluation.compare(project, judged, "--from-stored")
    if PAGE and not CHOSEN:
        table.write(Path(PAGE), judged)
