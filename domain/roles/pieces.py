"""Makes the pieces that a packet is of: each with an id bound to the round, and a text that says what it lacks.

Source: DESIGN 8 "Evidence is minted by the harness", seed `auditor` 3.4. Which packet has which is `packet`'s to say.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from domain.base import canonical_json, sha256_hex
from domain.checks import CheckResult
from domain.claims.claim import ClaimedEvidence, CommandLog
from domain.roles.evidence import minted
from domain.roles.packet import Piece
from domain.scrutiny import ControlSeen, Counts, Expectation

DIFF_BYTES = 64 * 1024
OUTPUT_BYTES = 8 * 1024
ALL_OUTPUTS_BYTES = 256 * 1024
"""Of all outputs together: where there are many, each has less room."""

FEWEST_BYTES = 512
TITLE_CHARACTERS = 300


class Origin(NamedTuple):
    """What every id of a round's evidence is bound to. `tree`: the trusted tree; `head`: what the worker handed in."""

    session: str
    todo: str
    attempt: int
    tree: str
    head: str = ""

    def id_of(self, what: str, digest: str) -> str:
        """The id of what the harness has of this round under a name of its own, which has a space in it."""
        return minted(self.session, self.todo, self.attempt, self.tree, what, digest)

    def claimed_id(self, label: str, digest: str) -> str:
        """The id that the worker was told for evidence of its claim, when that was taken."""
        return minted(self.session, self.todo, self.attempt, self.head, label, digest)


def room(pieces: int) -> int:
    """Bytes for each of so many outputs, at most `OUTPUT_BYTES`."""
    return max(FEWEST_BYTES, min(OUTPUT_BYTES, ALL_OUTPUTS_BYTES // max(pieces, 1)))


def cut_end(text: str, size: int, advice: str = "the rest is in the evidence") -> str:
    """The first `size` bytes of `text`, with a word about what was cut."""
    data = text.encode(errors="replace")
    if len(data) <= size:
        return text
    return f"{data[:size].decode(errors='ignore')}\n[... {len(data) - size} bytes after this were cut: {advice}]"


def cut_middle(text: str, size: int) -> str:
    """The first and the last bytes of `text`, `size` together, with a word about what was cut between them."""
    data = text.encode(errors="replace")
    if len(data) <= size:
        return text
    front, back = data[: size // 2], data[len(data) - size // 2 :]
    left_out = len(data) - len(front) - len(back)
    said = f"\n[... {left_out} bytes were cut here: they are in the evidence ...]\n"
    return front.decode(errors="ignore") + said + back.decode(errors="ignore")


def diff_piece(origin: Origin, digest: str, diff: str) -> Piece:
    """The change from the base to the tree that was checked."""
    return Piece(
        id=origin.id_of("the diff", digest),
        what="diff",
        title="the change from the base to the tree that was checked",
        text=cut_end(diff, DIFF_BYTES, "git_diff and Read show the rest") or "no file differs from the base",
        observed=True,
    )


def changes_piece(origin: Origin, digest: str, text: str) -> Piece:
    """What became of each change of the worker's."""
    name = origin.id_of("the changes", digest)
    return Piece(id=name, what="changes", title="what became of each changed path", text=text, observed=True)


def result_pieces(origin: Origin, result: CheckResult, printed: dict[str, str], size: int) -> tuple[Piece, ...]:
    """One result in words of the harness's own, then what was printed: apart, for that the code under test wrote."""
    facts = _facts(result)
    digest = result.evidence or sha256_hex(facts.encode())
    about = f"{result.spelling} {result.id}"
    pieces = [
        Piece(
            id=origin.id_of(f"result {about}", digest),
            what="result",
            title=f"what {about} came to",
            text=facts,
            observed=True,
        )
    ]
    for stream in ("stdout", "stderr"):
        if text := printed.get(stream, "").strip("\n"):
            pieces.append(
                Piece(
                    id=origin.id_of(f"{stream} {about}", digest),
                    what=stream,
                    title=f"{stream} of {about}, as the code under test wrote it",
                    text=cut_middle(text, size),
                    observed=True,
                )
            )
    return tuple(pieces)


def evidence_piece(id: str, evidence: ClaimedEvidence, size: int) -> Piece:
    """A piece of the worker's own evidence, under the id that it was given when it was taken."""
    data = evidence.data
    text = data if isinstance(data, str) else json.dumps(data, indent=1, ensure_ascii=False)
    dated = f" of {evidence.timestamp}" if evidence.timestamp else ""
    title = _line(f"[{evidence.label}] {evidence.type}{dated}")
    return Piece(id=id, what="claimed_evidence", title=title, text=cut_middle(text, size), observed=False)


def command_piece(origin: Origin, place: int, log: CommandLog, size: int) -> Piece:
    """A command that the worker says it ran, with what it says it saw."""
    digest = sha256_hex(canonical_json(log.model_dump(mode="json")))
    parts = [f"$ {log.command}", f"exit code {log.exit_code}"]
    parts += [
        f"{name}:\n{cut_middle(text, size)}" for name, text in (("stdout", log.stdout), ("stderr", log.stderr)) if text
    ]
    return Piece(
        id=origin.id_of(f"command {place}", digest),
        what="claimed_command",
        title=_line(log.command),
        text="\n".join(parts),
        observed=False,
    )


def said_piece(origin: Origin, what: str, title: str, text: str) -> Piece:
    """Something that the worker says in its own words: an explanation, an answer."""
    name = origin.id_of(title, sha256_hex(text.encode(errors="replace")))
    return Piece(id=name, what=what, title=title, text=cut_middle(text, 2 * OUTPUT_BYTES), observed=False)


def _facts(result: CheckResult) -> str:
    """Line by line; what may hold a name of the worker's is kept on its line."""
    needed = "required" if result.required else "advisory"
    lines = [f"outcome: {result.outcome}", f"{result.spelling} {result.id}, {result.type}, {needed}"]
    lines += [f"code: {result.code}", f"seen: {_line(result.text)}"]
    if result.command:
        lines.append(f"command: {_line(result.command)}")
    if result.exit_code is not None:
        lines.append(f"exit code: {result.exit_code}")
    if result.base_outcome:
        lines.append(f"the same on the base: {result.base_outcome}")
    if result.outcomes:
        lines.append(f"outcome of each run: {', '.join(result.outcomes)}")
    lines.append(f"compared: {result.isolation.replace('_', ' ')}")
    return "\n".join([*lines, *_examined(result.tests, result.control, result.expectation)])


def _examined(tests: Counts | None, control: ControlSeen | None, expectation: Expectation | None) -> list[str]:
    """What was learned of the check itself."""
    lines = []
    if tests:
        lines.append("tests: " + ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in tests if count))
    if control:
        lines.append(f"control, {control.kind}: {control.outcome.replace('_', ' ')}: {_line(control.text)}")
    if expectation and expectation.measured:
        lines.append(f"tests that depend on what they expect: {expectation.constrained} of {expectation.measured}")
    return lines


def _line(text: str) -> str:
    return " ".join(text.split())[:TITLE_CHARACTERS]
