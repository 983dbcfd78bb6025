"""The `[agents]` table: what it may say, what a variable says instead, whose keys are secrets, who may not write it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from adapters.config.settings import load_settings
from adapters.config.worker_written import refuse_authority_within
from adapters.masking.known import secrets_of
from domain.errors import Malformed
from domain.roles.agents import Agents, ModelEntry
from domain.roles.models import chosen, chosen_by, entry_of, key_of, key_variables, script_of
from domain.roles.names import STAGES, Role

WHOLE_TABLE = """
[agents]
model = "local"
[agents.models.local]
provider = "openai"
model = "qwen3"
base_url = "http://127.0.0.1:8000/v1"
price = {input = 0.1, output = 0.4}
[agents.models.paid]
provider = "anthropic"
model = "claude-sonnet-4-5"
api_key_env = "PAID_KEY"
[agents.caps]
todo = 2.5
[agents.auditor]
fallbacks = ["paid", "openai:gpt-4o"]
max_requests = 12
[agents.web]
allow = ["https://docs.example/v1"]
search_url = "https://search.example/search"
"""


@pytest.fixture(autouse=True)
def _an_empty_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith(("COUNTERSIGN_", "TEMPORAL_", "DOCKER_", "GITHUB_", "OPENAI_", "ANTHROPIC_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def written(project: Path, text: str) -> Agents:
    (project / "countersign.toml").write_text(text)
    return load_settings(project).agents


def problems(project: Path, text: str) -> list[str]:
    with pytest.raises(Malformed) as caught:
        written(project, text)
    return [line.replace(f"{project}/countersign.toml:", "") for line in str(caught.value).splitlines()]


def test_nothing_is_chosen_by_itself(project: Path) -> None:
    assert load_settings(project).agents == Agents()
    assert chosen(Agents()) == key_variables(Agents()) == ()


def test_a_whole_table(project: Path) -> None:
    agents = written(project, WHOLE_TABLE)
    assert chosen(agents) == ("local", "paid", "openai:gpt-4o")
    assert agents.caps.todo == 2.5
    assert agents.caps.session == 50.0
    assert agents.auditor.max_requests == 12
    assert agents.web.allow == ["https://docs.example/v1"]
    assert entry_of(agents, "openai:gpt-4o") == ModelEntry(provider="openai", model="gpt-4o")
    assert key_variables(agents) == ("PAID_KEY", "OPENAI_API_KEY")


def test_each_role_may_have_a_model_of_its_own() -> None:
    agents = Agents.model_validate(
        {"model": "openai:a", "judge": {"model": "anthropic:b"}, "critic": {"fallbacks": ["openai:c"]}}
    )
    assert {role: chosen_by(agents, role) for role in STAGES} == {
        **dict.fromkeys(STAGES, ("openai:a",)),
        "critic": ("openai:a", "openai:c"),
        "judge": ("anthropic:b",),
    }
    assert chosen(agents) == ("openai:a", "openai:c", "anthropic:b")
    assert key_variables(agents) == ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")
    assert key_variables(agents, ("judge",)) == ("ANTHROPIC_API_KEY",)


def test_a_server_of_ones_own_is_not_sent_the_provider_s_key() -> None:
    entry = ModelEntry(provider="openai", model="x", base_url="http://127.0.0.1:8000/v1")
    assert key_of(entry) is None
    assert key_of(entry.model_copy(update={"api_key_env": "ITS_KEY"})) == "ITS_KEY"
    assert key_of(entry.model_copy(update={"base_url": None})) == "OPENAI_API_KEY"


class TestTheVariable:
    def test_stands_for_the_file_s_model(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COUNTERSIGN_MODEL", "paid")
        assert chosen(written(project, WHOLE_TABLE)) == ("paid", "openai:gpt-4o")

    def test_is_enough_by_itself(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COUNTERSIGN_MODEL", "anthropic:claude-sonnet-4-5")
        agents = load_settings(project).agents
        assert chosen(agents) == ("anthropic:claude-sonnet-4-5",)
        assert key_variables(agents) == ("ANTHROPIC_API_KEY",)

    @pytest.mark.parametrize("model", ["gpt-4o", "openai:", "script:", "google:x", "x" * 201])
    def test_names_a_model(self, project: Path, monkeypatch: pytest.MonkeyPatch, model: str) -> None:
        monkeypatch.setenv("COUNTERSIGN_MODEL", model)
        with pytest.raises(Malformed) as caught:
            load_settings(project)
        assert str(caught.value).startswith("environment:1: COUNTERSIGN_MODEL: ")
        assert str(caught.value).endswith(
            "expected openai:NAME, anthropic:NAME, script:FILE or the name of an entry of [agents.models]"
        )

    def test_no_variable_holds_the_whole_table(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COUNTERSIGN_AGENTS", '{"model": "openai:gpt-4o"}')
        with pytest.raises(Malformed, match=r"expected \[agents\] in countersign.toml, or COUNTERSIGN_MODEL"):
            load_settings(project)


class TestAScript:
    @pytest.mark.parametrize("written_as", ["answers/auditor.yaml", "./answers/auditor.yaml"])
    def test_is_relative_to_the_project(self, project: Path, monkeypatch: pytest.MonkeyPatch, written_as: str) -> None:
        at = project / "answers" / "auditor.yaml"
        assert script_of(chosen(written(project, f'[agents]\nmodel = "script:{written_as}"\n'))[0]) == str(at)
        fallback = written(project, f'[agents]\nmodel = "openai:x"\n[agents.auditor]\nfallbacks = ["script:{at}"]\n')
        assert script_of(chosen(fallback)[1]) == str(at)
        monkeypatch.chdir(project.parent)
        monkeypatch.setenv("COUNTERSIGN_MODEL", f"script:{written_as}")
        assert script_of(chosen(load_settings(project).agents)[0]) == str(at)

    @pytest.mark.parametrize("role", STAGES)
    def test_is_relative_to_the_project_whoever_it_plays(self, project: Path, role: Role) -> None:
        at = project / "a.yaml"
        table = f'[agents.{role}]\nmodel = "script:a.yaml"\nfallbacks = ["script:./b.yaml"]\n'
        agents = written(project, table)
        assert chosen_by(agents, role) == chosen(agents) == (f"script:{at}", f"script:{project / 'b.yaml'}")

    def test_has_no_key(self, project: Path) -> None:
        assert key_variables(written(project, '[agents]\nmodel = "script:x"\n')) == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[agents]\nmodel = "gpt-4o"\n', "2: agents.model: 'gpt-4o' is no model, expected openai:NAME, anthropic:NAME"),
        ("[agents]\nmodel = 5\n", "2: agents.model: the number 5, expected text that is not empty"),
        (
            '[agents.auditor]\nmodel = "openai:x"\nfallbacks = [\n  "openai:y", "other"]\n',
            "3: agents.auditor.fallbacks[1]: 'other' is no model, expected openai:NAME",
        ),
        (
            '[agents.auditor]\nfallbacks = ["openai:y"]\n',
            "2: agents.auditor.fallbacks: they stand in for no model, expected a model, too",
        ),
        (
            '[agents.judge]\nmodel = "opus"\n',
            "2: agents.judge.model: 'opus' is no model, expected openai:NAME",
        ),
        (
            '[agents.advocate]\nfallbacks = ["openai:y"]\n[agents.critic]\nmodel = "openai:x"\n',
            "2: agents.advocate.fallbacks: they stand in for no model, expected a model, too",
        ),
        (
            '[agents.models."a:b"]\nprovider = "openai"\nmodel = "x"\n',
            "1: agents.models['a:b']: the name has a ':' in it, expected a name without, such as local",
        ),
        (
            '[agents.models.a]\nprovider = "openia"\nmodel = "x"\n',
            "2: agents.models.a.provider: the text 'openia', expected one of openai, anthropic (did you mean 'openai",
        ),
        (
            '[agents.models.a]\nprovider = "openai"\nmodel = "x"\nprice = {input = -1, output = 2}\n',
            "4: agents.models.a.price.input: the number -1, expected a number, at least 0",
        ),
        (
            '[agents.models.a]\nprovider = "openai"\nmodel = "x"\napi_key = "sk-1"\n',
            "4: agents.models.a.api_key: unknown field 'api_key', did you mean 'api_key_env'?",
        ),
        (
            '[agents.models.a]\nprovider = "openai"\nmodel = "x"\nbase_url = "http://me:pw@x/v1"\n',
            "4: agents.models.a.base_url: the URL has a user name or password in it, expected a URL without",
        ),
        (
            '[agents.web]\nallow = ["https://a.example/%2e%2e/b"]\n',
            "2: agents.web.allow[0]: 'https://a.example/%2e%2e/b' can be read in two ways, expected a URL such as",
        ),
        (
            '[agents.web]\nsearch_url = "https://s.example/?q="\n',
            "2: agents.web.search_url: 'https://s.example/?q=' has a query or a fragment, expected a URL such as",
        ),
        ("[agents.caps]\ntodo = '5'\n", "2: agents.caps.todo: the text '5', expected a number, at least 0"),
        ("[agents]\nmodle = 'x'\n", "2: agents.modle: unknown field 'modle', did you mean 'model'?"),
    ],
)
def test_one_line_says_what_and_what_instead(project: Path, text: str, said: str) -> None:
    (line,) = problems(project, text)
    assert line.startswith(said)


def test_all_of_them_at_once(project: Path) -> None:
    text = '[agents]\nmodel = "a"\n[agents.auditor]\nmodel = "b"\n[agents.web]\narxiv_url = "http://x/?y"\n'
    assert [line.partition(":")[0] for line in problems(project, text)] == ["2", "4", "6"]


class TestKeys:
    def test_of_chosen_models_are_secrets(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (project / "countersign.toml").write_text(WHOLE_TABLE)
        for name in ("PAID_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
            monkeypatch.setenv(name, f"sk-of-{name}")
        assert secrets_of(load_settings(project)) == {
            "PAID_KEY": b"sk-of-PAID_KEY",
            "OPENAI_API_KEY": b"sk-of-OPENAI_API_KEY",
        }

    def test_have_to_be_such_as_can_be_masked(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (project / "countersign.toml").write_text(WHOLE_TABLE)
        monkeypatch.setenv("PAID_KEY", "abc")
        monkeypatch.setenv("ANTHROPIC_API_KEY", "abc")  # of no model that is chosen
        with pytest.raises(Malformed) as caught:
            load_settings(project)
        assert [problem.field for problem in caught.value.problems] == ["PAID_KEY"]


class TestAuthority:
    def test_a_worker_cannot_choose_who_audits(self, project: Path) -> None:
        written(project, WHOLE_TABLE)
        settings = load_settings(project)
        with pytest.raises(Malformed) as caught:
            refuse_authority_within(settings, project)
        (problem,) = caught.value.problems
        assert (problem.file, problem.line, problem.field) == (f"{project}/countersign.toml", 2, "agents")
        refuse_authority_within(settings, project / "work")

    @pytest.mark.parametrize("within", ["answers.yaml", "work/answers.yaml", "work/../work/answers.yaml"])
    def test_nor_write_what_a_scripted_auditor_says(
        self, project: Path, monkeypatch: pytest.MonkeyPatch, within: str
    ) -> None:
        monkeypatch.setenv("COUNTERSIGN_MODEL", f"script:{within}")
        settings = load_settings(project)
        with pytest.raises(Malformed, match="is a file that the worker can write, expected one outside the workspace"):
            refuse_authority_within(settings, project if within == "answers.yaml" else project / "work")
        refuse_authority_within(settings, project / "other")

    def test_nor_where_a_link_to_it_leads(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (project / "work").mkdir()
        (project / "answers.yaml").touch()
        (project / "work" / "link.yaml").symlink_to(project / "answers.yaml")
        monkeypatch.setenv("COUNTERSIGN_MODEL", "script:work/link.yaml")
        with pytest.raises(Malformed, match="is a file that the worker can write"):
            refuse_authority_within(load_settings(project), project / "work")
