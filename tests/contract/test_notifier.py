"""The contract of a notifier, on the fake and on both ways to an address; and what only the real ones can get wrong."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import io
import json
import logging
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import apprise
import pytest

from adapters.masking.masker import Masker
from adapters.notify import lane, webhook
from adapters.notify.notifier import ConfiguredNotifier
from domain.addresses import Address, Notifications, Webhook
from domain.errors import Cause, Unavailable
from domain.notifications import Delivery, Notice, Whom, WhomInput
from domain.ports import Notifier
from tests.fakes.notifier import ScriptedNotifier
from tests.listening import listening
from tests.receiver import Receiver

SECRET = "hunter2-and-more"
TOKEN = "tok-5f2a9c"
NOTICE = Notice(
    kind="escalated",
    session="s",
    todo="a",
    status="needs_human",
    trigger="no_progress",
    reason=f"it printed {TOKEN} and <!channel>\x1b[2J",
    title="Write the parser",
    attempt=2,
    since=datetime(2026, 1, 15, 10, 0, tzinfo=UTC),
)
DELIVERY = Delivery(id="notification/s/a/1/escalated/team", address="team", notice=NOTICE)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever answers has its time, however long this process stands still, which has both sides of it."""
    monkeypatch.setattr(lane, "SEND_SECONDS", 240.0)
    monkeypatch.setattr(webhook, "STEP_SECONDS", 240.0)
    for step in ("socket_connect_timeout", "socket_read_timeout"):
        monkeypatch.setattr(apprise.NotifyBase, step, 240.0)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    made.may_answer.set()
    with ExitStack() as stack:
        made.port = stack.enter_context(listening(made.handler()))
        stack.callback(made.may_answer.set)
        yield made


def real(kind: str, port: int, masker: Masker | None = None, **fields: object) -> ConfiguredNotifier:
    """One address `team`; the URL is in a variable, as people's are."""
    url = f"json://127.0.0.1:{port}/{TOKEN}/x" if kind == "apprise" else f"http://127.0.0.1:{port}/{TOKEN}/x"
    environment = {"TEAM_URL": url, "HOOK_SECRET": SECRET}
    if kind == "apprise":
        table = Notifications(addresses={"team": Address.model_validate({"url_variable": "TEAM_URL", **fields})})
    else:
        one = {"url_variable": "TEAM_URL", "secret_variable": "HOOK_SECRET", **fields}
        table = Notifications(webhooks={"team": Webhook.model_validate(one)})
    return ConfiguredNotifier(table, masker or Masker(), environment)


KINDS = ["apprise", "webhook"]


@asynccontextmanager
async def notifier_of(kind: str, port: int) -> AsyncIterator[Notifier]:
    if kind == "fake":
        yield ScriptedNotifier(told=Whom(first=("team",), reminded=("team",), remind_after=3600, second_after=14_400))
        return
    made = real(kind, port)
    try:
        yield made
    finally:
        made.close()


@pytest.mark.parametrize("kind", ["fake", *KINDS])
class TestEveryNotifier:
    async def test_it_says_who_is_told_and_reminded(self, kind: str, receiver: Receiver) -> None:
        async with notifier_of(kind, receiver.port) as notifier:
            whom = notifier.whom(WhomInput(kind="escalated", session="s"))
        assert whom == Whom(first=("team",), reminded=("team",), remind_after=3600, second_after=14_400)

    async def test_what_is_taken_is_sent_once(self, kind: str, receiver: Receiver) -> None:
        async with notifier_of(kind, receiver.port) as notifier:
            await notifier.send(DELIVERY)
        sent = len(notifier.taken) if isinstance(notifier, ScriptedNotifier) else len(receiver.got)
        assert sent == 1

    async def test_what_is_not_taken_may_be_later(self, kind: str, receiver: Receiver) -> None:
        receiver.status = 500
        async with notifier_of(kind, receiver.port) as notifier:
            if isinstance(notifier, ScriptedNotifier):
                notifier.refusals = {"team": 1}
            with pytest.raises(Unavailable) as raised:
                await notifier.send(DELIVERY)
            assert (raised.value.cause, raised.value.retryable) == (Cause.SERVICE_UNAVAILABLE, True)
            assert "500" in raised.value.reason
            receiver.status = 204
            await notifier.send(DELIVERY)

    async def test_an_address_that_there_is_no_more_is_not_tried_again(self, kind: str, receiver: Receiver) -> None:
        async with notifier_of(kind, receiver.port) as notifier:
            if isinstance(notifier, ScriptedNotifier):
                notifier.gone = {"other"}
            with pytest.raises(Unavailable) as raised:
                await notifier.send(DELIVERY.model_copy(update={"address": "other"}))
        assert not raised.value.retryable


@pytest.mark.parametrize("kind", KINDS)
class TestARealOne:
    async def refused(self, notifier: ConfiguredNotifier) -> str:
        """Why it was not taken, in which there is neither token nor secret."""
        try:
            with pytest.raises(Unavailable) as raised:
                await notifier.send(DELIVERY)
        finally:
            notifier.close()
        assert raised.value.retryable
        assert TOKEN not in str(raised.value)
        assert SECRET not in str(raised.value)
        return raised.value.reason

    @pytest.mark.parametrize("status", [301, 307, 400, 401, 404, 429, 500, 503])
    async def test_only_2xx_is_taken(self, kind: str, receiver: Receiver, status: int) -> None:
        receiver.status = status
        assert str(status) in await self.refused(real(kind, receiver.port))

    async def test_no_redirect_is_followed(self, kind: str, receiver: Receiver) -> None:
        other = Receiver()
        other.may_answer.set()
        with listening(other.handler()) as port:
            receiver.status, receiver.goes_to = 307, f"http://127.0.0.1:{port}/elsewhere"
            await self.refused(real(kind, receiver.port))
        assert (len(receiver.got), other.got) == (1, [])

    async def test_nobody_there(self, kind: str, receiver: Receiver) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            assert "reached" in await self.refused(real(kind, free.getsockname()[1]))

    async def test_whoever_hangs_up(self, kind: str, receiver: Receiver) -> None:
        receiver.drops = True
        assert "did not take it" in await self.refused(real(kind, receiver.port))

    async def test_whoever_hangs_holds_up_nobody_else(
        self, kind: str, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Not the loop, either: what this test waits for comes while that one hangs."""
        receiver.may_answer.clear()
        notifier = real(kind, receiver.port)
        sending = asyncio.create_task(notifier.send(DELIVERY))
        await receiver.is_asked()
        assert not sending.done()
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        receiver.may_answer.set()
        notifier.close()

    async def test_whoever_takes_too_long_is_given_up(
        self, kind: str, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(lane, "SEND_SECONDS", 0.2)
        receiver.may_answer.clear()
        assert "no answer within 0.2 s" in await self.refused(real(kind, receiver.port))

    async def test_what_is_under_way_to_an_address_is_bounded(
        self, kind: str, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(lane, "PLACE_SECONDS", 0.2)
        monkeypatch.setattr(lane, "AT_ONCE", 1)
        receiver.may_answer.clear()
        notifier = real(kind, receiver.port)
        first = asyncio.create_task(notifier.send(DELIVERY))
        await receiver.is_asked()
        with pytest.raises(Unavailable, match="1 earlier messages are still under way"):
            await notifier.send(DELIVERY)
        receiver.may_answer.set()
        await first
        await notifier.send(DELIVERY)
        notifier.close()
        assert len(receiver.got) == 2

    async def test_secrets_are_masked_and_texts_are_harmless(self, kind: str, receiver: Receiver) -> None:
        notifier = real(kind, receiver.port, Masker({"TOKEN": TOKEN.encode()}))
        await notifier.send(DELIVERY)
        notifier.close()
        ((_, _, body),) = receiver.got
        assert TOKEN.encode() not in body
        assert b"TOKEN" in body
        assert "\\u001b" not in body.decode()
        said = json.loads(body)
        text = said["text"] if kind == "webhook" else said["message"]
        assert "<!channel" not in text
        assert "countersign review s/a" in text

    async def test_nothing_is_logged_that_has_the_url(
        self, kind: str, receiver: Receiver, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
    ) -> None:
        caplog.set_level(logging.INFO)
        receiver.status = 500
        handler = logging.StreamHandler(said := io.StringIO())
        handler.setFormatter(logging.Formatter("%(name)s %(message)s"))
        logging.getLogger().addHandler(handler)
        try:
            await self.refused(real(kind, receiver.port))
        finally:
            logging.getLogger().removeHandler(handler)
        assert TOKEN not in caplog.text
        assert "apprise" not in said.getvalue(), "what a worker's own handler would print"
        assert TOKEN not in "".join(capfd.readouterr())

    async def test_a_variable_that_is_not_set_is_named(self, kind: str, receiver: Receiver) -> None:
        notifier = real(kind, receiver.port)
        notifier._environment = {}
        assert "TEAM_URL is not set" in await self.refused(notifier)


async def test_a_webhook_is_signed_so_that_a_receiver_can_count_it_itself(receiver: Receiver) -> None:
    notifier = real("webhook", receiver.port)
    await notifier.send(DELIVERY)
    notifier.close()
    ((path, headers, body),) = receiver.got
    assert path == f"/{TOKEN}/x"
    assert headers["Countersign-Delivery"] == DELIVERY.id
    assert headers["Content-Type"] == "application/json"
    signed = headers["Countersign-Timestamp"].encode() + b"." + body
    assert headers["Countersign-Signature"] == "sha256=" + hmac.digest(SECRET.encode(), signed, "sha256").hex()
    other = hmac.new(SECRET.encode(), b"0." + body, hashlib.sha256).hexdigest()
    assert other not in headers["Countersign-Signature"], "when it was sent is signed, too"
    said = json.loads(body)
    assert body == json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    assert int(datetime.fromisoformat(said["at"]).timestamp()) == int(headers["Countersign-Timestamp"])
    assert {name: said[name] for name in ("id", "kind", "session", "todo", "status", "trigger", "attempt", "next")} == {
        "id": DELIVERY.id,
        "kind": "escalated",
        "session": "s",
        "todo": "a",
        "status": "needs_human",
        "trigger": "no_progress",
        "attempt": 2,
        "next": "countersign review s/a",
    }
    assert said["since"] == "2026-01-15T10:00:00+00:00"


async def test_a_url_that_apprise_does_not_know_is_told_without_it(receiver: Receiver) -> None:
    notifier = real("apprise", receiver.port)
    notifier._environment = {"TEAM_URL": f"nonesuch://{TOKEN}"}
    with pytest.raises(Unavailable, match="none that apprise knows") as raised:
        await notifier.send(DELIVERY)
    notifier.close()
    assert TOKEN not in str(raised.value)


@pytest.mark.parametrize(
    ("fields", "kind", "session", "told"),
    [
        ({}, "resolved", "any", True),
        ({"events": ["question"]}, "escalated", "any", False),
        ({"events": ["question"]}, "question", "any", True),
        ({"sessions": ["release-*"]}, "question", "release-7", True),
        ({"sessions": ["release-*"]}, "question", "trial", False),
        ({"second": True}, "escalated", "any", False),
    ],
)
def test_addresses_are_told_of_what_they_want_to_hear(
    fields: dict[str, object], kind: str, session: str, told: bool
) -> None:
    notifier = real("apprise", 1, None, **fields)
    whom = notifier.whom(WhomInput.model_validate({"kind": kind, "session": session}))
    notifier.close()
    assert whom.first == (("team",) if told else ())


def test_the_second_address_is_told_by_the_second_reminder_only() -> None:
    notifier = real("webhook", 1, second=True)
    whom = notifier.whom(WhomInput(kind="escalated", session="s"))
    notifier.close()
    assert (whom.first, whom.reminded, whom.second) == ((), (), ("team",))


@pytest.mark.parametrize(
    ("fields", "waited", "told"),
    [
        ({}, 14_399, False),
        ({}, 14_400, True),
        ({"events": ["reminder"]}, 14_400, False),
        ({"sessions": ["other"]}, 14_400, False),
    ],
)
def test_the_second_address_is_told_of_the_end_where_it_was_reminded(
    fields: dict[str, Any], waited: float, told: bool
) -> None:
    notifier = real("webhook", 1, second=True, **fields)
    ended = notifier.whom(WhomInput(kind="resolved", session="s", waited=waited))
    begun = notifier.whom(WhomInput(kind="escalated", session="s", waited=waited))
    notifier.close()
    assert (ended.first, begun.first) == (("team",) if told else (), ())
