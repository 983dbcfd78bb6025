"""Reads a todo that an agent adds to a session; refuses what would be its own gate (DESIGN 1.4).

An agent says what is to be done and asks for more than its template does; the session holds it to that once more.
"""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import JsonValue, ValidationError

from adapters.config.layers import Fields, Layered, layer_of
from adapters.config.order_file import parsed, too_large, validated
from adapters.config.order_secrets import held
from adapters.config.problems import Place, dotted
from adapters.config.session_todos import Joining, Written, flattened, identified, refuse
from adapters.config.todo_links import problems_of_links
from adapters.config.yaml_document import Document
from domain.criteria import files_of
from domain.errors import Problem
from domain.life import PlannedTodo
from domain.order import Order
from domain.planning import Template
from domain.requests import Refusal

AN_AGENTS = frozenset({"id", "content", "acceptance_criteria", "depends_on", "subtasks"})
"""The fields of an order that an agent may set. CONTRACT "An order"."""

_TO_A_HUMAN = "leave it out, or ask a human"


@dataclass(frozen=True)
class _Own:
    """What an agent says of one todo: `order` has nothing else in it, `ids` are those of its criteria."""

    written: Written
    order: Order


def plan_for_agent(
    text: str, shown: str, template: Template | None, joining: Joining
) -> tuple[PlannedTodo, ...] | Refusal:
    """The todo that `text` describes, and its subtasks, parents first. Raises `Malformed`.

    Its criteria come beside the template's; all else is the template's, but for a worker command, which it never has.
    """
    document = parsed(text, shown, "a todo in YAML or JSON")
    if template is None or template.order.base is None:
        return Refusal(
            code="no_template",
            reason="nothing says how the todo is to be verified: the session has no defaults with a base,"
            " or none that lies apart from their workspace",
            next_step="create it as a subtask, or ask a human to create it",
        )
    problems: list[Problem] = [*document.problems, *held(document.data, document, "a todo")]
    written = list(flattened(document, {(): document.data}, joining.order_index, problems))
    if refusal := _beyond(written):
        return refusal
    own = [found for one in written if (found := _own(document, one, problems)) is not None]
    refuse(problems)
    if refusal := _with_files(own) or _taken(own, joining):
        return refusal
    return _planned(document, own, template, joining)


def _beyond(written: list[Written]) -> Refusal | None:
    """The refusal of fields that are an order's and not an agent's; what is no field at all is malformed."""
    named = [
        dotted((*one.place, name))
        for one in written
        for name in one.data
        if name in Order.model_fields and name not in AN_AGENTS
    ]
    if not named:
        return None
    reason = f"an agent may not set {', '.join(named)}: only content, further criteria, depends_on and subtasks"
    return Refusal(code="not_yours", reason=reason, next_step=_TO_A_HUMAN)


def _own(document: Document, one: Written, problems: list[Problem]) -> _Own | None:
    order, wrong = validated(Layered([layer_of(document, one.data, one.place)]))
    problems += wrong
    return None if order is None else _Own(one, order)


def _with_files(own: list[_Own]) -> Refusal | None:
    """An agent's criterion reads no file beside the session's: it could tell the agent what is in there."""
    for one in own:
        for index, criterion in enumerate(one.order.acceptance_criteria):
            if files := files_of(criterion):
                place = dotted((*one.written.place, "acceptance_criteria", index))
                reason = f"{place} names a file beside the order, {files[0]}, which no agent may"
                return Refusal(code="not_yours", reason=reason, next_step=_TO_A_HUMAN)
    return None


def _taken(own: list[_Own], joining: Joining) -> Refusal | None:
    for one in own:
        if one.order.id in joining.taken:
            return _id_taken(f"the session has, or once had, a todo {one.order.id!r}")
    return None


def _id_taken(reason: str) -> Refusal:
    return Refusal(code="id_taken", reason=reason, next_step="choose another id: none is used twice")


def _planned(
    document: Document, own: list[_Own], template: Template, joining: Joining
) -> tuple[PlannedTodo, ...] | Refusal:
    orders = {one.written.place: one.order for one in own}
    ids, problems = identified(document, [one.written for one in own], orders, joining)
    templates: dict[Place | None, Template] = {None: template}
    planned: list[PlannedTodo] = []
    for one in own:
        above = templates[one.written.above]
        made = _made(document, one, ids[one.written.place], above, problems)
        if isinstance(made, Refusal):
            return made
        refuse(problems)
        assert made is not None, "what is wrong with it is told"
        templates[one.written.place] = made
        planned.append(
            PlannedTodo(
                order=made.order,
                order_file=made.order_file,
                parent=above.parent,
                order_index=one.written.order_index,
                authored=made.authored,
                floor=made.floor,
                authority=made.authority,
                beside=made.beside,
            )
        )
    named = {one.written.place: todo.order for one, todo in zip(own, planned, strict=True)}
    parents = {one.written.place: todo.parent for one, todo in zip(own, planned, strict=True)}
    refuse(problems_of_links(document, named, parents, joining.taken))
    return tuple(planned)


def _made(
    document: Document, one: _Own, todo: str, template: Template, problems: list[Problem]
) -> Template | Refusal | None:
    """The template with what the agent says, as the template of its subtasks."""
    names = {c.id for c in template.order.acceptance_criteria} | {c.name for c in template.order.verification.checks}
    criteria = _numbered(one, names)
    if again := [str(criterion["id"]) for criterion in criteria if criterion["id"] in names]:
        return _id_taken(f"there is a criterion or a check {again[0]!r} already, which the todo has beside its own")
    data = template.order.model_dump(mode="json")
    data |= {
        "id": todo,
        "content": one.order.content,
        "acceptance_criteria": [*data["acceptance_criteria"], *criteria],
        "depends_on": one.order.depends_on,
        "subtasks": [],
        "worker": None,
    }
    try:
        order = Order.model_validate(data)
    except ValidationError as error:
        what = str(error.errors(include_url=False)[0]["msg"])
        problems.append(document.problem((*one.written.place, "acceptance_criteria"), what, "with the template's"))
        return None
    if problem := too_large(order, document.shown, document.line(one.written.place)):
        problems.append(problem)
        return None
    return template.model_copy(
        update={
            "order": order,
            "authored": template.authored | {str(criterion["id"]) for criterion in criteria},
            "parent": todo,
        }
    )


def _numbered(one: _Own, names: set[str]) -> list[dict[str, JsonValue]]:
    """The agent's criteria; those without an id of their own get the next ones that are free."""
    said = one.written.data.get("acceptance_criteria", [])
    assert isinstance(said, list)
    named = {c.get("id") for c in said if isinstance(c, dict)}
    free = (name for n in range(1, len(names) + len(said) + 1) if (name := f"AC-{n}") not in names | named)
    found: list[dict[str, JsonValue]] = []
    for written, criterion in zip(said, one.order.acceptance_criteria, strict=True):
        data: Fields = criterion.model_dump(mode="json")
        if not (isinstance(written, dict) and written.get("id")):
            data["id"] = next(free)
        found.append(data)
    return found
