"""Scripts in place of models: what a file may say, which turn is played, and what its answers stand for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, ToolOutput
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from adapters.roles.faults import CostCap, ModelGone, OutOfTime
from adapters.roles.requests import PAUSES
from adapters.roles.script import read_script
from domain.errors import Malformed
from domain.roles.agents import Agents, Caps
from domain.roles.delimited import rendered_pieces
from domain.roles.packet import Piece
from domain.roles.results import PassUsage
from tests.fakes.model_passes import Asking, a_pass

TURNS = """
# One audit.
- {role: auditor, stage: blind, tool: {name: Read, arguments: {path: a.py}}}
- {stage: blind, answer: {assessments: [], suspicions: [it is short]}}
- stage: informed
  text: I think so.
- stage: informed
  tools:
    - {name: glob, arguments: {pattern: "*"}}
    - {name: git_log}
- {fault: 500}
"""


def script(folder: Path, text: str, name: str = "turns.yaml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def asking(folder: Path, text: str, **more: Any) -> Asking:
    return Asking(Agents(model=f"script:{script(folder, text)}"), **more)


def test_a_script_is_yaml_or_json(tmp_path: Path) -> None:
    turns = read_script(script(tmp_path, TURNS)).turns
    assert len(turns) == 5
    assert [use.name for use in turns[3].uses] == ["glob", "git_log"]
    assert turns[4].fault == 500
    as_json = json.dumps([turn.model_dump(exclude_none=True) for turn in turns])
    assert read_script(script(tmp_path, as_json, "turns.json")).turns == turns


def test_turns_are_played_in_order_and_the_last_repeats(tmp_path: Path) -> None:
    played = read_script(script(tmp_path, TURNS))
    blind, informed = (
        [played.turn("auditor", stage, answered) for answered in range(5)] for stage in ("blind", "informed")
    )
    assert [played.turns.index(turn) for turn in blind if turn] == [0, 1, 4, 4, 4]
    assert [played.turns.index(turn) for turn in informed if turn] == [2, 3, 4, 4, 4]
    other = read_script(script(tmp_path, "[{stage: blind, text: x}]"))
    assert other.turn("auditor", "informed", 0) is None


def test_a_turn_of_one_pass_stands_for_those_of_any(tmp_path: Path) -> None:
    turns = "[{role: judge, text: a}, {role: judge, part: 1, text: b}, {role: judge, text: c}]"
    played = read_script(script(tmp_path, turns))
    said = [[played.turn("judge", "judgement", answered, part) for answered in range(3)] for part in range(3)]
    assert [[turn.text for turn in row if turn] for row in said] == [["a", "c", "c"], ["b", "b", "b"], ["a", "c", "c"]]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "1: file: is empty, expected a list of turns in YAML or JSON"),
        ("[]", "1: file: an empty list, expected a list with at least 1 entry"),
        ("{turns: []}", "1: file: an object with 'turns', expected a list with at least 1 entry"),
        ("- {text: x}\n- {}", "2: [1]: says nothing, expected exactly one of tool, tools, answer, text, fault"),
        ("- text: x\n  fault: 500", "1: [0]: says text and fault, expected exactly one of"),
        ("- text: x\n- fault: 418", "2: [1].fault: the number 418, expected one of 400, 401"),
        (
            "- text: x\n  stage: blnd",
            "2: [0].stage: the text 'blnd', expected one of design, strategy, blind, informed",
        ),
        ("- text: x\n  answr: {}", "2: [0].answr: unknown field 'answr', did you mean 'answer'?"),
        ("- text: x\n  text: y", "2: [0].text: is given twice, first on line 1, expected it once"),
        ("- tool: {arguments: {}}", "1: [0].tool.name: is missing, expected text that is not empty"),
        ("- tools: []", "1: [0].tools: an empty list, expected a list with at least 1 entry"),
        ("- text: x\n  cost_usd: -0.5", "2: [0].cost_usd: the number -0.5, expected a number, at least 0"),
        ("- text: x\n  cost_usd: .inf", "2: [0].cost_usd: "),
        ("- fault: 500\n  cost_usd: 1", "2: [0].cost_usd: a fault with cost_usd, expected a fault alone"),
    ],
)
def test_what_is_no_script_is_refused_by_line(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(Malformed) as error:
        read_script(script(tmp_path, text))
    assert str(error.value).startswith(f"{tmp_path}/turns.yaml:{problem}")


class Look(BaseModel):
    seen: str


class Asked(BaseModel):
    question: str


async def test_a_script_plays_tools_and_answers(tmp_path: Path) -> None:
    looked: list[str] = []

    def look(at: str) -> str:
        looked.append(at)
        return "a file"

    text = '- {tool: {name: look, arguments: {at: x}}}\n- {text: hm}\n- {answer: {question: "why?"}}\n'
    asked = asking(tmp_path, text)
    model = asked.model()
    outputs: Any = [ToolOutput(Look), ToolOutput(Asked)]
    run = await Agent(model, output_type=outputs, tools=[look]).run("look")
    assert run.output == Asked(question="why?")
    assert looked == ["x"]
    assert (model.scripted, model.model_name) == (True, f"script:{tmp_path}/turns.yaml")
    assert model.usage == PassUsage(requests=3)
    assert (asked.spent.micros, asked.spent.lost, asked.spent.input_tokens) == (0, 0, 0)


async def test_a_turn_may_be_pretended_to_cost_something(tmp_path: Path) -> None:
    asked = asking(tmp_path, "- {text: one, cost_usd: 0.30}\n- {text: two}\n- {text: three, cost_usd: 1}\n")
    model = asked.model()
    messages: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart("go")])]
    for micros in (300_000, 300_000, 1_300_000):
        messages.append(await model.request(messages, None, ModelRequestParameters()))
        assert (asked.spent.micros, asked.spent.lost, asked.spent.input_tokens) == (micros, 0, 0)
    assert model.usage == PassUsage(requests=3, micros=1_300_000)
    again = asked.model()
    await again.request(messages[:1], None, ModelRequestParameters())
    assert again.usage == PassUsage(remembered=1, micros=300_000)
    assert asked.spent.micros == 1_300_000


async def test_what_a_script_costs_counts_against_caps(tmp_path: Path) -> None:
    asked = asking(tmp_path, "- {text: one, cost_usd: 0.30}\n")
    asked.agents = asked.agents.model_copy(update={"caps": Caps(todo=0.2)})
    await asked.ask("a")
    with pytest.raises(CostCap, match=r"\$0\.3"):
        await asked.ask("b")


async def test_an_answer_of_no_shape_is_given_as_it_is(tmp_path: Path) -> None:
    outputs: Any = [ToolOutput(Look), ToolOutput(Asked)]
    agent = Agent(asking(tmp_path, "- {answer: {other: 1}}").model(), output_type=outputs)
    with pytest.raises(UnexpectedModelBehavior):
        await agent.run("look")
    response = await asking(tmp_path, "- {answer: {other: 1}}").ask()
    assert [part.content for part in response.parts if isinstance(part, TextPart)] == ['{"other": 1}']


async def test_the_turn_follows_from_the_conversation(tmp_path: Path) -> None:
    asked = asking(tmp_path, "- {text: one}\n- {text: two}\n")
    begun: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart("go")])]
    answered = [*begun, ModelResponse(parts=[TextPart("one")]), *begun]

    async def said(messages: list[ModelMessage]) -> str:
        response = await asked.model().request(messages, None, ModelRequestParameters())
        return "".join(part.content for part in response.parts if isinstance(part, TextPart))

    assert [await said(messages) for messages in (answered, begun, answered, begun)] == ["two", "one", "two", "one"]


def piece(number: int, title: str, text: str, observed: bool = True) -> Piece:
    return Piece(id=f"ev-{number:016x}", what="check", title=title, text=text, observed=observed)


async def test_evidence_is_named_by_what_it_says(tmp_path: Path) -> None:
    shown = rendered_pieces([piece(1, "the diff", "+def f():\n+  <b>"), piece(2, "check tests", "5 passed\nin 1 s")])
    answer = {
        "evidence_citations": ["evidence: check tests", "evidence: def f", "evidence: nowhere", "ev-1"],
        "reasons": [{"evidence_id": "evidence: 5 passed"}, {"evidence_id": "evidence: <b>"}],
    }
    asked = asking(tmp_path, json.dumps([{"answer": answer}]))
    parameters = ModelRequestParameters(output_mode="tool", output_tools=[ToolDefinition(name="opinion")])
    messages: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart(f"Judge this.\n{shown}\nThat is all.")])]
    (part,) = (await asked.model().request(messages, None, parameters)).parts
    assert isinstance(part, ToolCallPart)
    assert part.args_as_dict() == {
        "evidence_citations": ["ev-0000000000000002", "ev-0000000000000001", "evidence: nowhere", "ev-1"],
        "reasons": [{"evidence_id": "ev-0000000000000002"}, {"evidence_id": "ev-0000000000000001"}],
    }


@pytest.mark.parametrize(
    ("fault", "words", "tries"),
    [
        ("401", r"HTTP 401 \(as the script says\)", 1),
        ("529", r"HTTP 529 \(as the script says\), the last of 4 tries", 4),
        ("refused", "the connection failed .*, the last of 4 tries", 4),
        ("unreadable", "an answer that cannot be read .*, the last of 4 tries", 4),
    ],
)
async def test_a_script_can_fail_as_a_provider_does(tmp_path: Path, fault: str, words: str, tries: int) -> None:
    asked = asking(tmp_path, f"- fault: {fault}")
    with pytest.raises(ModelGone, match=f"^script:.*turns.yaml: {words}$"):
        await asked.ask()
    assert asked.slept == [*PAUSES][: tries - 1]


async def test_a_script_can_hang(tmp_path: Path) -> None:
    with pytest.raises(OutOfTime, match="no answer in 0"):
        await asking(tmp_path, "- fault: hang", seconds=0.1).ask()


async def test_a_script_that_is_not_there_is_a_model_that_is_gone(tmp_path: Path) -> None:
    asked = asking(tmp_path, "- {stage: informed, text: x}")
    with pytest.raises(ModelGone, match=r"turns.yaml:1: file: has no turn of auditor, blind, expected a list of turns"):
        await asked.ask()
    assert len((await asked.ask(model=asked.model(a_pass(stage="informed")))).parts) == 1
    (tmp_path / "turns.yaml").unlink()
    with pytest.raises(ModelGone, match=r"turns.yaml:1: file: does not exist"):
        await asked.ask("another")
