"""One check, one result, three values: `passed`, `failed`, `could_not_run`. It runs nothing.

Checks and criteria are two spellings of it. Source: DESIGN 1.2 and 7; seed `authority` 3.5-3.6.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Literal

from domain.base import Message
from domain.criteria import (
    CommandExitZero,
    CommandParams,
    Criterion,
    FileContainsParams,
    FileExistsParams,
    PythonCallParams,
    Subjective,
)
from domain.errors import Cause, Unavailable
from domain.order import Check, Order


class Outcome(StrEnum):
    """What a check came to. `could_not_run` needs a cause outside the worker's tree and is never a pass."""

    PASSED = "passed"
    FAILED = "failed"
    COULD_NOT_RUN = "could_not_run"


class Item(Message):
    """Something to run in a round: a criterion, or a check as the criterion that its command ends with 0."""

    spelling: Literal["criterion", "check"]
    criterion: Criterion

    @property
    def id(self) -> str:
        """The criterion's id or the check's name: unique within an order."""
        return self.criterion.id

    @property
    def needs_sandbox(self) -> bool:
        """Whether a container is needed; the others read the frozen tree alone."""
        return isinstance(self.criterion.params, CommandParams | PythonCallParams)

    @property
    def label(self) -> str:
        """What a person reads beside the id."""
        if self.criterion.description:
            return self.criterion.description
        match self.criterion.params:
            case CommandParams(command=command):
                return command
            case PythonCallParams(module=module, function=function):
                return f"{module}.{function}"
            case FileExistsParams(path=path) | FileContainsParams(path=path):
                return path
        return self.criterion.type


def items_of(order: Order) -> tuple[Item, ...]:
    """Everything deterministic that a round of `order` runs, criteria first, each in the order it is written."""
    criteria = [Item(spelling="criterion", criterion=c) for c in order.acceptance_criteria if c.deterministic]
    return (
        *criteria,
        *(Item(spelling="check", criterion=_as_criterion(c)) for c in order.verification.checks),
    )


def subjective_of(order: Order) -> tuple[Subjective, ...]:
    """The criteria that only a judge can tell."""
    return tuple(c for c in order.acceptance_criteria if isinstance(c, Subjective))


def _as_criterion(check: Check) -> CommandExitZero:
    return CommandExitZero(
        id=check.name,
        type="command_exit_zero",
        required=check.required,
        timeout=check.timeout,
        params=CommandParams(command=check.command, cwd=check.cwd, env=check.env),
    )


class Observation(Message):
    """What was seen of one command in its container: facts, no judgement.

    `exit_code` is the one that the engine reports, never something the command wrote. `stdout` and `stderr` are
    heads and tails (together at most 1 MiB) when `truncated`. `copy_failed`: the tree did not reach the place
    where the command runs.
    """

    exit_code: int
    stdout: str = ""
    stderr: str = ""
    truncated: bool = False
    flooded: bool = False
    timed_out: bool = False
    oom_killed: bool = False
    copy_failed: bool = False
    duration_ms: int = 0
    image_id: str = ""


class CheckResult(Message):
    """What became of one item. `code` is stable (see `classify`), `text` is for people, output is a tail.

    `evidence` names the blob with everything that was seen; its digest is the evidence's id, so only the harness
    mints one (DESIGN 8).
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
    if seen.exit_code == expected_exit:
        return Outcome.PASSED, "ok", f"exit code {seen.exit_code}"
    if seen.exit_code == 127:
        return Outcome.FAILED, "command_not_found", "exit code 127: a command was not found in the image"
    return Outcome.FAILED, "exit_code", f"exit code {seen.exit_code}, expected {expected_exit}"


def could_not_run(item: Item, cause: Cause, reason: str, next_step: str) -> CheckResult:
    """The result of an item that nothing could be learned about."""
    params = item.criterion.params
    return CheckResult(
        id=item.id,
        spelling=item.spelling,
        type=item.criterion.type,
        label=item.label,
        command=params.command if isinstance(params, CommandParams) else "",
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
