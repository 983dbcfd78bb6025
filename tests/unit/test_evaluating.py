"""`countersign eval` without a server: which verdicts are taken, which are run, what it prints and ends with."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer

from adapters.config.dataset_file import LoadedClaim, load_dataset
from adapters.config.settings import Settings
from domain.decision import Decision, Reason, RoundOutcome
from domain.errors import Cause, Malformed, Unavailable
from domain.events import Actor, TrailEntry
from domain.messages import RoundInput, RoundRecord, ScopeResult
from domain.report import build
from domain.scope import ScopeReport
from entrypoints import rounds
from entrypoints.cli import common
from entrypoints.cli.eval import evaluate
from entrypoints.evaluating import Evaluation, Plan
from entrypoints.remembered import request_of, trees_now
from entrypoints.stored_verdicts import StoredVerdicts
from tests.fakes.evidence import MemoryStore
from tests.fakes.trail import MemoryTrail

NOW = datetime(2026, 1, 15, 10, 0, tzinfo=UTC)
TREE = ScopeResult(tree="t", tree_bytes=2, report="r", diff="f")
ORDER = (
    "id: wo-a\ncontent: some work\nworkspace: work\nbase: base\nverification: {checks: [{name: t, command: 'true'}]}\n"
)
DATASET = """\
defaults: {order: order.yaml}
claims:
  - {id: right, valid: true, stratum: easy}
  - {id: wrong, valid: false, stratum: hard, workspace: wrong}
"""


class House:
    """A project without a host: rounds come to what `outcomes` says of their workspace's name."""

    def __init__(self, folder: Path) -> None:
        for tree in ("base", "work", "wrong"):
            (folder / tree).mkdir()
            (folder / tree / "a.txt").write_text(tree)
        (folder / "order.yaml").write_text(ORDER)
        self.file = folder / "set.yaml"
        self.file.write_text(DATASET)
        self.folder = folder
        self.settings = Settings(project=folder, state_dir=folder / "state")
        self.trail, self.store = MemoryTrail(), MemoryStore()
        self.outcomes: dict[str, RoundOutcome | Unavailable] = {
            "work": RoundOutcome.VERIFIED,
            "wrong": RoundOutcome.CHANGES_REQUESTED,
        }
        self.works: list[Any] = []
        self.opened = self.running = self.most = 0

    @property
    def ran(self) -> int:
        return len(self.works)

    @property
    def claims(self) -> list[LoadedClaim]:
        return list(load_dataset(self.file).claims)

    @property
    def stored(self) -> StoredVerdicts:
        return StoredVerdicts(self.settings, self.trail, self.store)

    async def open_server(self, *_: object, **__: object) -> None:
        self.opened += 1

    async def verify(self, _settings: object, _trail: object, work: Any, *_: object) -> Any:
        """A round that is stored as a real one is."""
        self.works.append(work)
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0)
        self.running -= 1
        outcome = self.outcomes[Path(work.order.workspace).name]
        if isinstance(outcome, Unavailable):
            raise outcome
        claim = LoadedClaim(self.claims[0].label, work.order, work.order_file, work.claim)
        return SimpleNamespace(result=SimpleNamespace(report=self.decide(claim, outcome)))

    def decide(self, claim: LoadedClaim, outcome: RoundOutcome) -> str:
        """Store a round's verdict; the digest of its report."""
        attempt = self.trail.last_attempt("local", "wo-a") + 1
        record = RoundRecord(
            input=RoundInput(
                session="local",
                todo="wo-a",
                attempt=attempt,
                order=claim.order,
                order_digest=claim.order.digest,
                host="h",
                actor=Actor(role="human", identity="ann"),
                claim=claim.claim,
            ),
            started_at=NOW,
            ended_at=NOW,
            frozen=trees_now(self.settings, self.store, request_of(claim.order, claim.order_file)),
            scope=TREE,
            decision=Decision(outcome=outcome, reasons=(Reason(code="c", text="because"),), trigger=""),
            head_sequence=1,
            head_hash="h",
        )
        report = self.store.put(build(record, {}, ScopeReport(), None).model_dump_json().encode())
        blob = self.store.put(record.model_dump_json().encode())
        payload: dict[str, Any] = {"outcome": outcome.value, "record": blob, "report": report}
        entry = TrailEntry(
            workflow_id=f"round/local/wo-a/{attempt}",
            ordinal=1,
            session="local",
            todo_id="wo-a",
            attempt=attempt,
            actor=Actor(role="harness", identity=""),
            action="audit_completed",
            payload={
                **{"result": "PASS", "criteria": [], "reasons": [], "trigger": ""},
                **payload,
            },
            timestamp=NOW,
        )
        self.trail.append(entry)
        return report

    def run(self, plan: Plan) -> list[tuple[str, str, bool]]:
        evaluation = Evaluation(self.settings, self.trail, self.store, plan, lambda _: None)
        found = asyncio.run(evaluation.run(self.claims))
        return [(v.claim.id, v.outcome.value if v.outcome else v.why, v.stored) for v in found]


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    made = House(tmp_path)
    monkeypatch.setattr(rounds, "verify", made.verify)
    monkeypatch.setattr(rounds, "open_server", made.open_server)
    monkeypatch.setattr(common, "settings", lambda: made.settings)
    monkeypatch.setattr(common, "open_trail", lambda: made.trail)
    monkeypatch.setattr(common, "open_evidence", lambda: made.store)
    yield made


RIGHT, WRONG = ("right", "verified"), ("wrong", "changes_requested")


def test_every_claim_has_its_rounds_on_one_host(house: House) -> None:
    assert house.run(Plan(rounds=2)) == [(*RIGHT, False)] * 2 + [(*WRONG, False)] * 2
    assert (house.opened, house.ran, house.most) == (1, 4, 1)


def test_no_claim_is_repaired_and_its_verdict_is_found_again(house: House) -> None:
    order = house.folder / "order.yaml"
    order.write_text(ORDER + "domain: refactor\nfix_loop: {enabled: true}\n")
    assert house.claims[0].order.fix_loop.enabled
    assert house.run(Plan()) == [(*RIGHT, False), (*WRONG, False)]
    assert [work.order.fix_loop.enabled for work in house.works] == [False, False]
    assert house.run(Plan(stored=True)) == [(*RIGHT, True), (*WRONG, True)]


def test_so_many_run_at_once(house: House) -> None:
    house.run(Plan(rounds=3, at_once=2))
    assert (house.ran, house.most) == (6, 2)


def test_what_is_stored_is_taken_and_the_rest_is_run(house: House) -> None:
    house.decide(house.claims[0], RoundOutcome.VERIFIED)
    assert house.run(Plan(rounds=2, stored=True)) == [
        (*RIGHT, True),
        (*RIGHT, False),
        (*WRONG, False),
        (*WRONG, False),
    ]
    assert house.run(Plan(rounds=2, stored=True)) == [(*RIGHT, True)] * 2 + [(*WRONG, True)] * 2
    assert (house.opened, house.ran) == (1, 3), "nothing is started where nothing is missing"


def test_without_resuming_nothing_is_taken(house: House) -> None:
    house.decide(house.claims[0], RoundOutcome.VERIFIED)
    assert house.run(Plan()) == [(*RIGHT, False), (*WRONG, False)]


def test_from_what_is_stored_nothing_is_run(house: House) -> None:
    house.decide(house.claims[0], RoundOutcome.VERIFIED)
    missing = ("wrong", "no verdict on this order and this work is stored", False)
    assert house.run(Plan(stored=True, run=False)) == [(*RIGHT, True), missing]
    assert (house.opened, house.ran) == (0, 0)


def _other_work(house: House) -> None:
    (house.folder / "work" / "a.txt").write_text("other work")


def _other_base(house: House) -> None:
    (house.folder / "base" / "a.txt").write_text("another base")


def _other_order(house: House) -> None:
    (house.folder / "order.yaml").write_text(f"{ORDER}domain: docs\n")


def _other_claim(house: House) -> None:
    words = {"explanation": "Wrote a.txt anew, as the order asks for it."}
    (house.folder / "claim.json").write_text(json.dumps(words))
    house.file.write_text(DATASET.replace("stratum: easy", "stratum: easy, claim: claim.json"))


@pytest.mark.parametrize("change", [_other_work, _other_base, _other_order, _other_claim])
def test_a_verdict_on_something_else_is_none(house: House, change: Callable[[House], None]) -> None:
    house.decide(house.claims[0], RoundOutcome.VERIFIED)
    assert len(house.stored.reports(house.claims[0], 1)) == 1
    change(house)
    assert house.stored.reports(house.claims[0], 1) == []


def test_what_was_not_told_is_no_verdict(house: House) -> None:
    house.decide(house.claims[0], RoundOutcome.INCONCLUSIVE)
    assert house.stored.reports(house.claims[0], 1) == []


def test_the_newest_are_taken_in_their_order(house: House) -> None:
    for outcome in (RoundOutcome.VERIFIED, RoundOutcome.NEEDS_HUMAN, RoundOutcome.FAILED):
        house.decide(house.claims[0], outcome)
    found = house.stored.reports(house.claims[0], 2)
    assert [report.outcome for report in found] == [RoundOutcome.NEEDS_HUMAN, RoundOutcome.FAILED]


@pytest.mark.parametrize("tree", ["work", "base"])
def test_a_tree_that_cannot_be_taken_has_no_verdict(house: House, tree: str) -> None:
    house.decide(house.claims[0], RoundOutcome.VERIFIED)
    for name in "bcd":
        (house.folder / tree / name).write_text(name)
    house.settings = house.settings.model_copy(update={"max_files": 2})
    assert house.stored.reports(house.claims[0], 1) == []


def test_a_store_that_is_gone_is_told(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(_: str) -> bytes:
        raise Unavailable(Cause.STORE_UNAVAILABLE, "gone", "mount it")

    house.decide(house.claims[0], RoundOutcome.VERIFIED)
    monkeypatch.setattr(house.store, "get", gone)
    with pytest.raises(Unavailable, match="gone"):
        house.run(Plan(stored=True))


def test_a_round_that_cannot_be_told_ends_nothing(house: House) -> None:
    house.outcomes["work"] = Unavailable(Cause.ENGINE_UNAVAILABLE, "the engine is gone", "start it")
    assert house.run(Plan()) == [("right", "the engine is gone (engine_unavailable)", False), (*WRONG, False)]


def command(house: House, *, code: int = 0, **options: Any) -> None:
    """The command, ended with `code`."""
    if code:
        with pytest.raises(typer.Exit) as ended:
            evaluate(house.file, **options)
        assert ended.value.exit_code == code
    else:
        evaluate(house.file, **options)


def test_the_command_tells_the_figures(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    command(house)
    said = capsys.readouterr()
    assert "2 claims, 2 verdicts" in said.out
    rows = [line.split() for line in said.out.splitlines()]
    assert ["all", "2", "1", "1", "0", "0"] in rows
    assert ["easy", "1", "1", "0", "0", "0"] in rows
    assert ["easy", "100.0%", "[21-100%]", "-", "0.0%", "[0-79%]", "0.0%", "[0-79%]"] in rows
    assert ["judge", "flip", "rate", "-"] in rows
    assert all(len(line) <= 80 for line in said.out.splitlines())
    assert "1/2  easy/right  verified" in said.err
    assert "2/2  hard/wrong  changes_requested  not valid" in said.err


def test_json_is_figures_and_verdicts_alone_and_the_file_has_the_same(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    output = house.folder / "out.json"
    command(house, as_json=True, output=output)
    told = json.loads(capsys.readouterr().out)
    assert told == json.loads(output.read_text())
    assert (told["dataset"], told["rounds"]) == ("set", 1)
    assert told["figures"]["all"]["true_positive"] == pytest.approx(
        {"count": 1, "of": 1, "share": 1.0, "claims": 1, "low": 0.20654931, "high": 1.0}
    )
    assert [verdict["claim"]["id"] for verdict in told["verdicts"]] == ["right", "wrong"]


def test_what_could_not_be_told_ends_with_3_and_is_in_no_rate(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    house.outcomes["wrong"] = RoundOutcome.INCONCLUSIVE
    command(house, code=3, as_json=True)
    figures = json.loads(capsys.readouterr().out)["figures"]
    assert figures["all"]["false_positive"]["share"] is None
    assert figures["all"]["not_told"] == ["wrong"]


def test_one_stratum_alone(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    command(house, only=["hard"], as_json=True)
    assert list(json.loads(capsys.readouterr().out)["figures"]["strata"]) == ["hard"]
    assert house.ran == 1


def test_a_stratum_that_no_claim_is_of_is_malformed(house: House) -> None:
    with pytest.raises(Malformed, match=r"--only: no claim is of 'soft', expected one of easy, hard"):
        evaluate(house.file, only=["soft"])
    assert house.ran == 0


def test_nothing_runs_for_a_malformed_data_set(house: House) -> None:
    house.file.write_text(DATASET.replace("workspace: wrong", "workspace: nowhere"))
    with pytest.raises(Malformed, match=r"claims\[1\].workspace"):
        evaluate(house.file)
    assert (house.opened, house.ran) == (0, 0)


def test_a_claim_s_order_asks_no_model_where_none_is_wanted(house: House) -> None:
    command(house, objective_only=True)
    assert [work.order.verification.objective_only for work in house.works] == [True, True]


def test_a_claim_is_run_with_its_words(house: House) -> None:
    _other_claim(house)
    house.run(Plan())
    assert [work.claim is None for work in house.works] == [False, True]
