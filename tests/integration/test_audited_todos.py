"""The auditor's questions to a worker, over the command line: asked, answered, refused, and never answered at all."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
import yaml

from tests.auditor import KEY, KEY_VARIABLE, approve, ask, audits, configure, look, stage_of
from tests.integration.conftest import Project, make_project, wait_for
from tests.provider import Provider, providing

CLAIM = {
    "explanation": "I wrote the line that was asked for; what it prints is in [log].",
    "evidence": [{"label": "log", "type": "command_output", "data": "after"}],
    "files_modified": ["a.txt"],
    "commands_run": [],
}
CRITERIA = [
    {"id": "AC-1", "type": "file_contains", "params": {"path": "a.txt", "pattern": "after"}},
    {"id": "AC-2", "type": "subjective", "description": "reads well"},
]
DIALOGUE = ("follow_up_asked", "follow_up_answered", "follow_up_expired")
NOBODY = "nobody answered in time"
PATIENCE = 300.0
"""Seconds: whatever was killed has to be started again, on a machine that may be busy."""


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with providing() as serving:
        yield serving


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory, provider: Provider) -> Iterator[Project]:
    """A session of todos with an auditor; the worker of `silent` has a second to answer."""
    made = make_project(tmp_path_factory.mktemp("audited"), tmp_path_factory.mktemp("state"))
    made.environment[KEY_VARIABLE] = KEY
    configure(made.root, provider.openai_url, provider.anthropic_url)
    (made.root / "claim.json").write_text(json.dumps(CLAIM))
    todos = [
        {"id": "asked", "content": "Write it"},
        {"id": "killed", "content": "Write it again"},
        {"id": "silent", "content": "Write it and say nothing", "safeguards": {"follow_up_timeout": 1}},
    ]
    defaults = {
        "workspace": "work",
        "base": "base",
        "acceptance_criteria": CRITERIA,
        "verification": {"adversarial": "never"},
    }
    session = {"id": "talk", "defaults": defaults, "todos": todos}
    (made.root / "talk.yaml").write_text(yaml.safe_dump(session))
    made.answer("session", "create", "talk.yaml", "--json")
    yield made
    assert made.close().returncode == 0


def shown(project: Project, todo: str) -> dict[str, Any]:
    told: dict[str, Any] = project.answer("todo", "show", f"talk/{todo}", "--json")
    return told


def claimed(project: Project, todo: str) -> None:
    project.answer("todo", "start", f"talk/{todo}", "--json")
    project.answer("todo", "claim", f"talk/{todo}", "--claim", "claim.json", "--json")


def is_asked(project: Project, todo: str, question: str) -> bool:
    return bool(shown(project, todo)["question"] == question)


def actions(project: Project, todo: str, *wanted: str) -> list[str]:
    return [row["action"] for row in project.rows(f"talk/{todo}") if row["action"] in wanted]


def hold_dialogue(project: Project, todo: str, victims: tuple[str, ...]) -> None:
    """Claim, and answer three questions; while the second and the third are open, a victim is killed."""
    claimed(project, todo)
    for number, victim in enumerate(("", *(victims or ("", ""))), start=1):
        wait_for(partial(is_asked, project, todo, f"question {number}?"), PATIENCE)
        if victim:
            os.kill(project.status()[victim], signal.SIGKILL)
        project.answer("todo", "respond", f"talk/{todo}", "--answer", f"ANSWER-{number}", "--json")
    wait_for(lambda: shown(project, todo)["status"] == "verified", PATIENCE)


@pytest.mark.parametrize(
    ("todo", "victims"),
    [("asked", ()), pytest.param("killed", ("worker_pid", "host_pid"), marks=pytest.mark.slow)],
)
def test_three_answers_are_heard_and_a_fourth_question_is_refused(
    audited: Project, provider: Provider, todo: str, victims: tuple[str, ...]
) -> None:
    """Whatever is killed between two of them: what was asked stays asked, and no request is sent twice."""
    before = len(provider.received)
    provider.answers(audits([look], [*(ask(f"question {number}?") for number in (1, 2, 3, 4)), approve]))
    hold_dialogue(audited, todo, victims)
    informed = [one for one in provider.received[before:] if stage_of(one) == "informed"]
    assert [one.answered for one in informed] == [0, 1, 2, 3, 4]
    for number in (1, 2, 3):
        assert [f"ANSWER-{number}" in one.user for one in informed] == [False] * number + [True] * (5 - number)
    assert "no more questions may be asked" in informed[4].user
    assert actions(audited, todo, *DIALOGUE) == ["follow_up_asked", "follow_up_answered"] * 3
    (refused,) = [row for row in audited.rows(f"talk/{todo}") if row["action"] == "tool_refused"]
    assert (refused["payload"]["tool"], refused["payload"]["code"]) == ("question", "no_question_left")


def test_a_worker_that_says_nothing_gets_a_verdict_all_the_same(audited: Project, provider: Provider) -> None:
    before = len(provider.received)
    provider.answers(audits([look], [ask("where is the log?"), approve]))
    claimed(audited, "silent")
    wait_for(lambda: shown(audited, "silent")["status"] == "verified", PATIENCE)
    assert NOBODY in provider.received[-1].user
    assert [stage_of(one) for one in provider.received[before:]] == ["blind", "informed", "informed"]
    assert actions(audited, "silent", *DIALOGUE) == ["follow_up_asked", "follow_up_expired"]
