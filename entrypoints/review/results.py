"""What the harness saw, for a reviewer: a line a check and criterion, what was learned of each, and what it printed."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from domain.excerpts import log_command
from domain.headline import name_of
from domain.report import Report
from domain.report_lines import CheckReport, CriterionReport
from domain.shown_text import one_line, visible
from entrypoints.cli.marks import MARKS
from entrypoints.review.colours import short
from entrypoints.review.page import Page

Line = CheckReport | CriterionReport


def lines(page: Page, most: int) -> Iterator[Text]:
    """All of them, each with the last `most` lines of its output."""
    report = page.report
    if report is None:
        yield Text("there is no report of this attempt: nothing was seen yet", "yellow")
        return
    listed: tuple[Line, ...] = (*report.criteria, *report.checks)
    for each in listed:
        yield from _line(each, most, log_command(report.session, report.work_order_id, report.attempt, name_of(each)))
        yield Text()
    if not listed:
        yield Text("nothing was checked", "yellow")
    yield from _beside(report)


def _line(each: Line, most: int, command: str) -> Iterator[Text]:
    mark, style = MARKS.get(each.outcome, ("?", "yellow"))
    head = Text.assemble((f"{mark} {one_line(name_of(each))}", f"bold {style}"))
    head.append(f"  {each.outcome.replace('_', ' ')}", style)
    head.append("" if each.required else "  advisory", "dim")
    yield head.append(f"  {one_line(each.text)}")
    if isinstance(each, CriterionReport) and each.description:
        yield Text(f"    {one_line(each.description)}", "dim")
    if each.command:
        yield Text(f"    $ {short(one_line(each.command, 2000))}", "cyan")
    yield Text(f"    {'  '.join(_facts(each))}", "dim")
    yield from _learned(each)
    if each.next_step:
        yield Text(f"    next: {one_line(each.next_step, 1000)}", "yellow")
    yield from printed(_output(each), most, command=command)


def _facts(each: Line) -> Iterator[str]:
    code = each.evidence.exit_code if isinstance(each, CriterionReport) else each.exit_code
    yield f"code {one_line(each.code)}"
    if code is not None:
        yield f"exit code {code}"
    yield each.isolation.replace("_", " ")
    if each.base_outcome:
        yield f"on the base: {each.base_outcome.replace('_', ' ')}"
    yield f"{each.duration_ms / 1000:.1f} s"
    if len(each.outcomes) > 1:
        yield f"runs: {', '.join(each.outcomes)}"
    evidence = each.evidence.id if isinstance(each, CriterionReport) else each.evidence
    if evidence:
        yield f"evidence {evidence}"


def _learned(each: Line) -> Iterator[Text]:
    """What was learned of the check itself, and what roles say of it."""
    if each.tests is not None:
        seen = each.tests.model_dump()
        told = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in seen.items() if count)
        yield Text(f"    tests: {told or 'none'}", "dim")
    if each.control is not None:
        style = "bold red" if each.control.outcome == "missed" else "dim"
        outcome = each.control.outcome.replace("_", " ")
        yield Text(f"    control ({each.control.kind}): {outcome}  {one_line(each.control.text)}", style)
    if each.expectation is not None:
        seen_of = f"{each.expectation.constrained} of {each.expectation.measured} measured"
        yield Text(f"    expectation: {seen_of} tests depend on what they expect", "dim")
        for test in each.expectation.unconstrained:
            yield Text(f"      does not: {one_line(test)}", "yellow")
    if isinstance(each, CriterionReport) and each.audited is not None:
        said = f"the auditor: {each.audited.assessment} ({each.audited.confidence:.2f}) {each.audited.reason}"
        yield Text(f"    {one_line(said, 2000)}")
    if each.judged is not None:
        said = f"the judge: {each.judged.verdict} ({each.judged.confidence:.2f}) {each.judged.reasoning}"
        yield Text(f"    {one_line(said, 2000)}")


def _output(each: Line) -> str:
    if isinstance(each, CheckReport):
        return each.output
    return "\n".join(part.rstrip("\n") for part in (each.evidence.stdout, each.evidence.stderr) if part)


def printed(text: str, most: int, indent: str = "    | ", command: str = "") -> Iterator[Text]:
    """The last `most` lines of `text`, behind a margin, with a word about those before; `command` shows all of them."""
    if not text.strip():
        return
    shown = visible(text).strip("\n").split("\n")
    if len(shown) > most:
        whole = f": {visible(command)}" if command else ""
        yield Text(f"{indent}[... {len(shown) - most} lines before{whole}]", "yellow")
        shown = shown[-most:]
    for each in shown:
        yield Text.assemble((indent, "dim"), short(each))


def _beside(report: Report) -> Iterator[Text]:
    """What the round says beside its checks."""
    for notice in report.notices:
        yield Text(f"note: {one_line(notice, 1000)}", "yellow")
    if report.probe is not None:
        probe = report.probe
        yield Text(f"probe ({probe.how}): {one_line(probe.text, 1000)}", "" if probe.tested else "yellow")
    for one in report.contradictions:
        yield Text(f"contradiction: {one_line(one.told, 1000)}", "yellow")
