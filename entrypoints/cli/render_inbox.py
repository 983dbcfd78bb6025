"""What waits for a person, as text: a few lines each. What workers and models wrote is cut, and steers no terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from entrypoints.cli import common
from entrypoints.cli.tree import duration, one_line
from entrypoints.cli.waits import Waiting
from entrypoints.tried import Difference, Repaired, Tried

MOST_NAMED = 5
"""Paths, failures and outcomes of one line that are named; the rest are counted."""

MOST_ATTEMPTS = 3


def tell(found: Iterable[Waiting]) -> None:
    """Each in a few lines; that there is nothing, if there is nothing."""
    listed = list(found)
    for each in listed:
        for line in lines(each):
            common.out(line)
    if not listed:
        common.out("nothing waits for a human")


def lines(entry: Waiting) -> Iterator[str]:
    """One entry, visible as it is."""
    yield headline(entry)
    told = (
        one_line(entry.title),
        *(f"not judged: {one_line(f'{each.id}: {each.text} ({each.why})', 200)}" for each in entry.criteria),
        *_tried(entry.tried),
        *(_repaired(each) for each in entry.repairs[-MOST_ATTEMPTS:]),
        *(_difference(entry.difference) if entry.difference else ()),
        f"reminded {entry.reminded_at:%Y-%m-%d %H:%M}Z" if entry.reminded_at else "",
        f"models have cost ${entry.cost_usd:.4f}" if entry.cost_usd else "",
        *(common.visible(f"{each.command}  # {each.does}") for each in entry.proposals),
    )
    yield from (f"    {line}" for line in told if line)


def headline(entry: Waiting) -> str:
    """What it is, since when, and why."""
    name = f"{entry.session}/{entry.todo}" if entry.todo else f"session {entry.session}"
    status = entry.status.replace("_", " ")
    kind = entry.kind.replace("_", " ")
    what = status if kind == status else f"{status} ({kind})"
    when = f"{entry.since:%Y-%m-%d %H:%M}Z, {duration(entry.waited)}"
    return common.visible(f"{when}  {name}  {what}: {one_line(entry.why, 300)}")


def _tried(attempts: Sequence[Tried]) -> Iterator[str]:
    """The last attempts, one a line."""
    if len(attempts) > MOST_ATTEMPTS:
        yield f"tried {len(attempts)} times; the last {MOST_ATTEMPTS}:"
    for each in attempts[-MOST_ATTEMPTS:]:
        what = each.outcome.replace("_", " ") or "is being judged"
        names = _some([line.name if line.required else f"{line.name} (advisory)" for line in each.failed])
        told = "; ".join(
            filter(None, (f"did not pass: {names}" if names else "", each.reason and one_line(each.reason)))
        )
        unknown = f"; no more can be told: {each.unknown}" if each.unknown else ""
        yield one_line(f"attempt {each.attempt}: {what}{f'; {told}' if told else ''}{unknown}", 300)


def _repaired(each: Repaired) -> str:
    what = each.outcome.replace("_", " ") or each.why
    return one_line(f"fix loop {each.loop} of {each.of}: {what}, ${each.cost_usd:.4f}: {each.answer}", 200)


def _difference(found: Difference) -> Iterator[str]:
    begin = f"attempt {found.before} to {found.after}" if found.before else f"the base to attempt {found.after}"
    if found.unknown:
        yield one_line(f"{begin}: cannot be compared: {found.unknown}", 200)
        return
    paths = [
        f"{each.path} {each.kind}" + ("" if each.added is None else f" +{each.added} -{each.removed}")
        for each in found.paths
    ]
    yield one_line(f"{begin}: {_some(paths, found.more) or 'the same tree'}", 300)
    if found.outcomes:
        yield one_line(_some([f"{each.name}: {each.before}, then {each.after}" for each in found.outcomes]), 300)


def _some(named: Sequence[str], more: int = 0) -> str:
    rest = more + max(0, len(named) - MOST_NAMED)
    return ", ".join(named[:MOST_NAMED]) + (f" and {rest} more" if rest else "")
