"""`countersign todo`: what agents do with todos, and how people change them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from adapters.config.claim_file import parsed
from adapters.config.problems import shown_as
from adapters.config.text_file import read_text_file
from adapters.config.worker_written import refuse_authority_within
from adapters.masking.known import KNOWN, values_of
from domain.claims.claim import Claim
from domain.order import Order
from domain.read_model import TodoView
from domain.requests import AddEvidence, Block, MakeClaim, Respond, Start
from entrypoints.cli import asking, common
from entrypoints.cli.asking import As, Json, TodoName, sender_of
from entrypoints.cli.evidence_given import evidence_of, pieces_in
from entrypoints.cli.human_options import Asked, of_a_person
from entrypoints.cli.planning import Content, Criteria, Described, Ids, OrderFile, plan_todo
from entrypoints.cli.todo_people import delete, edit, note, reorder, subtask
from entrypoints.cli.todo_show import list_todos, show
from entrypoints.cli.todo_wait import tell_verdict, wait_for_verdict
from entrypoints.imports import without_collecting

app = typer.Typer(help="Todos: what agents claim, and what people change.", no_args_is_help=True)
app.command("list")(list_todos)
app.command()(show)


@app.callback()
def todo() -> None:
    """Todos: what agents claim, and what people change."""


@app.command()
@of_a_person
def create(
    session: asking.SessionName,
    *,
    content: Content = None,
    file: OrderFile = None,
    parent: Annotated[str, typer.Option(metavar="TODO", help="The todo of that session that it is a part of.")] = "",
    depends_on: Ids = None,
    criterion: Criteria = None,
    asked: Asked,
) -> None:
    """Add a todo to a session.

    An agent sets content, further criteria, dependencies and subtasks; how it is verified is the project's to say.

    Example: countersign todo create release-7 --content "Write the migration" --parent wo-login
    """
    plan_todo(session, Described(content, file, parent, depends_on, criterion), asked, asked.who("worker"))


@app.command()
def start(todo: TodoName, *, sender: As = None, as_json: Json = False) -> None:
    """Begin with a todo: its base is frozen now, and its clock runs.

    Example: countersign todo start release-7/wo-login
    """
    who = sender_of(sender, "worker")
    asking.ask_todo(todo, "start", Start(actor=who.actor, session=who.session), as_json=as_json)


@app.command()
def claim(
    todo: TodoName,
    *,
    claim_file: Annotated[
        str, typer.Option("--claim", metavar="FILE|-", help="What was done, run and seen (JSON); - for stdin.")
    ],
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait for the verdict; exit codes as `verify` has them.")
    ] = False,
    sender: As = None,
    as_json: Json = False,
) -> None:
    """Claim that a todo is done. The work is frozen and verified; nobody has to ask.

    The answer names the digest of the tree that was frozen: what is changed after that is not part of the claim.

    Example: countersign todo claim release-7/wo-login --claim claim.json --wait
    """
    who = sender_of(sender, "worker")
    view = asking.find_todo(todo)
    order = _order_of(view)
    refuse_authority_within(common.settings(), Path(order.workspace))
    claimed = _claim_in(claim_file)
    request = MakeClaim(actor=who.actor, session=who.session, claim=claimed)
    secrets = tuple(without_collecting("entrypoints.rounds").variables_of(order))
    answer = asking.run(lambda lives: lives.ask_todo(view.session, view.todo, "claim", request), secrets)
    if not wait:
        asking.tell_todo(view.session, view.todo, answer, as_json=as_json)
        return
    asking.accepted(answer)
    common.err(f"{view.session}/{view.todo}: claimed, snapshot {answer.snapshot}, attempt {answer.attempt}")
    raise typer.Exit(tell_verdict(wait_for_verdict(view.session, view.todo), as_json=as_json))


@app.command("add-evidence")
def add_evidence(
    todo: TodoName,
    *,
    kind: Annotated[str, typer.Option("--type", help="What it is, such as command_output.")],
    label: Annotated[str, typer.Option(help="How the claim refers to it: [label].")],
    data: Annotated[str, typer.Option(metavar="FILE|-|TEXT", help="The evidence: a file's text, stdin, or this text.")],
    sender: As = None,
    as_json: Json = False,
) -> None:
    """Bring evidence before the claim, or while the auditor's question is open.

    Example: countersign todo add-evidence release-7/wo-login --type command_output --label tests --data pytest.log
    """
    who = sender_of(sender, "worker")
    piece = evidence_of(kind, label, data)
    request = AddEvidence(actor=who.actor, session=who.session, evidence=(piece,))
    asking.ask_todo(todo, "add_evidence", request, as_json=as_json)


@app.command()
def respond(
    todo: TodoName,
    *,
    answer: Annotated[str, typer.Option(help="The answer to the auditor's question.")],
    evidence: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A JSON list of {label, type, data}: evidence that goes with it."),
    ] = None,
    sender: As = None,
    as_json: Json = False,
) -> None:
    """Answer the auditor's question, which `todo show` has.

    Example: countersign todo respond release-7/wo-login --answer "the old tests mocked the clock" --evidence logs.json
    """
    who = sender_of(sender, "worker")
    brought = pieces_in(evidence) if evidence else ()
    request = Respond(actor=who.actor, session=who.session, answer=answer, additional_evidence=brought)
    asking.ask_todo(todo, "respond", request, as_json=as_json)


@app.command()
def block(
    todo: TodoName,
    *,
    question: Annotated[str, typer.Option(help="What a human has to answer first.")],
    sender: As = None,
    as_json: Json = False,
) -> None:
    """Say that work cannot go on without a human's answer.

    Example: countersign todo block release-7/wo-login --question "Which database is meant?"
    """
    who = sender_of(sender, "worker")
    request = Block(actor=who.actor, session=who.session, question=question)
    asking.ask_todo(todo, "block", request, as_json=as_json)


for of_people in (edit, note, reorder, delete, subtask):
    app.command()(of_people)


def _order_of(view: TodoView) -> Order:
    """The todo's order as the store has it; its secrets are masked from now on."""
    order = Order.model_validate_json(common.open_evidence().get(view.order_digest))
    KNOWN.learn(values_of(order.environment.secrets))
    return order


def _claim_in(name: str) -> Claim:
    """Whether it can be admitted is the todo's to say, which records what it refuses."""
    shown = "stdin" if name == "-" else shown_as(Path(name))
    text = sys.stdin.read() if name == "-" else read_text_file(Path(name), shown, "a claim in JSON")
    return parsed(text, shown, Claim, "a claim", lambda _: ())
