"""Settings: which project, what overrules what, and one clear line for each thing that is wrong."""

from __future__ import annotations

import hashlib
import os
import traceback
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import SecretStr, ValidationError

from adapters.config.project_file import ProjectFile
from adapters.config.settings import Settings, load_settings
from adapters.config.worker_written import refuse_authority_within
from domain.errors import Malformed
from entrypoints.host_state import shown
from tests.examples import examples

MIB = 1024 * 1024

WHOLE_FILE = """
[temporal]
address = "server:7233"
namespace = "team"
payload_key_file = "keys/payload"
[database]
url = "postgresql://db/trail"
[evidence]
dir = "evidence"
url = "s3://bucket/team"
[sandbox]
docker_host = "tcp://engine:2375"
parallelism = 3
base_image = "base:1"
[network]
allow = ["https://service.example/v1/", "http://127.0.0.1:8000"]
github_url = "https://github.example/api/v3"
[policy]
human_acts = "signed"
agent_marks = ["MY_AGENT_*"]

[limits]
max_files = 10
max_file_bytes = 20
max_total_bytes = 30
[host]
idle_timeout = 40
drain_timeout = 0
[telemetry]
log_format = "json"
log_level = "debug"
metrics_address = "127.0.0.1:9464"
otel = true
[secrets]
names = ["API_KEY", "OTHER_KEY"]
"""


@pytest.fixture(autouse=True)
def _an_empty_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith(("COUNTERSIGN_", "TEMPORAL_", "DOCKER_", "GITHUB_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def problems(start: Path) -> list[str]:
    with pytest.raises(Malformed) as caught:
        load_settings(start)
    return str(caught.value).replace(f"{start}/", "").splitlines()


def file_problems(project: Path, text: str) -> list[str]:
    (project / "countersign.toml").write_text(text)
    return [line.removeprefix("countersign.toml:") for line in problems(project)]


class TestTheProject:
    @pytest.mark.parametrize("mark", ["countersign.toml", ".git"])
    def test_is_the_outermost_folder_with_a_mark(self, project: Path, mark: str) -> None:
        inner = project / "a" / "b"
        inner.mkdir(parents=True)
        (project / mark).touch()  # a linked work tree's .git is a file
        (inner / mark).touch()
        assert load_settings(inner).project == project
        assert load_settings(project).project == project

    def test_a_configuration_counts_before_a_repository(self, project: Path) -> None:
        (project.parent / ".git").mkdir()
        (project / "countersign.toml").touch()
        assert load_settings(project).project == project

    def test_is_where_one_stands_without_any_mark(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(project)
        assert load_settings().project == project

    def test_is_what_the_environment_says(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (project / "countersign.toml").write_text("[sandbox]\nparallelism = 2\n")
        monkeypatch.chdir(project.parent)
        monkeypatch.setenv("COUNTERSIGN_PROJECT", "project")
        assert load_settings(Path("/")).project == project
        assert load_settings(Path("/")).parallelism == 2

    def test_has_to_be_there(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COUNTERSIGN_PROJECT", "/not/there")
        assert problems(project) == [
            "environment:1: COUNTERSIGN_PROJECT: '/not/there' is no directory, expected a project's folder"
        ]


class TestWhatOverrulesWhat:
    def test_built_in(self, project: Path) -> None:
        found = load_settings(project)
        name = f"project-{hashlib.sha256(str(project).encode()).hexdigest()[:8]}"
        state = project.parent / "state" / "countersign" / name
        assert found == Settings(
            project=project,
            state_dir=state,
            temporal_address=None,
            temporal_profile=None,
            temporal_namespace="default",
            temporal_binary=None,
            database_url=f"sqlite:///{state}/trail.db",
            evidence_dir=state / "evidence",
            evidence_url=None,
            signers_file=None,
            human_acts="any",
            agent_marks=(),
            docker_host=None,
            parallelism=max(4, os.cpu_count() or 1),
            base_image=None,
            api_allow=(),
            github_url="https://api.github.com",
            github_token=None,
            max_files=100_000,
            max_file_bytes=256 * MIB,
            max_total_bytes=1024 * MIB,
            idle_timeout=900.0,
            drain_timeout=30.0,
            log_format="auto",
            log_level="info",
            metrics_address=None,
            otel=False,
        )
        assert not found.remote
        assert not state.exists(), "reading settings makes no folder"

    def test_two_projects_of_one_name_have_two_states(self, project: Path) -> None:
        other = project / "x" / "project"
        other.mkdir(parents=True)
        assert load_settings(project).state_dir != load_settings(other).state_dir

    def test_without_xdg_the_state_is_in_the_home(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("XDG_STATE_HOME")
        monkeypatch.setenv("HOME", str(project))
        assert load_settings(project).state_dir.parent == project / ".local" / "state" / "countersign"

    def test_the_file_overrules_what_is_built_in(self, project: Path) -> None:
        (project / "countersign.toml").write_text(WHOLE_FILE)
        found = load_settings(project)
        assert found.model_dump(
            exclude={"project", "state_dir", "temporal_profile", "model", "agents", "notifications"}
        ) == {
            "temporal_address": "server:7233",
            "temporal_namespace": "team",
            "temporal_binary": None,
            "payload_key_file": project / "keys" / "payload",
            "deployment": None,
            "build_id": None,
            "database_url": "postgresql://db/trail",
            "database_owner_url": None,
            "evidence_dir": project / "evidence",
            "evidence_url": "s3://bucket/team",
            "signers_file": None,
            "human_acts": "signed",
            "agent_marks": ("MY_AGENT_*",),
            "docker_host": "tcp://engine:2375",
            "parallelism": 3,
            "base_image": "base:1",
            "api_allow": ("https://service.example/v1", "http://127.0.0.1:8000"),
            "github_url": "https://github.example/api/v3",
            "github_token": None,
            "max_files": 10,
            "max_file_bytes": 20,
            "max_total_bytes": 30,
            "idle_timeout": 40.0,
            "drain_timeout": 0.0,
            "log_format": "json",
            "log_level": "debug",
            "metrics_address": "127.0.0.1:9464",
            "otel": True,
            "secrets": ("API_KEY", "OTHER_KEY"),
        }
        assert found.remote

    def test_the_environment_overrules_the_file(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (project / "countersign.toml").write_text(WHOLE_FILE)
        monkeypatch.chdir(project.parent)
        values = {
            "state_dir": "other",
            "temporal_address": "other:1",
            "temporal_namespace": "other",
            "temporal_binary": "/other",
            "payload_key_file": "other/payload",
            "deployment": "other",
            "build_id": "1.4.0",
            "database_url": "sqlite:////other.db",
            "database_owner_url": "postgresql://owner@db/trail",
            "evidence_dir": "other/evidence",
            "evidence_url": "s3://other",
            "signers_file": "other/allowed_signers",
            "human_acts": "any",
            "agent_marks": "OTHER_*",
            "docker_host": "unix:///other",
            "parallelism": "7",
            "base_image": "other",
            "api_allow": "https://other.example",
            "github_url": "https://other.example/api",
            "github_token": "ghp_other",
            "max_files": "71",
            "max_file_bytes": "72",
            "max_total_bytes": "73",
            "idle_timeout": "7.5",
            "drain_timeout": "8",
            "log_format": "console",
            "log_level": "error",
            "metrics_address": "[::1]:9465",
            "otel": "off",
            "secrets": "THIRD_KEY,FOURTH_KEY",
        }
        for name, value in values.items():
            monkeypatch.setenv(f"COUNTERSIGN_{name.upper()}", value)
        found = load_settings(project)
        here = project.parent
        assert found.model_dump(exclude={"project", "temporal_profile", "model", "agents", "notifications"}) == {
            **values,
            "state_dir": here / "other",
            "payload_key_file": here / "other" / "payload",
            "evidence_dir": here / "other" / "evidence",
            "signers_file": here / "other" / "allowed_signers",
            "human_acts": "signed",
            "agent_marks": ("MY_AGENT_*", "OTHER_*"),
            "parallelism": 7,
            "api_allow": ("https://other.example",),
            "github_token": SecretStr("ghp_other"),
            "max_files": 71,
            "max_file_bytes": 72,
            "max_total_bytes": 73,
            "idle_timeout": 7.5,
            "drain_timeout": 8.0,
            "otel": False,
            "secrets": ("THIRD_KEY", "FOURTH_KEY"),
        }

    def test_a_moved_state_moves_what_is_in_it(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COUNTERSIGN_STATE_DIR", "/moved")
        found = load_settings(project)
        assert (found.database_url, found.evidence_dir) == ("sqlite:////moved/trail.db", Path("/moved/evidence"))

    @pytest.mark.parametrize(
        ("plain", "field"), [("TEMPORAL_ADDRESS", "temporal_address"), ("DOCKER_HOST", "docker_host")]
    )
    def test_plain_variables_come_between_file_and_ours(
        self, plain: str, field: str, project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (project / "countersign.toml").write_text(WHOLE_FILE)
        monkeypatch.setenv(plain, "plain")
        assert getattr(load_settings(project), field) == "plain"
        monkeypatch.setenv(f"COUNTERSIGN_{field.upper()}", "ours")
        assert getattr(load_settings(project), field) == "ours"

    def test_an_empty_variable_says_nothing(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("COUNTERSIGN_PARALLELISM", "DOCKER_HOST", "COUNTERSIGN_PROJECT", "COUNTERSIGN_STATE_DIR"):
            monkeypatch.setenv(name, "")
        assert load_settings(project).docker_host is None

    def test_a_server_of_one_s_own_is_remote(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TEMPORAL_PROFILE", "cloud")
        assert load_settings(project).remote


class TestTheFile:
    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("[temporal\n", "1: file: is not TOML: Expected ']' at the end of a table declaration, expected TOML"),
            ("[a]\nb = \n", "2: file: is not TOML: Invalid value, expected TOML"),
            ("[a]\nb = 'x", "2: file: is not TOML: "),
            ("a = " + "9" * 5000, "1: file: is not TOML: "),
            ("a = " + "[" * 100_000, "1: file: is not TOML: "),
            ("\n[agentz]\n", "2: agentz: unknown field 'agentz', did you mean 'agents'?"),
            ("[temporal]\n\nadress = 'x'\n", "3: temporal.adress: unknown field 'adress', did you mean 'address'?"),
            ("temporal.adress = 'x'\n", "1: temporal.adress: unknown field 'adress', did you mean 'address'?"),
            ("\n[temporal]\naddress = 5\n", "3: temporal.address: the number 5, expected text that is not empty"),
            ("\ntemporal = 'x'\n", "2: temporal: the text 'x', expected an object with the fields address, namespace"),
            (
                "[sandbox]\nparallelism = '4'\n",
                "2: sandbox.parallelism: the text '4', expected a whole number, at least 1 and at most 1024",
            ),
            (
                "[sandbox]\nparallelism = 0\n",
                "2: sandbox.parallelism: the number 0, expected a whole number, at least 1",
            ),
            (
                "[host]\nidle_timeout = inf\n",
                "2: host.idle_timeout: the number inf, expected seconds: a number above 0",
            ),
            ("[host]\nidle_timeout = 2020-01-01\n", "2: host.idle_timeout: a date, expected seconds"),
            (
                "[database]\nurl = 'sqlite:///trail.db'\n",
                "2: database.url: 'sqlite:///trail.db' is another database in every folder, expected sqlite:////ABSOLUTE",
            ),
            (
                "[evidence]\nurl = 's3:/bucket'\n",
                "2: evidence.url: 's3:/bucket' names no bucket, expected s3://BUCKET or s3://BUCKET/PREFIX",
            ),
            (
                "[database]\nurl = 'trail.db'\n",
                "2: database.url: 'trail.db' is no URL, expected sqlite:////ABSOLUTE/PATH",
            ),
            (
                "[network]\nallow = 'https://service.example'\n",
                "2: network.allow: the text 'https://service.example', expected a list",
            ),
            (
                "[network]\nallow = ['https://service.example/?x']\n",
                "2: network.allow[0]: 'https://service.example/?x' has a query or a fragment, expected a URL such as",
            ),
            (
                "[network]\nallow = ['https://me@service.example']\n",
                "2: network.allow[0]: the URL has a user name or password in it, expected a URL without credentials",
            ),
            (
                "[network]\nallow = ['service.example']\n",
                "2: network.allow[0]: 'service.example' is no address of a service, expected a URL such as",
            ),
            (
                "[network]\nallow = ['https://service.example/a/%2e%2e/b']\n",
                "2: network.allow[0]: 'https://service.example/a/%2e%2e/b' can be read in two ways, expected a URL",
            ),
            (
                "[network]\ngithub_url = 'ftp://x'\n",
                "2: network.github_url: 'ftp://x' is no address of a service, expected a URL such as",
            ),
            (
                "[network]\ngithub_token = 'ghp_x'\n",
                "2: network.github_token: unknown field 'github_token', did you mean 'github_url'?",
            ),
            ("[evidence]\ndir = ''\n", "2: evidence.dir: empty text, expected text that is a path"),
            ('[evidence]\ndir = "\\u0000"\n', "2: evidence.dir: a path with a NUL character, expected a path"),
            (
                "[notifications]\nx = 1\n",
                "2: notifications.x: unknown field 'x', expected one of",
            ),
            (
                "[policy_floor]\nrevision = 1\n",
                "2: policy_floor.revision: unknown field 'revision', did you mean 'revisions'?",
            ),
            (
                "[policy_floor]\ndirect_approval_allowed = true\n",
                "2: policy_floor.direct_approval_allowed: true, expected false",
            ),
            (
                "[policy_floor]\nprotect = ['a', '!b']\n",
                "2: policy_floor.protect[1]: takes a pattern back, expected a pattern (a leading ! is written \\!)",
            ),
            (
                "[[policy_floor.checks]]\nname = 'a'\ncommand = 'x'\n"
                "[[policy_floor.checks]]\nname = 'b'\ncommand = 'x'\nrequired = false\n",
                "7: policy_floor.checks[1].required: a check that is not required, expected true: nothing else is",
            ),
            (
                "[thresholds]\nmax_fail_rate = 2\n",
                "2: thresholds.max_fail_rate: the number 2, expected a number, at least 0 and at most 1",
            ),
            (
                "[verification_defaults]\nrequire_all_pas = true\n",
                "2: verification_defaults.require_all_pas: unknown field 'require_all_pas', did you mean",
            ),
        ],
    )
    def test_one_line_says_what_and_what_instead(self, text: str, said: str, project: Path) -> None:
        (line,) = file_problems(project, text)
        assert line.startswith(said)

    def test_all_of_them_at_once_sorted_by_line(self, project: Path) -> None:
        lines = file_problems(project, "[limits]\nmax_files = 0\nzzz = 1\n[temporal]\naddress = 1\n")
        assert [line.split(":")[0] for line in lines] == ["2", "3", "5"]

    def test_bytes_that_are_no_text_and_a_directory(self, project: Path) -> None:
        file = project / "countersign.toml"
        file.write_bytes(b"[temporal]\naddress = '\xff'\n")
        assert problems(project) == ["countersign.toml:2: file: is not UTF-8, expected TOML in UTF-8"]
        file.unlink()
        file.mkdir()
        assert problems(project) == ["countersign.toml:1: file: is a directory, expected a file with TOML"]

    def test_an_empty_file_is_fine(self, project: Path) -> None:
        (project / "countersign.toml").write_text("# nothing\n[temporal]\n[agents]\n")
        assert load_settings(project).temporal_address is None

    def test_every_key_of_the_file_is_a_setting(self, project: Path) -> None:
        read = ProjectFile.model_validate({"temporal": {"address": "a"}, "evidence": {"dir": "e"}})
        assert read.as_settings(project) == {"temporal_address": "a", "evidence_dir": project / "e"}
        whole = {"verification_defaults", "thresholds", "override_policy", "policy_floor", "agents", "signers"}
        whole |= {"notifications"}
        tables = (field.annotation for name, field in ProjectFile.model_fields.items() if name not in whole)
        keys = sum(
            len(table.model_fields) for table in tables if isinstance(table, type) and hasattr(table, "model_fields")
        )
        assert keys == len(Settings.model_fields) - len(
            {"project", "state_dir", "temporal_profile", "temporal_binary", "github_token", "database_owner_url"}
            | {"deployment", "build_id", "model", "agents", "signers_file", "notifications"}
        )

    @settings(
        max_examples=examples(100), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
    )
    @given(
        source=st.binary(max_size=200)
        | st.lists(
            st.sampled_from(
                ["[temporal]", "[", "]", "\n", "address", "=", "'x'", "5", '"', ".", "host", "{", "}", "1e9", "nan"]
            ),
            max_size=20,
        ).map(lambda parts: "".join(parts).encode())
    )
    def test_any_bytes_give_settings_or_are_malformed(self, project: Path, source: bytes) -> None:
        (project / "countersign.toml").write_bytes(source)
        try:
            load_settings(project)
        except Malformed as error:
            assert len(str(error).splitlines()) == len(error.problems) > 0


class TestVariables:
    @pytest.mark.parametrize(
        ("name", "value", "said"),
        [
            ("COUNTERSIGN_PARALLELISM", "x", "the text 'x', expected a whole number, at least 1 and at most 1024"),
            ("COUNTERSIGN_MAX_FILES", "0", "the text '0', expected a whole number, at least 1"),
            ("COUNTERSIGN_IDLE_TIMEOUT", "nan", "the text 'nan', expected seconds: a number above 0"),
            ("COUNTERSIGN_DRAIN_TIMEOUT", "-1", "the text '-1', expected seconds: a number, at least 0"),
            ("COUNTERSIGN_DATABASE_URL", "trail.db", "'trail.db' is no URL, expected sqlite:////ABSOLUTE/PATH"),
            ("COUNTERSIGN_EVIDENCE_URL", "s3://Bucket/..", "'s3://Bucket/..' names no bucket, expected s3://BUCKET or"),
            ("COUNTERSIGN_DATABASE_URL", "me:pw@db/trail", "the text, which may have a password in it, is no URL"),
            ("COUNTERSIGN_STATE_DIR", "~nobody-of-that-name/x", "the text '~nobody-of-that-name/x', expected a path"),
            ("COUNTERSIGN_API_ALLOW", "[", "starts as JSON and is none, expected a JSON list, or parts with commas"),
            ("COUNTERSIGN_API_ALLOW", "[5]", "the number 5, expected URLs such as https://service.example/v1"),
            ("COUNTERSIGN_API_ALLOW", "https://a.example,b", "'b' is no address of a service, expected a URL such as"),
            ("COUNTERSIGN_GITHUB_URL", "x", "'x' is no address of a service, expected a URL such as"),
            ("COUNTERSIGN_GITHUB_TOKEN", "ghp_a b", "white space, a control character or no ASCII in it, expected a"),
            ("GITHUB_TOKEN", "ghp_\x07", "white space, a control character or no ASCII in it, expected a token"),
            ("COUNTERSIGN_PARALELISM", "4", "unknown variable, did you mean COUNTERSIGN_PARALLELISM?"),
            ("COUNTERSIGN_TEMPORAL_ADRESS", "x", "unknown variable, did you mean COUNTERSIGN_TEMPORAL_ADDRESS?"),
        ],
    )
    def test_one_line_says_what_and_what_instead(
        self, name: str, value: str, said: str, project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(name, value)
        (line,) = problems(project)
        assert line.startswith(f"environment:1: {name}: {said}")

    @pytest.mark.parametrize("name", ["COUNTERSIGN_BRIEF", "COUNTERSIGN_TOKEN", "COUNTERSIGN_", "COUNTERSIGN_CLAIM"])
    def test_variables_that_are_meant_for_others_are_left_alone(
        self, name: str, project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(name, "x")
        assert load_settings(project).project == project


def test_settings_are_frozen_and_know_their_fields(project: Path) -> None:
    found = load_settings(project)
    with pytest.raises(ValidationError):
        found.parallelism = 5  # type: ignore[misc]  # that it is refused is the point
    with pytest.raises(ValidationError):
        Settings(project=project, paralelism=5)  # type: ignore[call-arg]  # that it is refused is the point


class TestTheNetwork:
    @pytest.mark.parametrize(
        "value",
        [
            "https://a.example/v1,http://b.example",
            " https://a.example/v1/ , http://b.example/,",
            '["https://a.example/v1", "http://b.example"]',
        ],
    )
    def test_a_variable_has_a_list(self, value: str, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COUNTERSIGN_API_ALLOW", value)
        assert load_settings(project).api_allow == ("https://a.example/v1", "http://b.example")

    def test_a_variable_can_take_back_what_the_file_allows(
        self, project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (project / "countersign.toml").write_text(WHOLE_FILE)
        monkeypatch.setenv("COUNTERSIGN_API_ALLOW", "[]")
        assert load_settings(project).api_allow == ()

    def test_our_token_overrules_the_usual_one(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for name, value in (("GITHUB_TOKEN", "ghp_usual\n"), ("COUNTERSIGN_GITHUB_TOKEN", "ghp_ours")):
            monkeypatch.setenv(name, value)
            found = load_settings(project).github_token
            assert found is not None
            assert found.get_secret_value() == value.strip()

    def test_the_token_is_shown_nowhere(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("GITHUB_TOKEN", "ghp_SECRET")
        found = load_settings(project)
        told = f"{found!r} {found} {shown(found)} {found.model_dump()} {found.model_dump_json()}"
        assert "SECRET" not in told
        assert shown(found)["github_token"] == "**********"

    @pytest.mark.parametrize("spoilt", [{"GITHUB_TOKEN": "SECRET ghp"}, {"COUNTERSIGN_MAX_FILES": "x"}])
    def test_nor_when_settings_are_wrong(
        self, spoilt: dict[str, str], project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("GITHUB_TOKEN", "ghp_SECRET")
        for name, value in spoilt.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(Malformed) as caught:
            load_settings(project)
        assert "SECRET" not in "".join(traceback.format_exception(caught.value))


class TestAuthority:
    def test_a_worker_cannot_choose_what_is_asked(self, project: Path) -> None:
        (project / "countersign.toml").write_text(
            '[network]\nallow = ["https://me.example"]\ngithub_url = "https://me.example"\n'
        )
        with pytest.raises(Malformed) as caught:
            refuse_authority_within(load_settings(project), project)
        assert [problem.field for problem in caught.value.problems] == ["api_allow", "github_url"]

    def test_a_worker_cannot_choose_server_engine_or_store(self, project: Path) -> None:
        (project / "countersign.toml").write_text(
            '[sandbox]\ndocker_host = "tcp://me"\n[database]\nurl = "sqlite:////m"\n'
        )
        with pytest.raises(Malformed) as caught:
            refuse_authority_within(load_settings(project), project)
        assert [problem.field for problem in caught.value.problems] == ["database_url", "docker_host"]
        refuse_authority_within(load_settings(project), project / "elsewhere")

    def test_a_worker_cannot_choose_what_is_masked(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("DEPLOY_TOKEN", "q8Zr2LkV0wXs7TnB")
        (project / "countersign.toml").write_text('[secrets]\nnames = ["DEPLOY_TOKEN"]\n')
        with pytest.raises(Malformed) as caught:
            refuse_authority_within(load_settings(project), project)
        (problem,) = caught.value.problems
        assert (problem.field, problem.expected[:30]) == ("secrets", "expected it in COUNTERSIGN_SEC")

    def test_limits_and_parallelism_are_no_authority(self, project: Path) -> None:
        (project / "countersign.toml").write_text("[sandbox]\nparallelism = 2\n[limits]\nmax_files = 5\n")
        found = load_settings(project)
        refuse_authority_within(found, project)
        assert (found.parallelism, found.max_files) == (2, 5)

    def test_no_file_says_what_is_executed(self, project: Path) -> None:
        (project / "countersign.toml").write_text('[temporal]\nbinary = "./evil.sh"\n')
        with pytest.raises(Malformed, match="unknown field 'binary'"):
            load_settings(project)
