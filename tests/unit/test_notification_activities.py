"""What is sent, and how often: what an address has taken is remembered, as far as the store can say so."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities import notifications
from activities.notifications import NotificationActivities
from domain.errors import Cause, Unavailable
from domain.notifications import Delivery, Notice, Whom, WhomInput
from tests.fakes.evidence import MemoryStore
from tests.fakes.notifier import ScriptedNotifier

NOTICE = Notice(kind="escalated", session="s", todo="a", since=datetime(2026, 1, 15, tzinfo=UTC))
DELIVERY = Delivery(id="notification/s/a/1/escalated/team", address="team", notice=NOTICE)


class Away(MemoryStore):
    """It cannot say anything."""

    def remember(self, key: str, data: bytes) -> None:
        raise Unavailable(Cause.STORE_UNAVAILABLE, "it is away", "wait")

    def recall(self, key: str) -> bytes | None:
        raise Unavailable(Cause.STORE_UNAVAILABLE, "it is away", "wait")


class Hanging(MemoryStore):
    """It never answers before it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.let = threading.Event()

    def recall(self, key: str) -> bytes | None:
        self.let.wait()
        return None


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that answers does so, however long this process stands still: given up, it knows nothing."""
    monkeypatch.setattr(notifications, "STORE_SECONDS", 240.0)


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as made:
        yield made


async def test_what_was_taken_is_not_sent_by_the_next_worker(threads: ThreadPoolExecutor) -> None:
    store, first, second = MemoryStore(), ScriptedNotifier(), ScriptedNotifier()
    await ActivityEnvironment().run(NotificationActivities(first, store, threads).send, DELIVERY)
    await ActivityEnvironment().run(NotificationActivities(second, store, threads).send, DELIVERY)
    assert (len(first.taken), len(second.taken)) == (1, 0)
    other = DELIVERY.model_copy(update={"id": "notification/s/a/2/escalated/team"})
    await ActivityEnvironment().run(NotificationActivities(second, store, threads).send, other)
    assert second.taken == [other]


async def test_what_was_refused_is_sent_again(threads: ThreadPoolExecutor) -> None:
    told = NotificationActivities(notifier := ScriptedNotifier(refusals={"team": 1}), MemoryStore(), threads)
    with pytest.raises(ApplicationError) as raised:
        await ActivityEnvironment().run(told.send, DELIVERY)
    assert not raised.value.non_retryable
    await ActivityEnvironment().run(told.send, DELIVERY)
    assert notifier.taken == [DELIVERY]


async def test_a_store_that_is_away_keeps_nothing_from_being_told(threads: ThreadPoolExecutor) -> None:
    told = NotificationActivities(notifier := ScriptedNotifier(), Away(), threads)
    sent = await ActivityEnvironment().run(told.send, DELIVERY)
    assert (sent.tries, notifier.taken) == (1, [DELIVERY])


async def test_nor_does_one_that_hangs(threads: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifications, "STORE_SECONDS", 0.2)
    store = Hanging()
    told = NotificationActivities(notifier := ScriptedNotifier(), store, threads)
    try:
        await ActivityEnvironment().run(told.send, DELIVERY)
    finally:
        store.let.set()
    assert notifier.taken == [DELIVERY]


async def test_who_is_told_is_the_notifiers_to_say(threads: ThreadPoolExecutor) -> None:
    whom = Whom(first=("team",), remind_after=5)
    told = NotificationActivities(ScriptedNotifier(told=whom), MemoryStore(), threads)
    assert await ActivityEnvironment().run(told.plan, WhomInput(kind="question", session="s")) == whom
