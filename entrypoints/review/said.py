"""What people, workers and models said about an attempt, for a reviewer: claim, roles, dialogue, fix loop."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from io import StringIO

from rich.console import Console
from rich.text import Text

from domain.audit_report import AuditReport
from domain.claims.claim import Claim, ClaimedEvidence
from domain.report import Report
from domain.roles.opinion import Quote
from domain.shown_text import one_line, visible
from entrypoints.cli.marks import SCRIPTED, WORD_MARKS
from entrypoints.cli.render_dispute import show_dispute
from entrypoints.cli.render_draft import show_draft
from entrypoints.cli.render_fix import show_fix_loop
from entrypoints.review.colours import short
from entrypoints.review.page import Page
from entrypoints.review.results import printed

MARGIN = "    "
_WIDTH = 110


def claim(page: Page, most: int) -> Iterator[Text]:
    """What the worker says it did, with what it brought and says that it ran."""
    if page.claim is None:
        yield Text("no claim says what was done", "dim")
        return
    yield from paragraph(page.claim.explanation, "")
    yield from _files(page.claim)
    for log in page.claim.commands_run:
        yield Text(f"\nsays it ran: {short(one_line(log.command, 2000))}", "bold")
        yield Text(f"{MARGIN}and that it ended with {log.exit_code}", "dim")
        yield from printed("\n".join(filter(None, (log.stdout, log.stderr))), most)
    for piece in page.claim.evidence:
        yield Text(f"\nbrings [{one_line(piece.label)}], {one_line(piece.type)}", "bold")
        yield from printed(_data(piece), most)


def roles(page: Page) -> Iterator[Text]:
    """Every pass of the auditor, both cases, the ruling, and what a designer drafted."""
    report = page.report
    if report is None or not (report.audits or report.auditor or report.judgement or report.draft):
        yield Text("no role was asked about this attempt", "dim")
        return
    yield from _shown(lambda console: show_draft(console, report, verbose=True))
    if report.auditor is not None:
        yield from _auditor(report)
    for each in report.audits:
        yield from _audit(each)
    yield from _shown(lambda console: show_dispute(console, report, verbose=True))


def dialogue(page: Page) -> Iterator[Text]:
    """Questions, answers, notes and feedback, the oldest first."""
    if not page.dialogue:
        yield Text("nobody has said anything", "dim")
    for each in page.dialogue:
        yield Text(f"{each.at:%Y-%m-%d %H:%M}Z  {one_line(each.who)} {each.what}", "bold")
        yield from paragraph(each.text)
    if page.todo.question:
        yield Text("\nopen question", "bold yellow")
        yield from paragraph(page.todo.question)


def loop(page: Page) -> Iterator[Text]:
    """What the fix loop tried."""
    report = page.report
    if report is not None and report.fix_loop is not None:
        yield from _shown(lambda console: show_fix_loop(console, report))
    for each in page.loop:
        yield Text(short(visible(each)))


def paragraph(text: str, indent: str = MARGIN) -> Iterator[Text]:
    """The lines of `text`, behind a margin."""
    for each in visible(text).strip("\n").split("\n"):
        yield Text(f"{indent}{short(each)}")


def _files(said: Claim) -> Iterator[Text]:
    if said.files_modified:
        yield Text("\nsays it changed", "bold")
        yield from (Text(f"{MARGIN}{one_line(path)}") for path in said.files_modified)


def _data(piece: ClaimedEvidence) -> str:
    return piece.data if isinstance(piece.data, str) else json.dumps(piece.data, indent=2, ensure_ascii=False)


def _auditor(report: Report) -> Iterator[Text]:
    auditor = report.auditor
    assert auditor is not None, "asked only where there is one"
    text = Text.assemble((f"auditor: {auditor.outcome.value.replace('_', ' ')}", "bold"))
    if auditor.confidence is not None:
        text.append(f", confidence {auditor.confidence:.2f}")
    if auditor.scripted:
        text.append(*SCRIPTED)
    yield text.append(f"  {one_line(auditor.model)}", "dim")
    if auditor.text:
        yield from paragraph(auditor.text)


def _audit(each: AuditReport) -> Iterator[Text]:
    """One pass."""
    word = each.verdict or each.outcome
    yield Text(f"\n{each.stage} look: {word.replace('_', ' ')}  {one_line(each.model)}", "bold")
    if each.why:
        yield from paragraph(each.why)
    for one in each.assessments:
        mark, style = WORD_MARKS[one.assessment]
        assessed = f"  {mark} {one_line(one.criterion)}  {one.confidence:.2f}  "
        yield Text.assemble((assessed, style), one_line(one.reason, 2000))
        yield from _quotes(one.quotes)
    for label, said in _remarks(each):
        yield Text(f"  {label}: {one_line(said, 2000)}", "yellow")
    if each.question is not None:
        yield Text(f"  asked: {one_line(each.question.question, 2000)}", "yellow")
        answer = each.question.answer
        yield Text(f"  {'nobody answered' if answer is None else f'answered: {one_line(answer, 2000)}'}", "yellow")


def _remarks(each: AuditReport) -> Iterator[tuple[str, str]]:
    yield from (("suspicion", said) for said in each.suspicions)
    for one in each.claims:
        if isinstance(one.proof, str):
            yield "unproved", one.claim
        else:
            yield "proved", f"{one.claim} “{one.proof.quote}” {one.proof.evidence_id}"
    yield from (("reason", " ".join(map(str, reason.model_dump().values()))) for reason in each.reasons)
    yield from (("action", " ".join(map(str, one.model_dump().values()))) for one in each.required_actions)
    yield from (("refused", f"{call.tool} ({call.code})") for call in each.refused)


def _quotes(quotes: Iterable[Quote]) -> Iterator[Text]:
    for quote in quotes:
        words, evidence = one_line(quote.quote, 1000), one_line(quote.evidence_id)
        yield Text.assemble((f"      “{words}”", "italic"), (f"  {evidence}", "dim"))


def _shown(show: Callable[[Console], None]) -> Iterator[Text]:
    """What a part of the command line's report prints, as lines; it makes what it shows visible itself."""
    file = StringIO()
    console = Console(file=file, force_terminal=True, color_system="standard", width=_WIDTH, highlight=False)
    show(console)
    for each in file.getvalue().removesuffix("\n").split("\n") if file.getvalue() else ():
        yield Text.from_ansi(each)
