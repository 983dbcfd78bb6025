"""The answers to updates, each given once for each id, also to whoever asks again in a later run. No rules here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    from activities.boundary import outside_error
    from domain.requests import Answer, Refusal, Request
    from workflows import options

ASKS = ("worker", "human", "unattributed")
"""The roles that ask for anything from outside."""


class Answers:
    """Those of one workflow. `given`: what earlier runs answered, as JSON by id."""

    def __init__(self, given: dict[str, str]) -> None:
        self._given = dict(given)
        self._taken = 0

    @property
    def many(self) -> bool:
        """Whether the server will soon take no more in this run."""
        return self._taken >= options.UPDATES_A_RUN

    @property
    def kept(self) -> dict[str, str]:
        """Those that the next run has to know."""
        return dict(list(self._given.items())[-options.ANSWERS_KEPT :])

    async def once(self, work: Callable[[], Awaitable[Answer]]) -> Answer:
        """The answer to the update that is being handled: what `work` comes to, or what it came to before.

        Raises `ApplicationError` of the type `unavailable`, with cause, reason and next step as `activities.boundary`
        has them; nothing has changed then, and it may be asked again.
        """
        current = workflow.current_update_info()
        assert current is not None, "only handlers of updates come here"
        self._taken += 1
        if current.id in self._given:
            return Answer.model_validate_json(self._given[current.id])
        try:
            answer = await work()
        except ActivityError as error:
            meant = outside_error(error)
            details = (meant.cause.value, meant.reason, meant.next_step)
            raise ApplicationError(str(meant), *details, type="unavailable", non_retryable=True) from error
        self._given[current.id] = answer.model_dump_json()
        return answer


def outsider(session: str, request: Request) -> Refusal | None:
    """Whoever is of another session than this one, or of a role that no one has who asks from outside."""
    if request.actor.role not in ASKS:
        raise ApplicationError(
            f"actor: {request.actor.role} asks for nothing, expected one of {', '.join(ASKS)}",
            type="malformed",
            non_retryable=True,
        )
    if not request.session or request.session == session:
        return None
    return Refusal(
        code="other_session",
        reason=f"{request.actor} belongs to the session {request.session!r}, and this is {session!r}",
        next_step="ask for what is in your own session",
    )
