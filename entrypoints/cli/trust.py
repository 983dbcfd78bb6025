"""`countersign trust`: a person pins an order that the worker can write, lists what is pinned, or takes a pin back."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from adapters.config.base_rule import ResolvedBase, described, shown_url
from adapters.config.defaults import Policies
from adapters.config.pins import Pins
from adapters.config.reach import Places
from adapters.signatures.signing import sign_text
from adapters.snapshot.repository import find_repository
from domain.errors import Refused
from domain.pins import Pin, pin_statement, spelled
from domain.requests import Refusal
from domain.signatures import PinAct
from entrypoints import pin_signatures, trusting
from entrypoints.cli import common, person
from entrypoints.cli.asking import malformed, sender_of
from entrypoints.cli.human import by_hand, existing_file
from entrypoints.cli.human_options import Signing, of_a_person
from entrypoints.names import LOCAL_SESSION
from entrypoints.pinning import Options
from entrypoints.signing import text_to_sign
from entrypoints.trusting import Consent

DEFAULT = Path(".countersign") / "order.yaml"


@of_a_person
def trust(
    order: Annotated[
        Path | None,
        typer.Argument(
            metavar="ORDER", help=f"A file; {DEFAULT} of the repository around, or of this folder, by default."
        ),
    ] = None,
    *,
    asked: Signing,
    base: Annotated[str | None, typer.Option(help="The trusted tree, instead of the order's, as for verify.")] = None,
    workspace: Annotated[Path | None, typer.Option(help="The tree that the agent changes, as for verify.")] = None,
    part: Annotated[
        bool, typer.Option("--part", help="The file is for todo create, subtask or edit, and no whole order.")
    ] = False,
    listed: Annotated[bool, typer.Option("--list", help="List what is pinned in this project.")] = False,
    revoke: Annotated[bool, typer.Option("--revoke", help="Take the pin of that file back.")] = False,
) -> None:
    """Trust an order as it is now: its text, the files beside it that it names, its base and its workspace.

    An order that the worker can write counts only as a person has trusted it. What has changed since it was trusted is
    shown first. Sessions' files are trusted in the same way. It takes a terminal, where the order's id is typed, or
    --as human:NAME --yes, or a signature; a process that an agent has started is refused. Where the project takes only
    signed acts of people, it takes a signature of an owner, and the pin counts as long as that is good.

    Example: countersign trust .countersign/order.yaml
    """
    if listed:
        _list(as_json=asked.as_json)
        return
    path = order if order is not None else default_order()
    what = f"take back the pin of {path}" if revoke else f"trust {path}"
    if not asked.print_statement:
        asking = person.sender(asked.sender)
        if isinstance(asking, person.Agent):
            raise person.forbidden_and_recorded(what, "trust", asking, common.open_trail(), LOCAL_SESSION)
        if not asked.signs:
            person.refuse_unsigned(what)
    if revoke:
        _revoke(path, asked, what)
        return
    settings = common.settings()
    found = trusting.candidate(path, settings, Policies(settings), Options(workspace, base), part=part)
    common.err(common.visible(_page(path, found)))
    by = _by(found.pin, "trust", asked, what)
    if by is None:
        return
    pin = trusting.trust(found, by, settings, common.open_trail())
    if asked.as_json:
        common.emit_json({**_facts(pin), "checks": _commands(found), "diff": found.diff, "moved": found.moved})
    else:
        common.out(common.visible(f"trusted: {path}, pin {pin.digest[:12]}"))


def default_order() -> Path:
    """The order that `init` writes: of the repository around, else of this folder. Raises `Malformed` without one."""
    root = find_repository(Path.cwd()) or Path.cwd()
    if not (root / DEFAULT).exists():
        raise malformed("ORDER", f"is missing, and there is no {DEFAULT} around", "expected the file of an order")
    found = root / DEFAULT
    return found.relative_to(Path.cwd()) if found.is_relative_to(Path.cwd()) else found


def _by(pin: Pin, act: PinAct, asked: Signing, what: str) -> Consent | None:
    """Who does it, once they are established, or have signed it; None where the statement was to be printed.

    A signature that is not good for it is refused, and recorded. Raises `Refused`, `Malformed`, `Unavailable`.
    """
    if asked.print_statement:
        sys.stdout.write(text_to_sign(pin_statement(pin, act, asked.reason)))
        return None
    if not asked.signs:
        who = person.establish(pin.id, asked.sender, asked.yes, what=what)
        return Consent(who.actor, who.established, datetime.now(UTC), asked.reason)
    signed = by_hand(asked)
    if signed is None:
        signed = sign_text(text_to_sign(pin_statement(pin, act, asked.reason)), existing_file("--key", Path(asked.key)))
    asker = sender_of(asked.sender, "unattributed").actor
    named = asker.model_copy(update={"role": "human"}) if asked.sender else asker
    trail, now = common.open_trail(), datetime.now(UTC)
    found, check = pin_signatures.judge(
        pin, act, signed, reason=asked.reason, asker=named, settings=common.settings(), trail=trail, now=now
    )
    if isinstance(found, Refusal):
        why = Refused(found.code, f"cannot {what}: {found.reason}", found.next_step)
        known = {"signer": check.signer, "fingerprint": check.fingerprint} if check is not None else {}
        person.record_refusal("trust", why, asker, trail, LOCAL_SESSION, known)
        raise why
    return Consent(found.actor, "signed", now, asked.reason, found.record)


def _revoke(path: Path, asked: Signing, what: str) -> None:
    settings = common.settings()
    pin = Pins(settings.state_dir).find(Places(path))
    if pin is None:
        raise Refused("not_pinned", f"cannot take back the pin of {path}: it has none", "countersign trust --list")
    by = _by(pin, "revoke_trust", asked, what)
    if by is None:
        return
    trusting.revoke(pin, by, settings, common.open_trail())
    if asked.as_json:
        common.emit_json({**_facts(pin), "revoked": True})
    else:
        common.out(common.visible(f"not trusted any more: {pin.path}"))


def _list(*, as_json: bool) -> None:
    pins = Pins(common.settings().state_dir).all()
    if as_json:
        common.emit_json([_facts(pin) for pin in pins])
        return
    for pin in pins:
        when = pin.at.isoformat(timespec="seconds").replace("+00:00", "Z")
        by = f"{pin.actor} ({pin.established})"
        common.out(common.visible(f"{pin.path}  {pin.kind} {pin.id}  pin {pin.digest[:12]}  {when}  {by}"))
    if not pins:
        common.out("nothing is pinned: countersign trust ORDER pins an order")


def _facts(pin: Pin) -> dict[str, Any]:
    """A pin as JSON has it, without the text."""
    rule = {**pin.rule, "remote_url": shown_url(pin.rule["remote_url"])} if pin.rule else {}
    return {
        "pin": pin.digest,
        **pin.model_dump(mode="json", exclude={"text", "facts", "signature"}),
        "rule": rule,
        **pin.facts.model_dump(mode="json"),
    }


def _commands(found: trusting.Candidate) -> list[str]:
    """The commands of the checks, each once."""
    checks = (check for order in found.orders for check in order.verification.checks)
    return list(dict.fromkeys(check.command for check in checks))


def _page(path: Path, found: trusting.Candidate) -> str:
    """What is going to be trusted, for the person who does."""
    facts = found.pin.facts
    rows: list[tuple[str, str]] = [(found.pin.kind, f"{found.pin.id}, sha256 {facts.digest}")]
    rows += [("base", spelled(base)) for base in dict.fromkeys(facts.bases)]
    if found.pin.rule:
        rows.append(("rule", described(ResolvedBase.model_validate(found.pin.rule))))
    rows += [("workspace", workspace) for workspace in dict.fromkeys(facts.workspaces)]
    rows += [("check", command) for command in _commands(found)]
    rows += [("beside", f"{name}, sha256 {digest}") for name, digest in facts.files.items()]
    rows += [("changed", what) for what in found.moved]
    lines = [str(path), *(f"  {name:<9} {text}" for name, text in rows)]
    return "\n".join([*lines, *([found.diff] if found.diff else [])])
