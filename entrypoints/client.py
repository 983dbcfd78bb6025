"""Typed calls to the server, which every door shares: connect, start a round, follow it. It prints nothing."""

from __future__ import annotations

import asyncio
import getpass
from collections.abc import Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType

from temporalio.api.enums.v1 import IndexedValueType, TaskQueueType
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest, ListSearchAttributesRequest
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest, DescribeTaskQueueRequest
from temporalio.client import (
    Client,
    WorkflowHandle,
)
from temporalio.common import SearchAttributePair, TypedSearchAttributes, WorkflowIDReusePolicy
from temporalio.converter import PayloadCodec
from temporalio.envconfig import ClientConnectConfig
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from adapters.config.settings import Settings
from adapters.encryption.keys import read_keys
from adapters.masking.known import masker_of
from adapters.masking.temporal import masked_converter
from domain.authority import Authority
from domain.claims.claim import Claim
from domain.errors import Cause, Unavailable
from domain.events import Actor, RowFilter
from domain.messages import RoundInput, RoundResult
from domain.order import Order
from domain.ports import Trail
from entrypoints import human_verdicts, telemetry
from entrypoints.connection import arguments, no_namespace, not_let_in, refused
from entrypoints.names import LOCAL_SESSION, host_id
from workflows.board import summary_of
from workflows.options import DOMAIN_ATTRIBUTE, SEARCH_ATTRIBUTES, SESSION_ATTRIBUTE, priority
from workflows.verification import VerificationWorkflow

CONNECT_SECONDS = 30.0
RPC = timedelta(seconds=60)
"""For what is asked once, and fails its command where it is not answered: a machine may stand still for a while."""

SOON = timedelta(seconds=5)
"""For what is asked again where it is not answered, or can be done without."""

WORKER_SECONDS = 10.0
"""How long a queue may seem to have no worker: one that was just started asks for its first task a little later."""

WORKER_POLL_SECONDS = 0.2
NO_AUTHORITY = Authority()
NOT_PINNED: Mapping[str, str] = MappingProxyType({})
RoundHandle = WorkflowHandle[VerificationWorkflow, RoundResult]


async def connect(settings: Settings, address: str | None = None) -> Client:
    """A client for `address`, else for the configured server or profile, with payloads encrypted if so configured.

    Raises `Malformed` for a profile or a key that cannot be used, `Unavailable` (server_unavailable) with what the
    server has against it.
    """
    config = arguments(settings, address)
    converter = masked_converter(masker_of(settings), _codec(settings))
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            client = await Client.connect(**config, data_converter=converter, plugins=telemetry.plugins(settings))
    except (RuntimeError, TimeoutError, ValueError) as error:
        raise refused(config, error) from error
    if settings.remote:
        await _let_in(client, config)
    return client


async def _let_in(client: Client, config: ClientConnectConfig) -> None:
    """Connecting asks nothing of the namespace: what is wrong with it would be said by whatever is asked next."""
    request = DescribeNamespaceRequest(namespace=client.namespace)
    try:
        await client.workflow_service.describe_namespace(request, timeout=RPC)
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            raise no_namespace(config) from error
        if error.status in (RPCStatusCode.PERMISSION_DENIED, RPCStatusCode.UNAUTHENTICATED):
            raise not_let_in(config) from error
        raise refused(config, error) from error


def _codec(settings: Settings) -> PayloadCodec | None:
    """What encrypts, if a file names keys. Raises `Malformed`."""
    if settings.payload_key_file is None:
        return None
    from adapters.encryption.codec import EncryptedPayloads  # noqa: PLC0415 - cryptography: slow to load, and few use it

    return EncryptedPayloads(read_keys(settings.payload_key_file))


async def register_search_attributes(client: Client) -> None:
    """Make the server know our search attributes; those it knows already stay as they are. Raises `Unavailable`."""
    namespace = client.namespace
    operator = client.operator_service
    known = await operator.list_search_attributes(ListSearchAttributesRequest(namespace=namespace), timeout=RPC)
    missing = {
        key.name: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
        for key in SEARCH_ATTRIBUTES
        if key.name not in known.custom_attributes
    }
    if missing:
        request = AddSearchAttributesRequest(namespace=namespace, search_attributes=missing)
        try:
            await operator.add_search_attributes(request, timeout=RPC)
        except RPCError as error:
            raise _not_registered(tuple(missing), error) from error


def _not_registered(names: Sequence[str], error: RPCError) -> Unavailable:
    """A server that lets only its operator do that, as hosted ones do."""
    return Unavailable(
        Cause.SERVER_UNAVAILABLE,
        f"the Temporal server does not register search attributes for a worker: {error.message}",
        f"have its operator register {', '.join(names)}, each of type Keyword, then start the worker again",
    )


async def require_workers(client: Client, *queues: str) -> None:
    """Return when each of `queues` has a worker. Raises `Unavailable` (no_worker) when one has none for seconds.

    They are counted by looks and not by the clock: while the machine stands still, no worker can begin to poll.
    """
    left = round(WORKER_SECONDS / WORKER_POLL_SECONDS)
    for queue in queues:
        while not await pollers(client, queue):
            left -= 1
            if left < 0:
                raise Unavailable(
                    Cause.NO_WORKER,
                    f"no worker polls {queue!r} at {client.service_client.config.target_host}",
                    "start one with the same state directory: python worker.py",
                )
            await asyncio.sleep(WORKER_POLL_SECONDS)


async def pollers(client: Client, queue: str) -> int:
    """How many workers poll `queue` for activities, as far as the server remembers (some minutes)."""
    request = DescribeTaskQueueRequest(
        namespace=client.namespace,
        task_queue=TaskQueue(name=queue),
        task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
    )
    answer = await client.workflow_service.describe_task_queue(request, timeout=RPC)
    return len(answer.pollers)


async def start_round(
    client: Client,
    trail: Trail,
    order: Order,
    order_file: str = "",
    claim: Claim | None = None,
    authority: Authority = NO_AUTHORITY,
    beside: Mapping[str, str] = NOT_PINNED,
) -> tuple[RoundInput, RoundHandle]:
    """Start the next round of `order`, standalone. Two at the same time get two attempt numbers.

    `claim` is what the worker says it did, admitted by `domain.claims.claim.faults`; `authority` and `beside` are as in
    `RoundInput`.
    Raises `Unavailable` when the trail cannot be read or the server is gone.
    """
    attempt = trail.last_attempt(LOCAL_SESSION, order.id)
    rows = tuple(trail.rows(RowFilter(session=LOCAL_SESSION, todo=order.id, actions=human_verdicts.ROWS)))
    rounds = trail.state(LOCAL_SESSION, order.id, tables=human_verdicts.ROUNDS).rounds if rows else ()
    while True:
        attempt += 1
        request = RoundInput(
            session=LOCAL_SESSION,
            todo=order.id,
            attempt=attempt,
            order=order,
            order_digest=order.digest,
            host=host_id(),
            store=trail.store_id(),
            order_file=order_file,
            actor=Actor(role="unattributed", identity=getpass.getuser()),
            claim=claim,
            human_feedback=human_verdicts.feedback_of(rows),
            rejections=human_verdicts.rejections(rounds, rows, order.digest),
            authority=authority,
            beside=dict(beside),
        )
        try:
            handle = await client.start_workflow(
                VerificationWorkflow.run,
                request,
                id=request.workflow_id,
                task_queue="workflows",
                id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                search_attributes=TypedSearchAttributes(
                    [
                        SearchAttributePair(SESSION_ATTRIBUTE, request.session),
                        SearchAttributePair(DOMAIN_ATTRIBUTE, order.domain),
                    ]
                ),
                static_summary=summary_of(order.title),
                priority=priority(f"{LOCAL_SESSION}/{request.store}"),
                rpc_timeout=RPC,
            )
        except WorkflowAlreadyStartedError:
            continue
        except RPCError as error:
            raise server_gone(error) from error
        return request, handle


def server_gone(error: RPCError) -> Unavailable:
    """The server's silence as an error that says what to do."""
    return Unavailable(
        Cause.SERVER_UNAVAILABLE,
        f"the Temporal server does not answer: {error.message}",
        "the round is kept: start the server again (countersign up) and look at countersign log show, or run it again",
    )
