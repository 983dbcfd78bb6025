"""`domain.ports.Notifier` by the project's `[notifications]`: who is told, and the way to each address.

Variables are read when something is sent, and masked in all that is. What hangs holds up its own address alone.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

from adapters.masking.masker import Masker
from adapters.notify.lane import Lane, not_taken
from domain.addresses import Address, Notifications, Webhook, variables_of
from domain.errors import Cause, Unavailable
from domain.notifications import Delivery, Notice, Whom, WhomInput, heading, plain, shown, text_of

STORE_THREADS = 4


class ConfiguredNotifier:
    """The addresses of one table. `threads` are for what is asked of a store for them."""

    def __init__(self, table: Notifications, masker: Masker, environment: Mapping[str, str] = os.environ) -> None:
        self._table = table
        self._masker = masker
        self._environment = environment
        self._lanes: dict[str, Lane] = {}
        self.threads = ThreadPoolExecutor(STORE_THREADS, thread_name_prefix="notify-store")

    def whom(self, request: WhomInput) -> Whom:
        """See the port."""
        named = self._table.by_name()
        late = request.kind == "resolved" and 0 < self._table.second_after <= request.waited
        told = [
            name for name, one in named.items() if one.hears(request.kind, request.session) and (late or not one.second)
        ]
        reminded = [name for name, one in named.items() if one.hears("reminder", request.session)]
        return Whom(
            first=tuple(told),
            reminded=tuple(name for name in reminded if not named[name].second),
            second=tuple(name for name in reminded if named[name].second),
            remind_after=self._table.remind_after,
            second_after=self._table.second_after,
        )

    async def send(self, delivery: Delivery) -> None:
        """See the port."""
        one = self._table.by_name().get(delivery.address)
        if one is None:
            raise Unavailable(
                Cause.NOT_ALLOWED,
                f"there is no address {delivery.address} in [notifications] any more",
                "nothing is to be done if it was taken out on purpose",
            )
        for name in variables_of(one):
            if not self._environment.get(name, "").strip():
                raise not_taken(delivery.address, f"the variable {name} is not set where the worker runs")
        notice = self._masked(delivery.notice)
        lane = self._lanes.setdefault(delivery.address, Lane(delivery.address))
        async with lane.place():
            if isinstance(one, Webhook):
                why = await self._post(one, delivery, notice)
            else:
                why = await self._tell(one, notice, lane)
        if why:
            raise not_taken(delivery.address, why)

    def close(self) -> None:
        """Begin nothing more."""
        for lane in self._lanes.values():
            lane.close()
        self.threads.shutdown(wait=False, cancel_futures=True)

    def _masked(self, notice: Notice) -> Notice:
        """Without secrets, then cut."""
        return shown(Notice.model_validate(self._masker.value(notice.model_dump(mode="json"))))

    def _url(self, one: Address | Webhook) -> str:
        return (one.url or self._environment[one.url_variable or ""]).strip()

    async def _post(self, one: Webhook, delivery: Delivery, notice: Notice) -> str:
        from adapters.notify.webhook import document, post  # noqa: PLC0415 - httpx: for those who have a webhook

        now = datetime.now(UTC)
        secret = os.fsencode(self._environment[one.secret_variable])
        return await post(self._url(one), secret, document(delivery, notice, now), now)

    async def _tell(self, one: Address, notice: Notice, lane: Lane) -> str:
        from adapters.notify.people import tell  # noqa: PLC0415 - apprise: for those who have an address

        title = plain(heading(notice))
        return await asyncio.get_running_loop().run_in_executor(
            lane.threads, tell, self._url(one), title, text_of(notice)
        )
