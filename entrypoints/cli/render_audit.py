"""The auditor's part of a report, as a person reads it: its word, a line a criterion, the dialogue, what it cost."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from domain.audit_report import UNPROVED, AuditorReport, AuditReport, Usage, summed
from domain.report import Report
from domain.verdict import AuditorOutcome
from entrypoints.cli.marks import SCRIPTED, WORD_MARKS
from entrypoints.cli.output import counted, one_line, visible

WORDS = {
    AuditorOutcome.APPROVED: ("approved", "green"),
    AuditorOutcome.CHANGES_REQUESTED: ("changes requested", "red"),
    AuditorOutcome.FAILED: ("failed: not worth another attempt", "red"),
    AuditorOutcome.BLOCKED: ("blocked: it cannot judge this", "yellow"),
    AuditorOutcome.UNAVAILABLE: ("unavailable", "yellow"),
    AuditorOutcome.INCONCLUSIVE: ("inconclusive", "yellow"),
    AuditorOutcome.COST_CAP: ("stopped by a cost cap", "yellow"),
    AuditorOutcome.TIMED_OUT: ("out of time", "yellow"),
}
NO_WORD = frozenset(
    (AuditorOutcome.UNAVAILABLE, AuditorOutcome.INCONCLUSIVE, AuditorOutcome.COST_CAP, AuditorOutcome.TIMED_OUT)
)
"""Outcomes that are no word on the work: why there is none is said instead."""

MOST = 3
"""Claims without proof and refused calls that are shown; the report has them all."""


def show_audit(console: Console, report: Report) -> None:
    """What the auditor came to, in a few lines; nothing where nobody judged."""
    if report.auditor is None:
        return
    console.print(Text("\nauditor", "bold"))
    console.print(_headline(report.auditor, summed(audit.usage for audit in report.audits)))
    opinion = next((audit for audit in reversed(report.audits) if audit.verdict), None)
    if opinion is not None and opinion.assessments:
        console.print(_assessments(opinion))
    for text in (*_unproved(opinion), *_dialogue(report), *_refused(report)):
        console.print(Text(f"  {visible(text)}", "yellow"))


def money(usage: Usage) -> str:
    """What roles cost, in a few words."""
    text = f"{counted((usage.requests, 'request'))}, {usage.tokens:,} tokens, ${usage.cost_usd:.4f}"
    return f"{text} ({usage.remembered} more answered from memory)" if usage.remembered else text


def _headline(auditor: AuditorReport, usage: Usage) -> Text:
    word, style = WORDS[auditor.outcome]
    text = Text(f"  {word}", style)
    if auditor.outcome in NO_WORD and auditor.text:
        text.append(f": {one_line(auditor.text, 200)}", style)
    if auditor.confidence is not None:
        text.append(f", confidence {auditor.confidence:.2f}")
    if auditor.scripted:
        text.append(*SCRIPTED)
    who = f"{visible(auditor.model)}, " if auditor.model else ""
    text.append(f"  {who}{money(usage)}, {auditor.duration_ms / 1000:.1f} s", "dim")
    return text


def _assessments(opinion: AuditReport) -> Table:
    table = Table.grid(padding=(0, 2))
    for each in opinion.assessments:
        mark, style = WORD_MARKS[each.assessment]
        table.add_row(
            Text(f"  {mark} {visible(each.criterion)}", style),
            Text(f"{each.confidence:.2f}", "dim"),
            Text(one_line(each.reason, 160), "" if each.assessment == "PASS" else style),
        )
    return table


def _unproved(opinion: AuditReport | None) -> Iterator[str]:
    listed = [claim.claim for claim in opinion.claims if claim.proof == UNPROVED] if opinion else []
    yield from (f"unproved: {one_line(claim, 160)}" for claim in listed[:MOST])
    if len(listed) > MOST:
        yield f"unproved: {len(listed) - MOST} more, in the report"


def _dialogue(report: Report) -> Iterator[str]:
    for asked in (audit.question for audit in report.audits if audit.question):
        answer = "nobody answered" if asked.answer is None else f"answered: {one_line(asked.answer, 100)}"
        yield f"asked: {one_line(asked.question, 160)} {answer}"


def _refused(report: Report) -> Iterator[str]:
    calls = [call for audit in report.audits for call in audit.refused]
    if calls:
        named = ", ".join(f"{one_line(call.tool, 40)} ({call.code})" for call in calls[:MOST])
        more = f" and {len(calls) - MOST} more" if len(calls) > MOST else ""
        yield f"refused: {named}{more}"
