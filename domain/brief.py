"""What a worker is told: its todo, what the last attempt came to, what people said. CONTRACT "Brief".

It decides nothing, and has nothing in it that a worker may not know: no expected value, no secret, no authority.
"""

from __future__ import annotations

from typing import Any

from pydantic import JsonValue

from domain.base import Message
from domain.claims.claim import Claim
from domain.criteria import Criterion
from domain.feedback import RetryContext
from domain.handed_in import HandedAnswer
from domain.lifecycle import PARTIES
from domain.order import Check, Order
from domain.status import TodoStatus
from domain.todo import Todo

TOLD: dict[str, tuple[str, ...]] = {
    "file_exists": ("path",),
    "file_contains": ("path", "pattern"),
    "command_exit_zero": ("command", "cwd"),
    "command_output": (
        *("command", "cwd", "stdout", "stderr"),
        *("stdout_pattern", "stderr_pattern", "exit_code"),
    ),
    "pytest": ("command", "cwd"),
    "python_call": ("path", "module", "function"),
    "cli_io": ("command", "cwd"),
    "http_response": ("serve", "cwd", "url", "method"),
    "api_response": ("url",),
    "git_commit_exists": ("message",),
    "pr_exists": ("repository", "head"),
    "pr_merged": ("repository", "number"),
    "subjective": (),
}
"""What a worker is told of each type's parameters. Where values are compared out of process, and where a control
examines the check, it is what is asked, and not what must come of it: a worker that knew could write just that."""


class Brief(Message):
    """Fields as in CONTRACT; `refused`: why the last claim was not taken (code, reason).
    `clarification` is a human's answer.

    `attempt` counts audits from 1. `claim_path` is where the claim, the answer or the question is to be written.
    """

    todo: str
    content: str
    criteria: tuple[dict[str, JsonValue], ...] = ()
    attempt: int
    retry_context: dict[str, JsonValue] | None = None
    question: dict[str, JsonValue] | None = None
    clarification: str = ""
    refused: str = ""
    claim_path: str = ""
    claim_schema: dict[str, JsonValue] = {}
    resumed: bool = False


def brief_of(todo: Todo, last: RetryContext | None = None) -> Brief:
    """What the worker of `todo` is told now; `last` is what its last round left, `todo.retry_context`.

    Where its command writes, and whether it was lost before, is for `adapters/workers` to fill in.
    """
    asked = question_of(todo)
    schema = HandedAnswer.model_json_schema() if asked else Claim.model_json_schema()
    return Brief(
        todo=f"{todo.session}/{todo.id}",
        content=todo.order.content,
        criteria=criteria_of(todo.order),
        attempt=todo.audits + 1,
        retry_context=_retry_context(todo, last),
        question=asked,
        clarification=todo.clarification,
        refused=todo.last_refusal,
        claim_schema=schema,
    )


def criteria_of(order: Order) -> tuple[dict[str, JsonValue], ...]:
    """Every criterion and check of the order, as `TOLD`; a check is one whose id is its name."""
    checks = order.verification.checks if order.verification.enabled else []
    return (
        *(_told(c.id, c.type, c.required, c.description, c.params) for c in _criteria(order)),
        *(_told(c.name, _type(c), c.required, "", c) for c in checks),
    )


def question_of(todo: Todo) -> dict[str, JsonValue] | None:
    """The auditor's open question, as CONTRACT "Follow-up" has it; a blocked worker's own is no question to it."""
    if todo.question is None or todo.status is not TodoStatus.CLAIMED:
        return None
    return todo.question.model_dump(
        mode="json", include={"question", "evidence_requested", "reason", "round", "of", "deadline"}
    )


def _criteria(order: Order) -> list[Criterion]:
    return order.acceptance_criteria


def _type(check: Check) -> str:
    return "pytest" if check.kind == "pytest" else "command_exit_zero"


def _told(name: str, type_: str, required: bool, description: str, params: Any) -> dict[str, JsonValue]:
    known = {field: value for field in TOLD[type_] if (value := getattr(params, field)) is not None}
    told: dict[str, JsonValue] = {"id": name, "type": type_, "description": description, "required": required}
    return {**told, "params": known} if known else told


def _retry_context(todo: Todo, last: RetryContext | None) -> dict[str, JsonValue] | None:
    """What the last round left, with what people said since, and which attempts there were; None where nothing was."""
    feedback = "\n\n".join(_said(todo)) or None
    if last is None and feedback is None and not todo.prior_attempts:
        return None
    context = last or RetryContext(attempt_number=0, max_attempts=0)
    asked = question_of(todo)
    return context.model_copy(
        update={
            "attempt_number": todo.audits + 1,
            "max_attempts": todo.caps.audits,
            "human_feedback": feedback,
            "prior_attempts": todo.prior_attempts,
            "question": todo.question.question if asked and todo.question else None,
        }
    ).model_dump(mode="json")


def _said(todo: Todo) -> list[str]:
    """What people want: why it was sent back, and their notes."""
    notes = [n.content for n in todo.notes if PARTIES[n.author.role] == "human" and n.kind == "feedback"]
    return list(dict.fromkeys(text for text in (todo.feedback, *notes) if text.strip()))
