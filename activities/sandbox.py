"""Makes images ready and removes what a round left sealed."""

from __future__ import annotations

from temporalio import activity

from activities.boundary import beating, speaks_temporal
from domain.messages import Image, PrepareInput, ReleaseInput, SetupInput
from domain.ports import Sandbox


class SandboxActivities:
    """Activities on the sandbox itself; commands run through `check.run`."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    @activity.defn(name="sandbox.prepare")
    @speaks_temporal
    async def prepare(self, request: PrepareInput) -> Image:
        """Find, build or pull the image."""
        async with beating() as say:
            return await self._sandbox.prepare(request.image, say)

    @activity.defn(name="sandbox.setup")
    @speaks_temporal
    async def setup(self, request: SetupInput) -> Image:
        """The image with what the base's inputs ask for, from the cache or made now."""
        async with beating() as say:
            return await self._sandbox.setup(request, say)

    @activity.defn(name="sandbox.release")
    @speaks_temporal
    async def release(self, request: ReleaseInput) -> None:
        """Remove the round's sealed tree from this host."""
        async with beating():
            await self._sandbox.release(request.round)
