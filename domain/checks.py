"""One check, one result, three values: `passed`, `failed`, `could_not_run`. It runs nothing.

Checks and criteria are two spellings of it. Source: DESIGN 1.2 and 7; seed `authority` 3.5-3.6.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Discriminator

from domain.base import Message
from domain.command_criteria import CliIoParams, CommandExitZero, CommandParams, ExitParams, Pytest, PytestParams
from domain.criteria import (
    ApiResponseParams,
    Criterion,
    FileContainsParams,
    FileExistsParams,
    GitCommitExistsParams,
    HttpResponseParams,
    PrExistsParams,
    PrMergedParams,
    Subjective,
)
from domain.errors import Cause, Unavailable
from domain.fields import MAX_SECONDS
from domain.order import Check, Order, runs_pytest
from domain.python_criteria import PythonCallParams
from domain.scrutiny import GROUPS, PROOFS, SINGLES, ControlSeen, Counts, Expectation
from domain.suite.commands import runs_tests


class Outcome(StrEnum):
    """What a check came to. `could_not_run` needs a cause outside the worker's tree and is never a pass."""

    PASSED = "passed"
    FAILED = "failed"
    COULD_NOT_RUN = "could_not_run"


Checkable = Annotated[Criterion | Pytest, Discriminator("type")]
"""What a checker is asked about: a criterion of an order, or a run of pytest."""


class Item(Message):
    """Something to run in a round: a criterion, or a check as the criterion that its command ends with 0.

    One whose command runs pytest is a `Pytest`, whichever of the two it is in the order.
    """

    spelling: Literal["criterion", "check"]
    criterion: Checkable

    @property
    def id(self) -> str:
        """The criterion's id or the check's name: unique within an order."""
        return self.criterion.id

    @property
    def needs_sandbox(self) -> bool:
        """Whether a container is needed; the others read the frozen tree alone."""
        return isinstance(self.criterion.params, CommandParams | PythonCallParams | CliIoParams | HttpResponseParams)

    @property
    def depends_on_tree(self) -> bool:
        """Whether another tree could have another result: what is asked of a service or a code host has not."""
        return self.needs_sandbox or isinstance(self.criterion.params, FileExistsParams | FileContainsParams)

    @property
    def runs(self) -> int:
        """How many runs with the whole limit may follow one another: its own, its controls', those on the base.

        A reference has as much time as the work.
        """
        if isinstance(self.criterion, Pytest):
            return 7
        if isinstance(self.criterion.params, PythonCallParams | CliIoParams):
            return 2 if self.criterion.params.generate else 1
        if not isinstance(self.criterion, CommandExitZero):
            return 1
        tests = runs_tests(self.criterion.params.command)
        if self.criterion.params.control:
            return 3 + tests
        return 2 * GROUPS + 2 + SINGLES + PROOFS if tests else 1

    @property
    def command(self) -> str:
        """The shell command that is run, empty when none is."""
        match self.criterion.params:
            case CommandParams(command=command) | CliIoParams(command=command) | HttpResponseParams(serve=command):
                return command
        return ""

    @property
    def label(self) -> str:
        """What a person reads beside the id."""
        if self.criterion.description:
            return self.criterion.description
        match self.criterion.params:
            case HttpResponseParams(url=url) | ApiResponseParams(url=url):
                return url
            case GitCommitExistsParams(message=message):
                return message
            case PrExistsParams(repository=repository, head=head):
                return f"{repository} {head}"
            case PrMergedParams(repository=repository, number=number):
                return f"{repository}#{number}"
            case PythonCallParams(module=module, function=function):
                return f"{module}.{function}"
            case FileExistsParams(path=path) | FileContainsParams(path=path):
                return path
        return self.command or self.criterion.type


def items_of(order: Order, widen: float = 1.0) -> tuple[Item, ...]:
    """Everything deterministic that a round of `order` runs, criteria first, each in the order it is written.

    `widen`: what each one's limit is multiplied by.
    """
    criteria = [
        Item(spelling="criterion", criterion=_structured(c)) for c in order.acceptance_criteria if c.deterministic
    ]
    items = (
        *criteria,
        *(Item(spelling="check", criterion=_as_criterion(c)) for c in order.verification.checks),
    )
    return items if widen == 1.0 else tuple(_widened(item, widen) for item in items)


def _widened(item: Item, widen: float) -> Item:
    limit = min(item.criterion.timeout * widen, MAX_SECONDS)
    return item.model_copy(update={"criterion": item.criterion.model_copy(update={"timeout": limit})})


def subjective_of(order: Order) -> tuple[Subjective, ...]:
    """The criteria that only a judge can tell."""
    return tuple(c for c in order.acceptance_criteria if isinstance(c, Subjective))


def _structured(criterion: Criterion) -> Checkable:
    """A command that runs pytest must end with 0 and is judged by its tests, unless it names a control of its own."""
    if not isinstance(criterion, CommandExitZero):
        return criterion
    params = criterion.params
    if params.control or not runs_pytest(params.command):
        return criterion
    return Pytest(
        id=criterion.id,
        description=criterion.description,
        required=criterion.required,
        timeout=criterion.timeout,
        params=PytestParams(command=params.command, cwd=params.cwd, env=params.env),
    )


def _as_criterion(check: Check) -> CommandExitZero | Pytest:
    where = {"command": check.command, "cwd": check.cwd, "env": check.env}
    if check.kind == "pytest":
        tests = {"fail_to_pass": check.fail_to_pass, "pass_to_pass": check.pass_to_pass}
        pytest = PytestParams.model_validate({**where, **tests})
        return Pytest(id=check.name, required=check.required, timeout=check.timeout, params=pytest)
    return CommandExitZero(
        id=check.name,
        type="command_exit_zero",
        required=check.required,
        timeout=check.timeout,
        params=ExitParams.model_validate({**where, "control": check.control}),
    )


class Observation(Message):
    """What was seen of one command in its container: facts, no judgement.

    `exit_code` is the one that the engine reports, never something the command wrote. `stdout` and `stderr` are
    heads and tails (together at most 1 MiB) when `truncated`. `copy_failed`: the tree did not reach the place
    where the command runs. `build_failed`: the command did not begin, and the output is that of the build.
    """

    exit_code: int
    stdout: str = ""
    stderr: str = ""
    truncated: bool = False
    flooded: bool = False
    timed_out: bool = False
    oom_killed: bool = False
    copy_failed: bool = False
    build_failed: bool = False
    duration_ms: int = 0
    image_id: str = ""


class BaseOutcome(Message):
    """What the same command came to on the base; `evidence` names the blob with everything that was seen."""

    outcome: Outcome
    code: str
    evidence: str = ""


class CheckResult(Message):
    """What became of one item. `code` is stable (see `classify`), `text` is for people, output is a tail.

    `evidence` names the blob with everything that was seen; its digest is the evidence's id, so only the harness
    mints one (DESIGN 8). `base_outcome` is what the same command came to on the base, None where it was not run there.
    `outcomes`: of each run in their order, where a failure was run again. `seed` is what its random cases follow from.
    """

    id: str
    spelling: Literal["criterion", "check"]
    type: str
    label: str = ""
    command: str = ""
    required: bool = True
    outcome: Outcome
    code: str
    text: str = ""
    next_step: str = ""
    exit_code: int | None = None
    stdout: str = ""
    stderr: str = ""
    duration_ms: int = 0
    isolation: Literal["in_process", "out_of_process", "not_run"] = "not_run"
    evidence: str = ""
    base_outcome: Outcome | None = None
    tests: Counts | None = None
    control: ControlSeen | None = None
    expectation: Expectation | None = None
    outcomes: tuple[Outcome, ...] = ()
    seed: int | None = None

    @property
    def flaky(self) -> bool:
        """Whether it came to different outcomes on the same tree."""
        return len(set(self.outcomes)) > 1

    @property
    def passed(self) -> bool:
        """Seed `authority` 3.5's boolean: true only for `passed`."""
        return self.outcome is Outcome.PASSED


def classify(seen: Observation, limit: float, expected_exit: int = 0) -> tuple[Outcome, str, str]:
    """Outcome, code and text for one observed command: whatever the worker's tree can bring about is `failed`.

    `limit` is the check's own, in seconds. Order matters: a killed command also has an exit code.
    """
    if seen.copy_failed:
        return (
            Outcome.COULD_NOT_RUN,
            "copy_failed",
            "the frozen tree could not be copied to where the command runs",
        )
    if seen.flooded:
        return Outcome.FAILED, "output_flood", "the command wrote more than 64 MiB and was stopped"
    if seen.timed_out:
        return Outcome.FAILED, "verification_timeout", f"still running after {limit:g} s"
    if seen.oom_killed:
        return (
            Outcome.FAILED,
            "out_of_memory",
            "the command used more memory than the order's resources allow",
        )
    if seen.build_failed:
        return Outcome.FAILED, "build_failed", "a command of environment.build failed before the check could begin"
    if seen.exit_code == expected_exit:
        return Outcome.PASSED, "ok", f"exit code {seen.exit_code}"
    if seen.exit_code == 127:
        return Outcome.FAILED, "command_not_found", "exit code 127: a command was not found in the image"
    if seen.exit_code == 126:
        return Outcome.FAILED, "command_not_executable", "exit code 126: a command could not be executed"
    return Outcome.FAILED, "exit_code", f"exit code {seen.exit_code}, expected {expected_exit}"


NEVER_BEGAN = frozenset({"command_not_found", "command_not_executable", "not_recorded"})
"""Codes of a command that judged nothing: the same on the base, the image lacks it whoever did the work."""


NOTHING_TO_CHECK = "nothing_to_check"
"""The code of a check in which no test passes, neither on the work nor on the base: it constrains nothing."""

NO_TEST_PASSED = frozenset({"no_tests", "nothing_passed", "no_trusted_tests"})
"""Codes of a run of tests in which none passed that the base, or the order, has."""

_WAY_OUT = (
    "add a test to the base that passes there, lay tests of the order's own over it (verification.tests), name tests "
    "that have to pass (fail_to_pass), ask for what is wanted with a criterion (python_call, cli_io, http_response), "
    "or make this check advisory (required: false)"
)


def beside_the_base(result: CheckResult, base: BaseOutcome) -> CheckResult:
    """A failed `result` with what the base came to: whose failure is it?

    A command that judges and fails on both is the work that is still to be done; one that never began on either is
    none of the worker's doing. A run of tests in which no test of the base passes, where none passes on the base
    either, has nothing to check: a person decides (`decide`). A limit that both run into (time, memory, output) stays
    a failure: the worker's tree can bring it about, and the report says that the base does, too.
    """
    told = result.model_copy(update={"base_outcome": base.outcome})
    if result.outcome is not Outcome.FAILED or base.outcome is not Outcome.FAILED:
        return told
    if {result.code, base.code} <= NO_TEST_PASSED:
        return told.model_copy(
            update={
                "outcome": Outcome.COULD_NOT_RUN,
                "code": NOTHING_TO_CHECK,
                "text": f"{result.text}; no test passes on the base either, so this check constrains nothing",
                "next_step": _WAY_OUT,
            }
        )
    if base.code != result.code:
        return told
    if result.code in NEVER_BEGAN:
        return told.model_copy(
            update={
                "outcome": Outcome.COULD_NOT_RUN,
                "text": f"{result.text}; on the base, too, so it is not the work's doing",
                "next_step": result.next_step
                or "use an image that has the command, or install it in environment.setup",
            }
        )
    return told.model_copy(update={"text": f"{result.text} (on the base, too)"})


def could_not_run(item: Item, cause: Cause, reason: str, next_step: str) -> CheckResult:
    """The result of an item that nothing could be learned about."""
    return CheckResult(
        id=item.id,
        spelling=item.spelling,
        type=item.criterion.type,
        label=item.label,
        command=item.command,
        required=item.criterion.required,
        outcome=Outcome.COULD_NOT_RUN,
        code=cause,
        text=reason,
        next_step=next_step,
    )


def unavailable(item: Item, error: Unavailable) -> CheckResult:
    """`could_not_run` from the error that says why."""
    return could_not_run(item, error.cause, error.reason, error.next_step)


def all_required_passed(results: Iterable[CheckResult]) -> bool:
    """Seed `authority` 3.6, word for word: every required result passed. True for none, which `decide` rules on."""
    return all(result.passed for result in results if result.required)
