"""A model whose requests are remembered, reserved, sent, settled, and tried again where that can help.

Where one model is gone, the next stands in. Money is reserved before anything is sent. Source: DESIGN 4 "Role passes".
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings

from adapters.roles.faults import CostCap, Fault, ModelGone, OutOfTime, fault_of
from adapters.roles.memory import Memory, Remembered, as_json, bytes_of
from adapters.roles.prices import MOST_TOKENS, micros, tokens_in
from adapters.roles.providers import Known, asked, known, speaking
from adapters.roles.scripted import playing, pretended
from domain.errors import Malformed
from domain.ports import EvidenceStore, Ledger, Progress
from domain.roles.agents import Agents, Caps
from domain.roles.models import script_of
from domain.roles.passes import PassInput
from domain.roles.results import PassUsage
from domain.roles.spending import MICROS, CapsInMicros, Reservation, Settled

PAUSES = (0.5, 1.0, 2.0)
"""Seconds before each new try of the same model: so it is asked once, and as often again."""

LEAST_SECONDS = 0.1
"""What a new try has where the pause before it took longer than it should."""

Sleep = Callable[[float], Awaitable[None]]


class Question(NamedTuple):
    """One request of a pass. `key`: what it is remembered and reserved under; `size`: its bytes."""

    key: str
    size: int
    messages: list[ModelMessage]
    settings: ModelSettings
    parameters: ModelRequestParameters


@dataclass(frozen=True)
class Means:
    """What a pass asks its models with. `deadline`: seconds of `time.monotonic()`; `root`: where scripts are."""

    agents: Agents
    request: PassInput
    store: EvidenceStore
    ledger: Ledger
    say: Progress
    deadline: float
    root: Path | None
    environment: Mapping[str, str]
    sleep: Sleep

    @property
    def left(self) -> float:
        """Seconds until the deadline, negative after it."""
        return self.deadline - time.monotonic()


def opened(  # noqa: PLR0913 - what a pass asks its models with, each by name
    agents: Agents,
    request: PassInput,
    store: EvidenceStore,
    ledger: Ledger,
    say: Progress,
    deadline: float,
    *,
    root: Path | None = None,
    environment: Mapping[str, str] = os.environ,
    sleep: Sleep = asyncio.sleep,
) -> RoleModel:
    """The model of a pass, which has one (`providers.asked`). `deadline` is in seconds of `time.monotonic()`."""
    return RoleModel(Means(agents, request, store, ledger, say, deadline, root, environment, sleep))


class RoleModel(Model[Any]):
    """The configured models of a pass as one. It holds no connection between two requests.

    A request raises `CostCap`, `ModelGone` or `OutOfTime`, and `Unavailable` for our own store and ledger.
    """

    def __init__(self, means: Means) -> None:
        super().__init__()
        self._means = means
        self._names = asked(means.agents, means.request)
        self._table = means.agents.of(means.request.role)
        self._caps = _within(_in_micros(means.agents.caps), means.request.budget)
        self._memory = Memory(means.store, means.request, self._names)
        self._usage = PassUsage()
        self._answered: list[str] = []

    @property
    def model_name(self) -> str:
        """The name, in the configuration, of the model that answered last; before that, of the one that is asked."""
        return self._answered[-1] if self._answered else self._names[0]

    @property
    def system(self) -> str:
        """What stands for a provider's name."""
        return "countersign"

    @property
    def scripted(self) -> bool:
        """Whether a script answered anything, or will first of all."""
        return any(script_of(name) for name in self._answered or self._names[:1])

    @property
    def usage(self) -> PassUsage:
        """What the pass has come to so far. Requests that were lost count by their estimates, failed ones too."""
        return self._usage

    def prepare_request(
        self, model_settings: ModelSettings | None, model_request_parameters: ModelRequestParameters
    ) -> tuple[ModelSettings | None, ModelRequestParameters]:
        """As they are: each model that is asked prepares them for itself."""
        return model_settings, model_request_parameters

    def prepare_messages(
        self,
        messages: list[ModelMessage],
        model_request_parameters: ModelRequestParameters | None = None,  # noqa: ARG002 - the library's signature
    ) -> list[ModelMessage]:
        """As they are, for the same reason."""
        return messages

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """The answer that is remembered, or the first that a model gives."""
        settings = ModelSettings(max_tokens=self._table.max_tokens)
        settings.update(model_settings or {})
        said = bytes_of(messages, settings, model_request_parameters)
        question = Question(self._memory.key_of(said), len(said), messages, settings, model_request_parameters)
        remembered = await asyncio.to_thread(self._memory.recall, question.key)
        if remembered is not None:
            # Whoever was killed between remembering and settling is made up for.
            await asyncio.to_thread(self._means.ledger.settle, remembered.settled)
            return self._count(remembered, remembered=1)
        gone: list[str] = []
        for place, name in enumerate(self._names):
            # While others may stand in, a model that fails is not tried again in their share of the time.
            until = self._means.deadline - self._means.left * (1 - 1 / (len(self._names) - place))
            came = await self._asked(name, question, until)
            if isinstance(came, Remembered):
                return self._count(came)
            gone.append(f"{name}: {came}")
            if self._means.left <= 0:
                raise OutOfTime("; ".join(gone))
        raise ModelGone("; ".join(gone))

    async def _asked(self, name: str, question: Question, until: float) -> Remembered | str:
        """The model's answer, or in words why there is none."""
        try:
            model = known(self._means.agents, name, self._means.root)
            model.key(self._means.environment)  # nothing is reserved for what cannot be sent
            wanted = self._reservation(model, question)
        except Malformed as error:
            return str(error)
        for place, pause in enumerate((*PAUSES, None)):
            left = self._means.left if place == 0 else max(until - time.monotonic(), LEAST_SECONDS)
            came = await self._sent(model, question, wanted, min(self._table.request_timeout, left))
            if isinstance(came, Remembered):
                return came
            wait = max(pause or 0.0, came.retry_after)
            if pause is None or not came.again:
                return came.words if place == 0 else f"{came.words}, the last of {place + 1} tries"
            if time.monotonic() + wait >= until:
                return f"{came.words}, and there is no time to wait {wait:.10g} s" if came.retry_after else came.words
            self._means.say(f"{name}: {came.words}; again in {wait:.10g} s")
            await self._means.sleep(wait)
        raise AssertionError("the last try has no pause after it")

    async def _sent(self, model: Known, question: Question, wanted: Reservation, seconds: float) -> Remembered | Fault:
        """What came of one request. Before it is sent, raises `CostCap` or `OutOfTime`."""
        if seconds <= 0:
            raise OutOfTime(f"no time is left to ask {model.name}")
        refusal = await asyncio.to_thread(self._means.ledger.reserve, wanted, self._caps)
        if refusal is not None:
            raise CostCap(refusal)
        self._means.say(f"asking {model.name}")
        self._add(requests=1)
        try:
            async with self._speaker(model, seconds) as speaker:
                messages = speaker.prepare_messages(list(question.messages), question.parameters)
                settings = ModelSettings(**{**question.settings, "timeout": seconds})
                async with asyncio.timeout(seconds):
                    response = await speaker.request(messages, settings, question.parameters)
        except Exception as error:  # noqa: BLE001 - a body that is no answer makes the libraries raise anything
            fault = fault_of(error, seconds)
            if fault.charged:
                self._add(micros=wanted.micros)
            else:
                await asyncio.to_thread(self._means.ledger.settle, _nothing(wanted))
            return fault
        return await asyncio.to_thread(self._kept, model, question, response)

    @asynccontextmanager
    async def _speaker(self, model: Known, seconds: float) -> AsyncIterator[Model[Any]]:
        if (script := model.played()) is not None:
            of = self._means.request
            yield playing(model.name, script, of.role, of.stage, of.part)
            return
        async with speaking(model, seconds, self._means.environment) as speaker:
            yield speaker

    def _reservation(self, model: Known, question: Question) -> Reservation:
        """By the estimate. Raises `Malformed` for a model whose price nobody knows."""
        round_ = self._means.request.round
        into, out = _estimate(question)
        return Reservation(
            key=question.key,
            session=round_.session,
            todo=round_.todo,
            attempt=round_.attempt,
            role=self._means.request.role,
            model=model.name,
            micros=micros(model.price(into), into, out),
        )

    def _kept(self, model: Known, question: Question, response: ModelResponse) -> Remembered:
        """The answer, remembered before it is settled: whoever dies between the two settles it when it is recalled."""
        into, out = (0, 0) if model.entry is None else _used(response, question)
        cost = pretended(response) if model.entry is None else micros(model.price(into), into, out)
        settled = Settled(key=question.key, input_tokens=into, output_tokens=out, micros=cost)
        answer = Remembered(model=model.name, response=as_json(response), settled=settled)
        kept = self._memory.remember(question.key, answer)
        self._means.ledger.settle(settled)
        return kept

    def _count(self, answer: Remembered, remembered: int = 0) -> ModelResponse:
        self._answered.append(answer.model)
        came = answer.settled
        self._add(
            remembered=remembered,
            input_tokens=came.input_tokens,
            output_tokens=came.output_tokens,
            micros=came.micros,
        )
        return answer.answer

    def _add(self, **more: int) -> None:
        so_far = self._usage.model_dump()
        self._usage = PassUsage(**{name: so_far[name] + more.get(name, 0) for name in so_far})


def _estimate(question: Question) -> tuple[int, int]:
    """Tokens in and out that a request may come to."""
    return tokens_in(question.size), question.settings["max_tokens"]


def _used(response: ModelResponse, question: Question) -> tuple[int, int]:
    """Tokens in and out as the provider says; the estimate where it says nothing, or nothing that can be."""
    usage = response.usage
    if usage.unmeasured_requests or usage.input_tokens <= 0:
        return _estimate(question)
    return min(usage.input_tokens, MOST_TOKENS), min(max(usage.output_tokens, 0), MOST_TOKENS)


def _nothing(wanted: Reservation) -> Settled:
    return Settled(key=wanted.key, input_tokens=0, output_tokens=0, micros=0)


def _within(caps: CapsInMicros, budget: int | None) -> CapsInMicros:
    """The caps with what is left of a budget: it stands for the role's own where that is wider."""
    limits = [limit for limit in (caps.role, budget) if limit is not None]
    return caps.model_copy(update={"role": min(limits, default=None)})


def _in_micros(caps: Caps) -> CapsInMicros:
    return CapsInMicros(
        **{name: None if dollars is None else int(Decimal(str(dollars)) * MICROS) for name, dollars in caps}
    )
