"""Rounds recorded earlier replay on the workflow as it is now: `make histories` records them anew."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from temporalio.client import WorkflowHistory
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import Replayer

from workflows.verification import VerificationWorkflow

HISTORIES = sorted((Path(__file__).parent / "histories").glob("*.json"))


def test_there_are_histories() -> None:
    assert {path.stem for path in HISTORIES} >= {
        "verified",
        "sequence",
        "failed",
        "refused",
        "cancelled",
        "set_up",
        "no_set_up",
    }


@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.stem)
def test_a_recorded_round_replays(path: Path) -> None:
    replayer = Replayer(workflows=[VerificationWorkflow], data_converter=pydantic_data_converter)
    history = WorkflowHistory.from_json(path.stem, path.read_text())
    assert asyncio.run(replayer.replay_workflow(history)).replay_failure is None
