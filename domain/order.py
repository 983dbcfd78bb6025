"""The work order: the file that describes one todo and how a claim to have done it is verified. It reads no file.

Source: CONTRACT "An order"; seeds `authority` 9, `guardrails` "AcceptanceCriterion", `pipeline` "Verification TOML".
Whether the workspace and the base exist is checked where they are read, by `adapters/config` and `adapters/snapshot`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Discriminator, Field, JsonValue, Tag, model_validator

from domain.base import Part, canonical_json, sha256_hex
from domain.command_criteria import Control, NodeId, PassToPass
from domain.criteria import Criterion, files_of
from domain.fields import (
    Command,
    CommitId,
    Content,
    EnvironmentVariables,
    Identifier,
    Image,
    MergeBase,
    OrderId,
    RelativePath,
    ScopePatterns,
    Seconds,
    Size,
    VariableName,
    bytes_between,
    quoted,
    wrong,
)

MAX_ITEMS = 200

Domain = Literal["docs", "system", "refactor", "polish", "security", "finance", "legal", "deploy", "infra", "unknown"]


_COMMAND_WORDS = re.compile(r"[^\s;&|()'\"`]+")


def runs_pytest(command: str) -> bool:
    """Whether a word of `command` is pytest: by name, by path, or after `-m`."""
    return any(word.rpartition("/")[2] in ("pytest", "py.test") for word in _COMMAND_WORDS.findall(command))


class BaseRevision(Part):
    """A commit as base. `repository` is a path, relative to the order's file."""

    repository: str = Field(min_length=1)
    revision: CommitId


class BaseRule(Part):
    """A base that moves with a branch, only in an order that a person trusts: the commit where HEAD left the branch.

    `repository` is a path, relative to the order's file. `rule` is `merge-base with REMOTE/BRANCH`, or with a local
    branch. `adapters/config` resolves it into a `BaseRevision`: no round sees one.
    """

    repository: str = Field(min_length=1)
    rule: MergeBase

    @model_validator(mode="before")
    @classmethod
    def _one_of_the_two(cls, data: Any) -> Any:
        if isinstance(data, dict) and "revision" in data:
            raise wrong("both revision and rule", "one of the two", at=("rule",))
        return data


def _base_kind(value: Any) -> str:
    if isinstance(value, BaseRule) or (isinstance(value, dict) and "rule" in value):
        return "rule"
    return "revision" if isinstance(value, (dict, BaseRevision)) else "directory"


_Directory = Annotated[str, Field(min_length=1), Tag("directory")]
_Revision = Annotated[BaseRevision, Tag("revision")]

Base = Annotated[_Directory | _Revision, Discriminator(_base_kind)]
"""A base as a round has it."""

WrittenBase = Annotated[_Directory | _Revision | Annotated[BaseRule, Tag("rule")], Discriminator(_base_kind)]
"""A base as an order's file may have it."""


class SnapshotRules(Part):
    """Which part of the workspace, and of the base, is looked at at all: gitignore patterns."""

    include: ScopePatterns = ["**"]


class Environment(Part):
    """Where commands run: `image` is a folder of sandbox_images/ or any image reference. Source: DESIGN 7.

    `setup` runs once, with network, as root in /deps, where it sees only the base's `inputs` (files or folders) and
    the variables named in `secrets`. `build` runs before each check, offline, in the tree.
    """

    image: Image = "python"
    setup: list[Command] = []
    inputs: list[RelativePath] = []
    secrets: list[VariableName] = []
    build: list[Command] = []

    @model_validator(mode="after")
    def _only_setup_sees_them(self) -> Environment:
        for name in ("inputs", "secrets"):
            if getattr(self, name) and not self.setup:
                raise wrong("is there for setup to use, and there is no setup", "setup commands beside it", at=(name,))
        return self


class Resources(Part):
    """What one container may use. `disk` bounds each of its writable folders."""

    memory: Annotated[Size, AfterValidator(bytes_between("6m", "1024g"))] = "512m"
    cpus: float = Field(default=1.0, gt=0, le=256)
    pids: int = Field(default=256, ge=8, le=32768)
    disk: Annotated[Size, AfterValidator(bytes_between("64k", "1024g"))] = "400m"


class Scope(Part):
    """What the worker may change: gitignore patterns, relative to the tree's root."""

    allow: ScopePatterns = ["**"]
    deny: ScopePatterns = []
    protect: ScopePatterns = []
    unprotect: ScopePatterns = []


class Check(Part):
    """A command whose exit code is the verdict, or a run of pytest. `timeout` in seconds.

    A command that runs pytest is of the kind pytest unless it says otherwise (CONTRACT "An order"): judged by its
    tests, `fail_to_pass` and `pass_to_pass` among them. One of the other kind may name a `control`. Source: seed
    `authority` 3.3, DESIGN 8.
    """

    name: Identifier = Field(min_length=1)
    kind: Literal["pytest", "command"] = "command"
    command: Command
    cwd: RelativePath = "."
    env: EnvironmentVariables = {}
    required: bool = True
    timeout: Seconds = 300.0
    fail_to_pass: list[NodeId] = []
    pass_to_pass: PassToPass = "base"
    control: Control | None = None

    @model_validator(mode="before")
    @classmethod
    def _kind_by_command(cls, data: Any) -> Any:
        if isinstance(data, dict) and "kind" not in data and isinstance(data.get("command"), str):
            return {**data, "kind": "pytest" if runs_pytest(data["command"]) else "command"}
        return data

    @model_validator(mode="after")
    def _fields_of_its_kind(self) -> Check:
        if self.kind == "pytest" and self.control is not None:
            raise wrong("a run of pytest has its own control", "none, or kind: command", at=("control",))
        for name, default in (("fail_to_pass", []), ("pass_to_pass", "base")):
            if self.kind == "command" and getattr(self, name) != default:
                raise wrong("no test is known by name of a command", "kind: pytest beside it", at=(name,))
        return self


class Auditor(Part):
    """The LLM that reviews. Advisory: it can hold back a pass, never grant one."""

    enabled: bool = True
    criteria: str = ""


class Retry(Part):
    """What the next attempt is told, and how often there is one."""

    max_attempts: int = Field(default=3, ge=1, le=100)
    include_check_output: bool = True
    include_verifier_feedback: bool = True
    timeout_factor: float = Field(default=1.0, ge=1.0, le=10.0)


class Verification(Part):
    """How a claim is verified. Source: seed `authority` 9, `pipeline` "Verification TOML", DESIGN 8.

    `tests` are files or folders beside the order, laid over the trusted tree at the same paths. What is required, runs
    in a container and fails, runs up to `retries_on_failure` more times: passing then, it is flaky. `adversarial`: when
    an advocate and a critic argue before a judge; `draft`: whether an order that has nothing to check gets criteria
    from a designer and a strategist.
    """

    enabled: bool = True
    mode: Literal["parallel", "sequence"] = "parallel"
    checks: list[Check] = []
    tests: list[RelativePath] = []
    auditor: Auditor = Auditor()
    objective_only: bool = False
    adversarial: Literal["auto", "always", "never"] = "auto"
    draft: Literal["auto", "never"] = "auto"
    confidence_threshold: float = Field(default=0.7, ge=0, le=1)
    probe: Literal["off", "revert", "mutate"] = "off"
    retries_on_failure: int = Field(default=1, ge=0, le=5)
    on_flaky: Literal["fail", "pass"] = "fail"
    retry: Retry = Retry()
    require_all_pass: bool = True
    min_criteria: int = Field(default=0, ge=0)
    max_fail_rate: float = Field(default=0.0, ge=0, le=1)
    without_checks: Literal["needs_human", "warn"] = "needs_human"
    on_auditor_crash: Literal["soft_fail", "escalate"] = "soft_fail"

    other_names: ClassVar[dict[str, str]] = {"verifier": "auditor"}

    @property
    def asks_auditor(self) -> bool:
        """Whether the auditor is asked at all, if a model is configured."""
        return self.enabled and self.auditor.enabled and not self.objective_only

    @model_validator(mode="before")
    @classmethod
    def _verifier_is_an_alias(cls, data: Any) -> Any:
        if isinstance(data, dict) and "verifier" in data:
            if "auditor" in data:
                raise wrong("both auditor and its alias verifier", "one of the two", at=("verifier",))
            data = dict(data)
            data["auditor"] = data.pop("verifier")
        return data


class Safeguards(Part):
    """Caps and timeouts (seconds) of a todo; one round only heeds `tool_retries`. Source: seed `auditor` 4."""

    audit_attempts: int = Field(default=3, ge=1)
    revisions: int = Field(default=2, ge=0)
    tool_retries: int = Field(default=3, ge=0, le=20)
    follow_ups: int = Field(default=3, ge=0)
    tool_timeout: Seconds = 30.0
    audit_timeout: Seconds = 300.0
    follow_up_timeout: Seconds = 300.0
    todo_timeout: Seconds = 3600.0
    pause_on_escalation: bool = True
    on_exhausted: Literal["escalate", "fail"] = "escalate"


class OverridePolicy(Part):
    """Which overrides people may use. Source: seed `authority` 5.4.

    `signatures`: `required` takes acts of people only where they are signed (`domain.signing` says which), `optional`
    looks at those that there are, `off` takes none. Where a project has signers it is `required` unless somebody says
    otherwise.
    """

    check_override_allowed: bool = True
    check_override_requires_reason: bool = True
    verifier_override_allowed: bool = True
    direct_approval_allowed: bool = False
    signatures: Literal["off", "optional", "required"] = "optional"


class FixLoop(Part):
    """The loop of verify and repair. Source: seed `fix loop`."""

    enabled: bool = False
    max_loops: int = Field(default=3, ge=1)
    max_cost_usd: float = Field(default=5.0, ge=0, le=1_000_000)


def _no_authority(name: str) -> str:
    if name.startswith(("COUNTERSIGN_", "TEMPORAL_")):
        raise wrong(f"{quoted(name)} is for Countersign alone", "a variable of the worker's own")
    return name


class WorkerCommand(Part):
    """A program that does the work, run where the workspace is. `timeout` in seconds; `env` names variables it gets."""

    command: Command
    timeout: Seconds = 1800.0
    env: list[Annotated[VariableName, AfterValidator(_no_authority)]] = []


TITLE_CHARACTERS = 180


def title_of(content: str) -> str:
    """The first line of `content`, short enough for a list."""
    return content.strip().partition("\n")[0][:TITLE_CHARACTERS]


class Order(Part):
    """One work order, whole. `workspace` and `base` are as written; `adapters/config` makes them absolute."""

    id: OrderId = ""
    content: Content
    domain: Domain = "unknown"
    workspace: str = Field(default=".", min_length=1)
    base: WrittenBase | None = None
    snapshot: SnapshotRules = SnapshotRules()
    environment: Environment = Environment()
    resources: Resources = Resources()
    scope: Scope = Scope()
    acceptance_criteria: list[Criterion] = []
    verification: Verification = Verification()
    safeguards: Safeguards = Safeguards()
    override_policy: OverridePolicy = OverridePolicy()
    fix_loop: FixLoop = FixLoop()
    depends_on: list[OrderId] = []
    subtasks: list[dict[str, JsonValue]] = []
    worker: WorkerCommand | None = None

    @property
    def title(self) -> str:
        """The first line of `content`, short enough for a list."""
        return title_of(self.content)

    @property
    def resolved_base(self) -> str | BaseRevision:
        """The base of an order that `adapters/config` has loaded: a directory or a commit."""
        assert self.base is not None, "adapters/config refuses an order without a base"
        assert not isinstance(self.base, BaseRule), "adapters/config resolves a rule or refuses it"
        return self.base

    @property
    def files_beside(self) -> tuple[str, ...]:
        """Paths beside the order's file that it names: tests of its own, patches, references."""
        return tuple(
            dict.fromkeys(
                [
                    *self.verification.tests,
                    *(c.control.patch for c in self.verification.checks if c.control and c.control.patch),
                    *(path for criterion in self.acceptance_criteria for path in files_of(criterion)),
                ]
            )
        )

    def with_criteria(self, further: Iterable[Criterion]) -> Order:
        """This order with further criteria after its own; itself where there are none."""
        added = list(further)
        return self.model_copy(update={"acceptance_criteria": [*self.acceptance_criteria, *added]}) if added else self

    @property
    def digest(self) -> str:
        """What verdicts bind: the SHA-256 of the order's canonical JSON, defaults included."""
        return sha256_hex(canonical_json(self.model_dump(mode="json")))

    @model_validator(mode="before")
    @classmethod
    def _number_criteria(cls, data: Any) -> Any:
        """A criterion without an id is named after its place: AC-1, AC-2."""
        if not isinstance(data, dict) or not isinstance(data.get("acceptance_criteria"), list):
            return data
        numbered = [
            {**criterion, "id": f"AC-{place}"}
            if isinstance(criterion, dict) and criterion.get("id", "") == ""
            else criterion
            for place, criterion in enumerate(data["acceptance_criteria"], start=1)
        ]
        return {**data, "acceptance_criteria": numbered}

    @model_validator(mode="after")
    def _items_fit(self) -> Order:
        criteria, checks = self.acceptance_criteria, self.verification.checks
        if len(criteria) + len(checks) > MAX_ITEMS:
            longer = ("acceptance_criteria",) if len(criteria) >= len(checks) else ("verification", "checks")
            raise wrong(f"{len(criteria) + len(checks)} criteria and checks", f"at most {MAX_ITEMS}", at=longer)
        return self

    @model_validator(mode="after")
    def _names_are_unique(self) -> Order:
        names: list[tuple[str, tuple[str | int, ...]]] = [
            *((c.id, ("acceptance_criteria", i, "id")) for i, c in enumerate(self.acceptance_criteria)),
            *((c.name, ("verification", "checks", i, "name")) for i, c in enumerate(self.verification.checks)),
        ]
        seen: set[str] = set()
        for name, place in names:
            if name in seen:
                raise wrong(
                    f"{quoted(name)} names two criteria or checks", "ids and names that are all different", at=place
                )
            seen.add(name)
        return self
