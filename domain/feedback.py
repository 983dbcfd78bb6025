"""The retry context: what the next attempt is told about this one. It decides nothing.

Source: seed `authority` 7, DESIGN 4 "RetryContext", CONTRACT "Retry context".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from domain.base import Message
from domain.checks import CheckResult, Outcome
from domain.claims.claim import Contradiction
from domain.decision import Decision, RoundOutcome
from domain.excerpts import DIFF, excerpt, log_command
from domain.failing_tests.readers import NAMED, FailedTests
from domain.order import Retry
from domain.scope import ScopeReport
from domain.tree import Dropped
from domain.verdict import AuditorOutcome

TOLD = (RoundOutcome.CHANGES_REQUESTED, RoundOutcome.NEEDS_HUMAN)
"""The outcomes after which somebody goes on with the work: the next attempt, or the person who decides."""

DIFF_LINES = 500
DIFF_CHARACTERS = 131_072
OF_THE_WHOLE_ROUND = ("scope_violation", "workspace_refused", "change_not_tested", "rejected_by_person")
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


NONE_FAILING: Mapping[str, FailedTests] = {}


class RetryContext(Message):
    """Fields as in CONTRACT. `outputs` by check: lines that name errors, then the end. `restored_paths` come first.

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


class Attempt(Message):
    """The attempt that a retry context is about: what the commands that show all of it name."""

    session: str
    todo: str
    number: int

    def log(self, name: str) -> str:
        """The command that shows everything that the check or criterion `name` printed."""
        return log_command(self.session, self.todo, self.number, name)


def retry_context(  # noqa: PLR0913 - everything that a round came to
    attempt: Attempt,
    retry: Retry,
    decision: Decision,
    results: Iterable[CheckResult],
    scope: ScopeReport | None,
    diff: str,
    *,
    contradictions: Iterable[Contradiction] = (),
    failing: Mapping[str, FailedTests] = NONE_FAILING,
) -> RetryContext | None:
    """What the attempt after `attempt` is told, or None when nothing is to be done again and nobody has to decide.

    `results` with whole outputs: what tells most of them is in `outputs`, once. `failing`: the tests that failed, by
    check.
    """
    if decision.outcome not in TOLD:
        return None
    restored_paths = scope.restored if scope else ()
    dropped_paths = tuple(path for path in scope.dropped if not path.usual)[:DROPPED_PATHS] if scope else ()
    results = tuple(results)
    failed = [result for result in results if result.outcome is Outcome.FAILED]
    failures = [line for result in failed for line in _failure(result, failing.get(result.id), attempt)]
    failures += _other_reasons(decision, failures)
    if failed:
        failures = [*not_used(restored_paths, dropped_paths), *failures]
    outputs = {r.id: _printed(r, attempt) for r in results if not r.passed} if retry.include_check_output else {}
    return RetryContext(
        attempt_number=attempt.number + 1,
        max_attempts=retry.max_attempts,
        restored_paths=restored_paths,
        dropped_paths=dropped_paths,
        specific_failures=tuple(failures),
        check_results=tuple(result.model_copy(update={"stdout": "", "stderr": ""}) for result in failed),
        verifier_feedback=_verifier_feedback(decision) if retry.include_verifier_feedback else None,
        prior_diff=head(diff, attempt.log(DIFF)),
        outputs={name: text for name, text in outputs.items() if text},
        contradictions=tuple(one.told for one in contradictions),
    )


def _failure(result: CheckResult, failing: FailedTests | None, attempt: Attempt) -> Iterator[str]:
    """The result's own text, which names the first tests that failed, then the others."""
    name = f"{result.id}{'' if result.required else ' (advisory)'}"
    yield f"{name}: {result.text}"
    if failing is None:
        return
    for test in failing.listed[NAMED:]:
        yield f"{name}: {test}"
    if failing.count > len(failing.listed):
        yield f"{name}: {failing.count - len(failing.listed)} more failing tests: {attempt.log(result.id)}"


def _other_reasons(decision: Decision, told: Iterable[str]) -> list[str]:
    """What is no check's failure: of the whole round, and where a person has to decide, why."""
    texts = set(told)
    if decision.outcome is RoundOutcome.NEEDS_HUMAN:
        roles = (r for r in decision.reasons if not is_objection(r.code) and r.code not in LABELS)
        return [reason.text for reason in roles if reason.text not in texts]
    return [reason.text for reason in decision.reasons if reason.code in OF_THE_WHOLE_ROUND]


def _printed(result: CheckResult, attempt: Attempt) -> str:
    whole = "\n".join(filter(None, (result.stdout, result.stderr)))
    return excerpt(whole, attempt.log(result.id), OUTPUT_LINES, OUTPUT_CHARACTERS)


def not_used(restored: tuple[str, ...], dropped: tuple[Dropped, ...]) -> Iterator[str]:
    """What of the work the checks did not see: a failure may have no other cause."""
    if restored:
        changed = ", ".join(restored[:NAMED_PATHS])
        yield f"your changes to protected files were not used, the base's were: {changed}"
    if dropped:
        left_out = ", ".join(f"{path.path} ({path.reason})" for path in dropped[:NAMED_PATHS])
        yield f"what you have at these paths was not used: {left_out}"


def tail(text: str, command: str, lines: int = OUTPUT_LINES, characters: int = OUTPUT_CHARACTERS) -> str:
    """The last `lines` lines of `text`, at most `characters` of them; where it was cut, `command` shows all of it."""
    end = "\n" if text.endswith("\n") else ""
    short = ("\n".join(text.removesuffix("\n").split("\n")[-lines:]) + end)[-characters:]
    if short == text:
        return text
    return f"[... {len(text) - len(short)} characters before this: {command}]\n{short}"


def head(text: str, command: str, lines: int = DIFF_LINES, characters: int = DIFF_CHARACTERS) -> str:
    """The first `lines` lines of `text`, at most `characters` of them; where it was cut, `command` shows all of it."""
    end = "\n" if text.endswith("\n") else ""
    short = ("\n".join(text.removesuffix("\n").split("\n")[:lines]) + end)[:characters]
    if short == text:
        return text
    return f"{short.removesuffix(end)}\n[... {len(text) - len(short)} characters after this: {command}]"


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
