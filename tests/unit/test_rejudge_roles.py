"""Rounds with an auditor, judged once more: by the answers that are stored, and by asking again."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from adapters.config.settings import Settings
from domain.base import canonical_json
from domain.checks import Observation
from domain.claims.claim import Claim, ClaimedEvidence
from domain.claims.minted import MintedEvidence
from domain.decision import RoundOutcome
from domain.errors import Malformed, Refused
from domain.life import FollowUpAnswer
from domain.messages import RoundRecord
from domain.references import of_messages, of_record
from domain.rejudge import Rejudged
from domain.rejudge_roles import AskedAgain
from domain.retention import digests_in
from domain.roles.agents import Agents
from entrypoints import exporting
from entrypoints.cli import common, rejudge
from entrypoints.rejudging import Rejudging
from entrypoints.rejudging_roles import RolesAgain
from entrypoints.roles import ConfiguredRoles
from tests.fakes.roles import ASKED, SEEN_BY_TOOL, SaidRoles
from tests.fakes.rounds import World
from tests.unit.test_rejudge import blob, edit_database, run

ORDER: dict[str, Any] = {
    "acceptance_criteria": [
        {"id": "there", "type": "file_exists", "params": {"path": "a.txt"}},
        {"id": "reads", "type": "subjective", "description": "reads well"},
    ],
    "verification": {"checks": [{"name": "tests", "command": "run tests"}]},
}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    world = World(tmp_path, said={"run tests": Observation(exit_code=0, stdout="3 passed\n")})
    monkeypatch.setattr(common, "open_trail", lambda: world.trail)
    monkeypatch.setattr(common, "open_evidence", lambda: world.store)
    agents = Agents(model="openai:first")
    monkeypatch.setattr(
        common, "settings", lambda: Settings(project=world.root, evidence_dir=world.evidence, agents=agents)
    )
    return world


def roles_of(world: World, **more: Any) -> SaidRoles:
    return SaidRoles(world.store, **more)


async def judged(world: World) -> Rejudged:
    rows = exporting.rows_of(world.trail, "local", "wo-1", 1)
    verdict = exporting.verdict_of(rows)
    assert verdict is not None
    return await Rejudging(world.store, rows, verdict).run()


async def asked_again(world: World, record: RoundRecord, roles: SaidRoles, model: str = "") -> AskedAgain:
    rows = exporting.rows_of(world.trail, "local", "wo-1", 1)
    again = RolesAgain(world.store, roles, record, rows, model=model, take="take 2", say=lambda text: None)
    return await again.run()


def answer(world: World) -> FollowUpAnswer:
    evidence = ClaimedEvidence(label="log", type="text", data="it ran twice")
    digest = world.store.put(canonical_json(evidence.model_dump(mode="json")))
    piece = MintedEvidence(id="ev-00000000000000aa", label="log", type="text", digest=digest, news="n")
    return FollowUpAnswer(round=1, answer="twice", evidence=(piece,))


async def test_an_audited_round_is_judged_again_without_a_model(world: World) -> None:
    roles = roles_of(world, asks=True, test="tests", tool=True)
    record = await world.verify(world.order(**ORDER), roles=roles, answer=answer(world))
    assert record.decision.outcome is RoundOutcome.VERIFIED
    found = await judged(world)
    assert (found.drift, found.damaged) == ((), {})
    assert found.recorded == found.decided == "verified"
    assert found.roles is None


async def test_a_forged_answer_is_drift(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    record = await world.verify(world.order(**ORDER), roles=roles_of(world, verdict="changes_requested"))
    assert record.audit
    said = record.audit.passes[-1].said
    body = json.loads(world.store.get(said))
    forged = json.dumps({**body, "verdict": "approved"}).encode()
    real = world.store.get
    monkeypatch.setattr(world.store, "get", lambda digest: forged if digest == said else real(digest))
    found = await judged(world)
    assert {("audit", "outcome")} <= {(drift.where, drift.field) for drift in found.drift}
    broken = json.dumps({**body, "verdict": "perfect"}).encode()
    monkeypatch.setattr(world.store, "get", lambda digest: broken if digest == said else real(digest))
    assert "audit" in (await judged(world)).damaged


@pytest.mark.parametrize("stage", ["blind", "informed"])
async def test_a_quote_that_stands_nowhere_is_drift(world: World, monkeypatch: pytest.MonkeyPatch, stage: str) -> None:
    record = await world.verify(world.order(**ORDER), roles=roles_of(world))
    assert record.audit
    said = record.audit.passes[0 if stage == "blind" else -1].said
    body = json.loads(world.store.get(said))
    body["assessments"][0]["quotes"][0]["quote"] = "nothing says this"
    real = world.store.get
    monkeypatch.setattr(
        world.store, "get", lambda digest: json.dumps(body).encode() if digest == said else real(digest)
    )
    drift = [drift.field for drift in (await judged(world)).drift if drift.where == "audit"]
    assert [field for field in drift if "nothing says this" in field]


async def test_what_a_tool_told_is_looked_up_again(world: World) -> None:
    record = await world.verify(world.order(**ORDER), roles=roles_of(world, tool=True))
    assert record.audit
    (told,) = json.loads(world.store.get(record.audit.passes[-1].messages))[0]["parts"]
    digest = told["metadata"]["digest"]
    assert world.store.get(digest) == SEEN_BY_TOOL.encode()
    export = exporting.Export(world.trail, world.store, tuple(world.trail.rows()), with_trees=False)
    assert digest in export.blobs, "who has the export can look the citation up"
    assert export.missing == []
    blob(world, digest).unlink()
    found = await judged(world)
    assert set(found.damaged) == {"audit"}


@pytest.mark.parametrize("part", ["said", "messages"])
async def test_an_answer_that_is_gone_is_named(world: World, part: str) -> None:
    record = await world.verify(world.order(**ORDER), roles=roles_of(world))
    assert record.audit
    digest = getattr(record.audit.passes[-1], part)
    blob(world, digest).unlink()
    found = await judged(world)
    assert digest in found.damaged
    assert found.decided == ""


@pytest.mark.parametrize(
    ("action", "old", "new"),
    [
        ("role_pass_completed", '"stage":"informed"', '"stage":"blind"'),
        ("criterion_audited", '"assessment":"PASS"', '"assessment":"FAIL"'),
        ("tool_refused", '"code":"no_such_tool"', '"code":"allowed"'),
    ],
)
async def test_an_edited_row_of_a_role_is_drift(world: World, action: str, old: str, new: str) -> None:
    await world.verify(world.order(**ORDER), roles=roles_of(world))
    rows = len([row for row in world.trail.rows() if row.action == action])
    edit_database(world, action, old, new, rows=rows)
    found = [drift.field for drift in (await judged(world)).drift if not drift.field.endswith(".hash")]
    assert [field.split("/")[0] for field in found] == [action] * len(found)
    assert found


async def test_another_model_that_says_the_same_is_no_drift(world: World) -> None:
    record = await world.verify(world.order(**ORDER), roles=roles_of(world))
    before = sorted(world.trail.rows(), key=lambda row: row.sequence)
    found = await asked_again(world, record, roles_of(world, prompt="another"), model="openai:second")
    assert (found.told, found.drift, found.decided) == (True, False, "verified")
    assert (found.recorded_model, found.model) == ("openai:first", "openai:second")
    assert {(each.stage, each.what) for each in found.inputs} == {
        *(("blind", "model"), ("blind", "prompt"), ("informed", "model"), ("informed", "prompt")),
    }
    assert [(word.criterion, word.recorded, word.found) for word in found.criteria] == [
        *(("there", "PASS", "PASS"), ("reads", "PASS", "PASS")),
    ]
    assert (found.usage.requests, found.usage.cost_usd) == (2, 0.001)
    assert sorted(world.trail.rows(), key=lambda row: row.sequence) == before, "nothing of the todo changes"


@pytest.mark.parametrize(
    ("now", "decided"),
    [
        ({"verdict": "changes_requested"}, "changes_requested"),
        ({"words": {"reads": "UNPROVED"}, "verdict": "changes_requested"}, "changes_requested"),
        ({"confidence": 0.3}, "needs_human"),
    ],
)
async def test_another_word_is_drift(world: World, now: dict[str, Any], decided: str) -> None:
    record = await world.verify(world.order(**ORDER), roles=roles_of(world))
    found = await asked_again(world, record, roles_of(world, **now))
    assert (found.told, found.drift, found.decided) == (True, True, decided)


async def test_another_word_on_a_criterion_is_drift_where_the_verdict_is_the_same(world: World) -> None:
    record = await world.verify(world.order(**ORDER), roles=roles_of(world, verdict="changes_requested"))
    same = await asked_again(world, record, roles_of(world, verdict="changes_requested"))
    other = await asked_again(world, record, roles_of(world, verdict="changes_requested", words={"reads": "FAIL"}))
    assert (same.drift, other.drift) == (False, True)
    assert same.decided == other.decided == "changes_requested"


async def test_a_role_that_has_no_word_now_is_no_drift_and_told_nothing(world: World) -> None:
    record = await world.verify(world.order(**ORDER), roles=roles_of(world))
    found = await asked_again(world, record, roles_of(world, outcome="unavailable"))
    assert (found.told, found.drift, found.decided, found.why) == (False, False, None, "as the test says")


async def test_it_is_asked_as_the_round_asked(world: World) -> None:
    first = roles_of(world, asks=True, test="tests")
    record = await world.verify(world.order(**ORDER), roles=first, answer=answer(world))
    claimed = record.input.model_copy(update={"claim": Claim(explanation="Wrote after into a.txt.")})
    record = record.model_copy(update={"input": claimed})
    again = roles_of(world, asks=True, test="tests")
    found = await asked_again(world, record, again)
    assert [request.stage for request in again.requests] == ["blind", "blind", "informed", "informed"]
    assert [request.take for request in again.requests] == ["take 2"] * 4
    assert [request.round.claim for request in again.requests] == [None, None, claimed.claim, claimed.claim]
    (ran,) = again.requests[1].ran
    assert (ran.call, ran.result) == ("call-1", record.results[-1]), "no container runs: what was seen then"
    (told,) = again.requests[-1].answers
    assert (told.answer, [piece.id for piece in told.evidence]) == ("twice", ["ev-00000000000000aa"])
    assert [piece.digest for piece in told.evidence] == [answer(world).evidence[0].digest]
    assert found.questions == ((ASKED.question, True),)
    assert not found.drift


async def test_a_question_that_nobody_answered_then_has_no_answer_now(world: World) -> None:
    record = await world.verify(world.order(**ORDER), roles=roles_of(world))
    again = roles_of(world, asks=True)
    found = await asked_again(world, record, again)
    assert [each.answer for each in again.requests[-1].answers] == [None]
    assert found.questions == ((ASKED.question, False),)


async def test_an_answer_to_another_question_is_told_as_that(world: World) -> None:
    record = await world.verify(world.order(**ORDER), roles=roles_of(world, asks=True), answer=answer(world))
    assert record.audit
    (then,) = record.audit.dialogue
    other = then.model_copy(update={"question": then.question.model_copy(update={"question": "Why?"})})
    changed = record.model_copy(update={"audit": record.audit.model_copy(update={"dialogue": (other,)})})
    again = roles_of(world, asks=True)
    await asked_again(world, changed, again)
    (told,) = again.requests[-1].answers
    assert told.answer == "(the worker was asked another question then: Why?) twice"


async def test_a_round_in_which_nobody_is_asked_is_refused(world: World) -> None:
    order = world.order(**ORDER | {"verification": {"objective_only": True}})
    record = await world.verify(order)
    with pytest.raises(Refused, match="not asked for"):
        await asked_again(world, record, roles_of(world))


async def test_the_command_asks_and_has_an_exit_code_for_each(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    record = await world.verify(world.order(**ORDER), roles=roles_of(world))
    said: list[tuple[str, SaidRoles]] = []

    def ask(rows: Any, verdict: Any, model: str) -> AskedAgain:
        roles = said.pop()[1]
        return asyncio.run(asked_again(world, record, roles, model))

    monkeypatch.setattr(rejudge, "ask", ask)
    said.append(("same", roles_of(world)))
    same = await asyncio.to_thread(run, "wo-1", "--model", "openai:second")
    assert same.exit_code == 0, same.output
    assert "no drift: the auditor then: approved 0.90; now: approved 0.90" in same.stdout
    assert "differs: model (blind): then openai:first, now openai:second" in same.stdout
    said.append(("other", roles_of(world, verdict="failed", words={"there": "FAIL"})))
    other = await asyncio.to_thread(run, "wo-1")
    assert other.exit_code == rejudge.EXIT_DRIFT
    assert "drift: there: then PASS 0.90, now FAIL 0.90" in other.stdout
    assert "came to verified then, and would come to failed now" in other.stdout
    said.append(("gone", roles_of(world, outcome="cost_cap_exceeded")))
    gone = await asyncio.to_thread(run, "wo-1")
    assert (gone.exit_code, "COULD NOT TELL: cost_cap_exceeded" in gone.stdout) == (common.EXIT_UNAVAILABLE, True)
    said.append(("json", roles_of(world)))
    plain = await asyncio.to_thread(run, "wo-1", "--json")
    assert json.loads(plain.stdout)["roles"]["drift"] is False


def test_what_names_no_model_is_refused_before_anything_is_read(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(run("wo-1", "--model", "gpt").exception, Malformed)
    assert isinstance(run("wo-1", "--model", "openai:x", "--objective").exception, Malformed)
    monkeypatch.setattr(common, "settings", lambda: Settings(project=world.root, evidence_dir=world.evidence))
    refused = run("wo-1").exception
    assert isinstance(refused, Refused)
    assert refused.code == "no_roles"


SCRIPT = """
- stage: blind
  tool: {name: Read, arguments: {path: a.txt}}
- stage: blind
  answer:
    assessments: &both
      - criterion: there
        assessment: PASS
        confidence: 0.9
        reason: it is there
        quotes: &seen [{evidence_id: "evidence: what criterion there came to", quote: "outcome: passed"}]
      - {criterion: reads, assessment: PASS, confidence: 0.9, reason: it reads well, quotes: *seen}
- stage: informed
  tool: {name: grep, arguments: {pattern: after}}
- stage: informed
  tool: {name: run_tests, arguments: {name: tests}}
- stage: informed
  answer:
    verdict: VERDICT
    confidence: 0.9
    reasons: [{reason: it was found, evidence_id: "evidence: a.txt:1:after"}]
    evidence_citations: ["evidence: a.txt:1:after", "evidence: what check tests came to"]
    assessments: *both
"""


async def test_the_real_roles_are_judged_again_and_asked_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for verdict in ("approved", "changes_requested"):
        (world.root / f"{verdict}.yaml").write_text(SCRIPT.replace("VERDICT", verdict))
    agents = Agents(model="script:approved.yaml")
    settings = Settings(project=world.root, evidence_dir=world.evidence, state_dir=world.root / "state", agents=agents)
    (world.root / "state").mkdir()
    monkeypatch.setattr(common, "settings", lambda: settings)
    roles = ConfiguredRoles(settings, world.store)
    record = await world.verify(world.order(**ORDER), roles=roles)
    roles.close()
    assert record.decision.outcome is RoundOutcome.VERIFIED, record.decision
    assert record.audit
    assert [result.outcome for result in record.audit.passes] == ["answered", "wants_tests", "answered"]
    for result in record.audit.passes:
        named = {result.said, result.messages, result.provenance.prompt, result.provenance.packet} - {""}
        assert len(named) >= 3
        assert named <= of_record(record)
        conversation = world.store.get(result.messages)
        assert of_messages(conversation) <= set(digests_in(conversation)), "pruning spares what tools told"
    assert any(of_messages(world.store.get(result.messages)) for result in record.audit.passes)
    objective = await asyncio.to_thread(run, "wo-1", "--objective", "--json")
    assert (objective.exit_code, json.loads(objective.stdout)["drift"]) == (0, [])
    found = await asyncio.to_thread(run, "wo-1", "--model", "script:changes_requested.yaml", "--json")
    assert found.exit_code == rejudge.EXIT_DRIFT, found.output
    again = AskedAgain.model_validate(json.loads(found.stdout)["roles"])
    assert (again.scripted, again.model, again.outcome) == (
        *(True, "script:changes_requested.yaml", "changes_requested"),
    )
    assert (again.recorded_decision, again.decided) == ("verified", "changes_requested")
    assert {each.what for each in again.inputs} == {"model"}, "the same prompt, tools and policy"
    assert [word.found for word in again.criteria] == ["PASS", "PASS"]
