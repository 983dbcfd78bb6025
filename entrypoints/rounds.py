"""One standalone round and the fix loop that follows it, to their end, whatever dies on the way.

It is what `countersign verify` does. Nothing is decided here, whether a loop follows neither: the round begins it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from subprocess import Popen
from typing import TypeVar
from urllib.parse import quote

from temporalio.client import Client, WorkflowFailureError
from temporalio.service import RPCError, RPCStatusCode

from adapters.config.settings import Settings
from domain.authority import Authority
from domain.claims.claim import Claim
from domain.criteria import PrExists, PrMerged
from domain.errors import Unavailable
from domain.fix_messages import FixLoopResult, FixProgress, fix_loop_id
from domain.messages import Progress, RoundInput, RoundResult
from domain.order import Order
from domain.ports import Trail
from domain.roles.models import key_variables
from entrypoints.client import RPC, RoundHandle, connect, require_workers, server_gone, start_round
from entrypoints.following import LoopHandle, LoopSeen, Silent, follow, follow_loop, result_of, was_cancelled
from entrypoints.host_state import UP_SECONDS, Files, ensure_up
from entrypoints.names import host_id
from entrypoints.role_models import roles_of
from workflows.options import ROLES_QUEUE, SANDBOX_QUEUE, WORKFLOWS_QUEUE, workspace_queue

GITHUB_TOKENS = ("COUNTERSIGN_GITHUB_TOKEN", "GITHUB_TOKEN")
RECONNECTS = 20
RECONNECT_SECONDS = 3.0
LEAVE_SECONDS = 20.0
"""How long a round that was cancelled is waited for, before its fix loop is looked for."""

T = TypeVar("T")


@dataclass(frozen=True)
class Server:
    """A connected server; `ui` is the address of its Web UI where it is known."""

    client: Client
    address: str
    ui: str

    def page(self, workflow_id: str) -> str:
        """Where a person can watch the workflow."""
        if not self.ui:
            return f"workflow {workflow_id} at {self.address}"
        return f"{self.ui}/namespaces/{self.client.namespace}/workflows/{quote(workflow_id, safe='')}"


@dataclass(frozen=True)
class Work:
    """What a round is about: an order, where it was read if it was, and what the worker says it did, if it does.

    `authority`: what else decides; `beside`: the files beside the order as they were pinned.
    """

    order: Order
    order_file: str = ""
    claim: Claim | None = None
    authority: Authority = field(default_factory=Authority)
    beside: Mapping[str, str] = field(default_factory=dict)


def variables_of(order: Order) -> list[str]:
    """The variables that a round of `order` takes from its worker's environment: secrets, and GitHub's token."""
    asks_github = any(isinstance(criterion, PrExists | PrMerged) for criterion in order.acceptance_criteria)
    return [*order.environment.secrets, *(GITHUB_TOKENS if asks_github else ())]


async def open_server(
    settings: Settings, secrets: Sequence[str] = (), begun: Popen[bytes] | None = None, *, roles: bool = False
) -> Server:
    """The configured server, else the embedded one, up if needed, with these secrets. Raises `Unavailable`.

    With `roles` a worker has to be there that asks them.
    """
    if not settings.remote:
        return await _open_embedded(settings, secrets, begun)
    client = await connect(settings)
    of_roles = (ROLES_QUEUE,) if roles else ()
    await require_workers(client, WORKFLOWS_QUEUE, workspace_queue(host_id()), SANDBOX_QUEUE, *of_roles)
    return Server(client=client, address=client.service_client.config.target_host, ui="")


async def _open_embedded(settings: Settings, secrets: Sequence[str], begun: Popen[bytes] | None) -> Server:
    """The host's server. One that dies before it answers is looked for again: its host starts another."""
    deadline = time.monotonic() + UP_SECONDS
    while True:
        host = await ensure_up(settings, secrets, begun)
        try:
            return Server(client=await connect(settings, host.address), address=host.address, ui=host.ui)
        except Unavailable:
            if time.monotonic() > deadline:
                raise
        await asyncio.sleep(RECONNECT_SECONDS)


@dataclass(frozen=True)
class Ended:
    """What a round came to, and the fix loop that it began, if it did."""

    result: RoundResult
    loop: FixLoopResult | None = None


def _unseen(_: LoopSeen) -> None:
    """Who runs orders without a fix loop is told of none."""


async def verify(
    settings: Settings,
    trail: Trail,
    work: Work,
    started: Callable[[RoundInput, Server], None],
    seen: Callable[[Progress], None],
    begun: Popen[bytes] | None = None,
    repaired: Callable[[LoopSeen], None] = _unseen,
) -> Ended:
    """Start the next round of `work` and follow it and its fix loop to their end; cancelled, it cancels both.

    `begun` is the project's host, if it was started just now. `seen` is told of the loop's rounds, too, `repaired` of
    the loop.

    A server or host that goes away is waited for, and started again when it is embedded: the round is durable.
    Raises `Unavailable` when it does not come back, or for what the round could not do.
    """
    needed = [*variables_of(work.order), *key_variables(settings.agents)]
    server = await open_server(settings, needed, begun, roles=bool(roles_of(work.order)))
    request, _ = await start_round(
        server.client, trail, work.order, work.order_file, work.claim, work.authority, work.beside
    )
    started(request, server)
    line = _Line(settings, server)
    try:
        result = await line.held(lambda client: _round(client, request.workflow_id, line.silent, seen))
        if not result.fix:
            return Ended(result)
        loop = _Loop(result.fix, line.silent, seen, repaired)
        return Ended(result, await line.held(loop.to_its_end))
    except asyncio.CancelledError:
        await _cancel(line.server.client, request)
        raise


class _Line:
    """A connection that is made again when it is lost."""

    def __init__(self, settings: Settings, server: Server) -> None:
        self._settings = settings
        self.server = server

    async def silent(self) -> None:
        """Nobody starts a worker again where the host was killed, too."""
        if not self._settings.remote and Files(self._settings.state_dir).alive() is None:
            await ensure_up(self._settings)

    async def held(self, followed: Callable[[Client], Awaitable[T]]) -> T:
        """What `followed` comes to, begun again on each new connection. Raises `Unavailable` where none is made."""
        for _ in range(RECONNECTS):
            try:
                return await followed(self.server.client)
            except RPCError as error:
                lost = error
            await asyncio.sleep(RECONNECT_SECONDS)
            self.server = await open_server(self._settings)
        raise server_gone(lost)


async def _round(client: Client, workflow_id: str, silent: Silent, seen: Callable[[Progress], None]) -> RoundResult:
    handle: RoundHandle = client.get_workflow_handle(workflow_id, result_type=RoundResult)
    async for progress in follow(handle, silent):
        seen(progress)
    return await result_of(handle)


class _Loop:
    """One fix loop, and its rounds, each of which is followed while the loop waits for it."""

    def __init__(
        self, workflow_id: str, silent: Silent, seen: Callable[[Progress], None], repaired: Callable[[LoopSeen], None]
    ) -> None:
        self._workflow_id = workflow_id
        self._silent = silent
        self._seen = seen
        self._repaired = repaired
        self._followed: set[str] = set()
        self._last = FixProgress()

    async def to_its_end(self, client: Client) -> FixLoopResult:
        """What it came to; one that somebody cancelled is aborted, with the iterations that were seen of it."""
        handle: LoopHandle = client.get_workflow_handle(self._workflow_id, result_type=FixLoopResult)
        async for stands in follow_loop(handle, self._silent):
            self._last = stands.progress
            self._repaired(stands)
            if stands.progress.round and stands.progress.round not in self._followed:
                await self._follow_round(client, stands.progress.round)
        try:
            return await result_of(handle)
        except Unavailable as error:
            if error.__cause__ is None or not was_cancelled(error.__cause__):
                raise
            last = self._last
            return FixLoopResult(
                ending="aborted",
                reason="the fix loop was cancelled",
                loops=len(last.iterations),
                of=last.of,
                iterations=last.iterations,
            )

    async def _follow_round(self, client: Client, workflow_id: str) -> None:
        handle: RoundHandle = client.get_workflow_handle(workflow_id, result_type=RoundResult)
        try:
            async for progress in follow(handle, self._silent):
                self._seen(progress)
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:  # else it is not there yet: the loop names it again
                raise
        else:
            self._followed.add(workflow_id)


async def _cancel(client: Client, request: RoundInput) -> None:
    """End the round, and the loop that it may have begun while it was told to."""
    await _cancel_one(client, request.workflow_id)
    if not request.order.fix_loop.enabled:
        return
    with suppress(TimeoutError, WorkflowFailureError):
        async with asyncio.timeout(LEAVE_SECONDS):
            await client.get_workflow_handle(request.workflow_id).result()
    await _cancel_one(client, fix_loop_id(request.session, request.todo, request.attempt))


async def _cancel_one(client: Client, workflow_id: str) -> None:
    """What has ended, or never began, is no fault."""
    try:
        await client.get_workflow_handle(workflow_id).cancel(rpc_timeout=RPC)
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
