"""One pass of a role as a conversation with a model: requests, tool calls, an answer that holds up or none.

It is bounded by its requests and by its answers; time, money and memory are the model's and the runtime's to see to.
What a model does wrong ends it with a word for that, never with an error. Source: DESIGN 4 "Role passes".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pydantic_ai
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ModelRetry, ToolOutput, UsageLimits
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelRequest, ModelResponse
from pydantic_ai.models import Model
from pydantic_ai.run import AgentRun
from pydantic_ai.settings import ModelSettings

from adapters.roles.tasks import Answer
from adapters.roles.tooling import as_text
from adapters.roles.toolset import RUN_TESTS, PassTools
from domain.ports import Progress
from domain.roles.argued import Case, Judgement
from domain.roles.designed import Specification, TestPlan
from domain.roles.opinion import FirstLook, Opinion, Question
from domain.roles.repaired import Repair
from domain.roles.results import PassOutcome, WantedTest

pydantic_ai.BANNER_ENABLED = False

ANSWERS = 3
"""How often a model may answer in one pass until an answer holds up."""

ANSWER_NOW = "No message with tools is left. Answer now, with what you have seen."

Check = Callable[[Answer], Sequence[str]]
"""What does not hold up about an answer, in sentences that a model can act on."""

NAMED: dict[type[Answer], tuple[str, str]] = {
    FirstLook: ("first_look", "Your first look: what the observed facts show."),
    Opinion: ("opinion", "Your verdict."),
    Question: ("question", "One question to the worker, in place of your verdict for now."),
    Case: ("case", "Your case: an argument for each disputed criterion."),
    Judgement: ("judgement", "Your rulings, one for each disputed criterion."),
    Specification: ("specification", "The specification of the work."),
    TestPlan: ("test_plan", "A check for each criterion, or why there is none."),
    Repair: ("repair", "What came of the repair."),
}
"""What a model calls to answer in each shape, and what it is told of that."""


class Opening(NamedTuple):
    """How a pass begins: what the model is told, the conversation so far, what the calls came to that it ended with."""

    prompt: str | None
    history: Sequence[ModelMessage] = ()
    results: DeferredToolResults | None = None


class Ending(NamedTuple):
    """How it ends. `answer` for `answered` and `asks`, `tests` for `wants_tests`, `why` for everything else."""

    outcome: PassOutcome
    why: str = ""
    answer: Answer | None = None
    tests: tuple[WantedTest, ...] = ()


class Conversation:
    """One pass. `messages` is everything that was said until now, whatever ended it."""

    def __init__(  # noqa: PLR0913 - what a pass is made of, each by name
        self,
        model: Model[Any],
        *,
        system: str,
        outputs: Sequence[type[Answer]],
        tools: PassTools,
        check: Check,
        refuse: Callable[[str, str, str, str], str],
        requests: int,
        tokens: int,
        say: Progress,
    ) -> None:
        self._model, self._system, self._outputs, self._tools = model, system, outputs, tools
        self._check, self._refuse, self._say = check, refuse, say
        self._most, self._tokens = requests, tokens
        self._known = {tool.name for tool in tools.definitions()} | {NAMED[one][0] for one in outputs}
        self._requests = self._answers = 0
        self._faults: Sequence[str] = ()
        self._run: AgentRun[None, Any] | None = None
        self._pending: tuple[ModelMessage, ...] = ()

    @property
    def messages(self) -> bytes:
        """As the library keeps them, JSON."""
        return ModelMessagesTypeAdapter.dump_json([*(self._run.all_messages() if self._run else ()), *self._pending])

    async def hold(self, opening: Opening) -> Ending:
        """From the opening to the end. Raises what the model raises for money, time and providers."""
        ending = await self._talk(self._agent(self._tools), opening, self._most - 1)
        if ending is None and self._answers < ANSWERS:
            assert self._run is not None
            so_far = (*self._run.all_messages(), *self._pending)
            self._pending = ()
            ending = await self._talk(self._agent(None), Opening(ANSWER_NOW, so_far), self._most)
        return ending or Ending("inconclusive", self._gave_up())

    async def _talk(self, agent: Agent[None, Any], opening: Opening, most: int) -> Ending | None:
        """Until an answer holds up; None where `most` requests in all, or too many answers, come first."""
        try:
            async with agent.iter(
                opening.prompt,
                message_history=opening.history or None,
                deferred_tool_results=opening.results,
                usage_limits=UsageLimits(request_limit=None),
            ) as run:
                self._run = run
                async for node in run:
                    if Agent.is_call_tools_node(node):
                        self._heard(node.model_response)
                    elif Agent.is_model_request_node(node):
                        if self._requests >= most or self._answers >= ANSWERS:
                            self._pending = (node.request,)
                            return None
                        self._requests += 1
                        self._say(f"request {self._requests}")
                assert run.result is not None
                return _ending(run.result.output)
        except UnexpectedModelBehavior as error:
            return Ending("inconclusive", f"the model's answer could not be used: {error}")

    def _agent(self, tools: PassTools | None) -> Agent[None, Any]:
        asked: list[Any] = [ToolOutput(one, name=NAMED[one][0], description=NAMED[one][1]) for one in self._outputs]
        agent: Agent[None, Any] = Agent(
            self._model,
            output_type=[*asked, DeferredToolRequests] if tools else asked,
            instructions=self._system,
            deps_type=type(None),
            name="role",
            model_settings=ModelSettings(max_tokens=self._tokens),
            retries={"tools": self._most, "output": ANSWERS},
            toolsets=[tools] if tools else [],
            end_strategy="early",
        )
        agent.output_validator(self._held_against)
        return agent

    def _held_against(self, answer: Any) -> Any:
        if isinstance(answer, DeferredToolRequests):
            return answer
        self._faults = self._check(answer)
        if self._faults:
            listed = "\n".join(f"- {fault}" for fault in self._faults)
            raise ModelRetry(f"Your answer does not hold up:\n{listed}\nMend it, and answer again.")
        return answer

    def _heard(self, response: ModelResponse) -> None:
        """Count an answer, and note the calls of tools that there are not: to write, to run a command."""
        calls = response.tool_calls
        named = {NAMED[one][0] for one in self._outputs}
        self._answers += not calls or any(call.tool_name in named for call in calls)
        for call in calls:
            if call.tool_name not in self._known:
                self._refuse(call.tool_name, _arguments(call.args), "no_such_tool", "a role has no tool of that name")

    def _gave_up(self) -> str:
        if self._answers < ANSWERS:
            return f"no answer that holds up in {self._requests} requests"
        last = "; ".join(self._faults) or "it had not the form that was asked for"
        return f"none of {self._answers} answers holds up; of the last that could be read: {last}"


def output_schemas(outputs: Sequence[type[Answer]]) -> list[list[Any]]:
    """What a model is told of the answers that it may give."""
    return [[*NAMED[one], one.model_json_schema()] for one in outputs]


def history_of(messages: bytes) -> list[ModelMessage]:
    """The conversation that `Conversation.messages` had."""
    return ModelMessagesTypeAdapter.validate_json(messages)


def open_calls(history: Sequence[ModelMessage]) -> list[str]:
    """The ids of the calls of `run_tests` that the conversation ends with and that nobody has answered."""
    calls = [
        (call.tool_call_id, call.tool_name)
        for message in history
        if isinstance(message, ModelResponse)
        for call in message.tool_calls
    ]
    answered = {
        getattr(part, "tool_call_id", None)
        for message in history
        if isinstance(message, ModelRequest)
        for part in message.parts
    }
    return [call for call, name in calls if name == RUN_TESTS and call not in answered]


def _ending(output: object) -> Ending:
    match output:
        case DeferredToolRequests():
            wanted = (WantedTest(call=call.tool_call_id, item=call.args_as_dict()["name"]) for call in output.calls)
            return Ending("wants_tests", tests=tuple(wanted))
        case Question():
            return Ending("asks", answer=output)
        case FirstLook() | Opinion() | Case() | Judgement() | Specification() | TestPlan() | Repair():
            return Ending("answered", answer=output)
    raise TypeError(f"{output!r} is no answer of a role")


def _arguments(given: object) -> str:
    """Of a call, as they are kept; the protocols send them as text or as an object."""
    try:
        return as_text(json.loads(given) if isinstance(given, str) else given)
    except ValueError:
        return str(given)
