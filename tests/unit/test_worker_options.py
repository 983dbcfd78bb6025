"""What a worker's options make of its settings: which deployment and version it is, and which server it asks."""

from __future__ import annotations

from pathlib import Path

import pytest
from temporalio.common import VersioningBehavior
from temporalio.workflow import _Definition as Definition
from typer.testing import CliRunner

from entrypoints.host import VERSIONED, WORKFLOWS
from entrypoints.worker_process import app

V2 = ("--deployment", "countersign", "--build-id", "2.0.0")


@pytest.fixture(autouse=True)
def _nobody_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("TEMPORAL_ADDRESS", "COUNTERSIGN_DEPLOYMENT", "COUNTERSIGN_BUILD_ID"):
        monkeypatch.delenv(name, raising=False)


def seen(monkeypatch: pytest.MonkeyPatch, *options: str) -> tuple[str | None, str | None, str | None]:
    """Deployment, build id and server that a worker with these options comes to."""
    found = []

    async def serve(settings, *_: object) -> None:  # type: ignore[no-untyped-def]  # the composition's own
        found.append((settings.deployment, settings.build_id, settings.temporal_address))

    monkeypatch.setattr("entrypoints.worker_process._serve", serve)
    for once in ("start", "stop"):  # of a process, which this one is not
        monkeypatch.setattr(f"entrypoints.telemetry.{once}", lambda _: None)
    result = CliRunner().invoke(app, options)
    assert result.exit_code == 0, result.output
    return found[0]


def test_a_version_is_an_option_or_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    assert seen(monkeypatch) == (None, None, None)
    assert seen(monkeypatch, *V2) == ("countersign", "2.0.0", None)
    monkeypatch.setenv("COUNTERSIGN_DEPLOYMENT", "countersign")
    monkeypatch.setenv("COUNTERSIGN_BUILD_ID", "1.0.0")
    assert seen(monkeypatch) == ("countersign", "1.0.0", None)
    assert seen(monkeypatch, "--build-id", "2.0.0") == ("countersign", "2.0.0", None)


def test_the_embedded_host_s_worker_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody would make its version current, and it would do nothing."""
    monkeypatch.setenv("COUNTERSIGN_DEPLOYMENT", "countersign")
    monkeypatch.setenv("COUNTERSIGN_BUILD_ID", "1.0.0")
    assert seen(monkeypatch, "--ready-fd", "99", "--address", "127.0.0.1:1") == (None, None, None)


NAMELESS = """
[agents]
model = "local"
[agents.models.local]
provider = "openai"
model = "a-model-that-nobody-sells"
base_url = "http://127.0.0.1:1/v1"
"""


def test_a_model_whose_price_nobody_knows_is_refused_where_it_would_be_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "countersign.toml").write_text(NAMELESS)
    refused = CliRunner().invoke(app, ("--queues", "workflows,roles"))
    assert refused.exit_code == 2
    assert "agents.models.local.price: is missing" in refused.output
    assert seen(monkeypatch, "--queues", "workflows,sandbox") == (None, None, None)


def test_an_address_that_a_person_gives_is_a_server_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    assert seen(monkeypatch, "--address", "10.0.0.5:7233") == (None, None, "10.0.0.5:7233")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (V2[:2], "go together"),
        (V2[2:], "go together"),
        (("--deployment", "a.b", "--build-id", "1"), "--deployment is 'a.b'"),
        (("--deployment", "a", "--build-id", "1 0"), "--build-id is '1 0'"),
        (("--deployment", "", "--build-id", "1"), "--deployment is ''"),
    ],
)
def test_half_a_version_and_names_that_the_server_would_not_take(options: tuple[str, ...], said: str) -> None:
    result = CliRunner().invoke(app, options)
    assert result.exit_code == 2
    assert said in " ".join(result.output.split())


def test_versioned_workflows_are_the_same_under_the_same_names() -> None:
    """Only the round says what it does about versions: a worker without a deployment may say nothing of it."""
    plain, versioned = ([Definition.must_from_class(kind) for kind in kinds] for kinds in (WORKFLOWS, VERSIONED))
    assert [one.name for one in plain] == [one.name for one in versioned]
    assert {one.versioning_behavior for one in plain} == {VersioningBehavior.UNSPECIFIED}
    behaviors = {one.name: one.versioning_behavior for one in versioned}
    assert behaviors.pop("VerificationWorkflow") is VersioningBehavior.PINNED
    assert set(behaviors.values()) == {VersioningBehavior.UNSPECIFIED}
    for one, other in zip(plain, versioned, strict=True):
        assert issubclass(other.cls, one.cls)
        assert (one.signals.keys(), one.queries.keys(), one.updates.keys()) == (
            other.signals.keys(),
            other.queries.keys(),
            other.updates.keys(),
        )
