"""The options that every command of a person has: who asks and why, of what they saw, as a trial, signed with what.

A command takes them as one parameter, of the kind `Asked`, `Signing` where it can be signed, or `Human` where it asks a
todo and can be signed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer
from pydantic import ValidationError

from domain.events import Role
from domain.requests import HumanRequest
from entrypoints.cli.asking import As, Json, Sender, malformed, sender_of

R = TypeVar("R", bound=HumanRequest)

KEY_VARIABLE = "COUNTERSIGN_SIGNING_KEY"
DIGEST_CHARACTERS = 64

Reason = Annotated[str, typer.Option(help="Why, for whoever reads the trail.")]
Version = Annotated[
    int | None,
    typer.Option(
        "--expected-version",
        min=1,
        help="Refuse where it is no longer at this version; edit, reorder and delete take the one read now.",
    ),
]
Yes = Annotated[
    bool,
    typer.Option("--yes", help="With --as human:NAME, ask for no confirmation: where there is no terminal."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would change; nothing is done or recorded.")]
Snapshot = Annotated[
    str,
    typer.Option(metavar="DIGEST", help="The tree that you looked at: refuse where another one is claimed by now."),
]
Key = Annotated[
    str,
    typer.Option(
        "--key",
        metavar="FILE",
        envvar=KEY_VARIABLE,
        help="Sign with this SSH key: a private one, or the public one of a key that ssh-agent or a token has.",
    ),
]
PrintStatement = Annotated[
    bool, typer.Option("--print-statement", help="Print the exact text to be signed; nothing is sent.")
]
PrintSignature = Annotated[
    bool, typer.Option("--print-signature", help="Sign with --key, and print the signed statement; nothing is sent.")
]
StatementFile = Annotated[
    Path | None,
    typer.Option("--statement", metavar="FILE", help="What --print-statement printed, signed by hand: ssh-keygen -Y."),
]
SignatureFile = Annotated[
    Path | None, typer.Option("--signature", metavar="FILE", help="The signature of that, as ssh-keygen wrote it.")
]


@dataclass(frozen=True)
class Acting:
    """Who acts, and why."""

    reason: Reason = ""
    sender: As = None
    yes: Yes = False
    as_json: Json = False


@dataclass(frozen=True)
class Signing(Acting):
    """The same, signed with what."""

    key: Key = ""
    print_statement: PrintStatement = False
    statement: StatementFile = None
    signature: SignatureFile = None

    def __post_init__(self) -> None:
        """Refuse what does not go together. Raises `Malformed`."""
        if (self.statement is None) is not (self.signature is None):
            raise malformed("--statement", "comes with --signature", "expected both files, or neither")
        given = self.ways
        if len(given) > 1:
            raise malformed(given[0], f"is given with {given[1]}", "expected one of them")
        if self.as_json and self.print_statement:
            raise malformed("--json", "is given with --print-statement", "expected the text alone, as it is signed")

    @property
    def ways(self) -> list[str]:
        """Of the options that say what becomes of the signature those that are given."""
        ways = {"--print-statement": self.print_statement, "--statement": self.statement is not None}
        return [name for name, is_given in ways.items() if is_given]

    @property
    def signs(self) -> bool:
        """Whether what is asked is signed: by a key, or by hand."""
        return bool(self.key) or self.signature is not None


@dataclass(frozen=True)
class Asked(Acting):
    """Who asks what of whom, beside what it is."""

    expected_version: Version = None
    dry_run: DryRun = False

    def who(self, role: Role = "unattributed") -> Sender:
        """Who asks. Raises `Malformed` for somebody who is nobody."""
        return sender_of(self.sender, role)

    def request(self, kind: type[R], /, **what: Any) -> R:
        """The request, with `what` of its own fields, which go before. Raises `Malformed`."""
        who = self.who()
        said = {"reason": self.reason, "expected_version": self.expected_version, "dry_run": self.dry_run}
        try:
            return kind(**{"actor": who.actor, "session": who.session, **said, **what})
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            field = "--" + str(first["loc"][0]).replace("_", "-")
            raise malformed(field, f"cannot be that: {first['msg']}", "expected another value") from error


@dataclass(frozen=True)
class Human(Signing, Asked):
    """The same of a todo: on which tree, and signed with what."""

    snapshot: Snapshot = ""
    print_signature: PrintSignature = False

    def __post_init__(self) -> None:
        """Refuse what does not go together. Raises `Malformed`."""
        tree = self.snapshot
        if tree and (len(tree) != DIGEST_CHARACTERS or set(tree) - set("0123456789abcdef")):
            raise malformed(
                "--snapshot", "is no digest of a tree", "expected 64 hexadecimal digits, as todo show --json has"
            )
        super().__post_init__()
        if self.print_signature and not self.key:
            raise malformed("--print-signature", "is given without a key", f"expected --key FILE, or {KEY_VARIABLE}")
        if self.dry_run and (self.print_statement or self.print_signature):
            raise malformed("--dry-run", f"is given with {self.ways[0]}, which sends nothing", "expected one of them")

    @property
    def ways(self) -> list[str]:
        """See `Signing`."""
        return [*super().ways, *(["--print-signature"] if self.print_signature else [])]

    def request(self, kind: type[R], /, **what: Any) -> R:
        """The same, of the tree that was looked at."""
        return super().request(kind, snapshot=self.snapshot, **what)


def of_a_person(command: Callable[..., None]) -> Callable[..., None]:
    """`command`, whose parameter of the kind `Asked`, `Signing` or `Human` becomes that many options."""
    signature = inspect.signature(command, eval_str=True)
    hints = {name: one.annotation for name, one in signature.parameters.items()}
    place, kind = next((name, hint) for name, hint in hints.items() if hint in (Asked, Signing, Human))
    options = get_type_hints(kind, include_extras=True)
    spread = [
        inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=options[one.name])
        for one in fields(kind)
    ]

    @wraps(command)
    def asked(*arguments: Any, **given: Any) -> None:
        said = {one.name: given.pop(one.name) for one in spread}
        command(*arguments, **given, **{place: kind(**said)})

    rest = [one for name, one in signature.parameters.items() if name != place]
    whole = signature.replace(parameters=[*rest, *spread])
    vars(asked)["__signature__"] = whole
    asked.__annotations__ = {name: one.annotation for name, one in whole.parameters.items()}
    return asked
