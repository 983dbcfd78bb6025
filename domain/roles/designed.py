"""What the designer and the strategist may answer, field by field: the shape alone.

Whether an answer holds up is `drafting`'s to say; whether a check of it may count, its lint's. Source: seed
`pipeline` "Designer", "Strategist".
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Discriminator, Field

from domain.command_criteria import CliIo, CommandExitZero, CommandOutput
from domain.python_criteria import PythonCall
from domain.roles.opinion import Said, Text

MOST_PARTS = 50
"""Requirements, criteria or checks of one draft."""

RequirementId = Annotated[str, Field(pattern=r"^R[0-9]{1,3}$")]
CriterionId = Annotated[str, Field(pattern=r"^AC-[0-9]{1,3}$")]


class Requirement(Said):
    """One thing that the work has to do. `new`: the base does not do it yet; else it does, and must go on doing it."""

    id: RequirementId
    text: Text
    new: bool = True


class SpecCriterion(Said):
    """How one sees that requirements are met. `testable`: a program can tell; else only a judge."""

    id: CriterionId
    text: Text
    requirements: Annotated[list[RequirementId], Field(min_length=1, max_length=MOST_PARTS)]
    testable: bool = True


class Specification(Said):
    """The designer's whole answer."""

    summary: Text
    requirements: Annotated[list[Requirement], Field(min_length=1, max_length=MOST_PARTS)]
    edge_cases: Annotated[list[Text], Field(max_length=MOST_PARTS)] = []
    criteria: Annotated[list[SpecCriterion], Field(min_length=1, max_length=MOST_PARTS)]


DraftedCheck = Annotated[CommandExitZero | CommandOutput | PythonCall | CliIo, Discriminator("type")]
"""The kinds that a strategist may write: shell, command_output, python_call and cli_io."""


class Untestable(Said):
    """A criterion that the strategist has no objective check for."""

    criterion: CriterionId
    reason: Text


class TestPlan(Said):
    """The strategist's whole answer: a check a criterion, its `id` that of the criterion."""

    __test__ = False

    checks: Annotated[list[DraftedCheck], Field(max_length=MOST_PARTS)]
    untestable: Annotated[list[Untestable], Field(max_length=MOST_PARTS)] = []
