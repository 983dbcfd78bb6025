"""Orders and settings with secrets: refused with their line, and never shown with a value."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.config import order_secrets
from adapters.config.order_file import load_order, read_order
from adapters.config.settings import load_settings
from adapters.masking.masker import Masker
from domain.errors import Malformed
from entrypoints.host_state import shown

VALUE = 'hun"ter2-ü-hunter3'


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> Masker:
    """What the process knows, for one test."""
    masker = Masker({"API_KEY": VALUE.encode()})
    monkeypatch.setattr(order_secrets, "KNOWN", masker)
    return masker


def problems(path: Path, text: str) -> list[tuple[int, str, str]]:
    path.write_text(text)
    with pytest.raises(Malformed) as caught:
        read_order(path)
    assert VALUE not in str(caught.value)
    return [(problem.line, problem.field, problem.what) for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("lines", "line", "field"),
    [
        (["content: 'use %s'"], 1, "content"),
        (
            ["content: x", "verification:", "  checks:", "  - {name: a, command: 'echo %s'}"],
            4,
            "verification.checks[0]",
        ),
        (["content: x", "workspace: 'a/%s'"], 2, "workspace"),
        (["content: x", "base: {repository: '%s', revision: " + "a" * 40 + "}"], 2, "base.repository"),
    ],
)
def test_a_secret_anywhere_in_an_order_is_refused_with_its_line(
    tmp_path: Path, lines: list[str], line: int, field: str
) -> None:
    ((found, where, what),) = problems(tmp_path / "order.yaml", "\n".join(lines).replace("%s", VALUE))
    assert (found, what) == (line, "holds the value of the secret API_KEY")
    assert where.startswith(field)


def test_an_order_s_own_secrets_are_known_from_then_on(
    tmp_path: Path, known: Masker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "the-token-of-it")
    order = "content: %s\nenvironment: {setup: ['true'], secrets: [TOKEN, NOT_SET]}\n"
    (tmp_path / "order.yaml").write_text(order % "x")
    assert read_order(tmp_path / "order.yaml").environment.secrets == ["TOKEN", "NOT_SET"]
    assert known.text("the-token-of-it") == "[secret TOKEN]"
    told = "holds the value of the secret TOKEN"
    assert problems(tmp_path / "order.yaml", order % "the-token-of-it") == [(1, "content", told)]


def test_an_order_s_secret_that_cannot_be_masked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "abc")
    order = "content: x\nenvironment:\n  setup: ['true']\n  secrets:\n  - TOKEN\n"
    found = problems(tmp_path / "order.yaml", order)
    assert found == [(5, "environment.secrets[0]", "TOKEN has a value of less than 6 characters")]


def test_a_workspace_whose_path_has_a_secret(tmp_path: Path) -> None:
    for name in (VALUE, "base"):
        (tmp_path / name).mkdir()
    (tmp_path / "order.yaml").write_text("content: x\nbase: base\n")
    with pytest.raises(Malformed, match="the secret API_KEY") as caught:
        load_order(tmp_path / "order.yaml", workspace=tmp_path / VALUE)
    assert VALUE not in str(caught.value)


@pytest.mark.parametrize(
    ("names", "name", "value", "what"),
    [
        ("API_KEY", "API_KEY", "abcde", "has a value of less than 6 characters"),
        ("A_KEY,API_KEY", "API_KEY", "12345678901", "has a value of less than 12 digits"),
        ("", "GITHUB_TOKEN", "ghp", "has a value of less than 6 characters"),
    ],
)
def test_settings_refuse_what_cannot_be_masked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: str, name: str, value: str, what: str
) -> None:
    monkeypatch.setenv("COUNTERSIGN_SECRETS", names)
    monkeypatch.setenv(name, value)
    with pytest.raises(Malformed) as caught:
        load_settings(tmp_path)
    (problem,) = caught.value.problems
    assert (problem.field, problem.what) == (name, what)
    assert value not in str(problem)


@pytest.mark.parametrize("value", ["", "unset"])
def test_settings_take_names_that_are_not_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("COUNTERSIGN_SECRETS", '["API_KEY"]')
    monkeypatch.setenv("API_KEY", value) if value == "" else monkeypatch.delenv("API_KEY", raising=False)
    assert load_settings(tmp_path).secrets == ("API_KEY",)


def test_what_a_host_says_of_its_settings_has_no_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COUNTERSIGN_DATABASE_URL", "postgresql://user:word@db/trail")
    said = shown(load_settings(tmp_path))
    assert said["database_url"] == "postgresql://[secret DATABASE_PASSWORD_AND_USER]db/trail"
