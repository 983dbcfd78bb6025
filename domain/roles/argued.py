"""What the advocate, the critic and the judge may answer, field by field: the shape alone.

Whether an answer holds up is `pleading`'s to say, what it means for the verdict `decide`'s. Source: seed `pipeline`
"Advocate", "Critic", "Judge".
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from domain.roles.opinion import MOST, Confidence, Quote, Said, Text

Verdict = Literal["PASS", "FAIL"]


class Argument(Said):
    """One side's case on one criterion. `objections`: what the other side may say, and why it does not hold."""

    criterion: str
    argument: Text
    objections: Annotated[str, Field(max_length=4000)] = ""
    quotes: Annotated[list[Quote], Field(min_length=1, max_length=MOST)]


class Case(Said):
    """An advocate's or a critic's whole answer: an argument for each disputed criterion."""

    arguments: Annotated[list[Argument], Field(max_length=MOST)]


class Ruling(Said):
    """The judge on one criterion, after both sides."""

    criterion: str
    verdict: Verdict
    confidence: Confidence
    reasoning: Text
    quotes: Annotated[list[Quote], Field(min_length=1, max_length=MOST)]


class Judgement(Said):
    """The judge's whole answer."""

    rulings: Annotated[list[Ruling], Field(max_length=MOST)]
