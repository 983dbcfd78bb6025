"""What the fix loop of a todo's round does to it: it begins, ends, breaks. Its rounds and its own rows are the loop's.

What a loop may do is `domain.fixing`'s to say. Source: seed `fix loop` 1, DESIGN 3 "The fix loop's rounds".
"""

from __future__ import annotations

from datetime import datetime
from typing import cast

from domain.acts.standing import escalated, learned, of_the_system, told, verified, with_prior
from domain.acts.step import Step, cut, placed, stepped
from domain.decision import RoundOutcome
from domain.events import HARNESS, SYSTEM
from domain.feedback import FROM_THE_AUDITOR
from domain.fix_files import PATCH, below
from domain.fix_messages import FixLoopResult
from domain.fix_payloads import FixLoopStarted
from domain.fix_summary import escalation_reason
from domain.fixing import Tally, begins, budget_of, high_stakes
from domain.lifecycle import Command
from domain.messages import RoundResult
from domain.roles.spending import MICROS
from domain.safeguards import Trigger
from domain.todo import Repairing, Todo


def loops(todo: Todo, result: RoundResult) -> bool:
    """Whether a fix loop goes on with a round that ended so, and not the caps.

    Once one was escalated, only a human's budget brings the next; what is of high stakes is a person's every time.
    """
    return begins(todo.order, result) and (high_stakes(todo.order) or not todo.fixing.closed)


def repair_begun(todo: Todo, attempt: int, result: RoundResult, now: datetime) -> Step:
    """The fix loop of the round `attempt`. As many numbers as it may have rounds are no other round's any more."""
    budget, used = budget_of(todo.order, todo.fixing.granted), todo.fixing.used
    moved = of_the_system(todo, Command.REPAIR)
    after = placed(
        todo,
        moved,
        now,
        repair=Repairing(attempt=attempt, result=result),
        reserved=attempt + budget.loops,
        waived=all(reason.code in FROM_THE_AUDITOR for reason in result.decision.reasons),
    )
    assert result.confidence is not None, "the loop begins with nothing else"
    payload = FixLoopStarted(
        attempt=attempt,
        domain=todo.order.domain,
        confidence=result.confidence,
        loops=used.loops,
        max_loops=budget.loops,
        spent_usd=used.micros / MICROS,
        max_cost_usd=budget.micros / MICROS,
    )
    return stepped(todo, after, moved.event, SYSTEM, payload.model_dump(mode="json"))


def repair_ended(todo: Todo, attempt: int, result: FixLoopResult, now: datetime) -> Step:
    """What the loop of the round `attempt` came to. One that nobody waits for any more has used its budget, no more."""
    known = _with_used(todo, result.tally)
    if not _waited_for(todo, attempt):
        return Step(todo=known)
    known = known.model_copy(update={"repair": None})
    match result.ending:
        case "success" | "success_with_notes":
            return _repaired(known, attempt, result, now)
        case "escalated":
            return _escalated(known, attempt, result, now)
        case "aborted":
            return _broke(known, f"its fix loop was ended: {result.reason or 'no reason is recorded'}", now)


def repair_broke(todo: Todo, attempt: int, reason: str, now: datetime) -> Step:
    """The loop ended without a result, and not because the todo asked for it: a human has to look."""
    return _broke(todo, reason, now) if _waited_for(todo, attempt) else Step(todo=todo)


def _waited_for(todo: Todo, attempt: int) -> bool:
    return todo.repair is not None and todo.repair.attempt == attempt


def _with_used(todo: Todo, tally: Tally) -> Todo:
    """What was used is never forgotten, whoever cancelled the loop."""
    used = todo.fixing.used
    most = Tally(loops=max(used.loops, tally.loops), micros=max(used.micros, tally.micros))
    return todo.model_copy(update={"fixing": todo.fixing.model_copy(update={"used": most})})


def _repaired(todo: Todo, attempt: int, result: FixLoopResult, now: datetime) -> Step:
    """Verified, as by any round, on the repaired tree; `reserved` numbers that no round had are free again."""
    last = result.result
    if last is None or result.frozen is None or last.decision.outcome is not RoundOutcome.VERIFIED:
        return _broke(todo, "its fix loop says that it succeeded, and names no verified round", now)
    assert todo.admitted is not None, "a round ran"
    update = {
        **learned(last),
        "attempt": max(todo.attempt, result.attempt),
        "reserved": 0,
        "waived": False,
        "admitted": todo.admitted.model_copy(update={"frozen": result.frozen}),
        "prior_attempts": with_prior(todo, f"fix loop of attempt {attempt}: {told(last.decision)}"),
    }
    repaired = todo.model_copy(update=update)
    moved = verified(repaired, _why_verified(result, last), now, _offered(todo, attempt, result))
    # the row's `before` is of the todo as it was before the loop's end, its last round's number included
    return stepped(todo, moved.todo, moved.events[0].action, moved.events[0].actor, moved.events[0].payload)


def _why_verified(result: FixLoopResult, last: RoundResult) -> str:
    """How it came to that, and what is worth saying all the same."""
    repaired = f"repaired in {result.loops} of {result.of} loops: {told(last.decision)}"
    return cut("; ".join((repaired, *(f"note: {note}" for note in result.notes))))


def _offered(todo: Todo, attempt: int, result: FixLoopResult) -> str:
    """Where a patch is that did not reach the workspace, and why; empty for one that did."""
    if result.placed == "applied":
        return ""
    place = below(f"{todo.session}/{todo.id}/{attempt}", PATCH)
    return f"the verified repair is not in the workspace ({result.why_offered}): it is evidence/{place}"


def _escalated(todo: Todo, attempt: int, result: FixLoopResult, now: datetime) -> Step:
    """A human has to look. What the worker's own round said of its tree stays what is known of it."""
    reason = escalation_reason(result)
    closed = todo.model_copy(
        update={
            "fixing": todo.fixing.model_copy(update={"closed": True}),
            "prior_attempts": with_prior(todo, f"fix loop of attempt {attempt}: {result.trigger}: {result.reason}"),
        }
    )
    if result.trigger != "hard_fail":
        trigger = cast(Trigger, result.trigger or "system_error")
        return escalated(closed, trigger, reason, now, flag=cut(reason))
    moved = of_the_system(closed, Command.FAIL)
    after = placed(closed, moved, now, trigger="hard_fail", flag=cut(reason))
    codes = [reason.code for reason in result.result.decision.reasons] if result.result else ["hard_fail"]
    return stepped(closed, after, moved.event, HARNESS, {"reasons": codes, "trigger": "hard_fail"})


def _broke(todo: Todo, reason: str, now: datetime) -> Step:
    closed = todo.model_copy(update={"fixing": todo.fixing.model_copy(update={"closed": True})})
    return escalated(closed, "system_error", reason, now)
