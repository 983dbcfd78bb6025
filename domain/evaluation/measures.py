"""The figures of an evaluation, of all verdicts together and of each stratum: pure, and null where there is no data.

What each figure means, and what it does not, is in docs/evaluation.md. It knows no report: `verdicts` does. Which
criteria tell claims apart is `criteria`'s.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import TypeVar

from domain.base import Message
from domain.decision import RoundOutcome
from domain.evaluation.criteria import NeverFailed, Redundant, compared, never_failed, redundant
from domain.evaluation.verdicts import Verdict

T = TypeVar("T")

Z_95 = 1.959963984540054
"""The normal distribution's quantile for a two-sided interval of 95 %."""


class Share(Message):
    """`count` of `of`. `share` is null where there is nothing to share."""

    count: int
    of: int
    share: float | None


class Rate(Share):
    """A share of verdicts, with the Wilson interval of 95 %. `claims`: how many different ones these verdicts are on.

    Verdicts on one claim are no independent trials, so the interval is as wide as that of `claims` trials.
    """

    claims: int
    low: float | None
    high: float | None


class Spread(Message):
    """How a quantity is spread over the verdicts that have it; all null where none has."""

    verdicts: int
    median: float | None
    p90: float | None
    sum: float | None


class Rates(Message):
    """What became of the claims of a stratum, or of all. The rates are over decided verdicts: verified or refused.

    `needs_human` and `untold` are counted apart, and by the claims' names.
    """

    claims: int
    verdicts: int
    verified: int
    refused: int
    needs_human: int
    untold: int
    true_positive: Rate
    false_positive: Rate
    false_discovery: Rate
    false_negative: Rate
    for_humans: tuple[str, ...]
    not_told: tuple[str, ...]
    wrongly_verified: tuple[str, ...]
    wrongly_refused: tuple[str, ...]


class Figures(Message):
    """All figures of one evaluation."""

    all: Rates
    strata: dict[str, Rates]
    judge_flips: Rate
    verdict_flips: Rate
    changing: tuple[str, ...]
    shell_testable: Share
    redundant: Share
    redundant_criteria: tuple[Redundant, ...]
    never_failed: Share
    never_failed_criteria: tuple[NeverFailed, ...]
    requirement_coverage: Share
    arguments_with_evidence: Share
    seconds: Spread
    cost_usd: Spread
    scripted: int
    unexpected: tuple[str, ...]


def figures(verdicts: Sequence[Verdict]) -> Figures:
    """Everything that `verdicts` come to."""
    strata = dict.fromkeys(verdict.claim.stratum for verdict in verdicts)
    heard = [(verdict, verdict.hearings) for verdict in verdicts if verdict.hearings and verdict.hearings.twice]
    arguments = [cites for verdict in verdicts for cites in verdict.arguments]
    covered = [verdict.requirements for verdict in verdicts if verdict.requirements]
    kinds = {(v.claim.order, i.id, i.kind): i for v in verdicts for i in v.items if i.kind}
    same, never = redundant(verdicts), never_failed(verdicts)
    several = _told_more_than_once(verdicts)
    changing = [name for name, outcomes in several.items() if len(set(outcomes)) > 1]
    return Figures(
        all=rates(verdicts),
        strata={name: rates([v for v in verdicts if v.claim.stratum == name]) for name in strata},
        judge_flips=rate(heard, lambda each: each[1].changed, lambda each: each[0].claim.id),
        verdict_flips=rate(several, lambda name: name in changing, str),
        changing=tuple(changing),
        shell_testable=share(sum(item.deterministic for item in kinds.values()), len(kinds)),
        redundant=share(len(same), compared(verdicts)),
        redundant_criteria=same,
        never_failed=share(len(never), compared(verdicts)),
        never_failed_criteria=never,
        requirement_coverage=share(sum(some for some, _ in covered), sum(total for _, total in covered)),
        arguments_with_evidence=share(sum(arguments), len(arguments)),
        seconds=spread(v.seconds for v in verdicts),
        cost_usd=spread(v.cost_usd for v in verdicts),
        scripted=sum(verdict.scripted for verdict in verdicts),
        unexpected=_named(v for v in verdicts if not v.as_expected),
    )


def rates(verdicts: Sequence[Verdict]) -> Rates:
    """What became of these claims."""
    decided = [verdict for verdict in verdicts if verdict.decided]
    valid = [verdict for verdict in decided if verdict.claim.valid]
    invalid = [verdict for verdict in decided if not verdict.claim.valid]
    verified = [verdict for verdict in decided if verdict.verified]
    humans = [verdict for verdict in verdicts if verdict.outcome is RoundOutcome.NEEDS_HUMAN]
    untold = [verdict for verdict in verdicts if verdict.untold]
    return Rates(
        claims=len({verdict.claim.id for verdict in verdicts}),
        verdicts=len(verdicts),
        verified=len(verified),
        refused=len(decided) - len(verified),
        needs_human=len(humans),
        untold=len(untold),
        true_positive=rate(valid, lambda v: v.verified, _claim),
        false_positive=rate(invalid, lambda v: v.verified, _claim),
        false_discovery=rate(verified, lambda v: not v.claim.valid, _claim),
        false_negative=rate(valid, lambda v: not v.verified, _claim),
        for_humans=_named(humans),
        not_told=_named(untold),
        wrongly_verified=_named(v for v in invalid if v.verified),
        wrongly_refused=_named(v for v in valid if not v.verified),
    )


def share(count: int, of: int) -> Share:
    """A share of a whole that is all there is: it has no interval."""
    return Share(count=count, of=of, share=count / of if of else None)


def rate(trials: Iterable[T], holds: Callable[[T], bool], claim: Callable[[T], str]) -> Rate:
    """The share of `trials` for which it holds; `claim` says on which claim each was."""
    listed = list(trials)
    found = share(sum(holds(trial) for trial in listed), len(listed))
    claims = len({claim(trial) for trial in listed})
    low, high = (None, None) if found.share is None else wilson(found.share, claims)
    return Rate(**dict(found), claims=claims, low=low, high=high)


def wilson(share: float, trials: int) -> tuple[float, float]:
    """The Wilson score interval of 95 % for a share seen in so many independent trials, at least one."""
    z2 = Z_95**2
    middle = (share + z2 / (2 * trials)) / (1 + z2 / trials)
    half = Z_95 / (1 + z2 / trials) * math.sqrt(share * (1 - share) / trials + z2 / (4 * trials**2))
    # At the ends the bound is the share itself; rounding must not leave it a hair inside or outside.
    low = 0.0 if share == 0 else max(0.0, middle - half)
    high = 1.0 if share == 1 else min(1.0, middle + half)
    return low, high


def spread(values: Iterable[float | None]) -> Spread:
    """Median, 90th percentile (by nearest rank: a value that was seen) and sum of what is known."""
    known = sorted(value for value in values if value is not None)
    if not known:
        return Spread(verdicts=0, median=None, p90=None, sum=None)
    count = len(known)
    median = (known[(count - 1) // 2] + known[count // 2]) / 2
    return Spread(verdicts=count, median=median, p90=known[math.ceil(0.9 * count) - 1], sum=math.fsum(known))


def _told_more_than_once(verdicts: Sequence[Verdict]) -> Mapping[str, Sequence[RoundOutcome]]:
    """The outcomes of each claim on which something was told at least twice."""
    told = sorted((v for v in verdicts if not v.untold), key=_claim)
    grouped = {name: [v.outcome for v in group if v.outcome] for name, group in groupby(told, key=_claim)}
    return {name: outcomes for name, outcomes in grouped.items() if len(outcomes) > 1}


def _claim(verdict: Verdict) -> str:
    return verdict.claim.id


def _named(verdicts: Iterable[Verdict]) -> tuple[str, ...]:
    """The claims, each once."""
    return tuple(dict.fromkeys(verdict.claim.id for verdict in verdicts))
