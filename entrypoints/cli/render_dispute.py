"""The adversarial stage of a report, as a person reads it: why a criterion was disputed, both cases, and the ruling."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from domain.checks import Outcome
from domain.dispute_report import ArgumentReport, HearingReport, JudgementReport, RulingReport
from domain.report import Report
from domain.report_lines import CheckReport, CriterionReport
from domain.roles.disputes import Dispute, Why
from domain.verdict import TiebreakOutcome
from entrypoints.cli.marks import MARKS, SCRIPTED, WORD_MARKS
from entrypoints.cli.output import counted, one_line, visible
from entrypoints.cli.prose import quoted, told

WORDS: dict[TiebreakOutcome | None, tuple[str, str]] = {
    TiebreakOutcome.JUDGED: ("ruled on what was disputed", ""),
    TiebreakOutcome.UNAVAILABLE: ("no ruling: unavailable", "yellow"),
    TiebreakOutcome.INCONCLUSIVE: ("no ruling: inconclusive", "yellow"),
    TiebreakOutcome.COST_CAP: ("no ruling: stopped by a cost cap", "yellow"),
    TiebreakOutcome.TIMED_OUT: ("no ruling: out of time", "yellow"),
    None: ("nobody argued", "yellow"),
}
REASONS: dict[Why, str] = {
    "always": "the order wants everything argued",
    "subjective": "only a judge can tell",
    "unsure": "the auditor was not sure",
    "contradicted": "the claim says something else than was seen",
    "disagreement": "the auditor and the check differ",
}
SIDES = {"advocate": "green", "critic": "red"}
STILL_FAILED = "The check failed, and no ruling passes a check."


def show_dispute(console: Console, report: Report, *, verbose: bool) -> None:
    """A part for each disputed criterion; nothing where nothing was disputed."""
    judgement = report.judgement
    if judgement is None:
        return
    console.print(Text("\njudge", "bold"))
    console.print(_headline(judgement))
    for line in _hearings(judgement):
        console.print(Text(f"  {line}", "dim"))
    for dispute in judgement.disputes:
        _show_one(console, report, judgement, dispute, verbose=verbose)


def _headline(judgement: JudgementReport) -> Text:
    word, style = WORDS[judgement.outcome]
    text = Text(f"  {word}", style)
    if judgement.why:
        text.append(f": {one_line(judgement.why, 300)}", style)
    if judgement.scripted:
        text.append(*SCRIPTED)
    who = f"{visible(judgement.model)}, " if judgement.model else ""
    text.append(f"  {who}{counted((len(judgement.disputes), 'dispute'))}, {judgement.duration_ms / 1000:.1f} s", "dim")
    return text


def _hearings(judgement: JudgementReport) -> Iterator[str]:
    """In which order the judge read the cases, and what came of asking again."""
    for number, hearing in enumerate(judgement.hearings):
        first, second = hearing.order
        if number == 0:
            yield f"read the {first} first, then the {second}"
            continue
        if judgement.flipped:
            result = f"and changed its word on {', '.join(map(visible, judgement.flipped))}"
        elif hearing.rulings:
            result = "and said the same"
        else:
            result = f"and gave no answer: {one_line(hearing.why, 200)}"
        yield f"was not sure, read them once more with the {first} first, {result}"


def _show_one(console: Console, report: Report, judgement: JudgementReport, dispute: Dispute, *, verbose: bool) -> None:
    """One criterion: what was seen, the case for it, the case against it, the ruling and why."""
    id = dispute.criterion
    line = _line(report, id)
    ruling = next((each for each in judgement.rulings if each.criterion == id), None)
    mark, style = WORD_MARKS["FAIL" if _is_seen_failed(line) else ruling.verdict if ruling else "UNPROVED"]
    head = Text().append(f"\n  {mark} {visible(id)}{'' if dispute.required else ' (advisory)'}", f"bold {style}")
    head.append(f"  {one_line(_described(line), 160)}", "bold")
    console.print(head)
    told(console, Text("disputed", "dim"), "; ".join(REASONS[why] for why in dispute.why), verbose=True)
    if line is not None and line.isolation != "not_run":
        seen, seen_style = MARKS[line.outcome]
        told(console, Text(f"seen {seen}", seen_style), one_line(line.text, 300), verbose=verbose)
    for argument in report.arguments:
        if argument.criterion == id:
            _show_argument(console, argument, verbose=verbose)
    if ruling is not None:
        _show_ruling(console, ruling, ", said twice" if ruling.settled else "", verbose=verbose)
        if ruling.verdict == "PASS" and _is_seen_failed(line):
            told(console, Text(), STILL_FAILED, verbose=True)
        return
    for heard, each in _heard(judgement, id):
        _show_ruling(console, each, f", the {heard.order[0]} read first", verbose=verbose)


def _show_argument(console: Console, argument: ArgumentReport, *, verbose: bool) -> None:
    scripted = "(scripted) " if argument.scripted else ""
    told(console, Text(argument.side, SIDES[argument.side]), scripted + argument.argument, verbose=verbose)
    quoted(console, argument.quotes, verbose=verbose)
    if argument.objections and verbose:
        told(console, Text("answers", "dim"), argument.objections, verbose=True)


def _show_ruling(console: Console, ruling: RulingReport, how: str, *, verbose: bool) -> None:
    _, style = WORD_MARKS[ruling.verdict]
    scripted = "(scripted) " if ruling.scripted else ""
    sure = f"{scripted}{ruling.verdict}, confidence {ruling.confidence:.2f}{how}"
    told(console, Text("judge", style), sure, verbose=True)
    told(console, Text("why", "dim"), ruling.reasoning, verbose=verbose)
    quoted(console, ruling.quotes, verbose=verbose)


def _heard(judgement: JudgementReport, id: str) -> Iterator[tuple[HearingReport, RulingReport]]:
    """What was said of a criterion on which there is no ruling in the end."""
    for hearing in judgement.hearings:
        yield from ((hearing, each) for each in hearing.rulings if each.criterion == id)


def _line(report: Report, id: str) -> CriterionReport | CheckReport | None:
    found = [each for each in report.criteria if each.id == id]
    return found[0] if found else next((each for each in report.checks if each.name == id), None)


def _described(line: CriterionReport | CheckReport | None) -> str:
    if line is None:
        return ""
    return line.description if isinstance(line, CriterionReport) else line.command


def _is_seen_failed(line: CriterionReport | CheckReport | None) -> bool:
    return line is not None and line.isolation != "not_run" and line.outcome == Outcome.FAILED
