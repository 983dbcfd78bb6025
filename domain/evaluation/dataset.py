"""A data set of labelled claims, as its file has it: the shapes alone.

Whether the files that it names are there, and whether its orders are orders, is `adapters.config.dataset_file`'s to
say. Source: docs/evaluation.md.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from domain.base import Part
from domain.fields import Identifier, quoted, wrong
from domain.safeguards import Trigger

UNSORTED = "unsorted"
"""The stratum of a claim that names none."""

MOST_CLAIMS = 5000
MOST_STRATUM = 60


def _path(text: str) -> str:
    if "\0" in text:
        raise wrong("a path with a NUL character", "a path")
    return text


def _stratum(text: str) -> str:
    if not text.strip() or not text.isprintable() or len(text) > MOST_STRATUM:
        raise wrong(f"{quoted(text)} is no stratum", f"a name of at most {MOST_STRATUM} characters that can be printed")
    return text


Path = Annotated[str, Field(min_length=1), AfterValidator(_path)]
Stratum = Annotated[str, AfterValidator(_stratum)]


class Shared(Part):
    """What a claim and the defaults of all claims may say. Paths are relative to the data set's file.

    `workspace`, `base` and `claim` are those of `countersign verify`: what they leave out, the order says.
    """

    stratum: Stratum | None = None
    order: Path | None = None
    workspace: Path | None = None
    base: Path | None = None
    claim: Path | None = None


class Labelled(Shared):
    """One claim. `valid`: whether the work does what its order asks for, so that it ought to be verified.

    `trigger`: what a round of it is expected to escalate with; it changes no figure.
    """

    id: Identifier = Field(min_length=1)
    valid: bool
    trigger: Trigger | None = None


class Dataset(Part):
    """The whole file. `defaults` stand where a claim says nothing; a label is each claim's own."""

    id: Identifier = ""
    description: str = ""
    defaults: Shared = Shared()
    claims: list[Labelled] = Field(min_length=1, max_length=MOST_CLAIMS)
