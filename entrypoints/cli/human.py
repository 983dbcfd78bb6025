"""What a person asks of a todo is signed if they want that, sent, and what it changed is said.

Nothing is decided here: the workflow answers, and what it refuses it has recorded.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, TypeVar

from pydantic import JsonValue

from domain.base import canonical_json
from domain.lifecycle import Command
from domain.read_model import TodoView
from domain.requests import Answer, Changed, HumanRequest
from domain.signatures import Signed
from entrypoints import standalone
from entrypoints.cli import asking, common, person
from entrypoints.cli.asking import malformed
from entrypoints.cli.human_options import Human, Signing
from entrypoints.cli.output import one_line
from entrypoints.imports import without_collecting
from entrypoints.standalone import ROUNDS

R = TypeVar("R", bound=HumanRequest)

IN_THE_FIRST_LINE = frozenset({"status", "review_status", "version"})

SAYS_NOTHING = frozenset({"time_left", "deadline", "audit_cap", "revision_cap", "retry_context", "order_digest"})
"""What changes along with something else that is said."""


def ask(view: TodoView, command: Command, request: HumanRequest, human: Human) -> None:
    """Ask the todo, and say what has changed, or would. What is to be printed and not sent is printed.

    Who asks unsigned is established first; what an agent asks as a person is refused, and the todo records it. Raises
    `Refused` with what it refuses, `Malformed` for keys and signatures that are none, `Unavailable`.
    """
    if standalone.stands_alone(view):
        view = standalone.completed(view, common.open_trail().state(view.session, view.todo, tables=ROUNDS).rounds)
    if human.print_statement:
        sys.stdout.write(_signing().statement_text(request, command, _signing().about_of(view)))
        return
    name = f"{view.session}/{view.todo}"
    who = person.sender(human.sender)
    if isinstance(who, person.Agent):
        asks = person.by_agent(request, who)
        person.refuse(f"{command} {name}", who, lambda: _sent(view, command, asks))
    request = _signed(view, command, request, human) if human.signs else _unsigned(name, command, request, human)
    if human.print_signature:
        assert request.signed is not None, "there is a key"
        common.out(canonical_json(request.signed.model_dump(mode="json")).decode())
        return
    answer = asking.accepted(_sent(view, command, request))
    if human.as_json:
        common.emit_json({"session": view.session, "todo": view.todo, **asking.facts_of(answer)})
        return
    tell(name, answer)


def tell(name: str, answer: Answer) -> None:
    """Where it stands and stood, a line for each other change that is worth one, whose act it was."""
    where = f"{_moved(answer)}, version {answer.version}"
    if answer.dry_run and not answer.changed:
        common.out(f"dry run: {name}: nothing would change, {where}")
    else:
        common.out(f"{'would change: ' if answer.dry_run else ''}{name}: {where}")
    for field, change in answer.changed.items():
        if field not in IN_THE_FIRST_LINE | SAYS_NOTHING:
            common.out(f"  {_change(field, change)}")
    if answer.signer:
        common.out(common.visible(f"  signed by {answer.signer}"))


def _moved(answer: Answer) -> str:
    """`claimed (auditing) -> verified (approved)`, or where it stands and has stood."""
    after = _standing(answer.status, answer.review_status)
    old = {field: answer.changed[field].before for field in ("status", "review_status") if field in answer.changed}
    before = _standing(str(old.get("status", answer.status)), str(old.get("review_status", answer.review_status)))
    return after if before == after else f"{before} -> {after}"


def _standing(status: str, review_status: str) -> str:
    return f"{status} ({review_status})" if review_status else status.replace("_", " ")


def _change(field: str, change: Changed) -> str:
    name, before, after = field.replace("_", " "), _shown(change.before), _shown(change.after)
    if not after:
        return f"{name} cleared (was {before})"
    return f"{name} {before} -> {after}" if before else f"{name}: {after}"


def _shown(value: JsonValue) -> str:
    if value is None or value in ("", []):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return one_line(value if isinstance(value, str) else canonical_json(value).decode())


def _sent(view: TodoView, command: Command, request: HumanRequest) -> Answer:
    store = common.open_trail().store_id() if standalone.stands_alone(view) else ""
    return asking.run(lambda lives: standalone.ask(lives, view, command.value, request, store))


def _unsigned(name: str, command: Command, request: R, human: Human) -> R:
    """Of a person who is established by a terminal or by what they say. Raises `Refused`."""
    what = f"{command} {name}"
    person.refuse_unsigned(what)
    who = person.establish("" if request.dry_run else name, human.sender, human.yes, what=what)
    return request.model_copy(update={"established": who.established})


def _signed(view: TodoView, command: Command, request: R, human: Human) -> R:
    """With the signature that was made by hand, else with one of the key."""
    if (given := by_hand(human)) is not None:
        return _named(request.model_copy(update={"signed": given}), human)
    signed: R = _signing().sign(request, command, _signing().about_of(view), existing_file("--key", Path(human.key)))
    return _named(signed, human)


def _named(request: R, human: Human) -> R:
    """Of the person whom `--as` names, who has to be the signer; the user's own name is no principal."""
    named: R = _signing().named(request) if human.sender else request
    return named


def by_hand(asked: Signing) -> Signed | None:
    """What was signed by hand, None where nothing was. Raises `Malformed`."""
    if asked.statement is None or asked.signature is None:
        return None
    found: Signed = _signing().envelope(
        existing_file("--statement", asked.statement), existing_file("--signature", asked.signature)
    )
    return found


def existing_file(option: str, path: Path) -> Path:
    """The path that `option` names. Raises `Malformed` where there is no such file."""
    if not path.is_file():
        raise malformed(option, f"there is no file {common.visible(str(path))}", "expected the path of one")
    return path


def _signing() -> Any:
    return without_collecting("entrypoints.signing")
