"""What a person sees of a fix loop beside the verdict: how it ended, each repair, and where the patch went."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from domain.fix_report import FixLoopReport, IterationReport
from domain.report import Report
from entrypoints.cli.output import counted, one_line, visible
from entrypoints.cli.prose import told

ENDINGS = {
    "success": ("repaired and verified", "green"),
    "success_with_notes": ("repaired and verified, with notes", "green"),
    "escalated": ("a human has to look", "yellow"),
    "aborted": ("aborted", "yellow"),
}
FEW_PATHS = 10


def show_fix_loop(console: Console, report: Report) -> None:
    """How it ended, every repair, and where the patch went; nothing where there was no loop."""
    loop = report.fix_loop
    if loop is None:
        return
    word, style = ENDINGS[loop.ending]
    console.print(Text("\nfix loop", "bold"))
    head = Text(f"  {word}", style)
    if loop.trigger:
        head.append(f" [{visible(loop.trigger)}]", style)
    console.print(
        head.append(f"  {loop.loops} of {counted((loop.max_loops, 'loop'))} used, ${loop.cost_usd:.4f}", "dim")
    )
    if loop.reason:
        told(console, Text("because", "dim"), loop.reason, verbose=True, indent=2)
    for each in loop.iterations:
        console.print(_line(each))
    for note in loop.notes:
        told(console, Text("note", "yellow"), note, verbose=True, indent=2)
    _show_patch(console, loop)
    if loop.summary:  # in no column: a path that is broken over two lines cannot be opened
        console.print(Text("  summary  ", "dim"), Text(visible(loop.summary)), sep="")


def _line(each: IterationReport) -> Text:
    mark, style = ("✓", "green") if each.outcome == "verified" else ("✗", "red")
    said = came_to(each.answer, each.edits, each.refused, each.attempt or 0, each.outcome, each.why)
    word = f" ({each.confidence})" if each.confidence else ""
    return (
        Text(f"  {mark} {each.loop}", style)
        .append(f"  {said}{word}", "default")
        .append(f"  ${each.cost_usd:.4f}", "dim")
    )


def came_to(answer: str, edits: int, refused: int, attempt: int, outcome: str, why: str) -> str:
    """What one repair did, and what its round said of it."""
    parts = [one_line(answer) or "no answer", counted((edits, "edit"))]
    if refused:
        parts.append(f"{counted((refused, 'call'))} refused")
    if attempt:
        parts.append(f"round {attempt}: {visible(outcome).replace('_', ' ')}")
    if why:
        parts.append(one_line(why, 200))
    return ", ".join(parts)


def _show_patch(console: Console, loop: FixLoopReport) -> None:
    if loop.placed == "applied":
        more = f" and {len(loop.paths) - FEW_PATHS} more" if len(loop.paths) > FEW_PATHS else ""
        listed = ", ".join(visible(path) for path in loop.paths[:FEW_PATHS])
        console.print(Text(f"  the patch is in the workspace: {listed}{more}", "green"))
    elif loop.placed == "offered":
        console.print(Text(f"  the workspace is left as it is: {one_line(loop.why_offered, 300)}", "yellow"))
        if loop.patch:
            console.print(Text(f"  patch -p1 < {visible(loop.patch)}"))
