"""Reads `countersign.toml`, the project's settings; refuses tables, keys and types that it does not know."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, JsonValue, ValidationError

from adapters.checkers.remote import is_plain, parsed
from adapters.config.explain import explain
from adapters.config.problems import Place, shown_as
from adapters.config.text_file import read_text_file
from adapters.config.yaml_document import Document
from domain.criteria import Part
from domain.errors import Malformed, Problem
from domain.fields import Seconds, Url, not_yet, quoted, wrong

PROJECT_FILE = "countersign.toml"
_TABLE = re.compile(r"\s*\[+\s*([^\[\]]+?)\s*\]+\s*(?:#.*)?")
_KEY = re.compile(r"\s*([A-Za-z0-9_\"'.\s-]+?)\s*=")
_AT_LINE = re.compile(r"^(?P<what>.*?) \(at (?:line (?P<line>\d+), column \d+|end of document)\)$", re.DOTALL)


def _database_url(text: str) -> str:
    if "://" not in text:
        raise wrong(f"{quoted(text)} is no URL", "sqlite:////ABSOLUTE/PATH or postgresql://...")
    if text.startswith("sqlite:") and not text.startswith("sqlite:////"):
        raise wrong(f"{quoted(text)} is another database in every folder", "sqlite:////ABSOLUTE/PATH")
    return text


def _folder(text: str) -> str:
    if "\0" in text:
        raise wrong("a path with a NUL character", "a path")
    return text


def _service(text: str) -> str:
    """What a URL must be under; it is compared, so nothing in it may have two readings."""
    url = parsed(text)
    if url is None or not is_plain(url):
        raise wrong(f"{quoted(text)} can be read in two ways", "a URL such as https://service.example/v1")
    if "?" in text or "#" in text:
        raise wrong(f"{quoted(text)} has a query or a fragment", "a URL such as https://service.example/v1")
    return text.rstrip("/")


Text = Annotated[str, Field(min_length=1)]
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


class ProjectFile(Part):
    """The whole file. Source: CONTRACT "An order", precedence."""

    temporal: TemporalTable = TemporalTable()
    database: DatabaseTable = DatabaseTable()
    evidence: EvidenceTable = EvidenceTable()
    sandbox: SandboxTable = SandboxTable()
    network: NetworkTable = NetworkTable()
    limits: LimitsTable = LimitsTable()
    host: HostTable = HostTable()
    verification_defaults: Later = {}
    thresholds: Later = {}
    agents: Later = {}
    override_policy: Later = {}
    notifications: Later = {}
    secrets: Later = {}
    policy_floor: Later = {}

    def as_settings(self, root: Path) -> dict[str, Any]:
        """What the file says, by the names of `Settings`; paths are made absolute from `root`."""
        named = {
            **{f"temporal_{name}": value for name, value in self.temporal},
            "database_url": self.database.url,
            "evidence_dir": root / self.evidence.dir if self.evidence.dir else None,
            "api_allow": self.network.allow,
            "github_url": self.network.github_url,
            **{name: value for table in (self.sandbox, self.limits, self.host) for name, value in table},
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
