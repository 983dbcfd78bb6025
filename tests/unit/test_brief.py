"""What a worker is told, and what it may hand in: nothing that it could write down instead of doing the work."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from temporalio.testing import ActivityEnvironment

from activities.work import WorkActivities
from adapters.masking.masker import Masker
from adapters.workers.environment import scrubbed
from adapters.workers.output import masked
from domain.brief import TOLD, Brief, brief_of
from domain.claims.claim import MAX_CLAIM_BYTES, Claim, faults
from domain.criteria import CRITERION_TYPES
from domain.events import Actor
from domain.feedback import RetryContext
from domain.handed_in import HandedAnswer, HandedQuestion, answer_faults, output_answer, output_claim, question_faults
from domain.life import WorkInput, WorkResult
from domain.order import Order, WorkerCommand
from domain.ports import Progress
from domain.status import TodoStatus
from domain.todo import Note, OpenQuestion, Todo
from tests.fakes.evidence import MemoryStore
from tests.worker_commands import drive_of, todo_of

NOW = datetime(2026, 1, 15, 10, 5, tzinfo=UTC)
SECRETS = ("a-case-returns-this", "the_reference.py", "the-body-must-be-this", "the-control", "the-value")


def everything() -> Order:
    """One criterion of each type, with every value that must not be told."""
    params: dict[str, dict[str, Any]] = {
        "file_exists": {"path": "a"},
        "file_contains": {"path": "a", "pattern": "b"},
        "command_exit_zero": {"command": "make", "control": {"command": "the-control"}, "env": {"A": "the-value"}},
        "command_output": {"command": "make", "stdout": "told"},
        "python_call": {
            "module": "m",
            "function": "f",
            "cases": [{"args": [1], "returns": "a-case-returns-this"}],
            "generate": {"reference": "the_reference.py", "args": [{"integer": {"min": 0, "max": 9}}]},
        },
        "cli_io": {"command": "run", "cases": [{"stdin": "1", "stdout": "a-case-returns-this"}]},
        "http_response": {"serve": "s", "url": "http://127.0.0.1:1/", "body": "the-body-must-be-this"},
        "api_response": {"url": "https://a.example/", "body_contains": "the-body-must-be-this"},
        "git_commit_exists": {"message": "is_prime"},
        "pr_exists": {"repository": "a/b", "head": "c"},
        "pr_merged": {"repository": "a/b", "number": 1},
        "subjective": {},
    }
    assert set(params) == set(CRITERION_TYPES)
    criteria = [{"type": type_, "params": fields, "description": type_} for type_, fields in params.items()]
    checks = [
        {"name": "lint", "command": "ruff check", "required": False, "control": {"command": "the-control"}},
        {"name": "tests", "command": "pytest", "env": {"A": "the-value"}},
    ]
    return Order.model_validate(
        {"id": "o", "content": "Do it", "acceptance_criteria": criteria, "verification": {"checks": checks}}
    )


def told(todo: Todo, last: RetryContext | None = None) -> dict[str, Any]:
    return brief_of(todo, last).model_dump(mode="json")


@pytest.fixture
def todo(tmp_path: Path) -> Todo:
    return todo_of(tmp_path)


class TestBrief:
    def test_it_has_the_contract_s_fields(self, todo: Todo) -> None:
        brief = told(todo)
        assert brief["todo"] == "s/wo-prime"
        assert brief["content"] == "Implement is_prime"
        assert (brief["attempt"], brief["retry_context"], brief["question"]) == (1, None, None)
        assert brief["claim_schema"]["required"] == ["explanation"]

    def test_every_type_is_told_and_no_expected_value_is(self, tmp_path: Path) -> None:
        brief = told(todo_of(tmp_path, order=everything()))
        text = json.dumps(brief)
        assert [secret for secret in SECRETS if secret in text] == []
        criteria = {criterion["type"]: criterion for criterion in brief["criteria"]}
        assert set(criteria) == set(TOLD)
        assert criteria["command_output"]["params"] == {"command": "make", "cwd": ".", "stdout": "told", "exit_code": 0}
        assert criteria["pytest"] == {
            "id": "tests",
            "type": "pytest",
            "description": "",
            "required": True,
            "params": {"command": "pytest", "cwd": "."},
        }
        assert "params" not in criteria["subjective"]

    def test_checks_that_nobody_runs_are_not_told(self, tmp_path: Path) -> None:
        order = Order.model_validate(
            {"content": "x", "verification": {"enabled": False, "checks": [{"name": "a", "command": "b"}]}}
        )
        assert told(todo_of(tmp_path, order=order))["criteria"] == []

    def test_what_the_last_round_left_comes_with_what_people_said_since(self, tmp_path: Path) -> None:
        human = Actor(role="human", identity="ann")
        notes = (
            Note(author=human, content="use sieve", kind="feedback", timestamp=NOW),
            Note(author=human, content="too slow", kind="revision_request", timestamp=NOW),
            Note(author=Actor(role="worker", identity="w"), content="mine", kind="feedback", timestamp=NOW),
        )
        todo = todo_of(tmp_path, audits=1, feedback="too slow", notes=notes, prior_attempts=("1: failed",))
        last = RetryContext(attempt_number=7, max_attempts=9, specific_failures=("tests: exit code 1",))
        context = told(todo, last)["retry_context"]
        assert (context["attempt_number"], context["max_attempts"]) == (2, 3)
        assert context["human_feedback"] == "too slow\n\nuse sieve"
        assert context["specific_failures"] == ["tests: exit code 1"]
        assert context["prior_attempts"] == ["1: failed"]
        assert told(todo)["retry_context"]["human_feedback"] == "too slow\n\nuse sieve"

    def test_a_question_is_the_auditor_s_and_not_its_own(self, tmp_path: Path) -> None:
        question = OpenQuestion(question="why?", evidence_requested=("log",), reason="unclear", round=1, of=3)
        asked = told(todo_of(tmp_path, status=TodoStatus.CLAIMED, question=question))
        assert asked["question"]["question"] == "why?"
        assert (asked["question"]["round"], asked["question"]["of"]) == (1, 3)
        assert asked["claim_schema"]["required"] == ["answer"]
        assert told(todo_of(tmp_path, status=TodoStatus.BLOCKED, question=question))["question"] is None

    def test_it_is_told_why_the_last_claim_was_not_taken(self, tmp_path: Path) -> None:
        brief = told(todo_of(tmp_path, last_refusal="no_new_evidence", clarification="port 80"))
        assert (brief["refused"], brief["clarification"]) == ("no_new_evidence", "port 80")


class TestHandedIn:
    def test_what_says_nothing_is_told(self) -> None:
        assert [fault.at for fault in answer_faults(HandedAnswer(answer=" "))] == [("answer",)]
        assert [fault.at for fault in question_faults(HandedQuestion(question="\n"))] == [("question",)]
        assert answer_faults(HandedAnswer(answer="No.")) == ()

    def test_an_answer_s_evidence_has_labels_as_a_claim_s(self) -> None:
        twice = [{"label": "a", "type": "note"}, {"label": "a", "type": "note"}]
        answer = HandedAnswer.model_validate({"answer": "See it", "additional_evidence": twice})
        assert [fault.at for fault in answer_faults(answer)] == [("additional_evidence", 1, "label")]

    @pytest.mark.parametrize("output", ["", "ok\n", "\0\x1b[1m" * 100_000, "é\U0001f600" * 50_000, '"\\\n' * 60_000])
    def test_an_output_makes_an_admissible_claim_and_answer(self, output: str) -> None:
        claim = output_claim("ended with exit code 0", output)
        assert faults(claim) == ()
        assert len(claim.model_dump_json()) < MAX_CLAIM_BYTES
        assert answer_faults(output_answer("ended with exit code 0", output)) == ()

    def test_the_end_of_an_output_is_what_is_kept(self) -> None:
        (evidence,) = output_claim("ended with exit code 1", "x" * 200_000 + "the end").evidence
        assert isinstance(evidence.data, str)
        assert evidence.data.endswith("the end")


class TestWhatItGets:
    @pytest.mark.parametrize("name", ["COUNTERSIGN_STATE_DIR", "TEMPORAL_ADDRESS", "TEMPORAL_"])
    def test_authority_cannot_be_asked_for(self, name: str) -> None:
        with pytest.raises(ValidationError, match="is for Countersign alone"):
            WorkerCommand(command="x", env=[name])
        assert WorkerCommand(command="x", env=["MODEL_KEY"]).env == ["MODEL_KEY"]

    def test_the_environment_is_scrubbed(self) -> None:
        given = {"PATH": "/bin", "https_proxy": "p", "LC_ALL": "C", "KEY": "k", "OTHER": "o", "COUNTERSIGN_ACTOR": "a"}
        got = scrubbed(given, ["KEY", "MISSING"], Path("/b.json"))
        expected = {"PATH": "/bin", "https_proxy": "p", "LC_ALL": "C", "KEY": "k", "TERM": "dumb"}
        assert got == {**expected, "COUNTERSIGN_BRIEF": "/b.json"}

    def test_half_a_secret_at_a_cut_is_cut_as_well(self) -> None:
        masker = Masker({"KEY": b"abcdefghijkl"})
        head, tail = b"-" * 200 + b"abcdefgh", b"efghijkl" + b"-" * 200
        assert "efgh" not in masked(head, tail, 1000, masker)
        assert masked(b"abcdef", b"ghijkl", 12, masker) == masker.text("abcdefghijkl")


class _Workers:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.brief: Brief | None = None

    async def run(self, request: WorkInput, brief: Brief, progress: Progress) -> WorkResult:
        self.brief = brief
        progress("it runs")
        return WorkResult(claim=Claim(explanation="x"), started_at=NOW, ended_at=NOW)


async def test_the_activity_tells_what_the_last_round_left(tmp_path: Path) -> None:
    store, workers = MemoryStore(), _Workers()
    last = RetryContext(attempt_number=2, max_attempts=3, specific_failures=("tests: exit code 1",))
    request = drive_of(tmp_path, "true")
    context = store.put(last.model_dump_json().encode())
    request = request.model_copy(update={"todo": request.todo.model_copy(update={"retry_context": context})})
    result = await ActivityEnvironment().run(WorkActivities(workers, store).run, request)
    assert result.claim == Claim(explanation="x")
    assert workers.brief is not None
    assert workers.brief.retry_context is not None
    assert workers.brief.retry_context["specific_failures"] == ["tests: exit code 1"]
