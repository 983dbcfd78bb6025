"""The kinds of acceptance criterion and what each needs to know; how one is checked is in `adapters/checkers`.

Source: seed `guardrails` (AcceptanceCriterion), CONTRACT "An order". A new kind is a class here, an entry in
`Criterion`, and a checker of the same `type`.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Discriminator, Field, JsonValue, model_validator

from domain.base import Part
from domain.command_criteria import CliGenerate, CliIo, CliIoParams, CommandExitZero, CommandOutput, Control, ExitParams
from domain.criterion import MAX_INPUT_BYTES, CriterionBase, Pattern
from domain.fields import (
    Branch,
    Command,
    EnvironmentVariables,
    Headers,
    LoopbackUrl,
    RelativePath,
    RepositoryName,
    Url,
    wrong,
)
from domain.python_criteria import Generate, PythonCall, PythonCallParams


class FileExistsParams(Part):
    """`path` is relative to the tree's root; a directory counts, a link counts when it leads to something inside."""

    path: RelativePath


class FileExists(CriterionBase):
    """A path is there in the trusted tree."""

    type: Literal["file_exists"]
    params: FileExistsParams


class FileContainsParams(Part):
    """`pattern` is searched in the whole file, `^` and `$` at every line."""

    path: RelativePath
    pattern: Pattern


class FileContains(CriterionBase):
    """A file's text has a match of a pattern."""

    type: Literal["file_contains"]
    params: FileContainsParams


class _Answer(Part):
    """What an HTTP answer must be. `json`: named keys of objects must be there, everything else is equal, strictly."""

    model_config = ConfigDict(serialize_by_alias=True)

    status: int = Field(default=200, ge=100, le=599)
    body: str | None = None
    body_contains: str | None = None
    body_pattern: Pattern | None = None
    json_: JsonValue = Field(default=None, alias="json")


class HttpResponseParams(_Answer):
    """`serve` runs in the sandbox; a second container on its network asks `url` until there is an answer."""

    serve: Command
    cwd: RelativePath = "."
    env: EnvironmentVariables = {}
    url: LoopbackUrl
    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] = "GET"
    headers: Headers = {}
    request_body: Annotated[str, Field(max_length=MAX_INPUT_BYTES)] = ""


PROBE_IMAGE = "python"
"""What `http_response` asks from, whatever the order's own image is."""


class HttpResponse(CriterionBase):
    """A server of the work's own answers a request as it should, seen from outside its process (DESIGN 7 and 8)."""

    type: Literal["http_response"]
    params: HttpResponseParams


class ApiResponseParams(_Answer):
    """`url` is asked from the host by GET, where the settings allow it."""

    url: Url
    headers: Headers = {}


class ApiResponse(CriterionBase):
    """A service outside answers as it should."""

    type: Literal["api_response"]
    params: ApiResponseParams


class GitCommitExistsParams(Part):
    """`message` is searched as it is, in whole messages, case and all."""

    message: str = Field(min_length=1)


class GitCommitExists(CriterionBase):
    """The repository has a commit, reachable from HEAD and not from the base, with a text in its message."""

    type: Literal["git_commit_exists"]
    params: GitCommitExistsParams


class PrExistsParams(Part):
    """`head` is a branch of the repository, or `owner:branch` of a fork."""

    repository: RepositoryName
    head: Branch


class PrExists(CriterionBase):
    """GitHub has a pull request, open or not, from a branch."""

    type: Literal["pr_exists"]
    params: PrExistsParams


class PrMergedParams(Part):
    """A pull request by its number."""

    repository: RepositoryName
    number: int = Field(ge=1)


class PrMerged(CriterionBase):
    """GitHub has merged a pull request."""

    type: Literal["pr_merged"]
    params: PrMergedParams


class SubjectiveParams(Part):
    """A subjective criterion has its description and nothing else."""


class Subjective(CriterionBase):
    """Something only a judge can tell. Nobody judges it here: required and unjudged, it needs a human."""

    type: Literal["subjective"]
    params: SubjectiveParams = SubjectiveParams()

    deterministic: ClassVar[bool] = False

    @model_validator(mode="after")
    def _says_what(self) -> Subjective:
        if not self.description.strip():
            raise wrong(
                "a subjective criterion without a description",
                "a description that a judge can hold the work against",
                at=("description",),
            )
        return self


Criterion = Annotated[
    FileExists
    | FileContains
    | CommandExitZero
    | CommandOutput
    | PythonCall
    | CliIo
    | HttpResponse
    | ApiResponse
    | GitCommitExists
    | PrExists
    | PrMerged
    | Subjective,
    Discriminator("type"),
]
CRITERION_TYPES = (
    "file_exists",
    "file_contains",
    "command_exit_zero",
    "command_output",
    "python_call",
    "cli_io",
    "http_response",
    "api_response",
    "git_commit_exists",
    "pr_exists",
    "pr_merged",
    "subjective",
)


def files_of(criterion: Criterion) -> tuple[str, ...]:
    """The files beside the order that `criterion` names."""
    match criterion.params:
        case ExitParams(control=Control(patch=str(patch))):
            return (patch,)
        case PythonCallParams(generate=Generate(reference=path)) | CliIoParams(generate=CliGenerate(reference=path)):
            return (path,)
    return ()
