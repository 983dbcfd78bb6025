"""Holds what roles said in a round against what they say of the same evidence now. Pure: it is given both.

Models are no functions: another wording is no drift, another word is. Source: issue "The roles' runtime", item 6.
"""

from __future__ import annotations

from collections.abc import Iterator

from domain.audit_report import NEVER_ASKED, Answers, Staged, Usage, criteria_of, in_stages, used
from domain.base import Message
from domain.decision import Decision, RoundOutcome
from domain.roles.course import JUDGED
from domain.roles.opinion import Word
from domain.roles.results import AuditRecord
from domain.verdict import AuditorOutcome

OF_THE_ANSWER = ("model", "prompt", "tools", "policy")
"""What an answer follows from beside the evidence, as `Provenance` names it."""


class WordAgain(Message):
    """One criterion: what the auditor said of it then and now; null where it said nothing."""

    criterion: str
    recorded: Word | None
    found: Word | None
    recorded_confidence: float | None = None
    confidence: float | None = None


class Differs(Message):
    """Something that an answer follows from and that is not what it was: by name, and by the stage it was used in."""

    stage: str
    what: str
    recorded: str
    found: str


class AskedAgain(Message):
    """What roles come to now. `told`: they have a word on the work; else `why` says why there is none.

    `drift`: the auditor's word, its word on a criterion, or the decision that follows is another one. `decided` is
    empty where nothing was told, the `recorded_*` are where nobody judged then. `inputs`: what makes that no surprise.
    `questions`: those that it asked, each with whether a recorded answer could be given. `argued`: what a judge ruled
    on then, which stands as it is recorded; the advocate, the critic and the judge are not asked again.
    """

    told: bool
    drift: bool
    why: str = ""
    model: str = ""
    scripted: bool = False
    recorded_model: str = ""
    recorded_outcome: AuditorOutcome | None = None
    outcome: AuditorOutcome | None = None
    recorded_confidence: float | None = None
    confidence: float | None = None
    recorded_decision: RoundOutcome
    decided: RoundOutcome | None = None
    criteria: tuple[WordAgain, ...] = ()
    inputs: tuple[Differs, ...] = ()
    questions: tuple[tuple[str, bool], ...] = ()
    argued: tuple[str, ...] = ()
    usage: Usage = Usage()


def compared(
    then: AuditRecord | None,
    then_said: Answers,
    now: AuditRecord,
    now_said: Answers,
    *,
    recorded: Decision,
    decided: Decision,
) -> AskedAgain:
    """Both audits side by side. `decided`: what `decide` makes of the same facts with the second one."""
    outcome = now.audit.outcome if now.audit else None
    told = outcome in JUDGED
    words = tuple(_words(then, then_said, now, now_said)) if told else ()
    before = then.audit.outcome if then and then.audit else None
    judged_then = before in JUDGED
    drift = told and (
        decided.outcome is not recorded.outcome
        or (judged_then and (before is not outcome or any(word.recorded != word.found for word in words)))
    )
    last, first = _last(now), _last(then)
    return AskedAgain(
        told=told,
        drift=drift,
        why="" if told else (now.audit.feedback if now.audit else "no model is configured"),
        model=last.result.provenance.model if last else "",
        scripted=any(result.provenance.scripted for result in now.passes),
        recorded_model=first.result.provenance.model if first else "",
        recorded_outcome=before,
        outcome=outcome,
        recorded_confidence=then.audit.confidence if then and then.audit else None,
        confidence=now.audit.confidence if now.audit else None,
        recorded_decision=recorded.outcome,
        decided=decided.outcome if told else None,
        criteria=words,
        inputs=tuple(_inputs(then, now)),
        questions=tuple((each.question.question, each.answer is not None) for each in now.dialogue),
        usage=used(result.usage for result in now.passes),
    )


def _words(then: AuditRecord | None, then_said: Answers, now: AuditRecord, now_said: Answers) -> Iterator[WordAgain]:
    """Every criterion that either says something of, in the order in which it is said."""
    before, after = criteria_of(then, then_said), criteria_of(now, now_said)
    for criterion in dict.fromkeys((*before, *after)):
        one, other = before.get(criterion), after.get(criterion)
        yield WordAgain(
            criterion=criterion,
            recorded=one.assessment if one else None,
            found=other.assessment if other else None,
            recorded_confidence=one.confidence if one else None,
            confidence=other.confidence if other else None,
        )


def _inputs(then: AuditRecord | None, now: AuditRecord) -> Iterator[Differs]:
    """What the last pass of each stage followed from and the recorded one did not; what is not recorded is no news."""
    before = {each.stage: each.result.provenance for each in _asked(then)}
    after = {each.stage: each.result.provenance for each in _asked(now)}
    for stage, provenance in after.items():
        for what in OF_THE_ANSWER if stage in before else ():
            recorded, found = getattr(before[stage], what), getattr(provenance, what)
            if recorded != found:
                yield Differs(stage=stage, what=what, recorded=recorded, found=found)


def _asked(audit: AuditRecord | None) -> list[Staged]:
    return [each for each in in_stages(audit.passes if audit else ()) if each.result.outcome not in NEVER_ASKED]


def _last(audit: AuditRecord | None) -> Staged | None:
    asked = _asked(audit)
    return asked[-1] if asked else None
