"""What answers from the trail: real trees, a trail and a store in memory, and an engine that says what it has."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from adapters.config.order_file import load_order
from adapters.config.settings import Settings
from domain.authority import Authority
from domain.checks import CheckResult, Outcome
from domain.decision import Decision, Reason, RoundOutcome
from domain.errors import Cause, Unavailable
from domain.events import HARNESS, SYSTEM, Actor
from domain.messages import Image, RoundInput, RoundRecord, ScopeResult
from domain.report import Report, build
from domain.scope import ScopeReport
from entrypoints.remembered import Forgotten, Memory, request_of, trees_now
from tests.fakes.evidence import MemoryStore
from tests.fakes.trail import NOON, MemoryTrail, local_entry

ORDER = """\
id: wo-a
content: some work
workspace: work
base: base
verification: {tests: [tests], checks: [{name: t, command: 'true'}], auditor: {enabled: false}}
"""
IN_FORCE = Authority(program="1")
ANN = Actor(role="human", identity="ann")
IMAGE = Image(reference="countersign/python:0123456789ab", id="sha256:one")
SET_UP = Image(reference="countersign/setup:0123", id="sha256:two")


class Engine:
    """`PresentImages` of an engine with these images. `gone`: it does not answer."""

    def __init__(self) -> None:
        self.images = {"python": IMAGE}
        self.ids = {SET_UP.reference: SET_UP.id}
        self.asked = 0
        self.gone = False

    def present(self, image: str) -> Image | None:
        self._ask()
        return self.images.get(image)

    def local_id(self, reference: str) -> str | None:
        self._ask()
        return self.ids.get(reference)

    def _ask(self) -> None:
        self.asked += 1
        if self.gone:
            raise Unavailable(Cause.ENGINE_UNAVAILABLE, "it is gone", "start it")


class Project:
    """A project whose rounds are stored as real ones are."""

    def __init__(self, folder: Path) -> None:
        for path, text in {"base/a.txt": "base", "work/a.txt": "work", "tests/test_a.py": "x = 1"}.items():
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_text(text)
        self.folder = folder
        self.file = folder / "order.yaml"
        self.file.write_text(ORDER)
        self.settings = Settings(project=folder, state_dir=folder / "state")
        self.trail, self.store, self.engine = MemoryTrail(), MemoryStore(), Engine()
        self.rows = 0

    def request(self, authority: Authority = IN_FORCE) -> RoundInput:
        return request_of(load_order(self.file), str(self.file), None, authority)

    def answer(self, authority: Authority = IN_FORCE) -> Report | Forgotten | None:
        return Memory(self.settings, self.trail, self.store, lambda: self.engine).answer(self.request(authority))

    def round(
        self, outcome: RoundOutcome = RoundOutcome.VERIFIED, images: tuple[Image, ...] = (IMAGE,), **changed: Any
    ) -> int:
        """Store a round on the trees as they are; its attempt."""
        attempt = self.trail.last_attempt("local", "wo-a") + 1
        asked = self.request().model_copy(update={"attempt": attempt, **changed.pop("asked", {})})
        frozen = trees_now(self.settings, self.store, asked)
        assert frozen is not None
        record = RoundRecord(
            input=asked,
            started_at=NOON,
            ended_at=NOON,
            frozen=frozen,
            scope=ScopeResult(tree="t", tree_bytes=2, report="r", diff="f"),
            decision=Decision(outcome=outcome, reasons=(Reason(code="c", text="because"),)),
            **changed,
        )
        report = self.store.put(build(record, {}, ScopeReport(), None).model_dump_json().encode())
        blob = self.store.put(record.model_dump_json().encode())
        started = {"attempt": attempt, "items": ["t"], "order": asked.order_digest, "title": "T", "domain": "unknown"}
        self.row("verification_started", attempt, started)
        self.row("snapshot_frozen", attempt, {"head": frozen.head, "base": frozen.base})
        for image, action in zip(images, ("environment_ready", "environment_set_up"), strict=False):
            self.row(action, attempt, {"image": image.reference, "id": image.id})
        verdict = {"result": record.decision.verdict, "outcome": outcome.value, "record": blob, "report": report}
        self.row("audit_completed", attempt, {"criteria": [], "reasons": [], "trigger": "", **verdict}, HARNESS)
        return attempt

    def row(self, action: Any, attempt: int, payload: dict[str, Any], actor: Actor = SYSTEM) -> None:
        self.rows += 1
        self.trail.append(local_entry("wo-a", self.rows, action, actor, attempt, payload))


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def attempt_of(found: Report | Forgotten | None) -> tuple[int, str]:
    """Which round answered, and with what."""
    assert isinstance(found, Report), found
    assert found.remembered is not None
    return found.remembered.attempt, found.outcome.value


@pytest.mark.parametrize("outcome", [RoundOutcome.VERIFIED, RoundOutcome.CHANGES_REQUESTED, RoundOutcome.FAILED])
def test_the_same_work_is_answered_from_the_trail(project: Project, outcome: RoundOutcome) -> None:
    assert project.answer() is None
    project.round(outcome)
    blobs = dict(project.store.blobs)
    found = project.answer()
    assert attempt_of(found) == (1, outcome.value)
    assert isinstance(found, Report)
    assert found.remembered is not None
    assert found.remembered.at == NOON + timedelta(seconds=4), "when it was decided"
    assert found.remembered.kind is None
    assert dict(project.store.blobs) == blobs, "looking stores nothing"
    assert project.trail.last_attempt("local", "wo-a") == 1


def _other_work(project: Project) -> None:
    (project.folder / "work/a.txt").write_text("wor!")  # as long as before


def _new_file(project: Project) -> None:
    (project.folder / "work/b.txt").write_text("new")


def _mode(project: Project) -> None:
    (project.folder / "work/a.txt").chmod(0o755)


def _other_base(project: Project) -> None:
    (project.folder / "base/a.txt").write_text("bas!")


def _other_tests(project: Project) -> None:
    (project.folder / "tests/test_a.py").write_text("x = 2")


def _other_order(project: Project) -> None:
    project.file.write_text(ORDER.replace("'true'", "'false'"))


@pytest.mark.parametrize("change", [_other_work, _new_file, _mode, _other_base, _other_tests, _other_order])
def test_other_work_is_not_answered(project: Project, change: Callable[[Project], None]) -> None:
    project.round()
    change(project)
    assert project.answer() is None


def test_work_that_keeps_its_size_and_times_is_other_work_all_the_same(project: Project) -> None:
    """A worker can set both."""
    project.round()
    before = (project.folder / "work/a.txt").stat()
    _other_work(project)
    os.utime(project.folder / "work/a.txt", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert project.answer() is None


def test_another_authority_forgets_and_says_so(project: Project) -> None:
    project.round()
    assert project.answer(Authority(program="1", pin="p")) == Forgotten(1, "the pin changed")


def test_inconclusive_rounds_are_run_again(project: Project) -> None:
    for outcome in (RoundOutcome.INCONCLUSIVE, RoundOutcome.NEEDS_HUMAN):
        attempt = project.round(outcome)
        assert project.answer() == Forgotten(attempt, "it came to no verdict")


def test_flaky_rounds_are_run_again(project: Project) -> None:
    flaky = CheckResult(
        id="t",
        spelling="check",
        type="command_exit_zero",
        outcome=Outcome.PASSED,
        code="flaky",
        outcomes=(Outcome.FAILED, Outcome.PASSED),
    )
    project.round()
    project.round(results=(flaky,))
    assert project.answer() == Forgotten(2, "t was flaky"), "the earlier one answers no more"


def test_the_newest_round_on_the_work_answers(project: Project) -> None:
    project.round(RoundOutcome.CHANGES_REQUESTED)
    project.round()
    assert attempt_of(project.answer()) == (2, "verified")
    (project.folder / "work/a.txt").write_text("on the way")
    project.round(RoundOutcome.CHANGES_REQUESTED)
    (project.folder / "work/a.txt").write_text("work")
    assert attempt_of(project.answer()) == (2, "verified"), "a round on other work says nothing about this"


def test_a_round_that_was_never_decided_is_none(project: Project) -> None:
    project.round()
    last = project.trail.last_attempt("local", "wo-a") + 1
    order = project.request()
    payload = {"attempt": last, "items": [], "order": order.order_digest, "title": "T", "domain": "unknown"}
    project.row("verification_started", last, payload)
    assert attempt_of(project.answer()) == (1, "verified")


def test_what_was_pruned_is_forgotten(project: Project) -> None:
    project.round()
    kept = dict(project.store.blobs)
    decided = next(row for row in project.trail.rows() if row.action == "audit_completed")
    for name in ("record", "report"):
        digest = str(decided.payload[name])
        project.store.blobs = {key: data for key, data in kept.items() if key != digest}
        found = project.answer()
        assert isinstance(found, Forgotten), name
        assert digest[:12] in found.why


def test_another_image_forgets(project: Project) -> None:
    project.round()
    project.engine.images["python"] = IMAGE.model_copy(update={"id": "sha256:other"})
    assert project.answer() == Forgotten(1, "the image python is another")
    project.engine.images["python"] = IMAGE.model_copy(update={"reference": "countersign/python:other"})
    assert project.answer() == Forgotten(1, "the image python is another")
    project.engine.images.clear()
    assert project.answer() == Forgotten(1, "the image python is another")


def test_another_set_up_forgets(project: Project) -> None:
    project.round(images=(IMAGE, SET_UP))
    assert attempt_of(project.answer()) == (1, "verified")
    project.engine.ids.clear()
    assert project.answer() == Forgotten(1, "what environment.setup made is another image")


def test_an_engine_that_does_not_answer_remembers_nothing(project: Project) -> None:
    project.round()
    project.engine.gone = True
    assert project.answer() == Forgotten(1, "it is gone (engine_unavailable)")


def test_no_engine_is_asked_where_nothing_ran_on_one(project: Project) -> None:
    project.round(images=())
    project.engine.gone = True
    assert attempt_of(project.answer()) == (1, "verified")
    assert project.engine.asked == 0


def test_a_person_decides_about_the_trees_and_outranks_their_rounds(project: Project) -> None:
    project.round(RoundOutcome.NEEDS_HUMAN)
    project.row("approved", 1, {"snapshot": "s", "reason": "looked at it"}, ANN)
    found = project.answer()
    assert attempt_of(found) == (1, "verified")
    assert isinstance(found, Report)
    assert found.remembered is not None
    assert (found.remembered.kind, found.remembered.by) == ("approved", "human:ann")
    project.round(RoundOutcome.NEEDS_HUMAN)
    assert attempt_of(project.answer()) == (1, "verified"), "a later round that came to nothing takes nothing back"
    project.round(RoundOutcome.CHANGES_REQUESTED)
    assert attempt_of(project.answer()) == (3, "changes_requested"), "one that came to something does"
    project.row("human_override", 1, {"kind": "check", "reason": "all the same", "acknowledged": []}, ANN)
    assert attempt_of(project.answer()) == (1, "verified")


def test_an_approval_is_forgotten_with_what_it_was_given_under(project: Project) -> None:
    project.round(RoundOutcome.NEEDS_HUMAN)
    project.row("approved", 1, {"snapshot": "s", "reason": "fine"}, ANN)
    assert project.answer(Authority(program="1", signers="s")) == Forgotten(1, "the signers are others")


def test_what_a_person_sent_back_stays_sent_back_whatever_changes(project: Project) -> None:
    project.round(RoundOutcome.VERIFIED)
    project.row("changes_requested", 1, {"feedback": "rename it", "revision": 1, "reason": ""}, ANN)
    project.engine.gone = True
    assert attempt_of(project.answer(Authority(program="2"))) == (1, "changes_requested")


def test_what_people_asked_for_since_is_put_to_the_next_round(project: Project) -> None:
    project.round(RoundOutcome.CHANGES_REQUESTED)
    project.row("noted", 1, {"content": "rename it", "kind": "feedback"}, ANN)
    assert project.answer() == Forgotten(1, "people asked for more since")
    project.round(RoundOutcome.CHANGES_REQUESTED, asked={"human_feedback": "rename it"})
    assert attempt_of(project.answer()) == (2, "changes_requested")


def test_an_order_that_asks_from_another_image_is_not_remembered(project: Project) -> None:
    serve = {"serve": "python a.py", "url": "http://127.0.0.1:8000/", "status": 200}
    criterion = {"id": "AC-1", "type": "http_response", "params": serve}
    project.file.write_text(f"{ORDER}acceptance_criteria: [{json.dumps(criterion)}]\n")
    project.round()
    assert attempt_of(project.answer()) == (1, "verified")
    project.file.write_text(f"{ORDER}environment: {{image: node}}\nacceptance_criteria: [{json.dumps(criterion)}]\n")
    attempt = project.round()
    assert project.answer() == Forgotten(attempt, "the image that it asked from, python, was not recorded")


def test_a_workspace_that_cannot_be_taken_is_for_a_round_to_tell(project: Project) -> None:
    project.round()
    project.settings = project.settings.model_copy(update={"max_files": 0})
    assert project.answer() is None
