"""What a person sees of an evaluation: a line a verdict while it runs, then the tables of its figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from domain.base import Message
from domain.decision import RoundOutcome
from domain.evaluation.criteria import Redundant
from domain.evaluation.measures import Figures, Rate, Rates, Share, Spread, figures
from domain.evaluation.verdicts import Verdict
from entrypoints.cli.output import counted, one_line, visible

NO_DATA = "-"
MOST_NAMED = 8
SHOWN = 60
COUNTS = ("claims", "verified", "refused", "human", "untold")
RATES = ("true positive", "false positive", "false discovery", "false negative")

STYLES = {
    RoundOutcome.VERIFIED: "green",
    RoundOutcome.CHANGES_REQUESTED: "red",
    RoundOutcome.FAILED: "red",
    RoundOutcome.NEEDS_HUMAN: "yellow",
    RoundOutcome.INCONCLUSIVE: "yellow",
}


class Evaluated(Message):
    """An evaluation as `--json` and `--output` have it. `rounds`: how many each claim had."""

    dataset: str
    rounds: int
    figures: Figures
    verdicts: tuple[Verdict, ...]

    @classmethod
    def of(cls, dataset: str, rounds: int, verdicts: Sequence[Verdict]) -> Evaluated:
        """With the figures of `verdicts`."""
        return cls(dataset=dataset, rounds=rounds, figures=figures(verdicts), verdicts=tuple(verdicts))


class Progress:
    """A line for each verdict, as it comes."""

    def __init__(self, console: Console, expected: int) -> None:
        self._console = console
        self._expected = expected
        self._done = 0

    def see(self, verdict: Verdict) -> None:
        """Say what became of one more."""
        self._done += 1
        claim = verdict.claim
        word = verdict.outcome.value if verdict.outcome else "could not tell"
        text = Text(f"{self._done:>{len(str(self._expected))}}/{self._expected}  ", "dim")
        text.append(f"{visible(claim.stratum)}/{visible(claim.id)}  ")
        text.append(word, STYLES.get(verdict.outcome, "yellow") if verdict.outcome else "yellow")
        text.append(_about(verdict), "dim")
        self._console.print(text)


def _about(verdict: Verdict) -> str:
    parts = ["" if verdict.claim.valid else "not valid"]
    parts.append("stored" if verdict.stored else "" if verdict.seconds is None else f"{verdict.seconds:.1f} s")
    parts.append(verdict.trigger)
    parts.append(one_line(verdict.why, SHOWN) if verdict.untold else "")
    return "".join(f"  {part}" for part in parts if part)


def show(console: Console, found: Evaluated) -> None:
    """All figures, and the names behind the bad ones."""
    told = found.figures
    claims = counted((told.all.claims, "claim"), (told.all.verdicts, "verdict"))
    console.print(Text(f"\n{visible(found.dataset)}: {claims}", "bold"))
    console.print(_by_stratum(told, COUNTS, _counts))
    console.print()
    console.print(_by_stratum(told, RATES, _rates))
    console.print()
    console.print(_other_table(told))
    for line in _notes(told):
        console.print(Text(line, "yellow"))


def _by_stratum(told: Figures, heads: Iterable[str], cells: Callable[[Rates], Iterable[str]]) -> Table:
    """A line a stratum, where there are several, and one of all."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("stratum")
    for head in heads:
        table.add_column(head, justify="right", no_wrap=True)
    for name, stratum in told.strata.items() if len(told.strata) > 1 else ():
        table.add_row(visible(name), *cells(stratum))
    table.add_row("all", *cells(told.all), style="bold")
    return table


def _counts(of: Rates) -> list[str]:
    return [str(count) for count in (of.claims, of.verified, of.refused, of.needs_human, of.untold)]


def _rates(of: Rates) -> list[str]:
    return [_rate(rate) for rate in (of.true_positive, of.false_positive, of.false_discovery, of.false_negative)]


def _rate(of: Rate) -> str:
    if of.share is None or of.low is None or of.high is None:
        return NO_DATA
    return f"{of.share:.1%} [{of.low * 100:.0f}-{of.high:.0%}]"


def _share(of: Share) -> str:
    return NO_DATA if of.share is None else f"{of.share:.1%} ({of.count} of {of.of})"


def _spread(of: Spread, unit: str, digits: int) -> str:
    if of.median is None or of.p90 is None or of.sum is None:
        return NO_DATA
    return " ".join((f"median {of.median:.{digits}f},", f"p90 {of.p90:.{digits}f},", f"sum {of.sum:.{digits}f} {unit}"))


def _other_table(told: Figures) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
    rows = (
        ("judge flip rate", _flips(told.judge_flips, "hearings asked twice")),
        ("verdict flip rate", _flips(told.verdict_flips, "claims with several verdicts")),
        ("shell-testable criteria", _share(told.shell_testable)),
        ("redundant criteria", _share(told.redundant)),
        ("criteria that never failed", _share(told.never_failed)),
        ("requirement coverage", _share(told.requirement_coverage)),
        ("arguments with evidence", _share(told.arguments_with_evidence)),
        ("seconds a verdict", _spread(told.seconds, "s", 1)),
        ("cost a verdict", _spread(told.cost_usd, "US dollars", 4)),
    )
    for row in rows:
        table.add_row(*row)
    return table


def _flips(of: Rate, what: str) -> str:
    return NO_DATA if of.share is None else f"{_rate(of)} ({of.count} of {of.of} {what})"


def _notes(told: Figures) -> Iterator[str]:
    """What a person should look at, each with names."""
    named: tuple[tuple[str, Iterable[str]], ...] = (
        ("verified and not valid", told.all.wrongly_verified),
        ("refused and valid", told.all.wrongly_refused),
        ("left to a human", told.all.for_humans),
        ("could not be told, and counted in no rate", told.all.not_told),
        ("came to different verdicts", told.changing),
        ("escalated otherwise than the data set expects", told.unexpected),
        ("criteria that say what another one says", map(_redundant, told.redundant_criteria)),
    )
    for what, names in named:
        if listed := _listed(names):
            yield f"{what}: {listed}"
    if told.scripted:
        yield f"{counted((told.scripted, 'verdict'))} with scripted roles: they say nothing about any model"


def _redundant(found: Redundant) -> str:
    return f"{found.criterion} as {found.same_as} ({found.order})"


def _listed(names: Iterable[str]) -> str:
    listed = [visible(name) for name in names]
    more = f" and {len(listed) - MOST_NAMED} more" if len(listed) > MOST_NAMED else ""
    return ", ".join(listed[:MOST_NAMED]) + more
