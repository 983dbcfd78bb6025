"""A claim: what a worker says it did, ran and saw. An opinion, until the harness has seen the fact itself (DESIGN 1.1).

Source: CONTRACT "What workers send and get", seed `auditor` 3.0.1. `faults` says what keeps one from being admitted;
whether it is true is `contradictions`' to ask. It reads no file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import JsonValue

from domain.base import Message, Part, canonical_json
from domain.fields import quoted

MAX_CLAIM_BYTES = 256 * 1024
"""As JSON, all of it: it travels with its order and the results."""

MAX_OUTPUT_BYTES = 64 * 1024
"""Of each stream of a command, as UTF-8."""

FEWEST_WORDS = 2
"""Words of an explanation beside those that say only that something is done."""

_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,99}")
# Neither an index (`rows[0]`), nor a link of Markdown's.
_REFERENCE = re.compile(r"(?<![\w\])])\[([A-Za-z0-9][A-Za-z0-9._:/-]{0,99})\](?!\()")
_CODE = re.compile(r"`[^`]*`")
_WORD = re.compile(r"[^\W_][\w'.-]*")
_SAYS_NOTHING = frozenset(
    _WORD.findall(
        """
    a all also am an and are as asked be been complete completed done everything finished fine fix fixed fulfilled good
    has have i implement implemented is issue it its job make me met my now ok okay our per please problem ready request
    requested required resolved should so solved successful successfully task that the this ticket todo was we well
    work worked working works you
    """
    )
)

_ADVICE = "what was done and how, with references to evidence such as [tests]"


class ClaimedEvidence(Part):
    """Something the worker brings; the explanation refers to it as `[label]`."""

    label: str
    type: str
    data: JsonValue = None
    tool_call_id: str = ""
    timestamp: str = ""


class CommandLog(Part):
    """A command that the worker says it ran, with what it says it saw."""

    command: str
    stdout: str = ""
    stderr: str = ""
    exit_code: int


class Claim(Part):
    """The whole claim. `files_modified` are paths relative to the workspace."""

    explanation: str
    evidence: list[ClaimedEvidence] = []
    files_modified: list[str] = []
    commands_run: list[CommandLog] = []


class Contradiction(Message):
    """What the claim says, and what the harness saw of the same thing.

    `check` is an item's id and `evidence` its blob, both empty where it is about the files that were changed.
    """

    check: str
    claimed: str
    observed: str
    evidence: str = ""

    @property
    def told(self) -> str:
        """For people: both sides, and of which check."""
        said = f"the claim says {self.claimed}; seen: {self.observed}"
        return f"{self.check}: {said}" if self.check else said


@dataclass(frozen=True)
class Fault:
    """Why a claim is not admitted: where in it, what is wrong, and what completes "expected ..."."""

    at: tuple[str | int, ...]
    what: str
    expected: str


def faults(claim: Claim) -> tuple[Fault, ...]:
    """Everything that keeps `claim` from being admitted; none for one that can be held against what is seen.

    Not in the model itself: a claim that was admitted once is read back by every worker, masked where it has to be.
    """
    size = len(canonical_json(claim.model_dump(mode="json")))
    too_large = Fault((), f"comes to {size} bytes as JSON", f"at most {MAX_CLAIM_BYTES}: name files, do not copy them")
    return (
        *([too_large] if size > MAX_CLAIM_BYTES else []),
        *_of_labels(claim),
        *_of_explanation(claim),
        *_of_files(claim),
        *_of_commands(claim),
    )


def references(explanation: str) -> tuple[str, ...]:
    """The labels that an explanation refers to, each once. What stands in backquotes is code, and refers to nothing."""
    return tuple(dict.fromkeys(_REFERENCE.findall(_CODE.sub(" ", explanation))))


def _of_explanation(claim: Claim) -> Iterator[Fault]:
    at = ("explanation",)
    text = claim.explanation
    if not text.strip():
        yield Fault(at, "is empty", _ADVICE)
        return
    words = {word.lower().strip(".'-") for word in _WORD.findall(text)}
    if len(words - _SAYS_NOTHING) < FEWEST_WORDS:
        yield Fault(at, f"{quoted(text)} says neither what was done nor how", _ADVICE)
    labels = {evidence.label for evidence in claim.evidence}
    numbered = any(label.isdecimal() for label in labels)
    for label in references(text):
        if label not in labels and (numbered or not label.isdecimal()):
            yield Fault(
                at,
                f"refers to [{label}], and no evidence has that label",
                f"{_known(labels)}, or backquotes around what is no reference",
            )


def _known(labels: set[str]) -> str:
    return f"one of {', '.join(sorted(labels)[:20])}" if labels else "evidence with that label"


def _of_labels(claim: Claim) -> Iterator[Fault]:
    seen: set[str] = set()
    for place, evidence in enumerate(claim.evidence):
        at = ("evidence", place, "label")
        if not _LABEL.fullmatch(evidence.label):
            form = "letters, digits and '._:/-', at most 100, first a letter or digit"
            yield Fault(at, f"{quoted(evidence.label)} is no label", form)
        elif evidence.label in seen:
            yield Fault(at, f"{quoted(evidence.label)} labels two pieces of evidence", "labels that are all different")
        seen.add(evidence.label)
        if not evidence.type.strip():
            yield Fault(("evidence", place, "type"), "is empty", "a word for what it is, such as command_output")


def _of_files(claim: Claim) -> Iterator[Fault]:
    for place, path in enumerate(claim.files_modified):
        absolute = path.startswith("/") or re.match(r"[A-Za-z]:[\\/]", path)
        if not path.strip() or absolute or ".." in path.split("/"):
            yield Fault(
                ("files_modified", place), f"{quoted(path)} is no path in the workspace", "a path relative to its root"
            )


def _of_commands(claim: Claim) -> Iterator[Fault]:
    for place, log in enumerate(claim.commands_run):
        if not log.command.strip():
            yield Fault(("commands_run", place, "command"), "an empty command", "the command line that was run")
        for stream, text in (("stdout", log.stdout), ("stderr", log.stderr)):
            size = len(text.encode())
            if size > MAX_OUTPUT_BYTES:
                yield Fault(
                    ("commands_run", place, stream),
                    f"has {size} bytes",
                    f"at most {MAX_OUTPUT_BYTES}: its end, where the summary is",
                )
