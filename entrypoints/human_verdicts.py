"""What people decided about rounds that stand alone, by the trail: the verdict that counts, and what they asked for.

A verdict is about the trees and the order of its round, by their digests: whoever verifies the same again gets it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from domain.authority import Rejection
from domain.events import Action, Actor, RowFilter, TrailRow
from domain.lifecycle import PARTIES
from domain.read_model import RoundView, Table
from entrypoints.names import LOCAL_SESSION

if TYPE_CHECKING:
    from domain.ports import Trail

ROWS: tuple[Action, ...] = ("approved", "human_override", "changes_requested", "noted", "audit_completed")
"""The rows that are read here."""

ROUNDS: tuple[Table, ...] = ("rounds",)
Kind = Literal["approved", "overridden", "rejected"]
_KINDS: dict[str, Kind] = {
    "approved": "approved",
    "human_override": "overridden",
    "changes_requested": "rejected",
}


@dataclass(frozen=True)
class HumanVerdict:
    """A person's decision about the round `attempt`. `words`: the reason, or the feedback of a rejection."""

    attempt: int
    kind: Kind
    by: Actor
    at: datetime
    words: str

    @property
    def verified(self) -> bool:
        """Whether the work counts as verified by it."""
        return self.kind != "rejected"


def by_attempt(rows: Iterable[TrailRow]) -> dict[int, HumanVerdict]:
    """The last decision of a person about each round, by its attempt. `rows` of one todo, in their order.

    It outranks the verdict of its round, and of every earlier round on the same trees by the same order: of those that
    match, the last in time counts.
    """
    found = {}
    for row in rows:
        kind = _KINDS.get(row.action)
        if kind is None or PARTIES[row.actor.role] != "human":
            continue
        words = str(row.payload.get("feedback" if kind == "rejected" else "reason") or "")
        found[row.attempt] = HumanVerdict(row.attempt, kind, row.actor, row.timestamp, words)
    return found


def human_verdict(trail: Trail, todo: str, order_digest: str, head: str, base: str) -> HumanVerdict | None:
    """The last decision of a person about standalone rounds of `todo` on these trees by this order; None without one.

    A round that was decided later by itself does not count here: the caller compares `at` with that round's end.
    Raises `Unavailable`.
    """
    rounds = trail.state(LOCAL_SESSION, todo, tables=ROUNDS).rounds
    same = {one.attempt for one in rounds if (one.order, one.head, one.base) == (order_digest, head, base)}
    decided = by_attempt(trail.rows(RowFilter(session=LOCAL_SESSION, todo=todo, actions=ROWS)))
    found = [verdict for attempt, verdict in decided.items() if attempt in same]
    return max(found, key=lambda verdict: verdict.at, default=None)


def feedback_of(rows: Iterable[TrailRow]) -> str:
    """What people asked for since the todo was last verified, the oldest first. `rows` as in `by_attempt`."""
    asked: list[str] = []
    for row in rows:
        if row.after.get("status") == "verified":
            asked = []
        elif row.action == "changes_requested" and PARTIES[row.actor.role] == "human":
            asked.append(str(row.payload.get("feedback", "")))
        elif row.action == "noted" and row.payload.get("kind") == "feedback" and PARTIES[row.actor.role] == "human":
            asked.append(str(row.payload.get("content", "")))
    return "\n\n".join(dict.fromkeys(filter(None, asked)))


def rejections(rounds: Iterable[RoundView], rows: Iterable[TrailRow], order_digest: str) -> tuple[Rejection, ...]:
    """The trees that people sent back by that order and have not verified since."""
    decided = by_attempt(rows)
    last: dict[tuple[str, str], HumanVerdict] = {}
    for one in rounds:
        verdict = decided.get(one.attempt)
        key = (one.head, one.base)
        if one.order == order_digest and one.head and verdict and (key not in last or last[key].at < verdict.at):
            last[key] = verdict
    return tuple(
        Rejection(attempt=verdict.attempt, head=head, base=base, by=str(verdict.by), feedback=verdict.words)
        for (head, base), verdict in last.items()
        if verdict.kind == "rejected"
    )
