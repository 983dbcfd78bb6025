"""The settings of one project on one machine: built in, then `countersign.toml`, then the environment; later wins."""

from __future__ import annotations

import difflib
import json
import os
import re
from pathlib import Path
from typing import Annotated, Any

import platformdirs
from pydantic import AfterValidator, AliasChoices, BeforeValidator, Field, JsonValue, SecretStr, ValidationError
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from adapters.checkers import GITHUB_URL
from adapters.config.agents_table import from_root
from adapters.config.explain import expects, field_slot
from adapters.config.problems import given
from adapters.config.project_file import (
    PROJECT_FILE,
    Count,
    DatabaseUrl,
    EvidenceUrl,
    Grace,
    LogFormat,
    LogLevel,
    MetricsAddress,
    Parallelism,
    ServiceUrl,
    Text,
    read_project,
    read_project_file,
)
from adapters.masking.strength import why_unfit
from domain.addresses import Notifications
from domain.addresses import variables as notification_variables
from domain.base import sha256_hex
from domain.errors import Malformed, Problem
from domain.fields import Seconds, VariableName, quoted, wrong
from domain.roles.agents import Agents, ModelId
from domain.roles.models import EXPECTED, chosen, is_model, key_variables, script_of

PREFIX = "COUNTERSIGN_"
ENVIRONMENT = "environment"
"""Stands for a file's name in the problems of variables."""

AUTHORITY = (
    "temporal_address",
    "temporal_namespace",
    "payload_key_file",
    "database_url",
    "evidence_dir",
    "evidence_url",
    "docker_host",
    "base_image",
    "api_allow",
    "github_url",
    "secrets",
)
"""Settings that choose who decides, and on what; and what is kept from being read."""

AUTHORITY_TABLES = (
    ("verification_defaults",),
    ("thresholds",),
    ("override_policy",),
    ("agents",),
    ("notifications",),
    ("signers",),
    ("policy_floor", "checks"),
)
"""What of the project file stands in every order, or says who people are and who hears of it.

The rest of the floor only asks for more, whoever wrote it.
"""

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


def _state_dir(settings: dict[str, Any]) -> Path:
    """A folder of the user's own for each project, named so that a person finds it."""
    root: Path = settings["project"]
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
    state_dir: Folder = Field(default_factory=_state_dir)
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

    The project is `COUNTERSIGN_PROJECT`, else the nearest folder from `start` up with a `countersign.toml` or a `.git`.
    """
    root = _project_root(start or Path.cwd())
    misspelt = _misspelt_variables()
    if misspelt:
        raise Malformed(misspelt)
    file = root / PROJECT_FILE
    configured = read_project_file(file).as_settings(root) if file.exists() else {}
    try:
        settings = Settings(**{**configured, "project": root})
    except ValidationError as error:
        raise Malformed(_explain(error)) from error
    settings = _with_its_model(settings)
    unfit = [
        _problem(name, what, "expected one that can be masked, or its name not among the secrets")
        for name in dict.fromkeys(
            (
                *settings.secrets,
                *(_variables("github_token") if settings.github_token else ()),
                *key_variables(settings.agents),
                *notification_variables(settings.notifications),
            )
        )
        if (what := why_unfit(name, os.environ.get(name, "")))
    ]
    if unfit:
        raise Malformed(unfit)
    return settings


def _with_its_model(settings: Settings) -> Settings:
    """The settings with the variable's model in the table. Raises `Malformed` for one that means nothing."""
    if settings.model is None:
        return settings
    if not is_model(settings.agents, settings.model):
        what = f"{quoted(settings.model)} is no model"
        raise Malformed([_problem(_variables("model")[0], what, f"expected {EXPECTED}")])
    agents = settings.agents.model_copy(update={"model": settings.model})
    return settings.model_copy(update={"agents": from_root(agents, settings.project)})


def refuse_authority_within(settings: Settings, workspace: Path) -> None:
    """Refuse a project file that the worker of `workspace` could have written, where it says who decides or on what.

    A server, an engine or a database of the worker's own would give any verdict (DESIGN 1.4), and so would the
    file of a scripted auditor, or one of people who may sign. Raises `Malformed`.
    """
    written_by_it = [
        _problem("agents", f"{quoted(model)} is a file that the worker can write", "expected one outside the workspace")
        for model in chosen(settings.agents)
        if (script := script_of(model)) and _is_within(Path(script), workspace)
    ]
    if settings.signers_file is not None and _is_within(settings.signers_file, workspace):
        what = f"{quoted(str(settings.signers_file))} is a file that the worker can write"
        written_by_it.append(_problem("signers.file", what, "expected one outside the workspace"))
    if written_by_it:
        raise Malformed(written_by_it)
    file = settings.project / PROJECT_FILE
    if not settings.project.is_relative_to(workspace) or not file.exists():
        return
    written, document = read_project(file)
    said = written.as_settings(settings.project)
    problems = [
        Problem(
            file=PROJECT_FILE,
            line=1,
            field=name,
            what="is set in a file that the worker can write",
            expected=f"expected it in {PREFIX}{name.upper()}, or the file outside the workspace",
        )
        for name in AUTHORITY
        if name in said
    ]
    problems += [
        document.problem(
            place, "is set in a file that the worker can write", "expected the file outside the workspace"
        ).model_copy(update={"file": PROJECT_FILE})
        for place in AUTHORITY_TABLES
        if _has(document.data, place)
    ]
    if problems:
        raise Malformed(problems)


def _is_within(file: Path, workspace: Path) -> bool:
    """Whether its worker can write the file, or a link on the way to it."""
    return any(place.is_relative_to(workspace) for place in (Path(os.path.normpath(file)), _absolute(file)))


def _has(data: JsonValue, place: tuple[str, ...]) -> bool:
    """Whether there is something at `place`."""
    for name in place:
        data = data.get(name) if isinstance(data, dict) else None
    return bool(data)


def _project_root(start: Path) -> Path:
    named = os.environ.get(f"{PREFIX}PROJECT")
    if named:
        root = Path(named).absolute()
        if not root.is_dir():
            raise Malformed(
                [_problem(f"{PREFIX}PROJECT", f"{quoted(named)} is no directory", "expected a project's folder")]
            )
        return root.resolve()
    start = start.resolve()
    marks = (PROJECT_FILE, ".git")
    found = (folder for folder in (start, *start.parents) if any((folder / mark).exists() for mark in marks))
    return next(found, start)


def _variables(field: str) -> list[str]:
    """The variables that set a field, the strongest first."""
    alias = Settings.model_fields[field].validation_alias
    return [str(name) for name in alias.choices] if isinstance(alias, AliasChoices) else [f"{PREFIX}{field.upper()}"]


def _misspelt_variables() -> list[Problem]:
    """Variables that are nearly ours. Others with our prefix may be meant for another version or a worker."""
    known = {name for field in Settings.model_fields for name in _variables(field)}
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
    fields = {name: field for field in Settings.model_fields for name in (field, *_variables(field))}
    problems = []
    for details in error.errors(include_url=False):
        field = fields[str(details["loc"][0])]
        if details["type"] == "default_factory_not_called":
            continue
        variable = next((name for name in _variables(field) if os.environ.get(name)), _variables(field)[0])
        context = details.get("ctx", {})
        if details["type"] == "order":
            problems.append(_problem(variable, context["what"], f"expected {context['expected']}"))
        else:
            expected = expects(field_slot(Settings.model_fields[field]))
            problems.append(_problem(variable, given(details["input"]), f"expected {expected}"))
    return problems


def _problem(variable: str, what: str, expected: str) -> Problem:
    return Problem(file=ENVIRONMENT, line=1, field=variable, what=what, expected=expected)
