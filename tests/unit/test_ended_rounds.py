"""What a round sealed on an engine goes once the round has ended, wherever it was released."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from entrypoints.ended_rounds import release_ended

Said = WorkflowExecutionStatus | RPCStatusCode


class Seals:
    def __init__(self, *rounds: str) -> None:
        self.left = set(rounds)

    async def rounds(self) -> frozenset[str]:
        return frozenset(self.left)

    async def release(self, round: str) -> None:
        self.left.remove(round)


def server(said: dict[str, Said]) -> Client:
    """A client of a server that says so of each workflow."""

    def handle(workflow_id: str) -> object:
        async def describe() -> object:
            answer = said[workflow_id]
            if isinstance(answer, RPCStatusCode):
                raise RPCError("no", answer, b"")
            return SimpleNamespace(status=answer)

        return SimpleNamespace(describe=describe)

    return cast("Client", SimpleNamespace(get_workflow_handle=handle))


@pytest.mark.parametrize(
    ("said", "goes"),
    [
        (WorkflowExecutionStatus.RUNNING, False),
        (WorkflowExecutionStatus.COMPLETED, True),
        (WorkflowExecutionStatus.CANCELED, True),
        (WorkflowExecutionStatus.TERMINATED, True),
        (RPCStatusCode.NOT_FOUND, False),
        (RPCStatusCode.UNAVAILABLE, False),
    ],
)
async def test_only_what_has_ended_goes(said: Said, goes: bool) -> None:
    seals = Seals("round/s/t/1")
    assert await release_ended(server({"round/s/t/1": said}), seals) == (("round/s/t/1",) if goes else ())
    assert seals.left == (set() if goes else {"round/s/t/1"})


async def test_one_that_the_server_does_not_know_keeps_no_other() -> None:
    seals = Seals("round/s/t/1", "round/s/t/2")
    said: dict[str, Said] = {"round/s/t/1": RPCStatusCode.NOT_FOUND, "round/s/t/2": WorkflowExecutionStatus.COMPLETED}
    assert await release_ended(server(said), seals) == ("round/s/t/2",)
