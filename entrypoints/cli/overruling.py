"""What a person would overrule to make a todo verified, as its last round left it: for the commands that are proposed.

Nothing is decided here: the todo has the last word (`domain.acts.approving`), and knows its policy.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from shlex import quote

from domain.acts.approving import Kind, allows
from domain.errors import Unavailable
from domain.feedback import OF_THE_WHOLE_ROUND, is_objection
from domain.order import Order
from domain.ports import EvidenceStore
from domain.read_model import RoundView, TodoView
from domain.report import Report
from domain.report_lines import CheckReport, CriterionReport
from domain.status import RoundStatus
from entrypoints.cli import common
from entrypoints.cli.human_options import KEY_VARIABLE
from entrypoints.standalone import completed, order_of

JUDGED = "subjective"
"""The type of criterion that no override of a check has to acknowledge."""

Rounds = Mapping[tuple[str, str, int], RoundView]


@dataclass(frozen=True)
class Overruled:
    """`kind` None: a plain approval is enough. `names`: of what did not pass, each to be acknowledged.

    `allowed`: by the order's policy.
    """

    kind: Kind | None
    names: tuple[str, ...] = ()
    allowed: bool = True

    @property
    def options(self) -> str:
        """Of `countersign override`."""
        return " ".join((f"--kind {self.kind}", *(f"--acknowledge {quote(name)}" for name in self.names)))


def signing_options(order: Order | None) -> str:
    """What a command of a person needs besides, where the order wants it signed: nothing where a key is set.

    For a note it is not needed (`domain.signing.UNSIGNED`).
    """
    signed = order is not None and order.override_policy.signatures == "required"
    return "--key FILE" if signed and not os.environ.get(KEY_VARIABLE) else ""


def by_attempt(rounds: Iterable[RoundView]) -> Rounds:
    """The rounds by their session, todo and attempt."""
    return {(one.session, one.todo, one.attempt): one for one in rounds}


def overruled(view: TodoView, rounds: Rounds, store: EvidenceStore) -> Overruled:
    """What keeps `view` from being verified. A round of another order says nothing of the one that it has now.

    Where order or report cannot be read, that is said, and NAME stands for the names.
    """
    last = rounds.get((view.session, view.todo, view.attempt))
    view = completed(view, (last,) if last else ())
    judged = last is not None and last.status is RoundStatus.DECIDED and last.order == view.order_digest
    try:
        policy = order_of(view, last, store).override_policy
        report = Report.model_validate_json(store.get(last.report)) if judged and last and last.report else None
    except Unavailable as error:
        common.err(common.visible(f"what {view.session}/{view.todo} would have overruled cannot be told: {error}"))
        return Overruled("check", ("NAME",))
    kind, names, objected = _needed(report)
    allowed = kind is None or allows(policy, kind, objected)
    return Overruled(kind, names, allowed)


def _needed(report: Report | None) -> tuple[Kind | None, tuple[str, ...], bool]:
    """Kind and names, and whether the auditor did not approve, as `domain.acts.rounds` has them."""
    if report is None:
        return "direct", (), False
    codes = [reason.code for reason in report.reasons]
    lines: list[tuple[str, CriterionReport | CheckReport]] = [
        (line.id, line) for line in report.criteria if line.test_type != JUDGED
    ]
    lines += [(line.name, line) for line in report.checks]
    failed = [name for name, line in lines if line.required and not line.passed]
    names = (*failed, *(code for code in OF_THE_WHOLE_ROUND if code in codes))
    objected = any(map(is_objection, codes))
    if names:
        return "check", names, objected
    if report.scope is None:
        return "direct", (), objected
    return ("verifier" if objected else None), (), objected
