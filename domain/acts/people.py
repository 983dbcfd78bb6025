"""What a person may ask of a todo: unblock, approve, override, reject, return, edit, note, reorder, delete.

`approving` and `editing` have four of them. What a person does with a claim ends its round. Source: DESIGN 3, seed
`auditor` 5.2.
"""

from __future__ import annotations

from datetime import datetime

from pydantic import ValidationError

from domain.acts.approving import approve, override
from domain.acts.editing import edit, malformed, reorder
from domain.acts.seen import seen
from domain.acts.standing import NO_ROUND, escalated
from domain.acts.step import Outcome, Step, cut, joined, placed, stepped, with_values
from domain.fixing import Tally
from domain.lifecycle import Command
from domain.order import WorkerCommand
from domain.requests import AddNote, Delete, Refusal, Reject, Return, Unblock
from domain.roles.spending import MICROS
from domain.safeguards import Caps, Clock, Trigger, caps_of
from domain.todo import Fixing, Note, Todo

__all__ = ["approve", "delete", "edit", "give_back", "note", "override", "reject", "reorder", "unblock"]

MOST_NOTES = 100
"""Notes that a todo carries with it, the last ones; the trail has them all."""


def unblock(todo: Todo, request: Unblock, now: datetime) -> Outcome:
    """What the worker asked is answered."""
    moved = seen(todo, Command.UNBLOCK, request)
    if isinstance(moved, Refusal):
        return moved
    if not request.clarification.strip():
        return _reason_required("answer what the worker asked")
    notes = _noted(todo, Note(author=request.actor, content=request.clarification, kind="clarification", timestamp=now))
    after = placed(todo, moved, now, question=None, clarification=request.clarification, notes=notes)
    payload = {"clarification": cut(request.clarification), "reason": cut(request.reason)}
    return stepped(todo, after, moved.event, request.actor, payload, request.tool_call_id)


def reject(todo: Todo, request: Reject, now: datetime) -> Outcome:
    """Sent back: one revision more. Where the caps allow none, and the human grants none, a human has to look again."""
    moved = seen(todo, Command.REJECT, request)
    if isinstance(moved, Refusal):
        return moved
    if not request.feedback.strip():
        return _reason_required("say what has to be done otherwise")
    feedback = Note(author=request.actor, content=request.feedback, kind="revision_request", timestamp=now)
    granted = todo.granted + request.extra_attempts
    told: dict[str, object] = {"feedback": request.feedback, "notes": _noted(todo, feedback), "granted": granted}
    if over := _over(todo, caps_of(todo.order, granted)):
        return _past_the_caps(todo, request, told, over, now)
    fresh = request.extra_attempts > 0 or todo.clock.left(now) <= 0
    changes = {
        **NO_ROUND,
        **told,
        "revisions": todo.revisions + 1,
        "trigger": "",
        "flag": "",
        "clock": _fresh(todo) if fresh else todo.clock,
    }
    after = placed(todo, moved, now, **changes)
    payload = {"feedback": cut(request.feedback), "revision": after.revisions, "reason": cut(request.reason)}
    return stepped(todo, after, moved.event, request.actor, payload, request.tool_call_id)


def give_back(todo: Todo, request: Return, now: datetime) -> Outcome:
    """`return`: to a worker again, with further attempts from now on, a fresh clock, and another command if named.

    An empty one: none is started for it. With money, the fix loop may go on, as often again as the order says; and for
    that the same work may be claimed once more.
    """
    moved = seen(todo, Command.RETURN, request)
    if isinstance(moved, Refusal):
        return moved
    worker = _other_worker(todo, request.worker)
    if isinstance(worker, Refusal):
        return worker
    if request.cost_usd and not todo.order.fix_loop.enabled:
        return _NO_FIX_LOOP
    used_up = todo.audits - caps_of(todo.order).audits
    changes = {
        **NO_ROUND,
        "granted": max(todo.granted, used_up) + request.extra_attempts,
        "clock": _fresh(todo),
        "widen": 1.0,
        "worker": worker,
        "fixing": _with_budget(todo, request.cost_usd),
        "waived": todo.waived or request.cost_usd > 0,
        "no_news": 0,
        "refused_drives": 0,
        "last_refusal": "",
        "feedback": _wanted(todo, request.reason),
        "trigger": "",
        "flag": "",
    }
    after = placed(todo, moved, now, **changes)
    payload = {
        "attempts": request.extra_attempts,
        "cost_usd": request.cost_usd,
        "worker": request.worker or "",
        "reason": cut(request.reason),
    }
    return stepped(todo, after, moved.event, request.actor, payload, request.tool_call_id)


def note(todo: Todo, request: AddNote, now: datetime) -> Outcome:
    """A note is attached; it changes nothing else, and ends no round."""
    moved = seen(todo, Command.NOTE, request)
    if isinstance(moved, Refusal):
        return moved
    if not request.content.strip():
        return _reason_required("say what is to be written down")
    written = Note(author=request.actor, content=request.content, kind=request.kind, timestamp=now)
    after = placed(todo, moved, now, notes=_noted(todo, written))
    payload = {"content": cut(request.content), "kind": request.kind, "reason": cut(request.reason)}
    step = stepped(todo, after, moved.event, request.actor, payload, request.tool_call_id)
    return with_values(step, {"note": ""}, {"note": cut(request.content)})


def delete(todo: Todo, request: Delete, now: datetime) -> Outcome:
    """Cancelled for good; the record stays, and the id is never used again."""
    moved = seen(todo, Command.DELETE, request)
    if isinstance(moved, Refusal):
        return moved
    after = placed(todo, moved, now, **NO_ROUND, trigger="", flag="")
    return stepped(todo, after, moved.event, request.actor, {"reason": cut(request.reason)}, request.tool_call_id)


def _wanted(todo: Todo, reason: str) -> str:
    """What the worker is told first: a reason to give it back takes nothing back that a rejection asked for."""
    rejected = any(note.kind == "revision_request" and note.content == todo.feedback for note in todo.notes)
    return f"{todo.feedback}\n\n{reason}" if rejected and reason else reason or todo.feedback


def _over(todo: Todo, caps: Caps) -> Trigger | None:
    """The cap that a further attempt would exceed, if any."""
    if todo.revisions + 1 > caps.revisions:
        return "revision_cap_exceeded"
    return "audit_cap_exceeded" if todo.audits >= caps.audits else None


def _past_the_caps(todo: Todo, request: Reject, told: dict[str, object], over: Trigger, now: datetime) -> Step:
    """Two rows: what the human said, and that a human has to look: with more attempts it can be given back."""
    noted = todo.model_copy(update=told)
    payload = {"content": cut(request.feedback), "kind": "revision_request", "reason": cut(request.reason)}
    reason = f"rejected after {todo.revisions} revisions and {todo.audits} audits: {request.feedback}"
    return joined(
        stepped(todo, noted, "noted", request.actor, payload, request.tool_call_id),
        escalated(noted, over, reason, now, command=Command.EXHAUST, waived=todo.waived, flag=""),
    )


def _other_worker(todo: Todo, command: str | None) -> WorkerCommand | Refusal | None:
    if command is None:
        return todo.worker
    if not command.strip():
        return None
    known = todo.worker or todo.order.worker
    rest = known.model_dump(mode="json", exclude={"command"}) if known else {}
    try:
        return WorkerCommand.model_validate({**rest, "command": command})
    except ValidationError as error:
        return malformed(error)


_NO_FIX_LOOP = Refusal(
    code="no_fix_loop",
    reason="the order has no fix loop that could spend a budget",
    next_step="return it without a budget",
)


def _with_budget(todo: Todo, cost_usd: float) -> Fixing:
    """With the order's loops once more, and that much more for them; without money as it was."""
    if not cost_usd:
        return todo.fixing
    granted, loops = todo.fixing.granted, todo.order.fix_loop.max_loops
    more = Tally(loops=granted.loops + loops, micros=granted.micros + round(cost_usd * MICROS))
    return todo.fixing.model_copy(update={"granted": more, "closed": False})


def _fresh(todo: Todo) -> Clock:
    return Clock(limit=todo.order.safeguards.todo_timeout)


def _noted(todo: Todo, written: Note) -> tuple[Note, ...]:
    return (*todo.notes, written)[-MOST_NOTES:]


def _reason_required(what: str) -> Refusal:
    return Refusal(code="reason_required", reason="nothing was said", next_step=what)
