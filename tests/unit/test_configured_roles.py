"""What stands behind `Roles`: nothing while no model is configured, everything from the first pass that asks one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from adapters.config.settings import load_settings
from adapters.roles.runtime import ROLES
from entrypoints.roles import ConfiguredRoles
from tests.fakes.evidence import MemoryStore
from tests.fakes.pass_inputs import asked

ROOT = Path(__file__).parents[2]
HEAVY = ("pydantic_ai", "openai", "anthropic", "genai_prices", "jinja2", "selenium")

IDLE = f"""
import asyncio, sys
import entrypoints.cli.app, entrypoints.cli.verify, entrypoints.cli.doctor, entrypoints.host, worker
import activities.roles, adapters.roles.prices, adapters.roles.providers, adapters.roles.runtime
from adapters.config.settings import load_settings
from entrypoints.roles import ConfiguredRoles
from tests.fakes.evidence import MemoryStore
from tests.fakes.pass_inputs import asked
from entrypoints.cli import doctor_models
settings, store = load_settings(), MemoryStore()
doctor_models.models(settings)
came = asyncio.run(ConfiguredRoles(settings, store).run(asked(store), print, 0.0))
print(came.outcome, sorted(set({HEAVY}) & set(sys.modules)))
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("COUNTERSIGN_MODEL", raising=False)
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def test_without_a_model_nothing_that_speaks_to_one_is_loaded_and_no_ledger_opened(project: Path) -> None:
    """It takes seconds and much memory, of every command and every idle host."""
    result = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{IDLE}"],
        cwd=project,
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.strip() == "not_configured []"
    assert not (project.parent / "state").exists()


async def test_from_the_first_pass_on_there_are_ledger_and_tools(project: Path) -> None:
    (project / "countersign.toml").write_text(
        '[agents]\nmodel = "script:play.yaml"\n[agents.web]\nallow = ["http://127.0.0.1:9"]\n'
        'search_url = "http://127.0.0.1:9/search"\narxiv_url = "http://127.0.0.1:9/arxiv"\n'
    )
    (project / "play.yaml").write_text("- text: I will not say\n")
    store = MemoryStore()
    settings = load_settings(project)
    settings.state_dir.mkdir(parents=True)
    roles = ConfiguredRoles(settings, store)
    pass_ = asked(store, claim=None, stage="blind")
    async with roles._tools(pass_, print) as tools:
        assert {tool.name for tool in tools} == ROLES["auditor"].tools - {"run_tests"}
    came = await roles.run(pass_, print, 0.0)
    roles.close()
    assert (came.outcome, came.provenance.scripted, came.usage.requests) == ("inconclusive", True, 3)
    assert came.provenance.model == f"script:{project}/play.yaml"
    assert (settings.state_dir / "trail.db").exists()
