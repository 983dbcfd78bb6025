"""What is said of a todo's attempts: what failed in each, what the last one changed, what nobody can tell any more."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from adapters.evidence.folder import FolderStore
from domain.base import canonical_json
from domain.checks import CheckResult, Outcome
from domain.decision import Decision, Reason, RoundOutcome
from domain.events import Actor
from domain.messages import RoundInput, RoundRecord
from domain.read_model import RoundView
from domain.report import build
from domain.scope import ScopeReport
from domain.tree import Entry, Manifest
from entrypoints.tried import MOST_PATHS, MOST_TRIED, Past, of_the_worker, repairs_of
from tests.unit.test_cli_overruling import FROZEN, TREE, order, result
from tests.unit.test_events import row

NOW = datetime(2026, 1, 15, 10, 0, tzinfo=UTC)
P, F = Outcome.PASSED, Outcome.FAILED


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path)


def tree(store: FolderStore, **files: bytes) -> str:
    """A stored tree of files by name; `_` stands for a dot."""
    entries = (Entry(path=n.replace("_", "."), size=len(data), digest=store.put(data)) for n, data in files.items())
    return store.put(Manifest.of(entries).encode())


def report(store: FolderStore, *results: CheckResult, text: str = "why") -> str:
    reasons = (Reason(code="exit_code", text=text), Reason(code="exit_code", text="and more"))
    asked: dict[str, Any] = {"session": "s", "todo": "a", "attempt": 1, "order_digest": order().digest, "host": "h"}
    record = RoundRecord(
        input=RoundInput(order=order(), actor=Actor(role="worker", identity="eve"), **asked),
        started_at=NOW,
        ended_at=NOW,
        frozen=FROZEN,
        scope=TREE,
        results=results,
        decision=Decision(outcome=RoundOutcome.CHANGES_REQUESTED, reasons=reasons),
    )
    return store.put(canonical_json(build(record, {}, ScopeReport(), None).model_dump(mode="json")))


def round_(attempt: int, **fields: Any) -> RoundView:
    given = {"session": "s", "todo": "a", "workflow_id": f"round/s/a/{attempt}", "started_at": NOW}
    decided = {"status": "decided", "outcome": "changes_requested", "verdict": "FAIL", "reasons": ("exit_code",)}
    return RoundView.model_validate({"attempt": attempt, **given, **decided, **fields})


def test_an_attempt_has_what_failed_in_it_and_the_first_reason(store: FolderStore) -> None:
    filed = report(
        store, result("lint", F), result("types", P), result("style", F, required=False), text="lint: broken"
    )
    (one,) = Past(store).tried([round_(2, report=filed, head="h2", ended_at=NOW)])
    assert (one.attempt, one.outcome, one.verdict, one.snapshot) == (2, "changes_requested", "FAIL", "h2")
    assert one.reason == "lint: broken"
    assert [(each.name, each.outcome, each.required) for each in one.failed] == [
        ("lint", "failed", True),
        ("style", "failed", False),
    ]
    assert (one.ended_at, one.unknown) == (NOW, "")


def test_an_attempt_without_a_verdict_says_so(store: FolderStore) -> None:
    rounds = [round_(1, status="cancelled", outcome=""), round_(2, status="running", outcome="", reasons=())]
    assert [(each.outcome, each.reason) for each in Past(store).tried(rounds)] == [("cancelled", "exit_code"), ("", "")]


def test_what_is_lost_is_unknown_and_hides_nothing_else(store: FolderStore) -> None:
    rounds = [
        round_(1, report="0" * 64, head=tree(store)),
        round_(2, report=report(store, result("lint", F)), head="1" * 64),
    ]
    first, second = Past(store).tried(rounds)
    assert "0" * 64 in first.unknown
    assert (first.outcome, first.reason) == ("changes_requested", "exit_code")
    assert [each.name for each in second.failed] == ["lint"]
    difference = Past(store).difference(rounds)
    assert difference is not None
    assert (difference.before, difference.after, difference.paths) == (1, 2, ())
    assert "1" * 64 in difference.unknown


def test_only_the_last_attempts_are_read(store: FolderStore) -> None:
    rounds = [round_(number) for number in range(1, MOST_TRIED + 3)]
    assert [each.attempt for each in Past(store).tried(rounds)] == list(range(3, MOST_TRIED + 3))


def test_the_last_two_attempts_are_compared_path_by_path(store: FolderStore) -> None:
    before = tree(store, a_txt=b"one\ntwo\n", b_txt=b"same\n", c_txt=b"gone\n", d_png=b"\0a")
    after = tree(store, a_txt=b"one\n2\nthree\n", b_txt=b"same\n", d_png=b"\0b", e_txt=b"new\nfile\n")
    was = report(store, result("lint", F), result("tests", P), result("types", F))
    now = report(store, result("lint", P), result("tests", F), result("types", F), result("new", P))
    rounds = [round_(1, head="9" * 64), round_(2, head=before, report=was), round_(3, head=after, report=now)]
    found = Past(store).difference(rounds)
    assert found is not None
    assert (found.before, found.after, found.more, found.unknown) == (2, 3, 0, "")
    assert [(each.path, each.kind, each.added, each.removed) for each in found.paths] == [
        ("a.txt", "modified", 2, 1),
        ("c.txt", "deleted", 0, 1),
        ("d.png", "modified", None, None),
        ("e.txt", "added", 2, 0),
    ]
    assert [(each.name, each.before, each.after) for each in found.outcomes] == [
        ("lint", "failed", "passed"),
        ("tests", "passed", "failed"),
    ]


def test_a_first_attempt_is_compared_with_the_base(store: FolderStore) -> None:
    base, head = tree(store, a_txt=b"one\n"), tree(store, a_txt=b"one\ntwo\n")
    broke = result("tests", F).model_copy(update={"base_outcome": P})
    filed = report(store, broke, result("lint", F))
    found = Past(store).difference([round_(1, head=head, base=base, report=filed), round_(2, status="running")])
    assert found is not None
    assert (found.before, found.after) == (0, 1), "the second has no tree yet"
    assert [(each.path, each.added, each.removed) for each in found.paths] == [("a.txt", 1, 0)]
    assert [(each.name, each.before, each.after) for each in found.outcomes] == [("tests", "passed", "failed")]


def test_without_a_tree_there_is_nothing_to_compare(store: FolderStore) -> None:
    assert Past(store).difference([]) is None
    assert Past(store).difference([round_(1, status="running")]) is None


def test_of_many_changed_paths_the_rest_is_counted(store: FolderStore) -> None:
    many = {f"f{number:03}": b"x" for number in range(MOST_PATHS + 7)}
    found = Past(store).difference([round_(1, head=tree(store, **many), base=tree(store))])
    assert found is not None
    assert (len(found.paths), found.more) == (MOST_PATHS, 7)


def completed(loop: int, attempt: int) -> dict[str, Any]:
    said = {"loop": loop, "of": 2, "answer": "APPLIED:1", "edits": 1, "refused": 0, "paths": ["a.txt"]}
    ended = {
        "feedback": "f",
        "patch": "p",
        "attempt": attempt,
        "outcome": "changes_requested",
        "confidence": "FEEDBACK",
    }
    return {**said, **ended, "cost_usd": 0.25, "why": "" if attempt else "nothing was repaired"}


def test_repairs_are_those_of_the_last_loop_and_no_attempts_of_the_worker() -> None:
    rows = [
        row(action="fix_loop_started", payload={"attempt": 1}),
        row(action="fix_iteration_completed", payload=completed(1, 2)),
        row(action="fix_loop_started", payload={"attempt": 3}),
        row(action="fix_iteration_completed", payload=completed(1, 4)),
        row(action="fix_iteration_completed", payload=completed(2, 0)),
    ]
    assert [(each.loop, each.attempt, each.why) for each in repairs_of(rows)] == [
        (1, 4, ""),
        (2, None, "nothing was repaired"),
    ]
    rounds = [round_(number) for number in (4, 3, 2, 1)]
    assert [one.attempt for one in of_the_worker(rounds, rows)] == [1, 3]
