"""Holds an order's file against its pin: what the worker can write counts only as far as a person has trusted it.

Orders, sessions and parts of todos are all the same pen. The bytes that are compared are those that are parsed, and the
digests of the files beside travel with the round, so that nothing can be put in their place in between.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from adapters.config.base_rule import ResolvedBase, moved_within, refuse_rule, resolve_rule
from adapters.config.defaults import Policies, ProjectPolicy
from adapters.config.files_beside import digests_beside
from adapters.config.order_file import bytes_of_order, load_order, own_workspace
from adapters.config.pins import Pins
from adapters.config.reach import Places, tree_roots, why_in_reach
from adapters.config.settings import Settings
from adapters.snapshot.repository import commit_exists
from adapters.snapshot.revision import files_in
from domain.base import sha256_hex
from domain.errors import Malformed, Problem, Refused, Unavailable
from domain.order import BaseRevision, Order, WrittenBase
from domain.pins import Pin, PinnedFacts, difference, differing, moved
from entrypoints.pin_signatures import why_invalid

CHANGED = "order_changed"


@dataclass(frozen=True)
class Admitted:
    """An order that may decide. `file`: where it was read; `pin`: the digest of its pin, empty where it needs none."""

    order: Order
    file: str = ""
    pin: str = ""
    beside: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    """What whoever asks for the round has to know: that the file's own text did not count."""


@dataclass(frozen=True)
class Options:
    """What the command line says instead of the order."""

    workspace: Path | None = None
    base: str | None = None
    from_base: bool = False
    signed: bool = False
    """Whether the project takes only signed acts of people, so that the order has to be trusted with a key."""

    def of(self, settings: Settings) -> Options:
        """The same in the project that has these settings."""
        return replace(self, signed=settings.human_acts == "signed")

    def trust(self, path: Path | str, *, part: bool = False) -> str:
        """The command that trusts the order at `path` with the same options."""
        words = ["countersign", "trust", str(path)]
        words += ["--part"] if part else []
        words += ["--base", self.base] if self.base is not None else []
        words += ["--workspace", str(self.workspace)] if self.workspace is not None else []
        words += ["--key", "FILE"] if self.signed else []
        return shlex.join(words)


def facts_of(content: bytes, orders: Sequence[Order], beside: Mapping[str, str]) -> PinnedFacts:
    """What a pin of a file holds fast: its `content`, and the `orders` that it comes to."""
    return PinnedFacts(
        digest=sha256_hex(content),
        files=dict(beside),
        bases=tuple(order.resolved_base for order in orders if order.base is not None),
        workspaces=tuple(order.workspace for order in orders),
    )


def beside_of(orders: Iterable[Order], path: Path) -> dict[str, str]:
    """The SHA-256 of each file beside the file at `path` that one of `orders` names."""
    names = dict.fromkeys(name for order in orders for name in order.files_beside)
    return digests_beside(names, path.resolve().parent) if names else {}


def admit_order(path: Path, settings: Settings, policy: ProjectPolicy | Policies, options: Options) -> Admitted:
    """The order in the file at `path`, if it may decide.

    Raises `Malformed`, and `Refused` (order_changed) for one that the worker can write and nobody trusted as it is.
    """
    content, note = bytes_of_order(path), ""
    pins, places, options = Pins(settings.state_dir), Places(path), options.of(settings)
    pin = _pin_of(places, settings, options)
    if pin is not None and pin.facts.digest != sha256_hex(content):
        content, note = _from_base(path, places, pin, content, options)
    if pin is None and not options.from_base and (why := why_in_reach([path], _roots(pins, []))):
        raise unpinned(path, why, options)  # before a word of it is read
    rule = _Rule(pin)
    order = load_order(
        path,
        workspace=options.workspace,
        base=options.base,
        policy=policy,
        content=content,
        by_rule=rule.resolve,
    )
    beside = beside_of([order], path)
    if pin is not None:
        facts = rule.as_pinned(facts_of(content, [order], beside))
        if note and options.from_base:
            facts = facts.model_copy(update={"digest": pin.facts.digest})
        if what := moved(pin.facts, facts):
            raise changed(path, pin, content, what, options)
        return Admitted(order, str(path.resolve()), pin.digest, beside, note or rule.note)
    own = own_workspace(content, path) if options.workspace is not None else None
    roots = _roots(pins, [order], [own] if own else [])
    if not (why := why_in_reach([path, *_named(beside, path)], roots)):
        return Admitted(order, str(path.resolve()))
    if not options.from_base:
        raise unpinned(path, why, options)
    return _of_base(path, places, policy, options, order.base)


class _Rule:
    """Resolves a base that is a rule, within what the pin says of it."""

    def __init__(self, pin: Pin | None) -> None:
        self._pin = pin
        self._moved = False
        self.note = ""

    def resolve(self, workspace: Path, repository: Path, rule: str) -> ResolvedBase:
        """What the rule comes to now. Raises `Refused` (order_changed, base_unproven) where it has moved elsewhere."""
        if self._pin is None or not self._pin.rule:
            return refuse_rule(workspace, repository, rule)
        pinned, now = ResolvedBase.model_validate(self._pin.rule), resolve_rule(workspace, repository, rule)
        if why := moved_within(pinned, now):
            raise Refused(why.code, f"cannot use {self._pin.path}: {why.reason}", why.next_step)
        self.note = f"base {rule} = {now.revision}"
        self._moved = (now.workspace, now.repository) == (pinned.workspace, pinned.repository)
        return now

    def as_pinned(self, facts: PinnedFacts) -> PinnedFacts:
        """The facts with the pinned base where the rule has led to one that may stand for it."""
        if self._pin is None or not self._moved:
            return facts
        return facts.model_copy(update={"bases": self._pin.facts.bases})


def _from_base(path: Path, places: Places, pin: Pin, content: bytes, options: Options) -> tuple[bytes, str]:
    """The order that the pinned base commit has at that path, where that is the one that was trusted, or asked for."""
    base = pin.facts.bases[0] if pin.facts.bases else None
    if pin.kind == "order" and isinstance(base, BaseRevision):
        found = _committed(places, base.revision).get(places.name.name)
        if found is not None and (sha256_hex(found) == pin.facts.digest or options.from_base):
            return found, f"the order is the one of the base commit {base.revision}: {path} has another text now"
    raise changed(path, pin, content, moved(pin.facts, pin.facts.model_copy(update={"digest": ""})), options)


def _of_base(
    path: Path, places: Places, policy: ProjectPolicy | Policies, options: Options, base: WrittenBase | None
) -> Admitted:
    """The order as the commit of `--base` has it, with the files beside it: whoever asks says which commit that is."""
    revision = base.revision if options.base is not None and isinstance(base, BaseRevision) else ""
    found = _committed(places, revision) if revision else {}
    if places.name.name not in found:
        what = f"the commit {revision} has no order at {path}" if revision else "no commit is named that is trusted"
        raise Malformed([_problem("--order-from-base", what, "expected --base COMMIT, of a commit that has the order")])
    order = load_order(
        path, workspace=options.workspace, base=options.base, policy=policy, content=found[places.name.name]
    )
    beside = beside_of([order], path)
    committed = _digests(_committed(places, revision, order.files_beside))
    if order.files_beside and (wrong := differing(committed, beside)):
        why = f"{wrong[0]} beside it is not what the commit {revision} has"
        raise unpinned(path, why, options)
    return Admitted(order, str(path.resolve()), beside=beside, note=f"the order is the one of the commit {revision}")


def _committed(places: Places, revision: str, names: Iterable[str] = ()) -> dict[str, bytes]:
    """What the commit has of the order's file, or of `names` beside it, by the path in the order's folder.

    The outermost repository that has the commit counts: one that is nearer may have been made there.
    """
    folder = places.name.parent
    for root in (*reversed(folder.parents), folder):
        try:
            if not (root / ".git").exists() or not commit_exists(root, revision):
                continue
        except Unavailable:
            continue
        inside = folder.relative_to(root).as_posix()
        start = "" if inside == "." else f"{inside}/"
        wanted = [f"{start}{name}" for name in names or (places.name.name,)]
        found = files_in(BaseRevision(repository=str(root), revision=revision), wanted)
        return {path.removeprefix(start): data for path, data in found.items()}
    return {}


def admit_stored(order: Order, order_file: str, pinned: str | None, settings: Settings, options: Options) -> Admitted:
    """An order that was stored when it was verified before, by the pin `pinned`, empty for none; as `admit_order`.

    `pinned` of None: it is a todo's, whose session admitted it.
    """
    if not order_file:
        return Admitted(order)
    path = Path(order_file)
    pins, options = Pins(settings.state_dir), options.of(settings)
    pin = _pin_of(Places(path), settings, options)
    beside = beside_of([order], path)
    if pin is None:
        if why := why_in_reach([path, *_named(beside, path)], _roots(pins, [order])):
            raise unpinned(path, why, options)
        return Admitted(order, order_file)
    what: list[str] = []
    if pinned not in (None, pin.digest) and order.digest not in pin.orders.values():
        what.append("the stored order is not the one that was trusted")
    if pin.kind != "part":
        now = PinnedFacts(
            digest=pin.facts.digest,
            files=beside,
            bases=pin.facts.bases
            if order.base in pin.facts.bases or (pin.rule and options.base is None)
            else (order.resolved_base,),
            workspaces=pin.facts.workspaces if order.workspace in pin.facts.workspaces else (order.workspace,),
        )
        what += moved(pin.facts.model_copy(update={"files": beside_for(order, pin.facts.files)}), now)
    if what:
        raise changed(path, pin, pin.text.encode(), what, options)
    return Admitted(order, order_file, pin.digest, beside)


def admit_file(
    path: Path, content: bytes, orders: Sequence[Order], settings: Settings, *, part: bool = False
) -> tuple[str, dict[str, str]]:
    """The pin of a file that more than one order comes from, empty where it needs none, and the files beside it.

    `part`: the file is about todos of a session that is there, which says where they are. As `admit_order`.
    """
    pins, options = Pins(settings.state_dir), Options().of(settings)
    pin = _pin_of(Places(path), settings, options)
    beside = beside_of(orders, path)
    if pin is None:
        if why := why_in_reach([path, *_named(beside, path)], _roots(pins, orders)):
            raise unpinned(path, why, options, part=part)
        return "", {}
    if part:
        from adapters.config.todo_file import parts_in  # noqa: PLC0415 - a session's models, slow to load: few are parts

        own = {name: digest for one in parts_in(content, path) for name, digest in beside_for(one, beside).items()}
        facts = facts_of(content, (), own)
    else:
        facts = facts_of(content, orders, beside)
    if what := moved(pin.facts, facts):
        raise changed(path, pin, content, what, options)
    return pin.digest, beside


def reach_of(path: Path, orders: Sequence[Order], settings: Settings) -> str:
    """Why the worker can write the file that `orders` come from; empty where it cannot, and the file needs no pin."""
    files = [path, *_named(beside_of(orders, path), path)]
    return why_in_reach(files, _roots(Pins(settings.state_dir), orders))


def refuse_changed(path: Path, content: bytes, settings: Settings) -> None:
    """Before it is parsed: raises `Refused` (order_changed) for a file with another text than was trusted."""
    options = Options().of(settings)
    pin = _pin_of(Places(path), settings, options)
    if pin is not None and pin.facts.digest != sha256_hex(content):
        raise changed(path, pin, content, ("its text has changed",), options)


def beside_for(order: Order, beside: Mapping[str, str]) -> dict[str, str]:
    """Those of the files beside that `order` names."""
    names = order.files_beside
    return {
        path: digest
        for path, digest in beside.items()
        if any(path == name or path.startswith(f"{name}/") for name in map(os.path.normpath, names))
    }


def _pin_of(places: Places, settings: Settings, options: Options) -> Pin | None:
    """The pin of that file. Raises `Refused` (order_changed) for one that does not count where only signed acts do."""
    pin = Pins(settings.state_dir).find(places)
    if pin is not None and options.signed and (why := why_invalid(pin, places, settings, datetime.now(UTC))):
        command = replace(options, from_base=False).trust(places.given, part=pin.kind == "part")
        raise Refused(CHANGED, f"cannot use {places.name}: {why}", f"have a signer read and trust it: {command}")
    return pin


def changed(path: Path, pin: Pin, content: bytes, what: Sequence[str], options: Options) -> Refused:
    """A person trusted the file, and it is not any more what was trusted."""
    diff = difference(pin.text, content.decode("utf-8", "replace"), path.name)
    when = pin.at.date().isoformat()
    reason = f"cannot use {path} as it is: since {pin.actor.identity} trusted it on {when}, {'; '.join(what)}"
    command = replace(options, from_base=False).trust(path)
    return Refused(CHANGED, reason, f"put it back; or look at what has changed, and trust it: {command}", diff)


def unpinned(path: Path, why: str, options: Options, *, part: bool = False) -> Refused:
    """The worker can write the file, and nobody has trusted it."""
    command = options.trust(path, part=part)
    reason = f"cannot use {path}: the worker can write it ({why}), and no person has trusted it"
    return Refused(CHANGED, reason, f"read it, then trust it as it is: {command}")


def _roots(pins: Pins, orders: Iterable[Order], further: Iterable[Path] = ()) -> tuple[Path, ...]:
    """What the workers of `orders` can write, and those of every order that was trusted."""
    orders = list(orders)
    trees = dict.fromkeys([*(Path(order.workspace) for order in orders), *further])
    known = (Path(workspace) for pin in pins.all() for workspace in pin.facts.workspaces)
    bases = [order.resolved_base for order in orders if order.base is not None]
    return (*tree_roots(trees, bases), *known)


def _named(beside: Iterable[str], path: Path) -> Iterator[Path]:
    """The files beside the file at `path`, as they are found there."""
    folder = path.resolve().parent
    return (folder / name for name in beside)


def _digests(found: Mapping[str, bytes]) -> dict[str, str]:
    return {path: sha256_hex(data) for path, data in found.items()}


def _problem(field: str, what: str, expected: str) -> Problem:
    return Problem(file="command line", line=1, field=field, what=what, expected=expected)
