"""The retry context: what the next attempt is told about this one. It decides nothing.

Source: seed `authority` 7, DESIGN 4 "RetryContext", CONTRACT "Retry context".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from domain.base import Message
from domain.checks import CheckResult, Outcome
from domain.claims.claim import Contradiction
from domain.decision import Decision, RoundOutcome
from domain.order import Retry
from domain.scope import ScopeReport
from domain.tree import Dropped
from domain.verdict import AuditorOutcome

DIFF_LINES = 500
DIFF_CHARACTERS = 131_072
OF_THE_WHOLE_ROUND = ("scope_violation", "workspace_refused", "change_not_tested")
FROM_THE_AUDITOR = ("verifier_unavailable", "uncited_approval", "judge_unavailable")
LABELS = {
    **{f"auditor_{outcome}": "the auditor: " for outcome in AuditorOutcome},
    "judge_failed": "the judge: ",
    "advised_against": "the judge, as advice: ",
}
"""Whose words a reason has, by its code: what roles say is told as theirs. Other reasons say it themselves."""

NAMED_PATHS = 10
DROPPED_PATHS = 50
OUTPUT_LINES = 50
OUTPUT_CHARACTERS = 16_384


class RetryContext(Message):
    """Fields as in CONTRACT. `outputs` are the last lines by check, `restored_paths` come first for a reader.

    `dropped_paths`: what was found and did not count, each with the reason; not repositories, caches and the like.
    """

    attempt_number: int
    max_attempts: int
    human_feedback: str | None = None
    restored_paths: tuple[str, ...] = ()
    dropped_paths: tuple[Dropped, ...] = ()
    specific_failures: tuple[str, ...] = ()
    check_results: tuple[CheckResult, ...] = ()
    verifier_feedback: str | None = None
    prior_attempts: tuple[str, ...] = ()
    prior_diff: str = ""
    outputs: dict[str, str] = {}
    contradictions: tuple[str, ...] = ()
    question: str | None = None


def retry_context(
    attempt: int,
    retry: Retry,
    decision: Decision,
    results: Iterable[CheckResult],
    scope: ScopeReport | None,
    diff: str,
    contradictions: Iterable[Contradiction] = (),
) -> RetryContext | None:
    """What attempt `attempt + 1` is told, or None when nothing is to be done again.

    `results` with whole outputs: their ends are told once, in `outputs`.
    """
    if decision.outcome is not RoundOutcome.CHANGES_REQUESTED:
        return None
    restored_paths = scope.restored if scope else ()
    dropped_paths = tuple(path for path in scope.dropped if not path.usual)[:DROPPED_PATHS] if scope else ()
    failed = [result for result in results if result.outcome is Outcome.FAILED]
    failures = [f"{r.id}{'' if r.required else ' (advisory)'}: {r.text}" for r in failed]
    failures += [reason.text for reason in decision.reasons if reason.code in OF_THE_WHOLE_ROUND]
    if failed:
        failures = [*_not_used(restored_paths, dropped_paths), *failures]
    outputs = (
        {r.id: tail("\n".join(filter(None, (r.stdout, r.stderr)))) for r in failed}
        if retry.include_check_output
        else {}
    )
    return RetryContext(
        attempt_number=attempt + 1,
        max_attempts=retry.max_attempts,
        restored_paths=restored_paths,
        dropped_paths=dropped_paths,
        specific_failures=tuple(failures),
        check_results=tuple(result.model_copy(update={"stdout": "", "stderr": ""}) for result in failed),
        verifier_feedback=_verifier_feedback(decision) if retry.include_verifier_feedback else None,
        prior_diff=head(diff),
        outputs={name: text for name, text in outputs.items() if text},
        contradictions=tuple(one.told for one in contradictions),
    )


def _not_used(restored: tuple[str, ...], dropped: tuple[Dropped, ...]) -> Iterator[str]:
    """What of the work the checks did not see: a failure may have no other cause."""
    if restored:
        changed = ", ".join(restored[:NAMED_PATHS])
        yield f"your changes to protected files were not used, the base's were: {changed}"
    if dropped:
        left_out = ", ".join(f"{path.path} ({path.reason})" for path in dropped[:NAMED_PATHS])
        yield f"what you have at these paths was not used: {left_out}"


def tail(text: str, lines: int = OUTPUT_LINES, characters: int = OUTPUT_CHARACTERS) -> str:
    """The last `lines` lines of `text`, at most `characters` of them, with a word about what was cut."""
    end = "\n" if text.endswith("\n") else ""
    short = ("\n".join(text.removesuffix("\n").split("\n")[-lines:]) + end)[-characters:]
    if short == text:
        return text
    return f"[... {len(text) - len(short)} characters before this are in the evidence]\n{short}"


def head(text: str, lines: int = DIFF_LINES, characters: int = DIFF_CHARACTERS) -> str:
    """The first `lines` lines of `text`, at most `characters` of them, with a word about what was cut."""
    end = "\n" if text.endswith("\n") else ""
    short = ("\n".join(text.removesuffix("\n").split("\n")[:lines]) + end)[:characters]
    if short == text:
        return text
    return f"{short.removesuffix(end)}\n[... {len(text) - len(short)} characters after this are in the evidence]"


def _verifier_feedback(decision: Decision) -> str | None:
    """What auditor and judge had to say, each labelled as its own, or that there was none (seed `authority` 10.4)."""
    told = [
        f"{LABELS.get(reason.code, '')}{reason.text}"
        for reason in decision.reasons
        if is_objection(reason.code) or reason.code in LABELS
    ]
    return "\n".join(told) or None


def is_objection(code: str) -> bool:
    """Whether a reason with that code is that auditor or judge did not approve, or could not."""
    return code.startswith(("auditor_", "judge_")) or code in FROM_THE_AUDITOR
