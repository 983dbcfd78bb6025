"""Typed calls on sessions and todos, which every door shares. An update is asked until it is answered, and done once.

It prints nothing, and refuses nothing by itself: what may be done is the workflows' to say.
"""

from __future__ import annotations

import asyncio
import random
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import TypeVar

from temporalio.client import (
    Client,
    WorkflowFailureError,
    WorkflowQueryFailedError,
    WorkflowQueryRejectedError,
    WorkflowUpdateFailedError,
    WorkflowUpdateHandle,
    WorkflowUpdateRPCTimeoutOrCancelledError,
    WorkflowUpdateStage,
)
from temporalio.common import (
    SearchAttributePair,
    TypedSearchAttributes,
    WorkflowIDConflictPolicy,
    WorkflowIDReusePolicy,
)
from temporalio.exceptions import ApplicationError, WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from activities.packing import unpacked
from adapters.config.settings import Settings
from domain.acts.standalone import StandaloneActInput, command_of
from domain.errors import Cause, Refused, Unavailable
from domain.life import SessionInput
from domain.messages import Progress
from domain.requests import Answer, Request
from domain.session import Session, session_workflow_id
from domain.todo import Todo, workflow_id_of
from entrypoints.client import RPC, SOON, connect, require_workers, server_gone
from entrypoints.rounds import open_server
from workflows.board import summary_of
from workflows.options import SESSION_ATTRIBUTE, WORKFLOWS_QUEUE, priority

TRY = timedelta(seconds=10)
"""One try of an update; the server answers within that or is asked again, with the same id."""

TAKEN_SECONDS = 600.0
"""How long an update that nobody has taken yet is asked again. Each try finds out whether a worker is there: where one
is, it has many others before."""

ANSWERED_SECONDS = 1200.0
"""How long one that was taken may need: a claim's tree is frozen before it is answered."""

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0

AWAY = frozenset({RPCStatusCode.UNAVAILABLE, RPCStatusCode.UNKNOWN})
"""The server is away; it was killed while it answered (tonic's "transport error" has no status of its own)."""

FAILING = RPCStatusCode.FAILED_PRECONDITION
"""Several of the workflow's tasks in a row failed, or ran out of time: a worker with too much to do has no defect."""

FAILING_SECONDS = 120.0
"""How long that is believed to pass; a defect lasts."""

AGAIN = AWAY | frozenset(
    {
        RPCStatusCode.DEADLINE_EXCEEDED,
        RPCStatusCode.CANCELLED,
        RPCStatusCode.ABORTED,
        RPCStatusCode.RESOURCE_EXHAUSTED,
        FAILING,
    }
)
"""And: a run is just being followed by the next, or ten updates of the workflow are in flight."""

A = TypeVar("A")

Reopen = Callable[[Sequence[str]], Awaitable[Client]]
"""Connects, after it has seen to it that server and worker are there, and these variables. Raises `Unavailable`."""


class Lives:
    """The sessions and todos of one server."""

    def __init__(self, client: Client, reopen: Reopen) -> None:
        self._client = client
        self._reopen = reopen

    async def open_session(self, request: SessionInput, title: str) -> bool:
        """Start the session's workflow; False where a session of that id was opened before. Raises `Unavailable`."""
        assert request.session is not None, "only a run that is continued has it packed"
        session = request.session
        try:
            await self._client.start_workflow(
                "SessionWorkflow",
                request,
                id=session.workflow_id,
                task_queue=WORKFLOWS_QUEUE,
                id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                search_attributes=TypedSearchAttributes([SearchAttributePair(SESSION_ATTRIBUTE, session.id)]),
                static_summary=summary_of(title),
                priority=priority(session.id),
                rpc_timeout=RPC,
            )
        except WorkflowAlreadyStartedError:
            return False
        except RPCError as error:
            raise server_gone(error) from error
        return True

    async def ask_todo(self, session: str, todo: str, command: str, request: Request) -> Answer:
        """The todo's answer to an update. Raises `Refused` for a todo that is not there, `Unavailable`."""
        return await self._ask(workflow_id_of(session, todo), command, request)

    async def ask_session(self, session: str, command: str, request: Request) -> Answer:
        """The session's answer to an update. Raises `Refused` for a session that is not there, `Unavailable`."""
        return await self._ask(session_workflow_id(session), command, request)

    async def act(self, act: StandaloneActInput) -> Answer:
        """The answer to an act on a standalone round: started once, however often. Raises `Unavailable`."""
        asked = _Asked(act.workflow_id, command_of(act.request).value)
        while True:
            try:
                handle = await self._client.start_workflow(
                    "StandaloneActWorkflow",
                    act,
                    id=act.workflow_id,
                    task_queue=WORKFLOWS_QUEUE,
                    id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                    id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
                    search_attributes=TypedSearchAttributes([SearchAttributePair(SESSION_ATTRIBUTE, act.session)]),
                    static_summary=f"{asked.command} {act.session}/{act.todo}",
                    priority=priority(act.session),
                    result_type=Answer,
                    rpc_timeout=TRY,
                )
                break
            except WorkflowAlreadyStartedError:  # it has ended: the answer to the first try got lost
                handle = self._client.get_workflow_handle(act.workflow_id, result_type=Answer)
                break
            except RPCError as error:
                await self._again(asked, error)
        asked.take()
        while True:
            try:
                answer: Answer = await handle.result(rpc_timeout=TRY)
            except WorkflowFailureError as error:
                raise _failed(act.workflow_id, asked.command, error.cause) from error
            except RPCError as error:
                await self._again(asked, error)
            else:
                return answer

    async def _again(self, asked: _Asked, error: RPCError) -> None:
        """Wait until it may be tried again. Raises `Unavailable` where it may not."""
        if error.status not in AGAIN:
            raise server_gone(error) from error
        asked.lost(error.message, failing=error.status is FAILING)
        if error.status in AWAY:
            await self.revive()
        await asyncio.sleep(asked.pause())

    async def session(self, session: str) -> Session:
        """All that the session's workflow knows. Raises `Refused`, `Unavailable`."""
        return unpacked(await self._queried(session_workflow_id(session), "packed", str), Session)

    async def todo(self, session: str, todo: str) -> Todo:
        """All that the todo's workflow knows. Raises `Refused`, `Unavailable`."""
        return await self._queried(workflow_id_of(session, todo), "state", Todo)

    async def _queried(self, workflow_id: str, query: str, kind: type[A]) -> A:
        asked = _Asked(workflow_id, query)
        while True:
            try:
                handle = self._client.get_workflow_handle(workflow_id)
                found: A = await handle.query(query, result_type=kind, rpc_timeout=TRY)
                return found
            except RPCError as error:
                if error.status is RPCStatusCode.NOT_FOUND:
                    raise not_there(workflow_id) from error
                if error.status not in AGAIN:
                    raise server_gone(error) from error
                asked.lost(error.message, failing=error.status is FAILING)
                if error.status is not FAILING:
                    await self.revive()
            except (WorkflowQueryFailedError, WorkflowQueryRejectedError) as error:
                what = f"{workflow_id} cannot be asked: {error}"
                raise Unavailable(Cause.SYSTEM_ERROR, what, "see it in the Web UI") from error
            await asyncio.sleep(asked.pause())

    async def progress(self, round_id: str) -> Progress | None:
        """How a round stands; None while nobody can say."""
        try:
            handle = self._client.get_workflow_handle(round_id)
            found: Progress = await handle.query("progress", result_type=Progress, rpc_timeout=SOON)
        except (RPCError, WorkflowQueryFailedError, WorkflowQueryRejectedError):
            return None
        return found

    async def need(self, secrets: Sequence[str]) -> None:
        """See to it that the host's worker has these variables, if they are set here. Raises `Unavailable`."""
        if secrets:
            self._client = await self._reopen(secrets)

    async def revive(self) -> None:
        """See to it that server and worker are there. Raises `Unavailable` when they do not come back."""
        self._client = await self._reopen(())

    async def _ask(self, workflow_id: str, command: str, request: Request) -> Answer:
        """Sent under one id however often: what was applied before the answer got lost is answered again, not done."""
        asked = _Asked(workflow_id, command)
        while True:
            try:
                return await self._try(asked, request)
            except WorkflowUpdateFailedError as error:
                raise _failed(workflow_id, command, error.cause) from error
            except WorkflowUpdateRPCTimeoutOrCancelledError as error:
                task = asyncio.current_task()
                if task is not None and task.cancelling():  # the SDK has no other word for it
                    raise asyncio.CancelledError from error
                asked.lost("no worker has taken it")
                await self.revive()
            except RPCError as error:
                if error.status is RPCStatusCode.NOT_FOUND and not asked.taken:
                    raise not_there(workflow_id) from error
                if error.status not in AGAIN and error.status is not RPCStatusCode.NOT_FOUND:
                    raise server_gone(error) from error
                asked.lost(error.message, failing=error.status is FAILING)
                if error.status in AWAY:
                    await self.revive()
            await asyncio.sleep(asked.pause())

    async def _try(self, asked: _Asked, request: Request) -> Answer:
        handle = self._client.get_workflow_handle(asked.workflow_id)
        update: WorkflowUpdateHandle[Answer] = await handle.start_update(
            asked.command,
            request,
            wait_for_stage=WorkflowUpdateStage.ACCEPTED,
            id=asked.id,
            result_type=Answer,
            rpc_timeout=TRY,
        )
        asked.take()
        return await update.result(rpc_timeout=TRY)


class _Asked:
    """One update or query, and how long it has been asked."""

    def __init__(self, workflow_id: str, command: str) -> None:
        self.workflow_id, self.command, self.id = workflow_id, command, uuid.uuid4().hex
        self.taken = False
        self._began = time.monotonic()
        self._failing_since: float | None = None
        self._pause = FIRST_PAUSE

    def take(self) -> None:
        """The workflow has it: from now on only its answer is waited for."""
        self.taken = True

    def lost(self, why: str, failing: bool = False) -> None:
        """A try came to nothing. Raises `Unavailable` when it has gone on for too long."""
        now = time.monotonic()
        waited = now - self._began
        self._failing_since = (self._failing_since or now) if failing else None
        if self._failing_since is not None and now - self._failing_since > FAILING_SECONDS:
            reason = f"{self.workflow_id} cannot go on, and so does not take {self.command!r}: {why}"
            raise Unavailable(Cause.SYSTEM_ERROR, reason, "see in the Web UI and the worker's log what it fails on")
        if self.taken and waited > ANSWERED_SECONDS:
            reason = f"{self.workflow_id} has taken {self.command!r} and not answered for {waited:.0f} s"
            raise Unavailable(Cause.SYSTEM_ERROR, reason, "it may still be done: look at countersign log show")
        if not self.taken and waited > TAKEN_SECONDS:
            reason = f"{self.workflow_id} has not taken {self.command!r} for {waited:.0f} s: {why}"
            advice = "see that a worker runs (countersign status), look whether it was done, then ask again"
            raise Unavailable(Cause.NO_WORKER, reason, advice)

    def pause(self) -> float:
        """Seconds until the next try: longer each time, and not in step with others that wait."""
        self._pause = min(LONGEST_PAUSE, self._pause * 2)
        return self._pause * random.uniform(0.5, 1.0)  # noqa: S311 - nothing secret about it


def not_there(workflow_id: str) -> Refused:
    """Nobody answers under that id: there never was one, or its session ended long ago."""
    kind, _, name = workflow_id.partition("/")
    return Refused(
        f"unknown_{kind}",
        f"there is no {kind} {name} that could be asked: none of that name was created here, or it ended long ago",
        "countersign session list says which there are; countersign log show what became of them",
    )


def _failed(workflow_id: str, command: str, cause: BaseException | None) -> Unavailable:
    """Why an update or an act came to nothing; what is refused is answered, and no failure."""
    if isinstance(cause, ApplicationError) and cause.type == "unavailable":
        name, reason, next_step = cause.details
        return Unavailable(Cause(name), reason, next_step)
    return Unavailable(
        Cause.SYSTEM_ERROR, f"{workflow_id} broke on {command!r}: {cause}", "see it in the Web UI, then ask again"
    )


async def open_lives(settings: Settings, secrets: Sequence[str] = ()) -> Lives:
    """The sessions and todos of the configured server, else of the embedded one, up if needed. Raises `Unavailable`.

    `secrets` are variables that the host's worker needs as they are here.
    """

    async def reopen(secrets: Sequence[str]) -> Client:
        return await _connected(settings, secrets)

    return Lives(await _connected(settings, secrets), reopen)


async def _connected(settings: Settings, secrets: Sequence[str]) -> Client:
    """Somebody else's server need not see this machine's trees: people act on todos from anywhere."""
    if not settings.remote:
        return (await open_server(settings, secrets)).client
    client = await connect(settings)
    await require_workers(client, WORKFLOWS_QUEUE)
    return client
