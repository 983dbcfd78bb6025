"""What a report says of the fix loop that followed its round: each repair, where the result went, what a person can do.

Pure. Source: seed `fix loop` 1 and 6, for `countersign verify`; `fix_summary` has what lies in the evidence folder.
"""

from __future__ import annotations

from collections.abc import Mapping

from domain.base import Message
from domain.confidence import Confidence
from domain.fix_files import PATCH, SUMMARY, below
from domain.fix_messages import Ending, FixLoopResult, Iteration, Placed
from domain.roles.spending import MICROS

AGAIN = "then runs the same command again"
NEXT_STEPS: Mapping[str, str] = {
    "high_stakes": f"a human repairs the work, or says in the order that its domain is another, {AGAIN}.",
    "revision_cap_exceeded": f"a human reads the summary, changes the work or the order (fix_loop.max_loops), {AGAIN}.",
    "cost_cap_exceeded": f"a human raises fix_loop.max_cost_usd in the order, or changes the work, {AGAIN}.",
    "could_not_apply": f"a human changes what the fix builder could not, {AGAIN}.",
    "timeout": f"a human gives the roles more time (safeguards.audit_timeout) or faster models, {AGAIN}.",
    "checks_could_not_run": "remove the cause, then run the same command again: nothing is lost.",
    "hard_fail": "a human decides whether this todo is tried again.",
    "system_error": "see it in the Web UI and in the worker's log, then run the same command again.",
}
"""By what a loop escalated for."""

ANY_OTHER = "a human looks at the evidence and decides; or gives the order what it lacks."


class IterationReport(Message):
    """One repair. `attempt` numbers the round of its result, null where there was none, and `why` says why not.

    `refused` counts the calls of tools that were refused, `cost_usd` that of repair and round.
    """

    loop: int
    answer: str
    edits: int
    refused: int
    paths: tuple[str, ...]
    attempt: int | None
    outcome: str
    confidence: Confidence | None
    cost_usd: float
    why: str


class FixLoopReport(Message):
    """The whole loop. `trigger` and `reason` where it escalated; `loops` of `max_loops` were used.

    `placed`: the patch of `paths` is `applied` to the workspace, or only `offered` as the file `patch`, because of
    `why_offered`; empty where nothing was verified. `patch` and `summary` are where people find them, a path or a URL.
    """

    ending: Ending
    trigger: str
    reason: str
    loops: int
    max_loops: int
    cost_usd: float
    iterations: tuple[IterationReport, ...]
    notes: tuple[str, ...]
    placed: Placed
    paths: tuple[str, ...]
    why_offered: str
    patch: str
    summary: str
    next_step: str


def fix_loop_report(loop: FixLoopResult, folder: str) -> FixLoopReport:
    """What `loop` came to; `folder`: where people find what is filed of the round that it began with."""
    patch = below(folder, PATCH) if loop.patch else ""
    paths = {path for each in loop.iterations for path in each.paths} if loop.placed else set()
    return FixLoopReport(
        ending=loop.ending,
        trigger=loop.trigger,
        reason=loop.reason,
        loops=loop.loops,
        max_loops=loop.of,
        cost_usd=loop.tally.micros / MICROS,
        iterations=tuple(_iteration(each) for each in loop.iterations),
        notes=loop.notes,
        placed=loop.placed,
        paths=tuple(sorted(paths)),
        why_offered=loop.why_offered,
        patch=patch,
        summary=below(folder, SUMMARY) if loop.summary else "",
        next_step=_next_step(loop, patch),
    )


def _iteration(each: Iteration) -> IterationReport:
    return IterationReport(
        loop=each.loop,
        answer=each.answer,
        edits=each.edits,
        refused=each.refused,
        paths=each.paths,
        attempt=each.attempt or None,
        outcome=each.outcome,
        confidence=each.confidence,
        cost_usd=each.micros / MICROS,
        why=each.why,
    )


def _next_step(loop: FixLoopResult, patch: str) -> str:
    if loop.ending == "escalated":
        return NEXT_STEPS.get(loop.trigger, ANY_OTHER)
    if loop.ending == "aborted":
        return "run the same command again: nothing of the loop was written to the workspace."
    if loop.placed == "offered" and not patch:
        return "run the same command again: the work is verified, and its patch could not be filed."
    if loop.placed == "offered":
        return f"read the patch, then apply it in the workspace: patch -p1 < {patch}"
    if loop.placed == "applied":
        return "nothing: the repaired work is countersigned, and in the workspace."
    return "nothing: the work is countersigned."
