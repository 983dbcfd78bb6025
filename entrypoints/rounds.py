"""One standalone round, from order to result, whatever dies on the way: what `countersign verify` does."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from subprocess import Popen
from urllib.parse import quote

from temporalio.client import Client
from temporalio.service import RPCError

from adapters.config.settings import Settings
from domain.claims.claim import Claim
from domain.criteria import PrExists, PrMerged
from domain.errors import Cause, Unavailable
from domain.messages import Progress, RoundInput, RoundResult
from domain.order import Order
from domain.ports import Trail
from domain.roles.models import key_variables
from entrypoints.client import RoundHandle, connect, follow, pollers, result_of, server_gone, start_round
from entrypoints.host_state import UP_SECONDS, Files, ensure_up
from entrypoints.names import host_id
from entrypoints.role_models import roles_of
from workflows.options import ROLES_QUEUE, SANDBOX_QUEUE, WORKFLOWS_QUEUE, workspace_queue

GITHUB_TOKENS = ("COUNTERSIGN_GITHUB_TOKEN", "GITHUB_TOKEN")
RECONNECTS = 20
RECONNECT_SECONDS = 3.0


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
    """What a round is about: an order, where it was read if it was, and what the worker says it did, if it does."""

    order: Order
    order_file: str = ""
    claim: Claim | None = None


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
    for queue in (WORKFLOWS_QUEUE, workspace_queue(host_id()), SANDBOX_QUEUE, *of_roles):
        if not await pollers(client, queue):
            raise Unavailable(
                Cause.NO_WORKER,
                f"no worker polls {queue!r} at {client.service_client.config.target_host}",
                "start one with the same state directory: python worker.py",
            )
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


async def verify(
    settings: Settings,
    trail: Trail,
    work: Work,
    started: Callable[[RoundInput, Server], None],
    seen: Callable[[Progress], None],
    begun: Popen[bytes] | None = None,
) -> RoundResult:
    """Start the next round of `work` and follow it to its end; cancelled, it cancels the round.

    `begun` is the project's host, if it was started just now.

    A server or host that goes away is waited for, and started again when it is embedded: the round is durable.
    Raises `Unavailable` when it does not come back, or for what the round could not do.
    """
    needed = [*variables_of(work.order), *key_variables(settings.agents)]
    server = await open_server(settings, needed, begun, roles=bool(roles_of(work.order)))
    request, _ = await start_round(server.client, trail, work.order, work.order_file, work.claim)
    started(request, server)

    async def silent() -> None:
        """Nobody starts a worker again where the host was killed, too."""
        if not settings.remote and Files(settings.state_dir).alive() is None:
            await ensure_up(settings)

    try:
        for _ in range(RECONNECTS):
            handle: RoundHandle = server.client.get_workflow_handle(request.workflow_id, result_type=RoundResult)
            try:
                async for progress in follow(handle, silent):
                    seen(progress)
                return await result_of(handle)
            except RPCError as error:
                lost = error
            await asyncio.sleep(RECONNECT_SECONDS)
            server = await open_server(settings)
        raise server_gone(lost)
    except asyncio.CancelledError:
        await server.client.get_workflow_handle(request.workflow_id).cancel()
        raise
