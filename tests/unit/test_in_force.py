"""What decides beside the order, as a round is told of it: whatever changes of it changes what is compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.config.defaults import load_policy
from adapters.config.in_force import authority_of
from adapters.config.settings import load_settings
from domain.authority import Authority
from domain.order import Order
from domain.remembering import changed_authority
from entrypoints import role_models
from tests.model.todos import order

ASKS = order().model_copy(update={"verification": order().verification.model_copy(update={"objective_only": False})})


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("COUNTERSIGN_DOCKER_HOST", "COUNTERSIGN_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def now(folder: Path, of: Order = ASKS) -> Authority:
    settings = load_settings(folder)
    return role_models.in_force(authority_of(settings, load_policy(settings).files), settings, of)


def test_nothing_changes_by_itself(tmp_path: Path) -> None:
    assert changed_authority(now(tmp_path), now(tmp_path)) == ""


def test_a_floor_above_the_project_counts(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "countersign.toml").write_text("")
    before = now(inner)
    (tmp_path / "countersign.toml").write_text('[policy_floor]\nwithout_checks = "needs_human"\n')
    assert "the configuration changed" in changed_authority(before, now(inner))


def test_signers_count_by_their_bytes(tmp_path: Path) -> None:
    (tmp_path / "countersign.toml").write_text('[signers]\nfile = "people"\n')
    (tmp_path / "people").write_text("ann ssh-ed25519 AAAA\n")
    before = now(tmp_path)
    (tmp_path / "people").write_text("bob ssh-ed25519 AAAA\n")
    assert changed_authority(before, now(tmp_path)) == "the signers are others"


def test_variables_that_choose_count_and_no_value_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = now(tmp_path)
    monkeypatch.setenv("COUNTERSIGN_DOCKER_HOST", "unix:///elsewhere.sock")
    after = now(tmp_path)
    assert changed_authority(before, after) == "other variables decide: COUNTERSIGN_DOCKER_HOST"
    assert "elsewhere" not in after.model_dump_json()


def test_models_count_where_a_role_may_be_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    objective = ASKS.verification.model_copy(update={"objective_only": True})
    alone = ASKS.model_copy(update={"verification": objective})
    before = now(tmp_path)
    (tmp_path / "script.yaml").write_text("[]\n")
    monkeypatch.setenv("COUNTERSIGN_MODEL", "script:script.yaml")
    scripted = now(tmp_path)
    assert scripted.models != before.models
    assert now(tmp_path, alone).models == ""
    (tmp_path / "script.yaml").write_text("[] # other\n")
    assert changed_authority(scripted, now(tmp_path)) == "the models are others"


def test_another_version_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = now(tmp_path)
    monkeypatch.setattr(role_models, "code_version", lambda: "another")
    assert changed_authority(before, now(tmp_path)) == "Countersign itself changed"
