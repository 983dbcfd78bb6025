"""How a fix loop went, for people: the page `SUMMARY.md`, and the paragraph that an escalation is told by. Pure.

Source: seed `fix loop` 6 "Escalation path when budget exhausted". Whatever a worker or a model wrote is shown as code.
"""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote

from domain.fix_files import PATCH
from domain.fix_messages import FileFixLoopInput, FixLoopResult, Iteration
from domain.roles.spending import MICROS
from domain.shown_text import block, code, codes, one_line

STANDALONE = "local"
"""The session of rounds that stand alone: no worker has them, and there is nothing to return."""

REASON_CHARACTERS = 1500

ENDINGS = {
    "success": "SUCCESS: the work is verified",
    "success_with_notes": "SUCCESS_WITH_NOTES: the work is verified, with notes",
    "escalated": "ESCALATED: a human has to look",
    "aborted": "ABORTED: nobody waits for it any more",
}

BUDGET_SPENT = frozenset({"revision_cap_exceeded", "cost_cap_exceeded", "could_not_apply", "timeout"})
"""Triggers after which more loops could do: what `return --budget` grants."""


def summary(request: FileFixLoopInput) -> str:
    """`SUMMARY.md`: how the loop ended and what it used, each iteration, the patch, and what a human can do."""
    parts = (
        "\n".join(_head(request)),
        *_told(request.result),
        *map(iteration_lines, request.result.iterations),
        "\n".join(("## Patch", "", *_patch(request.result))),
        *(("\n".join(_what_next(request)),) if request.result.ending == "escalated" else ()),
    )
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def escalation_reason(result: FixLoopResult) -> str:
    """One paragraph for the row: loops used, the last verdict, why it is a human's now, and what they can do."""
    reason = one_line(result.reason, REASON_CHARACTERS) or result.trigger or "no reason is recorded"
    used = f"{result.loops} of {result.of} fix loops used"
    return f"{used}, last verdict {last_verdict(result)}: {reason}; a human can {_acts(result.trigger)}"


def last_verdict(result: FixLoopResult) -> str:
    """`changes_requested (FEEDBACK)`: of the last round that the loop knows of."""
    if result.result is not None:
        outcome, confidence = result.result.decision.outcome.value, result.result.confidence
    else:
        rounds = [iteration for iteration in result.iterations if iteration.outcome]
        if not rounds:
            return "none"
        outcome, confidence = rounds[-1].outcome, rounds[-1].confidence
    return f"{outcome} ({confidence})" if confidence else outcome


def usd(micros: int) -> str:
    """`$0.4200`."""
    return f"${micros / MICROS:.4f}"


def iteration_lines(iteration: Iteration) -> str:
    """What one iteration came to, as a section of a page."""
    number = iteration.loop
    judged = f"round {iteration.attempt}: {code(iteration.outcome)}" if iteration.attempt else "none"
    files = [
        f"`verifier-loop{number}.md`",
        *((f"`feedback-loop{number}.md`",) if iteration.feedback else ()),
        *((f"`patch-loop{number}.diff`",) if iteration.patch else ()),
    ]
    lines = [
        f"## Loop {number}",
        "",
        f"- answer: {code(iteration.answer)}",
        f"- edits: {iteration.edits}, refused calls: {iteration.refused}, paths: {codes(iteration.paths)}",
        f"- verified in {judged}, confidence: {iteration.confidence or 'none'}",
        f"- cost: {usd(iteration.micros)}",
        f"- files: {', '.join(files)}",
    ]
    return "\n".join(lines) + (f"\n\nWhy it went no further:\n{block(iteration.why)}" if iteration.why else "")


def _head(request: FileFixLoopInput) -> Iterator[str]:
    result = request.result
    yield f"# Fix loop of {code(request.title)}"
    yield ""
    yield f"- todo: {code(f'{request.session}/{request.todo}')}, begun with round {request.attempt}"
    yield f"- domain: {code(request.domain)}"
    yield f"- ending: **{ENDINGS[result.ending]}**"
    if result.trigger:
        yield f"- trigger: {code(result.trigger)}"
    yield f"- loops: {result.loops} of {result.of} used"
    yield f"- cost: {usd(result.tally.micros)} of {usd(request.budget.micros)}"
    yield f"- last verdict: {last_verdict(result)}"


def _told(result: FixLoopResult) -> Iterator[str]:
    """Why it ended so, and what is worth saying of work that is verified."""
    if result.reason:
        yield f"## Why\n{block(result.reason)}"
    if result.notes:
        notes = "\n".join(result.notes)
        yield f"## Notes\n{block(notes)}"


def _patch(result: FixLoopResult) -> Iterator[str]:
    if not result.patch:
        yield "Nothing was repaired, so there is no patch. The workspace is as the worker left it."
        return
    if result.placed == "applied":
        yield f"Applied: the workspace has it. It is in `{PATCH}`, too."
        return
    verified = result.ending in ("success", "success_with_notes")
    if verified:
        yield "Offered: its result is verified, and the workspace was left as it is, since"
        yield block(result.why_offered or "no reason is recorded").rstrip("\n")
    else:
        yield f"`{PATCH}` has every edit of the loop. **Its result is not verified**; the workspace was left as it is."
    yield ""
    yield "In the workspace, with the path of this folder for FOLDER:"
    yield ""
    yield f"    patch -p1 < FOLDER/{PATCH}"
    if verified:
        yield ""
        yield "What has changed in the workspace since is not verified with it: verify the result again."


def _what_next(request: FileFixLoopInput) -> Iterator[str]:
    yield "## What a human can do"
    yield ""
    if request.session == STANDALONE:
        yield "No worker waits for a standalone round. Change the work, or the order, and verify it again:"
        yield ""
        yield "    countersign verify ORDER"
        yield ""
        yield "Or look at it, and decide about it as it is:"
        yield ""
        yield f"    countersign review {quote(f'{request.session}/{request.todo}')}"
        if request.result.trigger in BUDGET_SPENT:
            yield ""
            yield "`fix_loop.max_loops` and `fix_loop.max_cost_usd` in the order are what a loop may use."
        return
    for command, why in _commands(quote(f"{request.session}/{request.todo}"), request.result.trigger):
        yield f"- {why}:"
        yield ""
        yield f"      {command}"
        yield ""
    yield "`countersign inbox` names the checks that an override has to acknowledge."


def _commands(name: str, trigger: str) -> Iterator[tuple[str, str]]:
    """Each command that fits, and what it is for."""
    yield f"countersign todo show {name}", "look at the claim and at what was seen of it"
    if trigger in BUDGET_SPENT:
        yield f"countersign return {name} --budget USD --reason TEXT", "grant more loops, and US dollars for them"
    yield f"countersign return {name} --reason TEXT", "give it back to a worker"
    if trigger != "hard_fail":
        yield f"countersign approve {name}", "countersign it, where everything required passed"
        yield f"countersign reject {name} --feedback TEXT", "send it back with words of your own"
    over = f"countersign override {name} --kind check --acknowledge NAME --reason TEXT"
    yield over, "overrule what failed, as far as the order's policy allows"


def _acts(trigger: str) -> str:
    """The same in a few words."""
    if trigger == "hard_fail":
        return "look at it (`todo show`), `return` it to a worker, or `override` it"
    more = "grant more loops (`return --budget USD`), " if trigger in BUDGET_SPENT else ""
    return f"look at it (`todo show`), {more}`return` it to a worker, `approve`, `override` or `reject` it"
