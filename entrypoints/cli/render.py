"""What a person sees of a round: its progress while it runs, and a verdict to be understood at a glance."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from domain.checks import Outcome
from domain.claims.claim import Contradiction
from domain.decision import RoundOutcome
from domain.feedback import RetryContext
from domain.messages import Progress, Step
from domain.report import Report
from domain.report_lines import CheckReport, CriterionReport
from entrypoints.cli.marks import MARKS
from entrypoints.cli.output import one_line, visible
from entrypoints.cli.render_audit import money, show_audit
from entrypoints.cli.render_dispute import show_dispute
from entrypoints.cli.render_draft import show_draft
from entrypoints.cli.render_fix import show_fix_loop
from entrypoints.cli.stages import Stages
from entrypoints.cli.watching import Watching

HEADLINES = {
    RoundOutcome.VERIFIED: ("VERIFIED", "bold green"),
    RoundOutcome.CHANGES_REQUESTED: ("NOT VERIFIED: changes requested", "bold red"),
    RoundOutcome.FAILED: ("NOT VERIFIED: failed", "bold red"),
    RoundOutcome.NEEDS_HUMAN: ("NOT VERIFIED: a human has to decide", "bold yellow"),
    RoundOutcome.INCONCLUSIVE: ("COULD NOT TELL", "bold yellow"),
}

FOR_WANT_OF_A_WORD = {
    "verifier_unavailable": "nothing in the work is at fault: make the auditor's model answer (countersign doctor),"
    " then run the same command again.",
    "auditor_inconclusive": "run the same command again: nothing is lost; or name another model for the auditor.",
    "cost_cap_exceeded": "raise the cap in [agents.caps] of countersign.toml and run the same command again, or a human"
    " decides.",
    "audit_timed_out": "give the auditor more time (safeguards.audit_timeout) or a faster model, or a human decides.",
}
FOR_WANT_OF_A_RULING = {
    "judge_unavailable": "nothing in the work is at fault: make the models of advocate, critic and judge answer"
    " (countersign doctor), then run the same command again.",
    "judge_inconclusive": "run the same command again: nothing is lost; or name another model for the judge.",
    "judge_timed_out": "give the roles more time (safeguards.audit_timeout) or faster models, or a human decides.",
}
"""What to do where the round came to what it did for no other reason than this one."""

SHOWN_LINES = 12


class Watcher(Watching):
    """Shows progress as it comes: a live table on a terminal, a line a change elsewhere.

    With `stages` a line as each of them ends, instead of a line a change.
    """

    def __init__(self, console: Console) -> None:
        super().__init__(console, per_second=8)
        self.stages: Stages | None = None

    def see(self, progress: Progress) -> None:
        """Take in how things stand."""
        self.tell_stages()
        if self.live:
            table = _progress_table(progress.steps)
            if progress.waits:
                table.add_row(waits_text(progress.waits))
            self.live.update(table)
            return
        for step in _as_told(progress.steps) if self.stages is None else ():
            key = f"{step.parent}/{step.id}"
            stands = f"{step.status} {step.detail if step.status == 'running' else ''}"
            if stands != self.last.get(key, "waiting "):
                self.last[key] = stands
                self.console.print(_step_text(step))
        if progress.waits and progress.waits != self.last.get("waits"):
            self.console.print(waits_text(progress.waits))
        self.last["waits"] = progress.waits

    def tell_stages(self) -> None:
        """Print the stages that have ended since, where they are wanted."""
        for line in self.stages.new() if self.stages else ():
            self.console.print(line)


def _as_told(steps: Iterable[Step]) -> list[Step]:
    """A node begins before its items and ends after them."""
    return sorted(steps, key=lambda step: 1 if step.parent else 0 if step.status == "running" else 2)


def _progress_table(steps: Iterable[Step]) -> Table:
    table = Table.grid(padding=(0, 1))
    listed = list(steps)
    for step in listed:
        if not step.parent:
            table.add_row(_step_text(step))
            for child in listed:
                if child.parent == step.id:
                    table.add_row(_step_text(child))
    return table


def waits_text(why: str) -> Text:
    """That nothing goes on, and why."""
    return Text(f"… waits: {one_line(why)}", "yellow")


def _step_text(step: Step) -> Text:
    mark, style = MARKS[step.status]
    text = Text("  " if step.parent else "")
    text.append(f"{mark} {visible(step.id)}", style)
    text.append(f"  {one_line(step.detail or step.label)}", "dim")
    return text


def show_report(console: Console, report: Report, folder: str, page: str, verbose: bool) -> None:
    """The verdict: what was checked, what was seen, what to do next, where to look."""
    word, style = _headline(report)
    console.print()
    console.print(Text(word, style), Text(f"{report.work_order_id}, attempt {report.attempt}", "bold"))
    console.print(Text(f"  {one_line(report.content)}", "dim"))
    show_draft(console, report, verbose=verbose)
    if report.criteria:
        console.print(Group(Text("\ncriteria", "bold"), _results_table(report.criteria)))
    if report.checks:
        console.print(Group(Text("\nchecks", "bold"), _results_table(report.checks)))
    show_audit(console, report)
    show_dispute(console, report, verbose=verbose)
    show_fix_loop(console, report)
    _show_outputs(console, report, verbose)
    facts = Table.grid(padding=(0, 1))
    facts.add_column(min_width=8)
    facts.add_row(Text("changes", "bold"), _changes(report))
    for notice in report.notices:
        facts.add_row(Text("note", "bold"), Text(visible(notice), "yellow"))
    if report.probe is not None:
        style = "" if report.probe.tested else "yellow"
        facts.add_row(Text("probe", "bold"), Text(visible(f"{report.probe.how}: {report.probe.text}"), style))
    for one in report.contradictions:
        facts.add_row(Text("claim", "bold"), Text(_contradiction(one), "yellow"))
    facts.add_row(Text("why", "bold"), Text(_why(report)))
    if report.draft or report.judgement:
        facts.add_row(Text("roles", "bold"), Text(money(report.usage), "dim"))
    if report.retry_context is not None:
        facts.add_row(Text("retry", "bold"), Text(_told(report.retry_context)))
    facts.add_row(Text("next", "bold"), Text(visible(next_step(report))))
    console.print()
    console.print(facts)
    # Not in the table: a path or an address that is broken over two lines cannot be opened.
    console.print(Text("evidence", "bold"), Text(visible(folder)))
    if page:
        console.print(Text("Web UI  ", "bold"), Text(page))


def _headline(report: Report) -> tuple[str, str]:
    """By the round, unless a fix loop left it to a human."""
    asks = report.fix_loop is not None and report.fix_loop.ending == "escalated"
    if asks and report.outcome is RoundOutcome.CHANGES_REQUESTED:
        return HEADLINES[RoundOutcome.NEEDS_HUMAN]
    return HEADLINES[report.outcome]


def next_step(report: Report) -> str:
    """What a person, or the agent that claimed, does now."""
    if report.fix_loop is not None:
        return report.fix_loop.next_step
    results: tuple[CriterionReport | CheckReport, ...] = (*report.criteria, *report.checks)
    could_not = [r for r in results if r.outcome == Outcome.COULD_NOT_RUN and r.required]
    steps = {
        RoundOutcome.VERIFIED: "nothing: the work is countersigned.",
        RoundOutcome.CHANGES_REQUESTED: "change what is named above, then run the same command again.",
        RoundOutcome.FAILED: "a human decides whether this todo is tried again.",
        RoundOutcome.NEEDS_HUMAN: "a human looks at the evidence and decides; or give the order what it lacks.",
        RoundOutcome.INCONCLUSIVE: "remove the cause, then run the same command again: nothing is lost.",
    }
    hints = list(dict.fromkeys(r.next_step for r in could_not if r.next_step))
    codes = {reason.code for reason in report.reasons}
    wanting = {**FOR_WANT_OF_A_WORD, **FOR_WANT_OF_A_RULING}
    step = wanting.get(codes.pop(), steps[report.outcome]) if len(codes) == 1 else steps[report.outcome]
    return "; ".join([*hints, step])


def _results_table(results: Iterable[CriterionReport | CheckReport]) -> Table:
    table = Table.grid(padding=(0, 2))
    for result in results:
        mark, style = MARKS[result.outcome]
        name = result.id if isinstance(result, CriterionReport) else result.name
        label = result.description if isinstance(result, CriterionReport) else result.command
        required = "" if result.required else " (advisory)"
        drafted = " (drafted)" if isinstance(result, CriterionReport) and result.drafted else ""
        table.add_row(
            Text(f"  {mark} {visible(name)}{required}{drafted}", style),
            Text(one_line(label, 60)),
            Text(one_line(result.text, 160), "" if result.passed else style),
            Text(f"{result.duration_ms / 1000:.1f} s", "dim"),
        )
    return table


def _changes(report: Report) -> Text:
    if report.snapshot is None or report.scope is None:
        return Text("none could be looked at", "yellow")
    snapshot = report.snapshot
    text = Text(f"{len(snapshot.changed)} taken")
    if snapshot.changed:
        text.append(f": {_some(snapshot.changed)}", "dim")
    if snapshot.restored:
        text.append(f"\nrestored from the base: {_some(snapshot.restored)}", "yellow")
    dropped = [f"{entry.path} ({entry.reason})" for entry in snapshot.dropped if not entry.usual]
    if dropped:
        text.append(f"\nleft out: {_some(dropped)}", "yellow")
    if report.scope.violations:
        violations = [f"{violation.path} ({violation.kind})" for violation in report.scope.violations]
        text.append(f"\nnot allowed: {_some(violations)}", "red")
    return text


def _why(report: Report) -> str:
    return visible("\n".join(f"{reason.text} [{reason.code}]" for reason in report.reasons))


def _contradiction(found: Contradiction) -> str:
    return visible(found.told)


def _told(retry: RetryContext) -> str:
    """What the next attempt is told, in short; the report has the outputs and the diff that go with it."""
    listed = "".join(f"\n- {failure}" for failure in retry.specific_failures)
    said = f"\n{retry.verifier_feedback}" if retry.verifier_feedback else ""
    return visible(f"attempt {retry.attempt_number} is told:{listed}{said}")


def _show_outputs(console: Console, report: Report, verbose: bool) -> None:
    """What the commands printed: of the failed ones their last lines, with `verbose` everything there is."""
    outputs = {check.name: (check.passed, check.output) for check in report.checks}
    for criterion in report.criteria:
        printed = "\n".join(filter(None, (criterion.evidence.stdout, criterion.evidence.stderr)))
        outputs[criterion.id] = (criterion.passed, printed)
    for name, (passed, output) in outputs.items():
        lines = visible(output).strip().splitlines()
        if not lines or (passed and not verbose):
            continue
        console.print(Text(f"\n{name} printed", "bold"))
        if not verbose and len(lines) > SHOWN_LINES:
            console.print(Text(f"  [... {len(lines) - SHOWN_LINES} lines before: --verbose]", "dim"))
            lines = lines[-SHOWN_LINES:]
        console.print(Text("\n".join(f"  {line}" for line in lines)))


def _some(names: Iterable[str], most: int = 5) -> str:
    listed = [visible(name) for name in names]
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more
