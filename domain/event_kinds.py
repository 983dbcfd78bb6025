"""The union of the trail's events: one table of who may write each, with which payload, and how it is shown.

`log show`, the documentation and the tests are made from it; the names that the seeds have for the same events are in
`event_names`. Source: DESIGN 3 and 5, seed `auditor` 6.2, seed `guardrails` "Audit Log Example".
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from pydantic import ValidationError

from domain import event_payloads as p
from domain import fix_payloads as f
from domain import round_payloads as r
from domain.events import Action, Role, TrailEntry
from domain.status import ReviewStatus, SessionStatus, TodoStatus

HUMAN: tuple[Role, ...] = ("human", "unattributed")
"""Without a signature, whoever has the user's account may have been an agent: DESIGN 5."""

ANYBODY: tuple[Role, ...] = ("worker", *HUMAN)


@dataclass(frozen=True)
class Kind:
    """One event. `label`: the word in `log show`, `shown`: the fields of the payload after it, in this order."""

    what: str
    actors: tuple[Role, ...]
    payload: type[p.Payload]
    label: str
    shown: tuple[str, ...] = ()


KINDS: dict[Action, Kind] = {
    "session_created": Kind("A session begins", ANYBODY, p.SessionCreated, "SESSION_CREATE", ("todos", "timeout")),
    "paused": Kind("The session starts nothing new", (*HUMAN, "system"), p.Paused, "PAUSE", ("escalation", "reason")),
    "resumed": Kind("The session goes on", (*HUMAN, "system"), p.ByPerson, "RESUME", ("reason",)),
    "stopped": Kind("The session ends where it stands", HUMAN, p.ByPerson, "STOP", ("reason",)),
    "session_timed_out": Kind(
        "The session's time is over", ("system",), p.SessionTimedOut, "SESSION_TIMEOUT", ("timeout", "unfinished")
    ),
    "session_completed": Kind(
        "Every todo has ended", ("system",), p.SessionCompleted, "SESSION_END", ("verified", "failed", "cancelled")
    ),
    "todo_created": Kind("A new todo", ANYBODY, p.TodoCreated, "TODO_CREATE", ("content", "parent", "reason")),
    "todo_started": Kind("pending to in_progress", ("worker",), p.TodoStarted, "TODO_START", ("base",)),
    "evidence_added": Kind("The worker brings evidence", ("worker",), p.EvidenceAdded, "EVIDENCE_ADD", ("evidence",)),
    "todo_claimed": Kind("in_progress to claimed", ("worker",), p.TodoClaimed, "TODO_CLAIM", ("snapshot", "evidence")),
    "audit_started": Kind("A claim is going to be judged", ("system",), p.AuditStarted, "AUDIT_START", ("attempt",)),
    "follow_up_asked": Kind(
        "The auditor wants to know more", ("auditor",), p.FollowUpAsked, "FOLLOW_UP_ASK", ("round", "of", "question")
    ),
    "follow_up_answered": Kind(
        "The worker answers", ("worker",), p.FollowUpAnswered, "FOLLOW_UP_ANSWER", ("round", "evidence")
    ),
    "follow_up_expired": Kind(
        "Nobody answered in time", ("system",), p.FollowUpExpired, "FOLLOW_UP_EXPIRE", ("round", "of")
    ),
    "todo_blocked": Kind("The worker cannot go on", ("worker",), p.Blocked, "TODO_BLOCK", ("question",)),
    "todo_unblocked": Kind("A human clears that up", HUMAN, p.Unblocked, "TODO_UNBLOCK", ("clarification", "reason")),
    "approved": Kind(
        "claimed to verified", ("auditor", "harness", *HUMAN), p.Approved, "TODO_APPROVE", ("snapshot", "reason")
    ),
    "changes_requested": Kind(
        "A revision is needed",
        ("auditor", "harness", *HUMAN),
        p.ChangesRequested,
        "TODO_REJECT",
        ("revision", "feedback", "reason"),
    ),
    "escalated": Kind("A human has to look", ("system",), p.Escalated, "ESCALATE", ("trigger", "reason")),
    "failed": Kind("The todo failed", ("system", "auditor", "harness"), p.Failed, "TODO_FAIL", ("reasons",)),
    "human_override": Kind(
        "A human overrules checks or the auditor",
        HUMAN,
        p.HumanOverride,
        "OVERRIDE",
        ("kind", "acknowledged", "reason"),
    ),
    "returned": Kind(
        "A human gives it back to a worker", HUMAN, p.Returned, "TODO_RETURN", ("attempts", "cost_usd", "reason")
    ),
    "edited": Kind("A human changed the todo", HUMAN, p.Edited, "TODO_EDIT", ("fields", "version", "reason")),
    "noted": Kind("A note was attached", HUMAN, p.Noted, "TODO_NOTE", ("kind", "content", "reason")),
    "reordered": Kind("The todo's place changed", HUMAN, p.Reordered, "TODO_REORDER", ("order_index", "reason")),
    "deleted": Kind("The todo is cancelled, its record stays", HUMAN, p.Act, "TODO_DELETE", ("reason",)),
    "reopened": Kind("A subtask is open again", ("system",), p.Reopened, "TODO_REOPEN", ("child", "reason")),
    "flagged": Kind("Somebody should look at it again", ("system",), p.Reason, "TODO_FLAG", ("reason",)),
    "refused": Kind(
        "Asked for and not allowed",
        ANYBODY,
        p.RefusedCommand,
        "REFUSE",
        ("command", "code", "count", "marks", "reason"),
    ),
    "worker_started": Kind("A worker command starts", ("system",), p.WorkerStarted, "WORKER_START", ("drive",)),
    "worker_ended": Kind(
        "A worker command has ended",
        ("system",),
        p.WorkerEnded,
        "WORKER_END",
        ("drive", "exit_code", "timed_out", "resumed"),
    ),
    "round_ignored": Kind(
        "The result of a cancelled round", ("harness",), p.RoundIgnored, "ROUND_IGNORE", ("outcome", "reason")
    ),
    "verification_started": Kind(
        "A round begins", (*ANYBODY, "system"), r.VerificationStarted, "VERIFY_START", ("attempt", "items")
    ),
    "snapshot_frozen": Kind(
        "Workspace and base are frozen", ("system",), r.SnapshotFrozen, "SNAPSHOT", ("head", "base", "error")
    ),
    "scope_assessed": Kind(
        "The changes are sorted",
        ("system",),
        r.ScopeAssessed,
        "SCOPE",
        ("tree", "changed", "restored", "dropped", "dropped_paths", "violations"),
    ),
    "scope_violation_detected": Kind(
        "Changes out of scope",
        ("system",),
        r.ScopeViolationDetected,
        "SCOPE_VIOLATION",
        ("violations_total", "paths"),
    ),
    "environment_ready": Kind("The image is there", ("system",), r.ImageReady, "ENVIRONMENT", ("image", "error")),
    "environment_set_up": Kind(
        "The base's inputs are installed", ("system",), r.ImageReady, "SETUP", ("image", "error")
    ),
    "check_started": Kind("A check or criterion runs", ("harness",), r.CheckStarted, "CHECK_START", ("check",)),
    "check_completed": Kind(
        "A check or criterion came to a result",
        ("harness",),
        r.CheckCompleted,
        "CHECK",
        ("check", "outcome", "code", "exit_code", "duration_ms"),
    ),
    "base_compared": Kind(
        "What failed ran on the base, too",
        ("harness",),
        r.BaseCompared,
        "BASE_RUN",
        ("check", "outcome", "base_outcome", "code"),
    ),
    "probe_completed": Kind(
        "Whether the checks test the change", ("harness",), r.ProbeCompleted, "PROBE", ("how", "tested", "text")
    ),
    "claim_contradicted": Kind(
        "The claim says something else than was seen",
        ("harness",),
        r.ClaimContradicted,
        "CONTRADICTION",
        ("check", "claimed", "observed"),
    ),
    "spec_created": Kind("The designer is done", ("auditor",), r.SpecCreated, "SPEC", ("criteria", "summary")),
    "tests_generated": Kind("The strategist is done", ("auditor",), r.GeneratedTests, "TESTS", ("count",)),
    "check_rejected": Kind(
        "A drafted check may not count",
        ("harness",),
        r.CheckRejected,
        "REJECT",
        ("criterion", "code", "dropped", "check"),
    ),
    "criterion_audited": Kind(
        "The auditor on one criterion",
        ("auditor",),
        r.CriterionAudited,
        "AUDIT",
        ("criterion", "assessment", "confidence"),
    ),
    "criterion_judged": Kind(
        "The judge on one disputed criterion",
        ("auditor",),
        r.CriterionJudged,
        "JUDGE",
        ("criterion", "verdict", "confidence", "first"),
    ),
    "role_pass_completed": Kind(
        "A role has answered, asked, or come to no answer",
        ("auditor",),
        r.RolePassCompleted,
        "ROLE_PASS",
        ("role", "stage", "part", "outcome", "model", "scripted", "cost_usd"),
    ),
    "tool_refused": Kind(
        "A role tried what it may not", ("auditor",), r.ToolRefused, "TOOL_REFUSE", ("role", "tool", "code", "reason")
    ),
    "retry_context_assembled": Kind(
        "What the next attempt is told",
        ("system",),
        r.RetryContextAssembled,
        "RETRY_CONTEXT",
        ("attempt_number", "max_attempts", "failures"),
    ),
    "audit_completed": Kind(
        "The verdict of a round",
        ("auditor", "harness"),
        r.AuditCompleted,
        "TODO_VERIFY",
        ("result", "outcome", "criteria", "reasons"),
    ),
    "verification_cancelled": Kind(
        "A round ended without a verdict", ("system",), p.Reason, "VERIFY_CANCEL", ("reason",)
    ),
    "fix_loop_started": Kind(
        "A fix loop begins", ("system",), f.FixLoopStarted, "FIX_START", ("attempt", "loops", "max_loops")
    ),
    "fix_iteration_started": Kind(
        "A repair begins", ("system",), f.FixIterationStarted, "FIX_LOOP", ("loop", "of", "attempt", "estimate_usd")
    ),
    "fix_iteration_completed": Kind(
        "A repair was verified, or was none",
        ("system",),
        f.FixIterationCompleted,
        "FIX_LOOP_END",
        ("loop", "of", "answer", "attempt", "confidence", "why"),
    ),
    "patch_applied": Kind(
        "A verified repair is in the workspace", ("system",), f.PatchPlaced, "PATCH_APPLY", ("paths",)
    ),
    "patch_offered": Kind(
        "A verified repair is left to a person", ("system",), f.PatchPlaced, "PATCH_OFFER", ("paths", "reason")
    ),
    "fix_loop_ended": Kind(
        "A fix loop has ended",
        ("system",),
        f.FixLoopEnded,
        "FIX_END",
        ("ending", "trigger", "loops", "max_loops", "last_verdict", "reason"),
    ),
    "reminded": Kind("A human has not looked yet", ("system",), p.Reminded, "REMIND", ("number", "addresses")),
    "notified": Kind("An address was told", ("system",), p.Notified, "NOTIFY", ("kind", "address", "tries")),
    "notification_failed": Kind(
        "An address could not be told", ("system",), p.NotificationFailed, "NOTIFY_FAIL", ("kind", "address", "reason")
    ),
    "evidence_pruned": Kind(
        "Old evidence was removed",
        (*HUMAN, "system"),
        p.EvidencePruned,
        "EVIDENCE_PRUNE",
        ("older_than_seconds", "blobs", "memos", "folders", "bytes"),
    ),
    "order_trusted": Kind(
        "A person pinned an order's file", HUMAN, p.OrderTrusted, "ORDER_TRUST", ("path", "pin", "established")
    ),
    "order_trust_revoked": Kind(
        "A person took a pin back", HUMAN, p.OrderTrusted, "ORDER_TRUST_REVOKE", ("path", "pin", "established")
    ),
}


def problems(entry: TrailEntry) -> tuple[str, ...]:
    """What is wrong with `entry` as an event that this version writes; nothing for one that is in order.

    For writers, and the tests that hold them to the table. Stored rows are not judged: another version wrote them.
    """
    kind = KINDS[entry.action]
    found = []
    if entry.actor.role not in kind.actors:
        found.append(f"actor: {entry.actor.role}, expected one of {', '.join(kind.actors)}")
    for side in ("before", "after"):
        values = getattr(entry, side)
        for name, known in (_TODO_STATES if entry.todo_id else _SESSION_STATES).items():
            if name in values and str(values[name]) not in known:
                found.append(f"{side}.{name}: {values[name]!r} is none")
    try:
        kind.payload.model_validate_json(json.dumps(entry.model_dump(mode="json")["payload"]))
    except ValidationError as error:
        for each in error.errors(include_url=False):
            found.append(": ".join(("payload" + "".join(f".{part}" for part in each["loc"]), each["msg"])))
    return tuple(f"{entry.action}: {what}" for what in found)


_TODO_STATES: dict[str, frozenset[str]] = {"status": frozenset(TodoStatus), "review_status": frozenset(ReviewStatus)}
_SESSION_STATES: dict[str, frozenset[str]] = {"status": frozenset(SessionStatus)}
