"""Passes of roles, a round's or a repair's: each asked of its activity, in the trail, counted against one limit.

Source: DESIGN 4 "Role passes" and 3 "Timers": the roles of a round share `audit_timeout`.
"""

from __future__ import annotations

from temporalio import workflow
from temporalio.exceptions import ActivityError, TimeoutError, TimeoutType

with workflow.unsafe.imports_passed_through():
    from pydantic import JsonValue

    from activities.boundary import outside_error
    from activities.roles import RoleActivities
    from domain.events import Actor
    from domain.order import Order
    from domain.roles import course
    from domain.roles.names import STAGES, Role
    from domain.roles.passes import PassInput
    from domain.roles.results import PassResult
    from domain.roles.spending import MICROS
    from workflows import options
    from workflows.trail import AttemptTrail


class Passes:
    """All passes that share the roles' time. `results`: what each came to, in the order in which they ended.

    `used`: seconds of that time that were gone before the first of them.
    """

    def __init__(self, order: Order, trail: AttemptTrail, used: float = 0.0) -> None:
        self._order = order
        self._trail = trail
        self._used = used
        self.results: list[PassResult] = []
        self._scripted: set[Role] = set()

    @property
    def scripted(self) -> tuple[Role, ...]:
        """The roles in whose place a file answered, in the order of a round."""
        return tuple(role for role in STAGES if role in self._scripted)

    @property
    def left(self) -> float:
        """Seconds that are left: only passes take of them, no open question and no check."""
        return course.time_left(self._order, self.results) - self._used

    async def ask(self, asked: PassInput) -> PassResult:
        """One pass, in the trail. No model that is configured is no event: nobody was asked."""
        left = self.left
        if left > 0:
            result = await self._ask_role(asked.model_copy(update={"limit": left}))
        else:
            limit = self._order.safeguards.audit_timeout
            result = PassResult(outcome="timed_out", why=f"the audit's {limit:g} s are used up")
        self.results.append(result)
        if result.provenance.scripted:
            self._scripted.add(asked.role)
        if result.outcome != "not_configured":
            await self._record(asked, result)
        return result

    async def _ask_role(self, asked: PassInput) -> PassResult:
        try:
            return await workflow.execute_activity_method(
                RoleActivities.run,
                asked,
                summary=f"{asked.role}, {asked.stage}, part {asked.part}",
                **options.roles(asked.limit),
            )
        except ActivityError as error:
            why = outside_error(error)
            late = isinstance(error.cause, TimeoutError) and error.cause.type is TimeoutType.START_TO_CLOSE
            return PassResult(outcome="timed_out" if late else "unavailable", why=f"{why.reason}. {why.next_step}")

    async def _record(self, asked: PassInput, result: PassResult) -> None:
        """What the pass came to, and what it was refused."""
        actor = actor_of(asked)
        await self._trail.record("role_pass_completed", actor, _completed(asked, result))
        for call in result.refused:
            await self._trail.record("tool_refused", actor, {"role": asked.role, **call.model_dump(mode="json")})


def actor_of(asked: PassInput) -> Actor:
    """Whose act a pass is: a role's, by its name where it is not the auditor's."""
    return Actor(role="auditor", identity="" if asked.role == "auditor" else asked.role)


def _completed(asked: PassInput, result: PassResult) -> dict[str, JsonValue]:
    usage = result.usage.model_dump(mode="json")
    cost = usage.pop("micros") / MICROS
    return {
        "role": asked.role,
        "stage": asked.stage,
        "part": asked.part,
        "outcome": result.outcome,
        **result.provenance.model_dump(mode="json"),
        **usage,
        "cost_usd": cost,
        "said": result.said,
        "messages": result.messages,
        "why": result.why,
        "first": asked.cases[0].side if asked.cases else "",
    }
