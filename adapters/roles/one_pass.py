"""One pass of a role from its packet to its result: what it is told, what it may use, how long, and what came of it.

Everything that a model, its provider or a tool does wrong is an outcome; only our own store away is an error. Source:
DESIGN 4 "Role passes" and 8 "Blind first pass".
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from adapters.roles.conversation import ANSWERS, Conversation, Ending, history_of, output_schemas
from adapters.roles.earlier import Earlier
from adapters.roles.faults import CostCap, ModelGone, OutOfTime
from adapters.roles.opening import opening_of
from adapters.roles.prompts import prompt_of
from adapters.roles.requests import RoleModel, opened
from adapters.roles.runtime import RoleSpec
from adapters.roles.tasks import Answer
from adapters.roles.tool import Tool
from adapters.roles.tooling import WORDS_OF_THE_WORKER, Toolbox, Toolmaker
from adapters.roles.toolset import RUN_TESTS, PassTools
from domain.base import canonical_json, sha256_hex
from domain.checks import items_of
from domain.errors import Malformed
from domain.ports import EvidenceStore, Ledger, Progress
from domain.roles.agents import Agents
from domain.roles.citations import Pieces
from domain.roles.delimited import rendered
from domain.roles.opinion import Question
from domain.roles.packet import Packet
from domain.roles.passes import PassInput
from domain.roles.results import PassResult, PassUsage, Provenance


class Uses(NamedTuple):
    """What every pass of a worker process uses."""

    agents: Agents
    store: EvidenceStore
    ledger: Ledger
    tools: Toolmaker
    earlier: Earlier
    root: Path | None = None


class OnePass:
    """One pass. It is run once."""

    def __init__(self, uses: Uses, spec: RoleSpec, request: PassInput, say: Progress) -> None:
        self._uses, self._spec, self._request, self._say = uses, spec, request, say
        self._order = request.round.order
        self._limits = uses.agents.of(request.role)
        self._task = spec.stages[request.stage](uses.store, request, uses.earlier)
        self._packet = Packet(fields={}, pieces=())
        self._box = Toolbox((), uses.store, request)
        self._provenance = Provenance()
        self._conversation: Conversation | None = None
        self._model: RoleModel | None = None

    async def run(self, used: float) -> PassResult:
        """What it comes to within `request.limit` seconds, of which `used` are gone. Raises `Unavailable` for ours."""
        begun = time.monotonic()
        late = Ending("timed_out", f"the {self._request.limit:.0f} s that were left of the audit's time are over")
        try:
            async with asyncio.timeout(self._request.limit - used) as clock:
                ending = await self._held(begun + self._request.limit - used)
        except TimeoutError:
            if not clock.expired():
                raise
            ending = late
        except OutOfTime as error:
            ending = late._replace(why=f"{late.why}: {error}") if str(error) else late
        except CostCap as error:
            ending = Ending("cost_cap_exceeded", str(error))
        except (ModelGone, Malformed) as error:
            ending = Ending("unavailable", str(error))
        return await asyncio.to_thread(self._result, ending, used + time.monotonic() - begun)

    async def _held(self, deadline: float) -> Ending:
        request, uses = self._request, self._uses
        self._packet = await asyncio.to_thread(self._task.packet)
        try:
            history = history_of(await asyncio.to_thread(uses.store.get, request.messages)) if request.messages else []
        except ValidationError:
            return Ending("inconclusive", "another version wrote the conversation so far, and this one cannot read it")
        self._model = opened(uses.agents, request, uses.store, uses.ledger, self._say, deadline, root=uses.root)
        own = self._task.tools()
        async with nullcontext(own) if own else uses.tools(request, self._say) as given:
            self._box = Toolbox([tool for tool in given if self._has(tool.name)], uses.store, request)
            tools = PassTools(self._box, self._tests())
            prompt, packet = await asyncio.to_thread(self._texts, tools)
            self._conversation = Conversation(
                self._model,
                system=prompt,
                outputs=self._task.answers,
                tools=tools,
                check=self._faults,
                refuse=self._box.refuse,
                requests=self._limits.max_requests,
                tokens=self._limits.max_tokens,
                say=lambda text: self._say(f"{request.role}, {request.stage}: {text}"),
            )
            return await self._conversation.hold(await opening_of(uses.store, request, self._box, packet, history))

    def _texts(self, tools: PassTools) -> tuple[str, str]:
        """The prompt and the packet as the model is told them, which are kept: what the answer follows from."""
        prompt_digest, prompt = self._stored(self._prompt(list(self._box.tools.values())))
        packet_digest, packet = self._stored(rendered(self._packet))
        schemas = [[tool.name, tool.description, tool.parameters_json_schema] for tool in tools.definitions()]
        schemas += output_schemas(self._task.answers)
        self._provenance = Provenance(
            prompt=prompt_digest,
            tools=sha256_hex(json.dumps(schemas, sort_keys=True).encode()),
            policy=self._policy(),
            packet=packet_digest,
        )
        return prompt, packet

    def _has(self, tool: str) -> bool:
        """Whether this pass has that tool: what commits say is the worker's explanation, no part of a blind pass."""
        return tool in self._spec.tools and not (self._request.stage == "blind" and tool in WORDS_OF_THE_WORKER)

    def _tests(self) -> frozenset[str]:
        return frozenset(item.id for item in items_of(self._order)) if RUN_TESTS in self._spec.tools else frozenset()

    def _prompt(self, tools: Sequence[Tool]) -> str:
        return prompt_of(
            self._request.role,
            stage=self._request.stage,
            criteria=self._order.verification.auditor.criteria,
            tools=tools,
            tests=sorted(self._tests()),
            requests=self._limits.max_requests,
            answers=ANSWERS,
            questions=self._order.safeguards.follow_ups,
        )

    def _policy(self) -> str:
        """The digest of the caps, the limits and what may be reached."""
        agents, guards = self._uses.agents, self._order.safeguards
        limits = [guards.follow_ups, guards.tool_retries, guards.tool_timeout, guards.audit_timeout, ANSWERS]
        tables = [table.model_dump(mode="json") for table in (agents.caps, self._limits, agents.web)]
        return sha256_hex(canonical_json([*tables, limits]))

    @property
    def _pieces(self) -> Pieces:
        return self._packet.by_id | self._box.pieces

    def _faults(self, answer: Answer) -> tuple[str, ...]:
        if isinstance(answer, Question) and self._request.questions < 1:
            reason = "no question to the worker is left"
            self._box.refuse("question", answer.question, "no_question_left", reason)
        return self._task.faults(answer, self._pieces)

    def _stored(self, text: str) -> tuple[str, str]:
        """Store a text, and what a model is told of it: secrets are masked in what is stored."""
        digest = self._uses.store.put(text.encode())
        return digest, self._uses.store.get(digest).decode()

    def _result(self, ending: Ending, seconds: float) -> PassResult:
        put, answer, model = self._uses.store.put, ending.answer, self._model
        asks = isinstance(answer, Question)
        return PassResult(
            outcome=ending.outcome,
            why=ending.why,
            said="" if answer is None or asks else put(answer.model_dump_json().encode()),
            messages=put(self._conversation.messages) if self._conversation else "",
            question=answer if isinstance(answer, Question) else None,
            tests=ending.tests,
            refused=tuple(self._box.refused),
            usage=model.usage if model else PassUsage(),
            provenance=self._provenance.model_copy(
                update={"model": model.model_name, "scripted": model.scripted} if model else {}
            ),
            seconds=seconds,
            **(self._task.filled(answer, self._pieces) if answer is not None else {}),
        )
