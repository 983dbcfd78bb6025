"""What a person sees of a round: its progress while it runs, and a verdict to be understood at a glance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from domain.authority import Authority
from domain.checks import Outcome
from domain.claims.claim import Contradiction
from domain.decision import RoundOutcome
from domain.excerpts import excerpt, log_command
from domain.failing_tests.readers import FailedTests
from domain.feedback import LABELS, RetryContext, not_used
from domain.headline import WORDS, name_of, number_failed
from domain.messages import Progress, Step
from domain.report import Remembered, Report
from domain.report_lines import CheckReport, CriterionReport
from entrypoints.cli.marks import MARKS
from entrypoints.cli.output import one_line, visible
from entrypoints.cli.render_audit import money, show_audit
from entrypoints.cli.render_dispute import show_dispute
from entrypoints.cli.render_draft import show_draft
from entrypoints.cli.render_fix import show_fix_loop
from entrypoints.cli.stages import Stages
from entrypoints.cli.watching import Watching

STYLES = {
    RoundOutcome.VERIFIED: "bold green",
    RoundOutcome.CHANGES_REQUESTED: "bold red",
    RoundOutcome.FAILED: "bold red",
    RoundOutcome.NEEDS_HUMAN: "bold yellow",
    RoundOutcome.INCONCLUSIVE: "bold yellow",
}
"""Of the first line, by what the round came to."""

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
SHOWN_CHARACTERS = 6_000
SHOWN_TESTS = 10
TEXT_CHARACTERS = 160


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
    console.print()
    console.print(_headline(report))
    console.print(Text(f"{visible(report.work_order_id)}, attempt {report.attempt}", "bold"))
    console.print(Text(f"  {one_line(report.content)}", "dim"))
    if report.remembered is not None:
        console.print(Text(f"  {_remembered(report.remembered, verified=report.outcome is RoundOutcome.VERIFIED)}"))
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
    if judged := _judged(report):
        facts.add_row(Text("judged", "bold"), Text(judged, "dim"))
    if report.probe is not None:
        style = "" if report.probe.tested else "yellow"
        facts.add_row(Text("probe", "bold"), Text(visible(f"{report.probe.how}: {report.probe.text}"), style))
    for one in report.contradictions:
        facts.add_row(Text("claim", "bold"), Text(_contradiction(one), "yellow"))
    facts.add_row(Text("why", "bold"), Text(_why(report)))
    if in_force := _in_force(report.authority, verbose=verbose):
        facts.add_row(Text("rules", "bold"), Text(in_force, "dim"))
    if report.draft or report.judgement:
        facts.add_row(Text("roles", "bold"), Text(money(report.usage), "dim"))
    if report.retry_context is not None and (told := _told(report, report.retry_context)):
        facts.add_row(Text("retry", "bold"), Text(told))
    facts.add_row(Text("next", "bold"), Text(visible(next_step(report))))
    console.print()
    console.print(facts)
    # Not in the table: a command, a path or an address that is broken over two lines is of no use.
    for command in report.next:
        console.print(Text(f"         {visible(command)}"), soft_wrap=True)
    console.print(Text("evidence", "bold"), Text(visible(folder)))
    if page:
        console.print(Text("Web UI  ", "bold"), Text(page))


def _remembered(where: Remembered, *, verified: bool) -> str:
    """Which round answered, so that nothing was run."""
    at = f"{where.at:%Y-%m-%d %H:%M:%S} UTC"
    if where.kind is not None:
        return f"already {where.kind} by {visible(where.by)} after round {where.attempt} ({at}): --again runs it"
    what = "verified" if verified else "decided"
    return f"already {what} in round {where.attempt} ({at}): nothing was run, --again runs it"


def _headline(report: Report) -> Text:
    """By the round, unless a fix loop left it to a human."""
    asks = report.fix_loop is not None and report.fix_loop.ending == "escalated"
    if asks and report.outcome is RoundOutcome.CHANGES_REQUESTED:
        return Text(WORDS[RoundOutcome.NEEDS_HUMAN], STYLES[RoundOutcome.NEEDS_HUMAN])
    return Text(visible(report.headline) or WORDS[report.outcome], STYLES[report.outcome])


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
    as_the_base = [
        r for r in results if r.required and r.outcome == Outcome.FAILED and r.base_outcome == Outcome.FAILED
    ]
    if as_the_base and report.outcome is RoundOutcome.CHANGES_REQUESTED and _changed_nothing(report):
        return _of_the_base(r.next_step for r in as_the_base)
    hints = list(dict.fromkeys(r.next_step.rstrip(".") for r in (*could_not, *as_the_base) if r.next_step))
    codes = {reason.code for reason in report.reasons}
    wanting = {**FOR_WANT_OF_A_WORD, **FOR_WANT_OF_A_RULING}
    step = wanting.get(codes.pop(), steps[report.outcome]) if len(codes) == 1 else steps[report.outcome]
    return "; ".join([*hints, step])


def _changed_nothing(report: Report) -> bool:
    scope = report.scope
    return report.snapshot is not None and not report.snapshot.changed and not (scope and scope.violations)


def _of_the_base(steps: Iterable[str]) -> str:
    """What to do where the base fails as the work does, because the work is the base."""
    found = "; ".join(dict.fromkeys(step.rstrip(".") for step in steps if step))
    why = "nothing was changed, and the base fails in the same way"
    if found:
        return f"{why}: the order or the environment is wrong. {found}."
    return (
        f"{why}. If the work is still to be done, do it; if not, the order or the environment is wrong: mend the"
        " check's command, environment.image or environment.setup."
    )


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
            Text(_short(result), "" if result.passed else style),
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


def _short(result: CriterionReport | CheckReport) -> str:
    """A result's text, but for the tests that failed, which are listed below."""
    if result.failed_tests is None or not (number := number_failed(result)):
        return one_line(result.text, TEXT_CHARACTERS)
    told = "1 test failed" if number == 1 else f"{number} tests failed"
    return f"{told} (on the base, too)" if result.base_outcome == Outcome.FAILED else told


def _in_force(authority: Authority, *, verbose: bool) -> str:
    """The configuration files; with `verbose` their digests, the pin, and the variables that choose who decides."""
    files = [(one.path, one.digest) for one in authority.configuration]
    if not verbose:
        return visible(", ".join(path for path, _ in files))
    lines = [f"{path}, SHA-256 {digest}" for path, digest in files]
    lines += [f"pin {authority.pin}"] if authority.pin else []
    lines += [f"variables: {', '.join(authority.environment)}"] if authority.environment else []
    return visible("\n".join(lines))


def _judged(report: Report) -> str:
    """Say so where nothing required was compared outside the process of the code under test; empty otherwise."""
    lines: list[CriterionReport | CheckReport] = [*report.criteria, *report.checks]
    ran = {line.isolation for line in lines if line.required and line.isolation != "not_run"}
    return "in the process of the code under test (in_process)" if ran == {"in_process"} else ""


def _why(report: Report) -> str:
    """The reasons; of what a line above has in full only its name and its code."""
    lines: tuple[CriterionReport | CheckReport, ...] = (*report.criteria, *report.checks)
    above = {f"{name_of(line)}: {line.text}": line for line in lines}
    told = []
    for reason in report.reasons:
        line = above.get(reason.text)
        whole = line is None or _cut(line)
        told.append(f"{reason.text if line is None or whole else _as_above(line)} [{reason.code}]")
    return visible("\n".join(told))


def _cut(line: CriterionReport | CheckReport) -> bool:
    """Whether the table shows less of its text than there is, and no list of tests says the rest."""
    return not number_failed(line) and len(line.text) > TEXT_CHARACTERS


def _as_above(line: CriterionReport | CheckReport) -> str:
    return f"{name_of(line)} {'failed' if line.outcome == Outcome.FAILED else line.outcome.replace('_', ' ')}, as above"


def _contradiction(found: Contradiction) -> str:
    return visible(found.told)


def _told(report: Report, retry: RetryContext) -> str:
    """What the next attempt is told beside what is shown above; the report has the outputs and the diff, too."""
    lines: tuple[CriterionReport | CheckReport, ...] = (*report.criteria, *report.checks)
    reasons = [reason.text for reason in report.reasons]
    above = {*reasons, *(f"{name_of(line)}: {line.text}" for line in lines)}
    above |= {f"{name_of(line)} (advisory): {line.text}" for line in lines}
    above |= {f"{name_of(line)}: {test}" for line in lines if line.failed_tests for test in line.failed_tests.listed}
    above |= set(not_used(retry.restored_paths, retry.dropped_paths))  # beside `changes`
    listed = "".join(f"\n- {failure}" for failure in retry.specific_failures if failure not in above)
    feedback = retry.verifier_feedback or ""
    said = f"\n{feedback}" if feedback and feedback not in _said(report) else ""
    if not (listed or said):
        return ""
    beside = " beside the above" if above & set(retry.specific_failures) else ""
    return visible(f"attempt {retry.attempt_number} is told{beside}:{listed}{said}")


def _said(report: Report) -> str:
    """Everything that roles say among the reasons, as the retry context has it."""
    return "\n".join(f"{LABELS.get(reason.code, '')}{reason.text}" for reason in report.reasons)


def _show_outputs(console: Console, report: Report, verbose: bool) -> None:
    """What failed, by its tests or by what it printed: where that is long, the lines with errors and the end.

    With `verbose` everything that the report has of it, also of what passed.
    """
    lines: tuple[CriterionReport | CheckReport, ...] = (*report.criteria, *report.checks)
    for line in lines:
        name = name_of(line)
        command = log_command(report.session, report.work_order_id, report.attempt, name)
        if line.failed_tests and not line.passed:
            console.print(Text(f"\n{visible(name)}: {line.failed_tests.headline}", "bold"))
            console.print(Text("\n".join(_tests(line.failed_tests))))
        output = line.output if isinstance(line, CheckReport) else _printed(line)
        text = visible(output).strip()
        if not text or (line.passed and not verbose):
            continue
        if line.failed_tests and not verbose:
            console.print(Text(f"  all of it: {visible(command)}", "dim"))
            continue
        console.print(Text(f"\n{visible(name)} printed", "bold"))
        shown = text if verbose else excerpt(text, command, SHOWN_LINES, SHOWN_CHARACTERS)
        console.print(Text("\n".join(f"  {each}" for each in shown.splitlines())))


def _printed(line: CriterionReport) -> str:
    return "\n".join(filter(None, (line.evidence.stdout, line.evidence.stderr)))


def _tests(found: FailedTests) -> Iterator[str]:
    for test in found.listed[:SHOWN_TESTS]:
        yield f"  \u2717 {test.test}"
        yield from (f"    {part}" for part in (test.message, test.place) if part)
    if found.count > SHOWN_TESTS:
        yield f"  and {found.count - SHOWN_TESTS} more"


def _some(names: Iterable[str], most: int = 5) -> str:
    listed = [visible(name) for name in names]
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more
