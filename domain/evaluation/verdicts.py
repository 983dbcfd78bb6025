"""One verdict on a labelled claim, as the figures see it: small values, made of a report in one place.

It counts nothing: that is `measures`'. A round that came to no report is a verdict without one, `untold`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from domain.base import Message
from domain.checks import Outcome
from domain.decision import RoundOutcome
from domain.report import Report
from domain.roles.evidence import ID_PATTERN

Document = Mapping[str, Any]
"""A part of a report, as JSON."""

DECIDED = (RoundOutcome.VERIFIED, RoundOutcome.CHANGES_REQUESTED, RoundOutcome.FAILED)
"""What the machine decided by itself."""

_SEEN = (Outcome.PASSED, Outcome.FAILED)
_SUBJECTIVE = "subjective"
_MINTED = re.compile(ID_PATTERN)


class LabelledClaim(Message):
    """A claim whose truth is known. `order` names the file of its order: claims with the same one are compared."""

    id: str
    stratum: str
    valid: bool
    order: str
    trigger: str = ""


class Item(Message):
    """A criterion or check of a round. `passed` is null where it was not told; `kind` is empty for a check.

    `drafted`: it is not the order's own, and another round may have another one under its name.
    """

    id: str
    kind: str = ""
    passed: bool | None
    drafted: bool = False

    @property
    def deterministic(self) -> bool:
        """Whether a program tells."""
        return self.kind != _SUBJECTIVE


class Hearings(Message):
    """How a judge was asked. `twice`: once more with the order swapped; `changed`: it said something else then."""

    twice: bool
    changed: bool


class Verdict(Message):
    """What one round came to. `outcome` is null where there is no report; `why` says why.

    `arguments`: of each, whether it cites evidence. `requirements` of a drafted specification: how many are covered, of
    how many. `seconds` are the round's; `cost_usd` is null where no model was asked. `attempt` is the round's number.
    """

    claim: LabelledClaim
    outcome: RoundOutcome | None
    trigger: str = ""
    why: str = ""
    todo: str = ""
    attempt: int = 0
    stored: bool = False
    items: tuple[Item, ...] = ()
    hearings: Hearings | None = None
    arguments: tuple[bool, ...] = ()
    requirements: tuple[int, int] | None = None
    scripted: bool = False
    seconds: float | None = None
    cost_usd: float | None = None

    @property
    def verified(self) -> bool:
        """Whether the work was countersigned."""
        return self.outcome is RoundOutcome.VERIFIED

    @property
    def decided(self) -> bool:
        """Whether it was verified or refused: neither left to a human nor untold."""
        return self.outcome in DECIDED

    @property
    def untold(self) -> bool:
        """Whether nothing was learned of the claim."""
        return self.outcome is None or self.outcome is RoundOutcome.INCONCLUSIVE

    @property
    def as_expected(self) -> bool:
        """Whether it escalated as the data set says it should, if it says anything."""
        return not self.claim.trigger or self.trigger == self.claim.trigger


def verdict_of(claim: LabelledClaim, report: Report, *, stored: bool = False) -> Verdict:
    """The verdict that a report tells of. `stored`: it was there before."""
    return told_by(claim, report.model_dump(mode="json"), stored=stored)


def told_by(claim: LabelledClaim, report: Document, *, stored: bool = False) -> Verdict:
    """The same of a report as JSON: what a part of it does not say, is not known."""
    usage = report["usage"]
    scripted = any(part.get("scripted") for part in _of_roles(report))
    asked = bool(usage["requests"] or usage["remembered"]) and not scripted
    return Verdict(
        claim=claim,
        outcome=RoundOutcome(report["outcome"]),
        trigger=report["trigger"],
        why=report["reasons"][0]["text"] if report["reasons"] else "",
        todo=report["work_order_id"],
        attempt=report["attempt"],
        stored=stored,
        items=tuple(_items(report)),
        hearings=_hearings(report.get("judgement")),
        arguments=tuple(_cites(argument) for argument in report.get("arguments") or ()),
        requirements=_requirements(report.get("draft")),
        scripted=scripted,
        seconds=report["duration_ms"] / 1000,
        cost_usd=usage["cost_usd"] if asked else None,
    )


def _of_roles(report: Document) -> Iterator[Document]:
    """Every part that a role spoke."""
    for name in ("audits", "arguments"):
        yield from report.get(name) or ()
    for name in ("judgement", "draft"):
        if part := report.get(name):
            yield part


def _items(report: Document) -> Iterator[Item]:
    for line in report["criteria"]:
        yield Item(id=line["id"], kind=line["test_type"], passed=_passed(line), drafted=line.get("drafted", False))
    for line in report["checks"]:
        yield Item(id=line["name"], passed=_passed(line))


def _passed(line: Document) -> bool | None:
    return line["outcome"] == Outcome.PASSED if line["outcome"] in _SEEN else None


def _hearings(judgement: Document | None) -> Hearings | None:
    """A hearing without a ruling was none: there is nothing that a second one could differ from."""
    heard = [hearing for hearing in (judgement or {}).get("hearings") or () if hearing.get("rulings")]
    if judgement is None or not heard:
        return None
    return Hearings(twice=len(heard) > 1, changed=bool(judgement.get("flipped")))


def _cites(argument: Document) -> bool:
    """Whether it quotes something, and every quote names evidence by an id such as the harness mints."""
    quotes = argument.get("quotes") or ()
    return bool(quotes) and all(_MINTED.fullmatch(quote["evidence_id"]) for quote in quotes)


def _requirements(draft: Document | None) -> tuple[int, int] | None:
    specification = (draft or {}).get("specification")
    if draft is None or not specification or not specification.get("requirements"):
        return None
    total = len(specification["requirements"])
    return total - len(draft.get("uncovered") or ()), total
