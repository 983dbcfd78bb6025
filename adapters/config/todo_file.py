"""Reads a todo that a person adds to a session; refuses with every problem found, each with its line.

A person may set everything; what an agent may set is `agent_todo`'s. What the session says is not checked here.
"""

from __future__ import annotations

from pathlib import Path

from adapters.config.defaults import ProjectPolicy
from adapters.config.layers import Fields, Layer, Layered, layer_of
from adapters.config.order_file import parsed, validated
from adapters.config.order_secrets import held
from adapters.config.problems import shown_as
from adapters.config.session_todos import Context, Joining, flattened, plan_todos, refuse
from adapters.config.text_file import text_in
from adapters.config.yaml_document import Document
from domain.errors import Problem
from domain.life import PlannedTodo
from domain.order import Order
from domain.planning import OWN_FIELDS, Template
from domain.policy_floor import NO_FLOOR

_WANTED = "a todo, or fields of one, in YAML or JSON"
_LEAST: Fields = {"content": "a part of a todo"}
_NEVER_TAKEN = {*OWN_FIELDS, "content"}
_OF_THE_PARENT_ALONE = {"acceptance_criteria", "worker"}


def plan_for_person(
    text: str, shown: str, file: Path | None, template: Template | None, joining: Joining, policy: ProjectPolicy
) -> tuple[PlannedTodo, ...]:
    """The todo that `text` describes as an order does, and its subtasks, parents first. Raises `Malformed`.

    `shown` is what `text` is called in problems, `file` where it was read: paths are relative to its folder, and to
    the current one for None. What it does not say is the template's, but for criteria and worker of a parent, which
    are the parent's own; without a template the project's. The floor is the template's, too, where that has one.
    """
    document = parsed(text, shown, "a todo in YAML or JSON")
    layers = policy.layers if template is None else (*policy.layers, _layer(template))
    order_file = str(file.resolve()) if file else template.order_file if template else ""
    folder = file.parent if file else Path()
    floor = policy.floor if template is None or template.floor == NO_FLOOR else template.floor
    context = Context(document, folder, order_file, layers, floor)
    todos, problems = plan_todos(context, {(): document.data}, joining)
    refuse([*document.problems, *problems, *held(document.data, document, "a todo")])
    return tuple(todos)


def parts_in(content: bytes, path: Path) -> tuple[Order, ...]:
    """The todos that a file describes in part, subtasks included, each as an order of what it says. Raises `Malformed`.

    What they leave out is the session's or the todo's, which only they know.
    """
    shown = shown_as(path)
    document = parsed(text_in(content, shown, _WANTED), shown, _WANTED)
    refuse(document.problems)
    problems: list[Problem] = []
    written = list(flattened(document, {(): document.data}, 0, problems))
    refuse(problems)
    found = []
    for one in written:
        source = layer_of(document, {**_LEAST, **one.data}, one.place)
        order, wrong = validated(Layered([source]))
        problems += wrong
        found += [order] if order is not None else []
    refuse(problems)
    return tuple(found)


def _layer(template: Template) -> Layer:
    left_out = _NEVER_TAKEN | (_OF_THE_PARENT_ALONE if template.parent else set())
    data = template.order.model_dump(mode="json", exclude=left_out)
    name = f"the todo {template.parent}" if template.parent else "the session's defaults"
    return layer_of(Document(data, {}, {}, name), data)
