"""What a role is shown of a round, in pieces that it can cite: which stage is shown what.

Source: seed `auditor` 3.4 (the twelve fields), DESIGN 8 "Blind first pass". Pieces are made by `pieces`, written for a
model by `delimited`; what a text says is judged by neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Annotated

from pydantic import Field, JsonValue

from domain.base import Message, canonical_json, sha256_hex
from domain.checks import items_of
from domain.claims.claim import Contradiction
from domain.order import Order
from domain.roles.evidence import ID_PATTERN
from domain.roles.opinion import FirstLook
from domain.scope import ScopeReport

SEED_FIELDS = (
    *("todo_id", "todo_content", "acceptance_criteria", "evidence", "files_created", "files_modified", "git_diff"),
    *("commands_run", "repo_path", "test_command", "audit_attempt", "previous_verdicts"),
)
"""Seed `auditor` 3.4."""

NOT_BLIND = ("evidence", "commands_run", "audit_attempt", "previous_verdicts")
"""Those of them that a blind packet has not: what the worker says, and whether it was judged before."""

NAMED_PATHS = 500
PARAMS_BYTES = 8 * 1024


class Piece(Message):
    """Something that can be cited. `what` is a word of ours for its kind, `text` what a quote has to stand in.

    `observed`: the harness saw it itself; what it has of a worker's word alone is an assertion.
    """

    id: Annotated[str, Field(pattern=f"^{ID_PATTERN}$")]
    what: Annotated[str, Field(pattern="^[A-Za-z_]+$")]
    title: str
    text: str
    observed: bool


class Packet(Message):
    """Everything of one round that one stage of a role is given. Fields name pieces by their ids."""

    fields: dict[str, JsonValue]
    pieces: tuple[Piece, ...]

    @property
    def digest(self) -> str:
        """What an answer follows from: the SHA-256 of the packet's canonical JSON."""
        return sha256_hex(canonical_json(self.model_dump(mode="json")))

    @property
    def by_id(self) -> dict[str, Piece]:
        """The pieces by their ids."""
        return {piece.id: piece for piece in self.pieces}


class Observed(Message):
    """What the harness saw of a round: the pieces, and which of them is the diff. `tree` is a manifest's digest."""

    tree: str
    report: ScopeReport
    diff: Piece
    others: tuple[Piece, ...]


class Asserted(Message):
    """What the worker said: its pieces by where they come from. `claimed_files`: what it says it modified."""

    explanation: Piece | None = None
    evidence: tuple[Piece, ...] = ()
    commands: tuple[Piece, ...] = ()
    answers: tuple[Piece, ...] = ()
    claimed_files: tuple[str, ...] = ()


def blind_packet(todo: str, order: Order, seen: Observed) -> Packet:
    """The first: the todo and what was observed. No explanation, evidence, command, verdict or attempt of a worker."""
    created = paths_shown(change.path for change in seen.report.accepted if change.kind == "added")
    modified = paths_shown(change.path for change in seen.report.accepted if change.kind == "modified")
    tests = [item.command for item in items_of(order) if item.criterion.type == "pytest"]
    fields: dict[str, JsonValue] = {
        "todo_id": todo,
        "todo_content": order.content,
        "acceptance_criteria": criteria_shown(order),
        "auditor_criteria": order.verification.auditor.criteria,
        "files_created": created,
        "files_modified": modified,
        "files_deleted": paths_shown(change.path for change in seen.report.accepted if change.kind == "deleted"),
        "git_diff": seen.diff.id,
        "repo_path": f"snapshot:{seen.tree}",
        "test_command": tests[0] if tests else None,
    }
    return Packet(fields=fields, pieces=unique((seen.diff, *seen.others)))


def informed_packet(
    blind: Packet,
    said: Asserted,
    attempt: int,
    contradictions: Sequence[Contradiction],
    first_look: FirstLook | None,
    previous: Sequence[Mapping[str, JsonValue]],
) -> Packet:
    """The second: what the worker says joins the blind one, with how it was judged before and at the first look."""
    explanation = (said.explanation,) if said.explanation else ()
    pieces = unique((*blind.pieces, *explanation, *said.evidence, *said.commands, *said.answers))
    fields: dict[str, JsonValue] = {
        **blind.fields,
        "explanation": said.explanation.id if said.explanation else None,
        "evidence": [piece.id for piece in said.evidence],
        "commands_run": [piece.id for piece in said.commands],
        "claimed_files": paths_shown(said.claimed_files),
        "follow_ups": [piece.id for piece in said.answers],
        "audit_attempt": attempt,
        "previous_verdicts": [dict(one) for one in previous],
        "contradictions": [_contradiction(one) for one in contradictions],
        "first_look": _looked(first_look, {piece.id for piece in pieces}) if first_look else None,
    }
    return Packet(fields=fields, pieces=pieces)


def changes_text(report: ScopeReport) -> str:
    """What became of every change of the worker's, a line each, for a piece."""
    dropped = [one for one in report.dropped if not one.usual]
    kinds = {
        "changed": [f"{change.kind}: {one_line(change.path)}" for change in report.accepted],
        "restored": [f"not used, the base's or the order's stands: {one_line(path)}" for path in report.restored],
        "not taken": [f"not taken, {one_line(one.reason)}: {one_line(one.path)}" for one in dropped],
        "out of scope": [f"{one.kind.replace('_', ' ')}: {one_line(one.path)}" for one in report.violations],
    }
    lines = [line for found in kinds.values() for line in found[:NAMED_PATHS]]
    lines += [f"{len(f) - NAMED_PATHS} more {kind}" for kind, f in kinds.items() if len(f) > NAMED_PATHS]
    return "\n".join(lines) or "no file differs from the base"


def one_line(text: str) -> str:
    """`text` on one line: a name of the worker's cannot begin a line of ours."""
    return " ".join(text.split())


def unique(pieces: Iterable[Piece]) -> tuple[Piece, ...]:
    """Each id once: the first, so that what was observed is never replaced by what somebody said."""
    found: dict[str, Piece] = {}
    for piece in pieces:
        found.setdefault(piece.id, piece)
    return tuple(found.values())


def criteria_shown(order: Order) -> list[JsonValue]:
    """The criteria that the order has, as a packet names them."""
    return [_criterion(one.model_dump(mode="json")) for one in order.acceptance_criteria]


def paths_shown(paths: Iterable[str]) -> list[JsonValue]:
    """The first of them, and how many more there are."""
    listed = list(paths)
    more = [f"[{len(listed) - NAMED_PATHS} more]"] if len(listed) > NAMED_PATHS else []
    return [*listed[:NAMED_PATHS], *more]


def _criterion(criterion: dict[str, JsonValue]) -> JsonValue:
    """As the order has it; parameters that are very long are cut, and say so."""
    kept = {name: criterion[name] for name in ("id", "type", "params", "description", "required")}
    written = canonical_json(kept["params"])
    if len(written) > PARAMS_BYTES:
        kept["params"] = f"{written[:PARAMS_BYTES].decode(errors='ignore')} [... cut: it has {len(written)} bytes]"
    return kept


def _contradiction(one: Contradiction) -> JsonValue:
    return {"check": one.check, "claimed": one.claimed, "observed": one.observed}


def _looked(look: FirstLook, known: Set[str]) -> JsonValue:
    """The blind answer; of its quotes those that this packet has, since the tools' answers of that pass are gone."""
    assessments: list[JsonValue] = [
        {**one.model_dump(mode="json"), "quotes": [q.model_dump() for q in one.quotes if q.evidence_id in known]}
        for one in look.assessments
    ]
    return {"assessments": assessments, "suspicions": list(look.suspicions)}
