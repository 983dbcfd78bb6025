"""What was drafted for an order that had nothing to check: requirements with their checks, and what was rejected."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from domain.draft_report import DraftedCriterion, DraftReport
from domain.drafts.record import Rejected
from domain.report import Report
from domain.roles.designed import Requirement
from entrypoints.cli.marks import MARKS, SCRIPTED
from entrypoints.cli.output import counted, one_line, visible
from entrypoints.cli.prose import told

FEW = 3
"""Edge cases that are shown, unless everything is wanted."""


def show_draft(console: Console, report: Report, *, verbose: bool) -> None:
    """The specification and what became of it; nothing where nothing was to be drafted."""
    draft = report.draft
    if draft is None:
        return
    outcomes = {line.id: line.outcome for line in report.criteria}
    console.print(Text("\ndrafted", "bold"))
    console.print(_headline(draft))
    if draft.summary:
        told(console, Text("summary", "dim"), draft.summary, verbose=verbose, indent=2)
    shown = {each.id for each in _show_requirements(console, draft, outcomes)}
    for criterion in draft.criteria:
        if criterion.id not in shown:
            console.print(_criterion(criterion, outcomes, indent=2))
    _show_edge_cases(console, draft, verbose=verbose)
    for each in draft.dropped:
        _show_rejected(console, "rejected", each, "red", verbose=verbose)
    for each in draft.returned:
        if each.criterion not in {dropped.criterion for dropped in draft.dropped}:
            _show_rejected(console, "mended", each, "yellow", verbose=verbose)
    if draft.criteria and not draft.binding:
        console.print(Text("  no gate: an agent asked for it, so nothing of this verifies its work", "yellow"))


def _headline(draft: DraftReport) -> Text:
    if draft.why:
        text = Text(f"  nothing: {one_line(draft.why, 300)}", "yellow")
    else:
        requirements = len(draft.specification.requirements) if draft.specification else 0
        checks = sum(each.test_type != "subjective" for each in draft.criteria)
        judged = len(draft.criteria) - checks
        counts = counted((requirements, "requirement"), (checks, "check"))
        text = Text(f"  {counts}, {judged} for a judge, {len(draft.dropped)} rejected")
    if draft.scripted:
        text.append(*SCRIPTED)
    who = f"{visible(draft.model)}, " if draft.model else ""
    text.append(f"  {who}{draft.duration_ms / 1000:.1f} s", "dim")
    return text


def _show_requirements(console: Console, draft: DraftReport, outcomes: dict[str, str]) -> Iterable[DraftedCriterion]:
    """Each requirement with the criteria that are about it; those that were shown."""
    found: list[DraftedCriterion] = []
    for requirement in draft.specification.requirements if draft.specification else ():
        console.print(_requirement(requirement))
        mine = [each for each in draft.criteria if requirement.id in each.requirements]
        for criterion in mine:
            console.print(_criterion(criterion, outcomes, indent=6))
        if requirement.id in draft.uncovered:
            console.print(Text("      no check that counts covers it", "yellow"))
        found += mine
    return found


def _requirement(requirement: Requirement) -> Text:
    text = Text().append(f"  {visible(requirement.id)}", "bold")
    text.append(f"  {one_line(requirement.text, 160)}")
    return text if requirement.new else text.append("  the base does it already", "dim")


def _criterion(criterion: DraftedCriterion, outcomes: dict[str, str], indent: int) -> Text:
    mark, style = MARKS[outcomes.get(criterion.id, "waiting")]
    text = Text().append(f"{' ' * indent}{mark} {visible(criterion.id)}", style)
    text.append(f"  {one_line(criterion.description, 100)}")
    return text.append(f"  {one_line(criterion.check, 100) if criterion.check else 'only a judge can tell'}", "dim")


def _show_edge_cases(console: Console, draft: DraftReport, *, verbose: bool) -> None:
    cases = draft.specification.edge_cases if draft.specification else []
    for case in cases if verbose else cases[:FEW]:
        console.print(Text(f"  edge case: {one_line(case, 160)}", "dim"))
    if len(cases) > FEW and not verbose:
        console.print(Text(f"  [... {counted((len(cases) - FEW, 'more edge case'))}: --verbose]", "dim"))


def _show_rejected(console: Console, word: str, rejected: Rejected, style: str, *, verbose: bool) -> None:
    """By name: what it was, the fault's code, and the reason in words."""
    label = Text(word, style)
    text = f"{rejected.criterion} {one_line(rejected.check, 100)} [{rejected.code}]: {rejected.reason}"
    told(console, label, text, verbose=verbose, indent=2)
