"""`countersign log show`: the trail's rows, as lines or JSON, in our words or a seed's."""

from __future__ import annotations

import heapq
import itertools
import json
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Annotated

import typer

from adapters.trail.chain import utc_text
from domain.event_lines import line, plain, written
from domain.event_names import Vocabulary, auditor_actor, event_json, named
from domain.events import RowFilter, TrailRow
from domain.ports import Trail
from entrypoints.cli import common
from entrypoints.cli.log_filter import actions_of, moment_of, roles_of, todo_and_session, vocabulary_of
from entrypoints.cli.log_follow import follow, noted, until_nobody_reads, wait_for_more

Todo = Annotated[
    str | None, typer.Argument(metavar="TODO", help="A todo: SESSION/TODO, or TODO of the session 'local'.")
]
Actions = Annotated[
    list[str] | None,
    typer.Option(
        "--action",
        "--actions",
        help="Only these events, by any of their names (check_completed, CHECK, CheckCompleted); repeat it, or put "
        "commas between them.",
    ),
]
Roles = Annotated[
    list[str] | None, typer.Option(help="Only by these roles: worker, auditor, harness, human, system, unattributed.")
]
Since = Annotated[
    str | None, typer.Option(metavar="TIME", help="From then on: 2026-01-15T10:05:00Z (UTC), or 2h for two hours ago.")
]
Names = Annotated[
    str | None,
    typer.Option(
        metavar="VOCABULARY",
        help="Events by the names and fields of auditor, authority or pipeline. 'auditor' names every event; what the "
        "other two have no name for is left out, and counted on stderr.",
    ),
]


def show(  # noqa: PLR0913 - a parameter an option
    todo: Todo = None,
    *,
    session: Annotated[str | None, typer.Option(help="Only this session.")] = None,
    attempt: Annotated[int | None, typer.Option(min=0, help="Only this attempt.")] = None,
    action: Actions = None,
    actor: Roles = None,
    since: Since = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="Before then, spelled as for --since.")] = None,
    last: Annotated[int | None, typer.Option(min=0, help="Only the last N; of several sessions by time.")] = None,
    following: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with what comes, until Ctrl-C (exit code 0).")
    ] = False,
    names: Names = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="A JSON array on stdout; with --follow one JSON object a line.")
    ] = False,
) -> None:
    """Show the trail's rows, session by session, the oldest first; everything when nothing is named.

    With --json a row's hash is the SHA-256 of the row without it, in the form of RFC 8785.

    Example: countersign log show local/wo-is-prime --attempt 1
    Example: countersign log show --session local --action CHECK,TODO_VERIFY --since 2h --follow
    """
    now = datetime.now(UTC)
    in_session, name = todo_and_session(todo, session)
    wanted = RowFilter(
        session=in_session,
        todo=name,
        attempt=attempt,
        actions=actions_of(action or ()),
        roles=roles_of(actor or ()),
        since=moment_of(since, now, "--since"),
        until=moment_of(until, now, "--until"),
    )
    printer = Printer(vocabulary_of(names), as_json)
    if following and until is not None:
        raise typer.BadParameter("--until ends what --follow goes on with: give one of them")
    trail = common.open_trail()
    try:
        with until_nobody_reads():
            if following:
                _follow(trail, wanted, last, printer)
            else:
                printer.show_all(_known(trail, wanted, _last(trail.rows(wanted), wanted, last)))
    finally:
        printer.tell_left_out()


class Printer:
    """Rows on stdout, in the vocabulary and the form that are wanted."""

    def __init__(self, vocabulary: Vocabulary | None, json_wanted: bool) -> None:
        self._vocabulary = vocabulary
        self._json = json_wanted
        self._left_out = 0

    def show_all(self, rows: Iterable[TrailRow]) -> None:
        """All rows: lines, or one JSON array, whose rows are written as they come."""
        if not self._json:
            for row in rows:
                self.show(row)
            return
        before = "[\n  "
        for row in rows:
            value = self._value(row)
            if value is not None:
                sys.stdout.write(before + json.dumps(value, indent=2).replace("\n", "\n  "))
                before = ",\n  "
        sys.stdout.write("[]\n" if before.startswith("[") else "\n]\n")

    def show(self, row: TrailRow) -> None:
        """One row as a line, at once."""
        if self._json:
            value = self._value(row)
            text = None if value is None else json.dumps(value)
        else:
            text = self._line(row)
        if text is not None:
            sys.stdout.write(text + "\n")

    def tell_left_out(self) -> None:
        """Say on stderr how many rows the vocabulary had no name for."""
        if self._left_out:
            what = "1 event has" if self._left_out == 1 else f"{self._left_out} events have"
            common.err(f"{what} no name in the vocabulary '{self._vocabulary}': left out")

    def _value(self, row: TrailRow) -> dict[str, object] | None:
        if self._vocabulary is None:
            return {**row.model_dump(mode="json"), "timestamp": utc_text(row.timestamp)}
        event = named(row, self._vocabulary)
        self._left_out += event is None
        return None if event is None else {**event_json(row, event, self._vocabulary)}

    def _line(self, row: TrailRow) -> str | None:
        if self._vocabulary is None:
            return line(row)
        event = named(row, self._vocabulary)
        self._left_out += event is None
        if event is None:
            return None
        if self._vocabulary == "auditor":
            return line(row, event.name, auditor_actor(row))
        return written(row.timestamp, event.name, event.fields.items())


def _follow(trail: Trail, wanted: RowFilter, last: int | None, printer: Printer) -> None:
    """What is there, or the last of it, and then what comes; Ctrl-C is how it ends."""
    after: dict[str, int] = {}
    try:
        rows = noted(trail.rows(wanted), after)
        shown = _last(rows, wanted, last)
        for row in _known(trail, wanted.model_copy(update={"attempt": None}), shown):
            printer.show(row)
        sys.stdout.flush()

        def show_at_once(row: TrailRow) -> None:
            printer.show(row)
            sys.stdout.flush()

        follow(trail, wanted, after, show_at_once, wait_for_more)
    except KeyboardInterrupt:
        return


def _last(rows: Iterator[TrailRow], wanted: RowFilter, last: int | None) -> Iterator[TrailRow]:
    """The last rows, all if it is not said how many."""
    if last is None:
        return rows
    if wanted.session is not None or last == 0:
        return iter(deque(rows, maxlen=last))
    return reversed(heapq.nlargest(last, rows, key=lambda row: (row.timestamp, row.session, row.sequence)))


def _known(trail: Trail, wanted: RowFilter, rows: Iterator[TrailRow]) -> Iterator[TrailRow]:
    """The rows; where there is none, what was named must be there all the same, or it is said and exit code 5."""
    first = next(rows, None)
    if first is not None:
        return itertools.chain([first], rows)
    named_alone = RowFilter(session=wanted.session, todo=wanted.todo, attempt=wanted.attempt)
    if named_alone != RowFilter() and next(iter(trail.rows(named_alone)), None) is None:
        parts = "/".join(plain(part) for part in (wanted.session, wanted.todo) if part is not None) or "any todo"
        of_attempt = f", attempt {wanted.attempt}" if wanted.attempt is not None else ""
        common.err(f"the trail has nothing of {parts}{of_attempt}")
        raise typer.Exit(common.EXIT_NOT_FOUND)
    return iter(())
