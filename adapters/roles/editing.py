"""The one tool of any role that changes something: text of a file that there is, on a `workbench`, and nowhere else.

Codes, beside the workbench's: `no_match`, `ambiguous`, `same`. Source: issue "The fix loop".
"""

from __future__ import annotations

import asyncio
from typing import Annotated

from pydantic import Field

from adapters.roles.tool import Arguments
from adapters.roles.workbench import Planned, Workbench, refused

TEXT_CHARACTERS = 200_000
"""Of what is replaced, and of what replaces it."""

NO_MATCH, AMBIGUOUS, SAME = "no_match", "ambiguous", "same"


class EditArguments(Arguments):
    """Arguments of `Edit`."""

    path: Annotated[str, Field(description="A file that there is, relative to the root of the tree.")]
    old: Annotated[
        str,
        Field(
            min_length=1,
            max_length=TEXT_CHARACTERS,
            description="The text to replace, exactly as it stands there: all white space, no line numbers.",
        ),
    ]
    new: Annotated[str, Field(max_length=TEXT_CHARACTERS, description="The text to put there.")]
    all: Annotated[bool, Field(description="Whether to replace it wherever it stands; else it may stand once.")] = False


class Edit:
    """Replaces text. Called again, as by a pass that is run again, it is done again, on a workbench of that pass."""

    name = "Edit"
    description = "Replaces text in a file that there is, for the tools and for the checks that follow."
    arguments: type[Arguments] = EditArguments
    lasting = True

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench

    async def call(self, arguments: Arguments) -> str:
        """What was replaced. Raises `ToolRefused` with the module's codes, and `Unavailable`."""
        assert isinstance(arguments, EditArguments)
        # Nothing is made beside the event loop: a call that took too long is given up, and then it was none.
        planned, places = await asyncio.to_thread(self._plan, arguments)
        self._bench.make(planned)
        lines = planned.data.count(b"\n")
        return f"{planned.entry.path}: replaced in {places} place{'s' if places > 1 else ''}; {lines} lines now\n"

    def _plan(self, asked: EditArguments) -> tuple[Planned, int]:
        entry = self._bench.file(asked.path)
        text = self._bench.text(entry)
        if asked.old == asked.new:
            raise refused(SAME, entry.path, "would not change: old and new are the same")
        first = text.find(asked.old)
        if first < 0:
            crlf = " (its lines end in CR LF)" if "\r\n" in text else ""
            raise refused(NO_MATCH, entry.path, f"does not have that text: Read shows what it has{crlf}")
        if not asked.all and text.find(asked.old, first + 1) >= 0:
            raise refused(AMBIGUOUS, entry.path, "has that text more than once: more of its surroundings, or all=true")
        planned = self._bench.planned(entry, text.replace(asked.old, asked.new))
        return planned, text.count(asked.old)
