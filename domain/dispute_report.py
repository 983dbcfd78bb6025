"""What a report says of the adversarial stage: what was disputed, both cases, and what the judge made of them. Pure.

It is given the record, and the answers that the record names. What a ruling means for the verdict is `decide`'s.
Source: CONTRACT "The report", seed `pipeline` "Advocate", "Critic", "Judge".
"""

from __future__ import annotations

from collections.abc import Iterator

from domain.answers import Words
from domain.base import Message
from domain.pass_report import PassReport, asked, pass_of
from domain.roles.argued import Case, Judgement, Verdict
from domain.roles.disputes import Dispute
from domain.roles.names import Side
from domain.roles.opinion import Quote
from domain.roles.results import DisputeRecord, Hearing, PassOutcome, PassResult
from domain.verdict import Ruled, TiebreakOutcome

SIDES: tuple[Side, ...] = ("advocate", "critic")


class ArgumentReport(Message):
    """One side's case on one criterion. `objections`: what the other side may say; `said`: the blob of the answer."""

    side: Side
    criterion: str
    argument: str
    objections: str
    quotes: tuple[Quote, ...]
    model: str
    scripted: bool
    said: str


class RulingReport(Message):
    """The judge on one criterion. `said` names the blob of its whole answer.

    `settled`: it was not sure, and said the same once more with the order of the arguments swapped.
    """

    criterion: str
    verdict: Verdict
    confidence: float
    reasoning: str
    quotes: tuple[Quote, ...] = ()
    settled: bool = False
    scripted: bool = False
    said: str = ""


class HearingReport(Message):
    """One time that the judge was asked: the order in which it read the cases, and what it ruled then."""

    order: tuple[Side, Side]
    outcome: PassOutcome
    why: str
    rulings: tuple[RulingReport, ...]


class JudgementReport(Message):
    """The adversarial stage as a whole. `outcome` is null where nobody argued; `why` says why there is no ruling.

    `rulings` are those that `decide` heard: none unless the outcome is `judged`. `flipped`: the criteria on which the
    two hearings differ. `passes`: advocate's, critic's, and the judge's in the order of its hearings.
    """

    outcome: TiebreakOutcome | None
    why: str
    disputes: tuple[Dispute, ...]
    rulings: tuple[RulingReport, ...]
    hearings: tuple[HearingReport, ...]
    flipped: tuple[str, ...]
    model: str
    scripted: bool
    duration_ms: int
    passes: tuple[PassReport, ...]


def arguments_of(dispute: DisputeRecord | None, words: Words) -> tuple[ArgumentReport, ...]:
    """Every argument: of each criterion the advocate's, then the critic's, criteria as they were disputed."""
    if dispute is None:
        return ()
    found = [*_case("advocate", dispute.advocate, words), *_case("critic", dispute.critic, words)]
    place = {each.criterion: number for number, each in enumerate(dispute.disputes)}
    return tuple(sorted(found, key=lambda each: place.get(each.criterion, len(place))))


def judgement_of(dispute: DisputeRecord | None, words: Words) -> JudgementReport | None:
    """What it all came to; None where nothing was disputed."""
    if dispute is None or not (dispute.disputes or dispute.tiebreak):
        return None
    tiebreak = dispute.tiebreak
    judges = [hearing.result.provenance.model for hearing in dispute.hearings if asked(hearing.result)]
    return JudgementReport(
        outcome=tiebreak.outcome if tiebreak else None,
        why=_why(dispute),
        disputes=dispute.disputes,
        rulings=rulings_of(dispute, words),
        hearings=tuple(_hearing(hearing, words) for hearing in dispute.hearings),
        flipped=flipped_in(dispute),
        model=judges[-1] if judges else "",
        scripted=any(result.provenance.scripted for result in dispute.passes),
        duration_ms=int(dispute.seconds * 1000),
        passes=tuple(_passes(dispute)),
    )


def rulings_of(dispute: DisputeRecord | None, words: Words) -> tuple[RulingReport, ...]:
    """What `decide` heard of the judge, in its whole words as far as they are there."""
    tiebreak = dispute.tiebreak if dispute else None
    if dispute is None or tiebreak is None or tiebreak.outcome is not TiebreakOutcome.JUDGED:
        return ()
    heard = [ruling for hearing in dispute.hearings for ruling in _rulings(hearing.result, words)]
    return tuple(_whole(ruled, heard, settled=ruled.criterion in tiebreak.settled) for ruled in tiebreak.rulings)


def flipped_in(dispute: DisputeRecord) -> tuple[str, ...]:
    """The criteria on which a judge who was asked twice said both."""
    said: dict[str, set[str]] = {}
    for hearing in dispute.hearings:
        for ruled in hearing.result.rulings:
            said.setdefault(ruled.criterion, set()).add(ruled.verdict)
    return tuple(criterion for criterion, verdicts in said.items() if len(verdicts) > 1)


def reasoning_of(dispute: DisputeRecord | None) -> str:
    """The judge's reasons in one text, for the trail; empty where it has no word."""
    return "\n".join(f"{each.criterion} {each.verdict}: {each.reasoning}" for each in rulings_of(dispute, {}))


def _why(dispute: DisputeRecord) -> str:
    """Why there is no ruling."""
    tiebreak = dispute.tiebreak
    if tiebreak is None:
        return dispute.why
    return "" if tiebreak.outcome is TiebreakOutcome.JUDGED else tiebreak.feedback or dispute.why


def _case(side: Side, result: PassResult | None, words: Words) -> Iterator[ArgumentReport]:
    case = words.get(result.said) if result else None
    if result is None or not isinstance(case, Case):
        return
    for each in case.arguments:
        yield ArgumentReport(
            side=side,
            criterion=each.criterion,
            argument=each.argument,
            objections=each.objections,
            quotes=tuple(each.quotes),
            model=result.provenance.model,
            scripted=result.provenance.scripted,
            said=result.said,
        )


def _hearing(hearing: Hearing, words: Words) -> HearingReport:
    result = hearing.result
    second: Side = "critic" if hearing.first == "advocate" else "advocate"
    return HearingReport(
        order=(hearing.first, second),
        outcome=result.outcome,
        why=result.why,
        rulings=tuple(_rulings(result, words)),
    )


def _rulings(result: PassResult, words: Words) -> Iterator[RulingReport]:
    """What was ruled in one hearing: the recorded words, with what the whole answer has beside them."""
    answer = words.get(result.said)
    whole = {each.criterion: each for each in answer.rulings} if isinstance(answer, Judgement) else {}
    for ruled in result.rulings:
        told = whole.get(ruled.criterion)
        yield RulingReport(
            criterion=ruled.criterion,
            verdict=ruled.verdict,
            confidence=ruled.confidence,
            reasoning=told.reasoning if told else ruled.reasoning,
            quotes=tuple(told.quotes) if told else (),
            scripted=result.provenance.scripted,
            said=result.said,
        )


def _whole(ruled: Ruled, heard: list[RulingReport], *, settled: bool) -> RulingReport:
    """A ruling that `decide` heard, with the words of the hearing that it is from."""
    mine = (ruled.criterion, ruled.verdict, ruled.confidence)
    for each in heard:
        if (each.criterion, each.verdict, each.confidence) == mine:
            return each.model_copy(update={"settled": settled})
    return RulingReport(
        criterion=ruled.criterion,
        verdict=ruled.verdict,
        confidence=ruled.confidence,
        reasoning=ruled.reasoning,
        settled=settled,
    )


def _passes(dispute: DisputeRecord) -> Iterator[PassReport]:
    for side, result in zip(SIDES, (dispute.advocate, dispute.critic), strict=True):
        if result is not None and asked(result):
            yield pass_of(side, "argument", result)
    for hearing in dispute.hearings:
        if asked(hearing.result):
            yield pass_of("judge", "judgement", hearing.result)
