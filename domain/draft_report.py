"""What a report says of drafted checks: the specification, what joined the order, what was rejected and why. Pure.

Whether a check may count was its lint's to say. Source: seed `pipeline` "Designer", "Strategist".
"""

from __future__ import annotations

from collections.abc import Iterator

from domain.answers import Words
from domain.base import Message
from domain.command_criteria import CliIoParams, CommandParams
from domain.criteria import Criterion
from domain.drafts.record import DraftRecord, Rejected
from domain.pass_report import PassReport, asked, pass_of
from domain.python_criteria import PythonCallParams
from domain.roles.designed import Specification
from domain.roles.names import Role, Stage
from domain.roles.results import PassResult


class DraftedCriterion(Message):
    """One criterion that joined the order. `requirements`: those that it is about, as far as its words tell.

    `check`: the command or the function that tells, empty where only a judge can.
    """

    id: str
    description: str
    test_type: str
    check: str
    requirements: tuple[str, ...]


class DraftReport(Message):
    """The drafting of a round; fields as in `domain.drafts.record`, with the whole specification.

    `binding`: whether what was drafted is a gate. `why`: in words, where nothing was drafted although it was wanted.
    """

    summary: str
    specification: Specification | None
    criteria: tuple[DraftedCriterion, ...]
    returned: tuple[Rejected, ...]
    dropped: tuple[Rejected, ...]
    uncovered: tuple[str, ...]
    binding: bool
    why: str
    model: str
    scripted: bool
    duration_ms: int
    passes: tuple[PassReport, ...]


def draft_of(draft: DraftRecord | None, words: Words) -> DraftReport | None:
    """All of it; None where nothing was to be drafted."""
    if draft is None:
        return None
    specification = specification_of(draft, words)
    models = [result.provenance.model for result in draft.passes if asked(result)]
    return DraftReport(
        summary=draft.summary or (specification.summary if specification else ""),
        specification=specification,
        criteria=tuple(_joined(draft.criteria, specification)),
        returned=draft.returned,
        dropped=draft.dropped,
        uncovered=draft.uncovered,
        binding=draft.binding,
        why=draft.why,
        model=models[-1] if models else "",
        scripted=any(result.provenance.scripted for result in draft.passes),
        duration_ms=int(draft.seconds * 1000),
        passes=tuple(
            pass_of(*_stage(result, place), result) for place, result in enumerate(draft.passes) if asked(result)
        ),
    )


def specification_of(draft: DraftRecord, words: Words) -> Specification | None:
    """The designer's answer: by its blob, else as it travelled; None where it gave none."""
    stored = words.get(draft.specification)
    if isinstance(stored, Specification):
        return stored
    return next((result.specification for result in draft.passes if result.specification), None)


def _stage(result: PassResult, place: int) -> tuple[Role, Stage]:
    """Who was asked: the designer alone comes first, and answers with a specification."""
    designed = result.specification is not None or (place == 0 and result.plan is None)
    return ("designer", "design") if designed else ("strategist", "strategy")


def _joined(criteria: tuple[Criterion, ...], specification: Specification | None) -> Iterator[DraftedCriterion]:
    """The criteria with what they are about. Their ids may be others than the designer's, so the words tell."""
    left = list(specification.criteria) if specification else []
    for criterion in criteria:
        meant = next((each for each in left if each.text == criterion.description), None)
        if meant is not None:
            left.remove(meant)
        yield DraftedCriterion(
            id=criterion.id,
            description=criterion.description,
            test_type=criterion.type,
            check=_check(criterion),
            requirements=tuple(meant.requirements) if meant else (),
        )


def _check(criterion: Criterion) -> str:
    match criterion.params:
        case CommandParams(command=command) | CliIoParams(command=command):
            return command
        case PythonCallParams(module=module, function=function):
            return f"{module}.{function}"
    return ""
