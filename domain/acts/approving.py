"""How a person makes a todo verified: by approving what passed, or by overruling what did not, as far as policy allows.

Source: DESIGN 3 "Plain `approve`", seed `authority` 5. Who asks, and whether they have to sign, is `signing`'s to say.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from domain.acts.gate import children_refusal
from domain.acts.seen import seen, tree_of
from domain.acts.standing import NO_ROUND
from domain.acts.step import Outcome, placed, stepped
from domain.lifecycle import Command
from domain.order import OverridePolicy
from domain.requests import Approve, Override, Refusal
from domain.todo import Todo

Kind = Literal["check", "verifier", "direct"]


def approve(todo: Todo, request: Approve, now: datetime) -> Outcome:
    """A human countersigns what passed everything that is required, on the tree and by the order as they are now."""
    moved = seen(todo, Command.APPROVE, request)
    if isinstance(moved, Refusal):
        return moved
    if why := children_refusal(todo):
        return why
    if kind := override_needed(todo):
        return Refusal(code="not_passed", reason=_why(todo, kind), next_step=_by(todo, kind))
    after = placed(todo, moved, now, **NO_ROUND, trigger="", flag="")
    payload = {"snapshot": tree_of(todo), "reason": request.reason}
    return stepped(todo, after, moved.event, request.actor, payload, request.tool_call_id)


def override(todo: Todo, request: Override, now: datetime) -> Outcome:
    """A human answers for what did not pass, each by name."""
    moved = seen(todo, Command.OVERRIDE, request)
    if isinstance(moved, Refusal):
        return moved
    if why := children_refusal(todo) or _policy_refusal(todo, request) or _fitting_refusal(todo, request):
        return why
    after = placed(todo, moved, now, **NO_ROUND, trigger="", flag="")
    payload = {
        "kind": request.kind,
        "reason": request.reason,
        "acknowledged": list(request.acknowledged),
    }
    return stepped(todo, after, moved.event, request.actor, payload, request.tool_call_id)


def override_needed(todo: Todo) -> Kind | None:
    """What keeps a todo from being approved plainly: failed checks, the auditor, or that no round came to a result.

    None: everything required passed.
    """
    if todo.not_passed:
        return "check"
    if not todo.passed:
        return "direct"
    return "verifier" if todo.objected else None


def allows(policy: OverridePolicy, kind: Kind, objected: bool) -> bool:
    """Whether overrides of that kind are allowed. Seed `authority` 5.4.

    Who overrules checks where the auditor objected overrules the auditor with them.
    """
    if kind == "check":
        return policy.check_override_allowed and (policy.verifier_override_allowed or not objected)
    return policy.verifier_override_allowed if kind == "verifier" else policy.direct_approval_allowed


def _policy_refusal(todo: Todo, request: Override) -> Refusal | None:
    """What the order's policy says."""
    policy = todo.order.override_policy
    if not allows(policy, request.kind, todo.objected):
        return Refusal(
            code="override_not_allowed",
            reason=f"the order's override_policy does not allow it: {request.kind}",
            next_step="reject or return it, or have the order's policy changed",
        )
    optional = request.kind == "check" and not policy.check_override_requires_reason
    if not (optional or request.reason.strip()):
        return Refusal(
            code="reason_required",
            reason="an override says why",
            next_step={
                "check": "say why what failed does not matter",
                "verifier": "say why the auditor is wrong",
                "direct": "say why it needs no round",
            }[request.kind],
        )
    return None


def _fitting_refusal(todo: Todo, request: Override) -> Refusal | None:
    """Whether it is the kind that is needed, with everything that did not pass acknowledged, and nothing else."""
    kind = override_needed(todo)
    if kind is None:
        return Refusal(
            code="override_not_allowed",
            reason="everything required passed",
            next_step="approve it: nothing is overruled",
        )
    if kind != request.kind:
        return Refusal(code="override_not_allowed", reason=_why(todo, kind), next_step=_by(todo, kind))
    if unknown := sorted(set(request.acknowledged) - set(todo.not_passed)):
        return Refusal(
            code="unknown_check",
            reason=f"acknowledged, and nothing of that name did not pass: {', '.join(unknown)}",
            next_step=f"name what did not pass: {', '.join(todo.not_passed)}" if todo.not_passed else "name none",
        )
    missing = [name for name in todo.not_passed if name not in request.acknowledged]
    if not missing:
        return None
    return Refusal(
        code="not_acknowledged",
        reason=f"did not pass, and not acknowledged by name: {', '.join(missing)}",
        next_step=_by(todo, kind),
    )


def _why(todo: Todo, kind: Kind) -> str:
    return {
        "check": f"did not pass: {', '.join(todo.not_passed)}",
        "verifier": "everything required passed, and the auditor did not approve",
        "direct": "no round has come to a result on this tree by this order",
    }[kind]


def _by(todo: Todo, kind: Kind) -> str:
    names = f" that acknowledges {', '.join(todo.not_passed)}" if kind == "check" else ""
    return f"wait for the round, reject it, or override it: an override of the kind {kind}{names}"
