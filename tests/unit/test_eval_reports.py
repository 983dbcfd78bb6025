"""What a verdict takes of a report in which roles argued, judged and drafted."""

from __future__ import annotations

from domain.evaluation.verdicts import Hearings, LabelledClaim, verdict_of
from domain.report import build
from tests.fakes.disputes import drafted, ruling
from tests.unit.test_dispute_report import report
from tests.unit.test_draft_report import with_draft
from tests.unit.test_report import SCOPE

CLAIM = LabelledClaim(id="c", stratum="s", valid=True, order="order.yaml")


def test_both_arguments_and_one_hearing() -> None:
    found = verdict_of(CLAIM, report(ruling("AC-1"), ruling("AC-2")))
    assert (found.arguments, found.hearings) == ((True,) * 4, Hearings(twice=False, changed=False))


def test_a_judge_that_was_asked_twice() -> None:
    same = verdict_of(CLAIM, report(ruling("AC-1", "FAIL", 0.4), again=(ruling("AC-1", "FAIL", 0.5),)))
    other = verdict_of(CLAIM, report(ruling("AC-1", "FAIL", 0.4), again=(ruling("AC-1", "PASS", 0.5),)))
    assert same.hearings == Hearings(twice=True, changed=False)
    assert other.hearings == Hearings(twice=True, changed=True)


def test_what_was_drafted_and_covered() -> None:
    record, words = drafted()
    found = verdict_of(CLAIM, build(with_draft(record), {}, SCOPE, None, words))
    assert found.requirements == (2, 3)
    assert [item.id for item in found.items if item.drafted] == ["AC-2", "AC-3"]
