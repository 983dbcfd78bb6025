"""Roles, as data, and who runs their passes. The library of models is loaded with the first pass, and not before.

Where no model is configured a pass says so, and nothing is loaded at all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from adapters.roles.earlier import Earlier
from adapters.roles.providers import why_nobody
from adapters.roles.tasks import Argue, Audit, BlindLook, Design, Fix, Judge, Plan, Task
from adapters.roles.tooling import Toolmaker
from domain.ports import EvidenceStore, Ledger, Progress
from domain.roles.agents import Agents
from domain.roles.names import Role, Stage
from domain.roles.passes import PassInput
from domain.roles.results import PassResult


class RoleSpec(NamedTuple):
    """A role: what it does in each stage, and which tools it may have. Its prompt is `prompts/NAME.md`.

    Its model and its limits are in `[agents]`.
    """

    stages: Mapping[Stage, type[Task]]
    tools: frozenset[str]


_FILES = frozenset({"Read", "grep", "glob"})
_OF_THE_ROUND = frozenset({*_FILES, "git_diff", "git_log"})

ROLES: Mapping[Role, RoleSpec] = {
    "designer": RoleSpec({"design": Design}, _FILES),
    "strategist": RoleSpec({"strategy": Plan}, _FILES),
    "auditor": RoleSpec(
        {"blind": BlindLook, "informed": Audit},
        frozenset(
            {
                *(*_OF_THE_ROUND, "run_tests"),
                *("browser_navigate", "browser_view", "web_search", "arxiv_search"),
            }
        ),
    ),
    "advocate": RoleSpec({"argument": Argue}, _OF_THE_ROUND),
    "critic": RoleSpec({"argument": Argue}, _OF_THE_ROUND),
    "judge": RoleSpec({"judgement": Judge}, frozenset({*_FILES, "git_diff"})),
    "fix_builder": RoleSpec({"fix": Fix}, frozenset({*_FILES, "Edit"})),
}
"""Seed `auditor` 3.2: what can be read, and nothing that writes; seed `fix loop` 2: a fix builder edits files, too.

Who drafts checks reads the base's files and no change. Both sides argue from the same frozen evidence, without the web,
and ask nobody; a judge reads, beside what they say, what the harness observed.
"""


class LlmRoles:
    """`domain.ports.Roles` by language models. `root` is what a script's path is relative to."""

    def __init__(
        self,
        agents: Agents,
        store: EvidenceStore,
        ledger: Ledger,
        *,
        tools: Toolmaker,
        earlier: Earlier,
        root: Path | None = None,
    ) -> None:
        self._agents = agents
        self._store = store
        self._ledger = ledger
        self._tools = tools
        self._earlier = earlier
        self._root = root

    async def run(self, request: PassInput, progress: Progress, used: float = 0.0) -> PassResult:
        """One pass, see the port."""
        if why := await asyncio.to_thread(why_nobody, self._agents, request, self._root):
            return PassResult(outcome="not_configured", why=why, seconds=used)
        # It takes seconds, in which a worker has heartbeats to send.
        await asyncio.to_thread(import_module, "adapters.roles.one_pass")
        from adapters.roles.one_pass import OnePass, Uses  # noqa: PLC0415 - loaded just now, and only where it is used

        uses = Uses(self._agents, self._store, self._ledger, self._tools, self._earlier, self._root)
        return await OnePass(uses, ROLES[request.role], request, progress).run(used)
