"""How a person changes what a todo is: its order, its place; a claim is judged anew by the order as it is then.

Source: DESIGN 3 "edit, reorder" and "Verdicts bind the digests of order and snapshot". Where the work is (workspace,
base) is no edit, nor is what stands in `status`: those have commands.
"""

from __future__ import annotations

import json
from datetime import datetime

from pydantic import JsonValue, ValidationError

from domain.acts.seen import seen
from domain.acts.standing import NO_ROUND, UNJUDGED, audit_begun
from domain.acts.step import Outcome, Step, cut, joined, placed, stepped, with_values
from domain.events import SYSTEM
from domain.lifecycle import Command
from domain.order import Order, Verification
from domain.policy_floor import below
from domain.requests import Edit, Refusal, Reorder
from domain.status import SessionStatus, TodoStatus
from domain.todo import Todo

Fields = dict[str, JsonValue]

EDITABLE = frozenset(
    {
        "content",
        "domain",
        "acceptance_criteria",
        "verification",
        "scope",
        "safeguards",
        "override_policy",
        "environment",
        "resources",
        "worker",
        "depends_on",
    }
)
"""Fields of an order that may change once there is a todo; of `depends_on`, some may go."""


def edit(todo: Todo, request: Edit, now: datetime) -> Outcome:
    """The order with other values: a new version. What was known of a tree by the old one counts no more.

    A claim that is being judged is judged anew; a verified todo stays so, with a flag.
    """
    moved = seen(todo, Command.EDIT, request)
    if isinstance(moved, Refusal):
        return moved
    order = _edited(todo.order, request.changes)
    if isinstance(order, Refusal):
        return order
    if lower := below(todo.floor, order):
        return Refusal(
            code="below_floor", reason=cut("; ".join(lower)), next_step="ask for no less, or leave it as it is"
        )
    after = placed(todo, moved, now, **_changes(todo, order))
    fields = sorted(request.changes)
    payload = {"fields": fields, "version": after.version, "reason": cut(request.reason)}
    step = stepped(todo, after, moved.event, request.actor, payload, request.tool_call_id)
    old, new = (one.model_dump(mode="json", include=set(fields)) for one in (todo.order, order))
    step = with_values(step, old, new)
    if todo.status is TodoStatus.CLAIMED:
        return joined(step, _judged_anew(after, now))
    if todo.status is TodoStatus.VERIFIED:
        return joined(step, flagged(after, "edited after it was verified"))
    return step


def reorder(todo: Todo, request: Reorder, now: datetime) -> Outcome:
    """Another place among its siblings."""
    moved = seen(todo, Command.REORDER, request)
    if isinstance(moved, Refusal):
        return moved
    after = placed(todo, moved, now, order_index=request.order_index, version=todo.version + 1)
    payload = {"order_index": request.order_index, "reason": cut(request.reason)}
    return stepped(todo, after, moved.event, request.actor, payload, request.tool_call_id)


def flagged(todo: Todo, reason: str) -> Step:
    """Somebody should look at it again; it stays where it is."""
    return stepped(todo, todo.model_copy(update={"flag": reason}), "flagged", SYSTEM, {"reason": reason})


def edited_order(order: Order, changes: Fields) -> Order:
    """The order with `changes`, as `Edit` has them. Raises pydantic's `ValidationError`."""
    return Order.model_validate_json(json.dumps(edited_fields(order, changes)))


def edited_fields(order: Order, changes: Fields) -> Fields:
    """The order's fields with `changes`, whatever they are worth."""
    return merged(order.model_dump(mode="json"), _as_dumped(changes))


def merged(below: Fields, above: Fields) -> Fields:
    """Objects are joined field by field, so that what nobody names stays as it is; anything else is replaced."""
    return {**below, **{name: _merged(below.get(name), value) for name, value in above.items()}}


def _merged(below: JsonValue, above: JsonValue) -> JsonValue:
    return merged(below, above) if isinstance(below, dict) and isinstance(above, dict) else above


def _as_dumped(changes: Fields) -> Fields:
    """With the names that an order has its fields under; both of them at once is for the order to refuse."""
    said = changes.get("verification")
    if not isinstance(said, dict) or not said.keys().isdisjoint(Verification.other_names.values()):
        return changes
    return {**changes, "verification": {Verification.other_names.get(name, name): said[name] for name in said}}


def _edited(order: Order, changes: Fields) -> Order | Refusal:
    if wrong := sorted(set(changes) - EDITABLE):
        return Refusal(
            code="not_editable",
            reason=f"no edit changes {', '.join(wrong)}",
            next_step=f"what can be edited: {', '.join(sorted(EDITABLE))}",
        )
    if not changes:
        return Refusal(code="malformed_edit", reason="nothing is to change", next_step="name a field and its new value")
    try:
        edited = edited_order(order, changes)
    except ValidationError as error:
        return malformed(error)
    if more := sorted(set(edited.depends_on) - set(order.depends_on)):
        return Refusal(
            code="not_editable",
            reason=f"no dependency is added once a todo exists: {', '.join(more)}",
            next_step="leave out dependencies that there are, or create another todo that has them",
        )
    return edited


def malformed(error: ValidationError) -> Refusal:
    """The refusal of a value that no order can have, with all that is wrong with it."""
    found = error.errors(include_url=False, include_input=False)
    told = [f"{'.'.join(str(part) for part in one['loc']) or 'order'}: {one['msg']}" for one in found]
    return Refusal(code="malformed_edit", reason=cut("; ".join(told)), next_step="correct these values, and ask again")


def _changes(todo: Todo, order: Order) -> dict[str, object]:
    unchanged = {criterion.id for criterion in order.acceptance_criteria if criterion in todo.order.acceptance_criteria}
    return {
        **NO_ROUND,
        **UNJUDGED,
        "question": todo.question if todo.status is TodoStatus.BLOCKED else None,
        "order": order,
        "order_digest": order.digest,
        "widen": 1.0,
        "version": todo.version + 1,
        "authored": todo.authored & unchanged,
        "content_authored": todo.content_authored and order.content == todo.order.content,
        "clock": todo.clock.model_copy(update={"limit": order.safeguards.todo_timeout}),
        "worker": order.worker if order.worker != todo.order.worker else todo.worker,
        "waived": todo.waived or todo.admitted is not None,
    }


def _judged_anew(todo: Todo, now: datetime) -> Step:
    """The next round of the same claim; it waits while the session does, and there is none once that is over."""
    if todo.gate.status is SessionStatus.RUNNING:
        return audit_begun(todo, now)
    paused = todo.gate.status is SessionStatus.PAUSED
    return Step(todo=todo.model_copy(update={"retry_at": now if paused else None}))
