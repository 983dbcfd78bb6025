"""Reads `countersign.toml`, the project's settings; refuses tables, keys and types that it does not know."""

from __future__ import annotations

import ipaddress
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, JsonValue, TypeAdapter, ValidationError

from adapters.checkers import GITHUB_URL
from adapters.config.agents_table import from_root, wrong_with
from adapters.config.explain import explain
from adapters.config.problems import Place, shown_as
from adapters.config.text_file import read_text_file
from adapters.config.yaml_document import Document
from domain.addresses import Notifications, without_meaning
from domain.base import Part
from domain.errors import Malformed, Problem
from domain.fields import Seconds, Url, VariableName, quoted, wrong
from domain.order import OverridePolicy, Verification
from domain.policy_floor import PolicyFloor
from domain.roles.agents import Agents
from domain.signatures import PersonRole

PROJECT_FILE = "countersign.toml"
_TABLE = re.compile(r"\s*\[+\s*([^\[\]]+?)\s*\]+\s*(?:#.*)?")
_KEY = re.compile(r"""\s*((?:[A-Za-z0-9_.\s-]|"[^"]*"|'[^']*')+?)\s*=""")
_PART = re.compile(r""""[^"]*"|'[^']*'|[^."']+""")
_AT_LINE = re.compile(r"^(?P<what>.*?) \(at (?:line (?P<line>\d+), column \d+|end of document)\)$", re.DOTALL)


def _database_url(text: str) -> str:
    if "://" not in text:
        shown = quoted(text) if "@" not in text else "the text, which may have a password in it,"
        raise wrong(f"{shown} is no URL", "sqlite:////ABSOLUTE/PATH or postgresql://...")
    if text.startswith("sqlite:") and not text.startswith("sqlite:////"):
        raise wrong(f"{quoted(text)} is another database in every folder", "sqlite:////ABSOLUTE/PATH")
    return text


def _evidence_url(text: str) -> str:
    if not re.fullmatch(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9][A-Za-z0-9._-]*)*/?", text):
        raise wrong(f"{quoted(text)} names no bucket", "s3://BUCKET or s3://BUCKET/PREFIX")
    return text


def _folder(text: str) -> str:
    if "\0" in text:
        raise wrong("a path with a NUL character", "a path")
    return text


def _service(text: str) -> str:
    """What a URL must be under; it is compared, so nothing in it may have two readings."""
    if text == GITHUB_URL:
        return text
    from adapters.checkers.remote import is_plain, parsed  # noqa: PLC0415 - httpx: slow to load, and few name a service

    url = parsed(text)
    if url is None or not is_plain(url):
        raise wrong(f"{quoted(text)} can be read in two ways", "a URL such as https://service.example/v1")
    if "?" in text or "#" in text:
        raise wrong(f"{quoted(text)} has a query or a fragment", "a URL such as https://service.example/v1")
    return text.rstrip("/")


def _metrics_address(text: str) -> str:
    """What the metrics' listener binds to: it looks no name up."""
    host, _, port = text.rpartition(":")
    plain = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    try:
        address = ipaddress.ip_address(plain)
    except ValueError as error:
        raise wrong(f"{quoted(text)} has no IP address", "IP:PORT, such as 127.0.0.1:9464") from error
    if (address.version == 6) is (plain == host) or not re.fullmatch(r"[1-9][0-9]{0,4}", port) or int(port) > 65535:
        raise wrong(f"{quoted(text)} is no address", "IP:PORT, such as 127.0.0.1:9464 or [::1]:9464")
    return text


Text = Annotated[str, Field(min_length=1)]
MetricsAddress = Annotated[str, Field(description="IP:PORT, such as 127.0.0.1:9464"), AfterValidator(_metrics_address)]
HumanActs = Literal["any", "signed"]
MarkPattern = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9_*]*[A-Za-z0-9][A-Za-z0-9_*]*$",
        max_length=200,
        description="a variable's name such as MY_AGENT_*",
    ),
]
LogFormat = Literal["auto", "json", "console"]
LogLevel = Literal["debug", "info", "warning", "error"]
ServiceUrl = Annotated[Url, AfterValidator(_service)]
SERVICE: TypeAdapter[str] = TypeAdapter(ServiceUrl)
FolderText = Annotated[str, Field(min_length=1, description="text that is a path"), AfterValidator(_folder)]
EvidenceUrl = Annotated[str, Field(description="text such as s3://BUCKET/PREFIX"), AfterValidator(_evidence_url)]
DatabaseUrl = Annotated[str, Field(description="text that is a database's URL"), AfterValidator(_database_url)]
Parallelism = Annotated[int, Field(ge=1, le=1024)]
Count = Annotated[int, Field(ge=1, le=2**53)]
Grace = Annotated[float, Field(ge=0, le=86_400, description="seconds: a number, at least 0 and at most 86400")]
Share = Annotated[float, Field(ge=0, le=1)]


class TemporalTable(Part):
    """The server to use instead of the embedded one; `payload_key_file` is relative to the project.

    What is executed for the embedded one only the environment says.
    """

    address: Text | None = None
    namespace: Text | None = None
    payload_key_file: FolderText | None = None


class DatabaseTable(Part):
    """Where the trail is."""

    url: DatabaseUrl | None = None


class EvidenceTable(Part):
    """Where evidence is kept: in a folder, relative to the project, or in the bucket that `url` names."""

    dir: FolderText | None = None
    url: EvidenceUrl | None = None


class SandboxTable(Part):
    """The container engine, how many containers run at once, and the image that others are built from."""

    docker_host: Text | None = None
    parallelism: Parallelism | None = None
    base_image: Text | None = None


class NetworkTable(Part):
    """What checks may ask from the host: URLs that `api_response` is held under, and GitHub's API. No token."""

    allow: list[ServiceUrl] | None = None
    github_url: ServiceUrl | None = None


class LimitsTable(Part):
    """What a tree may have at most: files, bytes of one, bytes of all."""

    max_files: Count | None = None
    max_file_bytes: Count | None = None
    max_total_bytes: Count | None = None


class HostTable(Part):
    """The embedded host: seconds until it ends unused, and for running activities when it ends."""

    idle_timeout: Seconds | None = None
    drain_timeout: Grace | None = None


class TelemetryTable(Part):
    """What host and workers tell of themselves: logs, metrics, traces."""

    log_format: LogFormat | None = None
    log_level: LogLevel | None = None
    metrics_address: MetricsAddress | None = None
    otel: bool | None = None


class SecretsTable(Part):
    """Names of environment variables whose values are masked wherever anything is shown, stored or sent. No value."""

    names: list[VariableName] | None = None


class SignersTable(Part):
    """Who may sign what people ask for: an OpenSSH allowed signers file, relative to the project.

    `roles` of principals, who are reviewers otherwise; `acts`: the least role for each, where another than the usual.
    """

    file: FolderText | None = None
    roles: dict[str, PersonRole] = {}
    acts: dict[str, PersonRole] = {}


class PolicyTable(Part):
    """How people may act.

    `human_acts`: `signed` takes no act of a person that has no signature. `agent_marks`: names of further variables
    that mark an agent's process (`domain.actors`), in which `*` is any text.
    """

    human_acts: HumanActs | None = None
    agent_marks: list[MarkPattern] | None = None


SIGNED_ACTS = PolicyFloor(signatures="required")
"""What `human_acts = "signed"` asks of every order."""


class ThresholdsTable(Part):
    """Numbers of every order that says none: of its verification, and of its safeguards (timeouts in seconds)."""

    confidence_threshold: Share | None = None
    min_criteria: Annotated[int, Field(ge=0)] | None = None
    max_fail_rate: Share | None = None
    audit_attempts: Annotated[int, Field(ge=1)] | None = None
    revisions: Annotated[int, Field(ge=0)] | None = None
    tool_retries: Annotated[int, Field(ge=0, le=20)] | None = None
    follow_ups: Annotated[int, Field(ge=0)] | None = None
    tool_timeout: Seconds | None = None
    audit_timeout: Seconds | None = None
    follow_up_timeout: Seconds | None = None
    todo_timeout: Seconds | None = None


class ProjectFile(Part):
    """The whole file. Source: CONTRACT "An order", precedence."""

    temporal: TemporalTable = TemporalTable()
    database: DatabaseTable = DatabaseTable()
    evidence: EvidenceTable = EvidenceTable()
    sandbox: SandboxTable = SandboxTable()
    network: NetworkTable = NetworkTable()
    limits: LimitsTable = LimitsTable()
    host: HostTable = HostTable()
    telemetry: TelemetryTable = TelemetryTable()
    verification_defaults: Verification = Verification()
    thresholds: ThresholdsTable = ThresholdsTable()
    agents: Agents = Agents()
    override_policy: OverridePolicy = OverridePolicy()
    notifications: Notifications = Notifications()
    secrets: SecretsTable = SecretsTable()
    signers: SignersTable = SignersTable()
    policy: PolicyTable = PolicyTable()
    policy_floor: PolicyFloor = PolicyFloor()

    @property
    def floor(self) -> PolicyFloor:
        """What no order goes below: where only signed acts of people are taken, every order asks for signatures."""
        if self.policy.human_acts != "signed":
            return self.policy_floor
        return self.policy_floor.model_copy(update={"signatures": SIGNED_ACTS.signatures})

    def as_settings(self, root: Path) -> dict[str, Any]:
        """What the file says, by the names of `Settings`; paths are made absolute from `root`."""
        named = {
            "temporal_address": self.temporal.address,
            "temporal_namespace": self.temporal.namespace,
            "payload_key_file": root / self.temporal.payload_key_file if self.temporal.payload_key_file else None,
            "database_url": self.database.url,
            "evidence_dir": root / self.evidence.dir if self.evidence.dir else None,
            "evidence_url": self.evidence.url,
            "signers_file": root / self.signers.file if self.signers.file else None,
            "human_acts": self.policy.human_acts,
            "agent_marks": self.policy.agent_marks,
            "api_allow": self.network.allow,
            "github_url": self.network.github_url,
            "secrets": self.secrets.names,
            "agents": from_root(self.agents, root) if self.agents != Agents() else None,
            "notifications": self.notifications if self.notifications != Notifications() else None,
            **{
                name: value for table in (self.sandbox, self.limits, self.host, self.telemetry) for name, value in table
            },
        }
        return {name: value for name, value in named.items() if value is not None}


def read_project_file(path: Path) -> ProjectFile:
    """The file at `path`. Raises `Malformed` with every problem, sorted by line."""
    return read_project(path)[0]


def read_project(path: Path) -> tuple[ProjectFile, Document]:
    """The file at `path`, and what is written in it with the lines. Raises `Malformed`, as `read_project_file` does."""
    shown = shown_as(path)
    return project_in(read_text_file(path, shown, "TOML"), shown)


def project_in(text: str, shown: str) -> tuple[ProjectFile, Document]:
    """What `text` says, which stands in the file that is called `shown`. Raises `Malformed`."""
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        # TOMLDecodeError is a ValueError, and so is an integer with more digits than Python reads.
        raise Malformed([_syntax(str(error), text, shown)]) from error
    document = _located(data, text, shown)
    try:
        read = ProjectFile.model_validate(data)
    except ValidationError as error:
        problems = explain(error, ProjectFile, document)
        raise Malformed(sorted(problems, key=lambda problem: problem.line)) from error
    found = [
        *((("agents", *place), what, expected) for place, what, expected in wrong_with(read.agents, SERVICE)),
        *((("notifications", *place), what, expected) for place, what, expected in without_meaning(read.notifications)),
    ]
    if found:
        told = [document.problem(place, what, f"expected {expected}") for place, what, expected in found]
        raise Malformed(sorted(told, key=lambda problem: problem.line))
    return read, document


def _syntax(message: str, text: str, shown: str) -> Problem:
    found = _AT_LINE.match(message)
    line = int(found["line"]) if found and found["line"] else max(1, len(text.splitlines()))
    what = " ".join((found["what"] if found else message).split())
    return Problem(file=shown, line=line, field="file", what=f"is not TOML: {what}", expected="expected TOML")


def _located(data: dict[str, JsonValue], text: str, shown: str) -> Document:
    """`data` with the lines of its tables and keys, which tomllib does not tell: found by a search, near enough."""
    lines: dict[Place, int] = {}
    table: Place = ()
    entries: dict[Place, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _TABLE.fullmatch(line):
            table = _entered(_parts(header[1]), entries, another=line.lstrip().startswith("[["))
            lines.setdefault(table, number)
        elif key := _KEY.match(line):
            lines.setdefault((*table, *_parts(key[1])), number)
    return Document(data, lines, lines, shown)


def _entered(name: Place, entries: dict[Place, int], *, another: bool) -> Place:
    """The place of a table: within the last entry of each list of tables around it, or `another` entry of its own."""
    place: Place = ()
    for part in name:
        place = (*place, part)
        if place in entries:
            place = (*place, entries[place])
    if not another:
        return place
    listed = place[:-1] if place[:-1] in entries else place
    entries[listed] = entries.get(listed, -1) + 1
    return (*listed, entries[listed])


def _parts(name: str) -> Place:
    parts = (part.strip() for part in _PART.findall(name))
    return tuple(part.strip("\"'") for part in parts if part)
