"""A notifier that notes what it is sent, and refuses or holds what it is told to."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from domain.errors import Cause, Unavailable
from domain.notifications import Delivery, Whom, WhomInput


@dataclass
class ScriptedNotifier:
    """`domain.ports.Notifier`. `told`: who is; `refusals`: how often an address takes nothing at first.

    `hangs`: addresses that never answer; `gone`: those that there are no more. `asked` has what was
    tried, `taken` what was taken.
    """

    told: Whom = field(default_factory=Whom)
    refusals: dict[str, int] = field(default_factory=dict)
    hangs: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    planned: list[WhomInput] = field(default_factory=list)
    asked: list[Delivery] = field(default_factory=list)
    taken: list[Delivery] = field(default_factory=list)

    def whom(self, request: WhomInput) -> Whom:
        self.planned.append(request)
        return self.told

    async def send(self, delivery: Delivery) -> None:
        self.asked.append(delivery)
        if delivery.address in self.hangs:
            await asyncio.Event().wait()
        if delivery.address in self.gone:
            raise Unavailable(Cause.NOT_ALLOWED, f"there is no {delivery.address}", "nothing is to be done")
        left = self.refusals.get(delivery.address, 0)
        if left:
            self.refusals[delivery.address] = left - 1
            raise Unavailable(Cause.SERVICE_UNAVAILABLE, f"{delivery.address} answered 500", "wait")
        self.taken.append(delivery)

    def kinds(self, address: str = "") -> list[str]:
        """What was taken, by kind."""
        return [one.notice.kind for one in self.taken if address in ("", one.address)]
