"""What is refused before a model is asked, what `doctor` says of it, and whose keys reach the worker."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from adapters.config.settings import Settings, load_settings
from adapters.roles.web.chromium import HOW_TO_INSTALL
from domain.errors import Malformed, Unavailable
from domain.order import Order
from entrypoints import client, rounds, spawning
from entrypoints.cli import common, doctor_models, planning
from entrypoints.host_files import Files
from entrypoints.role_models import problems_of, require_keys, require_models
from entrypoints.slots import ROLE_PASSES, slots
from tests.fakes.trail import MemoryTrail
from workflows.options import ROLES_QUEUE

LOCAL = """
[agents]
model = "local"
[agents.models.local]
provider = "openai"
model = "a-model-that-nobody-sells"
base_url = "http://127.0.0.1:8000/v1"
"""
PRICE = "price = {input = 0.1, output = 0.4}\n"


@pytest.fixture(autouse=True)
def _an_empty_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith(("COUNTERSIGN_", "TEMPORAL_", "OPENAI_", "ANTHROPIC_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def settings_of(tmp_path: Path, text: str = "") -> Settings:
    (tmp_path / "countersign.toml").write_text(text)
    return load_settings(tmp_path)


def order(**verification: Any) -> Order:
    return Order.model_validate({"content": "work", "verification": verification})


def refused(call: Any, *given: Any) -> list[str]:
    with pytest.raises(Malformed) as caught:
        call(*given)
    return str(caught.value).splitlines()


class TestWhatIsRefused:
    def test_nothing_without_a_model(self, tmp_path: Path) -> None:
        assert problems_of(settings_of(tmp_path)) == ()
        require_models(settings_of(tmp_path))
        require_keys(settings_of(tmp_path), order())

    def test_a_price_that_nobody_knows(self, tmp_path: Path) -> None:
        (line,) = refused(require_models, settings_of(tmp_path, LOCAL))
        assert line.startswith("countersign.toml:1: agents.models.local.price: is missing, and the library knows none")
        require_models(settings_of(tmp_path, LOCAL + PRICE))

    def test_a_script_that_is_not_there_or_is_none(self, tmp_path: Path) -> None:
        settings = settings_of(tmp_path, '[agents]\nmodel = "script:play.yaml"\n')
        assert "play.yaml" in refused(require_models, settings)[0]
        (tmp_path / "play.yaml").write_text("- text: no\n  answer: {}\n")
        assert "play.yaml:1: [0]: says answer and text, expected exactly one of" in refused(require_models, settings)[0]
        (tmp_path / "play.yaml").write_text("- text: no\n")
        require_models(settings)

    def test_a_key_that_is_not_set_only_where_a_round_would_need_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """People act on todos from shells that have no key."""
        settings = settings_of(tmp_path, '[agents]\nmodel = "openai:gpt-4o"\n')
        require_models(settings)
        (line,) = refused(require_keys, settings, order())
        assert line == "environment:1: OPENAI_API_KEY: is not set, expected the key of 'openai:gpt-4o'"
        nobody: dict[str, Any] = {"auditor": {"enabled": False}, "draft": "never"}
        for wanted in ({"objective_only": True}, nobody, {"enabled": False}):
            require_keys(settings, order(**wanted))
        monkeypatch.setenv("OPENAI_API_KEY", "sk-123456")
        require_keys(settings, order())

    def test_a_key_only_of_roles_that_the_round_may_ask(self, tmp_path: Path) -> None:
        """What is drafted, argued and judged needs keys, too; what an order leaves out needs none."""
        for role in ("judge", "strategist"):
            settings = settings_of(tmp_path, f'[agents.{role}]\nmodel = "openai:gpt-4o"\n')
            refused(require_keys, settings, order())
        judged = settings_of(tmp_path, '[agents.judge]\nmodel = "openai:gpt-4o"\n')
        require_keys(judged, order(adversarial="never"))
        require_keys(judged, order(auditor={"enabled": False}))
        drafted = settings_of(tmp_path, '[agents.strategist]\nmodel = "openai:gpt-4o"\n')
        refused(require_keys, drafted, order(auditor={"enabled": False}))
        for given in ({"draft": "never"}, {"objective_only": True}, {"checks": [{"name": "c", "command": "true"}]}):
            require_keys(drafted, order(**given))

    def test_the_fix_builder_s_key_only_where_there_may_be_a_repair(self, tmp_path: Path) -> None:
        settings = settings_of(tmp_path, '[agents.fix_builder]\nmodel = "openai:gpt-4o"\n')
        looped = {"content": "work", "fix_loop": {"enabled": True}}
        refused(require_keys, settings, Order.model_validate(looped))
        refused(require_keys, settings, Order.model_validate({**looped, "verification": {"objective_only": True}}))
        require_keys(settings, order())
        require_keys(settings, Order.model_validate({**looped, "verification": {"enabled": False}}))

    def test_before_a_host_is_started_for_it(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(spawning, "server_binary", lambda _: "/no/temporal")
        settings = settings_of(tmp_path, LOCAL)
        assert "agents.models.local.price" in refused(spawning.begin, settings)[0]
        assert not Files(settings.state_dir).log("host").exists()


class TestTheDoctor:
    def test_says_that_there_is_no_model(self, tmp_path: Path) -> None:
        settings = settings_of(tmp_path)
        assert [(one.ok, one.text) for one in doctor_models.models(settings)] == [(True, doctor_models.NONE)]

    def test_says_what_each_model_costs_and_where_its_key_is(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-123456")
        (tmp_path / "play.yaml").write_text("- text: no\n")
        more = '[agents.auditor]\nfallbacks = ["anthropic:claude-sonnet-4-5", "script:play.yaml"]\n'
        others, found = doctor_models.models(settings_of(tmp_path, LOCAL + PRICE + more))
        assert (others.ok, found.ok) == (True, True)
        local = "local (no key, $0.1 in and $0.4 out a million tokens, at http://127.0.0.1:8000/v1)"
        assert others.text == f"designer, strategist, advocate, critic, judge, fix_builder: {local}"
        assert found.text == (
            "auditor: local (no key, $0.1 in and $0.4 out a million tokens, at http://127.0.0.1:8000/v1), then "
            "anthropic:claude-sonnet-4-5 (key in ANTHROPIC_API_KEY, $3 in and $15 out a million tokens), then "
            f"script:{tmp_path}/play.yaml (scripted: no model answers)"
        )

    def test_says_whose_a_model_is_only_where_roles_differ(self, tmp_path: Path) -> None:
        (tmp_path / "play.yaml").write_text("- text: no\n")
        play = f"script:{tmp_path}/play.yaml (scripted: no model answers)"
        (one,) = doctor_models.models(settings_of(tmp_path, '[agents]\nmodel = "script:play.yaml"\n'))
        assert one.text == play
        rest, judge = doctor_models.models(settings_of(tmp_path, '[agents.judge]\nmodel = "script:play.yaml"\n'))
        assert (judge.text, judge.ok) == (f"judge: {play}", True)
        assert (rest.text, rest.ok) == ("designer, strategist, auditor, advocate, critic, fix_builder: none", True)

    def test_names_all_that_is_missing_with_the_fix(self, tmp_path: Path) -> None:
        found = doctor_models.models(
            settings_of(tmp_path, f'{LOCAL}[agents.auditor]\nfallbacks = ["openai:gpt-4o", "script:no.yaml"]\n')
        )
        assert [one.ok for one in found] == [False] * len(found)
        assert [one.text.partition(":")[0] for one in found[:2]] == ["agents.models.local.price", "OPENAI_API_KEY"]
        assert found[2].text == f"{tmp_path}/no.yaml:1: file: does not exist"
        assert all(one.fix.startswith("expected ") for one in found)

    def test_wants_a_browser_only_where_the_web_is_allowed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        (off,) = doctor_models.web(settings_of(tmp_path))
        assert (off.ok, off.fix) == (True, "")
        allowed = settings_of(tmp_path, '[agents.web]\nallow = ["https://docs.example"]\n')
        (missing,) = doctor_models.web(allowed)
        assert (missing.ok, missing.fix) == (False, HOW_TO_INSTALL)
        (tmp_path / "chromium").write_text("#!/bin/sh\n")
        (tmp_path / "chromium").chmod(0o755)
        (found,) = doctor_models.web(allowed)
        assert (found.ok, found.text) == (True, f"1 allowed, looked at with {tmp_path}/chromium")

    def test_names_searches_that_the_allow_list_refuses(self, tmp_path: Path) -> None:
        listed = '[agents.web]\nallow = ["https://search.example/a"]\nsearch_url = "https://search.example/{}"\n'
        assert len(doctor_models.web(settings_of(tmp_path, listed.format("a/s")))) == 1
        _, found = doctor_models.web(settings_of(tmp_path, listed.format("b")))
        assert (found.ok, found.fix) == (False, "https://search.example/b in allow, too")

    def test_names_searches_that_nobody_could_make(self, tmp_path: Path) -> None:
        settings = settings_of(tmp_path, '[agents.web]\nsearch_url = "https://search.example"\n')
        assert [(one.ok, one.text.partition(":")[0]) for one in doctor_models.web(settings)] == [
            (True, "off"),
            (False, "search_url"),
        ]


async def test_a_round_needs_the_keys_of_its_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Asked(Exception):
        pass

    async def up(settings: Settings, secrets: list[str], begun: object) -> None:
        raise Asked(*secrets)

    monkeypatch.setattr(rounds, "ensure_up", up)
    settings = settings_of(tmp_path, '[agents]\nmodel = "anthropic:claude-sonnet-4-5"\n')
    with pytest.raises(Asked) as caught:
        await rounds.verify(settings, MemoryTrail(), rounds.Work(order()), print, print)
    assert caught.value.args == ("ANTHROPIC_API_KEY",)


def test_passes_are_few_at_a_time() -> None:
    assert slots("roles", 30)["max_concurrent_activities"] == ROLE_PASSES < 30


@pytest.mark.parametrize(("asked", "wanted"), [(order(), True), (order(objective_only=True), False)])
async def test_a_server_of_ones_own_has_to_have_a_worker_of_roles_only_where_they_are_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: Order, wanted: bool
) -> None:
    """A round would wait for one for minutes, and then have no word of any."""
    looked_for: list[str] = []

    async def polled(_: object, queue: str) -> bool:
        looked_for.append(queue)
        return queue != ROLES_QUEUE

    class Found(Exception):
        pass

    async def start(*_: object) -> None:
        raise Found

    async def connected(_: Settings) -> Any:
        return SimpleNamespace(
            service_client=SimpleNamespace(config=SimpleNamespace(target_host="there:7233")), namespace="default"
        )

    for name, stands_in in (("connect", connected), ("start_round", start)):
        monkeypatch.setattr(rounds, name, stands_in)
    monkeypatch.setattr(client, "pollers", polled)
    monkeypatch.setattr(client, "WORKER_SECONDS", 0.0)
    settings = settings_of(tmp_path).model_copy(update={"temporal_address": "there:7233"})
    with pytest.raises(Unavailable if wanted else Found) as caught:
        await rounds.verify(settings, MemoryTrail(), rounds.Work(asked), print, print)
    assert (ROLES_QUEUE in looked_for) is wanted
    assert ("no worker polls 'roles'" in str(caught.value)) is wanted


def test_a_session_needs_the_keys_of_its_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = settings_of(tmp_path, '[agents]\nmodel = "anthropic:claude-sonnet-4-5"\n')
    monkeypatch.setattr(common, "settings", lambda: settings)
    assert planning.secrets_of(()) == ("ANTHROPIC_API_KEY",)
