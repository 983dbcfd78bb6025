"""The families of errors: *refused* (you may not), *malformed* (this is nonsense), *unavailable* (we could not tell).

Source: DESIGN section 2, house rules. What is none of these is a defect of Countersign and is not caught.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from domain.base import Message


class CountersignError(Exception):
    """Anything Countersign says no to, on purpose."""


class Refused(CountersignError):
    """The request was understood and may not be done. `code` is stable, `next_step` says what would help.

    `diff` shows what has changed since it was allowed, as a unified difference; empty where there is none to show.
    """

    def __init__(self, code: str, reason: str, next_step: str, diff: str = "") -> None:
        super().__init__(f"{reason} ({code}). {next_step}")
        self.code = code
        self.reason = reason
        self.next_step = next_step
        self.diff = diff


class Problem(Message):
    """One thing wrong with an input: where it is, what is wrong, what was expected. `line` counts from 1."""

    file: str
    line: int
    field: str
    what: str
    expected: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.field}: {self.what}, {self.expected}"


class Malformed(CountersignError):
    """The input is not what it should be. Carries every problem found, not only the first."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = tuple(problems)


class Cause(StrEnum):
    """Why we could not tell: causes outside the worker's tree."""

    ENGINE_UNAVAILABLE = "engine_unavailable"
    ENGINE_LIMITS = "engine_limits"
    IMAGE_MISSING = "image_missing"
    IMAGE_UNSUITABLE = "image_unsuitable"
    SETUP_FAILED = "setup_failed"
    REFERENCE_FAILED = "reference_failed"
    SEAL_MISMATCH = "seal_mismatch"
    BASE_UNREADABLE = "base_unreadable"
    WORKSPACE_UNREADABLE = "workspace_unreadable"
    ORDER_FILES_UNUSABLE = "order_files_unusable"
    STORE_UNAVAILABLE = "store_unavailable"
    DISK_FULL = "disk_full"
    STORE_MISMATCH = "store_mismatch"
    SERVER_UNAVAILABLE = "server_unavailable"
    NO_WORKER = "no_worker"
    SERVICE_UNAVAILABLE = "service_unavailable"
    NOT_ALLOWED = "not_allowed"
    SYSTEM_ERROR = "system_error"


RETRYABLE = frozenset(
    {
        Cause.ENGINE_UNAVAILABLE,
        Cause.SEAL_MISMATCH,
        Cause.STORE_UNAVAILABLE,
        Cause.DISK_FULL,
        Cause.SERVER_UNAVAILABLE,
        Cause.SERVICE_UNAVAILABLE,
    }
)


class Unavailable(CountersignError):
    """We could not tell, for a cause outside the worker's tree. Never a verdict; `next_step` is for a person to do."""

    def __init__(self, cause: Cause, reason: str, next_step: str) -> None:
        super().__init__(f"{reason} ({cause}). {next_step}")
        self.cause = cause
        self.reason = reason
        self.next_step = next_step

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed a little later without anybody acting."""
        return self.cause in RETRYABLE


class WorkspaceRefused(CountersignError):
    """The worker's tree cannot be taken as it is (too many files, too large): its failure, not ours (DESIGN 1.2)."""

    def __init__(self, reason: str, next_step: str) -> None:
        super().__init__(f"{reason}. {next_step}")
        self.reason = reason
        self.next_step = next_step


def no_blob(digest: str) -> Unavailable:
    """What every evidence store raises for a blob that it does not have."""
    return Unavailable(
        Cause.STORE_UNAVAILABLE,
        f"the evidence store has no blob {digest}",
        "see that all workers use the same evidence folder and nothing was deleted from it, then verify again",
    )
