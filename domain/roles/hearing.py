"""What the advocate, the critic and the judge are shown: the evidence, what is disputed, and who argued what.

Both sides are shown the same. Whatever a role says is a piece of its own that nobody observed: it may be quoted, and
carries no PASS. Source: DESIGN 4, seed `pipeline` "Advocate", "Critic", "Judge".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from domain.checks import CheckResult, items_of, subjective_of
from domain.order import Order
from domain.roles.argued import Argument, Case
from domain.roles.disputes import Dispute, Why
from domain.roles.names import Side
from domain.roles.opinion import Assessment, Opinion, Quote
from domain.roles.packet import Packet, Piece, one_line, unique
from domain.roles.pieces import OUTPUT_BYTES, TITLE_CHARACTERS, Origin, cut_middle

AUDITOR = "auditor"
"""The kind of the pieces with the auditor's words."""

OF_THE_AUDIT = ("auditor_criteria", "first_look", "previous_verdicts")
"""Fields of the auditor's packet that say how it judged, or is to judge: both sides argue from the evidence."""

WHY: Mapping[Why, str] = {
    "always": "the order wants every criterion argued",
    "subjective": "only a judge can tell",
    "unsure": "the auditor is not sure, or could not show it either way",
    "contradicted": "the claim says something else than was seen",
    "disagreement": "the auditor and the check differ",
}
ARGUES: Mapping[Side, str] = {"advocate": "is met", "critic": "is not met"}


class Heard(NamedTuple):
    """One side's answer, as a judge is given it. `said` names its blob."""

    side: Side
    case: Case
    said: str


def argument_packet(
    informed: Packet, disputes: Sequence[Dispute], order: Order, results: Iterable[CheckResult], words: Sequence[Piece]
) -> Packet:
    """What both sides are given. `words`: what the auditor says of disputed criteria (`auditor_pieces`)."""
    fields = {name: value for name, value in informed.fields.items() if name not in OF_THE_AUDIT}
    pieces = unique((*informed.pieces, *words))
    # A title can be the worker's own words, so a piece is found by its kind, too.
    ids = {(piece.what, piece.title): piece.id for piece in pieces}
    texts = {item.id: item.label for item in items_of(order)}
    texts |= {one.id: one.description for one in subjective_of(order)}
    seen = {result.id: result for result in results}
    fields["disputes"] = [
        {
            "criterion": one.criterion,
            "text": texts.get(one.criterion, ""),
            "required": one.required,
            "outcome": str(seen[one.criterion].outcome) if one.criterion in seen else "no machine checks it",
            "result": ids.get(("result", _result_title(seen.get(one.criterion)))),
            "auditor": ids.get((AUDITOR, _auditor_title(one.criterion))),
            "why_disputed": [WHY[why] for why in one.why],
        }
        for one in disputes
    ]
    return Packet(fields=fields, pieces=pieces)


def judgement_packet(argued: Packet, origin: Origin, cases: Sequence[Heard], found: Iterable[Piece] = ()) -> Packet:
    """What a judge is given: both sides after the evidence, in this order. `found`: what their own tools had shown."""
    sides: list[JsonValue] = []
    pieces: list[Piece] = []
    for heard in cases:
        own = {one.criterion: _argument_piece(origin, heard, one) for one in heard.case.arguments}
        listed: dict[str, JsonValue] = {criterion: piece.id for criterion, piece in own.items()}
        sides.append({"side": heard.side, "argues": f"each {ARGUES[heard.side]}", "arguments": listed})
        pieces += own.values()
    return Packet(fields={**argued.fields, "cases": sides}, pieces=unique((*argued.pieces, *found, *pieces)))


def auditor_pieces(origin: Origin, opinion: Opinion, said: str, disputes: Iterable[Dispute]) -> tuple[Piece, ...]:
    """What the auditor says of each disputed criterion. `said` names the opinion's blob."""
    words = {one.criterion: one for one in opinion.assessments}
    return tuple(
        _spoken(origin, AUDITOR, _auditor_title(one.criterion), said, _assessment_lines(words[one.criterion]))
        for one in disputes
        if one.criterion in words
    )


def _argument_piece(origin: Origin, heard: Heard, argument: Argument) -> Piece:
    title = f"the {heard.side}'s argument that {argument.criterion} {ARGUES[heard.side]}"
    lines = [argument.argument, *([f"On objections: {argument.objections}"] if argument.objections else [])]
    return _spoken(origin, heard.side, title, heard.said, [*lines, *_quote_lines(argument.quotes)])


def _spoken(origin: Origin, what: str, title: str, said: str, lines: Iterable[str]) -> Piece:
    text = cut_middle("\n".join(lines), 2 * OUTPUT_BYTES)
    return Piece(id=origin.id_of(title, said), what=what, title=title, text=text, observed=False)


def _assessment_lines(one: Assessment) -> Iterator[str]:
    yield f"assessment: {one.assessment}, confidence {one.confidence:g}"
    yield f"reason: {one.reason}"
    yield from _quote_lines(one.quotes)


def _quote_lines(quotes: Iterable[Quote]) -> Iterator[str]:
    return (f"quotes {one.evidence_id}: {one_line(one.quote)[:TITLE_CHARACTERS]}" for one in quotes)


def _auditor_title(criterion: str) -> str:
    return f"what the auditor says of {criterion}"


def _result_title(result: CheckResult | None) -> str:
    return f"what {result.spelling} {result.id} came to" if result else ""
