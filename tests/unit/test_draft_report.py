"""What a report says of drafted checks, and that the order which people find stays the one that was written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adapters.config.order_file import load_order
from adapters.config.settings import Settings
from domain.checks import CheckResult, Outcome
from domain.drafts.record import DraftRecord
from domain.filed_order import order_in
from domain.messages import RoundRecord
from domain.order import Order
from domain.report import build
from entrypoints.evidence_store import filed_order
from tests.fakes.audits import one_pass
from tests.fakes.disputes import FLAKY, JOINED, SPECIFICATION, VACUOUS, drafted
from tests.unit.test_dispute_report import filed
from tests.unit.test_report import RESULTS, SCOPE, record

PRIME = CheckResult(
    id="AC-2", spelling="criterion", type="command_exit_zero", label="7 is prime", outcome=Outcome.PASSED, code="ok"
)


def with_draft(draft: DraftRecord | None) -> RoundRecord:
    return record().model_copy(update={"draft": draft, "results": (*RESULTS, PRIME)})


def test_the_specification_stands_beside_what_became_of_its_criteria() -> None:
    draft, words = drafted()
    told = build(with_draft(draft), {}, SCOPE, None, words).draft
    assert told
    assert (told.specification, told.summary, told.model) == (SPECIFICATION, "A checker of primes", "openai:some")
    assert [(each.id, each.test_type, each.check, each.requirements) for each in told.criteria] == [
        ("AC-2", "command_exit_zero", "python -m solution 7", ("R1",)),
        ("AC-3", "subjective", "", ("R2",)),
    ], "by their words: ids are others than the designer's"
    assert (told.returned, told.dropped, told.uncovered, told.binding) == ((FLAKY,), (VACUOUS,), ("R3",), True)
    assert [(each.role, each.stage) for each in told.passes] == [("designer", "design"), ("strategist", "strategy")]
    assert told.duration_ms == 3000


def test_drafted_criteria_are_lines_like_any_and_labelled() -> None:
    draft, words = drafted()
    told = build(with_draft(draft), {}, SCOPE, None, words)
    assert [(line.id, line.drafted, line.outcome) for line in told.criteria] == [
        *(("AC-1", False, "passed"), ("AC-2", True, "passed"), ("AC-3", True, "not_judged")),
    ]
    assert told.summary.total == 5
    assert told.usage.requests == 4


def test_why_nothing_was_drafted_is_told() -> None:
    silent = DraftRecord(passes=(one_pass("unavailable", why="503"),), why="the designer: 503")
    told = build(with_draft(None).model_copy(update={"draft": silent, "results": RESULTS}), {}, SCOPE, None).draft
    assert told
    assert (told.why, told.specification, told.criteria) == ("the designer: 503", None, ())
    assert [(each.role, each.outcome) for each in told.passes] == [("designer", "unavailable")]


def test_without_a_draft_there_is_none() -> None:
    assert build(record(), {}, SCOPE, None).draft is None


def test_the_order_stays_as_it_was_written_beside_the_specification(tmp_path: Path) -> None:
    draft, words = drafted()
    given = with_draft(draft)
    _, folder = filed(given, dict(words))
    spec = json.loads(folder["spec.json"])
    assert spec["specification"] == SPECIFICATION.model_dump(mode="json")
    assert [each["id"] for each in spec["acceptance_criteria"]] == ["AC-1"], "what a model drafted is not the order's"
    assert [item["criterion"]["id"] for item in json.loads(folder["tests.json"])] == ["AC-1", "AC-2"]
    written = given.input.order.model_dump(mode="json")
    assert json.loads(order_in(folder["spec.json"])) == written
    place = tmp_path / "evidence" / "local" / "wo-1" / "2" / "spec.json"
    place.parent.mkdir(parents=True)
    place.write_bytes(folder["spec.json"])
    with filed_order(Settings(project=tmp_path, evidence_dir=tmp_path / "evidence"), "local", "wo-1", 2) as path:
        assert path
        trees = {name: tmp_path / name for name in ("work", "base")}
        for tree in trees.values():
            tree.mkdir()
        again = load_order(path, workspace=trees["work"], base=str(trees["base"]), folder=tmp_path, of_session=True)
    assert again.acceptance_criteria == given.input.order.acceptance_criteria


def test_every_kind_of_criterion_is_filed_as_it_was_written() -> None:
    call = {"path": ".", "module": "m", "function": "f", "cases": [{"args": [1], "returns": None}]}
    order = Order.model_validate(
        {"content": "x", "acceptance_criteria": [{"id": "AC-1", "type": "python_call", "params": call}]}
    )
    given = record().model_copy(update={"results": ()})
    given = given.model_copy(update={"input": given.input.model_copy(update={"order": order})})
    _, folder = filed(given, {})
    assert json.loads(folder["spec.json"]) == order.model_dump(mode="json")


@pytest.mark.parametrize("spec", [b"no JSON", b"[]", b'{"content": "x"}\n'])
def test_a_spec_without_a_specification_stays_what_it_is(spec: bytes) -> None:
    assert order_in(spec) == spec


def test_no_order_has_a_field_of_that_name() -> None:
    assert "specification" not in Order.model_fields
    assert len(JOINED) == 2
