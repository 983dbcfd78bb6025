"""`countersign todo note`, `edit`, `reorder`, `delete` and `subtask`: how people change what is to be done."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from pydantic import JsonValue

from adapters.config.problems import shown_as
from adapters.config.text_file import bytes_of, text_in
from adapters.config.yaml_document import parse
from domain.acts.editing import merged
from domain.errors import Malformed
from domain.lifecycle import Command
from domain.read_model import TodoView
from domain.requests import AddNote, Delete, Edit, Reorder
from entrypoints.cli import asking, common
from entrypoints.cli.asking import TodoName, malformed
from entrypoints.cli.edits import admit_fields, change_of, keep_order
from entrypoints.cli.human import ask
from entrypoints.cli.human_options import Asked, Human, of_a_person
from entrypoints.cli.planning import Content, Criteria, Described, Ids, OrderFile, plan_todo


@of_a_person
def note(
    todo: TodoName,
    text: Annotated[str, typer.Option("--text", "--content", help="What to write down.")],
    *,
    kind: Annotated[
        Literal["feedback", "revision_request", "clarification"], typer.Option(help="What sort of note it is.")
    ] = "feedback",
    human: Human,
) -> None:
    """Write a note on a todo.

    Example: countersign todo note release-7/wo-login --text "Ann knows the old code"
    """
    ask(asking.find_todo(todo), Command.NOTE, human.request(AddNote, content=text, kind=kind), human)


@of_a_person
def edit(
    todo: TodoName,
    *,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="FIELD=YAML",
            help="A field of the order, or of an object in it, and its new value; repeat it.",
        ),
    ] = None,
    file: Annotated[Path | None, typer.Option(help="Fields of the order with their new values (YAML or JSON).")] = None,
    human: Human,
) -> None:
    """Change a todo's order. A claim that is being judged is judged anew.

    Of an object only the fields that are named change, in --set "safeguards={todo_timeout: 7200}"
    as in the example; a list is replaced as a whole.

    Example: countersign todo edit release-7/wo-login --set safeguards.todo_timeout=7200 --expected-version 3
    """
    content = _content_of(file)
    fields = _fields_of_file(file, content)
    for text in changes or ():
        fields = merged(fields, change_of(text, "--set"))
    if not fields:
        raise malformed("--set", "no change is named", "expected --set FIELD=YAML, or --file")
    view = asking.find_managed(todo, "edit")
    request = human.request(Edit, expected_version=_version(view, human), changes=fields)
    if file is not None:
        admit_fields(common.settings(), view.order_digest, file, content)
    keep_order(common.settings(), view.order_digest, fields)
    ask(view, Command.EDIT, request, human)


@of_a_person
def reorder(
    todo: TodoName,
    to: Annotated[int, typer.Option("--to", min=0, help="Its place among its siblings, from 0.")],
    *,
    human: Human,
) -> None:
    """Move a todo among its siblings.

    Example: countersign todo reorder release-7/wo-login --to 0
    """
    view = asking.find_managed(todo, "reorder")
    ask(view, Command.REORDER, human.request(Reorder, order_index=to, expected_version=_version(view, human)), human)


@of_a_person
def delete(
    todo: TodoName,
    *,
    human: Human,
) -> None:
    """Cancel a todo. Its record stays, and its id is never used again.

    Example: countersign todo delete release-7/wo-login --reason "done by the new library"
    """
    view = asking.find_managed(todo, "delete")
    ask(view, Command.DELETE, human.request(Delete, expected_version=_version(view, human)), human)


@of_a_person
def subtask(
    todo: TodoName,
    *,
    content: Content = None,
    file: OrderFile = None,
    depends_on: Ids = None,
    criterion: Criteria = None,
    human: Asked,
) -> None:
    """Add a todo below another one, which is then not done before it is. An --expected-version is that one's.

    Example: countersign todo subtask release-7/wo-login --content "Write the migration"
    """
    view = asking.find_managed(todo, "subtask")
    plan_todo(view.session, Described(content, file, view.todo, depends_on, criterion), human, human.who())


def _version(view: TodoView, human: Human) -> int:
    if human.expected_version is not None:
        return human.expected_version
    common.err(f"{view.session}/{view.todo} is at version {view.version}")
    return view.version


_FIELDS = "fields of an order"


def _content_of(file: Path | None) -> bytes:
    return b"" if file is None else bytes_of(file, shown_as(file), _FIELDS)


def _fields_of_file(file: Path | None, content: bytes) -> dict[str, JsonValue]:
    if file is None:
        return {}
    shown = shown_as(file)
    document = parse(text_in(content, shown, _FIELDS), shown, _FIELDS)
    if document.problems:
        raise Malformed(document.problems)
    if not isinstance(document.data, dict):
        raise malformed("--file", "has no fields", "expected an object: fields of an order with their values")
    return document.data
