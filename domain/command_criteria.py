"""The criteria about a command: its exit code, its output, its tests, its answers to inputs. It runs none.

Source: seed `guardrails` (AcceptanceCriterion), CONTRACT "An order", DESIGN 8.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from domain.base import Part
from domain.criterion import MAX_CASES_BYTES, MAX_CLI_CASES, MAX_INPUT_BYTES, CriterionBase, Pattern
from domain.fields import Command, EnvironmentVariables, RelativePath, wrong
from domain.strategies import Arguments, Inputs, Seed, Strategy, word, words

NodeId = Annotated[str, Field(min_length=1, max_length=2000)]


def _pass_to_pass_kind(value: Any) -> str:
    return "ids" if isinstance(value, list) else "base"


PassToPass = Annotated[
    Annotated[Literal["base"], Tag("base")] | Annotated[list[NodeId], Tag("ids")], Discriminator(_pass_to_pass_kind)
]
"""A discriminated union, so that a person is told of one problem and not of one for each alternative."""


class CommandParams(Part):
    """A shell command, run in the sandbox; `cwd` is relative to the tree's root."""

    command: Command
    cwd: RelativePath = "."
    env: EnvironmentVariables = {}


class Control(Part):
    """What must turn a command red, so that its green means something: a patch of the tree, or another command.

    `patch` is a file beside the order, a unified diff that breaks what the command checks. `command` runs instead of
    the command, on the same tree, and must fail. Source: DESIGN 8 "Negative control".
    """

    patch: RelativePath | None = None
    command: Command | None = None

    @model_validator(mode="after")
    def _one_of_them(self) -> Control:
        if (self.patch is None) == (self.command is None):
            given = "both patch and command" if self.patch is not None else "neither patch nor command"
            raise wrong(given, "one of the two")
        return self


class ExitParams(CommandParams):
    """A command that must end with 0, and what must keep it from that."""

    control: Control | None = None


class CommandExitZero(CriterionBase):
    """A command ends with exit code 0."""

    type: Literal["command_exit_zero"]
    params: ExitParams


class PytestParams(CommandParams):
    """A command that runs pytest. `fail_to_pass`, `pass_to_pass`: ids as pytest prints them, or of whole functions.

    `pass_to_pass: base`: every test that passed on the base.
    """

    fail_to_pass: list[NodeId] = []
    pass_to_pass: PassToPass = "base"


class Pytest(CriterionBase):
    """A run of pytest, judged by its tests one by one and not by its exit code alone (DESIGN 8).

    No order writes this type: it is what a check or criterion whose command runs pytest becomes (`domain.checks`).
    """

    type: Literal["pytest"] = "pytest"
    params: PytestParams


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


class CommandOutput(CriterionBase):
    """A command prints what it should."""

    type: Literal["command_output"]
    params: CommandOutputParams


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


def _stdin_kind(value: Any) -> str:
    return "lines" if isinstance(value, list) else "strategy"


Stdin = Annotated[
    Annotated[Strategy, Tag("strategy")] | Annotated[list[Strategy], Tag("lines")], Discriminator(_stdin_kind)
]


class CliGenerate(Part):
    """Random cases, of which a trusted program tells what must come of each: what it prints, and its exit code.

    `reference` is a file beside the order, run by its kind: `.py`, `.sh`, `.js`, `.mjs`, else as it is. Every element
    of a `stdin` that is a list is a line of its own. The bounds of `count` and `seed` are as in `domain.strategies`.
    """

    reference: RelativePath
    args: Arguments = []
    stdin: Stdin = []
    count: int = Field(default=10, ge=1, le=MAX_CLI_CASES)
    seed: Seed | None = None

    @model_validator(mode="after")
    def _fits_a_program(self) -> CliGenerate:
        places = [(("args", number), strategy) for number, strategy in enumerate(self.args)]
        if isinstance(self.stdin, list):
            places += [(("stdin", number), strategy) for number, strategy in enumerate(self.stdin)]
        for place, strategy in [*places, *self._lines()]:
            if not words(strategy):
                told = f"a program cannot be given what a strategy of the kind {strategy.kind} makes"
                raise wrong(told, "texts without NUL characters, or numbers", at=place)
        size = self.inputs.largest // self.count
        if size > MAX_INPUT_BYTES:
            raise wrong(f"up to {size} bytes of arguments and input", f"at most {MAX_INPUT_BYTES}")
        if self.inputs.largest > MAX_CASES_BYTES:
            raise wrong(f"up to {self.inputs.largest} bytes of cases", f"at most {MAX_CASES_BYTES}")
        return self

    def _lines(self) -> list[tuple[tuple[str, ...], Strategy]]:
        if isinstance(self.stdin, list):
            return []
        return [(("stdin",), self.stdin.list_.of if self.stdin.list_ else self.stdin)]

    @property
    def inputs(self) -> Inputs:
        """The arguments, then what standard input is made of."""
        stdin = self.stdin if isinstance(self.stdin, list) else [self.stdin]
        return Inputs(args=[*self.args, *stdin], count=self.count, seed=self.seed)

    def case(self, values: list[Any]) -> tuple[list[str], str]:
        """Arguments and standard input of a case, from the values of `inputs`."""
        stdin = values[len(self.args) :]
        lines = stdin if isinstance(self.stdin, list) else stdin[0] if self.stdin.list_ else None
        text = word(stdin[0]) if lines is None else "".join(f"{word(line)}\n" for line in lines)
        return [word(value) for value in values[: len(self.args)]], text


class CliIoParams(Part):
    """A shell command, run once a case with the case's arguments after it, each time on a fresh copy of the tree."""

    command: Command
    cwd: RelativePath = "."
    env: EnvironmentVariables = {}
    cases: list[CliCase] = Field(default=[], max_length=MAX_CLI_CASES)
    generate: CliGenerate | None = None

    @model_validator(mode="after")
    def _something_is_expected(self) -> CliIoParams:
        if not (self.cases or self.generate):
            raise wrong("nothing is expected of the program", "cases or generate")
        return self


class CliIo(CriterionBase):
    """A program answers each case as it should, compared outside its process (DESIGN 8). `timeout` is for all cases."""

    type: Literal["cli_io"]
    params: CliIoParams
