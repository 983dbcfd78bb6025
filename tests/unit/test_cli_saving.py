"""`verify --adversarial` and `--save-tests`: what is refused before anything runs, and what is said and saved after."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adapters.config.defaults import NO_POLICY, ProjectPolicy
from adapters.config.order_file import load_order
from adapters.config.order_writing import OrderText
from adapters.config.settings import Settings
from domain.criteria import Subjective
from domain.drafts.record import DraftRecord, Rejected
from domain.errors import Malformed
from domain.messages import RoundInput
from domain.order import Order
from domain.policy_floor import PolicyFloor
from entrypoints import exporting
from entrypoints.cli import common, saving, verify
from entrypoints.pinning import Options
from tests.fakes.rounds import World
from tests.unit.test_order_writing import CALL, CHECK, READABLE

ORDER = "content: some work\nid: wo-1\nworkspace: ../work\nbase: ../base\n"
TRUE = Rejected(criterion="AC-3", check="true\x1b[2J", code="vacuous", reason="it passes on an empty tree")


def asked(order: dict[str, Any], policy: ProjectPolicy = NO_POLICY, **options: Any) -> Order:
    given = Order.model_validate({"content": "x", "verification": order})
    return verify._as_asked(given, policy, **{"objective_only": False, "adversarial": None, **options})


def refused(order: dict[str, Any], policy: ProjectPolicy = NO_POLICY, **options: Any) -> str:
    with pytest.raises(Malformed) as caught:
        asked(order, policy, **options)
    return str(caught.value)


class TestAdversarial:
    @pytest.mark.parametrize("said", ["auto", "always", "never"])
    def test_it_stands_for_what_the_order_says(self, said: str) -> None:
        for before in ("auto", "always", "never"):
            assert asked({"adversarial": before}, adversarial=said).verification.adversarial == said

    def test_not_given_it_leaves_the_order_as_it_is(self) -> None:
        for before in ({"adversarial": "always"}, {"objective_only": True}, {}):
            order = Order.model_validate({"content": "x", "verification": before})
            assert asked(before) == order

    def test_always_and_nobody_who_argues_are_refused_together(self) -> None:
        both = refused({}, adversarial="always", objective_only=True)
        assert both == (
            "command line:1: --adversarial: always, and --objective-only asks no language model, "
            "expected one of the two, since nobody argues"
        )
        for order in ({"objective_only": True}, {"auditor": {"enabled": False}}):
            assert "always, and the order asks no auditor" in refused(order, adversarial="always")

    def test_never_and_objective_only_go_together(self) -> None:
        found = asked({}, adversarial="never", objective_only=True).verification
        assert (found.adversarial, found.objective_only) == ("never", True)

    def test_it_cannot_go_below_the_floor(self) -> None:
        floor = ProjectPolicy(floor=PolicyFloor(adversarial="always"))
        always = {"adversarial": "always"}
        assert refused(always, floor, adversarial="auto") == (
            "command line:1: --adversarial: verification.adversarial is auto, and the project's policy floor asks for "
            "at least always, expected it to be left out"
        )
        assert refused(always, floor, objective_only=True).startswith("command line:1: --objective-only: ")
        assert asked(always, floor, adversarial="always").verification.adversarial == "always"


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    world = World(tmp_path)
    monkeypatch.setattr(common, "open_trail", lambda: world.trail)
    monkeypatch.setattr(common, "open_evidence", lambda: world.store)
    monkeypatch.setattr(common, "settings", lambda: Settings(project=world.root, evidence_dir=world.evidence))
    monkeypatch.delenv("COUNTERSIGN_ACTOR", raising=False)
    (tmp_path / "orders").mkdir()
    (tmp_path / "orders" / "order.yaml").write_text(ORDER)
    return world


def file_of(world: World) -> Path:
    return world.root / "orders" / "order.yaml"


async def drafted(world: World, draft: DraftRecord | None, monkeypatch: pytest.MonkeyPatch) -> RoundInput:
    """A round, decided and filed, whose record has that draft."""
    record = await world.verify(load_order(file_of(world)))
    (*rows, verdict) = exporting.rows_of(world.trail, "local", "wo-1", 1)
    digest = world.store.put(record.model_copy(update={"draft": draft}).model_dump_json().encode())
    verdict = verdict.model_copy(update={"payload": {**verdict.payload, "record": digest}})
    monkeypatch.setattr(exporting, "rows_of", lambda *_: (*rows, verdict))
    return record.input


async def saved(world: World, draft: DraftRecord | None, monkeypatch: pytest.MonkeyPatch) -> None:
    request = await drafted(world, draft, monkeypatch)
    saving.save(OrderText(file_of(world), world.root / "work"), world.trail, request)


class TestSaving:
    async def test_what_was_drafted_is_in_the_order_with_round_and_time(
        self, world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        draft = DraftRecord(criteria=(CHECK, CALL, READABLE), dropped=(TRUE,))
        await saved(world, draft, monkeypatch)
        assert load_order(file_of(world)).acceptance_criteria == [CHECK, CALL, READABLE]
        assert file_of(world).read_text().startswith(f"{ORDER}\nacceptance_criteria:\n  # drafted 2026-01-15T10:00:")
        assert " in round/local/wo-1/1\n  - id: AC-1\n" in file_of(world).read_text()
        said = " ".join(capsys.readouterr().err.split())
        assert f"AC-1, AC-2, AC-3 saved into {file_of(world)}: the next round drafts nothing" in said
        assert "AC-3 was dropped (vacuous): true\\x1b[2J" in said

    async def test_saved_before_it_says_so(
        self, world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        draft = DraftRecord(criteria=(CHECK,))
        request = await drafted(world, draft, monkeypatch)
        for _ in range(2):
            saving.save(OrderText(file_of(world), world.root / "work"), world.trail, request)
            text = file_of(world).read_text()
        assert "has them already: AC-1" in " ".join(capsys.readouterr().err.split())
        assert text.count("# drafted") == 1

    @pytest.mark.parametrize(
        ("draft", "why"),
        [
            (None, "the round drafted nothing"),
            (DraftRecord(why="the designer has no model"), "the designer has no model"),
            (
                DraftRecord(criteria=(Subjective(id="AC-3", type="subjective", description="nice"),), dropped=(TRUE,)),
                "no check was drafted that counts; AC-3 was dropped (vacuous)",
            ),
        ],
    )
    async def test_nothing_drafted_writes_nothing(
        self,
        world: World,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        draft: DraftRecord | None,
        why: str,
    ) -> None:
        await saved(world, draft, monkeypatch)
        assert f"--save-tests: nothing is saved: {why}" in " ".join(capsys.readouterr().err.split())
        assert file_of(world).read_text() == ORDER


class TestWhereTo:
    def into(self, world: World, name: str) -> OrderText:
        order = verify._find_order(name, Options()).order
        return verify._save_into(name, None, None, order, NO_POLICY)

    def test_a_file_is_where_it_is(self, world: World) -> None:
        assert self.into(world, str(file_of(world))).path == file_of(world)

    async def test_a_stored_order_is_in_the_file_that_it_was_read_from(self, world: World) -> None:
        (world.root / "order.yaml").write_text(ORDER.replace("../", ""))
        await world.verify(load_order(world.root / "order.yaml"))
        assert self.into(world, "wo-1").path == world.root / "order.yaml"

    async def test_a_stored_order_that_its_file_does_not_say_any_more_is_refused(self, world: World) -> None:
        (world.root / "order.yaml").write_text(ORDER.replace("../", ""))
        await world.verify(load_order(world.root / "order.yaml"))
        (world.root / "order.yaml").write_text(ORDER.replace("../", "").replace("some", "more"))
        with pytest.raises(Malformed, match=r"--save-tests: .*order\.yaml is not the stored order any more"):
            self.into(world, "wo-1")

    async def test_a_stored_order_without_a_file_is_refused(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await world.verify(load_order(file_of(world)))
        monkeypatch.setattr(verify, "_file_of", lambda *_: None)
        with pytest.raises(
            Malformed, match="--save-tests: wo-1 is the id of a stored order, and its file is not known"
        ):
            self.into(world, "wo-1")

    def test_a_worker_writes_no_gate(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COUNTERSIGN_ACTOR", "worker:agent-7")
        with pytest.raises(Malformed, match="--save-tests: a worker writes no gate"):
            self.into(world, str(file_of(world)))
        assert file_of(world).read_text() == ORDER
