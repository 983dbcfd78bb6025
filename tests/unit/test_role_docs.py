"""docs/roles.md: its examples are read as it says, and what it names is there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from adapters.roles.runtime import ROLES
from adapters.roles.script import read_script
from domain.order import Order
from domain.roles.agents import Agents
from domain.roles.models import chosen_by, is_model
from domain.roles.names import STAGES
from domain.roles.results import PassOutcome

ROOT = Path(__file__).resolve().parents[2]
NO_WORD = [one for one in get_args(PassOutcome) if one not in ("answered", "asks", "wants_tests", "not_configured")]
PAGE = (ROOT / "docs" / "roles.md").read_text()


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.S | re.M)


def test_the_table_is_one_and_every_default_it_names_is_the_default() -> None:
    (text,) = blocks("toml")
    agents = Agents.model_validate(tomllib.loads(text)["agents"])
    names = (agents.model, agents.auditor.model, *agents.auditor.fallbacks)
    assert all(name and is_model(agents, name) for name in names)
    assert chosen_by(agents, "judge") == (agents.judge.model,) != chosen_by(agents, "critic")
    assert agents.caps == Agents().caps
    limits = ("max_requests", "max_tokens", "request_timeout")
    assert [getattr(agents.auditor, name) for name in limits] == [getattr(Agents().auditor, name) for name in limits]
    everything = Agents.model_validate(tomllib.loads(re.sub(r"^# (?=\w+ = )", "", text, flags=re.M))["agents"])
    assert None not in {everything.caps.request, everything.caps.role, everything.web.search_url}


def test_the_part_of_an_order_is_one() -> None:
    part, _ = blocks("yaml")
    order = Order.model_validate({"content": "x", **yaml.safe_load(part)})
    assert order.verification.auditor.criteria == "- no obvious security issues"
    given: dict[str, Any] = yaml.safe_load(part)["safeguards"]
    default = Order(content="x").safeguards
    assert {name: getattr(default, name) for name in given} == given


def test_the_script_is_one(tmp_path: Path) -> None:
    _, script = blocks("yaml")
    file = tmp_path / "auditor.yaml"
    file.write_text(script)
    assert [(turn.stage, bool(turn.uses)) for turn in read_script(file).turns] == [
        *(("blind", True), ("blind", False), ("informed", False)),
    ]


def test_every_role_and_stage_is_named() -> None:
    table = PAGE.partition("| role | is asked |")[2].partition("\n\n")[0]
    assert set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (.*?) \|", table, re.M)))) == set(STAGES)
    scripts = PAGE.partition("## Scripted models")[2].partition("\n## ")[0]
    assert {f"`{stage}`" for stages in STAGES.values() for stage in stages} <= set(re.findall(r"`\w+`", scripts))


def test_every_tool_has_its_line() -> None:
    table = PAGE.partition("## What it may do")[2].partition("###")[0]
    assert set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (.*?) \|", table, re.M)))) == ROLES["auditor"].tools


@pytest.mark.parametrize("outcome", NO_WORD)
def test_every_way_to_have_no_word_is_in_both_tables(outcome: str) -> None:
    faults = PAGE.partition("## What goes wrong")[2].partition("\n## ")[0]
    assert faults.count(f"`{outcome}`") >= 2


def test_what_shows_what_a_role_can_never_do_is_there() -> None:
    table = PAGE.partition("### What a role can never do")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ") and not line.startswith("| never")]
    assert len(rows) >= 9
    for row in rows:
        assert re.findall(r"`(tests/[\w/]+\.py)`", row), row
