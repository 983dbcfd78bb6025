"""Holds an advocate's, a critic's and a judge's answer against the evidence: why it may not stand, in words.

The shape is `argued`'s. Whether an argument convinces is the judge's to say, what a ruling comes to `decide`'s. Source:
DESIGN 4, seed `pipeline` "Advocate", "Critic", "Judge".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from domain.fields import quoted
from domain.roles.argued import Case, Judgement, Ruling
from domain.roles.citations import Pieces, Shown, quote_faults, some_of
from domain.verdict import Ruled

REASONING_CHARACTERS = 1_000
"""Of a ruling's words that travel with the verdict; all of them are in the blob of the answer."""


def faults_of_case(case: Case, pieces: Pieces, disputed: Sequence[str]) -> tuple[str, ...]:
    """Why one side's answer may not stand; none for one that does. `pieces`: all that was shown, tools' answers too."""
    shown = Shown(pieces)
    found = list(_each_once("argued", [one.criterion for one in case.arguments], disputed))
    for one in case.arguments:
        for quote in one.quotes:
            found += quote_faults(quote, shown, f"the argument on {quoted(one.criterion)}")
    return some_of(found)


def faults_of_judgement(judgement: Judgement, pieces: Pieces, disputed: Sequence[str]) -> tuple[str, ...]:
    """Why the judge's answer may not stand; none for one that does. `pieces`: the evidence, and what was argued."""
    shown = Shown(pieces)
    found = list(_each_once("ruled on", [one.criterion for one in judgement.rulings], disputed))
    for one in judgement.rulings:
        found += _of_ruling(one, shown)
    return some_of(found)


def ruled_of(judgement: Judgement) -> tuple[Ruled, ...]:
    """What `decide` is told of it."""
    return tuple(
        Ruled(
            criterion=one.criterion,
            verdict=one.verdict,
            confidence=one.confidence,
            reasoning=one.reasoning[:REASONING_CHARACTERS],
            evidence=tuple(dict.fromkeys(quote.evidence_id for quote in one.quotes)),
        )
        for one in judgement.rulings
    )


def _of_ruling(ruling: Ruling, shown: Shown) -> Iterator[str]:
    where = f"the ruling on {quoted(ruling.criterion)}"
    for quote in ruling.quotes:
        yield from quote_faults(quote, shown, where)
    seen = any(shown.stands(quote) and shown.observed(quote.evidence_id) for quote in ruling.quotes)
    if ruling.verdict == "PASS" and not seen:
        yield f"{where} is PASS and quotes nothing that the harness observed itself: quote that, or rule FAIL"


def _each_once(done: str, given: Iterable[str], disputed: Sequence[str]) -> Iterator[str]:
    """Every disputed criterion once and no other."""
    count = Counter(given)
    for id in disputed:
        if count[id] != 1:
            times = f"{done} {count[id]} times" if count[id] else f"not {done}"
            yield f"{quoted(id)} is {times}: each disputed criterion exactly once"
    for id in sorted(count.keys() - set(disputed)):
        yield f"{quoted(id)} is not disputed; what is disputed: {', '.join(disputed)}"
