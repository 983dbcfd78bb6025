"""docs/fixing.md: its order and table are read as it says, and its policy is the one that decides."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import get_args

import pytest
import yaml

from domain.confidence import Confidence
from domain.decision import Decision, Reason, RoundOutcome
from domain.domains import guessed_domain
from domain.fix_pages import pages
from domain.fixing import LOOPED, Budget, Escalate, Repair, Success, Tally, after_round
from domain.messages import Frozen, RoundResult, ScopeResult
from domain.order import Domain, Order
from domain.roles.agents import Agents
from domain.roles.models import chosen_by
from domain.safeguards import Trigger
from tests.fakes.evidence import MemoryStore
from tests.unit.test_fix_pages import asked, iteration

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "fixing.md").read_text()
WORDS = {
    "success": "success",
    "success with notes": "notes",
    "another repair, within the budget": "repair",
    "the round's own trigger": "not_judged",
}
"""What the table says, where it is no trigger's name."""


def block(kind: str) -> str:
    (text,) = re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.S | re.M)
    return str(text)


def rows(head: str) -> list[list[str]]:
    """The cells of the table whose header begins with `head`."""
    table = PAGE[PAGE.index(f"| {head} |") :].split("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]


def kind(confidence: Confidence | None, domain: str) -> str:
    order = Order.model_validate({"content": "c", "domain": domain, "fix_loop": {"enabled": True}})
    result = RoundResult(
        decision=Decision(
            outcome=RoundOutcome.NEEDS_HUMAN, reasons=(Reason(code="c", text="t"),), trigger="not_judged"
        ),
        report="r",
        confidence=confidence,
        frozen=Frozen(head="h", base="b", head_files=1, head_bytes=1, base_files=1, dropped="d"),
        scope=ScopeResult(tree="t", tree_bytes=1, report="r", diff="d"),
    )
    match after_round(order, result, Tally(), Budget(loops=3, micros=1), 0):
        case Repair():
            return "repair"
        case Success(notes=notes):
            return "notes" if notes else "success"
        case Escalate(trigger=trigger):
            return trigger


def test_the_order_has_the_defaults_and_a_domain_that_is_repaired() -> None:
    order = Order.model_validate(yaml.safe_load(block("yaml")))
    default = Order(content="c")
    assert order.fix_loop == default.fix_loop.model_copy(update={"enabled": True})
    assert order.safeguards == default.safeguards
    assert order.domain in LOOPED


def test_the_role_is_configured_as_the_page_shows() -> None:
    agents = Agents.model_validate(tomllib.loads(block("toml"))["agents"])
    assert chosen_by(agents, "fix_builder") == ("anthropic:claude-sonnet-4-5",)
    assert agents.fix_builder.max_requests == Agents().fix_builder.max_requests


def test_the_tables_columns_are_all_domains() -> None:
    (head, *_) = rows("the round is")
    mended, high = (set(column.split(", ")) for column in head[2:])
    assert mended == LOOPED
    assert mended | high == set(get_args(Domain))


@pytest.mark.parametrize("row", rows("the round is")[2:], ids=lambda row: row[0])
def test_the_policy_is_as_the_page_has_it(row: list[str]) -> None:
    said = row[0].strip("`")
    confidence = Confidence(said) if said in Confidence.__members__ else None
    for column, domain in ((2, "docs"), (3, "infra")):
        cell = row[column]
        assert kind(confidence, domain) == WORDS.get(cell, cell.strip("`"))


def test_every_word_for_a_round_has_a_row() -> None:
    assert [row[0].strip("`") for row in rows("the round is")[2:]] == [*Confidence, "anything else"]


def test_what_ends_a_loop_is_a_trigger() -> None:
    named = [row[1].strip("`") for row in rows("the loop also ends")[2:]]
    assert {name for name in named if " " not in name} <= set(get_args(Trigger))
    assert {"revision_cap_exceeded", "cost_cap_exceeded", "could_not_apply", "timeout", "system_error"} <= set(named)


def test_every_file_is_named() -> None:
    store = MemoryStore()
    stored = iteration(1, feedback=store.put(b'{"attempt_number": 2, "max_attempts": 3}'), patch=store.put(b"d"))
    made = set(pages(asked(iterations=(stored,), patch=store.put(b"p")), store.get))
    assert {row[0].strip("`") for row in rows("file")[2:]} == made


def test_the_guess_that_the_page_quotes_is_one() -> None:
    assert "domain: docs" in PAGE
    assert guessed_domain(["docs/fixing.md"]) == "docs"
