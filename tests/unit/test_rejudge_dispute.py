"""A recorded dispute, held against its own record and the judge's stored answers; no model is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adapters.config.settings import Settings
from domain.base import canonical_json
from domain.checks import Observation
from domain.decision import RoundOutcome
from domain.messages import RoundRecord
from domain.references import of_record
from domain.rejudge import decide_again, of_answer, of_passes
from domain.rejudge_dispute import judgements_in, of_dispute
from domain.roles.argued import Judgement
from domain.roles.disputing import disputes_of
from domain.roles.results import DisputeRecord, Hearing, PassResult, RefusedCall
from domain.roles.tiebreak import tiebreak_of
from domain.verdict import Audit, AuditorOutcome, Ruled
from entrypoints import exporting
from entrypoints.cli import common
from entrypoints.rejudging import Rejudging
from entrypoints.rejudging_roles import RolesAgain
from tests.fakes.roles import SaidRoles
from tests.fakes.rounds import World

ORDER: dict[str, Any] = {
    "acceptance_criteria": [{"id": "reads", "type": "subjective", "description": "reads well"}],
    "verification": {"checks": [{"name": "tests", "command": "run tests"}]},
}
QUOTE = {"evidence_id": "ev-0123456789abcdef", "quote": "outcome: passed"}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    world = World(tmp_path, said={"run tests": Observation(exit_code=0, stdout="3 passed\n")})
    settings = Settings(project=world.root, evidence_dir=world.evidence)
    monkeypatch.setattr(common, "settings", lambda: settings)
    return world


def case(side: str) -> bytes:
    return canonical_json({"arguments": [{"criterion": "reads", "argument": f"the {side}'s", "quotes": [QUOTE]}]})


def judgement(verdict: str) -> bytes:
    ruling = {"criterion": "reads", "verdict": verdict, "confidence": 0.9, "reasoning": "why", "quotes": [QUOTE]}
    return canonical_json({"rulings": [ruling]})


async def disputed(world: World, verdict: Any = "PASS") -> RoundRecord:
    """A round whose judge ruled, with everything stored that it names; the report is that of before the dispute."""
    record = await world.verify(world.order(**ORDER), roles=SaidRoles(world.store))
    messages = world.store.put(b"[]")
    cases = {side: PassResult(outcome="answered", said=world.store.put(case(side))) for side in ("advocate", "critic")}
    ruled = Ruled(criterion="reads", verdict=verdict, confidence=0.9, reasoning="why", evidence=(QUOTE["evidence_id"],))
    said = world.store.put(judgement(verdict))
    heard = Hearing(
        first="critic", result=PassResult(outcome="answered", said=said, messages=messages, rulings=(ruled,))
    )
    disputes = disputes_of(record.order, record.results, (), record.audit)
    dispute = DisputeRecord(
        disputes=disputes,
        advocate=cases["advocate"],
        critic=cases["critic"],
        hearings=(heard,),
        tiebreak=tiebreak_of(disputes, {"advocate": cases["advocate"], "critic": cases["critic"]}, (heard,), 0.7),
    )
    return record.model_copy(update={"dispute": dispute})


def drift(record: RoundRecord, verdict: str) -> list[str]:
    assert record.dispute is not None
    (said,) = judgements_in(record.dispute)
    answers = {said: Judgement.model_validate_json(judgement(verdict))}
    return [drift.field for drift in of_dispute(record, answers)]


async def test_a_dispute_that_follows_from_its_record_is_no_drift(world: World) -> None:
    record = await disputed(world)
    assert drift(record, "PASS") == []
    assert list(of_dispute(record.model_copy(update={"dispute": None}), {})) == [], "an older version's has none"


async def test_a_forged_judgement_is_drift(world: World) -> None:
    record = await disputed(world)
    assert drift(record, "FAIL") == ["judgement/0.rulings[0][1]"]
    (gone,) = of_dispute(record, {})
    assert gone.field == "judgement/0.rulings"


async def test_a_forged_tiebreak_or_dispute_is_drift(world: World) -> None:
    record = await disputed(world, "FAIL")
    assert record.dispute is not None
    assert record.dispute.tiebreak is not None
    passed = tuple(ruled.model_copy(update={"verdict": "PASS"}) for ruled in record.dispute.tiebreak.rulings)
    tiebreak = record.dispute.tiebreak.model_copy(update={"rulings": passed})
    forged = record.model_copy(update={"dispute": record.dispute.model_copy(update={"tiebreak": tiebreak})})
    assert drift(forged, "FAIL") == ["tiebreak[0].rulings[0].verdict"]
    fewer = record.model_copy(update={"dispute": record.dispute.model_copy(update={"disputes": ()})})
    assert "disputes" in drift(fewer, "FAIL")


async def test_the_decision_is_made_with_what_the_judge_ruled(world: World) -> None:
    for verdict, outcome in (("PASS", RoundOutcome.VERIFIED), ("FAIL", RoundOutcome.CHANGES_REQUESTED)):
        record = await disputed(world, verdict)
        assert decide_again(record, record.results).outcome is outcome


async def test_another_auditor_is_asked_and_the_ruling_stands(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    from entrypoints.cli.rejudge_roles import tell_roles  # noqa: PLC0415 - needs the settings of this world

    record = await disputed(world, "FAIL")
    again = RolesAgain(world.store, SaidRoles(world.store), record, (), model="", take="take 2", say=lambda text: None)
    found = await again.run()
    assert (found.outcome, found.decided) == (AuditorOutcome.APPROVED, RoundOutcome.CHANGES_REQUESTED)
    assert found.argued == ("reads",)
    tell_roles(found)
    assert "what the judge ruled on reads stands as recorded" in capsys.readouterr().out


async def test_the_rows_of_a_dispute_are_those_of_the_record(world: World) -> None:
    record = await disputed(world)
    assert record.dispute is not None
    missing = [(drift.field, drift.said, drift.found) for drift in of_passes(tuple(world.trail.rows()), record)]
    expected = [("role_pass_completed: how many", 0, 1)] * 3 + [("criterion_judged: how many", 0, 1)]
    assert missing == expected
    call = RefusedCall(tool="Write", arguments="{}", code="no_such_tool", reason="no such tool")
    advocate = PassResult(outcome="unavailable", refused=(call,))
    critic = PassResult(outcome="not_configured")
    few = record.dispute.model_copy(update={"advocate": advocate, "critic": critic, "hearings": ()})
    fields = [drift.field for drift in of_passes(tuple(world.trail.rows()), record.model_copy(update={"dispute": few}))]
    assert fields == ["role_pass_completed: how many", "tool_refused: how many"]


async def test_the_blobs_of_a_dispute_belong_to_the_round(world: World) -> None:
    record = await disputed(world)
    assert record.dispute is not None
    named = {result.said for result in record.dispute.passes} | {record.dispute.hearings[0].result.messages}
    assert named <= of_record(record)


async def test_a_round_is_judged_again_with_its_dispute(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    record = await disputed(world)
    rows = exporting.rows_of(world.trail, "local", "wo-1", 1)
    verdict = exporting.verdict_of(rows)
    assert verdict is not None
    assert record.dispute is not None
    (said,) = judgements_in(record.dispute)
    real, stored = world.store.get, {str(verdict.payload["record"]): record.model_dump_json().encode()}
    monkeypatch.setattr(world.store, "get", lambda digest: stored.get(digest) or real(digest))
    found = await Rejudging(world.store, rows, verdict).run()
    assert [drift for drift in found.drift if drift.where == "dispute"] == []
    assert found.damaged == {}
    stored[said] = judgement("FAIL")
    found = await Rejudging(world.store, rows, verdict).run()
    assert [drift.field for drift in found.drift if drift.where == "dispute"] == ["judgement/0.rulings[0][1]"]
    stored[said] = b'{"rulings": 1}'
    assert set((await Rejudging(world.store, rows, verdict).run()).damaged) == {"dispute"}
    del stored[said]
    assert record.dispute.advocate is not None
    stored[record.dispute.advocate.said] = b"it is met"
    damaged = (await Rejudging(world.store, rows, verdict).run()).damaged
    assert damaged == {"dispute": "what is stored as an argument is none: 1 faults in its form"}


def test_what_an_older_version_did_not_record_of_an_audit_is_no_drift() -> None:
    stored = Audit.model_validate_json('{"outcome": "changes_requested", "cited": true}')
    now = Audit(outcome=AuditorOutcome.CHANGES_REQUESTED, cited=True, objects_to=("AC-1",))
    assert list(of_answer(stored, now, ())) == []
    other = now.model_copy(update={"outcome": AuditorOutcome.APPROVED})
    assert [drift.field for drift in of_answer(stored, other, ())] == ["outcome"]
