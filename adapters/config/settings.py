"""The settings of one project on one machine: built in, then `countersign.toml`, then the environment; later wins."""

from __future__ import annotations

import difflib
import json
import os
import re
from pathlib import Path
from typing import Annotated, Any

import platformdirs
from pydantic import AfterValidator, AliasChoices, BeforeValidator, Field, PrivateAttr, SecretStr, ValidationError
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from adapters.checkers import GITHUB_URL
from adapters.config.agents_table import from_root
from adapters.config.configuration import Configured, Reader, project_root
from adapters.config.explain import expects, field_slot
from adapters.config.problems import given
from adapters.config.project_file import (
    Count,
    DatabaseUrl,
    EvidenceUrl,
    Grace,
    HumanActs,
    LogFormat,
    LogLevel,
    MarkPattern,
    MetricsAddress,
    Parallelism,
    ServiceUrl,
    Text,
)
from adapters.masking.strength import why_unfit
from domain.addresses import Notifications
from domain.addresses import variables as notification_variables
from domain.base import sha256_hex
from domain.errors import Malformed, Problem
from domain.fields import Seconds, VariableName, quoted, wrong
from domain.roles.agents import Agents, ModelId
from domain.roles.models import EXPECTED, is_model, key_variables

PREFIX = "COUNTERSIGN_"
ENVIRONMENT = "environment"
"""Stands for a file's name in the problems of variables."""

CONFIGURATION = f"{PREFIX}CONFIGURATION"
"""Names the files that settings are taken from, with colons between them: how a command's host gets the same."""

Files = tuple[Configured, ...]

MIN_PARALLELISM = 4
MIB = 1024 * 1024


def _absolute(path: Path) -> Path:
    try:
        return path.expanduser().resolve()
    except (OSError, RuntimeError) as error:
        raise ValueError("no folder can be there") from error


def _separated(value: Any) -> Any:
    """A variable's JSON list, or what is between its commas; a file's list as it is."""
    if not isinstance(value, str):
        return value
    if not value.lstrip().startswith("["):
        return [part.strip() for part in value.split(",") if part.strip()]
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as error:
        raise wrong("starts as JSON and is none", "a JSON list, or parts with commas between them") from error


def _token(token: SecretStr) -> SecretStr:
    """A header can have it. What is wrong with it is said without it."""
    text = token.get_secret_value().strip()
    if not text or not text.isascii() or not text.isprintable() or " " in text:
        raise wrong("white space, a control character or no ASCII in it", "a token as GitHub shows it")
    return SecretStr(text)


Services = Annotated[
    tuple[ServiceUrl, ...],
    NoDecode,
    BeforeValidator(_separated),
    Field(description="URLs such as https://service.example/v1, as a JSON list or with commas between them"),
]
Variables = Annotated[
    tuple[VariableName, ...],
    NoDecode,
    BeforeValidator(_separated),
    Field(description="names of variables such as API_KEY, as a JSON list or with commas between them"),
]
MarkPatterns = Annotated[
    tuple[MarkPattern, ...],
    NoDecode,
    BeforeValidator(_separated),
    Field(description="names of variables such as MY_AGENT_*, as a JSON list or with commas between them"),
]
Token = Annotated[SecretStr, AfterValidator(_token), Field(description="a token as GitHub shows it")]
DeploymentName = Annotated[
    str, Field(pattern=r"^[A-Za-z0-9_-]{1,100}$", description="a name of letters, digits, - and _, 100 at most")
]
BuildId = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9._+-]{1,100}$", description="a version such as 1.4.0, of letters, digits, . _ + and -"),
]
ModelName = Annotated[ModelId, Field(description=EXPECTED)]
AgentsTable = Annotated[Agents, NoDecode, Field(description="[agents] in countersign.toml, or COUNTERSIGN_MODEL")]
NotificationsTable = Annotated[Notifications, NoDecode, Field(description="[notifications] in countersign.toml")]
Folder = Annotated[Path, Field(description="a path"), AfterValidator(_absolute)]


def default_state_dir(root: Path) -> Path:
    """A folder of the user's own for each project, named so that a person finds it."""
    name = re.sub(r"[^A-Za-z0-9._-]", "-", root.name) or "root"
    return platformdirs.user_state_path("countersign") / f"{name}-{sha256_hex(os.fsencode(root))[:8]}"


def _parallelism() -> int:
    return max(MIN_PARALLELISM, os.cpu_count() or 1)


class Settings(BaseSettings):
    """What composition needs to know; all paths are absolute, durations in seconds. Source: DESIGN 5 to 7.

    Each field is a variable `COUNTERSIGN_<FIELD>`. `database_owner_url` is who makes tables, if not the user of
    `database_url`. `evidence_url`, a bucket, stands for `evidence_dir`. `base_image` of None means the one that
    Countersign builds. `deployment` and `build_id` are those of workers of one's own, both or none. `model` is in
    `agents`, too, where it stands for the file's.
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_ignore_empty=True,
        frozen=True,
        extra="forbid",
        populate_by_name=True,
        hide_input_in_errors=True,
    )

    project: Folder
    state_dir: Folder = Field(default_factory=lambda settings: default_state_dir(settings["project"]))
    temporal_address: Text | None = Field(
        default=None, validation_alias=AliasChoices("COUNTERSIGN_TEMPORAL_ADDRESS", "TEMPORAL_ADDRESS")
    )
    temporal_profile: Text | None = Field(default=None, validation_alias=AliasChoices("TEMPORAL_PROFILE"))
    temporal_namespace: Text = "default"
    temporal_binary: Text | None = None
    payload_key_file: Folder | None = None
    deployment: DeploymentName | None = None
    build_id: BuildId | None = None
    database_url: DatabaseUrl = Field(
        default_factory=lambda settings: f"sqlite:///{settings['state_dir']}/trail.db", repr=False
    )
    database_owner_url: DatabaseUrl | None = Field(default=None, repr=False)
    evidence_dir: Folder = Field(default_factory=lambda settings: settings["state_dir"] / "evidence")
    evidence_url: EvidenceUrl | None = None
    signers_file: Folder | None = None
    human_acts: HumanActs = "any"
    agent_marks: MarkPatterns = ()
    docker_host: Text | None = Field(
        default=None, validation_alias=AliasChoices("COUNTERSIGN_DOCKER_HOST", "DOCKER_HOST")
    )
    parallelism: Parallelism = Field(default_factory=_parallelism)
    base_image: Text | None = None
    api_allow: Services = ()
    github_url: ServiceUrl = GITHUB_URL
    github_token: Token | None = Field(
        default=None, validation_alias=AliasChoices("COUNTERSIGN_GITHUB_TOKEN", "GITHUB_TOKEN")
    )
    secrets: Variables = ()
    model: ModelName | None = None
    agents: AgentsTable = Agents()
    notifications: NotificationsTable = Notifications()
    max_files: Count = 100_000
    max_file_bytes: Count = 256 * MIB
    max_total_bytes: Count = 1024 * MIB
    idle_timeout: Seconds = 900.0
    drain_timeout: Grace = 30.0
    log_format: LogFormat = "auto"
    log_level: LogLevel = "info"
    metrics_address: MetricsAddress | None = None
    otel: bool = False

    _files: Files = PrivateAttr(())
    _above: Files = PrivateAttr(())

    def read_from(self, files: Files, above: Files) -> Settings:
        """The same, which knows that it was taken from `files`, and that the policy of those `above` is in force."""
        self._files, self._above = files, above
        return self

    @property
    def files(self) -> Files:
        """The files that they were taken from, the outermost first."""
        return self._files

    @property
    def above(self) -> Files:
        """Files above the current directory of which only the policy is in force, and who may sign."""
        return self._above

    @property
    def remote(self) -> bool:
        """Whether somebody's own Temporal server is used, by address or by profile, and not the embedded one."""
        return self.temporal_address is not None or self.temporal_profile is not None

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - pydantic-settings names the parameters
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - never a source here
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - never a source here
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The environment, then what was read from the file; nothing else."""
        return env_settings, init_settings


def load_settings(start: Path | None = None) -> Settings:
    """The settings of the project around `start` (default: the current directory). Raises `Malformed`.

    The project is `COUNTERSIGN_PROJECT`, else the outermost folder from `start` up with a `countersign.toml`, else with
    a `.git`. Of several files the innermost says what it sets; secrets are those of all.
    """
    named = _named_root()
    root = named or project_root(start or Path.cwd())
    misspelt = _misspelt_variables()
    if misspelt:
        raise Malformed(misspelt)
    files, above = _configured(start, root, named=named is not None)
    configured = _merged(files)
    try:
        settings = Settings(**{**configured, "project": root}).read_from(files, above)
    except ValidationError as error:
        raise Malformed(_explain(error)) from error
    settings = _with_its_model(_strictest(settings))
    unfit = [
        _problem(name, what, "expected one that can be masked, or its name not among the secrets")
        for name in dict.fromkeys(
            (
                *settings.secrets,
                *(variables_of_field("github_token") if settings.github_token else ()),
                *key_variables(settings.agents),
                *notification_variables(settings.notifications),
            )
        )
        if (what := why_unfit(name, os.environ.get(name, "")))
    ]
    if unfit:
        raise Malformed(unfit)
    return settings


def _merged(files: Files) -> dict[str, Any]:
    """What the files set, by the names of `Settings`: an inner one's setting stands for an outer one's."""
    merged: dict[str, Any] = {}
    for one in files:
        said = one.said.as_settings(one.folder)
        if "secrets" in said:
            said["secrets"] = [*dict.fromkeys((*merged.get("secrets", ()), *said["secrets"]))]
        merged |= said
    return merged


def _strictest(settings: Settings) -> Settings:
    """The settings with what all the files ask of people: a variable may ask for more, and takes nothing of it back."""
    policies = [one.said.policy for one in (*settings.files, *settings.above)]
    patterns = [*(pattern for policy in policies for pattern in policy.agent_marks or ()), *settings.agent_marks]
    signed = "signed" in (settings.human_acts, *(policy.human_acts for policy in policies))
    found = {"human_acts": "signed" if signed else "any", "agent_marks": tuple(dict.fromkeys(patterns))}
    return settings.model_copy(update=found)


def _with_its_model(settings: Settings) -> Settings:
    """The settings with the variable's model in the table. Raises `Malformed` for one that means nothing."""
    if settings.model is None:
        return settings
    if not is_model(settings.agents, settings.model):
        what = f"{quoted(settings.model)} is no model"
        raise Malformed([_problem(variables_of_field("model")[0], what, f"expected {EXPECTED}")])
    agents = settings.agents.model_copy(update={"model": settings.model})
    return settings.model_copy(update={"agents": from_root(agents, settings.project)})


def _named_root() -> Path | None:
    """The folder that the environment names as the project's. Raises `Malformed`."""
    named = os.environ.get(f"{PREFIX}PROJECT")
    if not named:
        return None
    root = Path(named).absolute()
    if not root.is_dir():
        raise Malformed(
            [_problem(f"{PREFIX}PROJECT", f"{quoted(named)} is no directory", "expected a project's folder")]
        )
    return root.resolve()


def _stood_in() -> tuple[Path, ...]:
    """The current directory, by the name that the shell has for it, too."""
    here, shell = Path.cwd(), Path(os.environ.get("PWD", ""))
    return (here, shell) if shell.is_absolute() and shell.is_dir() and shell.samefile(here) else (here,)


def _configured(start: Path | None, root: Path, *, named: bool) -> tuple[Files, Files]:
    """The files that settings are taken from, the outermost first, and those whose policy alone is in force."""
    reader = Reader()
    passed = os.environ.get(CONFIGURATION)
    if passed:
        plain = tuple(one for path in passed.split(os.pathsep) if (one := reader.at(Path(path).parent)) is not None)
    elif named:
        plain = tuple(one for one in (reader.at(root),) if one is not None)
    else:
        plain = reader.above((start or Path.cwd()).resolve())
    stood = (start,) if start else _stood_in()
    everything = reader.above(*stood, root)
    return plain, tuple(one for one in everything if one not in plain)


def variables_of_field(field: str) -> list[str]:
    """The variables that set a field, the strongest first."""
    alias = Settings.model_fields[field].validation_alias
    return [str(name) for name in alias.choices] if isinstance(alias, AliasChoices) else [f"{PREFIX}{field.upper()}"]


def _misspelt_variables() -> list[Problem]:
    """Variables that are nearly ours. Others with our prefix may be meant for another version or a worker."""
    known = {name for field in Settings.model_fields for name in variables_of_field(field)}
    # Without the prefix, which makes any two of them look alike.
    tails = [name.removeprefix(PREFIX) for name in known if name.startswith(PREFIX)]
    problems = []
    for name in sorted(os.environ):
        if name.startswith(PREFIX) and name not in known:
            nearest = difflib.get_close_matches(name.removeprefix(PREFIX), tails, n=1, cutoff=0.8)
            problems += [_problem(name, "unknown variable", f"did you mean {PREFIX}{tail}?") for tail in nearest]
    return problems


def _explain(error: ValidationError) -> list[Problem]:
    """Problems of variables: what the file says has been validated before, more strictly."""
    fields = {name: field for field in Settings.model_fields for name in (field, *variables_of_field(field))}
    problems = []
    for details in error.errors(include_url=False):
        field = fields[str(details["loc"][0])]
        if details["type"] == "default_factory_not_called":
            continue
        variable = next(
            (name for name in variables_of_field(field) if os.environ.get(name)), variables_of_field(field)[0]
        )
        context = details.get("ctx", {})
        if details["type"] == "order":
            problems.append(_problem(variable, context["what"], f"expected {context['expected']}"))
        else:
            expected = expects(field_slot(Settings.model_fields[field]))
            problems.append(_problem(variable, given(details["input"]), f"expected {expected}"))
    return problems


def _problem(variable: str, what: str, expected: str) -> Problem:
    return Problem(file=ENVIRONMENT, line=1, field=variable, what=what, expected=expected)
