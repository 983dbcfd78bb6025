"""The kinds of acceptance criterion and what each needs to know; how one is checked is in `adapters/checkers`.

Source: seed `guardrails` (AcceptanceCriterion), CONTRACT "An order". A new kind is a class here, an entry in
`Criterion`, and a checker of the same `type`.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    ConfigDict,
    Discriminator,
    Field,
    JsonValue,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from domain.base import Value, canonical_json
from domain.fields import (
    Branch,
    Command,
    EnvironmentVariables,
    Headers,
    Identifier,
    LoopbackUrl,
    PythonName,
    RelativePath,
    RepositoryName,
    Seconds,
    Url,
    quoted,
    wrong,
)

MAX_CASES_BYTES = 1024 * 1024
MAX_CLI_CASES = 50
MAX_INPUT_BYTES = 96 * 1024
"""Of a case's arguments and standard input, and of a request's body: they travel as variables, execve(2)."""


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise wrong(
            f"{quoted(text)} does not compile: {str(error)[:100]}", "a regular expression of Python's re module"
        ) from error
    return text


Pattern = Annotated[
    str,
    Field(min_length=1, description="text that is a regular expression of Python's re module"),
    AfterValidator(_pattern),
]


class Part(Value):
    """A part of an order: strict, so that 'yes' is no boolean and '60' no number."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    other_names: ClassVar[dict[str, str]] = {}
    """Further spellings of fields that a file may use."""


class _Criterion(Part):
    """What every criterion has. `timeout` in seconds."""

    id: Identifier = ""
    description: str = ""
    required: bool = True
    timeout: Seconds = 60.0

    deterministic: ClassVar[bool] = True


class FileExistsParams(Part):
    """`path` is relative to the tree's root; a directory counts, a link counts when it leads to something inside."""

    path: RelativePath


class FileExists(_Criterion):
    """A path is there in the trusted tree."""

    type: Literal["file_exists"]
    params: FileExistsParams


class FileContainsParams(Part):
    """`pattern` is searched in the whole file, `^` and `$` at every line."""

    path: RelativePath
    pattern: Pattern


class FileContains(_Criterion):
    """A file's text has a match of a pattern."""

    type: Literal["file_contains"]
    params: FileContainsParams


class CommandParams(Part):
    """A shell command, run in the sandbox; `cwd` is relative to the tree's root."""

    command: Command
    cwd: RelativePath = "."
    env: EnvironmentVariables = {}


class CommandExitZero(_Criterion):
    """A command ends with exit code 0."""

    type: Literal["command_exit_zero"]
    params: CommandParams


class Printed(Part):
    """What must be printed, exactly (`stdout`, `stderr`) or by pattern. What is not named is not compared."""

    stdout: str | None = None
    stderr: str | None = None
    stdout_pattern: Pattern | None = None
    stderr_pattern: Pattern | None = None
    exit_code: int = Field(default=0, ge=0, le=255)


class CommandOutputParams(Printed, CommandParams):
    """What the command must print, and its exit code."""

    @model_validator(mode="after")
    def _something_is_expected(self) -> CommandOutputParams:
        if all(v is None for v in (self.stdout, self.stderr, self.stdout_pattern, self.stderr_pattern)):
            raise wrong("no output is named", "at least one of stdout, stderr, stdout_pattern, stderr_pattern")
        return self


class CommandOutput(_Criterion):
    """A command prints what it should."""

    type: Literal["command_output"]
    params: CommandOutputParams


class PythonCase(Part):
    """One call: arguments, and either the value it returns or the name of the exception it raises. Plain data only."""

    args: list[JsonValue] = []
    kwargs: dict[str, JsonValue] = {}
    returns: JsonValue = None
    raises: PythonName | None = None

    @model_validator(mode="before")
    @classmethod
    def _one_expectation(cls, data: Any) -> Any:
        if isinstance(data, dict) and ("returns" in data) == ("raises" in data):
            given = "both returns and raises" if "returns" in data else "neither returns nor raises"
            raise wrong(given, "one of the two in a case")
        if isinstance(data, dict) and "raises" in data and data["raises"] is None:
            raise wrong("raises is null", "the name of an exception, or returns: null", at=("raises",))
        return data

    @model_serializer(mode="wrap")
    def _without_the_other(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Only the expectation that was given, since an expected null and no expectation differ."""
        data: dict[str, Any] = handler(self)
        del data["returns" if self.raises is not None else "raises"]
        return data


class PythonCallParams(Part):
    """`path` is the folder of the tree that goes on the import path; `function` may be dotted (`Class.method`)."""

    path: RelativePath = "."
    module: PythonName
    function: PythonName
    cases: list[PythonCase] = Field(min_length=1)

    @model_validator(mode="after")
    def _cases_are_small(self) -> PythonCallParams:
        size = len(canonical_json([case.model_dump(mode="json") for case in self.cases]))
        if size > MAX_CASES_BYTES:
            raise wrong(f"{size} bytes of cases", f"at most {MAX_CASES_BYTES} as JSON", at=("cases",))
        return self


class PythonCall(_Criterion):
    """A function returns or raises what each case says, compared outside the process that runs it (DESIGN 8)."""

    type: Literal["python_call"]
    params: PythonCallParams


class CliCase(Printed):
    """One run: what goes in, what must come out; the exit code is always compared."""

    args: list[str] = []
    stdin: str = ""

    @model_validator(mode="after")
    def _fits_a_program(self) -> CliCase:
        if any("\0" in text for text in (*self.args, self.stdin)):
            raise wrong("a NUL character", "text that a program can be given")
        size = sum(len(text.encode()) for text in (*self.args, self.stdin))
        if size > MAX_INPUT_BYTES:
            raise wrong(f"{size} bytes of arguments and input", f"at most {MAX_INPUT_BYTES}")
        return self


class CliIoParams(Part):
    """A shell command, run once a case with the case's arguments after it, each time on a fresh copy of the tree."""

    command: Command
    cwd: RelativePath = "."
    env: EnvironmentVariables = {}
    cases: list[CliCase] = Field(min_length=1, max_length=MAX_CLI_CASES)


class CliIo(_Criterion):
    """A program answers each case as it should, compared outside its process (DESIGN 8). `timeout` is for all cases."""

    type: Literal["cli_io"]
    params: CliIoParams


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


class HttpResponse(_Criterion):
    """A server of the work's own answers a request as it should, seen from outside its process (DESIGN 7 and 8)."""

    type: Literal["http_response"]
    params: HttpResponseParams


class ApiResponseParams(_Answer):
    """`url` is asked from the host by GET, where the settings allow it."""

    url: Url
    headers: Headers = {}


class ApiResponse(_Criterion):
    """A service outside answers as it should."""

    type: Literal["api_response"]
    params: ApiResponseParams


class GitCommitExistsParams(Part):
    """`message` is searched as it is, in whole messages, case and all."""

    message: str = Field(min_length=1)


class GitCommitExists(_Criterion):
    """The repository has a commit, reachable from HEAD and not from the base, with a text in its message."""

    type: Literal["git_commit_exists"]
    params: GitCommitExistsParams


class PrExistsParams(Part):
    """`head` is a branch of the repository, or `owner:branch` of a fork."""

    repository: RepositoryName
    head: Branch


class PrExists(_Criterion):
    """GitHub has a pull request, open or not, from a branch."""

    type: Literal["pr_exists"]
    params: PrExistsParams


class PrMergedParams(Part):
    """A pull request by its number."""

    repository: RepositoryName
    number: int = Field(ge=1)


class PrMerged(_Criterion):
    """GitHub has merged a pull request."""

    type: Literal["pr_merged"]
    params: PrMergedParams


class SubjectiveParams(Part):
    """A subjective criterion has its description and nothing else."""


class Subjective(_Criterion):
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
