"""The part of `countersign rejudge` that asks models: who is asked, and what is said of the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from uuid import uuid4

from domain.errors import Refused
from domain.events import TrailRow
from domain.rejudge_roles import AskedAgain, WordAgain
from entrypoints import exporting
from entrypoints.cli import common
from entrypoints.cli.output import one_line
from entrypoints.cli.render_audit import money

DIGITS = 12
"""Of a digest that is shown to people."""


def ask(rows: Sequence[TrailRow], verdict: TrailRow, model: str) -> AskedAgain:
    """The round's roles, asked once more with `model`, or with theirs where it is empty. Raises `Refused`."""
    from entrypoints.rejudging_roles import RolesAgain  # noqa: PLC0415 - only who asks models needs it
    from entrypoints.roles import ConfiguredRoles  # noqa: PLC0415 - as above
    from entrypoints.stores import build_evidence  # noqa: PLC0415 - as above

    store = build_evidence(common.settings())  # masked: what models are told and answer is stored
    record = exporting.record_of(store, verdict)
    if record is None:
        raise Refused("no_roles", "the round has no record that roles could be asked about", "say --objective")
    roles = ConfiguredRoles(common.settings(), store)
    take = f"rejudge {uuid4().hex}"
    try:
        return asyncio.run(
            RolesAgain(store, roles, record, rows, model=model, take=take, say=_say).run(),
        )
    finally:
        roles.close()


def tell_roles(found: AskedAgain) -> None:
    """What the roles came to, beside what they came to then."""
    scripted = " (scripted: no model judged)" if found.scripted else ""
    common.out(common.visible(f"roles asked once more: {found.model or 'no model'}{scripted}, {money(found.usage)}"))
    for question, answered in found.questions:
        told = "given the answer of then" if answered else "nobody to answer"
        common.out(common.visible(f"  asked: {one_line(question, 160)} ({told})"))
    if found.argued:
        named = one_line(", ".join(found.argued), 160)
        common.out(common.visible(f"  not asked again: what the judge ruled on {named} stands as recorded"))
    for each in found.inputs:
        then, now = _shown(each.recorded), _shown(each.found)
        common.out(common.visible(f"  differs: {each.what} ({each.stage}): then {then}, now {now}"))
    if not found.told:
        common.out(common.visible(f"COULD NOT TELL: {found.outcome or 'nobody was asked'}: {one_line(found.why, 300)}"))
        return
    for word in found.criteria:
        common.out(common.visible(f"  {_word(word)}"))
    then = f"{found.recorded_outcome}{_sure(found.recorded_confidence)}" if found.recorded_outcome else "nobody"
    common.out(f"{'DRIFT' if found.drift else 'no drift'}: the auditor then: {then}; now: {_now(found)}")
    common.out(f"the round came to {found.recorded_decision} then, and would come to {found.decided} now")


def _word(word: WordAgain) -> str:
    then = f"{word.recorded or 'nothing'}{_sure(word.recorded_confidence)}"
    drift = "drift: " if word.recorded and word.recorded != word.found else ""
    return f"{drift}{word.criterion}: then {then}, now {word.found or 'nothing'}{_sure(word.confidence)}"


def _now(found: AskedAgain) -> str:
    return f"{found.outcome}{_sure(found.confidence)}"


def _sure(confidence: float | None) -> str:
    return "" if confidence is None else f" {confidence:.2f}"


def _shown(value: str) -> str:
    """A model's name as it is, a digest cut."""
    return (value[:DIGITS] if len(value) == 64 else value) or "none"


def _say(text: str) -> None:
    common.err(common.visible(text))
