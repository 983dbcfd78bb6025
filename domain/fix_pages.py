"""The files of a fix loop's folder: what each iteration was told, changed and came to, beside `SUMMARY.md`. Pure.

Source: seed `fix loop` 1 "Step A" to "Step D". Whatever a worker or a model wrote is shown as code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from domain.feedback import RetryContext
from domain.fix_files import PATCH, SUMMARY
from domain.fix_messages import FileFixLoopInput, Iteration
from domain.fix_summary import summary
from domain.report import Report
from domain.report_lines import CheckReport, CriterionReport
from domain.shown_text import block, code, codes

Read = Callable[[str], bytes]
"""The blob of a digest, as `domain.ports.EvidenceStore.get` answers."""


def pages(request: FileFixLoopInput, read: Read) -> dict[str, bytes]:
    """Every file of `fix_loop/` by its name. Raises what `read` raises for a blob that is missing or damaged."""
    found: dict[str, bytes] = {}
    for iteration in request.result.iterations:
        report = Report.model_validate_json(read(iteration.report)) if iteration.report else None
        found[f"verifier-loop{iteration.loop}.md"] = verifier_page(iteration, report).encode()
        if iteration.feedback:
            retry = RetryContext.model_validate_json(read(iteration.feedback))
            found[f"feedback-loop{iteration.loop}.md"] = feedback_page(iteration, retry).encode()
        if iteration.patch:
            found[f"patch-loop{iteration.loop}.diff"] = read(iteration.patch)
    if request.result.patch:
        found[PATCH] = read(request.result.patch)
    return {**found, SUMMARY: summary(request).encode()}


def verifier_page(iteration: Iteration, report: Report | None) -> str:
    """`verifier-loop<N>.md`: the verdict on the repair, and everything that it rests on; `report` None: no round was.

    The lines `STATUS:` and `CONFIDENCE:` are the first below the heading, and no other line begins so.
    """
    lines = [
        f"# Verification of loop {iteration.loop}",
        "",
        f"STATUS: {report.verdict if report else 'NONE'}",
        f"CONFIDENCE: {iteration.confidence or 'NONE'}",
    ]
    if report is None:
        return _page(lines, ["## Why there was no round", block(iteration.why or "no reason is recorded")])
    reasons = "\n".join(f"{reason.text} [{reason.code}]" for reason in report.reasons)
    return _page(
        lines,
        ["", f"- round: {report.attempt}", f"- outcome: {code(report.outcome)}"],
        ["## Reasons", block(reasons)] if reasons else [],
        ["## Criteria", "", *_items((each.id, each) for each in report.criteria)] if report.criteria else [],
        ["## Checks", "", *_items((each.name, each) for each in report.checks)] if report.checks else [],
    )


def feedback_page(iteration: Iteration, retry: RetryContext) -> str:
    """`feedback-loop<N>.md`: what the fix builder was told, in the order in which it is to be read."""
    return _page(
        [f"# Feedback for loop {iteration.loop}"],
        _section("What people say", retry.human_feedback or ""),
        ["## Restored files", "", codes(retry.restored_paths)] if retry.restored_paths else [],
        _section("What did not travel", "\n".join(f"{each.path}: {each.reason}" for each in retry.dropped_paths)),
        _section("Failures", "\n".join(retry.specific_failures)),
        *(_section(f"What {code(name)} printed", text) for name, text in retry.outputs.items()),
        _section("What auditor and judge say", retry.verifier_feedback or ""),
        _section("Where the claim says something else than was seen", "\n".join(retry.contradictions)),
        _section("Open question", retry.question or ""),
        _section("Earlier attempts", "\n".join(retry.prior_attempts)),
        _section("What was changed", retry.prior_diff),
    )


def _items(items: Iterable[tuple[str, CriterionReport | CheckReport]]) -> Iterator[str]:
    for id, item in items:
        advisory = "" if item.required else " (advisory)"
        yield f"### {code(id)}{advisory}: {code(item.outcome)}"
        told = "\n".join(part for part in (item.text, item.next_step and f"next: {item.next_step}") if part)
        yield block(f"{told} [{item.code}]" if told else f"[{item.code}]")


def _section(title: str, text: str) -> list[str]:
    return [f"## {title}", block(text)] if text.strip() else []


def _page(*parts: list[str]) -> str:
    return "\n\n".join("\n".join(part).strip("\n") for part in parts if part) + "\n"
