"""The override that is proposed names what the last round saw fail, and is one that the order's policy takes."""

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
from domain.messages import Frozen, RoundInput, RoundRecord, ScopeResult
from domain.order import Order
from domain.read_model import RoundView, SessionView, State, TodoView
from domain.report import build
from domain.scope import ScopeReport
from domain.status import RoundStatus, TodoStatus
from entrypoints.cli import common
from entrypoints.cli.inbox import waiting
from entrypoints.cli.overruling import signing_options

NOW = datetime(2026, 1, 15, 10, 0, tzinfo=UTC)
TREE = ScopeResult(tree="t", tree_bytes=2, report="r", diff="f")
FROZEN = Frozen(head="h", base="b", head_files=1, head_bytes=2, base_files=1, dropped="d")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FolderStore:
    made = FolderStore(tmp_path)
    monkeypatch.setattr(common, "open_evidence", lambda: made)
    return made


def order(**policy: Any) -> Order:
    said = {"id": "a", "content": "Do it", "acceptance_criteria": [], "override_policy": policy}
    criteria = [{"id": "AC-1", "type": "subjective", "description": "It is clear"}]
    return Order.model_validate({**said, "acceptance_criteria": criteria})


def result(name: str, outcome: Outcome, required: bool = True) -> CheckResult:
    return CheckResult(
        id=name, spelling="check", type="command_exit_zero", required=required, outcome=outcome, code="exit_code"
    )


def proposed(store: FolderStore, given: Order, *results: CheckResult, **more: Any) -> list[str]:
    """The commands for a todo whose last round saw `results`; `more`: `codes` of its decision, `status`, `edited`."""
    scope = ScopeReport() if more.get("scope", True) else None
    asked = RoundInput(
        session="s",
        todo="a",
        attempt=3,
        order=given,
        order_digest=given.digest,
        host="h",
        actor=Actor(role="human", identity="ann"),
    )
    reasons = tuple(Reason(code=code, text="why") for code in more.get("codes", ()))
    record = RoundRecord(
        input=asked,
        started_at=NOW,
        ended_at=NOW,
        frozen=FROZEN,
        scope=TREE if scope else None,
        results=results,
        decision=Decision(outcome=RoundOutcome.CHANGES_REQUESTED, reasons=reasons),
    )
    report = store.put(canonical_json(build(record, {}, scope, None).model_dump(mode="json")))
    edited = given.model_copy(update={"content": "Do it well"}) if more.get("edited") else given
    digest = store.put(canonical_json(edited.model_dump(mode="json")))
    view = TodoView(
        session="s",
        todo="a",
        status=more.get("status", TodoStatus.NEEDS_HUMAN),
        attempt=3,
        order_digest=digest,
        created_at=NOW,
        updated_at=NOW,
    )
    last = RoundView(
        session="s",
        todo="a",
        attempt=3,
        workflow_id="round/s/a/3",
        status=RoundStatus.DECIDED,
        order=given.digest,
        report="0" * 64 if more.get("lost") else report,
        started_at=NOW,
    )
    session = SessionView(session="s", created_at=NOW)
    (one,) = waiting(State(sessions=(session,), todos=(view,), rounds=(last,)))
    acts = [command.removeprefix("countersign ").removesuffix(" --expected-version 1") for command in one.next]
    return [act for act in acts if act.startswith(("override", "approve"))]


P, F, N = Outcome.PASSED, Outcome.FAILED, Outcome.COULD_NOT_RUN


def test_every_required_check_that_did_not_pass_is_named_in_its_order(store: FolderStore) -> None:
    seen = [result("lint all", F), result("types", P), result("style", F, required=False), result("tests", N)]
    assert proposed(store, order(), *seen) == [
        "override s/a --kind check --acknowledge 'lint all' --acknowledge tests --reason TEXT"
    ]


def test_a_change_that_was_not_allowed_is_acknowledged_by_its_code(store: FolderStore) -> None:
    assert proposed(store, order(), result("tests", P), codes=("scope_violation",)) == [
        "override s/a --kind check --acknowledge scope_violation --reason TEXT"
    ]


def test_where_all_passed_an_approval_is_enough(store: FolderStore) -> None:
    assert proposed(store, order(), result("tests", P), codes=("not_judged",)) == ["approve s/a"]


def test_what_the_auditor_objects_to_is_another_kind(store: FolderStore) -> None:
    seen = result("tests", P)
    assert proposed(store, order(), seen, codes=("auditor_failed",)) == ["override s/a --kind verifier --reason TEXT"]
    assert proposed(store, order(verifier_override_allowed=False), seen, codes=("auditor_failed",)) == []


def test_nothing_is_proposed_that_the_policy_refuses(store: FolderStore) -> None:
    refused = order(check_override_allowed=False, signatures="required")
    assert proposed(store, refused, result("tests", F)) == []


@pytest.mark.parametrize(("key", "more"), [("", " --key FILE"), ("~/.ssh/id_ed25519", "")])
@pytest.mark.parametrize("signatures", ["off", "optional", "required"])
def test_where_it_has_to_be_signed_it_says_with_what_unless_a_key_is_set(
    store: FolderStore, monkeypatch: pytest.MonkeyPatch, signatures: str, key: str, more: str
) -> None:
    monkeypatch.setenv("COUNTERSIGN_SIGNING_KEY", key)
    (found,) = proposed(store, order(signatures=signatures), result("tests", F))
    needed = more if signatures == "required" else ""
    assert found == f"override s/a --kind check --acknowledge tests --reason TEXT{needed}"
    assert signing_options(order(signatures=signatures)) == needed.strip()


@pytest.mark.parametrize("how", ["edited", "no tree"])
def test_without_a_round_of_the_order_as_it_is_only_a_direct_one_would_do(store: FolderStore, how: str) -> None:
    more = {"edited": True} if how == "edited" else {"scope": False}
    assert proposed(store, order(), result("tests", P), **more) == []
    allowed = order(direct_approval_allowed=True)
    assert proposed(store, allowed, result("tests", P), **more) == ["override s/a --kind direct --reason TEXT"]


def test_a_report_that_is_lost_is_told_and_hides_nothing(
    store: FolderStore, capsys: pytest.CaptureFixture[str]
) -> None:
    assert proposed(store, order(), result("tests", F), lost=True) == [
        "override s/a --kind check --acknowledge NAME --reason TEXT"
    ]
    assert "what s/a would have overruled cannot be told" in capsys.readouterr().err
