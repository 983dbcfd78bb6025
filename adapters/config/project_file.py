"""Reads `countersign.toml`, the project's settings; refuses tables, keys and types that it does not know."""

from __future__ import annotations

import ipaddress
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, JsonValue, ValidationError

from adapters.config.explain import explain
from adapters.config.problems import Place, shown_as
from adapters.config.text_file import read_text_file
from adapters.config.yaml_document import Document
from domain.criteria import Part
from domain.errors import Malformed, Problem
from domain.fields import Seconds, Url, VariableName, not_yet, quoted, wrong

PROJECT_FILE = "countersign.toml"
_TABLE = re.compile(r"\s*\[+\s*([^\[\]]+?)\s*\]+\s*(?:#.*)?")
_KEY = re.compile(r"\s*([A-Za-z0-9_\"'.\s-]+?)\s*=")
_AT_LINE = re.compile(r"^(?P<what>.*?) \(at (?:line (?P<line>\d+), column \d+|end of document)\)$", re.DOTALL)


def _database_url(text: str) -> str:
    if "://" not in text:
        shown = quoted(text) if "@" not in text else "the text, which may have a password in it,"
        raise wrong(f"{shown} is no URL", "sqlite:////ABSOLUTE/PATH or postgresql://...")
    if text.startswith("sqlite:") and not text.startswith("sqlite:////"):
        raise wrong(f"{quoted(text)} is another database in every folder", "sqlite:////ABSOLUTE/PATH")
    return text


def _folder(text: str) -> str:
    if "\0" in text:
        raise wrong("a path with a NUL character", "a path")
    return text


def _service(text: str) -> str:
    """What a URL must be under; it is compared, so nothing in it may have two readings."""
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
LogFormat = Literal["auto", "json", "console"]
LogLevel = Literal["debug", "info", "warning", "error"]
ServiceUrl = Annotated[Url, AfterValidator(_service)]
FolderText = Annotated[str, Field(min_length=1, description="text that is a path"), AfterValidator(_folder)]
DatabaseUrl = Annotated[str, Field(description="text that is a database's URL"), AfterValidator(_database_url)]
Parallelism = Annotated[int, Field(ge=1, le=1024)]
Count = Annotated[int, Field(ge=1, le=2**53)]
Grace = Annotated[float, Field(ge=0, le=86_400, description="seconds: a number, at least 0 and at most 86400")]
Later = Annotated[dict[str, Any], AfterValidator(not_yet)]


class TemporalTable(Part):
    """The server to use instead of the embedded one. What is executed for that one only the environment says."""

    address: Text | None = None
    namespace: Text | None = None


class DatabaseTable(Part):
    """Where the trail is."""

    url: DatabaseUrl | None = None


class EvidenceTable(Part):
    """Where evidence is kept; `dir` is relative to the project."""

    dir: FolderText | None = None


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
    verification_defaults: Later = {}
    thresholds: Later = {}
    agents: Later = {}
    override_policy: Later = {}
    notifications: Later = {}
    secrets: SecretsTable = SecretsTable()
    policy_floor: Later = {}

    def as_settings(self, root: Path) -> dict[str, Any]:
        """What the file says, by the names of `Settings`; paths are made absolute from `root`."""
        named = {
            **{f"temporal_{name}": value for name, value in self.temporal},
            "database_url": self.database.url,
            "evidence_dir": root / self.evidence.dir if self.evidence.dir else None,
            "api_allow": self.network.allow,
            "github_url": self.network.github_url,
            "secrets": self.secrets.names,
            **{
                name: value for table in (self.sandbox, self.limits, self.host, self.telemetry) for name, value in table
            },
        }
        return {name: value for name, value in named.items() if value is not None}


def read_project_file(path: Path) -> ProjectFile:
    """The file at `path`. Raises `Malformed` with every problem, sorted by line."""
    shown = shown_as(path)
    text = read_text_file(path, shown, "TOML")
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        # TOMLDecodeError is a ValueError, and so is an integer with more digits than Python reads.
        raise Malformed([_syntax(str(error), text, shown)]) from error
    try:
        return ProjectFile.model_validate(data)
    except ValidationError as error:
        problems = explain(error, ProjectFile, _located(data, text), shown)
        raise Malformed(sorted(problems, key=lambda problem: problem.line)) from error


def _syntax(message: str, text: str, shown: str) -> Problem:
    found = _AT_LINE.match(message)
    line = int(found["line"]) if found and found["line"] else max(1, len(text.splitlines()))
    what = " ".join((found["what"] if found else message).split())
    return Problem(file=shown, line=line, field="file", what=f"is not TOML: {what}", expected="expected TOML")


def _located(data: dict[str, JsonValue], text: str) -> Document:
    """`data` with the lines of its tables and keys, which tomllib does not tell: found by a search, near enough."""
    lines: dict[Place, int] = {}
    table: Place = ()
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _TABLE.fullmatch(line):
            table = _parts(header[1])
            lines.setdefault(table, number)
        elif key := _KEY.match(line):
            lines.setdefault((*table, *_parts(key[1])), number)
    return Document(data, lines, lines)


def _parts(name: str) -> Place:
    return tuple(part.strip().strip("\"'") for part in name.split("."))
