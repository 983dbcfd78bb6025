"""Composition of the roles: which models, tools and ledger stand behind `Roles`, built when the first pass wants them.

What speaks to models takes seconds to load, and much memory: a project that has no model never does.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from adapters.config.settings import Settings
from adapters.ledger import SqlLedger
from adapters.masking.stores import MaskedTrail
from domain.ports import EvidenceStore, Progress, Roles
from domain.roles.models import chosen
from domain.roles.passes import PassInput
from domain.roles.results import PassResult
from entrypoints.imports import without_collecting
from entrypoints.stores import build_ledger, build_trail

if TYPE_CHECKING:
    from adapters.roles.tool import Tool

NOT_CONFIGURED = PassResult(outcome="not_configured", why="no model is configured")


class ConfiguredRoles:
    """The roles as the settings have them. Without a model every pass is answered at once: none is configured."""

    def __init__(self, settings: Settings, evidence: EvidenceStore) -> None:
        self._settings, self._evidence = settings, evidence
        self._ledger: SqlLedger | None = None
        self._trail: MaskedTrail | None = None
        self._roles: Roles | None = None
        self._turn = asyncio.Lock()

    async def run(self, request: PassInput, progress: Progress, used: float) -> PassResult:
        """One pass. Raises `Unavailable`, also where the ledger's database cannot be opened."""
        if not chosen(self._settings.agents) and not request.model:
            return NOT_CONFIGURED
        return await (await self._built()).run(request, progress, used)

    async def _built(self) -> Roles:
        """Built beside the event loop, which has heartbeats to send meanwhile."""
        async with self._turn:
            if self._roles is None:
                self._roles = await asyncio.to_thread(self._build)
            return self._roles

    def _build(self) -> Roles:
        if self._ledger is None:
            self._ledger = build_ledger(self._settings)
        if self._trail is None:
            self._trail = build_trail(self._settings)
        runtime = without_collecting("adapters.roles.runtime")
        earlier = without_collecting("adapters.roles.earlier").earlier_in
        settings = self._settings
        built: Roles = runtime.LlmRoles(
            settings.agents,
            self._evidence,
            self._ledger,
            tools=self._tools,
            earlier=partial(earlier, self._trail),
            root=settings.project,
        )
        return built

    @asynccontextmanager
    async def _tools(self, request: PassInput, say: Progress) -> AsyncIterator[Sequence[Tool]]:
        """What a role may look at: the frozen tree, and of the web what is allowed."""
        from adapters.roles.snapshot_tools import snapshot_tools  # noqa: PLC0415 - for those who have a model
        from adapters.roles.web.tools import web_tools  # noqa: PLC0415 - as above

        of_the_tree = snapshot_tools(self._evidence, request.frozen, request.scope)
        async with web_tools(self._settings.agents.web, say) as of_the_web:
            yield [*of_the_tree, *of_the_web]

    def close(self) -> None:
        """Close ledger and trail, if they were opened."""
        for opened in (self._ledger, self._trail):
            if opened is not None:
                opened.close()
