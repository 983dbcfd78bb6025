"""What was recorded earlier came to what it should, and replays on the workflows as they are: `make histories`."""

from __future__ import annotations

import asyncio
import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowHistory
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import Replayer

from domain.life import TodoInput
from entrypoints import host
from tests.replay.results import RESULTS
from workflows import attributes
from workflows.fix_loop import FixLoopWorkflow
from workflows.session.workflow import SessionWorkflow
from workflows.standalone_act import StandaloneActWorkflow
from workflows.todo import TodoWorkflow
from workflows.verification import VerificationWorkflow

HISTORIES = sorted((Path(__file__).parent / "histories").glob("*.json"))
STATUSES = (attributes.TODO_STATUS, attributes.SESSION_STATUS)


@dataclass
class Told:
    """What a history says: the rows that were stored, where it stood last, how the run ended (goes on, if it did not).

    A round stores some of its rows at the same time, in no order: they are sorted.
    """

    actions: list[str]
    status: str = ""
    end: str = "goes on"

    @property
    def line(self) -> str:
        """All of it."""
        return f"{' '.join(self.actions)} -> {self.status} ({self.end})"


def told(history: WorkflowHistory) -> Told:
    found = Told([])
    for event in history.events:
        scheduled = event.activity_task_scheduled_event_attributes
        if scheduled.activity_type.name == "trail.append":
            found.actions.append(json.loads(scheduled.input.payloads[0].data)["entry"]["action"])
        shown = event.upsert_workflow_search_attributes_event_attributes.search_attributes.indexed_fields
        found.status = next((json.loads(shown[name].data) for name in STATUSES if name in shown), found.status)
    if found.actions[:1] == ["verification_started"]:
        found.actions.sort()
    last = history.events[-1]
    name = EventType.Name(last.event_type).removeprefix("EVENT_TYPE_WORKFLOW_EXECUTION_")
    if name in ("COMPLETED", "CONTINUED_AS_NEW", "CANCELED", "FAILED"):
        found.end = name.lower()
        found.status = found.status or _outcome(last)
    return found


def _outcome(last: HistoryEvent) -> str:
    """Of a round, a fix loop, or an act on a standalone round."""
    results = last.workflow_execution_completed_event_attributes.result.payloads
    result: dict[str, Any] = json.loads(results[0].data) if results else {}
    if "ending" in result:
        return f"{result['ending']} {result['trigger']}".rstrip()
    if "decision" not in result:
        return str(result.get("status", ""))
    return str(result["decision"]["outcome"])


def history_of(path: Path) -> WorkflowHistory:
    return WorkflowHistory.from_json(path.stem, path.read_text())


def test_every_path_has_its_history_and_every_history_its_result() -> None:
    assert {path.stem for path in HISTORIES} == set(RESULTS)


@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.stem)
def test_what_was_recorded_came_to_what_it_should_and_replays(path: Path) -> None:
    history = history_of(path)
    result = RESULTS[path.stem]
    assert told(history).line == result or (result[:4] == "... " and told(history).line.endswith(result[4:]))
    replayer = Replayer(
        workflows=[SessionWorkflow, TodoWorkflow, VerificationWorkflow, FixLoopWorkflow, StandaloneActWorkflow],
        data_converter=pydantic_data_converter,
        debug_mode=True,  # without it what waits two seconds for a processor is taken for a deadlock, and fails
    )
    assert asyncio.run(replayer.replay_workflow(history)).replay_failure is None


def test_a_workflow_that_is_made_anew_imports_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its module run once more for each would be most of what it costs to have a todo back that a worker let go of."""
    made: list[str] = []
    begin = TodoWorkflow.__init__

    @functools.wraps(begin)
    def counted(self: TodoWorkflow, request: TodoInput) -> None:
        made.append(request.todo.id)
        begin(self, request)

    monkeypatch.setattr(TodoWorkflow, "__init__", counted)
    replayer = Replayer(
        workflows=[TodoWorkflow],
        data_converter=pydantic_data_converter,
        workflow_runner=host.workflow_runner(),
        debug_mode=True,
    )
    path = next(path for path in HISTORIES if path.stem == "todo_verified")
    assert asyncio.run(replayer.replay_workflow(history_of(path))).replay_failure is None
    assert made
