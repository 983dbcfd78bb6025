"""What the rounds of a todo do to it: they begin, ask, end, break. Their rows before that are the rounds' own.

Source: DESIGN 3 "round completed", "Caps", "Monotonicity"; seed `auditor` 3.0.3 and 4.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import cast

from domain.acts.fixing import loops, repair_begun
from domain.acts.standing import (
    NO_ROUND,
    audit_begun,
    escalated,
    exhausted,
    learned,
    of_the_system,
    told,
    verified,
    with_prior,
)
from domain.acts.step import Step, changed, placed, stepped
from domain.decision import Decision, RoundOutcome
from domain.events import AUDITOR, HARNESS, SYSTEM
from domain.feedback import FROM_THE_AUDITOR
from domain.life import FollowUp
from domain.lifecycle import Command
from domain.messages import RoundResult
from domain.safeguards import Trigger
from domain.status import TodoStatus
from domain.todo import OpenQuestion, Todo

FIRST_RETRY = 15.0
LONGEST_RETRY = 300.0
"""Seconds until what could not run is tried again: twice as long each time, up to this."""

MOST_WIDENED = 100.0
"""How much longer than the order says a check may ever take."""

OUTSIDE_THE_WORK = frozenset(
    {"checks_could_not_run", "system_error", "nothing_to_check", "not_judged", "cost_cap_exceeded", "timeout"}
)
"""Triggers of a round that are no word on the work: the same claim may be made again (DESIGN 3 "Waived")."""

NO_VERDICT = frozenset({"checks_could_not_run", "system_error", "cost_cap_exceeded", "timeout"})
"""Triggers of a round that came to no word on the work, which burns no cap (DESIGN 1.2)."""


def audit(todo: Todo, now: datetime) -> Step:
    """Once more what could not run; nothing where that is not waited for any more."""
    if todo.status is not TodoStatus.CLAIMED or todo.round or todo.retry_at is None:
        return Step(todo=todo)
    return audit_begun(todo, now)


def round_ended(todo: Todo, attempt: int, result: RoundResult, now: datetime) -> Step:
    """What the round `attempt` came to, DESIGN 3 "round completed"; of one that was cancelled: that it is ignored."""
    if attempt != todo.round:
        return _ignored(todo, result.decision.outcome, told(result.decision))
    informed = _informed(todo, attempt, result)
    if loops(informed, result):
        step = repair_begun(informed, attempt, result, now)
    else:
        step = _ended(informed, result.decision, now)
    if not step.events:
        return step
    (event,) = step.events
    before, after = changed(todo, step.todo)
    return step.model_copy(update={"events": (event.model_copy(update={"before": before, "after": after}),)})


def round_broke(todo: Todo, attempt: int, reason: str, now: datetime) -> Step:
    """The round ended without a result, and not because anybody cancelled it: a defect, so a human has to look."""
    if attempt != todo.round:
        return _ignored(todo, "broken", reason)
    return escalated(todo, "system_error", reason, now)


def ask(todo: Todo, asked: FollowUp, now: datetime) -> Step:
    """The auditor's question; one of a round that nobody waits for any more is no question."""
    if not todo.round or asked.attempt != todo.round or asked.round > asked.of:
        return Step(todo=todo)
    question = OpenQuestion(
        question=asked.question,
        evidence_requested=asked.evidence_requested,
        reason=asked.reason,
        round=asked.round,
        of=asked.of,
        timeout=asked.timeout,
        deadline=now + timedelta(seconds=asked.timeout),
    )
    moved = of_the_system(todo, Command.ASK)
    payload = asked.model_dump(mode="json", include={"question", "evidence_requested", "reason", "round", "of"})
    after = placed(todo, moved, now, question=question)
    return stepped(todo, after, moved.event, AUDITOR, payload)


def give_up(todo: Todo, now: datetime) -> Step:
    """Nobody answered in time: the auditor goes on with what there is. Nothing where there still is time."""
    asked = todo.question
    if not todo.round or asked is None or asked.deadline is None or now < asked.deadline:
        return Step(todo=todo)
    moved = of_the_system(todo, Command.GIVE_UP)
    payload = {"round": asked.round, "of": asked.of, "timeout": asked.timeout}
    after = placed(todo, moved, now, question=None, refused_drives=0)
    return stepped(todo, after, moved.event, SYSTEM, payload)


def _informed(todo: Todo, attempt: int, result: RoundResult) -> Todo:
    """With what the round learned, whatever that comes to."""
    decision = result.decision
    inconclusive = decision.outcome is RoundOutcome.INCONCLUSIVE
    prior = f"attempt {attempt}: {decision.outcome}: {told(decision)}"
    factor = todo.order.verification.retry.timeout_factor
    return todo.model_copy(
        update={
            **NO_ROUND,
            **learned(result),
            "waived": False,
            "audits": todo.audits + (not inconclusive and decision.trigger not in NO_VERDICT),
            "inconclusive": todo.inconclusive + 1 if inconclusive else 0,
            "widen": min(MOST_WIDENED, todo.widen * factor) if result.timed_out else todo.widen,
            "retry_context": result.retry_context or todo.retry_context,
            "prior_attempts": with_prior(todo, prior),
        }
    )


def _ended(todo: Todo, decision: Decision, now: datetime) -> Step:
    why = told(decision)
    match decision.outcome:
        case RoundOutcome.VERIFIED:
            return verified(todo, why, now)
        case RoundOutcome.CHANGES_REQUESTED:
            return _sent_back(todo, decision, now)
        case RoundOutcome.FAILED:
            moved = of_the_system(todo, Command.FAIL)
            codes = [reason.code for reason in decision.reasons]
            after = placed(todo, moved, now, trigger="hard_fail")
            return stepped(todo, after, moved.event, HARNESS, {"reasons": codes, "trigger": "hard_fail"})
        case RoundOutcome.INCONCLUSIVE:
            return _tried_again(todo, why, now)
        case RoundOutcome.NEEDS_HUMAN:
            trigger = cast(Trigger, decision.trigger or "system_error")
            return escalated(todo, trigger, why, now, waived=trigger in OUTSIDE_THE_WORK)


def _sent_back(todo: Todo, decision: Decision, now: datetime) -> Step:
    """A revision, if the caps allow another one. A soft fail for want of an auditor is none of the work's doing."""
    why = told(decision)
    if todo.audits >= todo.caps.audits:
        return exhausted(todo, "audit_cap_exceeded", f"{_audits(todo)}: {why}", now)
    if todo.revisions + 1 > todo.caps.revisions:
        reason = f"{todo.revisions} revisions, at most {todo.caps.revisions}: {why}"
        return exhausted(todo, "revision_cap_exceeded", reason, now)
    moved = of_the_system(todo, Command.REVISE)
    waived = all(reason.code in FROM_THE_AUDITOR for reason in decision.reasons)
    after = placed(todo, moved, now, revisions=todo.revisions + 1, waived=waived)
    return stepped(todo, after, moved.event, HARNESS, {"feedback": why, "revision": after.revisions})


def _tried_again(todo: Todo, why: str, now: datetime) -> Step:
    """Nothing was learned: once more after a while, up to `tool_retries`. The round's own rows say so."""
    if todo.inconclusive > todo.order.safeguards.tool_retries:
        return escalated(todo, "checks_could_not_run", why, now, waived=True)
    seconds = min(LONGEST_RETRY, FIRST_RETRY * 2.0 ** (todo.inconclusive - 1))
    return Step(todo=todo.model_copy(update={"retry_at": now + timedelta(seconds=seconds), "waived": True}))


def _ignored(todo: Todo, outcome: str, reason: str) -> Step:
    return stepped(todo, todo, "round_ignored", HARNESS, {"outcome": outcome, "reason": reason})


def _audits(todo: Todo) -> str:
    return f"{todo.audits} audits, at most {todo.caps.audits}"
