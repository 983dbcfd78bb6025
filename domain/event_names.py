"""The trail's events by the names and fields that the seeds give them: three vocabularies, each a table.

`auditor` (its section 6) names every event, since its list of actions is open: ours, by our names. `authority` (its
section 8) and `pipeline` ("Events Emitted") name some; the others have no counterpart there, and none is made up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC
from typing import Literal, get_args

from pydantic import JsonValue

from domain.decision import RoundOutcome
from domain.events import Action, Role, TrailRow
from domain.status import ReviewStatus

Vocabulary = Literal["auditor", "authority", "pipeline"]
VOCABULARIES: tuple[Vocabulary, ...] = get_args(Vocabulary)


@dataclass(frozen=True)
class Source:
    """Where the value of a field comes from: in words, and taken from a row, None where the row has none."""

    words: str
    of: Callable[[TrailRow], JsonValue]


@dataclass(frozen=True)
class Name:
    """An event's name in a vocabulary, and its fields there."""

    name: str
    fields: dict[str, Source]


@dataclass(frozen=True)
class NamedEvent:
    """A row as a vocabulary has it."""

    name: str
    fields: dict[str, JsonValue]


def payload(field: str) -> Source:
    """A field of the payload, as it is."""
    return Source(f"`{field}`", lambda row: row.payload.get(field))


def mapped(field: str, words: dict[str, str]) -> Source:
    """A field of the payload, in the seed's words."""
    told = ", ".join(f"{ours}: {theirs}" for ours, theirs in words.items())
    return Source(f"`{field}` ({told})", lambda row: words.get(str(row.payload.get(field))))


def timestamp_of(row: TrailRow) -> str:
    """When it happened, as hashed: UTC with microseconds."""
    return row.timestamp.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _reasoning(row: TrailRow) -> str:
    reasons = row.payload.get("reasons")
    codes = ", ".join(str(code) for code in reasons) if isinstance(reasons, list) else ""
    outcome = str(row.payload.get("outcome", ""))
    told = f"{outcome}: {codes}" if codes else outcome
    judge = row.payload.get("reasoning")
    return f"{told}\nthe judge: {judge}" if isinstance(judge, str) and judge else told


OUTCOMES = {
    RoundOutcome.VERIFIED.value: "PASS",
    RoundOutcome.CHANGES_REQUESTED.value: "SOFT_FAIL",
    RoundOutcome.FAILED.value: "HARD_FAIL",
    RoundOutcome.NEEDS_HUMAN.value: "SOFT_FAIL",
    RoundOutcome.INCONCLUSIVE.value: "SOFT_FAIL",
}
"""Seed `authority` 4.4 has three words; what nobody could tell is no pass, and may be tried again (its 10.4)."""

OVERRIDES = {"check": "CHECK_OVERRIDE", "verifier": "VERIFIER_OVERRIDE", "direct": "DIRECT_APPROVAL"}

TODO = Source("the todo's id", lambda row: row.todo_id)
ATTEMPT = Source("SESSION/TODO/ATTEMPT", lambda row: f"{row.session}/{row.todo_id}/{row.attempt}")
ROUND = Source("the round's workflow id", lambda row: row.workflow_id)
WHEN = Source("when it happened, UTC", timestamp_of)
WHO = Source("who, by name", lambda row: row.actor.identity or row.actor.role)
REASONING = Source("`outcome`, the codes in `reasons`, and the judge's `reasoning` where it has a word", _reasoning)

_OF_AN_ATTEMPT = {"task_id": TODO, "attempt_id": ATTEMPT}
_OF_A_CHECK = {"check_name": payload("check"), **_OF_AN_ATTEMPT}
_OF_AN_ORDER = {"work_order_id": TODO}

AUTHORITY: dict[Action, Name] = {
    "verification_started": Name("VerificationStarted", _OF_AN_ATTEMPT),
    "check_started": Name("CheckStarted", _OF_A_CHECK),
    "check_completed": Name(
        "CheckCompleted", {**_OF_A_CHECK, **{name: payload(name) for name in ("passed", "exit_code", "duration_ms")}}
    ),
    "scope_violation_detected": Name(
        "ScopeViolationDetected",
        {**_OF_AN_ATTEMPT, "paths": payload("paths"), "violations_total": payload("violations_total")},
    ),
    "retry_context_assembled": Name(
        "RetryContextAssembled",
        {**_OF_AN_ATTEMPT, **{name: payload(name) for name in ("attempt_number", "max_attempts", "failures")}},
    ),
    "audit_completed": Name(
        "VerificationCompleted", {**_OF_AN_ATTEMPT, "outcome": mapped("outcome", OUTCOMES), "reasoning": REASONING}
    ),
    "human_override": Name(
        "HumanOverride",
        {
            "user": WHO,
            "task_id": TODO,
            "override_type": mapped("kind", OVERRIDES),
            "reason": payload("reason"),
            "timestamp": WHEN,
        },
    ),
}
"""Seed `authority` 8, with its fields. A check is a check or a criterion: they are two spellings of the same."""

PIPELINE: dict[Action, Name] = {
    "verification_started": Name("verify.started", {**_OF_AN_ORDER, "process_id": ROUND}),
    "spec_created": Name("verify.spec_created", {**_OF_AN_ORDER, "summary": payload("summary")}),
    "tests_generated": Name("verify.tests_generated", {**_OF_AN_ORDER, "test_count": payload("count")}),
    "check_completed": Name(
        "verify.test_executed", {**_OF_AN_ORDER, "criterion": payload("check"), "passed": payload("passed")}
    ),
    "criterion_audited": Name(
        "verify.audited",
        {**_OF_AN_ORDER, "criterion": payload("criterion"), "assessment": payload("assessment")},
    ),
    "audit_completed": Name("verify.verdict", {**_OF_AN_ORDER, "verdict": payload("result"), "reasoning": REASONING}),
}
"""Seed `pipeline` "Events Emitted". The verdict is the report's word: PASS, FAIL, or INCONCLUSIVE for no verdict."""

NAMES: dict[Vocabulary, dict[Action, Name]] = {"authority": AUTHORITY, "pipeline": PIPELINE}

AUDITOR_ACTORS: dict[Role, str] = {
    "worker": "worker",
    "auditor": "auditor",
    "harness": "system",
    "human": "human",
    "system": "system",
    "unattributed": "worker",
}
"""The four words of seed `auditor` 6.1. What nobody signed may be the worker's: it is not said to be a human's."""


_GIVEN_BY_THE_AUDITOR = frozenset({"audit_completed", "approved", "changes_requested"})


def auditor_action(row: TrailRow) -> str:
    """The action in the auditor's words: a round that itself begins the review is what it calls `audit_started`."""
    begins = row.after.get("review_status") == ReviewStatus.AUDITING != row.before.get("review_status")
    return "audit_started" if row.action == "verification_started" and begins else row.action


def auditor_actor(row: TrailRow) -> str:
    """The actor in the auditor's words: the harness gives the verdict, and what follows, in the auditor's place."""
    if row.action in _GIVEN_BY_THE_AUDITOR and row.actor.role == "harness":
        return "auditor"
    return AUDITOR_ACTORS[row.actor.role]


def named(row: TrailRow, vocabulary: Vocabulary) -> NamedEvent | None:
    """`row` as the vocabulary has it, None where it has no name for it. Fields that the row lacks are None."""
    if vocabulary == "auditor":
        return NamedEvent(auditor_action(row), _audit_event(row))
    for action, name in NAMES[vocabulary].items():
        if action == row.action:
            return NamedEvent(name.name, {field: source.of(row) for field, source in name.fields.items()})
    return None


def event_json(row: TrailRow, event: NamedEvent, vocabulary: Vocabulary) -> dict[str, JsonValue]:
    """The event as one object: the auditor's AuditEvent, or name, id and time before the fields."""
    if vocabulary == "auditor":
        return event.fields
    return {"event": event.name, "event_id": row.event_id, "timestamp": timestamp_of(row), **event.fields}


def _audit_event(row: TrailRow) -> dict[str, JsonValue]:
    """Seed `auditor` 6.1, field by field."""
    return {
        "event_id": row.event_id,
        "timestamp": timestamp_of(row),
        "todo_id": row.todo_id,
        "actor": auditor_actor(row),
        "action": auditor_action(row),
        "before_state": dict(row.before),
        "after_state": dict(row.after),
        "payload": dict(row.payload),
    }
