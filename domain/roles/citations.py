"""Holds an answer of the auditor's against the evidence: why it may not stand, in words that a model can act on.

Source: seed `auditor` 3.3 "Rules", DESIGN 4 and 8. The shape is `opinion`'s. Whether what is quoted proves anything is
not judged here, and what a sound opinion means for the verdict is `decide`'s.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from domain.checks import CheckResult, subjective_of
from domain.decision import Policy, failures
from domain.facts import facts_of
from domain.fields import quoted
from domain.order import Order
from domain.roles.numbering import unnumbered
from domain.roles.opinion import Assessment, FirstLook, Opinion, Question, Quote
from domain.roles.packet import Piece
from domain.roles.results import Assessed
from domain.verdict import Audit, AuditorOutcome

FEWEST_CHARACTERS = 3
"""Of a quote, white space not counted."""

MOST_FAULTS = 20
"""That are told at once."""

FEEDBACK_CHARACTERS = 8_000
"""Of the auditor's words that travel with the verdict; all of them are in the blob of the answer."""

TOOL = "tool"
"""The kind of the pieces that a role's own tools found."""

Pieces = Mapping[str, Piece]


class Asked(NamedTuple):
    """What an answer is held against beside the evidence. `criteria`: all of the order's by id, True for required.

    `failed`: required results that failed and may not; `forgiven`: criteria that failed within the rate that the order
    allows. `subjective`: what only a judge can tell. `questions`: how many more may be asked.
    """

    criteria: Mapping[str, bool]
    failed: tuple[str, ...] = ()
    forgiven: frozenset[str] = frozenset()
    subjective: frozenset[str] = frozenset()
    questions: int = 0


def asked_of(
    order: Order, results: tuple[CheckResult, ...], authored: frozenset[str] = frozenset(), questions: int = 0
) -> Asked:
    """What a round of `order` with these results asks for; what failed is what `decide` takes for failed."""
    facts = facts_of(order, None, results, authored=authored)
    failed = tuple(result.id for result in failures(facts, Policy.of(order)))
    return Asked(
        criteria={criterion.id: criterion.required for criterion in order.acceptance_criteria},
        failed=failed,
        forgiven=frozenset(r.id for r in results if r.required and r.outcome == "failed" and r.id not in failed),
        subjective=frozenset(criterion.id for criterion in subjective_of(order)),
        questions=questions,
    )


def faults(answer: FirstLook | Opinion | Question, pieces: Pieces, asked: Asked) -> tuple[str, ...]:
    """Why `answer` may not stand; none for one that does. `pieces`: all that was shown, tools' answers among them."""
    match answer:
        case Question():
            found = list(_of_question(answer, asked))
        case FirstLook():
            found = list(_of_assessments(answer.assessments, Shown(pieces), asked))
        case Opinion():
            found = list(_of_opinion(answer, Shown(pieces), asked))
    return some_of(found)


def some_of(found: Sequence[str]) -> tuple[str, ...]:
    """As many faults as are told at once, and how many more there are."""
    more = [f"and {len(found) - MOST_FAULTS} more faults like these"] if len(found) > MOST_FAULTS else []
    return (*found[:MOST_FAULTS], *more)


def audit_of(opinion: Opinion, pieces: Pieces, asked: Asked) -> Audit:
    """What `decide` is told of it. One with faults cites nothing that counts, and has judged nothing."""
    sound = not faults(opinion, pieces, asked)
    met = [one for one in opinion.assessments if one.assessment == "PASS" and one.criterion in asked.subjective]
    return Audit(
        outcome=AuditorOutcome(opinion.verdict),
        cited=sound,
        feedback=feedback_of(opinion),
        confidence=opinion.confidence,
        passed_subjective={one.criterion: one.confidence for one in met} if sound else {},
        evidence=tuple(cited for cited in dict.fromkeys(opinion.evidence_citations) if cited in pieces),
        objects_to=tuple(one.criterion for one in opinion.assessments if sound and one.assessment != "PASS"),
    )


def assessed_of(answer: FirstLook | Opinion) -> tuple[Assessed, ...]:
    """Each criterion's line for the trail."""
    return tuple(
        Assessed(
            criterion=one.criterion,
            assessment=one.assessment,
            confidence=one.confidence,
            evidence=one.quotes[0].evidence_id if one.quotes else "",
        )
        for one in answer.assessments
    )


def feedback_of(opinion: Opinion) -> str:
    """What the worker is told of it: the reasons, then what is to be done, the most urgent first."""
    rank = ("high", "medium", "low")
    actions = sorted(opinion.required_actions, key=lambda one: rank.index(one.priority))
    lines = [f"- {one.reason} [{one.evidence_id}]" for one in opinion.reasons]
    lines += [f"- to do ({one.priority}): {one.action}" for one in actions]
    text = "\n".join(lines)
    return text if len(text) <= FEEDBACK_CHARACTERS else f"{text[:FEEDBACK_CHARACTERS]}\n[... cut]"


class Shown:
    """What was shown, as quotes are compared with it: each text made ready once."""

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = pieces
        self._texts: dict[str, tuple[str, ...]] = {}

    def observed(self, id: str) -> bool:
        """Whether it is something that the harness saw itself."""
        return self.known(id) and self._pieces[id].observed

    def known(self, id: str) -> bool:
        """Whether it was given."""
        return id in self._pieces

    def unknown(self, id: str, where: str) -> Iterator[str]:
        """The fault of citing what is not there."""
        if not self.known(id):
            yield f"{where} cites {quoted(id)}, and no evidence has that id: cite only ids that you were given"

    def stands(self, quote: Quote) -> bool:
        """Whether the words are in what they cite; runs of white space count as one space."""
        words = normal(quote.quote)
        long_enough = len(words.replace(" ", "")) >= FEWEST_CHARACTERS
        return long_enough and self.known(quote.evidence_id) and any(words in t for t in self._read(quote.evidence_id))

    def _read(self, id: str) -> tuple[str, ...]:
        """The text as it is and, of what a tool found, without the numbers that it shows before lines."""
        if id not in self._texts:
            piece = self._pieces[id]
            ways = (piece.text, unnumbered(piece.text)) if piece.what == TOOL else (piece.text,)
            self._texts[id] = tuple(normal(text) for text in ways)
        return self._texts[id]


def normal(text: str) -> str:
    """`text` with each run of white space as one space: how quotes are compared."""
    return " ".join(text.split())


def _of_question(question: Question, asked: Asked) -> Iterator[str]:
    if asked.questions < 1:
        yield "no more questions may be asked: decide with what there is"
    if not question.question.strip() or not all(one.strip() for one in question.evidence_requested):
        yield "a question says what it asks, and names the evidence that it wants, in words"


def _of_opinion(opinion: Opinion, shown: Shown, asked: Asked) -> Iterator[str]:
    yield from _of_assessments(opinion.assessments, shown, asked)
    for cited in opinion.evidence_citations:
        yield from shown.unknown(cited, "evidence_citations")
    for reason in opinion.reasons:
        yield from shown.unknown(reason.evidence_id, f"the reason {quoted(reason.reason)}")
    for claim in opinion.claims:
        if claim.proof:
            yield from quote_faults(claim.proof, shown, f"the proof of the claim {quoted(claim.claim)}")
    if opinion.verdict == "approved":
        yield from _of_approval(opinion, shown, asked)
    elif not opinion.reasons:
        yield f"{opinion.verdict} needs at least one reason that cites evidence"


def _of_approval(opinion: Opinion, shown: Shown, asked: Asked) -> Iterator[str]:
    if not any(shown.observed(cited) for cited in opinion.evidence_citations):
        yield "approved needs at least one id in evidence_citations of what the harness observed itself"
    for id in asked.failed:
        yield f"{quoted(id)} is required and failed, so the work cannot be approved"
    for one in opinion.assessments:
        told = one.criterion in (*asked.failed, *asked.forgiven)
        if asked.criteria.get(one.criterion) and one.assessment != "PASS" and not told:
            yield f"criterion {quoted(one.criterion)} is required and {one.assessment}, so the work cannot be approved"


def _of_assessments(assessments: Iterable[Assessment], shown: Shown, asked: Asked) -> Iterator[str]:
    """Every criterion once and no other, each with the quotes that its word needs."""
    listed = list(assessments)
    count = Counter(one.criterion for one in listed)
    for id in asked.criteria:
        if count[id] != 1:
            times = f"assessed {count[id]} times" if count[id] else "not assessed"
            yield f"criterion {quoted(id)} is {times}: assess each criterion exactly once"
    for id in sorted(count.keys() - asked.criteria.keys()):
        known = ", ".join(asked.criteria) or "none, so assess none"
        yield f"there is no criterion {quoted(id)}; the criteria are: {known}"
    for one in listed:
        yield from _of_assessment(one, shown)


def _of_assessment(one: Assessment, shown: Shown) -> Iterator[str]:
    where = f"the assessment of {quoted(one.criterion)}"
    for quote in one.quotes:
        yield from quote_faults(quote, shown, where)
    if one.assessment == "UNPROVED":
        return
    if not one.quotes:
        yield f"{where} is {one.assessment} and quotes nothing: quote evidence, or say UNPROVED"
    elif one.assessment == "PASS" and not any(shown.stands(q) and shown.observed(q.evidence_id) for q in one.quotes):
        yield f"{where} is PASS and quotes nothing that the harness observed itself: quote that, or say UNPROVED"


def quote_faults(quote: Quote, shown: Shown, where: str) -> Iterator[str]:
    """What is wrong with one quote; `where` it is given, in words."""
    yield from shown.unknown(quote.evidence_id, where)
    if shown.known(quote.evidence_id) and not shown.stands(quote):
        yield (
            f"{where} quotes {quoted(quote.quote)}, which is not in {quote.evidence_id}: quote at least"
            f" {FEWEST_CHARACTERS} characters exactly as they stand there"
        )
