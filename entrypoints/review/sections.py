"""A page as sections of lines, in colours: what the screen shows one by one, and `--plain` all at once.

Every text of workers and models is made visible on its way here, and is never read as markup.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from rich.text import Text

from domain.shown_text import one_line, visible
from domain.status import RoundStatus
from entrypoints.cli.output import counted
from entrypoints.cli.tree import MARKS as STATUS_MARKS
from entrypoints.review import results, said
from entrypoints.review.colours import coloured, short
from entrypoints.review.page import ChangedFile, Page

FILE_SIGNS = {"added": "+", "modified": "~", "deleted": "-", "left_out": "."}
MARK_STYLES = {"": "", "restored": "yellow", "dropped": "yellow", "denied": "bold red", "out_of_scope": "bold red"}


@dataclass(frozen=True)
class Section:
    """A place to go to. `below`: part of the last one that is not. `short`: its name in the list of places.

    Its lines are made when somebody looks at it: the colours of megabytes take a while.
    """

    id: str
    title: str
    make: Callable[[], Iterable[Text]]
    below: bool = False
    short: str = ""
    style: str = ""

    @cached_property
    def lines(self) -> tuple[Text, ...]:
        """All of them."""
        return tuple(self.make())


def sections(page: Page, *, full: bool = False, syntax: bool = True) -> tuple[Section, ...]:
    """All of the page; with `full` whole outputs and evidence, as far as anybody can read them.

    `syntax`: with the colours of each file's language.
    """
    most = FULL_LINES if full else FEW_LINES
    parts = [
        Section("summary", "Summary", lambda: _summary(page)),
        Section("difference", "Difference", lambda: _files(page)),
        *(_file(number, each, syntax) for number, each in enumerate(page.difference.files)),
        Section("claim", "Claim", lambda: said.claim(page, most)),
        Section("checks", "Checks and criteria", lambda: results.lines(page, most)),
        Section("roles", "Audits, arguments, judgement", lambda: said.roles(page)),
        Section("dialogue", "Dialogue", lambda: said.dialogue(page)),
    ]
    if page.loop or (page.report and page.report.fix_loop):
        parts.append(Section("loop", "Fix loop", lambda: said.loop(page)))
    parts.append(Section("attempts", "Attempts", lambda: _attempts(page)))
    parts.append(Section("timeline", "Timeline", lambda: _timeline(page)))
    return tuple(parts)


FEW_LINES, FULL_LINES = 60, 5_000
"""Of one output, its last ones."""


def headline(page: Page) -> Text:
    """The todo in a line: its name, where it stands, what is shown of it."""
    view = page.todo
    mark, style = STATUS_MARKS[view.status]
    text = Text.assemble((f"{mark} {one_line(page.name)}  ", "bold"))
    text.append(view.status.replace("_", " "), style)
    text.append(f" ({view.review_status.replace('_', ' ')})")
    if page.attempt:
        text.append(f"  attempt {page.attempt}" + (f" of {page.numbers[-1]}" if len(page.numbers) > 1 else ""))
    return text if page.current else text.append("  not what is claimed now", "bold yellow")


def _summary(page: Page) -> Iterator[Text]:
    yield headline(page)
    view = page.todo
    yield Text(short(one_line(view.title, 300)), "bold")
    facts = {
        "trigger": view.trigger,
        "question": view.question,
        "flag": view.flag,
        "why": "\n".join(_why(page)),
        "feedback": view.feedback,
        "audits": f"{view.audits} of {view.audit_cap}, revisions {view.revisions} of {view.revision_cap}",
        "version": str(view.version),
        "waits since": _moment(view.waiting_since),
        "session": _session(page),
        "claimed by": page.claimed_by,
        "cost": page.cost or "no model was asked",
        "tree": page.snapshot,
        "to verify": _to_verify(page),
        "notes": "\n".join(page.notes),
    }
    for name, value in facts.items():
        if value:
            yield from _fact(name, value)
    yield Text()
    yield from (Text(short(each)) for each in visible(view.content).split("\n"))


def _fact(name: str, value: str) -> Iterator[Text]:
    for number, each in enumerate(visible(value).split("\n")):
        yield Text.assemble((f"{name if number == 0 else '':12}", "bold"), short(each))


def _why(page: Page) -> Iterator[str]:
    """The shown round's reasons; of one without a report, what the lists have."""
    if page.report is not None:
        yield from (f"{reason.text} [{reason.code}]" for reason in page.report.reasons)
    elif page.round is not None and page.round.status is RoundStatus.RUNNING:
        yield "the round of this attempt runs"
    else:
        yield from page.todo.reasons


def _session(page: Page) -> str:
    if page.session is None or page.standalone:
        return "none: a standalone round" if page.standalone else ""
    return page.session.status.replace("_", " ")


def _to_verify(page: Page) -> str:
    """What it would take, in words."""
    needed = page.needed
    if page.standalone and (page.round is None or page.round.status is not RoundStatus.DECIDED):
        return ""
    if needed.unread:
        return needed.unread
    if needed.kind is None:
        return "everything required passed: an approval"
    names = f" that acknowledges {', '.join(needed.names)}" if needed.names else ""
    return f"an override of the kind {needed.kind}{names}"


def _files(page: Page) -> Iterator[Text]:
    difference = page.difference
    for note in difference.notes:
        yield Text(note, "yellow")
    if not difference.files:
        return
    added, removed = (sum(getattr(each, side) for each in difference.files) for side in ("added", "removed"))
    yield Text(f"{counted((len(difference.files), 'file'))}, +{added} -{removed}", "bold")
    for each in difference.files:
        yield _file_line(each)
        if each.mark:
            yield Text(f"      {each.mark.replace('_', ' ')}: {one_line(each.why)}", MARK_STYLES[each.mark])


def _file_line(each: ChangedFile) -> Text:
    text = Text(f"  {FILE_SIGNS[each.sort]} {one_line(each.path)}", MARK_STYLES[each.mark])
    if each.added or each.removed:
        text.append(f"  +{each.added}", "green").append(f" -{each.removed}", "red")
    return text


def _file(number: int, each: ChangedFile, syntax: bool) -> Section:
    mark = f"[{each.mark.replace('_', ' ')}] " if each.mark else ""
    name = one_line(each.path)
    title = f"{name}: {each.sort.replace('_', ' ')}{f', {each.mark}'.replace('_', ' ') if each.mark else ''}"
    brief = f"{mark}{FILE_SIGNS[each.sort]} {name}"
    style = MARK_STYLES[each.mark]
    return Section(f"file-{number}", title, lambda: _diff(each, syntax), below=True, short=brief, style=style)


def _diff(each: ChangedFile, syntax: bool) -> Iterator[Text]:
    if each.why:
        yield Text(one_line(each.why), MARK_STYLES[each.mark])
    yield from coloured(each.path, each.diff, syntax=syntax)
    if each.note:
        yield Text(f"[... {each.note}]", "yellow")


def _timeline(page: Page) -> Iterator[Text]:
    return (Text(short(visible(each))) for each in page.timeline)


def _attempts(page: Page) -> Iterator[Text]:
    if not page.numbers:
        yield Text("no claim was made yet", "dim")
    rounds = {one.attempt: one for one in page.rounds}
    for number in page.numbers:
        one = rounds.get(number)
        what = _came_to(one.outcome.replace("_", " "), one.trigger, one.reasons, one.status) if one else "waits"
        here = number == page.attempt
        yield Text(f"{'▸' if here else ' '} attempt {number}  {one_line(what)}", "bold" if here else "")


def _came_to(outcome: str, trigger: str, reasons: Iterable[str], status: RoundStatus) -> str:
    told = ", ".join(filter(None, (trigger, *reasons)))
    return f"{outcome or status.value}{f': {told}' if told else ''}"


def _moment(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d %H:%M}Z" if at else ""
