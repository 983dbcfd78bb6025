"""`countersign inbox`: what waits for a human, the oldest first, with the commands that would answer it.

It reads the lists that the trail keeps, reports, trees and the ledger, and asks no workflow: it works with no host
running.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated, get_args

import typer

from domain.order import Domain
from domain.ports import Trail
from domain.read_model import Table, TodoView
from domain.retention import seconds_of
from domain.safeguards import Trigger
from entrypoints.cli import common
from entrypoints.cli.asking import Json, find_session, find_todo
from entrypoints.cli.keeping import keep_up
from entrypoints.cli.log_follow import until_nobody_reads, wait_for_more
from entrypoints.cli.render_inbox import tell
from entrypoints.cli.waits import Candidate, Desk, Kind, Waiting, candidates, facts, waiting, waiting_in, with_costs
from entrypoints.cli.watching_inbox import InboxWatcher, watch

__all__ = ["facts", "inbox", "tell", "waiting", "waiting_in", "with_costs"]

LISTS: tuple[Table, ...] = ("sessions", "todos")
ROUNDS: tuple[Table, ...] = ("rounds",)
KINDS: tuple[Kind, ...] = get_args(Kind)
TRIGGERS: tuple[Trigger, ...] = get_args(Trigger)


@dataclass(frozen=True)
class Wanted:
    """What is asked for; empty for all of it. `older_than`: seconds that it has waited at least."""

    session: str | None = None
    todo: str | None = None
    kinds: frozenset[str] = frozenset()
    triggers: frozenset[str] = frozenset()
    domain: str | None = None
    older_than: float = 0.0

    @property
    def filtered(self) -> bool:
        """Whether something may wait and not be wanted, the session left aside."""
        return bool(self.todo or self.kinds or self.triggers or self.domain or self.older_than)

    def has(self, candidate: Candidate, desk: Desk, now: datetime) -> bool:
        """Whether it is wanted; a session has no todo, trigger or domain."""
        view = candidate.view
        if isinstance(view, TodoView):
            fits = (
                self.todo in (None, view.todo)
                and (not self.triggers or view.trigger in self.triggers)
                and self.domain in (None, view.domain)
            )
        else:
            fits = not (self.todo or self.triggers or self.domain)
        old = (now - candidate.since).total_seconds() >= self.older_than
        return fits and old and (not self.kinds or desk.kind(candidate) in self.kinds)


class Inbox:
    """Looks at the lists; of what was seen before and is the same, nothing else is read again."""

    def __init__(self, trail: Trail, wanted: Wanted, limit: int | None) -> None:
        self._trail = trail
        self._wanted = wanted
        self._limit = limit
        self._seen: dict[tuple[str, str], tuple[Candidate, Waiting]] = {}
        self.left = 0

    def look(self) -> tuple[Waiting, ...]:
        """What is wanted and waits now; `left` is how much more there is. Raises `Unavailable`."""
        now = datetime.now(UTC)
        desk = Desk(lambda session, todo: self._trail.state(session, todo, tables=ROUNDS).rounds, now)
        state = self._trail.state(self._wanted.session, tables=LISTS)
        found = [each for each in candidates(state) if self._wanted.has(each, desk, now)]
        shown = found[: self._limit]
        self.left = len(found) - len(shown)
        now_here = {each.key: each for each in shown}
        old = {key: seen for key, seen in self._seen.items() if seen[0] == now_here.get(key)}
        fresh = [each for each in shown if each.key not in old]
        made = with_costs((desk.detailed(desk.entry(each), self._trail) for each in fresh), state)
        self._seen = old | {each.key: (each, entry) for each, entry in zip(fresh, made, strict=True)}
        return tuple(_as_of(now, *self._seen[each.key]) for each in shown)


def inbox(  # noqa: PLR0913 - a parameter an option
    *,
    session: Annotated[str | None, typer.Option(help="Only this session.")] = None,
    todo: Annotated[
        str | None, typer.Option(metavar="TODO", help="Only this todo: SESSION/TODO, or TODO where one session has it.")
    ] = None,
    kind: Annotated[
        list[str] | None, typer.Option(help=f"Only of this kind; repeat it, or put commas: {', '.join(KINDS)}.")
    ] = None,
    trigger: Annotated[
        list[str] | None, typer.Option(help="Only what was escalated for this reason (not_judged, ...); repeat it.")
    ] = None,
    domain: Annotated[Domain | None, typer.Option(help="Only work of this domain.")] = None,
    older_than: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Only what has waited so long: 30m, 2h, 1d.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Only the oldest N.")] = None,
    watching: Annotated[
        bool, typer.Option("--watch", "-w", help="Go on with what comes and goes, until Ctrl-C (exit code 0).")
    ] = False,
    as_json: Json = False,
) -> None:
    """List what waits for a human, the oldest first, and what to do about each.

    TEXT in a command is for your words. With --json --watch it is one JSON object a line: event (waiting, changed or
    resolved) and entry.

    Example: countersign inbox --session release-7 --kind budget --kind failed
    Example: countersign inbox --older-than 2h --watch
    """
    trail = common.open_trail()
    keep_up()
    if session is not None:
        find_session(session, trail)
    wanted = Wanted(
        session=session,
        kinds=_named(kind or (), KINDS, "--kind"),
        triggers=_named(trigger or (), TRIGGERS, "--trigger"),
        domain=domain,
        older_than=_seconds(older_than),
    )
    if todo is not None:
        wanted = _of_todo(wanted, todo, trail)
    seen = Inbox(trail, wanted, limit)
    if watching:
        _watch(seen.look, as_json=as_json)
        return
    _show(seen.look(), wanted, seen, as_json=as_json)


def _show(found: Sequence[Waiting], wanted: Wanted, seen: Inbox, *, as_json: bool) -> None:
    if as_json:
        common.emit_json(facts(found))
    elif not found and wanted.filtered:
        common.out("nothing of that kind waits for a human")
    else:
        tell(found)
    if seen.left:
        common.err(f"{seen.left} more, not as old: --limit {len(found) + seen.left} shows all")


def _watch(look: Callable[[], Sequence[Waiting]], *, as_json: bool) -> None:
    with until_nobody_reads():
        watch(look, InboxWatcher(as_json=as_json), wait_for_more)


def _of_todo(wanted: Wanted, name: str, trail: Trail) -> Wanted:
    """Raises `Refused` (unknown_todo, exit code 5); a todo of another session than is named is a usage error."""
    if wanted.session is not None and "/" not in name:
        name = f"{wanted.session}/{name}"
    view = find_todo(name, trail)
    if wanted.session not in (None, view.session):
        raise typer.BadParameter(f"{name!r} is not of the session {wanted.session!r}", param_hint="--session")
    return replace(wanted, session=view.session, todo=view.todo)


def _named(words: Iterable[str], known: Sequence[str], option: str) -> frozenset[str]:
    """The words, several of which may stand in one, with commas between them."""
    found = frozenset(part.strip() for word in words for part in word.split(","))
    if wrong := sorted(found.difference(known)):
        what = f"{common.visible(wrong[0])!r} is none, expected one of {', '.join(known)}"
        raise typer.BadParameter(what, param_hint=option)
    return found


def _seconds(text: str | None) -> float:
    if text is None:
        return 0.0
    try:
        return seconds_of(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--older-than") from None


def _as_of(now: datetime, candidate: Candidate, entry: Waiting) -> Waiting:
    return entry.model_copy(update={"waited": max(0, int((now - candidate.since).total_seconds()))})
