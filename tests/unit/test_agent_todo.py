"""What an agent may plan: its own words and further criteria, and nothing of the gate that it goes through."""

from __future__ import annotations

import json
from typing import Any

import pytest

from adapters.config.agent_todo import AN_AGENTS, plan_for_agent
from adapters.config.session_todos import Joining
from adapters.masking.known import KNOWN
from domain.errors import Malformed
from domain.life import PlannedTodo
from domain.order import Order, Verification
from domain.planning import Template
from domain.policy_floor import PolicyFloor
from domain.requests import Refusal
from domain.terms import terms_of

TEMPLATE = Template(
    order=Order.model_validate(
        {
            "content": "the whole",
            "workspace": "/work",
            "base": "/base",
            "depends_on": ["before"],
            "acceptance_criteria": [{"type": "file_exists", "params": {"path": "a"}}],
            "verification": {"checks": [{"name": "tests", "command": "pytest"}]},
            "worker": {"command": "./agent.sh"},
        }
    ),
    order_file="/session.yaml",
    floor=PolicyFloor(revisions=2),
)
CRITERION = {"type": "file_exists", "params": {"path": "b"}}


def plan(template: Template | None = TEMPLATE, taken: tuple[str, ...] = (), **fields: Any) -> Any:
    return plan_for_agent(json.dumps({"content": "a part", **fields}), "todo", template, Joining(taken=set(taken)))


def test_all_but_its_own_words_is_the_template_s() -> None:
    (todo,) = plan(id="part", depends_on=["x"], acceptance_criteria=[CRITERION], taken=("x",))
    assert isinstance(todo, PlannedTodo)
    order, template = todo.order, TEMPLATE.order
    assert (order.id, order.content, order.depends_on, order.worker) == ("part", "a part", ["x"], None)
    assert [criterion.id for criterion in order.acceptance_criteria] == ["AC-1", "AC-2"]
    assert (todo.authored, todo.order_file, todo.floor) == (frozenset({"AC-2"}), "/session.yaml", TEMPLATE.floor)
    own = {"id", "content", "depends_on", "worker", "acceptance_criteria"}
    assert order.model_dump(exclude=own) == template.model_dump(exclude=own)


def test_the_session_takes_it_for_one_with_the_template_s_terms() -> None:
    planned = plan(acceptance_criteria=[CRITERION], subtasks=[{"content": "y", "acceptance_criteria": [CRITERION]}])
    wanted = terms_of(TEMPLATE.order, TEMPLATE.authored, TEMPLATE.order_file, TEMPLATE.floor)
    assert [terms_of(t.order, t.authored, t.order_file, t.floor) for t in planned] == [wanted, wanted]


def test_another_folder_s_files_and_another_floor_are_other_terms() -> None:
    plain, none = TEMPLATE.order, frozenset[str]()
    with_files = plain.model_copy(update={"verification": Verification(tests=["own.py"])})
    assert terms_of(plain, none, "/a.yaml") == terms_of(plain, none, "/b.yaml")
    assert terms_of(with_files, none, "/a.yaml") != terms_of(with_files, none, "/b.yaml")
    assert terms_of(plain, none, "", PolicyFloor(revisions=2)) != terms_of(plain, none)


def test_subtasks_have_their_parent_s_order_and_its_criteria() -> None:
    todo, part, other = plan(
        id="up", acceptance_criteria=[CRITERION], subtasks=[{"id": "in", "content": "y"}, {"content": "z"}]
    )
    assert [(t.parent, t.order_index) for t in (todo, part, other)] == [("", 0), ("up", 0), ("up", 1)]
    assert [c.id for c in part.order.acceptance_criteria] == ["AC-1", "AC-2"]
    assert part.authored == {"AC-2"}


@pytest.mark.parametrize("name", sorted(set(Order.model_fields) - AN_AGENTS))
def test_every_other_field_of_an_order_is_not_the_agent_s(name: str) -> None:
    refusal = plan(subtasks=[{"content": "y", name: TEMPLATE.order.model_dump(mode="json")[name]}])
    assert isinstance(refusal, Refusal)
    assert refusal.code == "not_yours"
    assert f"subtasks[0].{name}" in refusal.reason


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"acceptance_criteria": [{**CRITERION, "id": "AC-1"}]}, "id_taken"),
        ({"acceptance_criteria": [{**CRITERION, "id": "tests"}]}, "id_taken"),
        ({"id": "old", "taken": ("old",)}, "id_taken"),
        ({"template": None}, "no_template"),
        ({"template": Template(order=Order(content="no base"))}, "no_template"),
        (
            {
                "acceptance_criteria": [
                    {"type": "command_exit_zero", "params": {"command": "x", "control": {"patch": "secret.patch"}}}
                ]
            },
            "not_yours",
        ),
    ],
)
def test_what_is_refused_by_code(fields: dict[str, Any], code: str) -> None:
    refusal = plan(**fields)
    assert isinstance(refusal, Refusal)
    assert refusal.code == code


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"contents": "x"}, "todo:1: contents: unknown field 'contents', did you mean 'content'?"),
        ({"content": ""}, "todo:1: content: empty text, expected text that is not empty"),
        ({"acceptance_criteria": [{"type": "file_exist"}]}, "todo:1: acceptance_criteria[0].type: unknown type: the"),
        ({"depends_on": ["x"]}, "todo:1: depends_on[0]: there is no todo 'x', expected the id of one"),
        ({"acceptance_criteria": [CRITERION] * 199}, "todo:1: acceptance_criteria: 201 criteria and checks, expected"),
        (
            {"id": "a", "subtasks": [{"content": "y", "depends_on": ["a"]}]},
            "todo:1: subtasks[0].depends_on[0]: 'a' has this todo as a subtask, and waits for it, expected a todo",
        ),
    ],
)
def test_nonsense_is_malformed_with_its_place(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(Malformed) as caught:
        plan(**fields)
    assert str(caught.value).startswith(said)
    assert len(caught.value.problems) == 1


def test_content_is_never_the_template_s() -> None:
    with pytest.raises(Malformed, match="content: is missing"):
        plan_for_agent("id: x\n", "todo", TEMPLATE, Joining())


def test_criteria_without_an_id_pass_by_those_that_are_taken() -> None:
    (todo,) = plan(acceptance_criteria=[CRITERION, {**CRITERION, "id": "AC-2"}, CRITERION])
    assert [criterion.id for criterion in todo.order.acceptance_criteria] == ["AC-1", "AC-3", "AC-2", "AC-4"]


def test_a_secret_is_refused() -> None:

    KNOWN.learn({"AGENT_TEST_KEY": b"hunter3-correct-horse"})
    with pytest.raises(Malformed, match="holds the value of the secret AGENT_TEST_KEY"):
        plan(content="use hunter3-correct-horse")
