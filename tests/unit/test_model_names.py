"""What a name of the configuration means and what is missing for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adapters.roles.providers import NO_KEY, asked, known, missing, why_nobody
from domain.errors import Malformed
from domain.roles.agents import Agents
from domain.roles.names import STAGES
from tests.fakes.model_passes import a_pass


def agents(model: str | None, **more: Any) -> Agents:
    return Agents.model_validate({"model": model, **more})


LOCAL = {"local": {"provider": "openai", "model": "m", "base_url": "http://127.0.0.1:8000/v1"}}


def test_a_name_is_an_entry_a_provider_s_model_or_a_script(tmp_path: Path) -> None:
    table = agents(None, models=LOCAL)
    assert known(table, "local").entry == table.models["local"]
    sold = known(table, "anthropic:claude-x").entry
    assert sold is not None
    assert (sold.provider, sold.model, sold.base_url) == ("anthropic", "claude-x", None)
    assert known(table, "script:turns.yaml", tmp_path).script == tmp_path / "turns.yaml"
    assert known(table, "script:/turns.yaml", tmp_path).script == Path("/turns.yaml")


@pytest.mark.parametrize("name", ["gpt-4o", "openia:gpt-4o", "openai:", "script:", "other"])
def test_a_name_that_means_nothing_is_refused(name: str) -> None:
    with pytest.raises(Malformed, match="is no model, expected openai:NAME, anthropic:NAME, script:FILE or the name"):
        known(agents(None, models=LOCAL), name)


def test_a_pass_asks_its_role_s_models_in_their_order() -> None:
    role = {"model": "openai:b", "fallbacks": ["openai:c", "openai:b"]}
    assert asked(agents("openai:a"), a_pass()) == ("openai:a",)
    assert asked(agents("openai:a", auditor=role), a_pass()) == ("openai:b", "openai:c")
    assert asked(agents("openai:a", auditor=role), a_pass(model="openai:d")) == ("openai:d",)
    assert asked(agents(None), a_pass()) == ()


def test_a_script_without_a_turn_of_a_role_is_no_model_of_it(tmp_path: Path) -> None:
    (tmp_path / "auditor.yaml").write_text("- {stage: blind, text: x}\n")
    (tmp_path / "judge.yaml").write_text("- {role: judge, text: x}\n")
    (tmp_path / "any.yaml").write_text("- {text: x}\n")

    def played(table: Agents) -> set[str]:
        passes = [a_pass(role=role, stage=stages[0]) for role, stages in STAGES.items()]
        return {request.role for request in passes if not why_nobody(table, request, tmp_path)}

    assert played(agents(None)) == set()
    assert played(agents("script:auditor.yaml")) == {"auditor"}
    assert played(agents("script:judge.yaml", advocate={"model": "openai:a"})) == {"advocate", "judge"}
    assert played(agents("script:any.yaml")) == set(STAGES)
    assert played(agents("script:not-there.yaml")) == set(STAGES), "it fails when it is asked"
    assert played(agents("script:judge.yaml", critic={"fallbacks": ["openai:a"]})) == {"critic", "judge"}
    said = why_nobody(agents("script:auditor.yaml"), a_pass(role="judge", stage="judgement"), tmp_path)
    assert said == "no model is configured: script:auditor.yaml has no turn of the judge"
    informed = a_pass(stage="informed")
    assert not why_nobody(agents("script:auditor.yaml"), informed, tmp_path), "a stage that is missing is a fault"


def test_keys_are_looked_for_where_they_belong() -> None:
    table = agents(None, models=LOCAL)
    environment = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "l"}
    assert known(table, "openai:gpt-4o").key(environment) == "k"
    assert known(table, "anthropic:x").key(environment) == "l"
    assert known(table, "local").key(environment) == NO_KEY
    assert known(table, "script:x").key({}) == NO_KEY


def said(table: Agents, root: Path, **environment: str) -> list[str]:
    return [str(problem) for problem in missing(table, root, environment)]


def test_nothing_is_missing_where_no_model_is_configured(tmp_path: Path) -> None:
    assert said(agents(None, models=LOCAL), tmp_path) == []


def test_what_is_missing_is_told_once_with_what_would_help(tmp_path: Path) -> None:
    assert said(agents("openai:gpt-4o"), tmp_path, OPENAI_API_KEY="k") == []
    fallbacks = ["openai:gpt-4o", "openai:unheard-of", "local", "script:none.yaml", "what"]
    problems = said(agents("openai:gpt-4o", models=LOCAL, auditor={"fallbacks": fallbacks}), tmp_path)
    assert problems == [
        "environment:1: OPENAI_API_KEY: is not set, expected the key of 'openai:gpt-4o'",
        "countersign.toml:1: agents.models: 'openai:unheard-of' has no known price, expected an entry with provider ="
        ' "openai", model = "unheard-of" and price = {input = DOLLARS, output = DOLLARS}, for a million tokens each',
        "environment:1: OPENAI_API_KEY: is not set, expected the key of 'openai:unheard-of'",
        "countersign.toml:1: agents.models.local.price: is missing, and the library knows none, expected price ="
        " {input = DOLLARS, output = DOLLARS}, for a million tokens each",
        f"{tmp_path}/none.yaml:1: file: does not exist, expected a file with a list of turns in YAML or JSON",
        "countersign.toml:1: agents: 'what' is no model, expected openai:NAME, anthropic:NAME, script:FILE or the name"
        " of an entry of [agents.models]",
    ]
