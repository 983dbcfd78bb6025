"""What every kind of acceptance criterion has: an id, whether it is required, a time limit."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from domain.base import Part
from domain.fields import Identifier, Seconds, quoted, wrong

MAX_CASES_BYTES = 1024 * 1024
MAX_CLI_CASES = 50
MAX_INPUT_BYTES = 96 * 1024
"""Of a case's arguments and standard input, and of a request's body: they travel as variables, execve(2)."""


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise wrong(
            f"{quoted(text)} does not compile: {str(error)[:100]}", "a regular expression of Python's re module"
        ) from error
    return text


Pattern = Annotated[
    str,
    Field(min_length=1, description="text that is a regular expression of Python's re module"),
    AfterValidator(_pattern),
]


class CriterionBase(Part):
    """What every criterion has. `timeout` in seconds."""

    id: Identifier = ""
    description: str = ""
    required: bool = True
    timeout: Seconds = 60.0

    deterministic: ClassVar[bool] = True
