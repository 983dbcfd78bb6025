"""A server of one's own has workers, or a command says so; one that was just started is waited for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from domain.errors import Cause, Unavailable
from entrypoints import client

SERVER: Any = SimpleNamespace(service_client=SimpleNamespace(config=SimpleNamespace(target_host="there:7233")))


async def test_a_worker_that_was_just_started_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = {"workflows": iter([0, 0, 1]), "sandbox": iter([0, 2])}

    async def polled(_: object, queue: str) -> int:
        return next(seen[queue])

    monkeypatch.setattr(client, "pollers", polled)
    monkeypatch.setattr(client, "WORKER_POLL_SECONDS", 0.001)
    await client.require_workers(SERVER, "workflows", "sandbox")
    assert [list(left) for left in seen.values()] == [[], []]


async def test_a_queue_without_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    async def polled(_: object, queue: str) -> int:
        return int(queue != "sandbox")

    monkeypatch.setattr(client, "pollers", polled)
    monkeypatch.setattr(client, "WORKER_SECONDS", 0.01)
    monkeypatch.setattr(client, "WORKER_POLL_SECONDS", 0.001)
    with pytest.raises(Unavailable, match="no worker polls 'sandbox' at there:7233") as caught:
        await client.require_workers(SERVER, "workflows", "sandbox", "roles")
    assert (caught.value.cause, "python worker.py" in caught.value.next_step) == (Cause.NO_WORKER, True)
