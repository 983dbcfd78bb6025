"""The environment of a round: which image its checks run on, made ready and set up. It runs no check.

Source: DESIGN 7 "environment".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from temporalio import workflow
from temporalio.exceptions import ActivityError

with workflow.unsafe.imports_passed_through():
    from activities.boundary import outside_error
    from activities.sandbox import SandboxActivities
    from domain.checks import Item
    from domain.criteria import PROBE_IMAGE, HttpResponse
    from domain.errors import Unavailable
    from domain.events import SYSTEM
    from domain.messages import Frozen, Image, NodeStatus, PrepareInput, SetupInput
    from domain.order import Order
    from workflows import options
    from workflows.trail import RoundTrail


class Environment:
    """The images of one round, each None until it was asked for, or why there is none.

    `recorded_id` is the engine's id of the image that the trail last named; `installed` is what was set up on it.
    """

    def __init__(self, order: Order, items: Iterable[Item], trail: RoundTrail) -> None:
        self._order = order
        self._items = tuple(items)
        self._trail = trail
        self.image: Image | Unavailable | None = None
        self.probe_image: Image | Unavailable | None = None
        self.recorded_id = ""
        self.installed: SetupInput | None = None

    def why_not(self, item: Item) -> Unavailable | None:
        """What keeps `item` from being run, as far as images go."""
        needed = (
            self.image if item.needs_sandbox else None,
            self.probe_image if isinstance(item.criterion, HttpResponse) else None,
        )
        return next((image for image in needed if isinstance(image, Unavailable)), None)

    async def make_ready(self) -> tuple[NodeStatus, str]:
        """Find, build or pull what the items run on; nothing when none needs a container."""
        if not any(item.needs_sandbox for item in self._items):
            return "skipped", "no container needed"
        self.image = await self._prepare(self._order.environment.image)
        if any(isinstance(item.criterion, HttpResponse) for item in self._items):
            self.probe_image = await self._prepare(PROBE_IMAGE)
        for image in (self.image, self.probe_image):
            if isinstance(image, Unavailable):
                await self._trail.record("environment_ready", SYSTEM, {"error": image.reason})
                return "could_not_run", image.reason
        assert isinstance(self.image, Image)
        return await self._ready("environment_ready", self.image)

    async def make_ready_late(self, frozen: Frozen) -> Unavailable | None:
        """Image and set-up for what was drafted since: no item needed them before. Why there is none, if there is."""
        if self.image is None:
            self.image = await self._prepare(self._order.environment.image)
            if isinstance(self.image, Unavailable):
                await self._trail.record("environment_ready", SYSTEM, {"error": self.image.reason})
                return self.image
            await self._ready("environment_ready", self.image)
            await self.set_up(frozen)
        return self.image if isinstance(self.image, Unavailable) else None

    async def _prepare(self, name: str) -> Image | Unavailable:
        try:
            return await workflow.execute_activity_method(
                SandboxActivities.prepare, PrepareInput(image=name), summary=f"image {name}", **options.PREPARE
            )
        except ActivityError as error:
            return outside_error(error)

    async def set_up(self, frozen: Frozen | None) -> tuple[NodeStatus, str]:
        """Install what the order's set-up says, as the `base` that was frozen asks for it."""
        environment = self._order.environment
        if not environment.setup or self.image is None:
            return "skipped", "nothing to install"
        if frozen is None or isinstance(self.image, Unavailable):
            return "could_not_run", "no snapshot" if frozen is None else "no image"
        request = SetupInput(
            image=self.image,
            base=frozen.base,
            setup=tuple(environment.setup),
            inputs=tuple(environment.inputs),
            secrets=tuple(environment.secrets),
        )
        try:
            self.image = await workflow.execute_activity_method(
                SandboxActivities.setup, request, summary="environment.setup, with network", **options.PREPARE
            )
        except ActivityError as error:
            self.image = outside_error(error)
            await self._trail.record("environment_set_up", SYSTEM, {"error": self.image.reason})
            return "could_not_run", self.image.reason
        self.installed = request
        return await self._ready("environment_set_up", self.image)

    async def _ready(
        self, action: Literal["environment_ready", "environment_set_up"], image: Image
    ) -> tuple[NodeStatus, str]:
        await self._trail.record(action, SYSTEM, {"image": image.reference, "id": image.id})
        self.recorded_id = image.id
        return "done", image.reference
