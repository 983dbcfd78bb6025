"""The course of the adversarial stage: whether a judge is to be asked, and what both sides and its hearings come to.

Pure. What is disputed is `disputing`'s to say, what a ruling means for the verdict `decision`'s. Source: DESIGN 4, seed
`pipeline` "Advocate", "Critic", "Judge".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from domain.roles.disputes import Dispute
from domain.roles.names import Role, Side
from domain.roles.results import Hearing, PassOutcome, PassResult
from domain.verdict import Ruled, Tiebreak, TiebreakOutcome

SIDES: tuple[Side, Side] = ("advocate", "critic")

_NO_WORD: dict[PassOutcome, TiebreakOutcome] = {
    "cost_cap_exceeded": TiebreakOutcome.COST_CAP,
    "timed_out": TiebreakOutcome.TIMED_OUT,
    "unavailable": TiebreakOutcome.UNAVAILABLE,
}
"""What a pass without an answer makes of the stage, else it is inconclusive. Of two, the first in here is told."""

Cases = Mapping[Side, PassResult]


def first_of(draw: float) -> Side:
    """Whose argument a judge reads first, by a number that is drawn from 0 to 1."""
    return "advocate" if draw < 0.5 else "critic"


def other(side: Side) -> Side:
    """The one that it argues with."""
    return "critic" if side == "advocate" else "advocate"


def wants_hearing(disputes: Iterable[Dispute], cases: Cases, hearings: Sequence[Hearing], threshold: float) -> bool:
    """Whether the judge is to be asked: when both sides have argued, and once more where it was not sure.

    Never on one side alone, and never a third time.
    """
    if any(cases[side].outcome != "answered" for side in SIDES):
        return False
    if not hearings:
        return True
    return len(hearings) == 1 and _rules(hearings[0], disputes) and bool(_unsure(hearings[0], threshold))


def tiebreak_of(
    disputes: Iterable[Dispute], cases: Cases, hearings: Sequence[Hearing], threshold: float
) -> Tiebreak | None:
    """What the stage comes to once no further hearing is wanted; None where a role has no model, as `missing` says.

    The first hearing's rulings stand. Where that was not sure, the second one has to say the same.
    """
    disputes = tuple(disputes)
    if missing(cases, hearings):
        return None
    silent: dict[Role, PassResult] = {side: cases[side] for side in SIDES if cases[side].outcome != "answered"}
    if silent:
        return _without_a_word(silent)
    heard = next((one for one in hearings if not _rules(one, disputes)), None)
    if heard is not None:
        return _without_a_word({"judge": heard.result})
    if not hearings or wants_hearing(disputes, cases, hearings, threshold):
        return Tiebreak(outcome=TiebreakOutcome.INCONCLUSIVE, feedback="the judge was not heard to the end")
    first = hearings[0]
    unsure = _unsure(first, threshold)
    again = {ruled.criterion: ruled.verdict for one in hearings[1:] for ruled in one.result.rulings}
    if flipped := [ruled for ruled in unsure if again[ruled.criterion] != ruled.verdict]:
        return Tiebreak(outcome=TiebreakOutcome.INCONCLUSIVE, feedback=_flipped(flipped))
    settled = tuple(ruled.criterion for ruled in unsure)
    return Tiebreak(outcome=TiebreakOutcome.JUDGED, rulings=first.result.rulings, settled=settled)


def missing(cases: Cases, hearings: Iterable[Hearing]) -> tuple[Role, ...]:
    """The roles that no model is configured for, as far as they were to be asked."""
    sides: tuple[Role, ...] = tuple(side for side in SIDES if cases[side].outcome == "not_configured")
    judge = any(hearing.result.outcome == "not_configured" for hearing in hearings)
    return (*sides, "judge") if judge else sides


def why_not(roles: Sequence[Role]) -> str:
    """That these roles have no model, in words; empty for none."""
    return f"no model is configured for the {' and the '.join(roles)}" if roles else ""


def _rules(hearing: Hearing, disputes: Iterable[Dispute]) -> bool:
    """Whether it has one ruling for each dispute, and no other."""
    wanted = Counter(dispute.criterion for dispute in disputes)
    ruled = Counter(ruled.criterion for ruled in hearing.result.rulings)
    return hearing.result.outcome == "answered" and ruled == wanted


def _unsure(hearing: Hearing, threshold: float) -> list[Ruled]:
    return [ruled for ruled in hearing.result.rulings if ruled.confidence < threshold]


def _without_a_word(silent: Mapping[Role, PassResult]) -> Tiebreak:
    """Of several, the outcome that is told is the one that more of the same would not mend."""
    outcomes = {result.outcome for result in silent.values()}
    outcome = next((_NO_WORD[each] for each in _NO_WORD if each in outcomes), TiebreakOutcome.INCONCLUSIVE)
    told = [f"the {role}: {result.why or 'no answer that holds up'}" for role, result in silent.items()]
    return Tiebreak(outcome=outcome, feedback="; ".join(told))


def _flipped(rulings: Iterable[Ruled]) -> str:
    verdicts = ", ".join(f"{ruled.verdict} on {ruled.criterion}" for ruled in rulings)
    return f"the judge was not sure, said {verdicts}, and the opposite when it read the arguments in the other order"
