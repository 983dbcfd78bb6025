"""Workflows with the least that is durable, to hold ours against. It imports nothing more: each start imports it."""

from __future__ import annotations

from datetime import timedelta

from temporalio import activity, workflow

LIMIT = timedelta(seconds=30)


@activity.defn(name="bench.nothing")
async def nothing() -> None:
    """Do nothing."""


@workflow.defn(name="BenchOneActivity")
class OneActivity:
    """A workflow with one activity that does nothing."""

    @workflow.run
    async def run(self) -> None:
        """Run it."""
        await workflow.execute_activity(nothing, start_to_close_timeout=LIMIT)


@workflow.defn(name="BenchUpdates")
class Updates:
    """A workflow that answers updates for ever."""

    @workflow.run
    async def run(self) -> None:
        """Wait."""
        await workflow.wait_condition(lambda: False)

    @workflow.update
    async def bare(self) -> None:
        """Answer at once."""

    @workflow.update
    async def stored(self) -> None:
        """Answer after one activity, as whoever stores a row has to."""
        await workflow.execute_activity(nothing, start_to_close_timeout=LIMIT)
