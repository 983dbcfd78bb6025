"""`countersign rejudge`: the same evidence gives the same verdict, and whatever was touched since is named."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from adapters.config.settings import Settings
from adapters.snapshot.rules import rules_of
from adapters.trail import SqlTrail
from domain import rejudge as domain_rejudge
from domain.base import sha256_hex
from domain.checks import Observation, Outcome
from domain.decision import Decision, RoundOutcome
from domain.errors import Malformed
from domain.rejudge import Rejudged, as_worded_now, differences
from entrypoints import exporting
from entrypoints.cli import common, rejudge, verify
from entrypoints.pinning import Options
from entrypoints.rejudging import Rejudging
from tests.fakes.rounds import World

MIXED: dict[str, Any] = {
    "acceptance_criteria": [
        {"id": "there", "type": "file_exists", "params": {"path": "a.txt"}},
        {"id": "says", "type": "file_contains", "params": {"path": "a.txt", "pattern": "^after$"}},
        {"id": "prints", "type": "command_output", "params": {"command": "say", "stdout": "hello\n"}},
        {"id": "cases", "type": "cli_io", "params": {"command": "echo", "cases": [{"args": ["x"], "stdout": "x\n"}]}},
    ],
    "verification": {"checks": [{"name": "tests", "command": "run tests"}, {"name": "tool", "command": "missing"}]},
}
SAID = {
    "say": Observation(exit_code=0, stdout="hello\n"),
    "echo x": Observation(exit_code=0, stdout="x\n"),
    "run tests": Observation(exit_code=1, stderr="boom\n"),
    "missing": Observation(exit_code=127),
}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    world = World(tmp_path, said=dict(SAID))
    monkeypatch.setattr(common, "open_trail", lambda: world.trail)
    monkeypatch.setattr(common, "open_evidence", lambda: world.store)
    monkeypatch.setattr(common, "settings", lambda: Settings(project=world.root, evidence_dir=world.evidence))
    return world


async def judged(world: World) -> Rejudged:
    rows = exporting.rows_of(world.trail, "local", "wo-1", 1)
    verdict = exporting.verdict_of(rows)
    assert verdict is not None
    return await Rejudging(world.store, rows, verdict).run()


def blob(world: World, digest: str) -> Path:
    return world.evidence / "blobs" / digest[:2] / digest


def fields(found: Rejudged) -> list[tuple[str, str]]:
    return [(drift.where, drift.field) for drift in found.drift]


def edit_database(world: World, action: str, old: str, new: str, rows: int = 1) -> None:
    """A copy of the database in which one row says something else, with the triggers out of the way."""
    copy = world.root / "copy.db"
    with sqlite3.connect(world.root / "trail.db") as original:
        original.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copy(world.root / "trail.db", copy)
    with sqlite3.connect(copy) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        changed = connection.execute(
            "UPDATE events SET payload = replace(payload, ?, ?) WHERE action = ?", (old, new, action)
        )
        assert changed.rowcount == rows
    world.trail = SqlTrail(f"sqlite:///{copy}", world.root / "heads.jsonl")


async def test_the_same_evidence_gives_the_same_verdict(world: World) -> None:
    record = await world.verify(world.order(**MIXED))
    found = await judged(world)
    assert (found.drift, found.damaged) == ((), {})
    assert (found.recorded, found.decided) == (record.decision.outcome, record.decision.outcome)
    assert found.compared == ()
    bases = ("tests on the base", "tool on the base")
    assert found.rederived == ("there", "says", "prints", "cases", "tests", bases[0], "tool", bases[1])
    assert [result.outcome for result in record.results][-1] == "could_not_run", "whose failure it is was judged, too"


async def test_evidence_that_is_gone_or_damaged_is_named(world: World) -> None:
    record = await world.verify(world.order(**MIXED))
    gone, damaged = record.results[0].evidence, record.results[2].evidence
    blob(world, gone).unlink()
    blob(world, damaged).write_bytes(b"{}")
    found = await judged(world)
    assert set(found.damaged) == {gone, damaged}
    assert found.decided == "", "nothing is decided on half of the evidence"


@pytest.mark.parametrize("part", ["record", "report"])
async def test_a_damaged_document_is_named(world: World, part: str) -> None:
    await world.verify(world.order(**MIXED))
    (verdict,) = [row for row in world.trail.rows() if row.action == "audit_completed"]
    digest = str(verdict.payload[part])
    blob(world, digest).write_bytes(b"{}")
    assert digest in (await judged(world)).damaged


async def test_an_edited_folder_is_drift(world: World) -> None:
    await world.verify(world.order(**MIXED))
    folder = world.evidence / "local/wo-1/1"
    folder.joinpath("verdict.json").write_text("{}")
    folder.joinpath("spec.json").unlink()
    found = await judged(world)
    assert [drift.where for drift in found.drift] == ["folder", "folder"]
    assert ["is missing" in drift.field for drift in found.drift] == [True, False]


@pytest.mark.parametrize(
    ("action", "old", "new", "field"),
    [
        ("audit_completed", '"outcome":"changes_requested"', '"outcome":"verified"', "outcome"),
        ("audit_completed", '"result":"FAIL"', '"result":"PASS"', "result"),
        ("scope_assessed", '"changed":1', '"changed":0', "changed"),
    ],
)
async def test_an_edited_row_is_drift(world: World, action: str, old: str, new: str, field: str) -> None:
    await world.verify(world.order(**MIXED))
    edit_database(world, action, old, new)
    found = await judged(world)
    assert {where for where, _ in fields(found)} == {"row"}
    assert sorted(name.rpartition(".")[2] for _, name in fields(found)) == sorted(["hash", field])


async def test_a_row_that_names_another_rounds_record_is_drift(world: World) -> None:
    await world.verify(world.order(**MIXED), 1)
    await world.verify(world.order(**MIXED), 2)
    records = [str(row.payload["record"]) for row in world.trail.rows() if row.action == "audit_completed"]
    edit_database(world, "audit_completed", records[0], records[1], rows=2)
    assert ("record", "attempt") in fields(await judged(world))


async def test_another_decision_function_is_drift(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await world.verify(world.order(**MIXED))
    lenient = Decision(outcome=RoundOutcome.VERIFIED, reasons=())
    monkeypatch.setattr(domain_rejudge, "decide", lambda facts, policy, counters: lenient)
    found = await judged(world)
    assert found.decided == "verified"
    assert ("decision", "outcome") in fields(found)


async def test_another_classification_is_drift_in_evidence_record_and_decision(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.verify(world.order(verification={"checks": [{"name": "tests", "command": "run tests"}]}))
    lenient = (Outcome.PASSED, "ok", "fine")
    monkeypatch.setattr("adapters.checkers.again.by_exit_code", lambda seen, command, limit: lenient)
    assert {where for where, _ in fields(await judged(world))} == {"evidence", "record", "row", "decision"}


@pytest.mark.parametrize(
    ("criterion", "change"),
    [
        ("prints", {"seen": {"observation": {"exit_code": 0, "stdout": "goodbye\n"}}}),
        ("cases", {"seen": {"cases": []}}),
        ("tests", {"seen": {"observation": {"exit_code": 0}}}),
        ("says", {"outcome": "failed", "code": "no_match"}),
    ],
)
async def test_a_finding_that_does_not_follow_from_what_was_seen_is_drift(
    world: World, monkeypatch: pytest.MonkeyPatch, criterion: str, change: dict[str, Any]
) -> None:
    record = await world.verify(world.order(**MIXED))
    (evidence,) = (result.evidence for result in record.results if result.id == criterion)
    body = json.loads(world.store.get(evidence))
    forged = json.dumps({**body, "finding": {**body["finding"], **change}, "findings": []}).encode()
    real = world.store.get
    monkeypatch.setattr(world.store, "get", lambda digest: forged if digest == evidence else real(digest))
    found = await judged(world)
    assert ("evidence", f"{criterion}.outcome") in fields(found)


async def test_evidence_of_another_round_is_drift(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    record = await world.verify(world.order(**MIXED))
    evidence = record.results[0].evidence
    forged = json.dumps({**json.loads(world.store.get(evidence)), "attempt": 7}).encode()
    real = world.store.get
    monkeypatch.setattr(world.store, "get", lambda digest: forged if digest == evidence else real(digest))
    assert ("evidence", "there.attempt") in fields(await judged(world))


async def test_a_scope_that_is_read_otherwise_is_drift(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await world.verify(world.order(**MIXED))
    real = world.order(scope={"deny": ["a.txt"]}).scope
    monkeypatch.setattr("adapters.snapshot.trusted.rules_of", lambda scope, read: rules_of(real, read))
    assert ("record", "scope.tree") in fields(await judged(world))


async def test_the_order_s_own_tests_are_laid_over_the_base_again(world: World) -> None:
    (world.root / "own.py").write_text("own")
    record = await world.verify(world.order(**MIXED | {"verification": {"tests": ["own.py"]}}))
    assert record.frozen
    assert record.scope
    assert record.scope.base != record.frozen.base
    assert (await judged(world)).drift == ()
    blob(world, record.frozen.order_files).unlink()
    assert record.frozen.order_files in (await judged(world)).damaged


async def test_a_test_that_was_looked_into_and_is_gone_is_named(world: World) -> None:
    world.write("base", **{"tests/test_a.py": "1"})
    world.write("work", **{"tests/test_a.py": "1", "tests/__init__.py": "# nothing"})
    await world.verify(world.order(**MIXED))
    assert (await judged(world)).damaged == {}
    blob(world, sha256_hex(b"# nothing")).unlink()
    assert set((await judged(world)).damaged) == {"scope"}


async def test_an_order_verified_by_its_id_has_its_files_where_they_were(world: World) -> None:
    (world.root / "own.py").write_text("own")
    await world.verify(world.order(**MIXED | {"verification": {"tests": ["own.py"]}}))
    found = verify._find_order("local/wo-1", Options())
    assert (found.order.verification.tests, found.file) == (["own.py"], str(world.root / "order.yaml"))
    (world.root / "own.py").unlink()
    with pytest.raises(Malformed, match=r"verification.tests\[0\]: cannot be found beside the order"):
        verify._find_order("local/wo-1", Options())


async def test_an_order_without_files_has_its_place_as_well(world: World) -> None:
    await world.verify(world.order(**MIXED))
    assert verify._find_order("local/wo-1", Options()).file == str(world.root / "order.yaml")


def run(*arguments: str) -> Any:
    app = typer.Typer()
    app.command()(rejudge.rejudge)
    return CliRunner().invoke(app, arguments)


async def test_the_command_has_an_exit_code_for_each(world: World) -> None:
    assert run("wo-1", "--objective").exit_code == common.EXIT_NOT_FOUND
    record = await world.verify(world.order(**MIXED))
    again = await asyncio.to_thread(run, "wo-1", "--objective")
    assert again.exit_code == 0, again.output
    assert "no drift: recorded as changes_requested, now it comes to changes_requested" in again.stdout
    folder = world.evidence / "local/wo-1/1/verdict.json"
    folder.write_text("{}")
    drift = await asyncio.to_thread(run, "wo-1", "--objective", "--json")
    assert (drift.exit_code, json.loads(drift.stdout)["drift"][0]["where"]) == (rejudge.EXIT_DRIFT, "folder")
    blob(world, record.results[0].evidence).unlink()
    damaged = await asyncio.to_thread(run, "wo-1", "--objective")
    assert (damaged.exit_code, "damaged: " in damaged.stdout) == (common.EXIT_UNAVAILABLE, True)
    assert run("wo-1", "--objective", "--attempt", "2").exit_code == common.EXIT_NOT_FOUND


def test_without_a_model_it_is_refused_unless_objective(world: World) -> None:
    result = run("wo-1")
    assert type(result.exception).__name__ == "Refused"
    assert "no model is configured" in str(result.exception)


def test_only_what_was_said_is_compared() -> None:
    assert list(differences("report", {"a": 1}, {"a": 1, "later": 2})) == []
    (missing,) = differences("report", {"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}})
    assert (missing.field, missing.said, missing.found) == ("a.b[1]", 2, 3)
    (shorter,) = differences("report", {"a": [1]}, {"a": []})
    assert shorter.field == "a"


def test_words_of_an_earlier_version_are_no_drift_and_what_it_decided_is() -> None:
    line = {
        "id": "AC-1",
        "outcome": "failed",
        "text": "t",
        "next_step": "",
        "evidence": {"id": "e", "stdout": "[...] end"},
    }
    check = {"name": "tests", "outcome": "failed", "output": "[...] end", "next_step": ""}
    before = {"outcome": "needs_human", "retry_context": None, "criteria": [line], "checks": [check]}
    told = {"specific_failures": ["AC-1: t"]}
    now = {
        **before,
        "headline": "NOT VERIFIED",
        "retry_context": told,
        "criteria": [{**line, "next_step": "install it", "evidence": {"id": "e", "stdout": "error, end"}}],
        "checks": [{**check, "output": "error, end"}],
    }
    assert list(differences("report", as_worded_now(before), now)) == []
    edited = as_worded_now({**before, "checks": [{**check, "outcome": "passed"}]})
    assert [drift.field for drift in differences("report", edited, now)] == ["checks[0].outcome"]
    assert [drift.field for drift in differences("report", as_worded_now(now), {**now, "retry_context": None})] == [
        "retry_context"
    ]
